/* SPDX-License-Identifier: MIT */
#ifndef SESSIONS_H
#define SESSIONS_H

/*
 * Sessions on real engines.  A test opens what it needs, and ends with finish(), which
 * proves that nothing of this process is left; a container carries its owner's pid.
 */

#include <sys/stat.h>

#include "real.h"
#include "sandcell/sandcell.h"

static sandcell_session *session;

static inline void start(const sandcell_session_options *opts)
{
	sandcell_session_options mine = {0};

	if (opts)
		mine = *opts;
	mine.struct_size = sizeof(mine);
	/* What a failed test has left, when all tests share a process. */
	(void)(session && sandcell_session_close(session, NULL));
	sandcell_session_free(session);
	session = NULL;
	if (!engine)
		real_open(getenv("REAL_HOST"));
	OK(sandcell_session_open(engine, &mine, &session, &err));
}

/* How many containers of this process there are. */
static inline size_t count_ours(void)
{
	char label[64];
	const char *const labels[] = {label, NULL};
	sc_autojson *list = NULL;

	(void)snprintf(label, sizeof(label), "io.sandcell.owner.pid=%ld", (long)getpid());
	OK(sc_container_list(engine, labels, true, soon(), &list, &err));
	return json_array_size(list);
}

static inline void finish(void)
{
	if (session)
		OK(sandcell_session_close(session, &err));
	sandcell_session_free(session);
	session = NULL;
	ck_assert_uint_eq(count_ours(), 0);
	sc_engine_free(engine);
	engine = NULL;
}

/* Runs code; the result must be freed. */
static inline sandcell_result *run_with(
	const char *code, const sandcell_execute_options *opts)
{
	sandcell_execute_options mine = {0};
	sandcell_result *result = NULL;

	if (opts)
		mine = *opts;
	mine.struct_size = sizeof(mine);
	OK(sandcell_execute(session, code, strlen(code), &mine, &result, &err));
	return result;
}

static inline void check_result(
	sandcell_result *result, int status, const char *in_error, const char *code)
{
	const char *error = sandcell_result_get_error(result);

	ck_assert_msg(sandcell_result_get_status(result) == status, "%s: %s", code,
		sandcell_result_get_json(result));
	ck_assert_msg(!in_error || (error && strstr(error, in_error)), "%s: no '%s' in %s",
		code, in_error, sandcell_result_get_json(result));
}

/* The value of the code, as text. */
static inline void expect_value(const char *code, const char *want)
{
	sandcell_result *result = run_with(code, NULL);
	const char *got = sandcell_result_get_output(result, NULL);

	check_result(result, SANDCELL_RESULT_OK, NULL, code);
	ck_assert_msg(got && strcmp(got, want) == 0, "%s gave %s, wanted %s", code,
		got ? got : "nothing", want);
	sandcell_result_free(result);
}

static inline void expect_ok(const char *code)
{
	sandcell_result *result = run_with(code, NULL);

	check_result(result, SANDCELL_RESULT_OK, NULL, code);
	sandcell_result_free(result);
}

static inline void expect_end(const char *code, const sandcell_execute_options *opts,
	int status, const char *in_error)
{
	sandcell_result *result = run_with(code, opts);

	check_result(result, status, in_error, code);
	sandcell_result_free(result);
}

/* A fresh directory with this owner and mode, below /tmp. */
static inline void make_workspace(char path[64], uid_t uid, gid_t gid, mode_t mode)
{
	(void)snprintf(path, 64, "/tmp/sandcell-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_eq(chown(path, uid, gid), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static inline void remove_workspace(const char *path)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
	ck_assert_int_eq(system(command), 0);
}

#endif
