/* SPDX-License-Identifier: MIT */
/* The channel against a scripted peer: the other end of a socket pair. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "engine/stream_impl.h"
#include "session/call.h"
#include "session/channel.h"
#include "unit.h"

/* A channel and what its peer has and sees. */
struct pair {
	int peer;
	int wake;
	sc_channel *channel;
	sc_decoder decoder; /* of what the channel sends */
	sc_buf seen;	    /* "type/id;" of each frame */
	size_t payload;	    /* bytes of all of them */
};

static int note_frame(const sc_frame *frame, void *user, sandcell_error **err_out)
{
	struct pair *p = user;

	p->payload += frame->payload_len;
	(void)sc_buf_printf(&p->seen, "%s;", frame->type);
	return sc_buf_check(&p->seen, err_out, "log");
}

static void open_pair(struct pair *p)
{
	int fds[2];
	sc_stream *stream = NULL;

	*p = (struct pair){.seen = SC_BUF_INIT(SC_MAX_TEXT)};
	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	p->peer = fds[1];
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_eq(sc_stream_new(fds[0], &stream, NULL), 0);
	ck_assert_int_eq(sc_channel_new(stream, p->wake, &p->channel, NULL), 0);
	sc_decoder_init(&p->decoder, note_frame, p);
}

static void close_pair(struct pair *p)
{
	sc_channel_free(p->channel);
	if (p->peer >= 0)
		(void)close(p->peer);
	(void)close(p->wake);
	sc_decoder_clear(&p->decoder);
	sc_buf_clear(&p->seen);
}

/* Takes what the channel has sent. */
static void peer_read(struct pair *p)
{
	char bytes[4096];
	ssize_t n = 0;

	while ((n = read(p->peer, bytes, sizeof(bytes))) > 0)
		ck_assert_int_eq(sc_decoder_feed(&p->decoder, bytes, (size_t)n, NULL), 0);
}

static void peer_write(struct pair *p, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(p->peer, at, len);
		ck_assert_int_gt(n, 0);
		at += n;
		len -= (size_t)n;
	}
}

/* Writes bytes as the engine would: in a frame of its stdout or stderr. */
static void peer_say(struct pair *p, int stream, const void *data, size_t len)
{
	const unsigned char head[8] = {(unsigned char)stream, 0, 0, 0,
		(unsigned char)(len >> 24), (unsigned char)(len >> 16),
		(unsigned char)(len >> 8), (unsigned char)len};

	peer_write(p, head, sizeof(head));
	peer_write(p, data, len);
}

static void peer_frame(
	struct pair *p, const char *header_text, const void *payload, size_t len)
{
	sc_autojson *header = json_loads(header_text, 0, NULL);
	sc_autobuf bytes = SC_BUF_INIT(SC_FRAME_MAX);

	ck_assert_ptr_nonnull(header);
	ck_assert_int_eq(sc_frame_encode(&bytes, header, payload, len, NULL), 0);
	peer_say(p, 1, bytes.data, bytes.len);
}

/* Pumps until nothing moves: the last answer of the pump. */
static int pump_all(struct pair *p, sandcell_error **err_out)
{
	int rc = SC_PUMP_MOVED;

	while (rc == SC_PUMP_MOVED)
		rc = sc_channel_pump(p->channel, sc_deadline_in_ms(1), err_out);
	return rc;
}

/* ---- calls ---- */

struct heard {
	sc_buf output;
	int streams;
	size_t displays;
	int stop_with;
};

static int hear_output(int stream, const void *data, size_t len, uint64_t dropped,
	void *user, sandcell_error **err_out)
{
	struct heard *heard = user;

	heard->streams |= 1 << stream;
	(void)dropped;
	if (heard->stop_with)
		return sc_fail(err_out, heard->stop_with, "told to");
	(void)sc_buf_append(&heard->output, data, len);
	return 0;
}

static int hear_display(sc_content *content, void *user, sandcell_error **err_out)
{
	struct heard *heard = user;

	(void)err_out;
	ck_assert(sc_content_complete(content));
	heard->displays++;
	return 0;
}

static const struct sc_call_handlers handlers = {
	.output = hear_output, .display = hear_display};

