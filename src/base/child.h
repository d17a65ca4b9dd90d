/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_CHILD_H
#define SC_BASE_CHILD_H

/*
 * A helper program of the library: its own session, default signals, and no descriptors but
 * the three it is given.  Held by a pidfd, so that a signal never hits a stranger who got
 * its number, even in a host that reaps all children or ignores SIGCHLD.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct sc_child {
	pid_t pid; /* 0: none */
	int pidfd; /* -1: this kernel has none (before 5.3) */
};

#define SC_CHILD_INIT                                                                      \
	{                                                                                  \
		.pidfd = -1                                                                \
	}

/*
 * Runs argv, found in PATH; in, out and err become its descriptors 0, 1 and 2 and stay the
 * caller's.  SANDCELL_E_NOTFOUND when there is no such program.
 */
int sc_child_spawn(const char *const *argv, int in, int out, int err,
	struct sc_child *child, sandcell_error **err_out);
/* It has ended, and is reaped. */
bool sc_child_has_ended(struct sc_child *child);
/* Asks it to end, insists after two seconds, and reaps it; one that has ended is fine. */
void sc_child_end(struct sc_child *child);
/* Lets it live on without us. */
void sc_child_forget(struct sc_child *child);

#endif
