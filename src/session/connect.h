/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_CONNECT_H
#define SC_SESSION_CONNECT_H

/*
 * Reaching the supervisor of a running container: an exec whose streams it takes over, and
 * a greeting.  The same for the session's first client, for another process, and after a
 * stream was lost.
 */

#include "session/call.h"
#include "session/session.h"

/* Puts a new channel into the session, which must have none. */
int sc_connect(sandcell_session *s, sc_deadline deadline, sandcell_error **err_out);
/* hello, and ready: whose result is left in the call, for the caller to clear. */
int sc_greet(sandcell_session *s, sc_call *ready, sc_deadline deadline,
	sandcell_error **err_out);

#endif