/* Starts an execute call with id 7. */
static void start_call(struct pair *p, sc_call *call, json_t **header, const sc_part *parts,
	size_t count, struct heard *heard)
{
	*header = json_pack("{s:s, s:i}", "type", "execute", "id", 7);
	ck_assert_int_eq(
		sc_call_init(call, 7, *header, parts, count, &handlers, heard, NULL), 0);
	ck_assert_int_eq(sc_channel_start(p->channel, call, NULL), 0);
}

#define HEARD_INIT                                                                         \
	{                                                                                  \
		.output = SC_BUF_INIT(SC_MAX_TEXT)                                         \
	}

START_TEST(a_call_gets_its_frames_and_its_result)
{
	struct heard heard = HEARD_INIT;
	const sc_part part = {.name = "code", .data = "x", .len = 1};
	json_t *header = NULL;
	struct pair p;
	sc_call call;

	open_pair(&p);
	start_call(&p, &call, &header, &part, 1, &heard);
	ck_assert_int_eq(pump_all(&p, NULL), SC_PUMP_TIMEOUT);
	peer_read(&p);
	ck_assert_str_eq(sc_buf_text(&p.seen), "execute;");
	peer_frame(&p, "{\"type\":\"output\",\"id\":7,\"stream\":1}", "ab", 2);
	peer_frame(&p, "{\"type\":\"output\",\"id\":8,\"stream\":1}", "other", 5);
	peer_frame(&p, "{\"type\":\"display\",\"id\":7,\"parts\":[[\"text/plain\",3]]}",
		"d", 1);
	peer_frame(&p, "{\"type\":\"output\",\"id\":7,\"stream\":4}", "c", 1);
	peer_frame(&p, "{\"type\":\"data\",\"id\":7}", "ef", 2);
	ck_assert_int_eq(pump_all(&p, NULL), SC_PUMP_TIMEOUT);
	ck_assert(!sc_call_ended(&call));
	peer_frame(
		&p, "{\"type\":\"result\",\"id\":7,\"parts\":[[\"output\",2]]}", "42", 2);
	ck_assert_int_eq(pump_all(&p, NULL), SC_PUMP_TIMEOUT);
	ck_assert(sc_call_ended(&call));
	ck_assert_str_eq(sc_content_get(&call.content, "output", NULL), "42");
	ck_assert_str_eq(sc_buf_text(&heard.output), "abc");
	ck_assert_uint_eq(heard.displays, 1);
	ck_assert_int_eq(heard.streams, 1 << 1 | 1 << 4);
	sc_channel_drop(p.channel, &call);
	sc_channel_trim(p.channel);
	sc_call_clear(&call);
	sc_buf_clear(&heard.output);
	json_decref(header);
	close_pair(&p);
}
END_TEST

START_TEST(large_content_is_sent_while_output_comes)
{
	static char bytes[4 << 20];
	struct heard heard = HEARD_INIT;
	const sc_part part = {.name = "stdin", .data = bytes, .len = sizeof(bytes)};
	json_t *header = NULL;
	struct pair p;
	sc_call call;

	open_pair(&p);
	start_call(&p, &call, &header, &part, 1, &heard);
	/* The peer does not read: the channel must go on taking what it says. */
	for (int i = 0; i < 10; i++) {
		peer_frame(&p, "{\"type\":\"output\",\"id\":7,\"stream\":2}", "x", 1);
		ck_assert_int_eq(pump_all(&p, NULL), SC_PUMP_TIMEOUT);
		ck_assert_uint_eq(heard.output.len, (size_t)i + 1);
	}
	for (int i = 0; i < 100000 && p.payload < sizeof(bytes); i++) {
		peer_read(&p);
		(void)sc_channel_pump(p.channel, sc_deadline_in_ms(1), NULL);
	}
	ck_assert_uint_eq(p.payload, sizeof(bytes));
	ck_assert_int_eq(strncmp(p.seen.data, "execute;data;data;", 18), 0);
	sc_channel_drop(p.channel, &call);
	sc_call_clear(&call);
	sc_buf_clear(&heard.output);
	json_decref(header);
	close_pair(&p);
}
END_TEST

