/* SPDX-License-Identifier: MIT */
#include "session/frame.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

static void put_be32(unsigned char *at, size_t value)
{
	at[0] = (unsigned char)(value >> 24);
	at[1] = (unsigned char)(value >> 16);
	at[2] = (unsigned char)(value >> 8);
	at[3] = (unsigned char)value;
}

static size_t get_be32(const unsigned char *at)
{
	return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* Appends prefix and header of a frame whose payload will be payload_len bytes long. */
static int put_header(
	sc_buf *out, const json_t *header, size_t payload_len, sandcell_error **err_out)
{
	unsigned char prefix[SC_FRAME_PREFIX] = {0};
	size_t start = out->len;
	size_t header_len = 0;
	int rc;

	rc = sc_buf_append(out, prefix, sizeof(prefix));
	if (rc < 0)
		return sc_buf_check(out, err_out, "outgoing frame");
	rc = sc_json_dump(header, out, err_out);
	if (rc < 0)
		return rc;
	header_len = out->len - start - sizeof(prefix);
	if (header_len > SC_FRAME_HEADER_MAX)
		return sc_fail(err_out, SANDCELL_E_LIMIT,
			"options of the call take %zu bytes, at most %zu are possible",
			header_len, SC_FRAME_HEADER_MAX);
	put_be32((unsigned char *)out->data + start, header_len);
	put_be32((unsigned char *)out->data + start + 4, payload_len);
	return 0;
}

int sc_frame_encode(sc_buf *out, const json_t *header, const void *payload,
	size_t payload_len, sandcell_error **err_out)
{
	int rc;

	if (payload_len > SC_FRAME_PAYLOAD_MAX)
		return sc_fail(err_out, SANDCELL_E_LIMIT,
			"a payload of %zu bytes does not fit into a frame", payload_len);
	rc = put_header(out, header, payload_len, err_out);
	if (rc < 0)
		return rc;
	(void)sc_buf_append(out, payload, payload_len);
	return sc_buf_check(out, err_out, "outgoing frame");
}

int sc_message_init(sc_message *message, const json_t *header, uint64_t id,
	const sc_part *parts, size_t count, sandcell_error **err_out)
{
	size_t sum = 0;

	if (count > SC_PARTS_MAX)
		return sc_fail(err_out, SANDCELL_E_LIMIT,
			"%zu parts in one message, at most %zu are possible", count,
			SC_PARTS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (__builtin_add_overflow(sum, parts[i].len, &sum) || sum > SC_CONTENT_MAX)
			return sc_fail(err_out, SANDCELL_E_LIMIT,
				"'%s' makes the call longer than %zu bytes", parts[i].name,
				SC_CONTENT_MAX);
	}
	*message = (sc_message){
		.header = header,
		.parts = parts,
		.count = count,
		.id = id,
		.left = sum,
	};
	return 0;
}

bool sc_message_done(const sc_message *message)
{
	return message->started && message->left == 0;
}

/* The caller's header with the list of parts added. */
static json_t *header_with_parts(const sc_message *message)
{
	json_t *header = json_copy((json_t *)message->header);
	sc_autojson *list = json_array();

	for (size_t i = 0; i < message->count; i++) {
		json_t *entry = json_pack(
			"[sI]", message->parts[i].name, (json_int_t)message->parts[i].len);
		if (json_array_append_new(list, entry) < 0)
			goto nomem;
	}
	if (message->count > 0 &&
		json_object_set_new(header, "parts", SANDCELL_TAKE(list)) < 0)
		goto nomem;
	return header;

nomem:
	json_decref(header);
	return NULL;
}

static json_t *message_header(const sc_message *message)
{
	if (message->started)
		return json_pack(
			"{s:s, s:I}", "type", "data", "id", (json_int_t)message->id);
	return header_with_parts(message);
}

/* Appends the next len bytes of the parts, across their borders. */
static void put_payload(sc_message *message, sc_buf *out, size_t len)
{
	while (len > 0) {
		const sc_part *part = &message->parts[message->part];
		size_t piece = part->len - message->byte;

		if (piece > len)
			piece = len;
		if (piece > 0)
			(void)sc_buf_append(
				out, (const char *)part->data + message->byte, piece);
		message->byte += piece;
		message->left -= piece;
		len -= piece;
		if (message->byte == part->len) {
			message->part++;
			message->byte = 0;
		}
	}
}

int sc_message_next(sc_message *message, sc_buf *out, sandcell_error **err_out)
{
	sc_autojson *header = NULL;
	size_t len = message->left;
	int rc;

	if (sc_message_done(message))
		return 0;
	header = message_header(message);
	if (!header)
		return sc_fail_nomem(err_out);
	if (len > SC_FRAME_PAYLOAD_MAX)
		len = SC_FRAME_PAYLOAD_MAX;
	rc = put_header(out, header, len, err_out);
	if (rc < 0)
		return rc;
	put_payload(message, out, len);
	message->started = true;
	return sc_buf_check(out, err_out, "outgoing frame");
}

void sc_decoder_init(sc_decoder *decoder, sc_frame_fn fn, void *user)
{
	*decoder = (sc_decoder){
		.fn = fn,
		.user = user,
		.partial = SC_BUF_INIT(SC_FRAME_MAX),
	};
}

void sc_decoder_clear(sc_decoder *decoder)
{
	sc_buf_clear(&decoder->partial);
}

void sc_decoder_trim(sc_decoder *decoder)
{
	if (decoder->partial.len == 0)
		sc_buf_clear(&decoder->partial);
}

/* Length of the frame that begins at data, prefix included; 8 while that is unknown. */
static int frame_length(const void *data, size_t len, size_t *out, sandcell_error **err_out)
{
	const unsigned char *at = data;

	*out = SC_FRAME_PREFIX;
	if (len < SC_FRAME_PREFIX)
		return 0;
	size_t header_len = get_be32(at);
	size_t payload_len = get_be32(at + 4);
	if (header_len < SC_FRAME_HEADER_MIN || header_len > SC_FRAME_HEADER_MAX)
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"frame from the container: header of %zu bytes", header_len);
	if (payload_len > SC_FRAME_PAYLOAD_MAX)
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"frame from the container: payload of %zu bytes", payload_len);
	*out += header_len + payload_len;
	return 0;
}

