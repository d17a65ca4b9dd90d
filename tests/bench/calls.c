/* SPDX-License-Identifier: MIT */
/* open, execute, reset, cli against what they have to beat. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

#define ECHO_LOOP                                                                          \
	"import os\n"                                                                      \
	"while True:\n"                                                                    \
	"    data = os.read(0, 65536)\n"                                                   \
	"    if not data: break\n"                                                         \
	"    os.write(1, data)\n"

/* The lockdown of a session as far as the docker CLI can say it. */
#define DOCKER_RUN                                                                         \
	"run", "--rm", "--network", "none", "--cap-drop", "ALL", "--security-opt",         \
		"no-new-privileges", "--read-only", "--memory", "2g", "--memory-swap",     \
		"2g", "--pids-limit", "256", "--tmpfs", "/tmp:rw,exec,size=256m",          \
		"--tmpfs", "/run:rw,size=16m", "--tmpfs", "/var/tmp:rw,size=16m", "--ipc", \
		"private", "--log-driver", "none", "--ulimit", "core=0"

struct calls {
	struct bench *bench;
	sandcell_session *session;
	sc_stream *raw;
	const char *code;
	const char *const *argv;
};

static void run_code(void *user)
{
	struct calls *calls = user;

	bench_run(calls->session, calls->code);
}

static void spawn(void *user)
{
	struct calls *calls = user;

	bench_spawn(calls->argv);
}

/* Closing is not part of it: `docker run --rm` prints its result before it removes, too,
 * but returns only then; so this is the harder comparison only for the part we time. */
static void open_to_result(void *user)
{
	struct calls *calls = user;

	calls->session = bench_session(calls->bench, BENCH_IMAGE, NULL);
	bench_run(calls->session, "1");
}

static void close_it(struct calls *calls)
{
	if (calls->session)
		bench_close(calls->session);
	calls->session = NULL;
}

static void open_run_close(void *user)
{
	open_to_result(user);
	close_it(user);
}

void bench_open(struct bench *bench)
{
	const char *argv[] = {
		bench->docker, DOCKER_RUN, BENCH_IMAGE, "python3", "-c", "1", NULL};
	struct calls calls = {.bench = bench, .argv = argv};
	unsigned int rounds = bench_rounds(bench, 30);
	uint64_t opens[30];
	uint64_t closes[30];
	uint64_t runs[30];

	open_run_close(&calls);
	spawn(&calls);
	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t begin = sc_now_ns();
		open_to_result(&calls);
		opens[i] = sc_now_ns() - begin;
		begin = sc_now_ns();
		close_it(&calls);
		closes[i] = sc_now_ns() - begin;
		begin = sc_now_ns();
		spawn(&calls);
		runs[i] = sc_now_ns() - begin;
	}
	uint64_t run_ns = bench_median(runs, rounds);
	bench_report(bench, "open to first result", bench_median(opens, rounds),
		"docker run --rm python3 -c 1", run_ns, 1.1);
	bench_report(bench, "close", bench_median(closes, rounds), "0.15 s",
		UINT64_C(150000000), 1);
}

static void raw_echo(void *user)
{
	/* As long as an execute frame of "1". */
	static const char text[] =
		"0123456789012345678901234567890123456789012345678901234567890123456789";
	struct calls *calls = user;

	bench_raw_echo(calls->raw, text, sizeof(text) - 1);
}

void bench_execute(struct bench *bench)
{
	const char *echo[] = {"python3", "-I", "-S", "-c", ECHO_LOOP, NULL};
	struct calls calls = {.bench = bench, .code = "1"};
	uint64_t ours;
	uint64_t theirs;

	calls.session = bench_session(bench, BENCH_IMAGE, NULL);
	calls.raw = bench_raw(bench, calls.session, echo);
	bench_pair(bench_rounds(bench, 3000), 1, run_code, &calls, &ours, raw_echo, &calls,
		&theirs);
	bench_report(bench, "execute(\"1\")", ours, "raw round trip, same container",
		theirs, 2.5);

	const char *argv[] = {bench->docker, "exec",
		sandcell_session_get_container(calls.session), "python3", "-c", "1", NULL};
	calls.argv = argv;
	bench_pair(bench_rounds(bench, 20), 50, run_code, &calls, &ours, spawn, &calls,
		&theirs);
	bench_report(
		bench, "execute(\"1\")", ours, "docker exec python3 -c 1", theirs, -200);

	calls.code = "x = 1";
	bench_pair(bench_rounds(bench, 1000), 1, run_code, &calls, &ours, raw_echo, &calls,
		&theirs);
	bench_report(bench, "execute(\"x = 1\")", ours, "raw round trip", theirs, 0);
	calls.code = "print('x' * 100)";
	bench_pair(bench_rounds(bench, 1000), 1, run_code, &calls, &ours, raw_echo, &calls,
		&theirs);
	bench_report(bench, "execute(\"print(...)\")", ours, "raw round trip", theirs, 0);
	sc_stream_free(calls.raw);
	bench_close(calls.session);
}

static void reset_to_result(void *user)
{
	struct calls *calls = user;
	sandcell_error *err = NULL;

	bench_check(sandcell_reset(calls->session, &err), err, "reset");
	bench_run(calls->session, "1");
}

void bench_reset(struct bench *bench)
{
	struct calls calls = {.bench = bench};
	uint64_t ours;
	uint64_t theirs;

	calls.session = bench_session(bench, BENCH_DATASCI_IMAGE, "numpy,pandas");
	calls.code = "import subprocess, sys\n"
		     "subprocess.run([sys.executable, '-c', 'import pandas'], check=True)";
	bench_pair(bench_rounds(bench, 30), 1, reset_to_result, &calls, &ours, run_code,
		&calls, &theirs);
	bench_report(bench, "reset to result, pandas preloaded", ours,
		"new process that imports pandas", theirs, -20);
	bench_close(calls.session);
}
