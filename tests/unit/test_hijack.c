/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "engine/demux.h"
#include "engine/hijack.h"
#include "engine/http.h"
#include "fake_unit.h"

#define START "POST /exec/<any>/start"
#define PATH  "/exec/e1/start"
#define HEAD  "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
#define HELLO "\x01\0\0\0\0\0\0\x05hello"

static int hijack(sandcell_engine *engine, sc_stream **stream_out, sandcell_error **err_out)
{
	sc_autojson *body = json_pack("{s:b}", "Tty", 0);

	return sc_hijack(engine, PATH, body, soon(), stream_out, err_out);
}

/* Everything up to the end of the stream: SC_STREAM_END or the failure. */
static int read_all(sc_stream *stream, sc_buf *out, size_t cap, sandcell_error **err_out)
{
	char piece[4096];
	size_t n = 0;

	for (;;) {
		int rc = sc_stream_read(stream, piece, cap, &n, err_out);
		if (rc == SC_STREAM_END || rc < 0)
			return rc;
		if (rc == SC_STREAM_DATA) {
			ck_assert_uint_gt(n, 0);
			(void)sc_buf_append(out, piece, n);
			continue;
		}
		ck_assert_int_eq(rc, SC_STREAM_AGAIN);
		ck_assert_int_eq(sc_fd_wait(sc_stream_fd(stream),
					 sc_stream_events(stream, 0), soon(), NULL),
			1);
	}
}

/* Starts on a reply given as it stands, and compares what the stream says. */
static void expect_stream(const char *raw, size_t raw_len, size_t slice, size_t cap,
	const char *wanted, size_t wanted_len)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rule = {.on = START,
		.raw = raw,
		.raw_len = raw_len,
		.slice = slice,
		.end = FAKE_CLOSE};
	sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
	sandcell_error *err = NULL;
	sc_stream *stream = NULL;

	fake_on(fake, &rule);
	ck_assert_msg(
		hijack(engine, &stream, &err) == 0, "%s", sandcell_error_get_message(err));
	ck_assert_int_eq(read_all(stream, &seen, cap, NULL), SC_STREAM_END);
	ck_assert_uint_eq(seen.len, wanted_len);
	ck_assert_mem_eq(sc_buf_text(&seen), wanted, wanted_len);
	sc_stream_free(stream);
	sc_engine_free(engine);
	fake_stop(fake);
}

#define EXPECT_STREAM(raw, slice, cap, wanted)                                             \
	expect_stream(raw, sizeof(raw) - 1, slice, cap, wanted, sizeof(wanted) - 1)

/* ---- the request ---- */

