/* SPDX-License-Identifier: MIT */
/*
 * The result as one line of JSON.  It is written by hand, because program output is bytes
 * and may be large; whatever the container calls JSON is checked before it is put in as it
 * stands, so that it cannot forge a member of ours or break the line.
 */
#include "session/result.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"

static void put_key(sc_buf *buf, const char *key)
{
	(void)sc_buf_printf(buf, "%s\"%s\":", buf->len > 1 ? "," : "", key);
}

static void put_text(sc_buf *buf, const char *key, const char *text, size_t len)
{
	put_key(buf, key);
	(void)sc_utf8_put_json(buf, text, len);
}

static void put_optional(sc_buf *buf, const char *key, const char *text)
{
	if (text) {
		put_text(buf, key, text, strlen(text));
	} else {
		put_key(buf, key);
		(void)sc_buf_puts(buf, "null");
	}
}

static void put_bool(sc_buf *buf, const char *key, bool value)
{
	put_key(buf, key);
	(void)sc_buf_puts(buf, value ? "true" : "false");
}

static void put_int(sc_buf *buf, const char *key, int64_t value)
{
	put_key(buf, key);
	(void)sc_buf_printf(buf, "%" PRId64, value);
}

/* One line of valid JSON; numbers of any size are fine, as they are not converted. */
static bool is_json_line(const char *text, size_t len)
{
	json_t *parsed = NULL;

	for (size_t i = 0; i < len; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	parsed = json_loadb(text, len,
		JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
	json_decref(parsed);
	return parsed != NULL;
}

/* The container's JSON as it stands, or the same text as a string. */
static void put_json_text(sc_buf *buf, const char *key, const char *text, size_t len)
{
	put_key(buf, key);
	if (is_json_line(text, len))
		(void)sc_buf_append(buf, text, len);
	else
		(void)sc_utf8_put_json(buf, text, len);
}

static void put_output(sc_buf *buf, const sandcell_result *result)
{
	static const char *const kinds[] = {"none", "json", "repr"};
	size_t len = 0;
	const char *text = sc_content_get(&result->content, "output", &len);

	if (result->output_kind == SANDCELL_OUTPUT_JSON)
		put_json_text(buf, "output", text, len);
	else if (result->output_kind == SANDCELL_OUTPUT_REPR)
		put_text(buf, "output", text, len);
	else
		put_optional(buf, "output", NULL);
	put_optional(buf, "output_kind", kinds[result->output_kind]);
}

static void put_streams(sc_buf *buf, const sandcell_result *result)
{
	static const char *const names[] = {
		"stdout", "stderr", "late_stdout", "late_stderr"};

	for (size_t i = 0; i < SC_STREAM_COUNT; i++) {
		const sc_buf *kept = &result->streams[i].kept;

		if (i < 2 || kept->len > 0)
			put_text(buf, names[i], sc_buf_text(kept), kept->len);
	}
	put_key(buf, "truncated");
	(void)sc_buf_puts(buf, "{");
	const char *comma = "";
	for (size_t i = 0; i < SC_STREAM_COUNT; i++) {
		const sc_capture *capture = &result->streams[i];

		if (capture->dropped == 0)
			continue;
		size_t at = capture->head < capture->kept.len ? capture->head
							      : capture->kept.len;
		(void)sc_buf_printf(buf, "%s\"%s\":{\"at\":%zu,\"dropped\":%" PRIu64 "}",
			comma, names[i], at, capture->dropped);
		comma = ",";
	}
	if (result->displays_dropped)
		(void)sc_buf_printf(buf, "%s\"data\":{\"dropped\":%zu}", comma,
			result->displays_dropped);
	(void)sc_buf_puts(buf, "}");
}

static bool is_text_mime(const char *mime)
{
	return strncmp(mime, "text/", 5) == 0 || strncmp(mime, "application/", 12) == 0 ||
	       strcmp(mime, "image/svg+xml") == 0;
}

static void put_base64(sc_buf *buf, const char *data, size_t len)
{
	size_t need = (len + 2) / 3 * 4;

	(void)sc_buf_putc(buf, '"');
	if (len <= INT_MAX / 2 && sc_buf_reserve(buf, need + 1) == 0) {
		(void)EVP_EncodeBlock((unsigned char *)buf->data + buf->len,
			(const unsigned char *)data, (int)len);
		buf->len += need;
	}
	(void)sc_buf_putc(buf, '"');
}

static void put_bundle(sc_buf *buf, const sc_content *display)
{
	for (size_t i = 0; i < display->count; i++) {
		const char *mime = NULL;
		size_t len = 0;
		const char *data = sc_content_at(display, i, &mime, &len);

		(void)sc_buf_puts(buf, i ? "," : "{");
		(void)sc_utf8_put_json(buf, mime, strlen(mime));
		(void)sc_buf_putc(buf, ':');
		if (is_text_mime(mime))
			(void)sc_utf8_put_json(buf, data, len);
		else
			put_base64(buf, data, len);
	}
	(void)sc_buf_puts(buf, display->count ? "}" : "{}");
}

static void put_displays(sc_buf *buf, const sandcell_result *result)
{
	put_key(buf, "data");
	(void)sc_buf_putc(buf, '[');
	for (size_t i = 0; i < result->display_count; i++) {
		if (i)
			(void)sc_buf_putc(buf, ',');
		put_bundle(buf, &result->displays[i]);
	}
	(void)sc_buf_putc(buf, ']');
}

/* A member of the container's header, which was parsed; null when it is not there. */
static void put_member(sc_buf *buf, const json_t *header, const char *key)
{
	const json_t *value = json_object_get(header, key);

	put_key(buf, key);
	if (!value)
		(void)sc_buf_puts(buf, "null");
	else if (sc_json_dump(value, buf, NULL) < 0)
		buf->rc = SANDCELL_E_NOMEM;
}

static void put_artifacts(sc_buf *buf, const sandcell_result *result)
{
	size_t len = 0;
	const char *text = sc_content_get(&result->content, "artifacts", &len);

	if (text && is_json_line(text, len))
		put_json_text(buf, "artifacts", text, len);
	else
		put_optional(buf, "artifacts", NULL);
}

static void put_details(sc_buf *buf, const sandcell_result *result)
{
	put_artifacts(buf, result);
	put_member(buf, result->header, "usage");
	if (json_is_true(json_object_get(result->header, "rolled_back")))
		put_bool(buf, "rolled_back", true);
	if (json_is_string(json_object_get(result->header, "recover_refused")))
		put_member(buf, result->header, "recover_refused");
	if (json_object_get(result->header, "stages")) {
		put_member(buf, result->header, "stages");
		put_member(buf, result->header, "landlock");
	}
}

char *sc_result_format_details(const sandcell_result *result)
{
	sc_autobuf buf = SC_BUF_INIT(SC_CONTENT_MAX);

	(void)sc_buf_putc(&buf, '{');
	put_details(&buf, result);
	(void)sc_buf_putc(&buf, '}');
	return sc_buf_take(&buf, NULL);
}

char *sc_result_format_json(const sandcell_result *result)
{
	sc_autobuf buf = SC_BUF_INIT(SIZE_MAX / 4);

	(void)sc_buf_putc(&buf, '{');
	put_optional(&buf, "status", sandcell_result_status_name(result->status));
	put_bool(&buf, "success", sandcell_result_get_success(result));
	put_output(&buf, result);
	put_streams(&buf, result);
	put_optional(&buf, "error", sandcell_result_get_error(result));
	put_text(&buf, "code", result->code, result->code_len);
	if (result->exit_code < 0)
		put_optional(&buf, "exit_code", NULL);
	else
		put_int(&buf, "exit_code", result->exit_code);
	put_int(&buf, "signal", result->signal);
	put_bool(&buf, "state_preserved", result->state_preserved);
	put_bool(&buf, "container_restarted", result->container_restarted);
	put_int(&buf, "duration_ns", (int64_t)result->duration_ns);
	put_displays(&buf, result);
	put_details(&buf, result);
	(void)sc_buf_putc(&buf, '}');
	return sc_buf_take(&buf, NULL);
}
