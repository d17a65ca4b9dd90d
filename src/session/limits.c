/* SPDX-License-Identifier: MIT */
#include "session/limits.h"

#include <inttypes.h>

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

#define DEFAULT_MEMORY GIB(2)
#define DEFAULT_PIDS   256
/* Less does not hold the supervisor, the zygote and a kernel. */
#define MIN_MEMORY MIB(64)
#define MIN_PIDS   16
/*
 * Always sent, with soft = hard: else a runtime without CAP_SYS_RESOURCE raises its own and
 * fails.  nproc counts per uid over the whole machine, so it is high; pids is what bounds
 * a session.
 */
#define NOFILE	   4096
#define MIN_NOFILE 32
#define MAX_NOFILE (UINT64_C(1) << 20)
#define NPROC	   16384

static uint64_t tmpfs_sum(const struct sc_limits *limits)
{
	return limits->tmp_bytes + limits->workspace_bytes + limits->home_bytes +
	       limits->var_tmp_bytes + limits->run_bytes + limits->shm_bytes;
}

static void share_memory(struct sc_limits *limits, bool has_workspace)
{
	uint64_t memory = limits->memory_bytes;

	limits->tmp_bytes = memory / 8;
	limits->workspace_bytes = has_workspace ? 0 : memory / 8;
	limits->home_bytes = memory / 16;
	limits->shm_bytes = memory / 32;
	limits->var_tmp_bytes = memory / 64;
	limits->run_bytes = memory / 256;
}

int sc_limits_resolve(struct sc_limits *limits, const sandcell_session_options *opts,
	bool has_workspace, sandcell_error **err_out)
{
	struct sc_limits mine = {
		.memory_bytes = opts->memory_bytes ? opts->memory_bytes : DEFAULT_MEMORY,
		.cpu_millis = opts->cpu_millis,
		.pids = opts->pids_max ? opts->pids_max : DEFAULT_PIDS,
		.nofile = NOFILE,
		.nproc = NPROC,
		.code_nofile = (uint32_t)opts->nofile_max,
		.fsize_bytes = opts->fsize_bytes,
	};

	if (mine.memory_bytes < MIN_MEMORY || mine.memory_bytes > INT64_MAX)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"memory of %" PRIu64 " bytes: at least %" PRIu64 " are needed",
			mine.memory_bytes, MIN_MEMORY);
	if (opts->nofile_max &&
		(opts->nofile_max < MIN_NOFILE || opts->nofile_max > MAX_NOFILE))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"%" PRIu64 " open files: from %d to %" PRIu64 " are possible",
			opts->nofile_max, MIN_NOFILE, MAX_NOFILE);
	if (opts->fsize_bytes > INT64_MAX)
		return sc_fail(err_out, SANDCELL_E_INVAL, "files of %" PRIu64 " bytes",
			opts->fsize_bytes);
	if (opts->nofile_max > NOFILE)
		mine.nofile = (uint32_t)opts->nofile_max;
	if (mine.pids < MIN_PIDS)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"%u processes: at least %d are needed", mine.pids, MIN_PIDS);
	share_memory(&mine, has_workspace);
	if (opts->tmp_bytes) {
		uint64_t others = tmpfs_sum(&mine) - mine.tmp_bytes;
		uint64_t most = mine.memory_bytes / 2 - others;

		if (opts->tmp_bytes > most)
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"/tmp of %" PRIu64 " bytes: with %" PRIu64
				" bytes of memory at most %" PRIu64 " are possible",
				opts->tmp_bytes, mine.memory_bytes, most);
		mine.tmp_bytes = opts->tmp_bytes;
	}
	*limits = mine;
	return 0;
}

json_t *sc_limits_json(const struct sc_limits *limits)
{
	return json_pack("{s:I, s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"memory_bytes", (json_int_t)limits->memory_bytes, "swap_bytes", 0,
		"cpu_millis",
		limits->cpu_millis ? json_integer(limits->cpu_millis) : json_null(), "pids",
		(json_int_t)limits->pids, "nofile", (json_int_t)limits->nofile, "nproc",
		(json_int_t)limits->nproc, "tmp_bytes", (json_int_t)limits->tmp_bytes,
		"home_bytes", (json_int_t)limits->home_bytes, "shm_bytes",
		(json_int_t)limits->shm_bytes, "workspace_bytes",
		(json_int_t)limits->workspace_bytes);
}

/* Appends a warning unless what is in force under key is a number up to wanted. */
static int compare_one(
	const json_t *in_force, const char *key, uint64_t wanted, json_t *warnings)
{
	const json_t *value = json_object_get(in_force, key);
	json_t *text = NULL;

	if (json_is_integer(value) && json_integer_value(value) >= 0 &&
		(uint64_t)json_integer_value(value) <= wanted)
		return 0;
	if (json_is_integer(value))
		text = json_sprintf("the engine did not apply the limit '%s': %" PRIu64
				    " asked, %" JSON_INTEGER_FORMAT " in force",
			key, wanted, json_integer_value(value));
	else
		text = json_sprintf("the engine did not apply the limit '%s': %" PRIu64
				    " asked, none in force",
			key, wanted);
	return json_array_append_new(warnings, text) < 0 ? SANDCELL_E_NOMEM : 1;
}

int sc_limits_compare(
	const struct sc_limits *limits, const json_t *in_force, json_t *warnings)
{
	const struct {
		const char *key;
		uint64_t wanted;
	} rows[] = {
		{"memory_bytes", limits->memory_bytes},
		{"pids", limits->pids},
		{"cpu_millis", limits->cpu_millis ? limits->cpu_millis : UINT64_MAX},
		{"nofile", limits->nofile},
		{"nproc", limits->nproc},
	};
	int dropped = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc = 0;

		if (rows[i].wanted != UINT64_MAX)
			rc = compare_one(in_force, rows[i].key, rows[i].wanted, warnings);
		if (rc < 0)
			return rc;
		dropped += rc;
	}
	return dropped;
}
