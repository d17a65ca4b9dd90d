/* SPDX-License-Identifier: MIT */
/* Sessions from opening to closing, on real engines. */
#include "sessions.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

/* ---- code ---- */

START_TEST(state_lives_from_call_to_call)
{
	start(NULL);
	expect_ok("import math\nx = 40\ndef f(n): return x + n");
	expect_value("f(2)", "42");
	expect_value("math.floor(2.9)", "2");
	expect_end("y = 1\n1 / 0", NULL, SANDCELL_RESULT_ERROR, "ZeroDivisionError");
	expect_value("y", "1");
	finish();
}
END_TEST

START_TEST(output_is_kept_apart_and_byte_for_byte)
{
	size_t len = 0;

	start(NULL);
	sandcell_result *result = run_with("import sys, os\n"
					   "sys.stdout.buffer.write(bytes(range(256)))\n"
					   "sys.stdout.flush()\n"
					   "print('err', file=sys.stderr)\n"
					   "os.system('echo from a child')",
		NULL);
	const char *out = sandcell_result_get_stream(result, SANDCELL_STDOUT, &len);
	ck_assert_uint_eq(len, 256 + strlen("from a child\n"));
	for (int i = 0; i < 256; i++)
		ck_assert_int_eq((unsigned char)out[i], i);
	ck_assert_str_eq(out + 256, "from a child\n");
	ck_assert_str_eq(
		sandcell_result_get_stream(result, SANDCELL_STDERR, NULL), "err\n");
	sandcell_result_free(result);
	finish();
}
END_TEST

START_TEST(values_are_json_or_repr)
{
	sandcell_output_kind kind = SANDCELL_OUTPUT_NONE;

	start(NULL);
	sandcell_result *result = run_with("[1, 2.5, None, {'a': 'b'}]", NULL);
	ck_assert_str_eq(sandcell_result_get_output(result, &kind),
		"[1, 2.5, null, {\"a\": \"b\"}]");
	ck_assert_int_eq(kind, SANDCELL_OUTPUT_JSON);
	sandcell_result_free(result);
	result = run_with("(1, 2)", NULL);
	ck_assert_str_eq(sandcell_result_get_output(result, &kind), "(1, 2)");
	ck_assert_int_eq(kind, SANDCELL_OUTPUT_REPR);
	sandcell_result_free(result);
	result = run_with("x = 1", NULL);
	ck_assert_ptr_null(sandcell_result_get_output(result, &kind));
	ck_assert_int_eq(kind, SANDCELL_OUTPUT_NONE);
	sandcell_result_free(result);
	finish();
}
END_TEST

START_TEST(a_script_has_arguments_and_stdin)
{
	static const char *const args[] = {"one", "two words", NULL};
	const sandcell_execute_options opts = {.script = "/workspace/job.py",
		.args = args,
		.stdin_data = "line\nrest",
		.stdin_len = 9};

	start(NULL);
	sandcell_result *result = run_with(
		"import sys\nprint(sys.argv, __file__, input(), sys.stdin.read())", &opts);
	ck_assert_str_eq(sandcell_result_get_stream(result, SANDCELL_STDOUT, NULL),
		"['/workspace/job.py', 'one', 'two words'] /workspace/job.py line rest\n");
	sandcell_result_free(result);
	expect_end("input()", NULL, SANDCELL_RESULT_ERROR, "EOFError");
	finish();
}
END_TEST

START_TEST(large_code_and_stdin_arrive_whole)
{
	static char code[3 << 20];
	static char input[5 << 20];
	const sandcell_execute_options opts = {
		.stdin_data = input, .stdin_len = sizeof(input)};

	memset(code, ' ', sizeof(code));
	memcpy(code, "import sys, hashlib\nd = sys.stdin.buffer.read()\n", 48);
	static const char end[] = "\nlen(d), sum(d[::4099])";
	memset(code + 48, '#', sizeof(code) - 48);
	memcpy(code + sizeof(code) - sizeof(end), end, sizeof(end));
	unsigned long sum = 0;
	for (size_t i = 0; i < sizeof(input); i++) {
		input[i] = (char)(i % 251);
		sum += i % 4099 ? 0 : i % 251;
	}
	char want[64];
	(void)snprintf(want, sizeof(want), "(%zu, %lu)", sizeof(input), sum);
	start(NULL);
	sandcell_result *result = run_with(code, &opts);
	check_result(result, SANDCELL_RESULT_OK, NULL, "large code");
	ck_assert_str_eq(sandcell_result_get_output(result, NULL), want);
	sandcell_result_free(result);
	finish();
}
END_TEST

