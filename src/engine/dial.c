/* SPDX-License-Identifier: MIT */
#include "engine/dial.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/service.h"
#include "engine/stream_impl.h"

#define PORT_PLAIN 2375
#define PORT_TLS   2376

/* For engines that are behind a socket, which has no host name. */
#define NO_HOST "http://docker"

int sc_dial_prepare(sandcell_engine *engine, sandcell_error **err_out)
{
	const struct sc_address *address = &engine->address;
	sc_autobuf base = SC_BUF_INIT(SC_MAX_URL);
	unsigned port = address->port;

	sc_free(engine->base);
	if (!port)
		port = engine->tls.on ? PORT_TLS : PORT_PLAIN;
	if (address->scheme != SC_SCHEME_TCP)
		(void)sc_buf_puts(&base, NO_HOST);
	else
		(void)sc_buf_printf(&base,
			strchr(address->host, ':') ? "%s://[%s]:%u" : "%s://%s:%u",
			engine->tls.on ? "https" : "http", address->host, port);
	engine->base = sc_buf_take(&base, NULL);
	return engine->base ? 0 : sc_fail_nomem(err_out);
}

bool sc_dial_revive(sandcell_engine *engine)
{
	sc_autofree char *socket_path = NULL;

	return engine->is_service &&
	       sc_service_up(&engine->log, sc_engine_request_deadline(engine), &socket_path,
		       NULL) == 0;
}

const char *sc_dial_host(const sandcell_engine *engine)
{
	return strstr(engine->base, "://") + 3;
}

/* ---- sockets for libcurl ---- */

/* libcurl before 8 opens its sockets without CLOEXEC. */
static curl_socket_t open_cloexec(
	void *user, curlsocktype purpose, struct curl_sockaddr *addr)
{
	(void)user;
	(void)purpose;
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

static curl_socket_t open_ssh(void *user, curlsocktype purpose, struct curl_sockaddr *addr)
{
	struct sc_dialing *dialing = user;
	sandcell_engine *engine = dialing->engine;
	struct sockaddr_un target;
	struct sc_ssh *ssh = NULL;

	(void)purpose;
	if (addr->family != AF_UNIX || sc_ssh_prepare(&ssh, &target) < 0)
		return CURL_SOCKET_BAD;
	/* libcurl keeps room for any address behind this one, and connects to it. */
	memcpy(&addr->addr, &target, sizeof(target));
	addr->addrlen = sizeof(target);
	(void)pthread_mutex_lock(&engine->lock);
	engine->complaint[0] = '\0';
	ssh->next = engine->ssh;
	engine->ssh = ssh;
	(void)pthread_mutex_unlock(&engine->lock);
	dialing->ssh = ssh;
	return ssh->fd;
}

/* libcurl is connected and about to send its request, perhaps on a kept connection. */
static int before_request(
	void *user, char *their_ip, char *our_ip, int their_port, int our_port)
{
	struct sc_dialing *dialing = user;
	const sandcell_engine *engine = dialing->engine;

	(void)their_ip;
	(void)our_ip;
	(void)their_port;
	(void)our_port;
	if (!dialing->ssh)
		return CURL_PREREQFUNC_OK;
	return sc_ssh_run(dialing->ssh, &engine->address, engine->connect_ms,
		       &dialing->why) < 0
		       ? CURL_PREREQFUNC_ABORT
		       : CURL_PREREQFUNC_OK;
}

static int close_ssh(void *user, curl_socket_t fd)
{
	sandcell_engine *engine = user;
	sc_autobuf complaint = SC_BUF_INIT(SC_MAX_URL);
	struct sc_ssh *ssh = NULL;

	(void)pthread_mutex_lock(&engine->lock);
	for (struct sc_ssh **link = &engine->ssh; *link; link = &(*link)->next) {
		if ((*link)->fd != fd)
			continue;
		ssh = *link;
		*link = ssh->next;
		sc_ssh_complaint(ssh, &complaint);
		(void)snprintf(engine->complaint, sizeof(engine->complaint), "%s",
			sc_buf_text(&complaint));
		break;
	}
	(void)pthread_mutex_unlock(&engine->lock);
	sc_ssh_close(ssh);
	return 0;
}

/* libcurl may have closed the connection by now, or not. */
static bool is_open(const sandcell_engine *engine, const struct sc_ssh *wanted)
{
	for (const struct sc_ssh *ssh = engine->ssh; ssh; ssh = ssh->next) {
		if (ssh == wanted)
			return true;
	}
	return false;
}

void sc_dial_complaint(const struct sc_dialing *dialing, sc_buf *text)
{
	sandcell_engine *engine = dialing->engine;

	if (dialing->why) {
		(void)sc_buf_puts(text, sandcell_error_get_message(dialing->why));
		return;
	}
	(void)pthread_mutex_lock(&engine->lock);
	if (is_open(engine, dialing->ssh))
		sc_ssh_complaint(dialing->ssh, text);
	else
		(void)sc_buf_puts(text, engine->complaint);
	(void)pthread_mutex_unlock(&engine->lock);
}

static CURLcode setup_ssh(struct sc_dialing *dialing, CURL *curl)
{
	(void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_ssh);
	(void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, dialing);
	(void)curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, before_request);
	(void)curl_easy_setopt(curl, CURLOPT_PREREQDATA, dialing);
	(void)curl_easy_setopt(curl, CURLOPT_CLOSESOCKETFUNCTION, close_ssh);
	(void)curl_easy_setopt(curl, CURLOPT_CLOSESOCKETDATA, dialing->engine);
	/* Replaced by open_ssh(); it keeps libcurl from resolving a name. */
	return curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, "/ssh");
}

