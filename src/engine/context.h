/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_CONTEXT_H
#define SC_ENGINE_CONTEXT_H

/*
 * Docker contexts, read from the files of the docker command: config.json names the
 * current one, contexts/meta/<sha256 of the name>/meta.json holds its address, and
 * contexts/tls/<the same>/docker/ its certificates.
 */

#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"

struct sc_context_info {
	char *name;	  /* NULL: none is current, or it is "default" */
	char *host;	  /* as in DOCKER_HOST */
	char *tls_folder; /* holds ca.pem, cert.pem, key.pem; NULL: no such directory */
	bool skip_verify;
};

#define sc_autocontext SANDCELL_CLEANUP(sc_context_clear) struct sc_context_info

/*
 * The current context; all empty when there is none.  config_dir NULL: DOCKER_CONFIG, else
 * ~/.docker.  A context that is named but cannot be read is SANDCELL_E_INVAL.
 */
int sc_context_current(
	const char *config_dir, struct sc_context_info *context, sandcell_error **err_out);
/* DOCKER_CONFIG, else ~/.docker. */
int sc_context_folder(char **folder_out, sandcell_error **err_out);
void sc_context_clear(struct sc_context_info *context);

#endif