START_TEST(the_request_asks_for_an_upgrade)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	sc_stream *stream = NULL;

	ck_assert_int_eq(hijack(engine, &stream, NULL), 0);
	expect_last_request(fake, "POST /v1.41/exec/e1/start HTTP/1.1\r\nHost: docker\r\n");
	expect_last_request(fake, "\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n");
	expect_last_request(fake, "\r\nContent-Type: application/json\r\n");
	expect_last_request(fake, "\r\nContent-Length: 13\r\n\r\n{\"Tty\":false}");
	ck_assert(fcntl(sc_stream_fd(stream), F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(sc_stream_fd(stream), F_GETFL) & O_NONBLOCK);
	sc_stream_free(stream);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* ---- replies that are streams ---- */

START_TEST(both_101_and_200_are_taken)
{
	EXPECT_STREAM(HEAD "\r\n" HELLO, 0, 4096, HELLO);
	EXPECT_STREAM("HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\n" HELLO, 0, 4096, HELLO);
}
END_TEST

START_TEST(bytes_glued_to_the_head_are_not_lost)
{
	EXPECT_STREAM(HEAD "\r\n" HELLO, 0, 3, HELLO);
	EXPECT_STREAM(HEAD "\r\n" HELLO, 1, 1, HELLO);
	EXPECT_STREAM(HEAD "\r\n" HELLO, 7, 2, HELLO);
}
END_TEST

START_TEST(after_101_the_length_of_a_body_means_nothing)
{
	EXPECT_STREAM(HEAD "Content-Length: 0\r\n\r\n" HELLO, 0, 4096, HELLO);
	EXPECT_STREAM(HEAD "Transfer-Encoding: chunked\r\n\r\n" HELLO, 0, 4096, HELLO);
}
END_TEST

/* A proxy in between: chunks whose borders lie inside the frame's header. */
#define CHUNKED                                                                            \
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"                            \
	"3\r\n\x01\0\0\r\n6\r\n\0\0\0\0\x05h\r\n4\r\nello\r\n0\r\n\r\n"

START_TEST(a_chunked_200_is_decoded)
{
	EXPECT_STREAM(CHUNKED, 0, 4096, HELLO);
	EXPECT_STREAM(CHUNKED, 1, 4096, HELLO);
	EXPECT_STREAM(CHUNKED, 0, 1, HELLO);
}
END_TEST

START_TEST(a_200_with_a_length_ends_there)
{
	EXPECT_STREAM("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n" HELLO "more", 0, 4096,
		HELLO);
	EXPECT_STREAM(
		"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n" HELLO "more", 1, 2, HELLO);
}
END_TEST

START_TEST(interim_replies_are_skipped)
{
	EXPECT_STREAM("HTTP/1.1 100 Continue\r\n\r\n"
		      "HTTP/1.1 102 Processing\r\nX: y\r\n\r\n" HEAD "\r\n" HELLO,
		0, 4096, HELLO);
}
END_TEST

START_TEST(a_body_cut_short_is_an_error)
{
	static const char *const cut[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
	};
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);

	for (size_t i = 0; i < 3; i++) {
		const fake_rule rule = {.on = START, .raw = cut[i], .end = FAKE_CLOSE};
		sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
		sandcell_error *err = NULL;
		sc_stream *stream = NULL;
		fake_on(fake, &rule);
		ck_assert_int_eq(hijack(engine, &stream, NULL), 0);
		ck_assert_int_lt(read_all(stream, &seen, 4096, &err), 0);
		expect_error(&err, SANDCELL_E_PROTOCOL, "closed");
		ck_assert_str_eq(sc_buf_text(&seen), "abc");
		sc_stream_free(stream);
	}
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* ---- replies that are not ---- */

START_TEST(a_refusal_carries_the_engines_words)
{
	static const char message[] = "{\"message\":\"OCI runtime exec failed: exec: "
				      "\\\"python3\\\": not found\"}";
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rules[] = {
		{.on = START, .status = 400, .body = message},
		{.on = START, .status = 400, .body = message, .chunk = 5},
		{.on = START, .status = 400, .body = message, .slice = 1},
		{.on = START, .status = 400, .body = message, .end = FAKE_CLOSE},
	};

	for (size_t i = 0; i < 4; i++) {
		sandcell_error *err = NULL;
		sc_stream *stream = NULL;
		fake_on(fake, &rules[i]);
		ck_assert_int_lt(hijack(engine, &stream, &err), 0);
		ck_assert_ptr_null(stream);
		ck_assert_int_eq(sandcell_error_get_http(err), 400);
		expect_error(&err, SANDCELL_E_ENGINE, "python3");
	}
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(missing_and_wrong_state_keep_their_meaning)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	sandcell_error *err = NULL;
	sc_stream *stream = NULL;

	fake_reply(fake, START, 404, "{\"message\":\"No such exec instance\"}");
	ck_assert_int_lt(hijack(engine, &stream, &err), 0);
	expect_error(&err, SANDCELL_E_NOTFOUND, "No such exec");
	fake_reply(fake, START, 409, "{\"message\":\"Container is paused\"}");
	ck_assert_int_lt(hijack(engine, &stream, &err), 0);
	expect_error(&err, SANDCELL_E_CONFLICT, "paused");
	fake_reply(fake, START, 204, "");
	ck_assert_int_lt(hijack(engine, &stream, &err), 0);
	expect_error(&err, SANDCELL_E_PROTOCOL, "204");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(an_explanation_without_an_end_is_taken_as_far_as_it_goes)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	const fake_rule rule = {.on = START,
		.raw = "HTTP/1.1 500 X\r\nContent-Length: 99\r\n\r\nhalf an expl",
		.end = FAKE_HANG};
	sandcell_error *err = NULL;
	sc_stream *stream = NULL;

	engine = open_impatient(fake);
	fake_on(fake, &rule);
	ck_assert_int_lt(hijack(engine, &stream, &err), 0);
	expect_error(&err, SANDCELL_E_ENGINE, "half an expl");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(garbage_silence_and_early_ends_are_errors)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	const struct {
		fake_rule rule;
		int code;
		const char *part;
	} rows[] = {
		{{.on = START, .raw = "junk", .end = FAKE_HANG}, SANDCELL_E_PROTOCOL,
			"not HTTP"},
		{{.on = START, .raw = "", .end = FAKE_CLOSE}, SANDCELL_E_CONNECT, "closed"},
		{{.on = START, .raw = "HTTP/1.1 101 U\r\n", .end = FAKE_CLOSE},
			SANDCELL_E_CONNECT, "closed"},
		{{.on = START, .deaf = true}, SANDCELL_E_TIMEOUT, "timed out"},
		{{.on = START, .raw = "HTTP/1.1 101 U\r\n", .end = FAKE_HANG},
			SANDCELL_E_TIMEOUT, "timed out"},
	};

	engine = open_impatient(fake);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sandcell_error *err = NULL;
		sc_stream *stream = NULL;
		fake_on(fake, &rows[i].rule);
		ck_assert_int_lt(hijack(engine, &stream, &err), 0);
		expect_error(&err, rows[i].code, rows[i].part);
	}
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(an_endless_head_is_refused)
{
	static char head[100000];
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rule = {.on = START, .raw = head, .end = FAKE_HANG};
	sandcell_error *err = NULL;
	sc_stream *stream = NULL;

	(void)snprintf(head, sizeof(head), "HTTP/1.1 101 U\r\n");
	for (size_t i = strlen(head); i + 8 < sizeof(head); i += 8)
		memcpy(head + i, "A: bcd\r\n", 9);
	fake_on(fake, &rule);
	ck_assert_int_lt(hijack(engine, &stream, &err), 0);
	expect_error(&err, SANDCELL_E_PROTOCOL, "too long");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_cut_anywhere_leaves_nothing_open)
{
	static const char raw[] = HEAD "\r\n" HELLO;
	size_t before = fake_open_fds();

	for (size_t at = 0; at < sizeof(raw) - 1; at++) {
		fake_engine *fake = fake_start();
		sandcell_engine *engine = open_engine(fake);
		const fake_rule rule = {
			.on = START, .raw = raw, .raw_len = sizeof(raw) - 1};
		sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
		sandcell_error *err = NULL;
		sc_stream *stream = NULL;
		fake_on(fake, &rule);
		fake_cut_at(fake, (long long)at);
		int rc = hijack(engine, &stream, &err);
		if (at < sizeof(HEAD "\r\n") - 1) {
			ck_assert_int_eq(rc, SANDCELL_E_CONNECT);
		} else {
			ck_assert_int_eq(rc, 0);
			ck_assert_int_eq(
				read_all(stream, &seen, 4096, NULL), SC_STREAM_END);
			ck_assert_uint_eq(seen.len, at - (sizeof(HEAD "\r\n") - 1));
		}
		sandcell_error_free(err);
		sc_stream_free(stream);
		sc_engine_free(engine);
		fake_stop(fake);
		ck_assert_uint_eq(fake_open_fds(), before);
	}
}
END_TEST

/* ---- both ways ---- */

static void echo(int fd, void *user)
{
	char piece[1000];
	ssize_t n;

	(void)user;
	while ((n = recv(fd, piece, sizeof(piece), 0)) > 0)
		(void)send(fd, piece, (size_t)n, MSG_NOSIGNAL);
}

/* One poll loop for both directions: more than all socket buffers hold, without a stall. */
START_TEST(megabytes_go_both_ways_at_once)
{
	enum { TOTAL = 4 << 20 };
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rule = {.on = START, .status = 101, .stream = echo};
	sc_stream *stream = NULL;
	static char piece[65536];
	size_t sent = 0;
	size_t got = 0;
	size_t n = 0;

	fake_on(fake, &rule);
	ck_assert_int_eq(hijack(engine, &stream, NULL), 0);
	while (got < TOTAL) {
		short events = sc_stream_events(stream, sent < TOTAL);
		ck_assert_int_eq(sc_fd_wait(sc_stream_fd(stream), events, soon(), NULL), 1);
		while (sc_stream_read(stream, piece, sizeof(piece), &n, NULL) ==
			SC_STREAM_DATA)
			got += n;
		size_t len = TOTAL - sent < sizeof(piece) ? TOTAL - sent : sizeof(piece);
		if (len > 0 &&
			sc_stream_write(stream, piece, len, &n, NULL) == SC_STREAM_DATA)
			sent += n;
	}
	sc_stream_end_write(stream);
	sc_autobuf rest = SC_BUF_INIT(SC_MAX_TEXT);
	ck_assert_int_eq(read_all(stream, &rest, 4096, NULL), SC_STREAM_END);
	ck_assert_uint_eq(rest.len, 0);
	sc_stream_free(stream);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(writing_to_a_gone_peer_is_an_end_not_a_signal)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	struct sigaction action = {0};
	sc_stream *stream = NULL;
	sc_autobuf rest = SC_BUF_INIT(SC_MAX_TEXT);
	size_t n = 0;

	ck_assert_int_eq(hijack(engine, &stream, NULL), 0);
	ck_assert_int_eq(read_all(stream, &rest, 4096, NULL), SC_STREAM_END);
	ck_assert_int_eq(sc_stream_write(stream, "x", 1, &n, NULL), SC_STREAM_END);
	ck_assert_int_eq(sc_stream_write(stream, "x", 1, &n, NULL), SC_STREAM_END);
	ck_assert_int_eq(sc_stream_read(stream, &n, 1, &n, NULL), SC_STREAM_END);
	ck_assert_int_eq(sigaction(SIGPIPE, NULL, &action), 0);
	ck_assert(action.sa_handler == SIG_DFL);
	sc_stream_free(stream);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(streams_live_apart_from_other_requests)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rule = {.on = START, .status = 101, .stream = echo};
	sc_stream *streams[20];

	fake_on(fake, &rule);
	for (size_t i = 0; i < 20; i++)
		ck_assert_int_eq(hijack(engine, &streams[i], NULL), 0);
	for (int i = 0; i < 200; i++) {
		const struct sc_http_request request = {
			.path = "/info", .deadline = soon()};
		sc_autoreply reply = SC_HTTP_REPLY_INIT;
		ck_assert_int_eq(sc_http_call(engine, &request, &reply, NULL), 0);
	}
	for (size_t i = 0; i < 20; i++) {
		sc_autobuf seen = SC_BUF_INIT(SC_MAX_TEXT);
		char name[8];
		size_t n = 0;
		(void)snprintf(name, sizeof(name), "s%zu", i);
		ck_assert_int_eq(sc_stream_write(streams[i], name, strlen(name), &n, NULL),
			SC_STREAM_DATA);
		sc_stream_end_write(streams[i]);
		ck_assert_int_eq(read_all(streams[i], &seen, 4096, NULL), SC_STREAM_END);
		ck_assert_str_eq(sc_buf_text(&seen), name);
		sc_stream_free(streams[i]);
	}
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* A child that was forked and lives on must not keep the connection open. */
START_TEST(closing_ends_the_connection_in_spite_of_a_forked_child)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rule = {.on = START, .status = 101, .stream = echo};
	sc_stream *stream = NULL;
	int gate[2];
	int status = 0;
	char go = 0;

	fake_on(fake, &rule);
	ck_assert_int_eq(hijack(engine, &stream, NULL), 0);
	ck_assert_int_eq(pipe2(gate, O_CLOEXEC), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		size_t n = 0;
		(void)close(gate[1]);
		int rc = sc_stream_write(stream, "x", 1, &n, NULL);
		(void)!read(gate[0], &go, 1); /* lives until the parent is done */
		_exit(rc < 0 ? 0 : 1);
	}
	(void)close(gate[0]);
	sc_stream_free(stream);
	sc_engine_free(engine);
	fake_stop(fake); /* waits for the echo to see the end of its connection */
	(void)close(gate[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

UNIT_MAIN("hijack", the_request_asks_for_an_upgrade, both_101_and_200_are_taken,
	bytes_glued_to_the_head_are_not_lost, after_101_the_length_of_a_body_means_nothing,
	a_chunked_200_is_decoded, a_200_with_a_length_ends_there,
	interim_replies_are_skipped, a_body_cut_short_is_an_error,
	a_refusal_carries_the_engines_words, missing_and_wrong_state_keep_their_meaning,
	an_explanation_without_an_end_is_taken_as_far_as_it_goes,
	garbage_silence_and_early_ends_are_errors, an_endless_head_is_refused,
	a_cut_anywhere_leaves_nothing_open, megabytes_go_both_ways_at_once,
	writing_to_a_gone_peer_is_an_end_not_a_signal,
	streams_live_apart_from_other_requests,
	closing_ends_the_connection_in_spite_of_a_forked_child)
