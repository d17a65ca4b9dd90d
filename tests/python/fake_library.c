/* SPDX-License-Identifier: MIT */
/*
 * A libsandcell without an engine, for tests of the Python binding: sessions that answer by
 * themselves, so that every test knows what the library does, and when.  What it does not
 * define is found in the real library, which it is linked to.
 *
 * The code to execute is a list of lines:
 *
 *	value JSON | repr TEXT | print TEXT | warn TEXT | raise TEXT	parts of the result
 *	bytes HEX	these bytes on stdout
 *	status N	the result's status, not a success; the variables are lost
 *	block MS	waits that long, or for an interrupt
 *	spew N		N bytes of stdout to the callback
 *	display MIME TEXT
 *	fail CODE	the call fails
 *
 * Other lines are ignored.  sandcell_session_get_json() tells what was done and asked for.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <sandcell/sandcell.h>

#define SLICE_MS 50
#define PIECE	 65536

struct sandcell_error {
	int code;
	char message[200];
};

struct sandcell_engine {
	char host[200];
};

struct text {
	char *data;
	size_t len;
};

struct shown {
	char mime[64];
	struct text text;
};

struct sandcell_result {
	int status;
	int exit_code;
	int kept;
	struct text streams[4];
	struct text output;
	int kind;
	char *error;
	struct shown displays[8];
	size_t display_count;
};

struct sandcell_session {
	int wake;
	sandcell_wait_fn on_wait;
	void *wait_user;
	struct text log;
	char *json;
	int warns;
};

/* How many objects there are: engines, sessions, results, errors. */
SANDCELL_API int fake_live[4];
/* What sandcell_session_open() and _close() do: wait so long, fail with this code. */
SANDCELL_API int fake_open_ms, fake_open_code, fake_close_ms, fake_close_code;
SANDCELL_API int fake_closed; /* containers */

/* What was closed in the end, when FAKE_REPORT is set. */
__attribute__((destructor)) static void report(void)
{
	if (getenv("FAKE_REPORT"))
		(void)dprintf(2, "closed %d\n", fake_closed);
}

static void count(int kind, int step)
{
	(void)__atomic_add_fetch(&fake_live[kind], step, __ATOMIC_SEQ_CST);
}

static void append(struct text *text, const char *data, size_t len)
{
	char *more = realloc(text->data, text->len + len + 1);

	if (!more)
		abort();
	memcpy(more + text->len, data, len);
	text->data = more;
	text->len += len;
	text->data[text->len] = '\0';
}

/* One line of the log, which becomes JSON: no quotes, no backslashes. */
__attribute__((format(printf, 2, 3))) static void note(
	struct text *log, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	for (char *at = line; *at; at++) {
		if (*at == '"' || *at == '\\')
			*at = '\'';
	}
	append(log, log->len > 0 ? ", \"" : "\"", log->len > 0 ? 3 : 1);
	append(log, line, strlen(line));
	append(log, "\"", 1);
}

/* ---- errors ---- */

static int fail(sandcell_error **err_out, int code)
{
	sandcell_error *err = calloc(1, sizeof(*err));

	if (!err)
		abort();
	err->code = code;
	(void)snprintf(err->message, sizeof(err->message), "fake failure %d", code);
	count(3, 1);
	*err_out = err;
	return code;
}

int sandcell_error_get_code(const sandcell_error *err)
{
	return err->code;
}

const char *sandcell_error_get_message(const sandcell_error *err)
{
	return err->message;
}

int sandcell_error_get_http(const sandcell_error *err)
{
	return err->code == SANDCELL_E_ENGINE ? 500 : 0;
}

int sandcell_error_get_errno(const sandcell_error *err)
{
	return err->code == SANDCELL_E_CONNECT ? ECONNREFUSED : 0;
}

void sandcell_error_free(sandcell_error *err)
{
	if (err)
		count(3, -1);
	free(err);
}

/* ---- engine ---- */

