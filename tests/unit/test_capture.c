/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "session/capture.h"
#include "unit.h"

#define TEXT "0123456789abcdefghijklmnopqrstuvwxyz"

/* Adds len bytes of TEXT in pieces, finishes, and compares. */
static void expect(size_t max, size_t len, size_t piece, const char *kept, uint64_t dropped)
{
	sc_capture capture;

	sc_capture_init(&capture, max);
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		sc_capture_add(&capture, TEXT + at, n);
	}
	sc_capture_finish(&capture);
	ck_assert_str_eq(sc_buf_text(&capture.kept), kept);
	ck_assert_uint_eq(capture.kept.len, strlen(kept));
	ck_assert_uint_eq(capture.dropped, dropped);
	sc_capture_clear(&capture);
}

START_TEST(what_fits_is_kept_whole)
{
	expect(10, 0, 1, "", 0);
	expect(10, 7, 3, "0123456", 0);
	expect(10, 10, 10, "0123456789", 0);
}
END_TEST

START_TEST(head_and_tail_are_kept_for_every_piece)
{
	for (size_t piece = 1; piece <= 36; piece++) {
		expect(10, 11, piece, "012346789a", 1);
		expect(10, 36, piece, "01234vwxyz", 26);
		expect(11, 36, piece, "01234uvwxyz", 25);
	}
}
END_TEST

START_TEST(nothing_may_be_kept)
{
	expect(0, 36, 7, "", 36);
	expect(1, 36, 7, "z", 35);
}
END_TEST

START_TEST(nul_bytes_are_bytes)
{
	sc_capture capture;

	sc_capture_init(&capture, 8);
	sc_capture_add(&capture, "a\0b", 3);
	sc_capture_finish(&capture);
	ck_assert_mem_eq(capture.kept.data, "a\0b", 4);
	sc_capture_clear(&capture);
}
END_TEST

START_TEST(memory_is_taken_as_needed)
{
	sc_capture capture;

	sc_capture_init(&capture, UINT64_MAX);
	sc_capture_add(&capture, TEXT, 36);
	ck_assert_uint_lt(capture.kept.cap, 1024);
	sc_capture_clear(&capture);
}
END_TEST

START_TEST(what_finds_no_memory_is_dropped)
{
	sc_capture capture;

	sc_capture_init(&capture, 1000);
	sc_capture_add(&capture, TEXT, 36);
	sc_alloc_fail_from(0);
	sc_capture_add(&capture, TEXT TEXT, 72);
	sc_alloc_fail_from(SIZE_MAX);
	sc_capture_add(&capture, TEXT, 36);
	sc_capture_finish(&capture);
	ck_assert_str_eq(sc_buf_text(&capture.kept), TEXT);
	ck_assert_uint_eq(capture.dropped, 108);
	sc_capture_clear(&capture);
}
END_TEST

UNIT_MAIN("capture", what_fits_is_kept_whole, head_and_tail_are_kept_for_every_piece,
	nothing_may_be_kept, nul_bytes_are_bytes, memory_is_taken_as_needed,
	what_finds_no_memory_is_dropped)
