/* SPDX-License-Identifier: MIT */
/*
 * Many calls of every kind on one session, after which neither this process nor the
 * supervisor may have grown: descriptors, processes and memory after the last call, and a
 * reset, against those after call 200.  SANDCELL_SOAK_CALLS: how many, 500 otherwise.
 */
#include "real.h"

#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>

#include "sandcell/sandcell.h"

#define IMAGE "sandcell/datasci"
#define WARM  200
#define CALLS 500

struct step {
	unsigned int every; /* how often: each n-th call */
	const char *code;
	uint32_t timeout_ms;
	int status;
};

/* The first row whose number divides the call's is taken; the last one always fits. */
static const struct step steps[] = {
	{97,
		"import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
		"time.sleep(60)",
		50, SANDCELL_RESULT_TIMEOUT},
	{53, "import ctypes; ctypes.string_at(0)", 0, SANDCELL_RESULT_SIGNALED},
	{47, "import os; os._exit(3)", 0, SANDCELL_RESULT_EXITED},
	{31, "while True: pass", 50, SANDCELL_RESULT_TIMEOUT},
	{29, "import matplotlib.pyplot as plt; plt.plot([1, 2, 3])", 0, SANDCELL_RESULT_OK},
	{23, "import sys; sys.stdout.write('x' * 3000000)", 0, SANDCELL_RESULT_OK},
	{19, "import subprocess; subprocess.run(['echo', 'child'])", 0, SANDCELL_RESULT_OK},
	{17, "import sys; sys.exit(4)", 0, SANDCELL_RESULT_EXITED},
	{13, "import subprocess; subprocess.Popen(['sleep', '600']); 1", 0,
		SANDCELL_RESULT_OK},
	{11, "import threading\nthreading.Thread(target=print, args=('t',)).start()", 0,
		SANDCELL_RESULT_OK},
	{7, "display({'a': 1}); data = list(range(100000)); data[:3]", 0,
		SANDCELL_RESULT_OK},
	{5, "1/0", 0, SANDCELL_RESULT_ERROR},
	{1, "print('hello'); {'value': [1, 2.5, None]}", 0, SANDCELL_RESULT_OK},
};

struct reading {
	size_t host_fds;
	size_t host_kib;
	size_t supervisor_fds;
	size_t supervisor_kib;
	size_t processes;
};

static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	ck_assert_msg(dir != NULL, "cannot list %s", path);
	while (readdir(dir))
		count++;
	ck_assert_int_eq(closedir(dir), 0);
	return count;
}

/* Not PSS: a page's share depends on who else runs, and on what a fork has not touched yet.
 */
static size_t anonymous_kib(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];
	size_t kib = 0;

	ck_assert_msg(file != NULL, "cannot read %s", path);
	while (kib == 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "Anonymous:", 10) == 0)
			kib = strtoul(line + 10, NULL, 10);
	}
	ck_assert_int_eq(fclose(file), 0);
	return kib;
}

static size_t count_children(int64_t pid)
{
	char path[64];
	char text[4096] = "";
	size_t count = 0;

	(void)snprintf(path, sizeof(path), "/proc/%lld/task/%lld/children", (long long)pid,
		(long long)pid);
	FILE *file = fopen(path, "r");
	ck_assert_msg(file != NULL, "cannot read %s", path);
	size_t len = fread(text, 1, sizeof(text) - 1, file);
	ck_assert_int_eq(fclose(file), 0);
	for (size_t i = 0; i < len; i++)
		count += text[i] == ' ';
	return count;
}

static sandcell_result *run(
	sandcell_session *session, const char *code, uint32_t timeout_ms)
{
	sandcell_execute_options opts = SANDCELL_EXECUTE_OPTIONS_INIT;
	sandcell_result *result = NULL;

	opts.timeout_ms = timeout_ms;
	OK(sandcell_execute(session, code, strlen(code), &opts, &result, &err));
	return result;
}

static void take_call(sandcell_session *session, unsigned int number)
{
	const struct step *step = steps;

	if (number % 37 == 0) {
		sandcell_result *listing = NULL;

		OK(sandcell_execute_cli(session, "ls / | head -3", NULL, &listing, &err));
		ck_assert_int_eq(sandcell_result_get_success(listing), 1);
		sandcell_result_free(listing);
		return;
	}
	while (number % step->every != 0)
		step++;
	sandcell_result *result = run(session, step->code, step->timeout_ms);
	ck_assert_msg(sandcell_result_get_status(result) == step->status,
		"call %u: %s: %s: %s", number, step->code,
		sandcell_result_status_name(sandcell_result_get_status(result)),
		sandcell_result_get_error(result));
	(void)sandcell_result_get_json(result);
	sandcell_result_free(result);
}

static void read_all(sandcell_session *session, int64_t pid, struct reading *reading)
{
	char path[64];

	OK(sandcell_reset(session, &err));
	sandcell_result_free(run(session, "1", 0));
	(void)malloc_trim(0); /* what is free is not growth */
	reading->host_fds = count_entries("/proc/self/fd");
	reading->host_kib = anonymous_kib("/proc/self/smaps_rollup");
	(void)snprintf(path, sizeof(path), "/proc/%lld/fd", (long long)pid);
	reading->supervisor_fds = count_entries(path);
	(void)snprintf(path, sizeof(path), "/proc/%lld/smaps_rollup", (long long)pid);
	reading->supervisor_kib = anonymous_kib(path);
	reading->processes = count_children(pid);
}

static void about_the_same(const char *what, size_t before, size_t after)
{
	(void)printf("%-20s %8zu -> %8zu\n", what, before, after);
	ck_assert_msg(after <= before + before / 20 + 1, "%s grew from %zu to %zu", what,
		before, after);
}

static int64_t supervisor_pid(const sandcell_session *session)
{
	struct sc_container_state state;
	sc_autojson *inspect = NULL;

	OK(sc_container_inspect(
		engine, sandcell_session_get_container(session), soon(), &inspect, &err));
	sc_container_read_state(inspect, &state);
	return state.pid;
}

START_TEST(nothing_grows_over_many_calls)
{
	const char *text = getenv("SANDCELL_SOAK_CALLS");
	unsigned int calls = text ? (unsigned int)strtoul(text, NULL, 10) : CALLS;
	sandcell_session_options opts = SANDCELL_SESSION_OPTIONS_INIT;
	sandcell_session *session = NULL;
	struct reading before;
	struct reading after;

	real_open(getenv("REAL_HOST"));
	opts.image = IMAGE;
	opts.preload = "matplotlib.pyplot";
	OK(sandcell_session_open(engine, &opts, &session, &err));
	int64_t pid = supervisor_pid(session);
	for (unsigned int i = 1; i <= WARM; i++)
		take_call(session, i);
	read_all(session, pid, &before);
	for (unsigned int i = WARM + 1; i <= calls; i++)
		take_call(session, i);
	read_all(session, pid, &after);
	about_the_same("host descriptors", before.host_fds, after.host_fds);
	about_the_same("host memory, KiB", before.host_kib, after.host_kib);
	about_the_same("its descriptors", before.supervisor_fds, after.supervisor_fds);
	about_the_same("its memory, KiB", before.supervisor_kib, after.supervisor_kib);
	about_the_same("its children", before.processes, after.processes);
	ck_assert_int_eq(sandcell_session_close(session, NULL), 0);
	sandcell_session_free(session);
	sc_engine_free(SANDCELL_TAKE(engine));
}
END_TEST

REAL_MAIN("soak", nothing_grows_over_many_calls)
