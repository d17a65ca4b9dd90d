/* SPDX-License-Identifier: MIT */
/* The small modules of base/: clock, num, url, json, log. */
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/num.h"
#include "base/url.h"
#include "unit.h"

/* ---- clock ---- */

START_TEST(never_is_never)
{
	ck_assert_uint_eq(sc_deadline_in_ms(UINT64_MAX), SC_NEVER);
	ck_assert(!sc_deadline_passed(SC_NEVER));
	ck_assert_int_eq(sc_deadline_left_ms(SC_NEVER), -1);
	ck_assert_uint_eq(sc_deadline_min(SC_NEVER, 5), 5);
}
END_TEST

START_TEST(what_is_left_is_rounded_up)
{
	ck_assert(sc_deadline_passed(sc_now_ns()));
	ck_assert_int_eq(sc_deadline_left_ms(sc_now_ns()), 0);
	ck_assert_int_eq(sc_deadline_left_ms(0), 0);
	int left = sc_deadline_left_ms(sc_now_ns() + 60000 * SC_MS_IN_NS);
	ck_assert_int_gt(left, 50000);
	ck_assert_int_le(left, 60000);
	ck_assert_int_eq(sc_deadline_left_ms(SC_NEVER - 1), INT_MAX);
}
END_TEST

START_TEST(a_pause_does_not_outlast_its_deadline)
{
	sc_deadline deadline = sc_deadline_in_ms(1);

	sc_pause_ms(3600 * 1000, deadline);
	ck_assert(sc_deadline_passed(deadline));
	sc_pause_ms(3600 * 1000, 0);
}
END_TEST

/* ---- num ---- */

START_TEST(whole_numbers_only)
{
	static const char *const bad[] = {"", " 1", "1 ", "+1", "-1", "0x1", "1.0", "1e3",
		"18446744073709551616", "99999999999999999999999"};
	uint64_t value = 42;

	ck_assert(sc_parse_u64("0", UINT64_MAX, &value) && value == 0);
	ck_assert(sc_parse_u64("18446744073709551615", UINT64_MAX, &value));
	ck_assert_uint_eq(value, UINT64_MAX);
	ck_assert(sc_parse_u64("255", 255, &value) && value == 255);
	value = 42;
	ck_assert(!sc_parse_u64("256", 255, &value));
	ck_assert(!sc_parse_u64(NULL, 255, &value));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!sc_parse_u64(bad[i], UINT64_MAX, &value), "%s", bad[i]);
	ck_assert_uint_eq(value, 42);
}
END_TEST

START_TEST(hexadecimal_in_both_cases)
{
	uint64_t value = 0;

	ck_assert(sc_parse_hex_n("fFxx", 2, UINT64_MAX, &value) && value == 255);
	ck_assert(!sc_parse_hex_n("fg", 2, UINT64_MAX, &value));
	ck_assert(!sc_parse_hex_n("", 0, UINT64_MAX, &value));
	ck_assert(!sc_parse_hex_n("10000000000000000", 17, UINT64_MAX, &value));
}
END_TEST

/* ---- url ---- */

START_TEST(arguments_cannot_leave_their_place)
{
	sc_autobuf url = SC_BUF_INIT(SC_MAX_URL);

	ck_assert_int_eq(sc_url(&url, "/a/{}/b?c={}", "x/../y?z#", "1&d=%\n\xff"), 0);
	ck_assert_str_eq(sc_buf_text(&url), "/a/x%2F..%2Fy%3Fz%23/b?c=1%26d%3D%25%0A%FF");
}
END_TEST

START_TEST(plain_characters_stay)
{
	sc_autobuf url = SC_BUF_INIT(SC_MAX_URL);

	ck_assert_int_eq(sc_url(&url, "/{}", "AZaz09-._~"), 0);
	ck_assert_int_eq(sc_url(&url, "/plain"), 0);
	ck_assert_str_eq(sc_buf_text(&url), "/AZaz09-._~/plain");
}
END_TEST

START_TEST(arguments_are_counted)
{
	for (int i = 0; i < 3; i++) {
		sc_autobuf url = SC_BUF_INIT(SC_MAX_URL);
		int rc = i == 0	  ? sc_url(&url, "/{}")
			 : i == 1 ? sc_url(&url, "/{}", "a", "b")
				  : sc_url(&url, "/", "a");
		ck_assert_int_eq(rc, SANDCELL_E_INVAL);
	}
}
END_TEST

START_TEST(dot_segments_are_refused)
{
	static const char *const bad[] = {".", "..", NULL};

	for (size_t i = 0; i < 3; i++) {
		sc_autobuf url = SC_BUF_INIT(SC_MAX_URL);
		ck_assert_int_eq(sc_url(&url, "/{}/x", bad[i]), SANDCELL_E_INVAL);
		ck_assert_int_eq(sc_buf_check(&url, NULL, "url"), SANDCELL_E_INVAL);
	}
}
END_TEST

/* ---- json ---- */

