/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_SESSION_H
#define SC_SESSION_SESSION_H

/*
 * A session: one container, one channel to its supervisor, and what is known about both.
 *
 * The rule for callers is one thread at a time; a lock makes sure of it all the same, so
 * that a second thread waits, and sc_session_close() ends a call that another thread has
 * running.  A forked child may only free a session.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "sandcell/session.h"
#include "session/channel.h"
#include "session/config.h"
#include "session/owner.h"

/* One bit each, so that a step can name all states it may start from. */
enum session_state {
	SESSION_NEW = 1 << 0,	 /* no container yet */
	SESSION_READY = 1 << 1,	 /* container and channel are there, no call runs */
	SESSION_BUSY = 1 << 2,	 /* a call runs */
	SESSION_LOST = 1 << 3,	 /* the container is gone; the next call opens another */
	SESSION_CLOSED = 1 << 4, /* for good */
};

#define SC_CLIENT_DIGITS 16

struct sandcell_session {
	sandcell_engine *engine; /* outlives the session */
	struct sc_config config;
	struct sc_owner owner;
	pid_t opener;

	pthread_mutex_t lock; /* held during every operation */
	atomic_int holder;    /* thread id of who holds it; 0: nobody */
	int wake_fd;	      /* eventfd: interrupt or close */
	atomic_bool closing;

	enum session_state state;
	char *container; /* id; NULL while there is none */
	char *nonce;	 /* label that tells this container from every other */
	sc_channel *channel;
	char client[SC_CLIENT_DIGITS + 1]; /* how the supervisor knows us */
	uint64_t call_began_ns;		   /* the engine's wall clock, for past events */
	bool attached;	  /* another process opened it: a lost container is not replaced */
	bool observes;	  /* and only looks on */
	bool replaced;	  /* the container took the place of a lost one; not yet told */
	json_t *warnings; /* of opening the container */
	char *json;	  /* sandcell_session_get_json() */
};

int sc_session_open(sandcell_engine *engine, const sandcell_session_options *opts,
	sandcell_session **session_out, sandcell_error **err_out);
int sc_session_detach(sandcell_session *s, sandcell_error **err_out);
int sc_session_reset(sandcell_session *s, sandcell_error **err_out);
int sc_session_close(sandcell_session *s, sandcell_error **err_out);
void sc_session_interrupt(sandcell_session *s);
void sc_session_free(sandcell_session *s);

static inline void sc_session_freep(sandcell_session **s)
{
	sc_session_free(*s);
}

/* ---- for the files of this folder ---- */

/* A session without config or container. */
int sc_session_new(
	sandcell_engine *engine, sandcell_session **out, sandcell_error **err_out);
/* Checks that the step is legal: from one of from_mask. */
int sc_session_move(sandcell_session *s, unsigned from_mask, enum session_state to,
	sandcell_error **err_out);
/*
 * Takes the session for one operation, ready for a call: a lost container is replaced
 * first.  SANDCELL_E_CLOSED, _BUSY (from inside a callback), _GONE, _INVAL (forked child).
 */
int sc_session_enter(sandcell_session *s, sandcell_error **err_out);
void sc_session_leave(sandcell_session *s);

/* The same without making it ready; SANDCELL_E_BUSY and _INVAL only. */
int sc_session_lock(sandcell_session *s, sandcell_error **err_out);
void sc_session_unlock(sandcell_session *s);

/* open.c: creates container and channel; on failure nothing is left in the engine. */
int sc_session_start(sandcell_session *s, sc_deadline deadline, sandcell_error **err_out);
/* Drops the channel and removes the container; NULL err_out for a best effort. */
int sc_session_discard(sandcell_session *s, sc_deadline deadline, sandcell_error **err_out);

#endif
