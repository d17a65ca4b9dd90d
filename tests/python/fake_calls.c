/* SPDX-License-Identifier: MIT */
/* The library without an engine: calls that run code, and their results. */
#include "fake_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 65536

struct run {
	sandcell_session *session;
	sandcell_result *result;
	sandcell_output_fn on_output;
	void *user;
	int fail;
};

static void emit(struct run *run, sandcell_stream stream, const char *data, size_t len)
{
	fake_append(&run->result->streams[stream - 1], data, len);
	if (run->on_output && run->on_output(stream, data, len, run->user))
		run->fail = SANDCELL_E_CALLBACK;
}

static void end_with(sandcell_result *result, int status, const char *error)
{
	result->status = status;
	result->error = strdup(error);
}

static void spew(struct run *run, size_t left)
{
	static const char piece[PIECE];

	while (left > 0 && !run->fail && !run->result->error && run->on_output) {
		size_t len = left < PIECE ? left : PIECE;

		if (run->on_output(SANDCELL_STDOUT, piece, len, run->user))
			run->fail = SANDCELL_E_CALLBACK;
		left -= len;
		if (fake_take_interrupt(run->session))
			end_with(run->result, SANDCELL_RESULT_INTERRUPTED, "^C");
	}
}

static void emit_hex(struct run *run, const char *hex)
{
	for (; hex[0] && hex[1]; hex += 2) {
		const char pair[3] = {hex[0], hex[1], '\0'};
		const char byte = (char)strtoul(pair, NULL, 16);

		emit(run, SANDCELL_STDOUT, &byte, 1);
	}
}

static void display(sandcell_result *result, const char *text)
{
	struct shown *shown = &result->displays[result->display_count];
	size_t len = strcspn(text, " ");

	if (result->display_count == 8 || len >= sizeof(shown->mime))
		return;
	memcpy(shown->mime, text, len);
	fake_append(&shown->text, text + len + 1, strlen(text + len + 1));
	result->display_count++;
}

static void run_line(struct run *run, const char *word, const char *rest)
{
	sandcell_result *result = run->result;

	if (strcmp(word, "print") == 0 || strcmp(word, "warn") == 0) {
		sandcell_stream stream = *word == 'p' ? SANDCELL_STDOUT : SANDCELL_STDERR;

		emit(run, stream, rest, strlen(rest));
		emit(run, stream, "\n", 1);
	} else if (strcmp(word, "value") == 0 || strcmp(word, "repr") == 0) {
		result->kind = *word == 'v' ? SANDCELL_OUTPUT_JSON : SANDCELL_OUTPUT_REPR;
		fake_append(&result->output, rest, strlen(rest));
	} else if (strcmp(word, "raise") == 0) {
		end_with(result, SANDCELL_RESULT_ERROR, rest);
	} else if (strcmp(word, "bytes") == 0) {
		emit_hex(run, rest);
	} else if (strcmp(word, "status") == 0) {
		end_with(result, atoi(rest), "ended");
		result->kept = 0;
	} else if (strcmp(word, "block") == 0) {
		if (fake_wait_ms(run->session, atol(rest)))
			end_with(result, SANDCELL_RESULT_INTERRUPTED, "KeyboardInterrupt");
	} else if (strcmp(word, "spew") == 0) {
		spew(run, (size_t)atoll(rest));
	} else if (strcmp(word, "display") == 0) {
		display(result, rest);
	} else if (strcmp(word, "fail") == 0) {
		run->fail = atoi(rest);
	}
}

static int run_code(struct run *run, const char *code, size_t len,
	sandcell_result **result_out, sandcell_error **err_out)
{
	char *copy = strndup(code, len);
	char *save = NULL;

	(void)fake_take_interrupt(run->session);
	run->result = calloc(1, sizeof(*run->result));
	if (!run->result || !copy)
		abort();
	run->result->exit_code = -1;
	run->result->kept = 1;
	fake_count(FAKE_RESULT, 1);
	for (char *line = strtok_r(copy, "\n", &save); line && !run->fail;
		line = strtok_r(NULL, "\n", &save)) {
		char *space = strchr(line, ' ');

		if (space)
			*space = '\0';
		run_line(run, line, space ? space + 1 : "");
	}
	free(copy);
	if (run->fail) {
		sandcell_result_free(run->result);
		return fake_fail(err_out, run->fail);
	}
	*result_out = run->result;
	return 0;
}

