/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_EXEC_H
#define SC_ENGINE_EXEC_H

/*
 * A process beside the main one of a container, with attached stdin, stdout, stderr.
 */

#include "engine/engine.h"
#include "engine/stream.h"

/* body: AttachStdin, AttachStdout, AttachStderr, Cmd, User, ...; Tty must not be true. */
int sc_exec_create(sandcell_engine *engine, const char *container, const json_t *body,
	sc_deadline deadline, char **id_out, sandcell_error **err_out);

/*
 * Starts it; the stream carries stdin to it and framed output (demux.h) back.  An engine
 * may report that the command could not be started inside the stream only.
 */
int sc_exec_start(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sc_stream **stream_out, sandcell_error **err_out);

struct sc_exec_state {
	bool running;
	bool has_exit_code; /* false: running, or the engine does not know */
	int exit_code;
	int64_t pid; /* on the engine's host; 0: unknown */
};

/* Reads an inspect object; pure. */
int sc_exec_read_state(
	const json_t *root, struct sc_exec_state *state, sandcell_error **err_out);
int sc_exec_inspect(sandcell_engine *engine, const char *id, sc_deadline deadline,
	struct sc_exec_state *state, sandcell_error **err_out);
/*
 * The same, asking again until it does not run any more or the deadline has passed
 * (SANDCELL_E_TIMEOUT).  An exit code is never invented: look at has_exit_code.
 */
int sc_exec_wait(sandcell_engine *engine, const char *id, sc_deadline deadline,
	struct sc_exec_state *state, sandcell_error **err_out);

#endif
