/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include <string.h>

#define ESC 0x1b

struct piece {
	unsigned char *data;
	size_t len;
};

/* What the judges answer besides the number of bytes that may pass as they are. */
#define INCOMPLETE 0	/* more bytes decide */
#define SHOW	   (-1) /* the first byte is shown, the rest is looked at again */

static void put(struct piece *out, const void *data, size_t len)
{
	memcpy(out->data + out->len, data, len);
	out->len += len;
}

/* ESC [ digits and separators m */
static int judge_escape(const unsigned char *data, size_t len)
{
	if (len == 1)
		return INCOMPLETE;
	if (data[1] != '[')
		return SHOW;
	for (size_t i = 2; i < len; i++) {
		if (data[i] == 'm')
			return (int)i + 1;
		if (!(data[i] >= '0' && data[i] <= ';'))
			return SHOW;
	}
	return len < TERMINAL_PENDING_MAX ? INCOMPLETE : SHOW;
}

/* Length of the sequence that lead begins, 0 when none begins so. */
static size_t utf8_length(unsigned char lead)
{
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/* Neither overlong, nor a surrogate, nor past U+10FFFF, nor a C1 control (U+0080-U+009F,
 * which xterm obeys). */
static int utf8_second_fits(unsigned char lead, unsigned char second)
{
	static const struct {
		unsigned char lead, min, max;
	} narrow[] = {
		{0xc2, 0xa0, 0xbf},
		{0xe0, 0xa0, 0xbf},
		{0xed, 0x80, 0x9f},
		{0xf0, 0x90, 0xbf},
		{0xf4, 0x80, 0x8f},
	};

	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
		if (narrow[i].lead == lead)
			return second >= narrow[i].min && second <= narrow[i].max;
	}
	return (second & 0xc0) == 0x80;
}

static int judge_utf8(const unsigned char *data, size_t len)
{
	size_t want = utf8_length(data[0]);

	if (want == 0 || (len > 1 && !utf8_second_fits(data[0], data[1])))
		return SHOW;
	for (size_t i = 2; i < len && i < want; i++) {
		if ((data[i] & 0xc0) != 0x80)
			return SHOW;
	}
	return len < want ? INCOMPLETE : (int)want;
}

static int judge(const unsigned char *data, size_t len)
{
	if (data[0] == ESC)
		return judge_escape(data, len);
	if (data[0] >= 0x80)
		return judge_utf8(data, len);
	if (data[0] >= 0x20)
		return data[0] == 0x7f ? SHOW : 1;
	return data[0] && strchr("\n\r\t\b", data[0]) ? 1 : SHOW;
}

static void show(unsigned char byte, struct piece *out)
{
	const unsigned char caret[2] = {'^', byte ^ 0x40};

	if (byte < 0x80)
		put(out, caret, sizeof(caret));
	else
		put(out, "\xef\xbf\xbd", 3);
}

/* Settles as much of the pending bytes as can be; at the end, all of them. */
static void settle(struct terminal_filter *filter, struct piece *out, int end)
{
	while (filter->len > 0) {
		int pass = judge(filter->pending, filter->len);
		size_t used = pass > 0 ? (size_t)pass : 1;

		if (pass == INCOMPLETE && !end)
			return;
		if (pass > 0) {
			put(out, filter->pending, used);
			filter->coloured |= filter->pending[0] == ESC;
		} else {
			show(filter->pending[0], out);
		}
		filter->len -= used;
		memmove(filter->pending, filter->pending + used, filter->len);
	}
}

/* A run of plain text needs no judging byte by byte. */
static size_t plain_run(const unsigned char *data, size_t len)
{
	size_t run = 0;

	while (run < len && ((data[run] >= 0x20 && data[run] < 0x7f) || data[run] == '\n'))
		run++;
	return run;
}

void terminal_clean(struct terminal_filter *filter, const unsigned char **data, size_t *len,
	unsigned char *out, size_t *out_len, size_t out_max)
{
	struct piece piece = {out, *out_len};

	while (*len > 0 && out_max - piece.len >= TERMINAL_ROOM) {
		size_t run = 0;

		if (filter->len == 0) {
			run = plain_run(*data, *len);
			if (run > out_max - piece.len)
				run = out_max - piece.len;
			put(&piece, *data, run);
		}
		if (run == 0) {
			filter->pending[filter->len++] = **data;
			settle(filter, &piece, 0);
			run = 1;
		}
		*data += run;
		*len -= run;
	}
	*out_len = piece.len;
}

void terminal_end(
	struct terminal_filter *filter, unsigned char *out, size_t *out_len, size_t out_max)
{
	struct piece piece = {out, *out_len};

	if (out_max - piece.len < TERMINAL_ROOM + 4)
		return;
	settle(filter, &piece, 1);
	if (filter->coloured)
		put(&piece, "\x1b[0m", 4);
	filter->coloured = 0;
	*out_len = piece.len;
}

void terminal_one_line(char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		int pass = (unsigned char)*text < 0x20 ? SHOW
						       : judge((unsigned char *)text, len);
		size_t used = pass > 0 ? (size_t)pass : 1;

		if (pass <= 0)
			*text = '?';
		text += used;
		len -= used;
	}
}
