/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_DIAL_H
#define SC_ENGINE_DIAL_H

/* Connections: what differs between unix, tcp and ssh, for libcurl and for streams. */

#include "engine/engine_impl.h"
#include "engine/stream.h"

/* Works out what URLs start with, once the address is known. */
int sc_dial_prepare(sandcell_engine *engine, sandcell_error **err_out);

/* A connection that libcurl makes; lives while the handle performs. */
struct sc_dialing {
	sandcell_engine *engine;
	struct sc_ssh *ssh; /* lent by the engine's list */
	sandcell_error *why;
};

/* Sets a handle up to reach the engine, in addition to its URL. */
int sc_dial_setup(struct sc_dialing *dialing, CURL *curl, sandcell_error **err_out);
/* After a failed connection: the engine is one of ours, had ended, and runs again. */
bool sc_dial_revive(sandcell_engine *engine);
/* What goes into a Host header. */
const char *sc_dial_host(const sandcell_engine *engine);
/* A connection of its own, with nothing said on it yet. */
int sc_dial_stream(sandcell_engine *engine, sc_deadline deadline, sc_stream **stream_out,
	sandcell_error **err_out);
/* Why it did not work, when that is known better than libcurl can; empty otherwise. */
void sc_dial_complaint(const struct sc_dialing *dialing, sc_buf *text);

#endif
