/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_RECOVER_H
#define SC_SESSION_RECOVER_H

/*
 * What is done when a session's container is lost or cannot be trusted any more: find out
 * why from what the engine remembers, remove what is left, and open another one with the
 * same options.  A verdict is never better than what is known.
 */

#include <stdbool.h>

#include "sandcell/result.h"
#include "session/session.h"

enum sc_loss {
	SC_LOSS_STREAM,	  /* the stream ended: the engine may know why */
	SC_LOSS_PROTOCOL, /* the container sent what it must not send */
	SC_LOSS_DEADLINE  /* the supervisor did not keep its own deadline */
};

struct sc_verdict {
	int status;    /* SANDCELL_RESULT_LOST, _OOM or _SIGNALED */
	int exit_code; /* -1: none */
	int signal;
	bool replaced; /* another container is ready */
	char text[512];
};

/* The loss behind a failure of sc_channel_pump(). */
enum sc_loss sc_loss_of(int rc);
/* Leaves the session busy with a new container, or lost. */
void sc_recover(sandcell_session *s, enum sc_loss loss, struct sc_verdict *verdict);

#endif
