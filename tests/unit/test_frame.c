/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "session/frame.h"
#include "unit.h"

/* ---- helpers ---- */

static void put_frame(sc_buf *out, const char *header, const void *payload, size_t len)
{
	size_t header_len = strlen(header);
	const unsigned char prefix[SC_FRAME_PREFIX] = {
		(unsigned char)(header_len >> 24),
		(unsigned char)(header_len >> 16),
		(unsigned char)(header_len >> 8),
		(unsigned char)header_len,
		(unsigned char)(len >> 24),
		(unsigned char)(len >> 16),
		(unsigned char)(len >> 8),
		(unsigned char)len,
	};

	(void)sc_buf_append(out, prefix, sizeof(prefix));
	(void)sc_buf_append(out, header, header_len);
	(void)sc_buf_append(out, payload, len);
	ck_assert_int_eq(out->rc, 0);
}

/* Writes "type/id/payload;" of each frame into the buffer that is its user. */
static int note(const sc_frame *frame, void *user, sandcell_error **err_out)
{
	sc_buf *log = user;

	(void)sc_buf_printf(log, "%s/%lld/", frame->type,
		frame->id == SC_FRAME_NO_ID ? -1LL : (long long)frame->id);
	(void)sc_buf_append(log, frame->payload, frame->payload_len);
	(void)sc_buf_putc(log, ';');
	return sc_buf_check(log, err_out, "log");
}

static int refuse(const sc_frame *frame, void *user, sandcell_error **err_out)
{
	(void)frame;
	(void)user;
	return sc_fail(err_out, SANDCELL_E_CALLBACK, "stop");
}

/* Decodes one frame with this prefix and header; the code it fails with. */
static int decode_raw(const void *data, size_t len)
{
	sandcell_error *err = NULL;
	sc_autobuf log = SC_BUF_INIT(SC_MAX_TEXT);
	sc_decoder decoder;

	sc_decoder_init(&decoder, note, &log);
	int rc = sc_decoder_feed(&decoder, data, len, &err);
	if (rc == 0)
		rc = sc_decoder_end(&decoder, &err);
	ck_assert_int_eq(sandcell_error_get_code(err), rc);
	ck_assert_uint_le(decoder.partial.cap, 2 * SC_FRAME_MAX);
	sandcell_error_free(err);
	sc_decoder_clear(&decoder);
	return rc;
}

static int decode_header(const char *header)
{
	sc_autobuf bytes = SC_BUF_INIT(SC_MAX_TEXT);

	put_frame(&bytes, header, "", 0);
	return decode_raw(bytes.data, bytes.len);
}

/* ---- decoding ---- */

#define THREE_FRAMES "hello/-1/;output/7/some text;result/9007199254740991/;"

static void put_three_frames(sc_buf *out)
{
	put_frame(out, "{\"type\":\"hello\",\"protocol\":1}", "", 0);
	put_frame(out, "{\"type\":\"output\",\"id\":7,\"stream\":1}", "some text", 9);
	put_frame(out, "{\"type\":\"result\",\"id\":9007199254740991}", "", 0);
}

START_TEST(every_split_gives_the_same_frames)
{
	sc_autobuf bytes = SC_BUF_INIT(SC_MAX_TEXT);

	put_three_frames(&bytes);
	for (size_t first = 0; first <= bytes.len; first++) {
		for (size_t second = first; second <= bytes.len; second++) {
			sc_autobuf log = SC_BUF_INIT(SC_MAX_TEXT);
			sc_decoder d;

			sc_decoder_init(&d, note, &log);
			ck_assert_int_eq(sc_decoder_feed(&d, bytes.data, first, NULL), 0);
			ck_assert_int_eq(sc_decoder_feed(&d, bytes.data + first,
						 second - first, NULL),
				0);
			ck_assert_int_eq(sc_decoder_feed(&d, bytes.data + second,
						 bytes.len - second, NULL),
				0);
			ck_assert_int_eq(sc_decoder_end(&d, NULL), 0);
			ck_assert_str_eq(sc_buf_text(&log), THREE_FRAMES);
			sc_decoder_clear(&d);
		}
	}
}
END_TEST

