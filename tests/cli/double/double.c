/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for libsandcell with no engine behind it, found by LD_LIBRARY_PATH instead of
 * the library, so that the program can be tested with every answer that a library may give.
 *
 * What it does is in the environment: DOUBLE_STATUS, DOUBLE_ERROR, DOUBLE_EXIT_CODE,
 * DOUBLE_SIGNAL, DOUBLE_STDOUT, DOUBLE_STDERR (a call's result; in
 * pieces of DOUBLE_PIECE bytes), DOUBLE_ENDLESS (the call
 * lasts until it is interrupted: "quiet", or "loud" when it writes all the time),
 * DOUBLE_SLOW_OPEN, DOUBLE_PRESERVED, DOUBLE_FAIL ("engine", "open", "execute" or "close"
 * fails with code DOUBLE_CODE), DOUBLE_SESSION, DOUBLE_DESCRIBE (the JSON texts).  What it
 * was asked is written as JSON lines to the file DOUBLE_LOG.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sandcell/sandcell.h>

struct sandcell_error {
	int code;
	char message[256];
};

struct sandcell_engine {
	sandcell_engine_options options;
};

struct sandcell_session {
	volatile sig_atomic_t interrupts;
};

struct sandcell_result {
	int status;
};

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value ? value : otherwise;
}

static int number(const char *name, int otherwise)
{
	const char *value = getenv(name);

	return value ? (int)strtol(value, NULL, 10) : otherwise;
}

static void note(json_t *event)
{
	FILE *log = fopen(setting("DOUBLE_LOG", "/dev/null"), "a");

	if (!log)
		abort();
	(void)json_dumpf(event, log, JSON_COMPACT);
	(void)fputc('\n', log);
	(void)fclose(log);
	json_decref(event);
}

static void note_event(const char *event)
{
	note(json_pack("{s:s}", "event", event));
}

static json_t *texts(const char *const *list)
{
	json_t *array = json_array();

	for (; list && *list; list++)
		(void)json_array_append_new(array, json_string(*list));
	return array;
}

static int fails(const char *step, sandcell_error **err_out)
{
	sandcell_error *err;

	if (strcmp(setting("DOUBLE_FAIL", ""), step) != 0)
		return 0;
	err = calloc(1, sizeof(*err));
	if (!err)
		abort();
	err->code = number("DOUBLE_CODE", SANDCELL_E_ENGINE);
	(void)snprintf(err->message, sizeof(err->message), "%s failed: 'because'", step);
	*err_out = err;
	return err->code;
}

static int stopped(sandcell_error **err_out)
{
	(void)setenv("DOUBLE_FAIL", "callback", 1);
	(void)setenv("DOUBLE_CODE", "-10", 1);
	return fails("callback", err_out);
}

int sandcell_error_get_code(const sandcell_error *err)
{
	return err ? err->code : 0;
}

const char *sandcell_error_get_message(const sandcell_error *err)
{
	return err->message;
}

void sandcell_error_free(sandcell_error *err)
{
	free(err);
}

const char *sandcell_status_name(int status)
{
	return status == SANDCELL_E_CONNECT ? "cannot connect" : "some failure";
}

uint32_t sandcell_version(void)
{
	return (uint32_t)number("DOUBLE_VERSION", 0x000100);
}

const char *sandcell_version_text(void)
{
	return setting("DOUBLE_VERSION_TEXT", "0.1.0");
}

int sandcell_engine_open(const sandcell_engine_options *opts, sandcell_engine **engine_out,
	sandcell_error **err_out)
{
	int rc = fails("engine", err_out);

	if (rc < 0)
		return rc;
	*engine_out = calloc(1, sizeof(**engine_out));
	if (!*engine_out)
		abort();
	(*engine_out)->options = *opts;
	if (opts->on_log)
		opts->on_log("GET /_ping 200", opts->log_user);
	note(json_pack("{s:s, s:s?}", "event", "engine", "host", opts->host));
	return 0;
}

