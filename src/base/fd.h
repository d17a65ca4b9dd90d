/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_FD_H
#define SC_BASE_FD_H

/*
 * Descriptors: CLOEXEC at birth, non-blocking, waits with a deadline, and no write that
 * could raise SIGPIPE.
 */

#include <stddef.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"

/* Waits for events (POLLIN, POLLOUT): 1 = ready, hang-up included; 0 = deadline passed. */
int sc_fd_wait(int fd, short events, sc_deadline deadline, sandcell_error **err_out);
/* Sends all of data on a socket; SANDCELL_E_TIMEOUT, or SANDCELL_E_CONNECT when it broke.
 */
int sc_fd_send_all(int fd, const void *data, size_t len, sc_deadline deadline,
	sandcell_error **err_out);
/*
 * Connects to a Unix socket.  On failure SANDCELL_E_CONNECT with errno in the error, or
 * SANDCELL_E_INVAL for a path that no socket address can hold.
 */
int sc_fd_connect_unix(
	const char *path, sc_deadline deadline, int *fd_out, sandcell_error **err_out);
/* Reads a small file whole: at most max bytes, NUL-terminated.  -1 with errno otherwise. */
int sc_fd_read_file(const char *path, size_t max, char **text_out, size_t *len_out);

#endif
