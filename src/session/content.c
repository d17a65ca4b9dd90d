/* SPDX-License-Identifier: MIT */
#include "session/frame.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

static int bad_parts(sandcell_error **err_out, const char *why)
{
	return sc_fail(err_out, SANDCELL_E_PROTOCOL, "frame from the container: %s", why);
}

/* Reads one `[name, length]`; *sum is what all parts so far need, their NULs included. */
static int read_part(const json_t *entry, sc_content_part *part, size_t max, size_t *sum,
	sandcell_error **err_out)
{
	const char *name = json_string_value(json_array_get(entry, 0));
	const json_t *length = json_array_get(entry, 1);
	json_int_t value = json_integer_value(length);

	if (!name || !json_is_integer(length) || value < 0)
		return bad_parts(err_out, "malformed list of parts");
	if ((uint64_t)value > max)
		return bad_parts(err_out, "parts are too large");
	part->name = sc_strdup(name);
	if (!part->name)
		return sc_fail_nomem(err_out);
	part->offset = *sum;
	part->len = (size_t)value;
	*sum += part->len + 1;
	return 0;
}

static int read_parts(
	sc_content *content, const json_t *list, size_t max, sandcell_error **err_out)
{
	size_t count = json_array_size(list);
	size_t sum = 0;
	int rc;

	if (!json_is_array(list) || count > SC_PARTS_MAX)
		return bad_parts(err_out, "malformed list of parts");
	content->parts = sc_calloc(count ? count : 1, sizeof(*content->parts));
	if (!content->parts)
		return sc_fail_nomem(err_out);
	for (size_t i = 0; i < count; i++) {
		rc = read_part(
			json_array_get(list, i), &content->parts[i], max, &sum, err_out);
		content->count = i + 1;
		if (rc < 0)
			return rc;
		content->left += content->parts[i].len;
		max -= content->parts[i].len;
	}
	content->data = (sc_buf)SC_BUF_INIT(sum);
	return 0;
}

/* Appends bytes to the part being filled and goes on to the next one when it is full. */
static int fill(sc_content *content, const char *data, size_t len, sandcell_error **err_out)
{
	if (len > content->left)
		return bad_parts(err_out, "more content than announced");
	content->left -= len;
	while (content->filling < content->count) {
		const sc_content_part *part = &content->parts[content->filling];
		size_t piece = part->offset + part->len - content->data.len;

		if (piece > len)
			piece = len;
		(void)sc_buf_append(&content->data, data, piece);
		data += piece;
		len -= piece;
		if (content->data.len < part->offset + part->len)
			break;
		(void)sc_buf_putc(&content->data, '\0');
		content->filling++;
		if (content->data.rc < 0)
			break;
	}
	return sc_buf_check(&content->data, err_out, "content of a frame");
}

int sc_content_begin(
	sc_content *content, const sc_frame *frame, size_t max, sandcell_error **err_out)
{
	const json_t *list = json_object_get(frame->header, "parts");
	sc_autojson *whole = NULL;
	int rc;

	*content = (sc_content){0};
	if (!list) {
		whole = json_pack("[[sI]]", "", (json_int_t)frame->payload_len);
		if (!whole)
			return sc_fail_nomem(err_out);
		list = whole;
	}
	rc = read_parts(content, list, max, err_out);
	if (rc == 0)
		rc = fill(content, frame->payload, frame->payload_len, err_out);
	if (rc < 0)
		sc_content_clear(content);
	return rc;
}

int sc_content_add(sc_content *content, const sc_frame *frame, sandcell_error **err_out)
{
	return fill(content, frame->payload, frame->payload_len, err_out);
}

bool sc_content_complete(const sc_content *content)
{
	return content->left == 0;
}

const char *sc_content_at(
	const sc_content *content, size_t index, const char **name_out, size_t *len_out)
{
	if (index >= content->count || content->left > 0)
		return NULL;
	const sc_content_part *part = &content->parts[index];
	if (name_out)
		*name_out = part->name;
	if (len_out)
		*len_out = part->len;
	return content->data.data + part->offset;
}

const char *sc_content_get(const sc_content *content, const char *name, size_t *len_out)
{
	for (size_t i = 0; i < content->count; i++) {
		if (strcmp(content->parts[i].name, name) == 0)
			return sc_content_at(content, i, NULL, len_out);
	}
	return NULL;
}

void sc_content_clear(sc_content *content)
{
	for (size_t i = 0; i < content->count; i++)
		sc_free(content->parts[i].name);
	sc_free(content->parts);
	sc_buf_clear(&content->data);
	*content = (sc_content){0};
}
