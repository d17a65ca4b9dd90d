/* SPDX-License-Identifier: MIT */
#include "engine/http_head.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/num.h"

#define NOISE_MAX SC_MAX_HEADER_LINE

static int refuse(const char *why, sandcell_error **err_out)
{
	return sc_fail(err_out, SANDCELL_E_PROTOCOL, "reply is not HTTP: %s", why);
}

/* "HTTP/1.1 101 UPGRADED", the reason may be missing. */
static int parse_status_line(
	const char *line, size_t len, struct sc_http_head *head, sandcell_error **err_out)
{
	uint64_t status = 0;

	if (len < 12 || (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
		!sc_parse_u64_n(line + 9, 3, 599, &status) || status < 100 ||
		(len > 12 && line[12] != ' '))
		return refuse("bad status line", err_out);
	head->status = (int)status;
	return 0;
}

static bool is_token(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];
		if (c <= ' ' || c >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", c))
			return false;
	}
	return len > 0;
}

static bool equals(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

static int note_length(
	const char *value, size_t len, struct sc_http_head *head, sandcell_error **err_out)
{
	uint64_t length = 0;

	if (!sc_parse_u64_n(value, len, UINT64_MAX, &length))
		return refuse("bad Content-Length", err_out);
	if (head->has_length && head->length != length)
		return refuse("two different Content-Length", err_out);
	head->has_length = true;
	head->length = length;
	return 0;
}

static int parse_header(
	const char *line, size_t len, struct sc_http_head *head, sandcell_error **err_out)
{
	const char *colon = memchr(line, ':', len);
	const char *end = line + len;
	const char *value = colon ? colon + 1 : NULL;

	if (!colon || !is_token(line, (size_t)(colon - line)))
		return refuse("bad header line", err_out);
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	len = (size_t)(end - value);
	if (equals(line, (size_t)(colon - line), "Content-Length"))
		return note_length(value, len, head, err_out);
	if (!equals(line, (size_t)(colon - line), "Transfer-Encoding") ||
		equals(value, len, "identity"))
		return 0;
	if (!equals(value, len, "chunked") || head->chunked)
		return refuse("unknown Transfer-Encoding", err_out);
	head->chunked = true;
	return 0;
}

/* Refuses early what can't become a reply, so that garbage doesn't wait for a deadline. */
static int check_start(const char *data, size_t len, sandcell_error **err_out)
{
	static const char start[] = "HTTP/1.";
	size_t n = len < sizeof(start) - 1 ? len : sizeof(start) - 1;

	return memcmp(data, start, n) == 0 ? 0 : refuse("no HTTP/1 status line", err_out);
}

static const char *line_end(const char *at, size_t len, int *rc, sandcell_error **err_out)
{
	size_t i = 0;

	for (; i < len; i++) {
		unsigned char c = (unsigned char)at[i];
		if (c == '\r' && i + 1 == len)
			return NULL;
		if (c == '\r' && at[i + 1] == '\n')
			return at + i;
		if ((c < ' ' && c != '\t') || c == 0x7f || i == SC_MAX_HEADER_LINE)
			break;
	}
	if (i < len)
		*rc = refuse("control character or endless line in the head", err_out);
	return NULL;
}

int sc_http_head_parse(
	const char *data, size_t len, struct sc_http_head *head, sandcell_error **err_out)
{
	struct sc_http_head found = {0};
	const char *at = data;
	const char *limit = data + (len < SC_MAX_HTTP_HEAD ? len : SC_MAX_HTTP_HEAD);
	int rc;

	rc = check_start(data, len, err_out);
	if (rc < 0)
		return rc;
	for (;;) {
		const char *end = line_end(at, (size_t)(limit - at), &rc, err_out);
		if (rc < 0)
			return rc;
		if (!end)
			break;
		if (end == at) {
			found.size = (size_t)(end + 2 - data);
			*head = found;
			return 1;
		}
		rc = at == data ? parse_status_line(at, (size_t)(end - at), &found, err_out)
				: parse_header(at, (size_t)(end - at), &found, err_out);
		if (rc < 0)
			return rc;
		at = end + 2;
	}
	if (len >= SC_MAX_HTTP_HEAD)
		return refuse("the head is too long", err_out);
	return 0;
}

static int bad_chunk(sandcell_error **err_out)
{
	return sc_fail(err_out, SANDCELL_E_PROTOCOL, "bad chunked coding in the stream");
}

static int digit_of_size(struct sc_chunked *c, char digit)
{
	uint64_t value = 0;

	if (!sc_parse_hex_n(&digit, 1, 15, &value) || c->digits == 15)
		return -1;
	c->left = c->left << 4 | value;
	c->digits++;
	return 0;
}

static int expect(struct sc_chunked *c, char got, char wanted, enum sc_chunk_state next)
{
	if (got != wanted)
		return -1;
	c->state = next;
	return 0;
}

static int size_byte(struct sc_chunked *c, char byte)
{
	if (c->digits > 0 && (byte == ';' || byte == ' ' || byte == '\t')) {
		c->state = SC_CHUNK_EXTENSION;
		return 0;
	}
	if (c->digits > 0 && byte == '\r') {
		c->state = SC_CHUNK_SIZE_LF;
		return 0;
	}
	return digit_of_size(c, byte);
}

static int skip_to_cr(struct sc_chunked *c, char byte, enum sc_chunk_state next)
{
	if (byte == '\r')
		c->state = next;
	else if (byte == '\n' || ++c->noise > NOISE_MAX)
		return -1;
	return 0;
}

/* One byte outside chunk data. */
static int step(struct sc_chunked *c, char byte)
{
	switch (c->state) {
	case SC_CHUNK_SIZE:
		return size_byte(c, byte);
	case SC_CHUNK_EXTENSION:
		return skip_to_cr(c, byte, SC_CHUNK_SIZE_LF);
	case SC_CHUNK_SIZE_LF:
		return expect(c, byte, '\n', c->left ? SC_CHUNK_DATA : SC_CHUNK_TRAILER);
	case SC_CHUNK_DATA_CR:
		return expect(c, byte, '\r', SC_CHUNK_DATA_LF);
	case SC_CHUNK_DATA_LF:
		c->digits = 0;
		return expect(c, byte, '\n', SC_CHUNK_SIZE);
	case SC_CHUNK_TRAILER:
		c->state = byte == '\r' ? SC_CHUNK_END_LF : SC_CHUNK_TRAILER_LINE;
		return byte == '\n' ? -1 : 0;
	case SC_CHUNK_TRAILER_LINE:
		return skip_to_cr(c, byte, SC_CHUNK_TRAILER_LF);
	case SC_CHUNK_TRAILER_LF:
		return expect(c, byte, '\n', SC_CHUNK_TRAILER);
	case SC_CHUNK_END_LF:
		return expect(c, byte, '\n', SC_CHUNK_END);
	case SC_CHUNK_DATA:
	case SC_CHUNK_END:
		break;
	}
	return -1;
}

int sc_chunked_decode(struct sc_chunked *c, char *data, size_t len, size_t *len_out,
	sandcell_error **err_out)
{
	size_t used = 0;
	size_t made = 0;

	while (used < len && c->state != SC_CHUNK_END) {
		if (c->state != SC_CHUNK_DATA) {
			if (step(c, data[used++]) < 0)
				return bad_chunk(err_out);
			continue;
		}
		size_t n = len - used < c->left ? len - used : (size_t)c->left;
		memmove(data + made, data + used, n);
		made += n;
		used += n;
		c->left -= n;
		if (c->left == 0)
			c->state = SC_CHUNK_DATA_CR;
	}
	*len_out = made;
	return c->state == SC_CHUNK_END;
}
