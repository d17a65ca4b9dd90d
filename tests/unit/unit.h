/* SPDX-License-Identifier: MIT */
#ifndef UNIT_H
#define UNIT_H

/*
 * One Check program per module: its tests, then UNIT_MAIN("module", test, test, ...).
 * jansson allocates through base/alloc here, so that unit_chaos() fails its allocations
 * too.
 */

#include <stdint.h>
#include <stdlib.h>

#include <check.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/error.h"

#define UNIT_CHAOS_MAX 10000

static inline int unit_run(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner = NULL;
	int failed = 0;

	json_set_alloc_funcs(sc_malloc, sc_free);
	tcase_set_timeout(tcase, 60);
	for (size_t i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define UNIT_MAIN(name, ...)                                                               \
	int main(void)                                                                     \
	{                                                                                  \
		const TTest *const tests[] = {__VA_ARGS__};                                \
		return unit_run(name, tests, sizeof(tests) / sizeof(tests[0]));            \
	}

/*
 * Runs body with the first, second, third ... allocation failing until it succeeds.  Every
 * failure must be SANDCELL_E_NOMEM; leaks are found by the sanitizers.  jansson 2.14 takes
 * some failed allocations for syntax errors: those arrive as SANDCELL_E_PROTOCOL.
 */
static inline void unit_chaos(int (*body)(sandcell_error **err_out))
{
	for (size_t nth = 0; nth < UNIT_CHAOS_MAX; nth++) {
		sandcell_error *err = NULL;

		sc_alloc_fail_from(nth);
		int rc = body(&err);
		sc_alloc_fail_from(SIZE_MAX);
		if (rc == 0) {
			ck_assert_ptr_null(err);
			return;
		}
		ck_assert(rc == SANDCELL_E_NOMEM || rc == SANDCELL_E_PROTOCOL);
		ck_assert_ptr_nonnull(err);
		sandcell_error_free(err);
	}
	ck_abort_msg("still failing after %d allocations", UNIT_CHAOS_MAX);
}

#endif
