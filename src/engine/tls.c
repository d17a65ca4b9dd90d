/* SPDX-License-Identifier: MIT */
#include "engine/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "engine/context.h"

void sc_tls_clear(struct sc_tls *tls)
{
	sc_free(tls->ca);
	sc_free(tls->cert);
	sc_free(tls->key);
	*tls = (struct sc_tls){0};
}

/* The path of a file that exists; *path_out stays NULL otherwise. */
static int find_file(
	const char *folder, const char *name, char **path_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	(void)sc_buf_printf(&path, "%s/%s", folder, name);
	rc = sc_buf_check(&path, err_out, "path of a certificate");
	if (rc < 0)
		return rc;
	if (access(sc_buf_text(&path), F_OK) < 0)
		return 0;
	*path_out = sc_buf_take(&path, NULL);
	return *path_out ? 0 : sc_fail_nomem(err_out);
}

static int find_files(const char *folder, struct sc_tls *tls, sandcell_error **err_out)
{
	int rc;

	rc = find_file(folder, "ca.pem", &tls->ca, err_out);
	if (rc == 0)
		rc = find_file(folder, "cert.pem", &tls->cert, err_out);
	if (rc == 0)
		rc = find_file(folder, "key.pem", &tls->key, err_out);
	if (rc == 0 && !tls->cert != !tls->key)
		rc = sc_fail(err_out, SANDCELL_E_INVAL,
			"'%s' has only one of cert.pem and key.pem", folder);
	return rc;
}

int sc_tls_from_folder(
	const char *folder, bool skip_verify, struct sc_tls *tls, sandcell_error **err_out)
{
	int rc = 0;

	*tls = (struct sc_tls){.on = true, .skip_verify = skip_verify};
	if (folder)
		rc = find_files(folder, tls, err_out);
	if (rc < 0)
		sc_tls_clear(tls);
	return rc;
}

int sc_tls_from_environment(struct sc_tls *tls, sandcell_error **err_out)
{
	const char *verify = secure_getenv("DOCKER_TLS_VERIFY");
	const char *folder = secure_getenv("DOCKER_CERT_PATH");
	sc_autofree char *config = NULL;
	int rc;

	if (folder && folder[0])
		return sc_tls_from_folder(folder, false, tls, err_out);
	if (!verify || !verify[0])
		return 0;
	rc = sc_context_folder(&config, err_out);
	if (rc < 0)
		return rc;
	return sc_tls_from_folder(config, false, tls, err_out);
}

CURLcode sc_tls_setup(const struct sc_tls *tls, CURL *curl)
{
	CURLcode code = CURLE_OK;

	if (!tls->on)
		return CURLE_OK;
	(void)curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	(void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, tls->skip_verify ? 0L : 1L);
	(void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, tls->skip_verify ? 0L : 2L);
	if (tls->ca)
		code = curl_easy_setopt(curl, CURLOPT_CAINFO, tls->ca);
	if (code == CURLE_OK && tls->cert)
		code = curl_easy_setopt(curl, CURLOPT_SSLCERT, tls->cert);
	if (code == CURLE_OK && tls->key)
		code = curl_easy_setopt(curl, CURLOPT_SSLKEY, tls->key);
	return code;
}

static bool is_pending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

void sc_sigpipe_hold(struct sc_sigpipe *guard)
{
	sigset_t pipe_only;

	(void)sigemptyset(&pipe_only);
	(void)sigaddset(&pipe_only, SIGPIPE);
	guard->was_pending = is_pending();
	(void)pthread_sigmask(SIG_BLOCK, &pipe_only, &guard->old_mask);
}

void sc_sigpipe_release(const struct sc_sigpipe *guard)
{
	const struct timespec now = {0};
	sigset_t pipe_only;

	(void)sigemptyset(&pipe_only);
	(void)sigaddset(&pipe_only, SIGPIPE);
	if (!guard->was_pending && is_pending()) {
		while (sigtimedwait(&pipe_only, NULL, &now) < 0 && errno == EINTR)
			;
	}
	(void)pthread_sigmask(SIG_SETMASK, &guard->old_mask, NULL);
}