int sandcell_engine_describe(
	sandcell_engine *engine, char **json_out, sandcell_error **err_out)
{
	int rc = fails("describe", err_out);

	(void)engine;
	if (rc < 0)
		return rc;
	*json_out = strdup(setting("DOUBLE_DESCRIBE", "{}"));
	return 0;
}

void sandcell_string_free(char *text)
{
	free(text);
}

void sandcell_engine_free(sandcell_engine *engine)
{
	free(engine);
}

int sandcell_session_open(sandcell_engine *engine, const sandcell_session_options *o,
	sandcell_session **session_out, sandcell_error **err_out)
{
	const struct timespec moment = {.tv_nsec = 5000000};
	int rc;

	(void)engine;
	note_event("opening");
	while (getenv("DOUBLE_SLOW_OPEN")) {
		(void)nanosleep(&moment, NULL);
		if (o->on_wait(o->wait_user) != 0)
			return stopped(err_out);
	}
	rc = fails("open", err_out);
	if (rc < 0)
		return rc;
	*session_out = calloc(1, sizeof(**session_out));
	if (!*session_out)
		abort();
	note(json_pack("{s:s, s:s?, s:s?, s:o, s:o, s:s?, s:s?, s:s?, s:s?, s:I, s:I, s:I, "
		       "s:I, s:I}",
		"event", "open", "image", o->image, "workspace", o->workspace, "mounts",
		texts(o->mounts), "env", texts(o->env), "user", o->user, "network",
		o->network, "runtime", o->runtime, "preload", o->preload, "memory_bytes",
		(json_int_t)o->memory_bytes, "cpu_millis", (json_int_t)o->cpu_millis,
		"pids_max", (json_int_t)o->pids_max, "lease_ms", (json_int_t)o->lease_ms,
		"flags", (json_int_t)o->flags));
	return 0;
}

const char *sandcell_session_get_json(const sandcell_session *session)
{
	(void)session;
	return setting("DOUBLE_SESSION", "{}");
}

void sandcell_interrupt(sandcell_session *session)
{
	session->interrupts++;
}

int sandcell_session_close(sandcell_session *session, sandcell_error **err_out)
{
	(void)session;
	note_event("close");
	return fails("close", err_out);
}

void sandcell_session_free(sandcell_session *session)
{
	free(session);
}

/* In pieces of DOUBLE_PIECE bytes. */
static int say(
	const sandcell_execute_options *opts, sandcell_stream stream, const char *text)
{
	size_t piece = (size_t)number("DOUBLE_PIECE", 1 << 20);
	size_t len = strlen(text);

	while (opts->on_output && len > 0) {
		size_t part = len < piece ? len : piece;

		if (opts->on_output(stream, text, part, opts->output_user))
			return 1;
		text += part;
		len -= part;
	}
	return 0;
}

/* Until an interrupt; answers whether the callback asked to stop. */
static int last_until_interrupted(
	sandcell_session *session, const sandcell_execute_options *opts)
{
	static const char much[65536];
	int loud = strcmp(setting("DOUBLE_ENDLESS", ""), "loud") == 0;
	const struct timespec moment = {.tv_nsec = 5000000};

	if (!*setting("DOUBLE_ENDLESS", ""))
		return 0;
	while (!session->interrupts) {
		if (loud && opts->on_output &&
			opts->on_output(
				SANDCELL_STDOUT, much, sizeof(much), opts->output_user))
			return 1;
		if (!loud)
			(void)nanosleep(&moment, NULL);
	}
	return 0;
}

