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
#include "fake_library.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 50

/* How many objects there are: engines, sessions, results, errors. */
SANDCELL_API int fake_live[4];
/* What sandcell_session_open() and _close() do: wait so long, fail with this code. */
SANDCELL_API int fake_open_ms, fake_open_code, fake_close_ms, fake_close_code;
SANDCELL_API int fake_closed; /* containers */

/* What was closed in the end, when FAKE_REPORT is set. */
__attribute__((destructor)) static void report_at_exit(void)
{
	if (getenv("FAKE_REPORT"))
		(void)dprintf(2, "closed %d\n", fake_closed);
}

void fake_count(enum fake_kind kind, int step)
{
	(void)__atomic_add_fetch(&fake_live[kind], step, __ATOMIC_SEQ_CST);
}

void fake_append(struct text *text, const char *data, size_t len)
{
	char *more = realloc(text->data, text->len + len + 1);

	if (!more)
		abort();
	memcpy(more + text->len, data, len);
	text->data = more;
	text->len += len;
	text->data[text->len] = '\0';
}

void fake_note(struct text *log, const char *format, ...)
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
	fake_append(log, log->len > 0 ? ", \"" : "\"", log->len > 0 ? 3 : 1);
	fake_append(log, line, strlen(line));
	fake_append(log, "\"", 1);
}

/* ---- errors ---- */

int fake_fail(sandcell_error **err_out, int code)
{
	sandcell_error *err = calloc(1, sizeof(*err));

	if (!err)
		abort();
	err->code = code;
	(void)snprintf(err->message, sizeof(err->message), "fake failure %d", code);
	fake_count(FAKE_ERROR, 1);
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
		fake_count(FAKE_ERROR, -1);
	free(err);
}

/* ---- engine ---- */

int sandcell_engine_open(const sandcell_engine_options *opts, sandcell_engine **engine_out,
	sandcell_error **err_out)
{
	sandcell_engine *engine = NULL;

	if (opts->host && strcmp(opts->host, "unix:///nowhere") == 0)
		return fake_fail(err_out, SANDCELL_E_CONNECT);
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		abort();
	(void)snprintf(engine->host, sizeof(engine->host), "%s",
		opts->host ? opts->host : "unix:///fake");
	if (opts->on_log)
		opts->on_log("engine found", opts->log_user);
	fake_count(FAKE_ENGINE, 1);
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
		fake_count(FAKE_ENGINE, -1);
	free(engine);
}

/* ---- waiting ---- */

int fake_take_interrupt(sandcell_session *session)
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

int fake_wait_ms(sandcell_session *session, long ms)
{
	struct pollfd entry = {.fd = session->wake, .events = POLLIN};
	long end = now_ms() + ms;

	for (long left = ms; left > 0; left = end - now_ms()) {
		int n = poll(&entry, 1, (int)(left < SLICE_MS ? left : SLICE_MS));
		if (n > 0)
			return fake_take_interrupt(session);
		if (session->on_wait && session->on_wait(session->wait_user))
			return 1;
	}
	return 0;
}

/* ---- session ---- */

/* Waits as long as opening takes; the session, or NULL with an error. */
static sandcell_session *new_session(
	sandcell_wait_fn on_wait, void *wait_user, sandcell_error **err_out)
{
	sandcell_session *session = calloc(1, sizeof(*session));
	int stopped;

	if (!session)
		abort();
	session->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	session->on_wait = on_wait;
	session->wait_user = wait_user;
	stopped = fake_wait_ms(session, fake_open_ms);
	if (stopped || fake_open_code < 0) {
		(void)close(session->wake);
		free(session);
		(void)fake_fail(err_out, stopped ? SANDCELL_E_CALLBACK : fake_open_code);
		return NULL;
	}
	fake_count(FAKE_SESSION, 1);
	return session;
}

static void note_options(struct text *log, const sandcell_session_options *opts)
{
	fake_note(log, "open image=%s workspace=%s memory=%llu cpus=%u timeout=%u flags=%u",
		opts->image ? opts->image : "-", opts->workspace ? opts->workspace : "-",
		(unsigned long long)opts->memory_bytes, opts->cpu_millis, opts->timeout_ms,
		opts->flags);
	for (size_t i = 0; opts->env && opts->env[i]; i++)
		fake_note(log, "env %s", opts->env[i]);
	for (size_t i = 0; opts->mounts && opts->mounts[i]; i++)
		fake_note(log, "mount %s", opts->mounts[i]);
	if (opts->preload)
		fake_note(log, "preload %s", opts->preload);
}

