/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_EVENTS_H
#define SC_ENGINE_EVENTS_H

/* What happened to a container: past events only, read to their end. */

#include "engine/engine.h"

struct sc_event {
	enum sc_event_action action;
	const char *text;      /* the engine's own word */
	const char *container; /* id */
	const char *signal;    /* of a kill event: "9"; NULL */
	bool has_exit_code;    /* of a die event */
	int exit_code;
	uint64_t time_ns; /* the engine's wall clock */
};

/* Reads one object of the stream, whose strings the event lends; pure. */
void sc_event_read(
	const struct sc_quirks *quirks, const json_t *root, struct sc_event *event);

/* Lent until return; a negative return stops the reading and is what the call returns. */
typedef int (*sc_event_fn)(const struct sc_event *event, void *user);

/* since_ns: the engine's wall clock.  container may be NULL: those of all containers. */
int sc_events_read(sandcell_engine *engine, const char *container, uint64_t since_ns,
	sc_deadline deadline, sc_event_fn fn, void *user, sandcell_error **err_out);

/* Why a container is not there any more, as far as the engine knows. */
struct sc_demise {
	bool oom;	    /* the kernel killed something in it for memory */
	bool died;	    /* its main process ended */
	bool has_exit_code; /* and this is its code */
	int exit_code;
	bool killed;	 /* someone asked the engine to kill or stop it */
	char signal[16]; /* with this signal; "" unknown */
	bool removed;
};

int sc_events_demise(sandcell_engine *engine, const char *container, uint64_t since_ns,
	sc_deadline deadline, struct sc_demise *demise_out, sandcell_error **err_out);

#endif
