/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

START_TEST(failing_returns_the_code_and_keeps_the_message)
{
	sandcell_error *err = NULL;

	ck_assert_int_eq(
		sc_fail(&err, SANDCELL_E_INVAL, "value '%d'", 7), SANDCELL_E_INVAL);
	ck_assert_int_eq(sandcell_error_get_code(err), SANDCELL_E_INVAL);
	ck_assert_str_eq(sandcell_error_get_message(err), "value '7'");
	ck_assert_int_eq(sandcell_error_get_http(err), 0);
	ck_assert_int_eq(sandcell_error_get_errno(err), 0);
	sandcell_error_free(err);
}
END_TEST

START_TEST(nobody_has_to_take_the_error)
{
	ck_assert_int_eq(sc_fail(NULL, SANDCELL_E_FAIL, "x"), SANDCELL_E_FAIL);
	ck_assert_int_eq(sc_fail_nomem(NULL), SANDCELL_E_NOMEM);
	ck_assert_int_eq(
		sc_context(NULL, SANDCELL_E_FAIL, "doing things"), SANDCELL_E_FAIL);
	ck_assert_int_eq(sandcell_error_get_code(NULL), SANDCELL_OK);
	ck_assert_str_eq(sandcell_error_get_message(NULL), "no error");
	sandcell_error_free(NULL);
}
END_TEST

START_TEST(context_goes_in_front)
{
	sandcell_error *err = NULL;
	int rc = sc_fail_http(&err, SANDCELL_E_NOTFOUND, 404, "no such image");

	rc = sc_context(&err, rc, "creating '%s'", "a");
	rc = sc_context(&err, rc, "opening");
	ck_assert_int_eq(rc, SANDCELL_E_NOTFOUND);
	ck_assert_str_eq(
		sandcell_error_get_message(err), "opening: creating 'a': no such image");
	ck_assert_int_eq(sandcell_error_get_http(err), 404);
	sandcell_error_free(err);
}
END_TEST

START_TEST(errno_is_kept_and_explained)
{
	sandcell_error *err = NULL;

	(void)sc_fail_errno(&err, SANDCELL_E_CONNECT, ENOENT, "opening '%s'", "/x");
	ck_assert_int_eq(sandcell_error_get_errno(err), ENOENT);
	ck_assert_str_eq(
		sandcell_error_get_message(err), "opening '/x': No such file or directory");
	sandcell_error_free(err);
}
END_TEST

START_TEST(control_characters_become_blanks)
{
	sandcell_error *err = NULL;

	(void)sc_fail(&err, SANDCELL_E_FAIL, "a\x1b[31mb\r\nc\n");
	ck_assert_str_eq(sandcell_error_get_message(err), "a [31mb  c");
	sandcell_error_free(err);
}
END_TEST

START_TEST(a_long_message_is_cut_between_characters)
{
	sandcell_error *err = NULL;
	char text[4001];

	for (size_t i = 0; i < 4000; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	text[4000] = '\0';
	for (int shift = 0; shift < 2; shift++) {
		(void)sc_fail(&err, SANDCELL_E_FAIL, "%s", text + shift);
		const char *message = sandcell_error_get_message(err);
		size_t len = strlen(message);
		ck_assert_uint_lt(len, 1024);
		ck_assert_uint_gt(len, 1000);
		ck_assert_int_eq((unsigned char)message[len - 1], 0xa4);
	}
	sandcell_error_free(err);
}
END_TEST

START_TEST(a_new_failure_replaces_the_old_one)
{
	sandcell_error *err = NULL;

	(void)sc_fail(&err, SANDCELL_E_FAIL, "first");
	(void)sc_fail(&err, SANDCELL_E_GONE, "second");
	ck_assert_int_eq(sandcell_error_get_code(err), SANDCELL_E_GONE);
	ck_assert_str_eq(sandcell_error_get_message(err), "second");
	sandcell_error_free(err);
}
END_TEST

START_TEST(moving_hands_over_and_empties)
{
	sandcell_error *from = NULL;
	sandcell_error *to = NULL;

	(void)sc_fail(&to, SANDCELL_E_FAIL, "old");
	(void)sc_fail(&from, SANDCELL_E_GONE, "new");
	ck_assert_int_eq(sc_error_move(&to, &from, SANDCELL_E_GONE), SANDCELL_E_GONE);
	ck_assert_ptr_null(from);
	ck_assert_str_eq(sandcell_error_get_message(to), "new");
	sandcell_error_free(to);
}
END_TEST

START_TEST(out_of_memory_needs_no_memory)
{
	sandcell_error *err = NULL;

	sc_alloc_fail_from(0);
	ck_assert_int_eq(sc_fail(&err, SANDCELL_E_INVAL, "x"), SANDCELL_E_INVAL);
	sc_alloc_fail_from(SIZE_MAX);
	ck_assert_int_eq(sandcell_error_get_code(err), SANDCELL_E_NOMEM);
	ck_assert_str_eq(sandcell_error_get_message(err), "out of memory");
	(void)sc_context(&err, SANDCELL_E_NOMEM, "context");
	ck_assert_str_eq(sandcell_error_get_message(err), "out of memory");
	sandcell_error_free(err);
	sandcell_error_free(err);
}
END_TEST

START_TEST(every_status_has_a_name)
{
	for (int status = SANDCELL_OK; status >= SANDCELL_E_BUSY; status--)
		ck_assert_str_ne(sandcell_status_name(status), "unknown status");
	ck_assert_str_eq(sandcell_status_name(-1000), "unknown status");
	ck_assert_str_eq(sandcell_status_name(1), "unknown status");
	ck_assert_str_eq(sandcell_status_name(INT32_MIN), "unknown status");
}
END_TEST

UNIT_MAIN("error", failing_returns_the_code_and_keeps_the_message,
	nobody_has_to_take_the_error, context_goes_in_front, errno_is_kept_and_explained,
	control_characters_become_blanks, a_long_message_is_cut_between_characters,
	a_new_failure_replaces_the_old_one, moving_hands_over_and_empties,
	out_of_memory_needs_no_memory, every_status_has_a_name)
