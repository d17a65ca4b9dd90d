/* SPDX-License-Identifier: MIT */
/* A command pipeline against the same one by posix_spawn, and by docker exec. */
#include "bench.h"

#include "sandcell/cli.h"

struct commands {
	struct bench *bench;
	sandcell_session *session;
	const char *command;
	const char *code;
	const char *const *argv;
};

static void run_code(void *user)
{
	struct commands *calls = user;

	bench_run(calls->session, calls->code);
}

static void spawn(void *user)
{
	struct commands *calls = user;

	bench_spawn(calls->argv);
}

static void run_command(void *user)
{
	struct commands *calls = user;
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;

	bench_check(
		sandcell_execute_cli(calls->session, calls->command, NULL, &result, &err),
		err, "execute_cli");
	if (!sandcell_result_get_success(result))
		bench_die("%s: %s", calls->command, sandcell_result_get_error(result));
	sandcell_result_free(result);
}

static void judge(void *user)
{
	const char *command = user;

	if (sandcell_validate_cli_command(command, 0, NULL) != 0)
		bench_die("%s is refused", command);
}

/* Pure, so there is nothing to compare with but the time that nobody notices. */
static void bench_judge(struct bench *bench)
{
	static char command[] =
		"grep -rn --include='*.py' 'def main' . | sort -u | head -20";
	uint64_t ours;
	uint64_t same;

	bench_pair(bench_rounds(bench, 1000), 10, judge, command, &ours, judge, command,
		&same);
	bench_report(bench, "parse and judge a pipeline", ours, "5 us", 5000, 1);
}

void bench_cli(struct bench *bench)
{
	/* The same pipeline as a program would run it, timed by itself inside. */
	static const char pipeline[] =
		"import os\n"
		"r, w = os.pipe()\n"
		"one = os.posix_spawn('/usr/bin/ls', ['ls'], os.environ, file_actions=[\n"
		"    (os.POSIX_SPAWN_DUP2, w, 1), (os.POSIX_SPAWN_CLOSE, r)])\n"
		"os.close(w)\n"
		"two = os.posix_spawn('/usr/bin/head', ['head', '-3'], os.environ, "
		"file_actions=[\n"
		"    (os.POSIX_SPAWN_DUP2, r, 0)])\n"
		"os.close(r)\n"
		"os.waitpid(one, 0); os.waitpid(two, 0)\n";
	struct commands calls = {
		.bench = bench, .command = "ls | head -3", .code = pipeline};
	uint64_t ours;
	uint64_t theirs;

	bench_judge(bench);
	calls.session = bench_session(bench, BENCH_IMAGE, NULL);
	bench_run(calls.session, "for i in range(20): open(f'file{i}', 'w').close()");
	bench_pair(bench_rounds(bench, 200), 1, run_command, &calls, &ours, run_code,
		&calls, &theirs);
	bench_report(bench, "execute_cli(\"ls | head -3\")", ours,
		"the same by posix_spawn inside", theirs, 2.5);
	const char *argv[] = {bench->docker, "exec",
		sandcell_session_get_container(calls.session), "sh", "-c", "ls | head -3",
		NULL};
	calls.argv = argv;
	bench_pair(bench_rounds(bench, 20), 50, run_command, &calls, &ours, spawn, &calls,
		&theirs);
	bench_report(bench, "execute_cli(\"ls | head -3\")", ours, "docker exec sh -c",
		theirs, -10);
	bench_close(calls.session);
}
