/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/buf.h"
#include "unit.h"

START_TEST(what_was_put_in_comes_out_terminated)
{
	sc_autobuf buf = SC_BUF_INIT(SC_MAX_TEXT);

	ck_assert_str_eq(sc_buf_text(&buf), "");
	(void)sc_buf_puts(&buf, "ab");
	(void)sc_buf_putc(&buf, 'c');
	(void)sc_buf_printf(&buf, "%03d", 7);
	(void)sc_buf_append(&buf, "\0x", 2);
	ck_assert_int_eq(sc_buf_check(&buf, NULL, "text"), 0);
	ck_assert_uint_eq(buf.len, 8);
	ck_assert_mem_eq(buf.data, "abc007\0x", 9);
}
END_TEST

START_TEST(the_maximum_is_never_passed_and_sticks)
{
	sc_autobuf buf = SC_BUF_INIT(4);
	sandcell_error *err = NULL;

	ck_assert_int_eq(sc_buf_puts(&buf, "1234"), 0);
	ck_assert_int_eq(sc_buf_putc(&buf, '5'), SANDCELL_E_LIMIT);
	ck_assert_int_eq(sc_buf_append(&buf, "", 0), SANDCELL_E_LIMIT);
	ck_assert_int_eq(sc_buf_check(&buf, &err, "name"), SANDCELL_E_LIMIT);
	ck_assert_str_eq(sandcell_error_get_message(err), "name is longer than 4 bytes");
	ck_assert_str_eq(sc_buf_text(&buf), "1234");
	sandcell_error_free(err);
}
END_TEST

START_TEST(a_huge_length_does_not_overflow)
{
	sc_autobuf buf = SC_BUF_INIT(SIZE_MAX);

	(void)sc_buf_puts(&buf, "x");
	ck_assert_int_lt(sc_buf_reserve(&buf, SIZE_MAX), 0);
	ck_assert_str_eq(sc_buf_text(&buf), "x");
}
END_TEST

START_TEST(consuming_drops_from_the_front)
{
	sc_autobuf buf = SC_BUF_INIT(SC_MAX_TEXT);

	sc_buf_consume(&buf, 3);
	(void)sc_buf_puts(&buf, "hello");
	sc_buf_consume(&buf, 2);
	ck_assert_str_eq(sc_buf_text(&buf), "llo");
	sc_buf_consume(&buf, 99);
	ck_assert_str_eq(sc_buf_text(&buf), "");
	ck_assert_uint_eq(buf.len, 0);
}
END_TEST

START_TEST(taking_gives_the_memory_away)
{
	sc_autobuf buf = SC_BUF_INIT(SC_MAX_TEXT);
	size_t len = 99;
	sc_autofree char *empty = sc_buf_take(&buf, &len);

	ck_assert_str_eq(empty, "");
	ck_assert_uint_eq(len, 0);
	(void)sc_buf_puts(&buf, "abc");
	sc_autofree char *text = sc_buf_take(&buf, &len);
	ck_assert_str_eq(text, "abc");
	ck_assert_uint_eq(len, 3);
	ck_assert_uint_eq(buf.len, 0);
	ck_assert_uint_eq(buf.max, SC_MAX_TEXT);
}
END_TEST

START_TEST(nothing_is_taken_after_a_failure)
{
	sc_autobuf buf = SC_BUF_INIT(2);

	(void)sc_buf_puts(&buf, "abc");
	ck_assert_ptr_null(sc_buf_take(&buf, NULL));
	sc_buf_reset(&buf);
	ck_assert_int_eq(sc_buf_puts(&buf, "ab"), 0);
}
END_TEST

START_TEST(a_failed_allocation_is_remembered)
{
	sc_autobuf buf = SC_BUF_INIT(SC_MAX_TEXT);
	sandcell_error *err = NULL;

	sc_alloc_fail_from(0);
	(void)sc_buf_puts(&buf, "abc");
	sc_alloc_fail_from(SIZE_MAX);
	ck_assert_int_eq(sc_buf_puts(&buf, "def"), SANDCELL_E_NOMEM);
	ck_assert_int_eq(sc_buf_check(&buf, &err, "text"), SANDCELL_E_NOMEM);
	sandcell_error_free(err);
}
END_TEST

UNIT_MAIN("buf", what_was_put_in_comes_out_terminated,
	the_maximum_is_never_passed_and_sticks, a_huge_length_does_not_overflow,
	consuming_drops_from_the_front, taking_gives_the_memory_away,
	nothing_is_taken_after_a_failure, a_failed_allocation_is_remembered)
