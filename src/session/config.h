/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_CONFIG_H
#define SC_SESSION_CONFIG_H

/*
 * The caller's options, checked, completed and copied.  Nothing here talks to an engine; a
 * session keeps its config, so that it can open a second container just like the first.
 */

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "sandcell/session.h"
#include "session/limits.h"
#include "session/workspace.h"

#define SC_DEFAULT_IMAGE      "sandcell/python"
#define SC_DEFAULT_OUTPUT_MAX ((uint64_t)1 << 20)
#define SC_DEFAULT_TIMEOUT_MS 600000

struct sc_config {
	char *image;
	char *name;    /* made up when none was given */
	char *network; /* "none" */
	char *runtime; /* NULL: the engine's default */
	struct sc_workspace workspace;
	struct sc_mount *mounts;
	size_t mount_count;
	json_t *env;	  /* object: the caller's variables */
	json_t *preload;  /* array of module names */
	json_t *warnings; /* array of text, found while loading */
	struct sc_limits limits;
	sandcell_wait_fn on_wait;
	void *wait_user;
	uint64_t output_max;
	uint32_t timeout_ms; /* SANDCELL_NO_TIMEOUT: none */
	uint32_t lease_ms;
	uint32_t max_life_ms; /* 0: no limit, as the next */
	uint32_t idle_ms;
	uint32_t open_timeout_ms;
	bool named; /* by the caller */
	bool strict_limits;
};

/*
 * opts: loaded by the membrane, all members valid to read.  socket: the engine's, NULL when
 * it is not one of this host.  remote: the engine would look for paths on another machine.
 */
int sc_config_load(struct sc_config *config, const sandcell_session_options *opts,
	const char *socket, bool remote, struct sc_caller caller, sandcell_error **err_out);
/* Checks and copies a session's name; NULL: makes one up. */
int sc_config_load_name(
	struct sc_config *config, const char *name, sandcell_error **err_out);
void sc_config_clear(struct sc_config *config);

#endif