START_TEST(single_bytes_give_the_same_frames)
{
	sc_autobuf bytes = SC_BUF_INIT(SC_MAX_TEXT);
	sc_autobuf log = SC_BUF_INIT(SC_MAX_TEXT);
	sc_decoder d;

	put_three_frames(&bytes);
	sc_decoder_init(&d, note, &log);
	for (size_t i = 0; i < bytes.len; i++)
		ck_assert_int_eq(sc_decoder_feed(&d, bytes.data + i, 1, NULL), 0);
	ck_assert_int_eq(sc_decoder_end(&d, NULL), 0);
	ck_assert_str_eq(sc_buf_text(&log), THREE_FRAMES);
	sc_decoder_clear(&d);
}
END_TEST

START_TEST(an_end_inside_a_frame_is_noticed)
{
	sc_autobuf bytes = SC_BUF_INIT(SC_MAX_TEXT);

	put_frame(&bytes, "{\"type\":\"output\",\"id\":7}", "text", 4);
	for (size_t len = 1; len < bytes.len; len++)
		ck_assert_int_eq(decode_raw(bytes.data, len), SANDCELL_E_PROTOCOL);
	ck_assert_int_eq(decode_raw(bytes.data, bytes.len), 0);
}
END_TEST

START_TEST(lengths_are_checked_before_anything_else)
{
	static const unsigned char hostile[][SC_FRAME_PREFIX] = {
		{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		{0x80, 0, 0, 0, 0, 0, 0, 0},
		{0, 1, 0, 1, 0, 0, 0, 0},
		{0, 0, 0, 1, 0, 0, 0, 0},
		{0, 0, 0, 0, 0, 0, 0, 0},
		{0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff},
		{0, 0, 0, 2, 0, 1, 0, 1},
	};

	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
		ck_assert_int_eq(
			decode_raw(hostile[i], SC_FRAME_PREFIX), SANDCELL_E_PROTOCOL);
}
END_TEST

START_TEST(the_largest_frame_is_accepted)
{
	sc_autobuf bytes = SC_BUF_INIT(SC_MAX_TEXT);
	sc_autofree char *header = sc_malloc(SC_FRAME_HEADER_MAX + 1);
	sc_autofree char *payload = sc_calloc(1, SC_FRAME_PAYLOAD_MAX);
	int n = 0;

	memset(header, ' ', SC_FRAME_HEADER_MAX);
	header[SC_FRAME_HEADER_MAX] = '\0';
	memcpy(header, "{\"type\":\"output\",\"id\":1", 23);
	header[SC_FRAME_HEADER_MAX - 1] = '}';
	put_frame(&bytes, header, payload, SC_FRAME_PAYLOAD_MAX);
	for (size_t piece = 1000; piece < bytes.len; piece *= 3, n++) {
		sc_autobuf log = SC_BUF_INIT(SC_MAX_TEXT);
		sc_decoder d;

		sc_decoder_init(&d, note, &log);
		for (size_t at = 0; at < bytes.len; at += piece) {
			size_t len = bytes.len - at < piece ? bytes.len - at : piece;
			ck_assert_int_eq(
				sc_decoder_feed(&d, bytes.data + at, len, NULL), 0);
		}
		ck_assert_uint_eq(log.len, strlen("output/1/;") + SC_FRAME_PAYLOAD_MAX);
		sc_decoder_trim(&d);
		ck_assert_uint_eq(d.partial.cap, 0);
		sc_decoder_clear(&d);
	}
	ck_assert_int_gt(n, 3);
}
END_TEST

START_TEST(headers_that_do_not_fit_are_refused)
{
	static const char *const bad[] = {
		"[]",
		"\"text\"",
		"{}",
		"{\"type\":1}",
		"{\"type\":null}",
		"{\"type\":\"x\",\"id\":\"1\"}",
		"{\"type\":\"x\",\"id\":-1}",
		"{\"type\":\"x\",\"id\":1.0}",
		"{\"type\":\"x\",\"id\":9007199254740992}",
		"{\"type\":\"x\",\"id\":99999999999999999999}",
		"{\"type\":\"x\",\"type\":\"y\"}",
		"{\"type\":\"x\"} ",
		"{\"type\":\"x\"}{}",
		"{\"type\":\"\\u0000\"}",
		"{\"type\":\"\xff\"}",
		"{\"type\":\"x\"",
		"nul",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int want =
			strcmp(bad[i], "{\"type\":\"x\"} ") == 0 ? 0 : SANDCELL_E_PROTOCOL;
		ck_assert_msg(decode_header(bad[i]) == want, "header %s", bad[i]);
	}
}
END_TEST

START_TEST(deep_headers_do_not_overflow_the_stack)
{
	sc_autofree char *deep = sc_malloc(SC_FRAME_HEADER_MAX);

	memset(deep, '[', SC_FRAME_HEADER_MAX - 1);
	deep[SC_FRAME_HEADER_MAX - 1] = '\0';
	ck_assert_int_eq(decode_header(deep), SANDCELL_E_PROTOCOL);
}
END_TEST

START_TEST(a_refusal_of_the_receiver_ends_the_decoding)
{
	sandcell_error *err = NULL;
	sc_autobuf bytes = SC_BUF_INIT(SC_MAX_TEXT);
	sc_decoder d;

	put_three_frames(&bytes);
	sc_decoder_init(&d, refuse, NULL);
	ck_assert_int_eq(
		sc_decoder_feed(&d, bytes.data, bytes.len, &err), SANDCELL_E_CALLBACK);
	ck_assert_int_eq(
		sc_decoder_feed(&d, bytes.data, bytes.len, NULL), SANDCELL_E_CALLBACK);
	sandcell_error_free(err);
	sc_decoder_clear(&d);
}
END_TEST

/* ---- encoding ---- */

/* Collects the content of messages that come back from the decoder. */
typedef struct collector {
	sc_content content;
	size_t frames;
	bool open;
} collector;

static int collect(const sc_frame *frame, void *user, sandcell_error **err_out)
{
	collector *c = user;

	c->frames++;
	if (strcmp(frame->type, "data") == 0) {
		ck_assert(c->open);
		ck_assert_uint_eq(frame->id, 5);
		return sc_content_add(&c->content, frame, err_out);
	}
	ck_assert_str_eq(frame->type, "execute");
	ck_assert(!c->open);
	c->open = true;
	return sc_content_begin(&c->content, frame, SC_CONTENT_MAX, err_out);
}

static int send_and_collect(
	const sc_part *parts, size_t count, collector *c, sandcell_error **err_out)
{
	sc_autojson *header = json_pack("{s:s, s:i}", "type", "execute", "id", 5);
	sc_decoder decoder;
	sc_message message;
	int rc;

	if (!header)
		return sc_fail_nomem(err_out);
	rc = sc_message_init(&message, header, 5, parts, count, err_out);
	if (rc < 0)
		return rc;
	sc_decoder_init(&decoder, collect, c);
	while (rc == 0 && !sc_message_done(&message)) {
		sc_autobuf frame = SC_BUF_INIT(SC_FRAME_MAX);

		rc = sc_message_next(&message, &frame, err_out);
		if (rc == 0)
			rc = sc_decoder_feed(&decoder, frame.data, frame.len, err_out);
	}
	sc_decoder_clear(&decoder);
	return rc;
}

START_TEST(messages_come_back_as_they_were_sent)
{
	static const size_t sizes[][2] = {
		{0, 0},
		{1, 0},
		{0, 1},
		{65535, 1},
		{65536, 0},
		{65536, 1},
		{1, 65536},
		{200000, 300000},
	};
	sc_autofree char *bytes = sc_malloc(300000);

	for (size_t i = 0; i < 300000; i++)
		bytes[i] = (char)(i * 7 + i / 256);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		collector c = {0};
		size_t len = 0;
		const sc_part parts[] = {
			{.name = "code", .data = bytes, .len = sizes[i][0]},
			{.name = "stdin", .data = bytes, .len = sizes[i][1]},
		};
		size_t sum = sizes[i][0] + sizes[i][1];

		ck_assert_int_eq(send_and_collect(parts, 2, &c, NULL), 0);
		ck_assert(sc_content_complete(&c.content));
		ck_assert_uint_eq(c.frames, sum <= 65536 ? 1 : (sum + 65535) / 65536);
		for (size_t p = 0; p < 2; p++) {
			const char *got = sc_content_get(&c.content, parts[p].name, &len);
			ck_assert_ptr_nonnull(got);
			ck_assert_uint_eq(len, parts[p].len);
			ck_assert_mem_eq(got, bytes, len);
			ck_assert_int_eq(got[len], '\0');
		}
		sc_content_clear(&c.content);
	}
}
END_TEST