int sandcell_execute(sandcell_session *session, const char *code, size_t code_len,
	const sandcell_execute_options *o, sandcell_result **result_out,
	sandcell_error **err_out)
{
	static const sandcell_execute_options none = SANDCELL_EXECUTE_OPTIONS_INIT;
	int rc = fails("execute", err_out);

	if (rc < 0)
		return rc;
	if (!o)
		o = &none;
	note(json_pack("{s:s, s:o, s:o?, s:s?, s:o, s:I, s:I, s:b}", "event", "execute",
		"code", json_stringn(code, code_len), "stdin",
		o->stdin_data ? json_stringn(o->stdin_data, o->stdin_len) : NULL, "script",
		o->script, "args", texts(o->args), "timeout_ms", (json_int_t)o->timeout_ms,
		"flags", (json_int_t)o->flags, "streams", o->on_output != NULL));
	if (say(o, SANDCELL_LATE_STDOUT, setting("DOUBLE_LATE", "")) ||
		say(o, SANDCELL_STDOUT, setting("DOUBLE_STDOUT", "")) ||
		say(o, SANDCELL_STDERR, setting("DOUBLE_STDERR", "")) ||
		last_until_interrupted(session, o))
		return stopped(err_out);
	*result_out = calloc(1, sizeof(**result_out));
	if (!*result_out)
		abort();
	(*result_out)->status =
		session->interrupts && *setting("DOUBLE_ENDLESS", "")
			? number("DOUBLE_INTERRUPTED_STATUS", SANDCELL_RESULT_INTERRUPTED)
			: number("DOUBLE_STATUS", SANDCELL_RESULT_OK);
	return 0;
}

int sandcell_validate_cli_command(const char *command, uint32_t flags, char **message_out)
{
	note(json_pack("{s:s, s:o, s:I}", "event", "validate", "command",
		json_string(command), "flags", (json_int_t)flags));
	if (number("DOUBLE_VALIDATE", 0) == 1)
		*message_out = strdup("Empty command.");
	return number("DOUBLE_VALIDATE", 0);
}

int sandcell_execute_cli(sandcell_session *session, const char *command,
	const sandcell_cli_options *o, sandcell_result **result_out,
	sandcell_error **err_out)
{
	sandcell_execute_options same = SANDCELL_EXECUTE_OPTIONS_INIT;

	note(json_pack("{s:s, s:s, s:I, s:I}", "event", "cli", "command", command, "flags",
		(json_int_t)o->flags, "timeout_ms", (json_int_t)o->timeout_ms));
	same.on_output = o->on_output;
	same.output_user = o->output_user;
	return sandcell_execute(session, "", 0, &same, result_out, err_out);
}

int sandcell_result_get_status(const sandcell_result *result)
{
	return result->status;
}

int sandcell_result_get_exit_code(const sandcell_result *result)
{
	(void)result;
	return number("DOUBLE_EXIT_CODE", -1);
}

int sandcell_result_get_signal(const sandcell_result *result)
{
	(void)result;
	return number("DOUBLE_SIGNAL", 0);
}

const char *sandcell_result_get_error(const sandcell_result *result)
{
	(void)result;
	return getenv("DOUBLE_ERROR");
}

int sandcell_result_get_state_preserved(const sandcell_result *result)
{
	(void)result;
	return number("DOUBLE_PRESERVED", 1);
}

size_t sandcell_result_get_display_count(const sandcell_result *result)
{
	(void)result;
	return getenv("DOUBLE_PNG") ? 1 : 0;
}

size_t sandcell_result_get_mime_count(const sandcell_result *result, size_t display)
{
	(void)result;
	(void)display;
	return 3;
}

const char *sandcell_result_get_mime(const sandcell_result *result, size_t display,
	size_t index, const char **mime_out, size_t *len_out)
{
	static const char *const mimes[] = {"image/png", "text/plain", "../../evil"};

	(void)result;
	(void)display;
	*mime_out = mimes[index];
	*len_out = strlen(setting("DOUBLE_PNG", ""));
	return setting("DOUBLE_PNG", "");
}

const char *sandcell_result_get_output(
	const sandcell_result *result, sandcell_output_kind *kind_out)
{
	(void)result;
	*kind_out = SANDCELL_OUTPUT_JSON;
	return setting("DOUBLE_OUTPUT", "{}");
}

const char *sandcell_result_get_json(sandcell_result *result)
{
	(void)result;
	return setting("DOUBLE_JSON", "{}");
}

void sandcell_result_free(sandcell_result *result)
{
	free(result);
}
