/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/json_stream.h"
#include "unit.h"

static int note(const json_t *value, void *user)
{
	sc_buf *seen = user;

	(void)sc_json_dump(value, seen, NULL);
	return sc_buf_putc(seen, '|');
}

static const char text[] =
	"{\"a\":\"}{\\\"\\\\\"}\r\n{\"b\":[{\"c\":1},[]]}{\"d\":\"\"}\n\n";
static const char wanted[] = "{\"a\":\"}{\\\"\\\\\"}|{\"b\":[{\"c\":1},[]]}|{\"d\":\"\"}|";

static int ignore(const json_t *value, void *user)
{
	(void)value;
	(void)user;
	return 0;
}

/* seen may be NULL. */
static int feed_all(
	const char *data, size_t len, size_t first, sc_buf *seen, sandcell_error **err_out)
{
	sc_json_stream stream;
	int rc;

	sc_json_stream_init(&stream, seen ? note : ignore, seen);
	rc = sc_json_stream_feed(&stream, data, first, err_out);
	if (rc == 0)
		rc = sc_json_stream_feed(&stream, data + first, len - first, err_out);
	if (rc == 0)
		rc = sc_json_stream_end(&stream, err_out);
	sc_json_stream_clear(&stream);
	return rc;
}

START_TEST(objects_come_out_whole_at_every_split)
{
	for (size_t at = 0; at < sizeof(text); at++) {
		sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
		ck_assert_int_eq(feed_all(text, sizeof(text) - 1, at, &seen, NULL), 0);
		ck_assert_str_eq(sc_buf_text(&seen), wanted);
	}
}
END_TEST

START_TEST(one_byte_at_a_time_gives_the_same)
{
	sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
	sc_json_stream stream;

	sc_json_stream_init(&stream, note, &seen);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		ck_assert_int_eq(sc_json_stream_feed(&stream, text + i, 1, NULL), 0);
	ck_assert_str_eq(sc_buf_text(&seen), wanted);
	sc_json_stream_clear(&stream);
}
END_TEST

START_TEST(a_stream_may_not_end_inside_an_object)
{
	sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
	sandcell_error *err = NULL;

	ck_assert_int_eq(
		feed_all("{\"a\":1}{\"b\"", 11, 0, &seen, &err), SANDCELL_E_PROTOCOL);
	ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(err), "closed"));
	ck_assert_str_eq(sc_buf_text(&seen), "{\"a\":1}|");
	sandcell_error_free(err);
}
END_TEST

START_TEST(anything_but_objects_is_refused)
{
	static const char *const bad[] = {
		"x", "[1]", "{}x", "null", "{]", "{\"a\"}", "{\"a\":1e999}"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
		ck_assert_msg(feed_all(bad[i], strlen(bad[i]), 0, &seen, NULL) ==
				      SANDCELL_E_PROTOCOL,
			"%s", bad[i]);
	}
}
END_TEST

START_TEST(an_endless_object_is_refused)
{
	sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
	sc_json_stream stream;
	char piece[4096];
	int rc;

	sc_json_stream_init(&stream, note, &seen);
	rc = sc_json_stream_feed(&stream, "{\"a\":\"", 6, NULL);
	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; i < 1000 && rc == 0; i++)
		rc = sc_json_stream_feed(&stream, piece, sizeof(piece), NULL);
	ck_assert_int_eq(rc, SANDCELL_E_LIMIT);
	sc_json_stream_clear(&stream);
}
END_TEST

static int feed_under_chaos(sandcell_error **err_out)
{
	return feed_all(text, sizeof(text) - 1, 5, NULL, err_out);
}

START_TEST(failing_allocations_are_reported)
{
	unit_chaos(feed_under_chaos);
}
END_TEST

UNIT_MAIN("json_stream", objects_come_out_whole_at_every_split,
	one_byte_at_a_time_gives_the_same, a_stream_may_not_end_inside_an_object,
	anything_but_objects_is_refused, an_endless_object_is_refused,
	failing_allocations_are_reported)
