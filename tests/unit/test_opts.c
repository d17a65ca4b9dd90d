/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "base/opts.h"
#include "unit.h"

struct mine {
	size_t struct_size;
	uint64_t first;
	uint64_t second; /* appended later */
};

struct newer {
	struct mine known;
	uint64_t third;
};

#define FIRST_SIZE offsetof(struct mine, second)

static int load(struct mine *mine, const void *theirs, sandcell_error **err_out)
{
	return sc_opts_load(mine, sizeof(*mine), FIRST_SIZE, theirs, "mine", err_out);
}

START_TEST(no_options_are_all_zero)
{
	struct mine mine = {.first = 1};

	ck_assert_int_eq(load(&mine, NULL, NULL), 0);
	ck_assert_uint_eq(mine.struct_size, sizeof(mine));
	ck_assert_uint_eq(mine.first, 0);
}
END_TEST

START_TEST(an_older_caller_gets_zeros_for_what_it_does_not_know)
{
	struct mine theirs = {.struct_size = FIRST_SIZE, .first = 5, .second = 6};
	struct mine mine;

	ck_assert_int_eq(load(&mine, &theirs, NULL), 0);
	ck_assert_uint_eq(mine.first, 5);
	ck_assert_uint_eq(mine.second, 0);
	ck_assert_uint_eq(mine.struct_size, sizeof(mine));
}
END_TEST

START_TEST(a_newer_caller_may_only_have_zeros_in_its_tail)
{
	struct newer theirs = {.known = {.struct_size = sizeof(theirs), .second = 6}};
	struct mine mine;
	sandcell_error *err = NULL;

	ck_assert_int_eq(load(&mine, &theirs, NULL), 0);
	ck_assert_uint_eq(mine.second, 6);
	theirs.third = UINT64_C(1) << 56;
	ck_assert_int_eq(load(&mine, &theirs, &err), SANDCELL_E_INVAL);
	ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(err), "too old"));
	sandcell_error_free(err);
}
END_TEST

START_TEST(a_size_that_cannot_be_is_refused)
{
	static const size_t sizes[] = {0, 1, FIRST_SIZE - 1, 4097, SIZE_MAX};
	struct mine mine;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct mine theirs = {.struct_size = sizes[i]};
		sandcell_error *err = NULL;
		ck_assert_int_eq(load(&mine, &theirs, &err), SANDCELL_E_INVAL);
		ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(err), "mine"));
		sandcell_error_free(err);
	}
}
END_TEST

UNIT_MAIN("opts", no_options_are_all_zero,
	an_older_caller_gets_zeros_for_what_it_does_not_know,
	a_newer_caller_may_only_have_zeros_in_its_tail, a_size_that_cannot_be_is_refused)
