/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/utf8.h"
#include "unit.h"

#define R "\xef\xbf\xbd"

static void expect_json(const char *data, size_t len, const char *want)
{
	sc_autobuf buf = SC_BUF_INIT(SC_MAX_TEXT);

	ck_assert_int_eq(sc_utf8_put_json(&buf, data, len), 0);
	ck_assert_str_eq(sc_buf_text(&buf), want);
	json_t *parsed = json_loads(buf.data, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	ck_assert_ptr_nonnull(parsed);
	json_decref(parsed);
}

#define EXPECT_JSON(text, want) expect_json(text, sizeof(text) - 1, want)

START_TEST(valid_text_stays_as_it_is)
{
	EXPECT_JSON("", "\"\"");
	EXPECT_JSON("plain", "\"plain\"");
	EXPECT_JSON("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
	EXPECT_JSON("\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"");
}
END_TEST

START_TEST(what_json_needs_is_escaped)
{
	EXPECT_JSON("a\"b\\c", "\"a\\\"b\\\\c\"");
	EXPECT_JSON("\n\r\t\x1b\x7f\0.", "\"\\n\\u000d\\u0009\\u001b\\u007f\\u0000.\"");
}
END_TEST

START_TEST(invalid_bytes_are_replaced_as_python_does)
{
	EXPECT_JSON("a\xff"
		    "b",
		"\"a" R "b\"");
	EXPECT_JSON("\xc3", "\"" R "\"");
	EXPECT_JSON("\xc0\x80", "\"" R R "\"");
	EXPECT_JSON("\xe2\x82", "\"" R "\"");
	EXPECT_JSON("\xe2\x82x", "\"" R "x\"");
	EXPECT_JSON("\xed\xa0\x80", "\"" R R R "\"");
	EXPECT_JSON("\xe0\x80\x80", "\"" R R R "\"");
	EXPECT_JSON("\xf0\x9f\x98", "\"" R "\"");
	EXPECT_JSON("\xf0\x80\x80\x80", "\"" R R R R "\"");
	EXPECT_JSON("\xf4\x90\x80\x80", "\"" R R R R "\"");
	EXPECT_JSON("\x80\xbf", "\"" R R "\"");
}
END_TEST

START_TEST(text_is_repaired_without_escaping)
{
	sc_autobuf buf = SC_BUF_INIT(SC_MAX_TEXT);

	ck_assert_int_eq(sc_utf8_put(&buf, "a\"\n\xff\xc3\xa9\xe2\x82", 8), 0);
	ck_assert_str_eq(sc_buf_text(&buf), "a\"\n" R "\xc3\xa9" R);
}
END_TEST

START_TEST(the_first_bad_byte_is_found)
{
	ck_assert_uint_eq(sc_utf8_check("", 0), 0);
	ck_assert_uint_eq(sc_utf8_check("ab\xc3\xa9", 4), 4);
	ck_assert_uint_eq(sc_utf8_check("ab\xc3", 3), 2);
	ck_assert_uint_eq(sc_utf8_check("\xff", 1), 0);
}
END_TEST

UNIT_MAIN("utf8", valid_text_stays_as_it_is, what_json_needs_is_escaped,
	invalid_bytes_are_replaced_as_python_does, text_is_repaired_without_escaping,
	the_first_bad_byte_is_found)