START_TEST(output_is_bounded_and_counted)
{
	const sandcell_execute_options opts = {.output_max = 1000};
	size_t len = 0;

	start(NULL);
	sandcell_result *result =
		run_with("print('A' + 'x' * 5_000_000 + 'Z', end='')", &opts);
	const char *out = sandcell_result_get_stream(result, SANDCELL_STDOUT, &len);
	ck_assert_uint_eq(len, 1000);
	ck_assert_int_eq(out[0], 'A');
	ck_assert_int_eq(out[999], 'Z');
	ck_assert_uint_eq(
		sandcell_result_get_dropped(result, SANDCELL_STDOUT), 5000002 - 1000);
	sandcell_result_free(result);
	finish();
}
END_TEST

/* ---- callbacks, interrupts, time ---- */

static void join(pthread_t thread)
{
	void *wrong = NULL;

	ck_assert_int_eq(pthread_join(thread, &wrong), 0);
	ck_assert_msg(wrong == NULL, "a thread failed to %s", (const char *)wrong);
}

struct tally {
	size_t bytes;
	unsigned long sum;
	size_t stop_after;
	sem_t *begun;
};

static int tally_output(sandcell_stream stream, const void *data, size_t len, void *user)
{
	struct tally *tally = user;

	(void)stream;
	if (tally->bytes == 0 && tally->begun)
		(void)sem_post(tally->begun);
	tally->bytes += len;
	for (size_t i = 0; i < len; i++)
		tally->sum += ((const unsigned char *)data)[i];
	return tally->stop_after && tally->bytes >= tally->stop_after;
}

START_TEST(a_callback_gets_every_byte)
{
	struct tally tally = {0};
	const sandcell_execute_options opts = {
		.on_output = tally_output, .output_user = &tally, .output_max = 10};

	start(NULL);
	expect_end("import os\nb = bytes(range(256)) * 256\n"
		   "for i in range(400): os.write(1, b)",
		&opts, SANDCELL_RESULT_OK, NULL);
	ck_assert_uint_eq(tally.bytes, 400 * 65536);
	ck_assert_uint_eq(tally.sum, 400UL * 256 * 32640);
	finish();
}
END_TEST

START_TEST(a_callback_stops_endless_output)
{
	struct tally tally = {.stop_after = 1000};
	const sandcell_execute_options opts = {.struct_size = sizeof(opts),
		.on_output = tally_output,
		.output_user = &tally};
	static const char code[] = "kept = 1\nwhile True: print('x' * 100)";
	sandcell_result *result = NULL;

	start(NULL);
	FAILS(SANDCELL_E_CALLBACK,
		sandcell_execute(session, code, strlen(code), &opts, &result, &err));
	expect_value("kept", "1");
	finish();
}
END_TEST

START_TEST(a_deadline_keeps_the_state_when_it_can)
{
	const sandcell_execute_options opts = {.timeout_ms = 300};

	start(NULL);
	sandcell_result *result =
		run_with("kept = 7\nprint('begun')\nwhile True: pass", &opts);
	check_result(result, SANDCELL_RESULT_TIMEOUT, "longer than its limit", "endless");
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
	ck_assert_str_eq(
		sandcell_result_get_stream(result, SANDCELL_STDOUT, NULL), "begun\n");
	sandcell_result_free(result);
	expect_value("kept", "7");
	finish();
}
END_TEST

