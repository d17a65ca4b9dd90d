/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/buf.h"
#include "engine/demux.h"
#include "unit.h"

/* Collects per stream, as "0", "1", "2", "3". */
struct seen {
	sc_buf stream[4];
	size_t calls;
	int refuse_at; /* the call that fails; 0: none */
};

static void seen_clear(struct seen *seen)
{
	for (size_t i = 0; i < 4; i++)
		sc_buf_clear(&seen->stream[i]);
}

static struct seen seen_new(void)
{
	struct seen seen = {0};

	for (size_t i = 0; i < 4; i++)
		seen.stream[i].max = SC_MAX_TEXT;
	return seen;
}

static int note(enum sc_demux_stream stream, const void *data, size_t len, void *user)
{
	struct seen *seen = user;

	ck_assert_uint_gt(len, 0);
	seen->calls++;
	if (seen->refuse_at && (int)seen->calls == seen->refuse_at)
		return SANDCELL_E_CALLBACK;
	return sc_buf_append(&seen->stream[stream], data, len);
}

/* Three frames, an empty one among them, and one of the engine's own. */
static const unsigned char frames[] = "\x01\0\0\0\0\0\0\x05hello"
				      "\x02\0\0\0\0\0\0\x03"
				      "err"
				      "\x01\0\0\0\0\0\0\0"
				      "\x01\0\0\0\0\0\0\x01!"
				      "\x03\0\0\0\0\0\0\x04gone";
#define FRAMES_LEN (sizeof(frames) - 1)

static void expect_frames(const struct seen *seen)
{
	ck_assert_str_eq(sc_buf_text(&seen->stream[1]), "hello!");
	ck_assert_str_eq(sc_buf_text(&seen->stream[2]), "err");
	ck_assert_str_eq(sc_buf_text(&seen->stream[3]), "gone");
	ck_assert_uint_eq(seen->stream[0].len, 0);
}

START_TEST(every_split_in_two_gives_the_same)
{
	for (size_t at = 0; at <= FRAMES_LEN; at++) {
		struct seen seen = seen_new();
		sc_demux demux;
		sc_demux_init(&demux, note, &seen);
		ck_assert_int_eq(sc_demux_feed(&demux, frames, at, NULL), 0);
		ck_assert_int_eq(
			sc_demux_feed(&demux, frames + at, FRAMES_LEN - at, NULL), 0);
		ck_assert_int_eq(sc_demux_end(&demux, NULL), 0);
		expect_frames(&seen);
		seen_clear(&seen);
	}
}
END_TEST

START_TEST(one_byte_at_a_time_gives_the_same)
{
	struct seen seen = seen_new();
	sc_demux demux;

	sc_demux_init(&demux, note, &seen);
	for (size_t i = 0; i < FRAMES_LEN; i++)
		ck_assert_int_eq(sc_demux_feed(&demux, frames + i, 1, NULL), 0);
	expect_frames(&seen);
	seen_clear(&seen);
}
END_TEST

START_TEST(a_stream_may_end_between_frames_only)
{
	static const size_t borders[] = {0, 13, 24, 32, 41, FRAMES_LEN};
	size_t next = 0;

	for (size_t len = 0; len <= FRAMES_LEN; len++) {
		struct seen seen = seen_new();
		sandcell_error *err = NULL;
		sc_demux demux;
		sc_demux_init(&demux, note, &seen);
		ck_assert_int_eq(sc_demux_feed(&demux, frames, len, NULL), 0);
		int rc = sc_demux_end(&demux, &err);
		if (len == borders[next]) {
			ck_assert_int_eq(rc, 0);
			next++;
		} else {
			ck_assert_int_eq(rc, SANDCELL_E_PROTOCOL);
			ck_assert_ptr_nonnull(
				strstr(sandcell_error_get_message(err), "closed"));
		}
		sandcell_error_free(err);
		seen_clear(&seen);
	}
}
END_TEST

START_TEST(unknown_types_and_padding_are_refused_for_good)
{
	static const unsigned char bad[][8] = {
		{4, 0, 0, 0, 0, 0, 0, 1},
		{0xff, 0, 0, 0, 0, 0, 0, 1},
		{'H', 'T', 'T', 'P', '/', '1', '.', '1'},
		{1, 1, 0, 0, 0, 0, 0, 1},
		{1, 0, 1, 0, 0, 0, 0, 1},
		{1, 0, 0, 1, 0, 0, 0, 1},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seen seen = seen_new();
		sandcell_error *err = NULL;
		sc_demux demux;
		sc_demux_init(&demux, note, &seen);
		ck_assert_int_eq(
			sc_demux_feed(&demux, bad[i], 8, &err), SANDCELL_E_PROTOCOL);
		ck_assert_int_eq(sc_demux_feed(&demux, frames, FRAMES_LEN, NULL),
			SANDCELL_E_PROTOCOL);
		ck_assert_int_eq(sc_demux_end(&demux, NULL), SANDCELL_E_PROTOCOL);
		ck_assert_uint_eq(seen.calls, 0);
		sandcell_error_free(err);
		seen_clear(&seen);
	}
}
END_TEST

/* A length in the wrong byte order, or a hostile one: no memory, payload as it comes. */
START_TEST(a_length_of_four_gigabytes_costs_nothing)
{
	struct seen seen = seen_new();
	sc_demux demux;

	sc_demux_init(&demux, note, &seen);
	ck_assert_int_eq(sc_demux_feed(&demux,
				 "\x01\0\0\0\xff\xff\xff\xff"
				 "abc",
				 11, NULL),
		0);
	ck_assert_str_eq(sc_buf_text(&seen.stream[1]), "abc");
	ck_assert_int_eq(sc_demux_end(&demux, NULL), SANDCELL_E_PROTOCOL);
	seen_clear(&seen);
}
END_TEST

START_TEST(a_failing_callback_stops_the_stream)
{
	struct seen seen = seen_new();
	sc_demux demux;

	seen.refuse_at = 2;
	sc_demux_init(&demux, note, &seen);
	ck_assert_int_eq(
		sc_demux_feed(&demux, frames, FRAMES_LEN, NULL), SANDCELL_E_CALLBACK);
	ck_assert_uint_eq(seen.calls, 2);
	ck_assert_int_eq(sc_demux_feed(&demux, "", 0, NULL), SANDCELL_E_CALLBACK);
	seen_clear(&seen);
}
END_TEST

UNIT_MAIN("demux", every_split_in_two_gives_the_same, one_byte_at_a_time_gives_the_same,
	a_stream_may_end_between_frames_only,
	unknown_types_and_padding_are_refused_for_good,
	a_length_of_four_gigabytes_costs_nothing, a_failing_callback_stops_the_stream)