int sandcell_session_open(sandcell_engine *engine, const sandcell_session_options *opts,
	sandcell_session **session_out, sandcell_error **err_out)
{
	sandcell_session *session = new_session(opts->on_wait, opts->wait_user, err_out);

	(void)engine;
	if (!session)
		return sandcell_error_get_code(*err_out);
	session->warns = opts->image && strcmp(opts->image, "warns") == 0;
	note_options(&session->log, opts);
	*session_out = session;
	return 0;
}

int sandcell_session_attach(sandcell_engine *engine, const char *name,
	const sandcell_attach_options *opts, sandcell_session **session_out,
	sandcell_error **err_out)
{
	sandcell_session *session = new_session(opts->on_wait, opts->wait_user, err_out);

	(void)engine;
	if (!session)
		return sandcell_error_get_code(*err_out);
	fake_note(&session->log, "attach %s timeout=%u lease=%u flags=%u", name,
		opts->timeout_ms, opts->lease_ms, opts->flags);
	*session_out = session;
	return 0;
}

int sandcell_session_detach(sandcell_session *session, sandcell_error **err_out)
{
	(void)session;
	(void)err_out;
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
	fake_note(&session->log, "reset");
	return 0;
}

/* ---- what else calls do ---- */

static int report(char **report_out, const char *text)
{
	*report_out = strdup(text);
	return 0;
}

int sandcell_session_set_lease(
	sandcell_session *session, uint32_t lease_ms, sandcell_error **err_out)
{
	(void)err_out;
	fake_note(&session->log, "lease %u", lease_ms);
	return 0;
}

int sandcell_session_stat(
	sandcell_session *session, char **json_out, sandcell_error **err_out)
{
	(void)session;
	(void)err_out;
	return report(json_out, "{\"clients\": 1}");
}

int sandcell_session_interrupt_all(
	sandcell_session *session, uint32_t *count_out, sandcell_error **err_out)
{
	(void)session;
	(void)err_out;
	*count_out = 2;
	return 0;
}

int sandcell_put(sandcell_session *session, const char *path, const void *data, size_t len,
	sandcell_error **err_out)
{
	(void)err_out;
	fake_note(&session->log, "put %s %.*s", path, (int)len, (const char *)data);
	return 0;
}

int sandcell_get(sandcell_session *session, const char *path, uint64_t max, char **data_out,
	size_t *len_out, sandcell_error **err_out)
{
	fake_note(&session->log, "get %s %llu", path, (unsigned long long)max);
	if (strcmp(path, "missing") == 0)
		return fake_fail(err_out, SANDCELL_E_FAIL);
	*data_out = malloc(4);
	if (!*data_out)
		abort();
	memcpy(*data_out, "a\0b", 4);
	*len_out = 3;
	return 0;
}

int sandcell_snapshot_save(sandcell_session *session, const char *path,
	const sandcell_snapshot_options *opts, char **report_out, sandcell_error **err_out)
{
	(void)err_out;
	fake_note(&session->log, "save %s exclude=%s timeout=%u flags=%u", path,
		opts->exclude ? opts->exclude[0] : "-", opts->timeout_ms, opts->flags);
	return report(report_out, "{\"names\": [\"x\"]}");
}

int sandcell_snapshot_restore(sandcell_session *session, const char *path,
	const sandcell_snapshot_options *opts, char **report_out, sandcell_error **err_out)
{
	fake_note(&session->log, "restore timeout=%u flags=%u", opts->timeout_ms,
		opts->flags);
	if (strstr(path, "bad"))
		return fake_fail(err_out, SANDCELL_E_DATA);
	return report(report_out, "{\"names\": [\"x\"]}");
}

int sandcell_checkpoint(sandcell_session *session, uint64_t *id_out, char **report_out,
	sandcell_error **err_out)
{
	(void)session;
	(void)err_out;
	*id_out = 3;
	return report(report_out, "{\"children\": 0}");
}

int sandcell_rollback(sandcell_session *session, uint64_t id, sandcell_error **err_out)
{
	(void)err_out;
	fake_note(&session->log, "rollback %llu", (unsigned long long)id);
	return 0;
}

int sandcell_checkpoint_drop(
	sandcell_session *session, uint64_t id, sandcell_error **err_out)
{
	(void)err_out;
	fake_note(&session->log, "drop %llu", (unsigned long long)id);
	return 0;
}

int sandcell_names(sandcell_session *session, char **json_out, sandcell_error **err_out)
{
	(void)session;
	(void)err_out;
	return report(json_out, "[{\"name\": \"x\"}]");
}

int sandcell_history(sandcell_session *session, char **json_out, sandcell_error **err_out)
{
	(void)session;
	return *json_out ? 0 : fake_fail(err_out, SANDCELL_E_GONE);
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
		return fake_fail(err_out, SANDCELL_E_PROTOCOL);
	if (fake_close_code < 0)
		return fake_fail(err_out, fake_close_code);
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
	fake_count(FAKE_SESSION, -1);
}