START_TEST(a_message_without_parts_is_one_frame)
{
	collector c = {0};

	ck_assert_int_eq(send_and_collect(NULL, 0, &c, NULL), 0);
	ck_assert_uint_eq(c.frames, 1);
	ck_assert(sc_content_complete(&c.content));
	ck_assert_ptr_null(sc_content_get(&c.content, "code", NULL));
	sc_content_clear(&c.content);
}
END_TEST

START_TEST(messages_over_the_limits_are_refused)
{
	sc_message message;
	sc_part parts[SC_PARTS_MAX + 1] = {0};
	sc_autojson *header = json_object();
	sc_autofree char *long_text = sc_malloc(SC_FRAME_HEADER_MAX);
	sc_autobuf out = SC_BUF_INIT(SC_FRAME_MAX);

	ck_assert_int_eq(
		sc_message_init(&message, header, 1, parts, SC_PARTS_MAX + 1, NULL),
		SANDCELL_E_LIMIT);
	parts[0] = (sc_part){.name = "a", .len = SC_CONTENT_MAX};
	parts[1] = (sc_part){.name = "b", .len = 1};
	ck_assert_int_eq(sc_message_init(&message, header, 1, parts, 1, NULL), 0);
	ck_assert_int_eq(
		sc_message_init(&message, header, 1, parts, 2, NULL), SANDCELL_E_LIMIT);
	parts[1].len = SIZE_MAX;
	ck_assert_int_eq(
		sc_message_init(&message, header, 1, parts, 2, NULL), SANDCELL_E_LIMIT);

	memset(long_text, 'x', SC_FRAME_HEADER_MAX);
	long_text[SC_FRAME_HEADER_MAX - 1] = '\0';
	json_object_set_new(header, "text", json_string(long_text));
	ck_assert_int_eq(sc_frame_encode(&out, header, NULL, 0, NULL), SANDCELL_E_LIMIT);
}
END_TEST