START_TEST(an_interrupt_overtakes_content)
{
	static char bytes[4 << 20];
	struct heard heard = HEARD_INIT;
	const sc_part part = {.name = "stdin", .data = bytes, .len = sizeof(bytes)};
	sc_autojson *interrupt = json_pack("{s:s, s:i}", "type", "interrupt", "target", 7);
	json_t *header = NULL;
	struct pair p;
	sc_call call;

	open_pair(&p);
	start_call(&p, &call, &header, &part, 1, &heard);
	(void)pump_all(&p, NULL);
	ck_assert_int_eq(sc_channel_send_frame(p.channel, interrupt, NULL), 0);
	for (int i = 0; i < 100000 && !strstr(sc_buf_text(&p.seen), "interrupt"); i++) {
		peer_read(&p);
		(void)sc_channel_pump(p.channel, sc_deadline_in_ms(1), NULL);
	}
	ck_assert_ptr_nonnull(strstr(sc_buf_text(&p.seen), "interrupt"));
	ck_assert_uint_lt(p.payload, sizeof(bytes) / 2);
	sc_channel_drop(p.channel, &call);
	sc_call_clear(&call);
	sc_buf_clear(&heard.output);
	json_decref(header);
	close_pair(&p);
}
END_TEST

START_TEST(a_header_that_is_too_long_harms_nothing)
{
	sc_autofree char *text = sc_calloc(1, 70000);
	sc_autojson *header = NULL;
	struct pair p;
	sc_call call;

	open_pair(&p);
	memset(text, 'x', 69999);
	header = json_pack("{s:s, s:i, s:s}", "type", "execute", "id", 1, "script", text);
	ck_assert_int_eq(sc_call_init(&call, 1, header, NULL, 0, NULL, NULL, NULL), 0);
	ck_assert_int_eq(sc_channel_start(p.channel, &call, NULL), SANDCELL_E_LIMIT);
	json_object_set_new(header, "script", json_string("short"));
	ck_assert_int_eq(sc_call_init(&call, 1, header, NULL, 0, NULL, NULL, NULL), 0);
	ck_assert_int_eq(sc_channel_start(p.channel, &call, NULL), 0);
	(void)pump_all(&p, NULL);
	peer_read(&p);
	ck_assert_str_eq(sc_buf_text(&p.seen), "execute;");
	sc_channel_drop(p.channel, &call);
	sc_call_clear(&call);
	close_pair(&p);
}
END_TEST

/* ---- waking and deadlines ---- */

START_TEST(the_eventfd_wakes_the_pump)
{
	const uint64_t one = 1;
	struct pair p;

	open_pair(&p);
	ck_assert_int_eq(write(p.wake, &one, sizeof(one)), sizeof(one));
	ck_assert_int_eq(sc_channel_pump(p.channel, SC_NEVER, NULL), SC_PUMP_WOKEN);
	ck_assert_int_eq(
		sc_channel_pump(p.channel, sc_deadline_in_ms(1), NULL), SC_PUMP_TIMEOUT);
	close_pair(&p);
}
END_TEST

START_TEST(a_flood_hides_neither_wake_up_nor_deadline)
{
	const uint64_t one = 1;
	struct pair p;

	open_pair(&p);
	peer_frame(&p, "{\"type\":\"output\",\"id\":9,\"stream\":1}", "x", 1);
	ck_assert_int_eq(write(p.wake, &one, sizeof(one)), sizeof(one));
	ck_assert_int_eq(sc_channel_pump(p.channel, SC_NEVER, NULL), SC_PUMP_WOKEN);
	peer_frame(&p, "{\"type\":\"output\",\"id\":9,\"stream\":1}", "x", 1);
	ck_assert_int_eq(sc_channel_pump(p.channel, sc_now_ns(), NULL), SC_PUMP_TIMEOUT);
	close_pair(&p);
}
END_TEST

/* ---- ends ---- */

START_TEST(the_end_of_the_stream_is_noticed)
{
	sandcell_error *err = NULL;
	struct pair p;

	open_pair(&p);
	peer_say(&p, 2, "python3: ", 9);
	peer_say(&p, 3, "not found", 9);
	(void)close(p.peer);
	p.peer = -1;
	ck_assert_int_eq(pump_all(&p, &err), SANDCELL_E_GONE);
	ck_assert_str_eq(sc_channel_complaints(p.channel), "python3: not found");
	sandcell_error_free(err);
	close_pair(&p);
}
END_TEST

