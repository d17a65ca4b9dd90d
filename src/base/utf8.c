/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* What the first byte promises: the length, and the range of the second byte. */
static size_t promised(unsigned char first, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef) {
		if (first == 0xe0)
			*low = 0xa0;
		if (first == 0xed)
			*high = 0x9f;
		return 3;
	}
	if (first >= 0xf0 && first <= 0xf4) {
		if (first == 0xf0)
			*low = 0x90;
		if (first == 0xf4)
			*high = 0x8f;
		return 4;
	}
	return 0;
}

size_t sc_utf8_next(const char *data, size_t len, bool *valid)
{
	const unsigned char *at = (const unsigned char *)data;
	unsigned char low = 0;
	unsigned char high = 0;
	size_t want = promised(at[0], &low, &high);
	size_t have = 1;

	*valid = false;
	if (want == 0)
		return 1;
	while (have < want && have < len && at[have] >= low && at[have] <= high) {
		have++;
		low = 0x80;
		high = 0xbf;
	}
	*valid = have == want;
	return have;
}

size_t sc_utf8_check(const char *data, size_t len)
{
	size_t at = 0;

	while (at < len) {
		bool valid = false;
		size_t n = sc_utf8_next(data + at, len - at, &valid);
		if (!valid)
			break;
		at += n;
	}
	return at;
}

int sc_utf8_put(sc_buf *buf, const char *data, size_t len)
{
	while (len > 0 && buf->rc == 0) {
		size_t good = sc_utf8_check(data, len);
		bool valid = true;

		(void)sc_buf_append(buf, data, good);
		data += good;
		len -= good;
		if (len == 0)
			break;
		size_t bad = sc_utf8_next(data, len, &valid);
		(void)sc_buf_puts(buf, REPLACEMENT);
		data += bad;
		len -= bad;
	}
	return buf->rc;
}

/* Bytes that stand for themselves in a JSON string, from data on. */
static size_t plain_run(const char *data, size_t len)
{
	size_t n = 0;

	while (n < len && (unsigned char)data[n] >= 0x20 && (unsigned char)data[n] < 0x7f &&
		data[n] != '"' && data[n] != '\\')
		n++;
	return n;
}

static void put_ascii(sc_buf *buf, unsigned char c)
{
	switch (c) {
	case '"':
		(void)sc_buf_puts(buf, "\\\"");
		break;
	case '\\':
		(void)sc_buf_puts(buf, "\\\\");
		break;
	case '\n':
		(void)sc_buf_puts(buf, "\\n");
		break;
	default:
		(void)sc_buf_printf(buf, "\\u%04x", c);
	}
}

int sc_utf8_put_json(sc_buf *buf, const char *data, size_t len)
{
	(void)sc_buf_putc(buf, '"');
	while (len > 0 && buf->rc == 0) {
		size_t n = plain_run(data, len);
		bool valid = true;

		if (n > 0) {
			(void)sc_buf_append(buf, data, n);
		} else if ((unsigned char)data[0] < 0x80) {
			put_ascii(buf, (unsigned char)data[0]);
			n = 1;
		} else {
			n = sc_utf8_next(data, len, &valid);
			(void)sc_buf_append(buf, valid ? data : REPLACEMENT, valid ? n : 3);
		}
		data += n;
		len -= n;
	}
	return sc_buf_putc(buf, '"');
}
