/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_SPEC_H
#define SC_SESSION_SPEC_H

/*
 * What is asked of the engine and of the runner to open a session: the lockdown, written
 * down as JSON.  Pure.  No code, environment value or secret is ever part of a body for the
 * engine: its events and its inspect show all of it.
 */

#include <jansson.h>

#include "base/error.h"
#include "session/config.h"
#include "session/owner.h"

#define SC_LABEL_PREFIX	     "io.sandcell."
#define SC_LABEL_NONCE	     SC_LABEL_PREFIX "nonce"
#define SC_LABEL_VERSION     SC_LABEL_PREFIX "version"
#define SC_LABEL_SESSION     SC_LABEL_PREFIX "session"
#define SC_LABEL_KIND	     SC_LABEL_PREFIX "kind"
#define SC_LABEL_CONFIG	     SC_LABEL_PREFIX "config"
#define SC_LABEL_CREATED     SC_LABEL_PREFIX "created"
#define SC_LABEL_MAX_LIFE    SC_LABEL_PREFIX "max_life_ms"
#define SC_LABEL_OWNER_UID   SC_LABEL_PREFIX "owner.uid"
#define SC_LABEL_OWNER_HOST  SC_LABEL_PREFIX "owner.host"
#define SC_LABEL_OWNER_BOOT  SC_LABEL_PREFIX "owner.boot"
#define SC_LABEL_OWNER_PIDNS SC_LABEL_PREFIX "owner.pidns"
#define SC_LABEL_OWNER_PID   SC_LABEL_PREFIX "owner.pid"
#define SC_LABEL_OWNER_START SC_LABEL_PREFIX "owner.start"
#define SC_NAME_PREFIX	     "sandcell-"
#define SC_SPEC_HOME	     "/home/sandcell"

/* Where the session mounts something of its own; ends with NULL. */
extern const char *const sc_spec_own_targets[];

/* How the engine at hand wants it. */
struct sc_spec_engine {
	bool keep_id; /* map the caller's uid to itself in a user namespace */
	bool runtime_per_request;
	uint64_t created_s; /* wall clock, for the label */
	const char *nonce;  /* for the label that tells this container from all others */
};

/* Body of container create. */
int sc_spec_container(const struct sc_config *config, const struct sc_owner *owner,
	const struct sc_spec_engine *engine, json_t **body_out, sandcell_error **err_out);
/* Body of exec create for the connector. */
int sc_spec_connector(json_t **body_out, sandcell_error **err_out);
/*
 * Header of the `setup` frame, without its parts.  image_env: array of "KEY=VALUE" of the
 * image, or NULL.
 */
int sc_spec_setup(const struct sc_config *config, const json_t *image_env, uint64_t id,
	json_t **header_out, sandcell_error **err_out);

#endif