START_TEST(last_words_come_although_nothing_can_be_sent)
{
	struct heard heard = HEARD_INIT;
	json_t *header = NULL;
	struct pair p;
	sc_call call;

	open_pair(&p);
	start_call(&p, &call, &header, NULL, 0, &heard);
	peer_say(&p, 2, "dying", 5);
	ck_assert_int_eq(shutdown(p.peer, SHUT_RD), 0);
	ck_assert_int_eq(pump_all(&p, NULL), SC_PUMP_TIMEOUT);
	ck_assert_str_eq(sc_channel_complaints(p.channel), "dying");
	(void)close(p.peer);
	p.peer = -1;
	ck_assert_int_eq(pump_all(&p, NULL), SANDCELL_E_GONE);
	sc_channel_drop(p.channel, &call);
	sc_call_clear(&call);
	json_decref(header);
	close_pair(&p);
}
END_TEST

START_TEST(complaints_are_bounded_and_the_last_ones_stay)
{
	static char noise[30000];
	struct pair p;

	open_pair(&p);
	memset(noise, '.', sizeof(noise));
	for (int i = 0; i < 20; i++) {
		peer_say(&p, 2, noise, sizeof(noise));
		(void)pump_all(&p, NULL);
	}
	peer_say(&p, 2, "END", 3);
	(void)pump_all(&p, NULL);
	const char *kept = sc_channel_complaints(p.channel);
	ck_assert_uint_le(strlen(kept), 5000);
	ck_assert_str_eq(kept + strlen(kept) - 4, ".END");
	close_pair(&p);
}
END_TEST

/* What the container sends to a running call: the code the channel fails with. */
static int hostile(const char *const *headers, const char *payload)
{
	struct heard heard = HEARD_INIT;
	sandcell_error *err = NULL;
	json_t *header = NULL;
	struct pair p;
	sc_call call;

	open_pair(&p);
	start_call(&p, &call, &header, NULL, 0, &heard);
	for (; *headers; headers++)
		peer_frame(&p, *headers, payload, strlen(payload));
	int rc = pump_all(&p, &err);
	ck_assert_int_eq(sandcell_error_get_code(err), rc < 0 ? rc : 0);
	sandcell_error_free(err);
	sc_channel_drop(p.channel, &call);
	sc_call_clear(&call);
	sc_buf_clear(&heard.output);
	json_decref(header);
	close_pair(&p);
	return rc;
}

#define HOSTILE(payload, ...) hostile((const char *const[]){__VA_ARGS__, NULL}, payload)
#define EXPECT_HOSTILE(payload, ...)                                                       \
	ck_assert_int_eq(HOSTILE(payload, __VA_ARGS__), SANDCELL_E_PROTOCOL)

START_TEST(frames_that_do_not_fit_end_the_channel)
{
	static const char output[] = "{\"type\":\"output\",\"id\":7,\"stream\":1}";
	static const char display[] =
		"{\"type\":\"display\",\"id\":7,\"parts\":[[\"a\",9]]}";

	ck_assert_int_eq(HOSTILE("x", output), SC_PUMP_TIMEOUT);
	EXPECT_HOSTILE("x", "{\"type\":\"output\",\"id\":7,\"stream\":0}");
	EXPECT_HOSTILE("x", "{\"type\":\"output\",\"id\":7,\"stream\":5}");
	EXPECT_HOSTILE("x", "{\"type\":\"output\",\"id\":7}");
	EXPECT_HOSTILE("x", "{\"type\":\"output\",\"id\":7,\"stream\":1,\"dropped\":-1}");
	EXPECT_HOSTILE("x", "{\"type\":\"data\",\"id\":7}");
	EXPECT_HOSTILE("x", "{\"type\":\"what\",\"id\":7}");
	EXPECT_HOSTILE("x", display, display);
	EXPECT_HOSTILE("x", display, "{\"type\":\"result\",\"id\":7}");
	EXPECT_HOSTILE("123456", display, "{\"type\":\"data\",\"id\":7}");
	EXPECT_HOSTILE("", "{\"type\":\"display\",\"id\":7,\"parts\":[[\"a\",33554433]]}");
	EXPECT_HOSTILE("", "{\"type\":\"result\",\"id\":7,\"parts\":[[\"a\",67108865]]}");
	EXPECT_HOSTILE("", "{\"type\":\"error\",\"message\":\"no\"}");
	EXPECT_HOSTILE("", "{\"type\":\"error\"}");
	EXPECT_HOSTILE("", "{\"type\":\"hello\"}", "{\"type\":\"hello\"}");
	EXPECT_HOSTILE("", "{\"id\":7}");
}
END_TEST

