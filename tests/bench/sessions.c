/* SPDX-License-Identifier: MIT */
/* Sessions and raw streams for the benchmarks. */
#include "bench.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/exec.h"

extern char **environ;

sandcell_session *bench_session(struct bench *bench, const char *image, const char *preload)
{
	sandcell_session_options opts = SANDCELL_SESSION_OPTIONS_INIT;
	sandcell_session *session = NULL;
	sandcell_error *err = NULL;

	opts.image = image;
	opts.preload = preload;
	bench_check(sandcell_session_open(bench->engine, &opts, &session, &err), err,
		"opening a session");
	return session;
}

void bench_close(sandcell_session *session)
{
	sandcell_error *err = NULL;

	bench_check(sandcell_session_close(session, &err), err, "closing a session");
	sandcell_session_free(session);
}

void bench_run(sandcell_session *session, const char *code)
{
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;

	bench_check(sandcell_execute(session, code, strlen(code), NULL, &result, &err), err,
		"execute");
	if (!sandcell_result_get_success(result))
		bench_die("%s: %s", code, sandcell_result_get_error(result));
	sandcell_result_free(result);
}

void bench_spawn(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;
	int status = 0;

	if (posix_spawn_file_actions_init(&actions) != 0 ||
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) !=
			0 ||
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) !=
			0)
		bench_die("posix_spawn_file_actions");
	if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) != 0)
		bench_die("cannot run %s", argv[0]);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		bench_die("%s %s ended with wait status %d", argv[0], argv[1], status);
}

sc_stream *bench_raw(
	struct bench *bench, const sandcell_session *session, const char *const *argv)
{
	sc_deadline deadline = sc_deadline_in_ms(30000);
	sandcell_error *err = NULL;
	sc_stream *stream = NULL;
	sc_autofree char *id = NULL;
	json_t *cmd = json_array();
	json_t *body = NULL;

	for (size_t i = 0; argv[i]; i++)
		(void)json_array_append_new(cmd, json_string(argv[i]));
	body = json_pack("{s:b, s:b, s:b, s:s, s:o}", "AttachStdin", 1, "AttachStdout", 1,
		"AttachStderr", 1, "User", "65530:65530", "Cmd", cmd);
	if (!body)
		bench_die("out of memory");
	bench_check(sc_exec_create(bench->engine, sandcell_session_get_container(session),
			    body, deadline, &id, &err),
		err, "creating an exec");
	json_decref(body);
	bench_check(sc_exec_start(bench->engine, id, deadline, &stream, &err), err,
		"starting an exec");
	return stream;
}

/* One read, waiting for it: bytes, 0 at the end. */
static size_t read_some(sc_stream *stream, char *data, size_t cap)
{
	sandcell_error *err = NULL;
	size_t len = 0;

	for (;;) {
		struct pollfd pollfd = {sc_stream_fd(stream), POLLIN, 0};
		int rc = sc_stream_read(stream, data, cap, &len, &err);
		bench_check(rc, err, "reading a raw stream");
		if (rc == SC_STREAM_DATA)
			return len;
		if (rc == SC_STREAM_END)
			return 0;
		(void)poll(&pollfd, 1, -1);
	}
}

void bench_raw_echo(sc_stream *stream, const char *data, size_t len)
{
	sandcell_error *err = NULL;
	char answer[1024];
	size_t sent = 0;
	size_t got = 0;

	while (sent < len) {
		size_t n = 0;
		bench_check(sc_stream_write(stream, data + sent, len - sent, &n, &err), err,
			"writing to a raw stream");
		sent += n;
	}
	while (got < len + 8) { /* the engine's frame header comes with it */
		size_t n = read_some(stream, answer, sizeof(answer));
		if (n == 0)
			bench_die("the raw stream ended");
		got += n;
	}
}

uint64_t bench_raw_drain(sc_stream *stream)
{
	static char data[65536];
	uint64_t total = 0;
	size_t n;

	for (;;) {
		n = read_some(stream, data, sizeof(data));
		if (n == 0)
			return total;
		total += n;
	}
}
