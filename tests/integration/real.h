/* SPDX-License-Identifier: MIT */
#ifndef REAL_H
#define REAL_H

/*
 * What the tests against real engines share.  Every container carries the run's label, and
 * whatever a failed test left is removed at the end.
 */

#include <stdio.h>
#include <string.h>

#include "engine/container.h"
#include "unit.h"

#define REAL_IMAGE   "sandcell/python"
#define REAL_HANG_MS 60000

static sandcell_engine *engine;
static char run_label[64];

static inline sc_deadline soon(void)
{
	return sc_deadline_in_ms(REAL_HANG_MS);
}

/* Fails with the error's message, which says more than a code. */
#define OK(call)                                                                           \
	do {                                                                               \
		sandcell_error *err = NULL;                                                \
		int rc_ = (call);                                                          \
		ck_assert_msg(rc_ == 0, "%s: %s", #call, sandcell_error_get_message(err)); \
		ck_assert_ptr_null(err);                                                   \
	} while (0)

#define FAILS(code, call)                                                                  \
	do {                                                                               \
		sandcell_error *err = NULL;                                                \
		int rc_ = (call);                                                          \
		ck_assert_msg(rc_ == (code), "%s: %d: %s", #call, rc_,                     \
			sandcell_error_get_message(err));                                  \
		sandcell_error_free(err);                                                  \
	} while (0)

static inline int real_try_open(const char *host, sandcell_error **err_out)
{
	const sandcell_engine_options opts = {.struct_size = sizeof(opts), .host = host};

	return sc_engine_open(&opts, &engine, err_out);
}

static inline void real_open(const char *host)
{
	OK(real_try_open(host, &err));
}

static inline size_t real_reap(void)
{
	const char *const labels[] = {run_label, NULL};
	sc_autojson *list = NULL;
	json_t *entry = NULL;
	size_t i = 0;
	sandcell_error *err = NULL;

	if (sc_container_list(engine, labels, true, soon(), &list, &err) < 0) {
		(void)fprintf(stderr, "reaping: %s\n", sandcell_error_get_message(err));
		sandcell_error_free(err);
		return 1;
	}
	json_array_foreach (list, i, entry)
		(void)sc_container_remove(
			engine, sc_json_get_str(entry, "Id", ""), soon(), NULL);
	return json_array_size(list);
}

/* argv[1] names the variable that holds the engine's address. */
static inline int real_main(
	int argc, char **argv, const char *name, const TTest *const *tests, size_t count)
{
	const char *host = argc == 2 ? getenv(argv[1]) : NULL;
	const char *strict = getenv("SANDCELL_TEST_STRICT");

	if (!host || !host[0]) {
		(void)fprintf(stderr, "%s is not set: scripts/engine-up gives an address\n",
			argc == 2 ? argv[1] : "the argument");
		return strict && strcmp(strict, "1") == 0 ? EXIT_FAILURE : 77;
	}
	(void)setenv("REAL_HOST", host, 1);
	(void)snprintf(run_label, sizeof(run_label), "io.sandcell.test=%ld-%llu",
		(long)getpid(), (unsigned long long)sc_wall_now_ns());
	int rc = unit_run(name, tests, count);
	size_t left = real_try_open(host, NULL) == 0 ? real_reap() : 1;
	sc_engine_free(engine);
	if (left > 0)
		(void)fprintf(stderr, "%zu containers were left over\n", left);
	return left > 0 ? EXIT_FAILURE : rc;
}

#define REAL_MAIN(name, ...)                                                               \
	int main(int argc, char **argv)                                                    \
	{                                                                                  \
		const TTest *const tests[] = {__VA_ARGS__};                                \
		return real_main(                                                          \
			argc, argv, name, tests, sizeof(tests) / sizeof(tests[0]));        \
	}

#endif
