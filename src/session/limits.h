/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_LIMITS_H
#define SC_SESSION_LIMITS_H

/*
 * What a session may use: the caller's wishes completed by our defaults, and a comparison
 * with what is in force inside the container, since engines drop limits without a word.
 */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "sandcell/session.h"

struct sc_limits {
	uint64_t memory_bytes; /* swap is never added */
	/* Every file system in memory, by size; together at most half of the memory. */
	uint64_t tmp_bytes;
	uint64_t workspace_bytes; /* 0: a directory of the host is mounted there */
	uint64_t home_bytes;
	uint64_t var_tmp_bytes;
	uint64_t run_bytes;
	uint64_t shm_bytes;
	uint32_t cpu_millis; /* 0: all of the host */
	uint32_t pids;
	uint32_t nofile; /* of the container, the supervisor included */
	uint32_t nproc;
	uint32_t code_nofile; /* of each process of user code; 0: as the container's */
	uint64_t fsize_bytes; /* 0: no limit */
};

/* SANDCELL_E_INVAL when a wish cannot be met. */
int sc_limits_resolve(struct sc_limits *limits, const sandcell_session_options *opts,
	bool has_workspace, sandcell_error **err_out);

/* {memory_bytes, swap_bytes, cpu_millis, pids, nofile, nproc, tmp_bytes ...}; NULL: no
 * memory. */
json_t *sc_limits_json(const struct sc_limits *limits);

/*
 * Compares with the `limits` object of the runner (what it reads inside), and appends one
 * text to warnings for each limit that is not in force.  The number of them, or
 * SANDCELL_E_NOMEM.
 */
int sc_limits_compare(
	const struct sc_limits *limits, const json_t *in_force, json_t *warnings);

#endif