int sandcell_engine_open(const sandcell_engine_options *opts, sandcell_engine **engine_out,
	sandcell_error **err_out)
{
	sandcell_engine *engine = NULL;

	if (opts->host && strcmp(opts->host, "unix:///nowhere") == 0)
		return fail(err_out, SANDCELL_E_CONNECT);
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		abort();
	(void)snprintf(engine->host, sizeof(engine->host), "%s",
		opts->host ? opts->host : "unix:///fake");
	if (opts->on_log)
		opts->on_log("engine found", opts->log_user);
	count(0, 1);
	*engine_out = engine;
	return 0;
}

const char *sandcell_engine_get_host(const sandcell_engine *engine)
{
	return engine->host;
}

const char *sandcell_engine_get_source(const sandcell_engine *engine)
{
	(void)engine;
	return "the test";
}

const char *sandcell_engine_get_kind(const sandcell_engine *engine)
{
	(void)engine;
	return "fake";
}

const char *sandcell_engine_get_api_version(const sandcell_engine *engine)
{
	(void)engine;
	return "1.41";
}

void sandcell_engine_free(sandcell_engine *engine)
{
	if (engine)
		count(0, -1);
	free(engine);
}

/* ---- waiting ---- */

static int take_interrupt(sandcell_session *session)
{
	uint64_t drained = 0;

	return read(session->wake, &drained, sizeof(drained)) > 0;
}

static long now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* 1: interrupted, by the eventfd or by the wait callback; 0: the time has passed. */
static int wait_ms(sandcell_session *session, long ms)
{
	struct pollfd entry = {.fd = session->wake, .events = POLLIN};
	long end = now_ms() + ms;

	for (long left = ms; left > 0; left = end - now_ms()) {
		int n = poll(&entry, 1, (int)(left < SLICE_MS ? left : SLICE_MS));
		if (n > 0)
			return take_interrupt(session);
		if (session->on_wait && session->on_wait(session->wait_user))
			return 1;
	}
	return 0;
}

/* ---- session ---- */

static void note_options(struct text *log, const sandcell_session_options *opts)
{
	note(log, "open image=%s workspace=%s memory=%llu cpus=%u timeout=%u flags=%u",
		opts->image ? opts->image : "-", opts->workspace ? opts->workspace : "-",
		(unsigned long long)opts->memory_bytes, opts->cpu_millis, opts->timeout_ms,
		opts->flags);
	for (size_t i = 0; opts->env && opts->env[i]; i++)
		note(log, "env %s", opts->env[i]);
	for (size_t i = 0; opts->mounts && opts->mounts[i]; i++)
		note(log, "mount %s", opts->mounts[i]);
	if (opts->preload)
		note(log, "preload %s", opts->preload);
}

int sandcell_session_open(sandcell_engine *engine, const sandcell_session_options *opts,
	sandcell_session **session_out, sandcell_error **err_out)
{
	sandcell_session *session = calloc(1, sizeof(*session));
	int stopped;

	(void)engine;
	if (!session)
		abort();
	session->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	session->on_wait = opts->on_wait;
	session->wait_user = opts->wait_user;
	stopped = wait_ms(session, fake_open_ms);
	if (stopped || fake_open_code < 0) {
		(void)close(session->wake);
		free(session);
		return fail(err_out, stopped ? SANDCELL_E_CALLBACK : fake_open_code);
	}
	session->warns = opts->image && strcmp(opts->image, "warns") == 0;
	note_options(&session->log, opts);
	count(1, 1);
	*session_out = session;
	return 0;
}

const char *sandcell_session_get_container(const sandcell_session *session)
{
	(void)session;
	return "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
}

const char *sandcell_session_get_name(const sandcell_session *session)
{
	(void)session;
	return "fake";
}

const char *sandcell_session_get_json(const sandcell_session *session)
{
	sandcell_session *mine = (sandcell_session *)session;
	size_t size = session->log.len + 64;

	free(mine->json);
	mine->json = malloc(size);
	if (!mine->json)
		abort();
	(void)snprintf(mine->json, size, "{\"log\": [%s], \"warnings\": [%s]}",
		session->log.data ? session->log.data : "",
		session->warns ? "\"no limit\"" : "");
	return mine->json;
}

int sandcell_reset(sandcell_session *session, sandcell_error **err_out)
{
	(void)err_out;
	note(&session->log, "reset");
	return 0;
}