START_TEST(a_deadline_ends_code_that_ignores_signals)
{
	const sandcell_execute_options opts = {.timeout_ms = 300};

	start(NULL);
	sandcell_result *result = run_with("import signal, time\n"
					   "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
					   "gone = 7\ntime.sleep(1000)",
		&opts);
	check_result(result, SANDCELL_RESULT_TIMEOUT, NULL, "ignoring");
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 0);
	sandcell_result_free(result);
	expect_end("gone", NULL, SANDCELL_RESULT_ERROR, "NameError");
	finish();
}
END_TEST

static void *interrupt_when_begun(void *user)
{
	(void)sem_wait(user);
	sandcell_interrupt(session);
	return NULL;
}

START_TEST(another_thread_interrupts_a_call)
{
	sem_t begun;
	struct tally tally = {.begun = &begun};
	const sandcell_execute_options opts = {
		.on_output = tally_output, .output_user = &tally};
	pthread_t thread;

	start(NULL);
	ck_assert_int_eq(sem_init(&begun, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, interrupt_when_begun, &begun), 0);
	sandcell_result *result =
		run_with("kept = 3\nprint('begun', flush=True)\nwhile True: pass", &opts);
	join(thread);
	check_result(result, SANDCELL_RESULT_INTERRUPTED, NULL, "endless");
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
	sandcell_result_free(result);
	sandcell_interrupt(session);
	expect_value("kept", "3");
	finish();
}
END_TEST

/* ---- ends ---- */

START_TEST(every_end_of_the_process_has_a_verdict)
{
	start(NULL);
	sandcell_result *result = run_with("import os; os._exit(7)", NULL);
	check_result(result, SANDCELL_RESULT_EXITED, NULL, "os._exit");
	ck_assert_int_eq(sandcell_result_get_exit_code(result), 7);
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
	sandcell_result_free(result);
	result = run_with("import ctypes; ctypes.string_at(0)", NULL);
	check_result(result, SANDCELL_RESULT_SIGNALED, NULL, "segfault");
	ck_assert_int_eq(sandcell_result_get_signal(result), SIGSEGV);
	sandcell_result_free(result);
	result = run_with("keep = 1\nimport sys; sys.exit(3)", NULL);
	check_result(result, SANDCELL_RESULT_EXITED, NULL, "sys.exit");
	ck_assert_int_eq(sandcell_result_get_exit_code(result), 3);
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
	sandcell_result_free(result);
	expect_value("keep", "1");
	finish();
}
END_TEST

START_TEST(out_of_memory_is_told_from_a_kill)
{
	const sandcell_session_options opts = {.memory_bytes = (uint64_t)256 << 20};

	start(&opts);
	expect_end("x = [bytearray(1 << 20) for _ in range(4096)]", NULL,
		SANDCELL_RESULT_OOM, "memory");
	expect_end("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", NULL,
		SANDCELL_RESULT_SIGNALED, "signal 9");
	expect_value("1 + 1", "2");
	finish();
}
END_TEST

/* Threads assert nothing, which Check does not allow for: they give back what went wrong.
 */
static void *kill_when_begun(void *user)
{
	(void)sem_wait(user);
	int rc = sc_container_kill(
		engine, sandcell_session_get_container(session), "KILL", soon(), NULL);
	return rc < 0 ? "kill" : NULL;
}

START_TEST(a_killed_container_is_explained_and_replaced)
{
	sem_t begun;
	struct tally tally = {.begun = &begun};
	const sandcell_execute_options opts = {
		.on_output = tally_output, .output_user = &tally};
	pthread_t thread;
	char first[80];

	start(NULL);
	(void)snprintf(first, sizeof(first), "%s", sandcell_session_get_container(session));
	ck_assert_int_eq(sem_init(&begun, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, kill_when_begun, &begun), 0);
	sandcell_result *result =
		run_with("x = 1\nprint('begun', flush=True)\nwhile True: pass", &opts);
	join(thread);
	check_result(result, SANDCELL_RESULT_SIGNALED, "killed from outside", "endless");
	ck_assert_int_eq(sandcell_result_get_signal(result), SIGKILL);
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 1);
	ck_assert_str_eq(
		sandcell_result_get_stream(result, SANDCELL_STDOUT, NULL), "begun\n");
	sandcell_result_free(result);
	ck_assert_str_ne(first, sandcell_session_get_container(session));
	expect_end("x", NULL, SANDCELL_RESULT_ERROR, "NameError");
	ck_assert_uint_eq(count_ours(), 1);
	finish();
}
END_TEST