static int read_id(const json_t *header, uint64_t *out, sandcell_error **err_out)
{
	const json_t *id = json_object_get(header, "id");
	json_int_t value = json_integer_value(id);

	*out = SC_FRAME_NO_ID;
	if (!id)
		return 0;
	if (!json_is_integer(id) || value < 0 || (uint64_t)value > SC_FRAME_ID_MAX)
		return sc_fail(
			err_out, SANDCELL_E_PROTOCOL, "frame from the container: bad id");
	*out = (uint64_t)value;
	return 0;
}

/* Hands on the whole frame at data. */
static int deliver(sc_decoder *decoder, const char *data, sandcell_error **err_out)
{
	size_t header_len = get_be32((const unsigned char *)data);
	size_t payload_len = get_be32((const unsigned char *)data + 4);
	const char *text = data + SC_FRAME_PREFIX;
	sc_autojson *header = NULL;
	int rc;

	rc = sc_json_parse(
		text, header_len, "frame header from the container", &header, err_out);
	if (rc < 0)
		return rc;
	sc_frame frame = {
		.header = header,
		.type = sc_json_get_str(header, "type", NULL),
		.payload = text + header_len,
		.payload_len = payload_len,
	};
	if (!frame.type)
		return sc_fail(
			err_out, SANDCELL_E_PROTOCOL, "frame from the container: no type");
	rc = read_id(header, &frame.id, err_out);
	if (rc < 0)
		return rc;
	return decoder->fn(&frame, decoder->user, err_out);
}

/* Completes the frame that began in an earlier piece; *used_out bytes of data went into it.
 */
static int feed_partial(sc_decoder *decoder, const char *data, size_t len, size_t *used_out,
	sandcell_error **err_out)
{
	sc_buf *partial = &decoder->partial;
	size_t want = 0;
	int rc;

	rc = frame_length(partial->data, partial->len, &want, err_out);
	if (rc < 0)
		return rc;
	size_t take = want - partial->len;
	if (take > len)
		take = len;
	rc = sc_buf_append(partial, data, take);
	if (rc < 0)
		return sc_buf_check(partial, err_out, "frame from the container");
	*used_out = take;
	rc = frame_length(partial->data, partial->len, &want, err_out);
	if (rc < 0 || partial->len < want)
		return rc;
	rc = deliver(decoder, partial->data, err_out);
	sc_buf_reset(partial);
	return rc;
}

/* Decodes from data itself while whole frames are there; keeps the beginning of the next.
 */
static int feed_whole(sc_decoder *decoder, const char *data, size_t len, size_t *used_out,
	sandcell_error **err_out)
{
	size_t want = 0;
	int rc;

	rc = frame_length(data, len, &want, err_out);
	if (rc < 0)
		return rc;
	if (want <= len) {
		*used_out = want;
		return deliver(decoder, data, err_out);
	}
	*used_out = len;
	(void)sc_buf_reserve(&decoder->partial, want);
	(void)sc_buf_append(&decoder->partial, data, len);
	return sc_buf_check(&decoder->partial, err_out, "frame from the container");
}

int sc_decoder_feed(
	sc_decoder *decoder, const void *data, size_t len, sandcell_error **err_out)
{
	const char *at = data;

	while (len > 0 && decoder->rc == 0) {
		size_t used = 0;

		decoder->rc = decoder->partial.len > 0
				      ? feed_partial(decoder, at, len, &used, err_out)
				      : feed_whole(decoder, at, len, &used, err_out);
		at += used;
		len -= used;
	}
	return decoder->rc;
}

int sc_decoder_end(sc_decoder *decoder, sandcell_error **err_out)
{
	if (decoder->rc == 0 && decoder->partial.len > 0)
		decoder->rc = sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"the container's stream ended inside a frame");
	return decoder->rc;
}