static void note_execute_options(struct text *log, const sandcell_execute_options *opts)
{
	if (opts->flags || opts->stdout_file || opts->stderr_file)
		fake_note(log, "flags=%u files=%s %s", opts->flags,
			opts->stdout_file ? opts->stdout_file : "-",
			opts->stderr_file ? opts->stderr_file : "-");
	if (opts->timeout_ms || opts->stdin_len || opts->script || opts->args)
		fake_note(log, "timeout=%u stdin=%zu script=%s args=%s", opts->timeout_ms,
			opts->stdin_len, opts->script ? opts->script : "-",
			opts->args && opts->args[0] ? opts->args[0] : "-");
}

int sandcell_execute(sandcell_session *session, const char *code, size_t code_len,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	struct run run = {.session = session};

	fake_note(&session->log, "execute %.*s", (int)strcspn(code, "\n"), code);
	if (opts) {
		run.on_output = opts->on_output;
		run.user = opts->output_user;
		note_execute_options(&session->log, opts);
	}
	return run_code(&run, code, code_len, result_out, err_out);
}

int sandcell_execute_cli(sandcell_session *session, const char *command,
	const sandcell_cli_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	struct run run = {.session = session};

	fake_note(&session->log, "cli %s", command);
	if (opts) {
		run.on_output = opts->on_output;
		run.user = opts->output_user;
	}
	return run_code(&run, "print ok", 8, result_out, err_out);
}

int sandcell_execute_detached(sandcell_session *session, const char *code, size_t code_len,
	const sandcell_execute_options *opts, uint64_t *call_id_out,
	sandcell_error **err_out)
{
	(void)err_out;
	fake_note(&session->log, "detached %.*s timeout=%u", (int)code_len, code,
		opts->timeout_ms);
	*call_id_out = 1000000000007;
	return 0;
}

int sandcell_fetch_result(sandcell_session *session, uint64_t call_id,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	struct run run = {.session = session,
		.on_output = opts->on_output,
		.user = opts->output_user};

	fake_note(&session->log, "fetch %llu timeout=%u flags=%u",
		(unsigned long long)call_id, opts->timeout_ms, opts->flags);
	return run_code(&run, "print late\nvalue 9", 18, result_out, err_out);
}

/* ---- results ---- */

int sandcell_result_get_status(const sandcell_result *result)
{
	return result->status;
}

int sandcell_result_get_success(const sandcell_result *result)
{
	return result->status == SANDCELL_RESULT_OK;
}

int sandcell_result_get_exit_code(const sandcell_result *result)
{
	return result->exit_code;
}

int sandcell_result_get_signal(const sandcell_result *result)
{
	(void)result;
	return 0;
}

int sandcell_result_get_state_preserved(const sandcell_result *result)
{
	return result->kept;
}

int sandcell_result_get_container_restarted(const sandcell_result *result)
{
	(void)result;
	return 0;
}

const char *sandcell_result_get_error(const sandcell_result *result)
{
	return result->error;
}

const char *sandcell_result_get_code(const sandcell_result *result, size_t *len_out)
{
	(void)result;
	*len_out = 4;
	return "code";
}

const char *sandcell_result_get_stream(
	const sandcell_result *result, sandcell_stream stream, size_t *len_out)
{
	const struct text *text = &result->streams[stream - 1];

	*len_out = text->len;
	return text->data ? text->data : "";
}

uint64_t sandcell_result_get_dropped(const sandcell_result *result, sandcell_stream stream)
{
	(void)result;
	(void)stream;
	return 0;
}

const char *sandcell_result_get_output(
	const sandcell_result *result, sandcell_output_kind *kind_out)
{
	*kind_out = (sandcell_output_kind)result->kind;
	return result->output.data;
}

uint64_t sandcell_result_get_duration_ns(const sandcell_result *result)
{
	(void)result;
	return 1000;
}

size_t sandcell_result_get_display_count(const sandcell_result *result)
{
	return result->display_count;
}

size_t sandcell_result_get_mime_count(const sandcell_result *result, size_t index)
{
	(void)result;
	(void)index;
	return 1;
}

const char *sandcell_result_get_mime(const sandcell_result *result, size_t index,
	size_t form, const char **mime_out, size_t *len_out)
{
	const struct shown *shown = &result->displays[index];

	(void)form;
	*mime_out = shown->mime;
	*len_out = shown->text.len;
	return shown->text.data;
}

const char *sandcell_result_get_details(sandcell_result *result)
{
	(void)result;
	return "{\"artifacts\": null, \"usage\": {\"cpu_ns\": 7}, \"stages\": [0, 1]}";
}

void sandcell_result_free(sandcell_result *result)
{
	if (!result)
		return;
	for (size_t i = 0; i < 4; i++)
		free(result->streams[i].data);
	for (size_t i = 0; i < result->display_count; i++)
		free(result->displays[i].text.data);
	free(result->output.data);
	free(result->error);
	free(result);
	fake_count(FAKE_RESULT, -1);
}
