/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_SPILL_H
#define SC_SESSION_SPILL_H

/*
 * The whole of a call's stdout and stderr in files of the caller's, beside what is kept in
 * memory.  A write that fails stops the call: a file with a hole would be a lie.
 */

#include "base/error.h"
#include "sandcell/execute.h"

struct sc_spill {
	int fds[2]; /* stdout, stderr; -1: not wanted */
	const char *paths[2];
	int failed; /* index + 1 of the file that took no more */
	int errnum;
};

/* Creates the files that opts names, or empties them. */
int sc_spill_open(struct sc_spill *spill, const sandcell_execute_options *opts,
	sandcell_error **err_out);
/* -1 when the file takes no more: sc_spill_fail() tells why. */
int sc_spill_write(struct sc_spill *spill, int stream, const void *data, size_t len);
int sc_spill_fail(const struct sc_spill *spill, sandcell_error **err_out);
void sc_spill_close(struct sc_spill *spill);

#endif
