/* SPDX-License-Identifier: MIT */
#include "session/result.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

static const char *const status_names[] = {
	"ok",
	"error",
	"timeout",
	"interrupted",
	"oom",
	"exited",
	"signaled",
	"denied",
	"lost",
};

#define STATUS_COUNT (sizeof(status_names) / sizeof(status_names[0]))

sandcell_result *sc_result_new(
	const char *code, size_t code_len, uint64_t output_max, sandcell_error **err_out)
{
	sandcell_result *result = sc_calloc(1, sizeof(*result));

	if (!result) {
		(void)sc_fail_nomem(err_out);
		return NULL;
	}
	result->status = SANDCELL_RESULT_LOST;
	result->exit_code = -1;
	for (size_t i = 0; i < SC_STREAM_COUNT; i++)
		sc_capture_init(&result->streams[i], output_max);
	result->code = sc_strndup(code, code_len);
	result->code_len = code_len;
	if (!result->code) {
		sandcell_result_free(result);
		(void)sc_fail_nomem(err_out);
		return NULL;
	}
	return result;
}

void sandcell_result_free(sandcell_result *result)
{
	if (!result)
		return;
	for (size_t i = 0; i < SC_STREAM_COUNT; i++)
		sc_capture_clear(&result->streams[i]);
	for (size_t i = 0; i < result->display_count; i++)
		sc_content_clear(&result->displays[i]);
	sc_free(result->displays);
	sc_content_clear(&result->content);
	json_decref(result->header);
	sc_free(result->host_error);
	sc_free(result->code);
	sc_free(result->json);
	sc_free(result->details);
	sc_free(result);
}

void sc_result_add_output(
	sandcell_result *result, int stream, const void *data, size_t len, uint64_t dropped)
{
	sc_capture *capture = &result->streams[stream - 1];

	capture->dropped += dropped;
	sc_capture_add(capture, data, len);
}

static size_t content_size(const sc_content *content)
{
	return content->data.len;
}

void sc_result_add_display(sandcell_result *result, sc_content *display)
{
	size_t size = content_size(display);
	sc_content *grown = NULL;

	if (result->display_count < SC_DISPLAY_COUNT_MAX &&
		result->display_bytes + size <= SC_DISPLAY_SUM_MAX)
		grown = sc_realloc(result->displays,
			(result->display_count + 1) * sizeof(*result->displays));
	if (!grown) {
		result->displays_dropped++;
		sc_content_clear(display);
		return;
	}
	result->displays = grown;
	result->displays[result->display_count++] = *display;
	result->display_bytes += size;
	*display = (sc_content){0};
}

int sc_result_status_parse(const char *name)
{
	for (size_t i = 0; name && i < STATUS_COUNT; i++) {
		if (strcmp(status_names[i], name) == 0)
			return (int)i;
	}
	return -1;
}

static int parse_kind(const char *name)
{
	if (name && strcmp(name, "json") == 0)
		return SANDCELL_OUTPUT_JSON;
	if (name && strcmp(name, "repr") == 0)
		return SANDCELL_OUTPUT_REPR;
	return SANDCELL_OUTPUT_NONE;
}

static int clamp_int(int64_t value)
{
	if (value > INT32_MAX)
		return INT32_MAX;
	return value < INT32_MIN ? INT32_MIN : (int)value;
}

int sc_result_finish(sandcell_result *result, const json_t *header, sc_content *content,
	sandcell_error **err_out)
{
	int status = sc_result_status_parse(sc_json_get_str(header, "status", NULL));
	int64_t duration = sc_json_get_int(header, "duration_ns", 0);

	if (status < 0)
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"result from the container: no such status");
	result->status = status;
	result->exit_code = clamp_int(sc_json_get_int(header, "exit_code", -1));
	result->signal = clamp_int(sc_json_get_int(header, "signal", 0));
	result->state_preserved = sc_json_get_bool(header, "state_preserved", false);
	result->duration_ns = duration > 0 ? (uint64_t)duration : 0;
	result->header = json_incref((json_t *)header);
	sc_content_clear(&result->content);
	result->content = *content;
	*content = (sc_content){0};
	result->output_kind = parse_kind(sc_json_get_str(header, "output_kind", NULL));
	if (!sc_content_get(&result->content, "output", NULL))
		result->output_kind = SANDCELL_OUTPUT_NONE;
	return 0;
}