START_TEST(bytes_that_are_no_frames_end_the_channel)
{
	static const char *const bad[] = {
		"GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff\xff\xff\xff\xff"};

	for (size_t i = 0; i < 2; i++) {
		struct pair p;

		open_pair(&p);
		peer_say(&p, 1, bad[i], 8);
		ck_assert_int_eq(pump_all(&p, NULL), SANDCELL_E_PROTOCOL);
		close_pair(&p);
		open_pair(&p);
		peer_write(&p, bad[i], 8);
		ck_assert_int_eq(pump_all(&p, NULL), SANDCELL_E_PROTOCOL);
		close_pair(&p);
	}
}
END_TEST

START_TEST(a_handler_can_end_the_channel)
{
	struct heard heard = HEARD_INIT;
	sandcell_error *err = NULL;
	json_t *header = NULL;
	struct pair p;
	sc_call call;

	open_pair(&p);
	heard.stop_with = SANDCELL_E_LIMIT;
	start_call(&p, &call, &header, NULL, 0, &heard);
	peer_frame(&p, "{\"type\":\"output\",\"id\":7,\"stream\":1}", "x", 1);
	ck_assert_int_eq(pump_all(&p, &err), SANDCELL_E_LIMIT);
	ck_assert_str_eq(sandcell_error_get_message(err), "told to");
	sandcell_error_free(err);
	sc_channel_drop(p.channel, &call);
	sc_call_clear(&call);
	json_decref(header);
	close_pair(&p);
}
END_TEST

/* ---- small calls ---- */

START_TEST(a_small_call_runs_to_its_end)
{
	sandcell_error *err = NULL;
	sc_autojson *header = json_pack("{s:s, s:i}", "type", "ping", "id", 3);
	struct pair p;
	sc_call call;

	open_pair(&p);
	ck_assert_int_eq(sc_call_init(&call, 3, header, NULL, 0, NULL, NULL, NULL), 0);
	peer_frame(&p, "{\"type\":\"hello\",\"protocol\":1}", "", 0);
	peer_frame(&p,
		"{\"type\":\"result\",\"id\":3,\"status\":\"error\","
		"\"parts\":[[\"error\",3]]}",
		"why", 3);
	ck_assert_int_eq(sc_call_run(p.channel, &call, sc_deadline_in_ms(5000), NULL), 0);
	ck_assert_int_eq(sc_json_get_int(sc_channel_hello(p.channel), "protocol", 0), 1);
	ck_assert_int_eq(sc_call_check(&call, "ping", &err), SANDCELL_E_FAIL);
	ck_assert_str_eq(sandcell_error_get_message(err), "ping: why");
	sandcell_error_free(err);
	sc_call_clear(&call);
	close_pair(&p);
}
END_TEST

START_TEST(a_small_call_does_not_wait_for_ever)
{
	sc_autojson *header = json_pack("{s:s, s:i}", "type", "ping", "id", 3);
	struct pair p;
	sc_call call;

	open_pair(&p);
	ck_assert_int_eq(sc_call_init(&call, 3, header, NULL, 0, NULL, NULL, NULL), 0);
	ck_assert_int_eq(sc_call_run(p.channel, &call, sc_deadline_in_ms(5), NULL),
		SANDCELL_E_TIMEOUT);
	sc_call_clear(&call);
	close_pair(&p);
}
END_TEST

START_TEST(ids_are_never_used_twice)
{
	struct pair p;

	open_pair(&p);
	uint64_t first = sc_channel_next_id(p.channel);
	ck_assert_uint_le(first, SC_FRAME_ID_MAX / 2);
	ck_assert_uint_eq(sc_channel_next_id(p.channel), first + 1);
	close_pair(&p);
}
END_TEST

UNIT_MAIN("channel", a_call_gets_its_frames_and_its_result,
	large_content_is_sent_while_output_comes, an_interrupt_overtakes_content,
	a_header_that_is_too_long_harms_nothing, the_eventfd_wakes_the_pump,
	a_flood_hides_neither_wake_up_nor_deadline, the_end_of_the_stream_is_noticed,
	last_words_come_although_nothing_can_be_sent,
	complaints_are_bounded_and_the_last_ones_stay,
	frames_that_do_not_fit_end_the_channel, bytes_that_are_no_frames_end_the_channel,
	a_handler_can_end_the_channel, a_small_call_runs_to_its_end,
	a_small_call_does_not_wait_for_ever, ids_are_never_used_twice)
