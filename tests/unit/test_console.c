/* SPDX-License-Identifier: MIT */
#include "session/console.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/stream_impl.h"
#include "unit.h"

/* More than a socket holds, so that one attempt cannot send it all. */
#define SIZE ((size_t)2 << 20)

static struct sc_console console = SC_CONSOLE_INIT;
static int peer = -1;

static void begin(void)
{
	int fds[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	sc_demux_init(&console.demux, NULL, NULL);
	ck_assert_int_eq(sc_stream_new(fds[0], &console.stream, NULL), 0);
	peer = fds[1];
	for (size_t i = 0; i < SIZE; i++)
		(void)sc_buf_putc(&console.input, (char)(i % 251));
	ck_assert_uint_eq(console.input.len, SIZE);
}

static void end(void)
{
	sc_console_clear(&console);
	if (peer >= 0)
		ck_assert_int_eq(close(peer), 0);
	peer = -1;
}

static size_t take_and_check(size_t at)
{
	char data[65536];
	ssize_t n = recv(peer, data, sizeof(data), MSG_DONTWAIT);

	ssize_t good = 0;

	while (good < n && data[good] == (char)((at + (size_t)good) % 251))
		good++;
	ck_assert_int_eq(good, n > 0 ? n : 0);
	return (size_t)good;
}

START_TEST(what_does_not_fit_is_sent_later)
{
	size_t got = 0;
	int rc;

	begin();
	rc = sc_console_send(&console, sc_now_ns(), NULL);
	ck_assert_int_eq(rc, SANDCELL_E_TIMEOUT);
	ck_assert_uint_lt(console.input.len, SIZE);
	while (rc == SANDCELL_E_TIMEOUT) {
		got += take_and_check(got);
		rc = sc_console_send(&console, sc_now_ns(), NULL);
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(console.input.len, 0);
	while (got < SIZE)
		got += take_and_check(got);
	end();
}
END_TEST

START_TEST(a_process_that_is_gone_ends_the_sending)
{
	begin();
	ck_assert_int_eq(close(peer), 0);
	peer = -1;
	ck_assert_int_lt(sc_console_send(&console, SC_NEVER, NULL), 0);
	end();
}
END_TEST

START_TEST(words_end_with_the_deadline)
{
	begin();
	ck_assert_str_eq(sc_console_words(&console, sc_now_ns()), "");
	end();
}
END_TEST

UNIT_MAIN("console", what_does_not_fit_is_sent_later,
	a_process_that_is_gone_ends_the_sending, words_end_with_the_deadline)
