/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_HIJACK_H
#define SC_ENGINE_HIJACK_H

/*
 * Requests whose connection becomes a stream: exec start and attach.  A connection of its
 * own for each.  101 and 200 are both accepted; bytes glued to the head belong to the
 * stream; a 200 with chunked coding or a length (a proxy's doing) is decoded.  Any other
 * status fails like any other request.
 */

#include "engine/engine.h"
#include "engine/stream.h"

/* path without version prefix; json may be NULL. */
int sc_hijack(sandcell_engine *engine, const char *path, const json_t *json,
	sc_deadline deadline, sc_stream **stream_out, sandcell_error **err_out);

#endif
