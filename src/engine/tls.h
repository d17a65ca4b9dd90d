/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_TLS_H
#define SC_ENGINE_TLS_H

/*
 * Certificates for tcp://, as the docker command keeps them: ca.pem, cert.pem and key.pem
 * in one folder.  The engine's certificate is always checked, unless a Docker context says
 * SkipTLSVerify.
 */

#include <signal.h>
#include <stdbool.h>

#include <curl/curl.h>

#include "base/alloc.h"
#include "base/error.h"

struct sc_tls {
	bool on;
	bool skip_verify;
	char *ca;   /* NULL: the system's authorities */
	char *cert; /* NULL: no client certificate */
	char *key;
};

#define sc_autotls SANDCELL_CLEANUP(sc_tls_clear) struct sc_tls

/* What is in the folder; NULL: none.  tls is empty before, and after a failure. */
int sc_tls_from_folder(
	const char *folder, bool skip_verify, struct sc_tls *tls, sandcell_error **err_out);
/* DOCKER_TLS_VERIFY or DOCKER_CERT_PATH switch TLS on; without the latter ~/.docker. */
int sc_tls_from_environment(struct sc_tls *tls, sandcell_error **err_out);
CURLcode sc_tls_setup(const struct sc_tls *tls, CURL *curl);
void sc_tls_clear(struct sc_tls *tls);

/*
 * OpenSSL under older libcurl writes with write(2): SIGPIPE is kept from this thread, and
 * from nobody else, between the two.
 */
struct sc_sigpipe {
	sigset_t old_mask;
	bool was_pending;
};

void sc_sigpipe_hold(struct sc_sigpipe *guard);
void sc_sigpipe_release(const struct sc_sigpipe *guard);

#endif