START_TEST(getters_check_the_type)
{
	sc_autojson *root = NULL;
	const char *text =
		"{\"s\":\"x\",\"i\":-3,\"b\":true,\"o\":{},\"a\":[],\"n\":null,\"r\":1.5}";
	static const char *const keys[] = {"s", "i", "b", "o", "a", "n", "r", "missing"};

	ck_assert_int_eq(sc_json_parse(text, strlen(text), "text", &root, NULL), 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *key = keys[i];
		const char *s = NULL;
		int64_t n = 0;
		json_t *o = NULL;
		ck_assert_str_eq(sc_json_get_str(root, key, "-"), i == 0 ? "x" : "-");
		ck_assert_int_eq(sc_json_get_int(root, key, 9), i == 1 ? -3 : 9);
		ck_assert_int_eq(sc_json_get_bool(root, key, false), i == 2);
		ck_assert_int_eq(sc_json_get_obj(root, key) != NULL, i == 3);
		ck_assert_int_eq(sc_json_get_arr(root, key) != NULL, i == 4);
		ck_assert_int_eq(sc_json_want_str(root, key, &s, NULL),
			i == 0 ? 0 : SANDCELL_E_PROTOCOL);
		ck_assert_int_eq(sc_json_want_int(root, key, &n, NULL),
			i == 1 ? 0 : SANDCELL_E_PROTOCOL);
		ck_assert_int_eq(sc_json_want_obj(root, key, &o, NULL),
			i == 3 ? 0 : SANDCELL_E_PROTOCOL);
	}
}
END_TEST

START_TEST(getters_take_what_is_no_object)
{
	sc_autojson *list = json_array();
	const char *s = NULL;
	sandcell_error *err = NULL;

	ck_assert_str_eq(sc_json_get_str(NULL, "k", "-"), "-");
	ck_assert_str_eq(sc_json_get_str(list, "k", "-"), "-");
	ck_assert_int_eq(sc_json_get_int(NULL, "k", 1), 1);
	ck_assert_ptr_null(sc_json_get_obj(list, "k"));
	ck_assert_int_eq(sc_json_want_str(list, "Id", &s, &err), SANDCELL_E_PROTOCOL);
	ck_assert_str_eq(sandcell_error_get_message(err),
		"engine reply: 'Id' missing or not a string");
	sandcell_error_free(err);
}
END_TEST

/* What an engine, or who pretends to be one, may send. */
START_TEST(corner_cases_of_json_are_refused)
{
	static const char *const bad[] = {
		"",
		"x",
		"{",
		"{\"a\\u0000b\":1}",
		"{\"n\":1e999}",
		"{\"n\":99999999999999999999999999}",
		"{\"a\":1,\"a\":2}",
		"{\"a\":\"\\ud800\"}",
		"{\"a\":1}x",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"b\\u0000c\"}",
		"nul",
		"[1,]",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sc_autojson *root = NULL;
		sandcell_error *err = NULL;
		int rc = sc_json_parse(bad[i], strlen(bad[i]), "engine reply", &root, &err);
		ck_assert_msg(rc == SANDCELL_E_PROTOCOL, "%s", bad[i]);
		ck_assert_ptr_null(root);
		ck_assert_ptr_nonnull(
			strstr(sandcell_error_get_message(err), "engine reply"));
		sandcell_error_free(err);
	}
}
END_TEST

START_TEST(deep_nesting_costs_no_stack)
{
	static char text[200000];
	sc_autojson *root = NULL;

	memset(text, '[', sizeof(text));
	ck_assert_int_eq(sc_json_parse(text, sizeof(text), "text", &root, NULL),
		SANDCELL_E_PROTOCOL);
}
END_TEST

START_TEST(dumping_is_compact_and_ascii)
{
	sc_autojson *root = json_pack("{s:[s,i,n]}", "a", "\xc3\xa4", 1);
	sc_autobuf text = SC_BUF_INIT(SC_MAX_TEXT);
	sc_autobuf small = SC_BUF_INIT(3);

	ck_assert_int_eq(sc_json_dump(root, &text, NULL), 0);
	ck_assert_str_eq(sc_buf_text(&text), "{\"a\":[\"\\u00E4\",1,null]}");
	ck_assert_int_eq(sc_json_dump(root, &small, NULL), SANDCELL_E_LIMIT);
}
END_TEST

static int parse_and_dump(sandcell_error **err_out)
{
	static const char text[] = "{\"a\":[1,{\"b\":\"c\"}],\"d\":\"e\"}";
	sc_autojson *root = NULL;
	sc_autobuf out = SC_BUF_INIT(SC_MAX_TEXT);
	int rc = sc_json_parse(text, sizeof(text) - 1, "text", &root, err_out);

	return rc < 0 ? rc : sc_json_dump(root, &out, err_out);
}

START_TEST(json_survives_failing_allocations)
{
	unit_chaos(parse_and_dump);
}
END_TEST

/* ---- log ---- */

static void keep_line(const char *line, void *user)
{
	sc_buf *lines = user;

	(void)sc_buf_printf(lines, "%s|", line);
}

START_TEST(a_log_line_is_one_line)
{
	sc_autobuf lines = SC_BUF_INIT(SC_MAX_TEXT);
	const sc_log log = {.fn = keep_line, .user = &lines};
	const sc_log silent = {0};

	sc_log_line(&log, "a %s b", "\r\n\x1b");
	sc_log_line(&silent, "nobody hears this");
	ck_assert_str_eq(sc_buf_text(&lines), "a     b|");
}
END_TEST

UNIT_MAIN("base", never_is_never, what_is_left_is_rounded_up,
	a_pause_does_not_outlast_its_deadline, whole_numbers_only,
	hexadecimal_in_both_cases, arguments_cannot_leave_their_place,
	plain_characters_stay, arguments_are_counted, dot_segments_are_refused,
	getters_check_the_type, getters_take_what_is_no_object,
	corner_cases_of_json_are_refused, deep_nesting_costs_no_stack,
	dumping_is_compact_and_ascii, json_survives_failing_allocations,
	a_log_line_is_one_line)