START_TEST(a_container_removed_between_calls_is_replaced)
{
	start(NULL);
	expect_ok("x = 1");
	OK(sc_container_remove(
		engine, sandcell_session_get_container(session), soon(), &err));
	sandcell_result *result = run_with("1", NULL);
	ck_assert_int_eq(sandcell_result_get_success(result), 0);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 1);
	sandcell_result_free(result);
	expect_value("1 + 1", "2");
	finish();
}
END_TEST

/* ---- reset and close ---- */

START_TEST(reset_forgets_all_but_files)
{
	start(NULL);
	expect_ok("import subprocess, os\nx = 1\nopen('kept', 'w').close()\n"
		  "subprocess.Popen(['sleep', '1000'])\nos.environ['LEFT'] = '1'\n"
		  "os.chdir('/tmp')");
	OK(sandcell_reset(session, &err));
	expect_value("import os; 'x' in globals(), os.environ.get('LEFT'), os.getcwd(), "
		     "os.path.exists('kept')",
		"(False, None, '/workspace', True)");
	expect_value("import glob; any('sleep' in open(p).read() for p in "
		     "glob.glob('/proc/[0-9]*/comm'))",
		"false");
	finish();
}
END_TEST

START_TEST(closing_is_final_and_may_be_repeated)
{
	sandcell_result *result = NULL;

	start(NULL);
	OK(sandcell_session_close(session, &err));
	OK(sandcell_session_close(session, &err));
	FAILS(SANDCELL_E_CLOSED, sandcell_execute(session, "1", 1, NULL, &result, &err));
	FAILS(SANDCELL_E_CLOSED, sandcell_reset(session, &err));
	finish();
}
END_TEST

static void *close_when_begun(void *user)
{
	(void)sem_wait(user);
	return sandcell_session_close(session, NULL) < 0 ? "close" : NULL;
}

START_TEST(closing_ends_a_call_of_another_thread)
{
	sem_t begun;
	struct tally tally = {.begun = &begun};
	const sandcell_execute_options opts = {
		.on_output = tally_output, .output_user = &tally};
	pthread_t thread;

	start(NULL);
	ck_assert_int_eq(sem_init(&begun, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, close_when_begun, &begun), 0);
	expect_end("print('begun', flush=True)\nwhile True: pass", &opts,
		SANDCELL_RESULT_LOST, "closed");
	join(thread);
	finish();
}
END_TEST

/* ---- names and images ---- */

START_TEST(a_name_belongs_to_one_session)
{
	char name[64];
	sandcell_session *second = NULL;

	(void)snprintf(name, sizeof(name), "test-%ld", (long)getpid());
	const sandcell_session_options opts = {
		.struct_size = sizeof(opts), .name = name, .lease_ms = 5000};

	for (int i = 0; i < 3; i++) {
		start(&opts);
		ck_assert_str_eq(sandcell_session_get_name(session), name);
		FAILS(SANDCELL_E_CONFLICT,
			sandcell_session_open(engine, &opts, &second, &err));
		expect_value("1", "1");
		finish();
	}
}
END_TEST

START_TEST(a_missing_image_is_named)
{
	const sandcell_session_options opts = {
		.struct_size = sizeof(opts), .image = "sandcell/nothing-like-it"};
	sandcell_error *err = NULL;

	real_open(getenv("REAL_HOST"));
	ck_assert_int_eq(
		sandcell_session_open(engine, &opts, &session, &err), SANDCELL_E_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(
		sandcell_error_get_message(err), "scripts/build-image nothing-like-it"));
	sandcell_error_free(err);
	finish();
}
END_TEST