/* ---- content ---- */

static int begin_content(const char *header, size_t payload_len, size_t max)
{
	static const char bytes[64];
	sc_autojson *json = json_loads(header, 0, NULL);
	const sc_frame frame = {
		.header = json, .type = "x", .payload = bytes, .payload_len = payload_len};
	sc_content content;

	ck_assert_ptr_nonnull(json);
	int rc = sc_content_begin(&content, &frame, max, NULL);
	if (rc == 0) {
		ck_assert_ptr_null(sc_content_at(&content, content.count, NULL, NULL));
		sc_content_clear(&content);
	}
	return rc;
}

START_TEST(hostile_lists_of_parts_are_refused)
{
	static const char *const bad[] = {
		"{\"parts\":7}",
		"{\"parts\":{}}",
		"{\"parts\":[7]}",
		"{\"parts\":[[]]}",
		"{\"parts\":[[\"a\"]]}",
		"{\"parts\":[[1,1]]}",
		"{\"parts\":[[\"a\",-1]]}",
		"{\"parts\":[[\"a\",1.5]]}",
		"{\"parts\":[[\"a\",1001]]}",
		"{\"parts\":[[\"a\",600],[\"b\",600]]}",
		"{\"parts\":[[\"a\",9223372036854775807],[\"b\",9223372036854775807]]}",
		"{\"parts\":[[\"a\",3]]}",
		"{\"parts\":[]}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(begin_content(bad[i], 4, 1000) == SANDCELL_E_PROTOCOL,
			"parts %s", bad[i]);
	ck_assert_int_eq(begin_content("{\"parts\":[[\"a\",4]]}", 4, 1000), 0);
	ck_assert_int_eq(begin_content("{\"parts\":[[\"a\",400]]}", 4, 1000), 0);
	ck_assert_int_eq(begin_content("{\"parts\":[]}", 0, 1000), 0);
	ck_assert_int_eq(begin_content("{}", 4, 1000), 0);
	ck_assert_int_eq(begin_content("{}", 4, 3), SANDCELL_E_PROTOCOL);
}
END_TEST

