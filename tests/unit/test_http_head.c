/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/buf.h"
#include "engine/http_head.h"
#include "unit.h"

static const char good[] = "HTTP/1.1 101 UPGRADED\r\n"
			   "Content-Type: application/vnd.docker.raw-stream\r\n"
			   "Connection: Upgrade\r\n"
			   "content-LENGTH:\t 12 \r\n"
			   "X-Empty:\r\n"
			   "\r\n"
			   "\x01\0\0\0";
#define GOOD_LEN (sizeof(good) - 1)

static int parse(const char *text, struct sc_http_head *head)
{
	return sc_http_head_parse(text, strlen(text), head, NULL);
}

START_TEST(a_head_is_read_up_to_its_blank_line)
{
	struct sc_http_head head = {0};

	ck_assert_int_eq(sc_http_head_parse(good, GOOD_LEN, &head, NULL), 1);
	ck_assert_int_eq(head.status, 101);
	ck_assert(head.has_length && head.length == 12 && !head.chunked);
	ck_assert_uint_eq(head.size, GOOD_LEN - 4);
}
END_TEST

START_TEST(every_shorter_part_asks_for_more)
{
	struct sc_http_head head = {.status = -1};

	for (size_t len = 0; len < GOOD_LEN - 4; len++)
		ck_assert_int_eq(sc_http_head_parse(good, len, &head, NULL), 0);
	ck_assert_int_eq(head.status, -1);
}
END_TEST

START_TEST(odd_but_legal_heads_are_taken)
{
	struct sc_http_head head = {0};

	ck_assert_int_eq(parse("HTTP/1.0 200\r\n\r\n", &head), 1);
	ck_assert_int_eq(head.status, 200);
	ck_assert_int_eq(
		parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", &head), 1);
	ck_assert(head.chunked && !head.has_length);
	ck_assert_int_eq(
		parse("HTTP/1.1 404 \r\nTransfer-Encoding: identity\r\n\r\n", &head), 1);
	ck_assert(!head.chunked);
	ck_assert_int_eq(parse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
			       "Content-Length: 3\r\n\r\n",
				 &head),
		1);
	ck_assert_int_eq(parse("HTTP/1.1 200 \xc3\xa4\r\nA: \xff\r\n\r\n", &head), 1);
}
END_TEST

START_TEST(what_is_no_head_is_refused_at_once)
{
	static const char *const bad[] = {
		"x",
		"HTTP/2 200 OK\r\n",
		"HTTP/1.2 200 OK\r\n",
		"HTTP/1.1  200 OK\r\n",
		"HTTP/1.1 20 OK\r\n",
		"HTTP/1.1 2000 OK\r\n",
		"HTTP/1.1 099 OK\r\n",
		"HTTP/1.1 600 OK\r\n",
		"HTTP/1.1 +20 OK\r\n",
		"HTTP/1.1 200OK\r\n",
		"HTTP/1.1 200 O\x01K\r\n",
		"HTTP/1.1 200 OK\nA: b",
		"HTTP/1.1 200 OK\rA",
		"HTTP/1.1 200 OK\r\nno colon\r\n",
		"HTTP/1.1 200 OK\r\n: no name\r\n",
		"HTTP/1.1 200 OK\r\nA : blank before colon\r\n",
		"HTTP/1.1 200 OK\r\n folded: line\r\n",
		"HTTP/1.1 200 OK\r\nA: \x7f\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: \r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
		"Transfer-Encoding: chunked\r\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sc_http_head head = {.status = -1};
		ck_assert_msg(parse(bad[i], &head) == SANDCELL_E_PROTOCOL, "%s", bad[i]);
		ck_assert_int_eq(head.status, -1);
	}
}
END_TEST