/* ---- many at once ---- */

#define THREADS 6

/* Runs code in a session of one thread; the value of it is want, unless that is NULL. */
static bool answers(sandcell_session *mine, const char *code, const char *want)
{
	sandcell_result *result = NULL;
	const char *got = NULL;

	if (sandcell_execute(mine, code, strlen(code), NULL, &result, NULL) < 0)
		return false;
	got = sandcell_result_get_output(result, NULL);
	bool right = sandcell_result_get_success(result) == 1;
	right = right && (!want || (got && strcmp(got, want) == 0));
	sandcell_result_free(result);
	return right;
}

/* Opens two sessions in turn; each must answer with what it alone was told. */
static void *use_two_sessions(void *user)
{
	const size_t number = (size_t)(uintptr_t)user;
	const sandcell_session_options opts = {.struct_size = sizeof(opts)};

	for (size_t i = 0; i < 2; i++) {
		sandcell_session *mine = NULL;
		char code[64];
		char want[32];

		if (sandcell_session_open(engine, &opts, &mine, NULL) < 0)
			return "open";
		(void)snprintf(code, sizeof(code), "x = %zu", number * 100 + i);
		(void)snprintf(want, sizeof(want), "%zu", (number * 100 + i) * 2);
		bool right = answers(mine, code, NULL) && answers(mine, "x * 2", want);
		int rc = sandcell_session_close(mine, NULL);
		sandcell_session_free(mine);
		if (!right || rc < 0)
			return "answer or close";
	}
	return NULL;
}

START_TEST(sessions_of_many_threads_do_not_mix)
{
	pthread_t threads[THREADS];

	real_open(getenv("REAL_HOST"));
	for (size_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_two_sessions,
					 (void *)(uintptr_t)i),
			0);
	for (size_t i = 0; i < THREADS; i++)
		join(threads[i]);
	finish();
}
END_TEST

/* ---- what the code sees ---- */

START_TEST(the_environment_is_ours_and_the_callers)
{
	static const char *const env[] = {"SECRET=s3cr3t", "HOME=/tmp", NULL};
	const sandcell_session_options opts = {.env = env};
	sc_autojson *inspect = NULL;

	start(&opts);
	expect_value(
		"import os; os.environ['SECRET'], os.environ['HOME'], os.environ['LANG']",
		"('s3cr3t', '/tmp', 'C.UTF-8')");
	OK(sc_container_inspect(
		engine, sandcell_session_get_container(session), soon(), &inspect, &err));
	char *text = json_dumps(inspect, 0);
	ck_assert_ptr_null(strstr(text, "s3cr3t"));
	sc_free(text);
	finish();
}
END_TEST

START_TEST(preloaded_modules_are_there)
{
	const sandcell_session_options opts = {.preload = "decimal, no_such_module"};

	start(&opts);
	expect_value("import sys; 'decimal' in sys.modules", "true");
	ck_assert_ptr_nonnull(
		strstr(sandcell_session_get_json(session), "preload of 'no_such_module'"));
	finish();
}
END_TEST

REAL_MAIN("session", state_lives_from_call_to_call, output_is_kept_apart_and_byte_for_byte,
	values_are_json_or_repr, a_script_has_arguments_and_stdin,
	large_code_and_stdin_arrive_whole, output_is_bounded_and_counted,
	a_callback_gets_every_byte, a_callback_stops_endless_output,
	a_deadline_keeps_the_state_when_it_can, a_deadline_ends_code_that_ignores_signals,
	another_thread_interrupts_a_call, every_end_of_the_process_has_a_verdict,
	out_of_memory_is_told_from_a_kill, a_killed_container_is_explained_and_replaced,
	a_container_removed_between_calls_is_replaced, reset_forgets_all_but_files,
	closing_is_final_and_may_be_repeated, closing_ends_a_call_of_another_thread,
	a_name_belongs_to_one_session, a_missing_image_is_named,
	sessions_of_many_threads_do_not_mix, the_environment_is_ours_and_the_callers,
	preloaded_modules_are_there)
