/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_CONFIG_JSON_H
#define SC_SESSION_CONFIG_JSON_H

/*
 * A config as JSON, for a label: how another process, which attaches, and operators learn
 * what a container was made for.  No environment: its values may be secrets.
 */

#include "session/config.h"

/* {image, user, workspace, workspace_read_only, network, runtime, lease_ms, max_life_ms,
 * idle_ms, limits}; NULL: out of memory, or a path that is not UTF-8. */
json_t *sc_config_json(const struct sc_config *config);
/* Fills the same members of an empty config; what is missing stays empty. */
int sc_config_from_json(
	struct sc_config *config, const json_t *from, sandcell_error **err_out);

#endif
