/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_OPTS_H
#define SC_BASE_OPTS_H

/*
 * Loads a caller's options struct, whose first member is its size, into ours.  Shorter than
 * the first release: refused.  Shorter than ours: the rest is zero.  Longer: its unknown
 * tail must be zero, else this library is too old.  Nobody else dereferences the caller's.
 */

#include <stddef.h>

#include "base/error.h"

int sc_opts_load(void *mine, size_t mine_size, size_t first_size, const void *theirs,
	const char *name, sandcell_error **err_out);

#endif
