/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_CONTAINER_H
#define SC_ENGINE_CONTAINER_H

/*
 * Containers by id or name.  Knows nothing of sessions: the body of a create request comes
 * ready from the caller.
 */

#include "engine/engine.h"
#include "engine/stream.h"

/*
 * Creates one.  name may be NULL.  warnings_out (may be NULL) gets an array of the
 * engine's warnings, empty when there were none.  SANDCELL_E_NOTFOUND: no such image;
 * SANDCELL_E_CONFLICT: the name is taken.
 */
int sc_container_create(sandcell_engine *engine, const char *name, const json_t *body,
	sc_deadline deadline, char **id_out, json_t **warnings_out,
	sandcell_error **err_out);
/* Already running is success. */
int sc_container_start(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sandcell_error **err_out);
/* signal such as "KILL"; SANDCELL_E_CONFLICT when it does not run. */
int sc_container_kill(sandcell_engine *engine, const char *id, const char *signal,
	sc_deadline deadline, sandcell_error **err_out);
/*
 * Kills and removes it with its anonymous volumes, and returns once it is gone; already
 * gone, or being removed by someone else (AutoRemove), is success.
 */
int sc_container_remove(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sandcell_error **err_out);
/* Waits until it does not run any more: its exit code.  Slow: only the deadline counts. */
int sc_container_wait(sandcell_engine *engine, const char *id, sc_deadline deadline,
	int *exit_code_out, sandcell_error **err_out);
int sc_container_rename(sandcell_engine *engine, const char *id, const char *name,
	sc_deadline deadline, sandcell_error **err_out);
int sc_container_pause(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sandcell_error **err_out);
int sc_container_unpause(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sandcell_error **err_out);

/* The whole inspect object. */
int sc_container_inspect(sandcell_engine *engine, const char *id, sc_deadline deadline,
	json_t **root_out, sandcell_error **err_out);

struct sc_container_state {
	const char
		*status; /* "created", "running", "paused", "exited", "dead"; "" unknown */
	const char *error;	/* the engine's text of a failed start; "" none */
	const char *started_at; /* as the engine writes it; "" unknown */
	int64_t pid;		/* on the engine's host; 0: none */
	int64_t exit_code;	/* meaningful only when !running and it was started */
	bool running;		/* paused counts as running */
	bool paused;
	bool oom_killed; /* see sc_quirks.reports_oom */
};

/* Reads State of an inspect object, whose strings it lends.  Missing members are empty. */
void sc_container_read_state(const json_t *inspect, struct sc_container_state *state);

/*
 * Array of list entries (Id, Names, Image, State, Labels, Created) of running containers,
 * or of all.  labels: NULL-terminated "key" or "key=value", all of which must match.
 */
int sc_container_list(sandcell_engine *engine, const char *const *labels, bool all,
	sc_deadline deadline, json_t **array_out, sandcell_error **err_out);

/* What to attach to. */
#define SC_ATTACH_STDIN	 (1u << 0)
#define SC_ATTACH_STDOUT (1u << 1)
#define SC_ATTACH_STDERR (1u << 2)
#define SC_ATTACH_LOGS	 (1u << 3) /* what was written before, too */

/* Attaches to the main process; works before start, and then loses nothing. */
int sc_container_attach(sandcell_engine *engine, const char *id, uint32_t what,
	sc_deadline deadline, sc_stream **stream_out, sandcell_error **err_out);

/* One reading of GET /stats; Docker takes up to a second for it. */
int sc_container_stats(sandcell_engine *engine, const char *id, sc_deadline deadline,
	json_t **root_out, sandcell_error **err_out);

/* Letters, digits, "_.-", starting with a letter or digit: what engines accept. */
bool sc_container_name_valid(const char *name);

#endif