int sandcell_names(sandcell_session *session, char **json_out, sandcell_error **err_out)
{
	(void)session;
	(void)err_out;
	*json_out = strdup("[{\"name\": \"x\"}]");
	return 0;
}

int sandcell_history(sandcell_session *session, char **json_out, sandcell_error **err_out)
{
	(void)session;
	return *json_out ? 0 : fail(err_out, SANDCELL_E_GONE);
}

int sandcell_complete(sandcell_session *session, const char *code, size_t code_len,
	size_t cursor, char **json_out, sandcell_error **err_out)
{
	char text[100];

	(void)session;
	(void)code;
	(void)err_out;
	(void)snprintf(text, sizeof(text), "[%zu, %zu]", code_len, cursor);
	*json_out = strdup(text);
	return 0;
}

void sandcell_string_free(char *text)
{
	free(text);
}

void sandcell_interrupt(sandcell_session *session)
{
	const uint64_t one = 1;
	ssize_t n = write(session->wake, &one, sizeof(one));

	(void)n;
}

int sandcell_session_close(sandcell_session *session, sandcell_error **err_out)
{
	const struct timespec pause = {
		.tv_sec = fake_close_ms / 1000, .tv_nsec = fake_close_ms % 1000 * 1000000L};

	(void)session;
	(void)nanosleep(&pause, NULL);
	if (fake_live[0] <= 0) /* the engine is gone */
		return fail(err_out, SANDCELL_E_PROTOCOL);
	if (fake_close_code < 0)
		return fail(err_out, fake_close_code);
	(void)__atomic_add_fetch(&fake_closed, 1, __ATOMIC_SEQ_CST);
	return 0;
}

void sandcell_session_free(sandcell_session *session)
{
	if (!session)
		return;
	(void)close(session->wake);
	free(session->log.data);
	free(session->json);
	free(session);
	count(1, -1);
}

/* ---- calls ---- */

struct run {
	sandcell_session *session;
	sandcell_result *result;
	sandcell_output_fn on_output;
	void *user;
	int fail;
};

static void emit(struct run *run, sandcell_stream stream, const char *data, size_t len)
{
	append(&run->result->streams[stream - 1], data, len);
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
		if (take_interrupt(run->session))
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
	append(&shown->text, text + len + 1, strlen(text + len + 1));
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
		append(&result->output, rest, strlen(rest));
	} else if (strcmp(word, "raise") == 0) {
		end_with(result, SANDCELL_RESULT_ERROR, rest);
	} else if (strcmp(word, "bytes") == 0) {
		emit_hex(run, rest);
	} else if (strcmp(word, "status") == 0) {
		end_with(result, atoi(rest), "ended");
		result->kept = 0;
	} else if (strcmp(word, "block") == 0) {
		if (wait_ms(run->session, atol(rest)))
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

	(void)take_interrupt(run->session);
	run->result = calloc(1, sizeof(*run->result));
	if (!run->result || !copy)
		abort();
	run->result->exit_code = -1;
	run->result->kept = 1;
	count(2, 1);
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
		return fail(err_out, run->fail);
	}
	*result_out = run->result;
	return 0;
}

static void note_execute_options(struct text *log, const sandcell_execute_options *opts)
{
	if (opts->flags || opts->stdout_file || opts->stderr_file)
		note(log, "flags=%u files=%s %s", opts->flags,
			opts->stdout_file ? opts->stdout_file : "-",
			opts->stderr_file ? opts->stderr_file : "-");
	if (opts->timeout_ms || opts->stdin_len || opts->script || opts->args)
		note(log, "timeout=%u stdin=%zu script=%s args=%s", opts->timeout_ms,
			opts->stdin_len, opts->script ? opts->script : "-",
			opts->args && opts->args[0] ? opts->args[0] : "-");
}

int sandcell_execute(sandcell_session *session, const char *code, size_t code_len,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	struct run run = {.session = session};

	note(&session->log, "execute %.*s", (int)strcspn(code, "\n"), code);
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

	note(&session->log, "cli %s", command);
	if (opts) {
		run.on_output = opts->on_output;
		run.user = opts->output_user;
	}
	return run_code(&run, "print ok", 8, result_out, err_out);
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
	count(2, -1);
}
