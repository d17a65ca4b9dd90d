/* SPDX-License-Identifier: MIT */
#include "engine/dial.h"

#include <sys/socket.h>

/* libcurl before 8 opens its sockets without CLOEXEC. */
static curl_socket_t open_cloexec(
	void *user, curlsocktype purpose, struct curl_sockaddr *addr)
{
	(void)user;
	(void)purpose;
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

int sc_dial_setup(sandcell_engine *engine, CURL *curl, sandcell_error **err_out)
{
	CURLcode code = CURLE_OK;

	(void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_cloexec);
	if (engine->address.scheme == SC_SCHEME_UNIX)
		code = curl_easy_setopt(
			curl, CURLOPT_UNIX_SOCKET_PATH, engine->address.path);
	return code == CURLE_OK ? 0 : sc_fail_nomem(err_out);
}

const char *sc_dial_base(const sandcell_engine *engine)
{
	(void)engine;
	return "http://docker";
}

const char *sc_dial_host(const sandcell_engine *engine)
{
	(void)engine;
	return "docker";
}