int sc_dial_setup(struct sc_dialing *dialing, CURL *curl, sandcell_error **err_out)
{
	const sandcell_engine *engine = dialing->engine;
	CURLcode code = CURLE_OK;

	(void)curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_cloexec);
	switch (engine->address.scheme) {
	case SC_SCHEME_UNIX:
		code = curl_easy_setopt(
			curl, CURLOPT_UNIX_SOCKET_PATH, engine->address.path);
		break;
	case SC_SCHEME_TCP:
		(void)curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
		code = sc_tls_setup(&engine->tls, curl);
		break;
	case SC_SCHEME_SSH:
		code = setup_ssh(dialing, curl);
		break;
	}
	return code == CURLE_OK ? 0 : sc_fail_nomem(err_out);
}

/* ---- streams ---- */

static int dial_unix(sandcell_engine *engine, sc_deadline deadline, sc_stream **stream_out,
	sandcell_error **err_out)
{
	sc_autoclose int fd = -1;
	int rc;

	rc = sc_fd_connect_unix(engine->address.path, deadline, &fd, err_out);
	if (rc < 0 && sc_dial_revive(engine))
		rc = sc_fd_connect_unix(engine->address.path, deadline, &fd, err_out);
	if (rc < 0)
		return rc;
	rc = sc_stream_new(fd, stream_out, err_out);
	if (rc == 0)
		(void)SANDCELL_TAKE_FD(fd);
	return rc;
}

static int dial_ssh(
	sandcell_engine *engine, sc_stream **stream_out, sandcell_error **err_out)
{
	struct sc_ssh *ssh = NULL;
	int rc;

	rc = sc_ssh_open(&engine->address, engine->connect_ms, &ssh, err_out);
	if (rc < 0)
		return rc;
	rc = sc_stream_new_ssh(ssh, stream_out, err_out);
	if (rc < 0)
		sc_ssh_close(ssh);
	return rc;
}

static int connect_only(
	sandcell_engine *engine, CURL *curl, sc_deadline deadline, sandcell_error **err_out)
{
	struct sc_dialing dialing = {.engine = engine};
	char why[CURL_ERROR_SIZE] = "";
	long left_ms = sc_deadline_left_ms(deadline);
	CURLcode code;
	int rc;

	rc = sc_dial_setup(&dialing, curl, err_out);
	if (rc < 0)
		return rc;
	(void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	/* Without ALPN an engine behind a proxy can't choose HTTP/2, which has no upgrade.
	 */
	(void)curl_easy_setopt(curl, CURLOPT_SSL_ENABLE_ALPN, 0L);
	(void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, left_ms > 0 ? left_ms : 1L);
	if (curl_easy_setopt(curl, CURLOPT_URL, engine->base) != CURLE_OK)
		return sc_fail_nomem(err_out);
	code = curl_easy_perform(curl);
	(void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
	if (code == CURLE_OK)
		return 0;
	return sc_fail(err_out,
		code == CURLE_OPERATION_TIMEDOUT ? SANDCELL_E_TIMEOUT : SANDCELL_E_CONNECT,
		"connecting to %s: %s", engine->address.text,
		why[0] ? why : curl_easy_strerror(code));
}

static int dial_tcp(sandcell_engine *engine, sc_deadline deadline, sc_stream **stream_out,
	sandcell_error **err_out)
{
	struct sc_sigpipe guard;
	CURL *curl = curl_easy_init();
	int rc;

	if (!curl)
		return sc_fail_nomem(err_out);
	sc_sigpipe_hold(&guard);
	rc = connect_only(engine, curl, deadline, err_out);
	if (rc == 0)
		rc = sc_stream_new_curl(curl, stream_out, err_out);
	if (rc < 0)
		curl_easy_cleanup(curl);
	sc_sigpipe_release(&guard);
	return rc;
}

int sc_dial_stream(sandcell_engine *engine, sc_deadline deadline, sc_stream **stream_out,
	sandcell_error **err_out)
{
	sc_deadline connected_by =
		sc_deadline_min(deadline, sc_deadline_in_ms(engine->connect_ms));

	switch (engine->address.scheme) {
	case SC_SCHEME_TCP:
		return dial_tcp(engine, connected_by, stream_out, err_out);
	case SC_SCHEME_SSH:
		return dial_ssh(engine, stream_out, err_out);
	case SC_SCHEME_UNIX:
		break;
	}
	return dial_unix(engine, connected_by, stream_out, err_out);
}