START_TEST(too_many_parts_are_refused)
{
	sc_autojson *header = json_object();
	json_t *list = json_array();
	const sc_frame frame = {.header = header, .type = "x", .payload = ""};
	sc_content content;

	for (size_t i = 0; i <= SC_PARTS_MAX; i++)
		json_array_append_new(list, json_pack("[si]", "a", 0));
	json_object_set_new(header, "parts", list);
	ck_assert_int_eq(
		sc_content_begin(&content, &frame, 1000, NULL), SANDCELL_E_PROTOCOL);
}
END_TEST

START_TEST(announced_content_takes_no_memory_before_it_comes)
{
	sc_autojson *header = json_pack("{s:[[si]]}", "parts", "a", 60 << 20);
	const sc_frame frame = {
		.header = header, .type = "x", .payload = "abc", .payload_len = 3};
	sc_content content;

	ck_assert_int_eq(sc_content_begin(&content, &frame, SC_CONTENT_MAX, NULL), 0);
	ck_assert_uint_lt(content.data.cap, 4096);
	ck_assert(!sc_content_complete(&content));
	ck_assert_ptr_null(sc_content_get(&content, "a", NULL));
	sc_content_clear(&content);
}
END_TEST

START_TEST(content_in_any_pieces_is_the_same)
{
	static const char bytes[] = "onethree3";
	sc_autojson *header =
		json_pack("{s:[[si][si][si]]}", "parts", "a", 3, "b", 0, "c", 6);

	for (size_t first = 0; first <= 9; first++) {
		sc_frame frame = {.header = header,
			.type = "x",
			.payload = bytes,
			.payload_len = first};
		sc_content content;
		size_t len = 99;

		ck_assert_int_eq(sc_content_begin(&content, &frame, 100, NULL), 0);
		frame.payload = bytes + first;
		frame.payload_len = 9 - first;
		ck_assert_int_eq(sc_content_add(&content, &frame, NULL), 0);
		ck_assert(sc_content_complete(&content));
		ck_assert_str_eq(sc_content_get(&content, "a", NULL), "one");
		ck_assert_str_eq(sc_content_get(&content, "b", &len), "");
		ck_assert_uint_eq(len, 0);
		ck_assert_str_eq(sc_content_get(&content, "c", NULL), "three3");
		frame.payload_len = 1;
		ck_assert_int_eq(
			sc_content_add(&content, &frame, NULL), SANDCELL_E_PROTOCOL);
		sc_content_clear(&content);
	}
}
END_TEST

static int round_trip(sandcell_error **err_out)
{
	static const char bytes[70000];
	const sc_part parts[] = {{.name = "code", .data = bytes, .len = sizeof(bytes)}};
	collector c = {0};
	int rc = send_and_collect(parts, 1, &c, err_out);

	sc_content_clear(&c.content);
	return rc;
}

START_TEST(out_of_memory_is_reported)
{
	unit_chaos(round_trip);
}
END_TEST

UNIT_MAIN("frame", every_split_gives_the_same_frames, single_bytes_give_the_same_frames,
	an_end_inside_a_frame_is_noticed, lengths_are_checked_before_anything_else,
	the_largest_frame_is_accepted, headers_that_do_not_fit_are_refused,
	deep_headers_do_not_overflow_the_stack, a_refusal_of_the_receiver_ends_the_decoding,
	messages_come_back_as_they_were_sent, a_message_without_parts_is_one_frame,
	messages_over_the_limits_are_refused, hostile_lists_of_parts_are_refused,
	too_many_parts_are_refused, announced_content_takes_no_memory_before_it_comes,
	content_in_any_pieces_is_the_same, out_of_memory_is_reported)
