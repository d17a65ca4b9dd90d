/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_FIND_H
#define SC_ENGINE_FIND_H

/*
 * Which engine?  A host that somebody named (argument, environment, Docker context) is
 * the answer or the error, never silently another one; only without one are the usual
 * sockets tried, and the error then lists each with the reason.
 */

#include "engine/engine.h"

/* host NULL: search.  Fills the engine's address and source, and negotiates. */
int sc_engine_find(sandcell_engine *engine, const char *host, sandcell_error **err_out);
/*
 * The first of these sockets (NULL-terminated) behind which an engine answers, and if none
 * does, a podman service of our own.
 */
int sc_engine_find_among(
	sandcell_engine *engine, const char *const *paths, sandcell_error **err_out);

#endif