START_TEST(endless_heads_are_refused)
{
	sc_autobuf text = SC_BUF_INIT(2 * SC_MAX_HTTP_HEAD);
	struct sc_http_head head = {0};

	(void)sc_buf_puts(&text, "HTTP/1.1 200 OK\r\nA: ");
	while (text.len < SC_MAX_HEADER_LINE + 100)
		(void)sc_buf_putc(&text, 'x');
	ck_assert_int_eq(
		sc_http_head_parse(text.data, text.len, &head, NULL), SANDCELL_E_PROTOCOL);
	sc_buf_reset(&text);
	(void)sc_buf_puts(&text, "HTTP/1.1 200 OK\r\n");
	while (text.len < SC_MAX_HTTP_HEAD - 8)
		(void)sc_buf_puts(&text, "A: bcd\r\n");
	ck_assert_int_eq(sc_http_head_parse(text.data, text.len, &head, NULL), 0);
	while (text.len < SC_MAX_HTTP_HEAD)
		(void)sc_buf_puts(&text, "A: bcd\r\n");
	(void)sc_buf_puts(&text, "\r\n");
	ck_assert_int_eq(
		sc_http_head_parse(text.data, text.len, &head, NULL), SANDCELL_E_PROTOCOL);
}
END_TEST

/* ---- chunked coding ---- */

static const char chunks[] = "5\r\nhello\r\n"
			     "001;name=\"v\"\r\n,\r\n"
			     "A \r\n0123456789\r\n"
			     "0\r\nTrailer: x\r\n\r\n";
#define CHUNKS_LEN (sizeof(chunks) - 1)

START_TEST(chunks_are_decoded_at_every_split)
{
	for (size_t at = 0; at <= CHUNKS_LEN; at++) {
		char data[sizeof(chunks)];
		char out[sizeof(chunks)] = "";
		struct sc_chunked chunked = {0};
		size_t n = 0;
		size_t m = 0;
		memcpy(data, chunks, sizeof(chunks));
		int rc = sc_chunked_decode(&chunked, data, at, &n, NULL);
		ck_assert_int_eq(rc, at == CHUNKS_LEN);
		memcpy(out, data, n);
		rc = sc_chunked_decode(&chunked, data + at, CHUNKS_LEN - at, &m, NULL);
		ck_assert_int_eq(rc, 1);
		memcpy(out + n, data + at, m);
		out[n + m] = '\0';
		ck_assert_str_eq(out, "hello,0123456789");
	}
}
END_TEST

START_TEST(what_follows_the_last_chunk_is_dropped)
{
	char data[] = "1\r\nx\r\n0\r\n\r\nHTTP/1.1 200 OK";
	struct sc_chunked chunked = {0};
	size_t n = 0;

	ck_assert_int_eq(sc_chunked_decode(&chunked, data, strlen(data), &n, NULL), 1);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(sc_chunked_decode(&chunked, data, 3, &n, NULL), 1);
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(bad_chunks_are_refused)
{
	static const char *const bad[] = {
		"\r\n",
		"g\r\n",
		"-1\r\n",
		"0x1\r\n",
		";\r\n",
		"1\nx",
		"1\r\nxy",
		"1\r\nx\n",
		"1\r\nx\r\r",
		"1\rx",
		"1000000000000000\r\n",
		"0\r\n\n",
		"0\r\nA: b\n",
		"1;a\nx",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sc_chunked chunked = {0};
		char data[32];
		size_t n = 0;
		size_t len = strlen(bad[i]);
		memcpy(data, bad[i], len);
		ck_assert_msg(sc_chunked_decode(&chunked, data, len, &n, NULL) ==
				      SANDCELL_E_PROTOCOL,
			"%s", bad[i]);
	}
}
END_TEST

START_TEST(endless_extensions_are_refused)
{
	struct sc_chunked chunked = {0};
	char data[1024];
	size_t n = 0;
	int rc = 0;

	memcpy(data, "1;", 2);
	rc = sc_chunked_decode(&chunked, data, 2, &n, NULL);
	for (size_t i = 0; i < 1000 && rc == 0; i++) {
		memset(data, 'x', sizeof(data));
		rc = sc_chunked_decode(&chunked, data, sizeof(data), &n, NULL);
	}
	ck_assert_int_eq(rc, SANDCELL_E_PROTOCOL);
}
END_TEST

UNIT_MAIN("http_head", a_head_is_read_up_to_its_blank_line,
	every_shorter_part_asks_for_more, odd_but_legal_heads_are_taken,
	what_is_no_head_is_refused_at_once, endless_heads_are_refused,
	chunks_are_decoded_at_every_split, what_follows_the_last_chunk_is_dropped,
	bad_chunks_are_refused, endless_extensions_are_refused)
