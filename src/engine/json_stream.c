/* SPDX-License-Identifier: MIT */
#include "engine/json_stream.h"

#include <string.h>

void sc_json_stream_init(sc_json_stream *stream, sc_json_stream_fn fn, void *user)
{
	*stream = (sc_json_stream){
		.fn = fn,
		.user = user,
		.object = SC_BUF_INIT(SC_MAX_TEXT),
	};
}

void sc_json_stream_clear(sc_json_stream *stream)
{
	sc_buf_clear(&stream->object);
}

/* Follows strings and braces only; whether it is JSON is for the parser to say. */
static bool ends_object(sc_json_stream *s, char c)
{
	if (s->in_string) {
		bool closes = c == '"' && !s->escaped;
		s->escaped = c == '\\' && !s->escaped;
		s->in_string = !closes;
		return false;
	}
	if (c == '"')
		s->in_string = true;
	else if (c == '{' || c == '[')
		s->depth++;
	else if (c == '}' || c == ']')
		return --s->depth == 0;
	return false;
}

static int hand_over(sc_json_stream *stream, sandcell_error **err_out)
{
	sc_autojson *value = NULL;
	int rc;

	rc = sc_buf_check(&stream->object, err_out, "object in the engine's reply");
	if (rc < 0)
		return rc;
	rc = sc_json_parse(sc_buf_text(&stream->object), stream->object.len, "engine reply",
		&value, err_out);
	if (rc < 0)
		return rc;
	sc_buf_reset(&stream->object);
	return stream->fn(value, stream->user);
}

static int check_between(char c, sandcell_error **err_out)
{
	if (strchr(" \t\r\n\x1e", c) && c)
		return 0;
	return sc_fail(err_out, SANDCELL_E_PROTOCOL,
		"engine reply: byte 0x%02x where an object was expected", (unsigned char)c);
}

int sc_json_stream_feed(
	sc_json_stream *stream, const char *data, size_t len, sandcell_error **err_out)
{
	size_t from = 0;
	int rc;

	for (size_t i = 0; i < len; i++) {
		if (stream->depth == 0 && data[i] != '{') {
			rc = check_between(data[i], err_out);
			if (rc < 0)
				return rc;
			from = i + 1;
			continue;
		}
		if (!ends_object(stream, data[i]))
			continue;
		(void)sc_buf_append(&stream->object, data + from, i + 1 - from);
		from = i + 1;
		rc = hand_over(stream, err_out);
		if (rc < 0)
			return rc;
	}
	(void)sc_buf_append(&stream->object, data + from, len - from);
	return sc_buf_check(&stream->object, err_out, "object in the engine's reply");
}

int sc_json_stream_end(const sc_json_stream *stream, sandcell_error **err_out)
{
	if (stream->depth == 0)
		return 0;
	return sc_fail(err_out, SANDCELL_E_PROTOCOL,
		"the engine's reply was closed inside an object");
}
