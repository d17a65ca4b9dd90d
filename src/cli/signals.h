/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_SIGNALS_H
#define SANDCELL_CLI_SIGNALS_H

/*
 * SIGINT, SIGTERM and SIGHUP stop the opening of a session and the running call, so that
 * the container can be removed before the program ends; SIGPIPE is ignored, because a
 * closed output is seen by its write.  Blocking system calls of ours end with EINTR.
 *
 * A third signal ends the program at once; the container then ends by its lease.
 */

#include <signal.h>

#include <sandcell/session.h>

void cli_signals_init(void);
/* The session whose calls a signal is to stop; NULL: none. */
void cli_signals_watch(sandcell_session *session);
/* A sandcell_wait_fn: stops what the library is waiting for. */
int cli_signals_stop(void *user);
/* The first signal that asked us to stop, or 0. */
int cli_signals_caught(void);
int cli_exit_code_of_signal(int number);

#endif
