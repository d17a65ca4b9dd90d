/* SPDX-License-Identifier: MIT */
/*
 * The head of a reply and the chunked body behind it.  A head once accepted is accepted
 * again when written out anew, and no shorter part of it was taken for whole or refused;
 * chunks decode to the same bytes at every split, and never to more than came.
 */
#include <string.h>

#include "base/buf.h"
#include "engine/http_head.h"
#include "fuzz.h"

#define BODY_MAX ((size_t)1 << 20)

static void check_prefixes(const char *text, const struct sc_http_head *head)
{
	size_t step = head->size > 256 ? head->size / 64 : 1;

	for (size_t len = 0; len < head->size; len += step) {
		struct sc_http_head part;
		FUZZ_CHECK(sc_http_head_parse(text, len, &part, NULL) == 0);
	}
}

static void check_written_anew(const struct sc_http_head *head)
{
	struct sc_http_head again;
	char text[256];
	int n = snprintf(text, sizeof(text), "HTTP/1.1 %03d x\r\n", head->status);

	if (head->has_length)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			"Content-Length: %llu\r\n", (unsigned long long)head->length);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s\r\n",
		head->chunked ? "Transfer-Encoding: chunked\r\n" : "");
	FUZZ_CHECK(sc_http_head_parse(text, (size_t)n, &again, NULL) == 1);
	FUZZ_CHECK(again.size == (size_t)n && again.status == head->status &&
		   again.chunked == head->chunked && again.has_length == head->has_length &&
		   again.length == head->length);
}

static int decode(const char *data, size_t size, size_t piece, sc_buf *out)
{
	struct sc_chunked chunked = {0};
	char copy[64];
	int rc = 0;

	for (size_t at = 0; at < size && rc == 0; at += piece) {
		size_t len = size - at < piece ? size - at : piece;
		size_t made = 0;
		memcpy(copy, data + at, len);
		rc = sc_chunked_decode(&chunked, copy, len, &made, NULL);
		if (rc < 0)
			break;
		FUZZ_CHECK(made <= len);
		(void)sc_buf_append(out, copy, made);
	}
	return rc;
}

static void check_chunks(const char *data, size_t size)
{
	sc_autobuf bytes = SC_BUF_INIT(BODY_MAX);
	sc_autobuf pieces = SC_BUF_INIT(BODY_MAX);
	int rc = decode(data, size, 1, &bytes);
	size_t piece = size > 0 ? 2 + (unsigned char)data[size - 1] % 62 : 2;

	FUZZ_CHECK(decode(data, size, piece, &pieces) == rc);
	if (rc < 0)
		return; /* how far it came before it failed is up to the split */
	FUZZ_CHECK(bytes.len == pieces.len);
	FUZZ_CHECK(memcmp(sc_buf_text(&bytes), sc_buf_text(&pieces), bytes.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct sc_http_head head = {.status = -1};

	if (size == 0 || size > BODY_MAX / 2)
		return 0;
	int rc = sc_http_head_parse(text, size, &head, NULL);
	if (rc <= 0) {
		FUZZ_CHECK(head.status == -1);
		FUZZ_CHECK(rc < 0 || size < SC_MAX_HTTP_HEAD);
		check_chunks(text, size);
		return 0;
	}
	FUZZ_CHECK(rc == 1 && head.size <= size && head.size <= SC_MAX_HTTP_HEAD);
	FUZZ_CHECK(head.status >= 100 && head.status <= 599);
	FUZZ_CHECK(memcmp(text + head.size - 4, "\r\n\r\n", 4) == 0);
	check_prefixes(text, &head);
	check_written_anew(&head);
	check_chunks(text + head.size, size - head.size);
	return 0;
}