void sc_result_seal(sandcell_result *result)
{
	for (size_t i = 0; i < SC_STREAM_COUNT; i++)
		sc_capture_finish(&result->streams[i]);
}

void sc_result_set_verdict(sandcell_result *result, int status, const char *error)
{
	result->status = status;
	result->state_preserved = false;
	sc_free(result->host_error);
	result->host_error = sc_strdup(error);
}

/* ---- getters ---- */

int sandcell_result_get_status(const sandcell_result *result)
{
	return result->status;
}

const char *sandcell_result_status_name(int status)
{
	if (status < 0 || (size_t)status >= STATUS_COUNT)
		return "unknown";
	return status_names[status];
}

int sandcell_result_get_success(const sandcell_result *result)
{
	return result->status == SANDCELL_RESULT_OK ||
	       (result->status == SANDCELL_RESULT_EXITED && result->exit_code == 0);
}

int sandcell_result_get_exit_code(const sandcell_result *result)
{
	return result->exit_code;
}

int sandcell_result_get_signal(const sandcell_result *result)
{
	return result->signal;
}

int sandcell_result_get_state_preserved(const sandcell_result *result)
{
	return result->state_preserved;
}

int sandcell_result_get_container_restarted(const sandcell_result *result)
{
	return result->container_restarted;
}

const char *sandcell_result_get_error(const sandcell_result *result)
{
	if (result->host_error)
		return result->host_error;
	return sc_content_get(&result->content, "error", NULL);
}

const char *sandcell_result_get_code(const sandcell_result *result, size_t *len_out)
{
	if (len_out)
		*len_out = result->code_len;
	return result->code;
}

static const sc_capture *find_stream(const sandcell_result *result, sandcell_stream stream)
{
	if ((int)stream < 1 || (int)stream > SC_STREAM_COUNT)
		return NULL;
	return &result->streams[(int)stream - 1];
}

const char *sandcell_result_get_stream(
	const sandcell_result *result, sandcell_stream stream, size_t *len_out)
{
	const sc_capture *capture = find_stream(result, stream);

	if (len_out)
		*len_out = capture ? capture->kept.len : 0;
	return capture ? sc_buf_text(&capture->kept) : "";
}

uint64_t sandcell_result_get_dropped(const sandcell_result *result, sandcell_stream stream)
{
	const sc_capture *capture = find_stream(result, stream);

	return capture ? capture->dropped : 0;
}

const char *sandcell_result_get_output(
	const sandcell_result *result, sandcell_output_kind *kind_out)
{
	if (kind_out)
		*kind_out = (sandcell_output_kind)result->output_kind;
	if (result->output_kind == SANDCELL_OUTPUT_NONE)
		return NULL;
	return sc_content_get(&result->content, "output", NULL);
}

uint64_t sandcell_result_get_duration_ns(const sandcell_result *result)
{
	return result->duration_ns;
}

size_t sandcell_result_get_display_count(const sandcell_result *result)
{
	return result->display_count;
}

size_t sandcell_result_get_mime_count(const sandcell_result *result, size_t display)
{
	return display < result->display_count ? result->displays[display].count : 0;
}

const char *sandcell_result_get_mime(const sandcell_result *result, size_t display,
	size_t index, const char **mime_out, size_t *len_out)
{
	if (display >= result->display_count)
		return NULL;
	return sc_content_at(&result->displays[display], index, mime_out, len_out);
}

const char *sandcell_result_get_json(sandcell_result *result)
{
	if (!result->json)
		result->json = sc_result_format_json(result);
	return result->json;
}

const char *sandcell_result_get_details(sandcell_result *result)
{
	if (!result->details)
		result->details = sc_result_format_details(result);
	return result->details;
}
