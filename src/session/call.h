/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_CALL_H
#define SC_SESSION_CALL_H

/*
 * One call to the supervisor: a header and parts to send, handlers for what comes in
 * between, and its result.  execute, cli, reset, setup and whatever comes later are all
 * this, with other headers and handlers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "session/channel.h"

/* Handlers may be NULL: then such frames are ignored.  A negative return ends the channel.
 */
struct sc_call_handlers {
	/* A piece of output; stream is one of SANDCELL_STDOUT ... SANDCELL_LATE_STDERR. */
	int (*output)(int stream, const void *data, size_t len, uint64_t dropped,
		void *user, sandcell_error **err_out);
	/* A displayed object; the handler takes the content over by emptying it. */
	int (*display)(sc_content *content, void *user, sandcell_error **err_out);
	/* A piece of the call's stream, and leave to send more of one; see bulk.h. */
	int (*chunk)(const void *data, size_t len, void *user, sandcell_error **err_out);
	int (*credit)(uint64_t bytes, void *user, sandcell_error **err_out);
};

typedef struct sc_call {
	uint64_t id;
	sc_message message;
	const struct sc_call_handlers *handlers;
	void *user;
	bool stoppable; /* sc_call_run() heeds the wait callback */

	sc_content content; /* of the frame whose parts are coming, then of the result */
	json_t *pending;    /* its header, while parts are missing */
	json_t *result;	    /* header of the result; the call has ended */

	struct sc_call *next; /* in the channel's list */
} sc_call;

/* The header must hold type and id; header and parts are borrowed until the end. */
int sc_call_init(sc_call *call, uint64_t id, const json_t *header, const sc_part *parts,
	size_t count, const struct sc_call_handlers *handlers, void *user,
	sandcell_error **err_out);
void sc_call_clear(sc_call *call);
/* A frame with this call's id. */
int sc_call_take(sc_call *call, const sc_frame *frame, sandcell_error **err_out);
bool sc_call_ended(const sc_call *call);

/*
 * Runs a small call without handlers to its end.  SANDCELL_E_TIMEOUT when the deadline
 * passes first, SANDCELL_E_CALLBACK when it is stoppable and the wait callback asked for
 * that, else as sc_channel_pump(); woken is not heeded.
 */
int sc_call_run(
	sc_channel *channel, sc_call *call, sc_deadline deadline, sandcell_error **err_out);
/* SANDCELL_E_FAIL with the text of the supervisor, unless the result's status is "ok". */
int sc_call_check(const sc_call *call, const char *what, sandcell_error **err_out);

#endif
