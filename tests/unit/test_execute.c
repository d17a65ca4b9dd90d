/* SPDX-License-Identifier: MIT */
/* Calls on the scripted engine and supervisor: every ending is a result, and an honest one.
 */
#include <pthread.h>
#include <semaphore.h>

#include "fake_runner.h"
#include "sandcell/sandcell.h"

#define OK "{\"status\":\"ok\",\"state_preserved\":true,\"duration_ns\":5}"

static fake_engine *fake;
static sandcell_engine *engine;
static fake_runner runner;
static sandcell_session *session;

static void begin_with(int (*on_frame)(fake_runner *, const sc_frame *))
{
	sandcell_session_options opts = {.struct_size = sizeof(opts)};
	sandcell_error *err = NULL;

	fake = fake_start();
	runner = (fake_runner){.on_frame = on_frame};
	runner_install(fake, &runner);
	fake_reply(fake, "GET /events", 200, "");
	engine = open_engine(fake);
	int rc = sandcell_session_open(engine, &opts, &session, &err);
	ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
}

static void end(void)
{
	(void)sandcell_session_close(session, NULL);
	ck_assert_int_eq(fake_left(fake), 0);
	sandcell_session_free(session);
	sandcell_engine_free(engine);
	fake_stop(fake);
}

static sandcell_result *execute(const char *code, const sandcell_execute_options *opts)
{
	sandcell_execute_options mine = {0};
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;

	if (opts)
		mine = *opts;
	mine.struct_size = sizeof(mine);
	int rc = sandcell_execute(session, code, strlen(code), &mine, &result, &err);
	ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
	return result;
}

static void expect_status(sandcell_result *result, int status, const char *part)
{
	const char *error = sandcell_result_get_error(result);

	ck_assert_msg(sandcell_result_get_status(result) == status, "%s",
		sandcell_result_get_json(result));
	ck_assert_msg(!part || (error && strstr(error, part)), "no '%s' in '%s'", part,
		error ? error : "NULL");
	sandcell_result_free(result);
}

static bool is(const sc_frame *frame, const char *type)
{
	return strcmp(frame->type, type) == 0;
}

/* ---- the good case ---- */

static int answer(fake_runner *r, const sc_frame *frame)
{
	if (!is(frame, "execute") && !is(frame, "reset"))
		return -1;
	(void)runner_output(r, frame->id, 1, "to stdout");
	(void)runner_output(r, frame->id, 2, "to stderr");
	return runner_result(r, frame->id, OK);
}

START_TEST(output_and_result_arrive)
{
	size_t len = 0;

	begin_with(answer);
	for (int i = 0; i < 3; i++) {
		sandcell_result *result = execute("x", NULL);
		ck_assert_int_eq(sandcell_result_get_success(result), 1);
		ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
		ck_assert_int_eq(sandcell_result_get_container_restarted(result), 0);
		ck_assert_str_eq(sandcell_result_get_stream(result, SANDCELL_STDOUT, &len),
			"to stdout");
		ck_assert_str_eq(sandcell_result_get_stream(result, SANDCELL_STDERR, NULL),
			"to stderr");
		expect_status(result, SANDCELL_RESULT_OK, NULL);
	}
	ck_assert_int_eq(sandcell_reset(session, NULL), 0);
	end();
}
END_TEST

/* On the fake's thread, where nothing may be asserted: what is wrong hangs up. */
static int check_header(fake_runner *r, const sc_frame *frame)
{
	const json_t *args = json_object_get(frame->header, "args");
	const char *last = json_string_value(json_array_get(args, 1));
	const char *script = sc_json_get_str(frame->header, "script", "");

	if (strcmp(script, "/x/job.py") != 0 || json_array_size(args) != 2 || !last ||
		strcmp(last, "-v") != 0)
		return -1;
	if (sc_json_get_int(frame->header, "timeout_ms", 0) != 1234 ||
		frame->payload_len != 9 || memcmp(frame->payload, "codeinput", 9) != 0)
		return -1;
	return runner_result(r, frame->id, OK);
}

START_TEST(options_reach_the_supervisor)
{
	static const char *const args[] = {"a", "-v", NULL};
	const sandcell_execute_options opts = {.script = "/x/job.py",
		.args = args,
		.stdin_data = "input",
		.stdin_len = 5,
		.timeout_ms = 1234};

	begin_with(check_header);
	expect_status(execute("code", &opts), SANDCELL_RESULT_OK, NULL);
	end();
}
END_TEST

START_TEST(calls_that_cannot_be_made_are_errors)
{
	static const char *const not_text[] = {"\xff", NULL};
	static const struct {
		sandcell_execute_options opts;
		const char *code;
		size_t len;
		int rc;
	} rows[] = {
		{{.flags = 1u << 30}, "1", 1, SANDCELL_E_INVAL},
		{{0}, "\xff", 1, SANDCELL_E_INVAL},
		{{.args = not_text}, "1", 1, SANDCELL_E_INVAL},
		{{.script = "\xff"}, "1", 1, SANDCELL_E_INVAL},
		{{0}, "1", ((size_t)16 << 20) + 1, SANDCELL_E_LIMIT},
		{{.stdin_data = "x", .stdin_len = (size_t)65 << 20}, "1", 1,
			SANDCELL_E_LIMIT},
		{{.struct_size = 8}, "1", 1, SANDCELL_E_INVAL},
	};

	begin_with(answer);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sandcell_execute_options opts = rows[i].opts;
		sandcell_result *result = NULL;

		if (!opts.struct_size)
			opts.struct_size = sizeof(opts);
		ck_assert_int_eq(sandcell_execute(session, rows[i].code, rows[i].len, &opts,
					 &result, NULL),
			rows[i].rc);
		ck_assert_ptr_null(result);
	}
	expect_status(execute("still works", NULL), SANDCELL_RESULT_OK, NULL);
	end();
}
END_TEST

START_TEST(a_closed_session_says_so)
{
	sandcell_result *result = NULL;

	begin_with(answer);
	ck_assert_int_eq(sandcell_session_close(session, NULL), 0);
	ck_assert_int_eq(
		sandcell_execute(session, "1", 1, NULL, &result, NULL), SANDCELL_E_CLOSED);
	ck_assert_int_eq(sandcell_execute_cli(session, "ls", NULL, &result, NULL),
		SANDCELL_E_CLOSED);
	ck_assert_int_eq(sandcell_execute_cli(session, "rm x", NULL, &result, NULL),
		SANDCELL_E_CLOSED);
	ck_assert_int_eq(sandcell_reset(session, NULL), SANDCELL_E_CLOSED);
	end();
}
END_TEST

/* ---- callbacks ---- */

struct heard {
	sc_buf text;
	int calls;
	int stop_at; /* the call that asks to stop; 0: none */
};

static int hear(sandcell_stream stream, const void *data, size_t len, void *user)
{
	struct heard *heard = user;
	sandcell_result *result = NULL;

	(void)sc_buf_printf(&heard->text, "%d:", (int)stream);
	(void)sc_buf_append(&heard->text, data, len);
	ck_assert_int_eq(
		sandcell_execute(session, "1", 1, NULL, &result, NULL), SANDCELL_E_BUSY);
	ck_assert_int_eq(sandcell_reset(session, NULL), SANDCELL_E_BUSY);
	ck_assert_int_eq(sandcell_session_close(session, NULL), SANDCELL_E_BUSY);
	return ++heard->calls == heard->stop_at;
}

START_TEST(a_callback_hears_everything_and_cannot_call_back)
{
	struct heard heard = {.text = SC_BUF_INIT(SC_MAX_TEXT)};
	const sandcell_execute_options opts = {
		.on_output = hear, .output_user = &heard, .output_max = 4};

	begin_with(answer);
	sandcell_result *result = execute("x", &opts);
	ck_assert_str_eq(sc_buf_text(&heard.text), "1:to stdout2:to stderr");
	ck_assert_str_eq(sandcell_result_get_stream(result, SANDCELL_STDOUT, NULL), "tout");
	ck_assert_uint_eq(sandcell_result_get_dropped(result, SANDCELL_STDOUT), 5);
	expect_status(result, SANDCELL_RESULT_OK, NULL);
	sc_buf_clear(&heard.text);
	end();
}
END_TEST

/* Talks until it is interrupted. */
static int talk_until_interrupted(fake_runner *r, const sc_frame *frame)
{
	static uint64_t running;

	if (is(frame, "execute")) {
		running = frame->id;
		return runner_output(r, running, 1, "one");
	}
	if (!is(frame, "interrupt") ||
		(uint64_t)sc_json_get_int(frame->header, "target", 0) != running)
		return -1;
	(void)runner_output(r, running, 1, "two");
	return runner_result(
		r, running, "{\"status\":\"interrupted\",\"state_preserved\":true}");
}

START_TEST(a_callback_can_stop_the_call)
{
	struct heard heard = {.text = SC_BUF_INIT(SC_MAX_TEXT), .stop_at = 1};
	const sandcell_execute_options opts = {
		.struct_size = sizeof(opts), .on_output = hear, .output_user = &heard};
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;

	begin_with(talk_until_interrupted);
	ck_assert_int_eq(sandcell_execute(session, "x", 1, &opts, &result, &err),
		SANDCELL_E_CALLBACK);
	expect_error(&err, SANDCELL_E_CALLBACK, "asked to stop");
	ck_assert_str_eq(sc_buf_text(&heard.text), "1:one");
	sc_buf_clear(&heard.text);
	end();
}
END_TEST

/* ---- interrupts ---- */

static sem_t talking;

static int note_talking(sandcell_stream stream, const void *data, size_t len, void *user)
{
	(void)stream;
	(void)data;
	(void)len;
	(void)user;
	return sem_post(&talking);
}

static void *interrupt_later(void *user)
{
	(void)sem_wait(&talking);
	sandcell_interrupt(user);
	return NULL;
}

START_TEST(another_thread_interrupts)
{
	const sandcell_execute_options opts = {.on_output = note_talking};
	pthread_t thread;

	begin_with(talk_until_interrupted);
	ck_assert_int_eq(sem_init(&talking, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, interrupt_later, session), 0);
	sandcell_result *result = execute("x", &opts);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_str_eq(
		sandcell_result_get_stream(result, SANDCELL_STDOUT, NULL), "onetwo");
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
	expect_status(result, SANDCELL_RESULT_INTERRUPTED, NULL);
	end();
}
END_TEST

START_TEST(an_interrupt_between_calls_hits_no_call)
{
	begin_with(answer);
	sandcell_interrupt(session);
	sandcell_interrupt(session);
	expect_status(execute("x", NULL), SANDCELL_RESULT_OK, NULL);
	sandcell_interrupt(NULL);
	end();
}
END_TEST

/* ---- losses ---- */

static int hang_up_once(fake_runner *r, const sc_frame *frame)
{
	if (atomic_load(&r->sessions) > 1)
		return answer(r, frame);
	(void)runner_output(r, frame->id, 1, "partial");
	return -1;
}

/* What is made of these events. */
static void expect_loss(
	const char *events, int status, int signal, int exit_code, const char *part)
{
	begin_with(hang_up_once);
	fake_reply(fake, "GET /events", 200, events);
	sandcell_result *result = execute("x", NULL);
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
	ck_assert_int_eq(sandcell_result_get_success(result), 0);
	ck_assert_int_eq(sandcell_result_get_signal(result), signal);
	ck_assert_int_eq(sandcell_result_get_exit_code(result), exit_code);
	ck_assert_str_eq(
		sandcell_result_get_stream(result, SANDCELL_STDOUT, NULL), "partial");
	expect_status(result, status, part);
	result = execute("y", NULL);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 0);
	expect_status(result, SANDCELL_RESULT_OK, NULL);
	end();
}

#define EVENT(action, attributes)                                                          \
	"{\"Type\":\"container\",\"Action\":\"" action "\",\"Actor\":{\"ID\":\"c0ffee\","  \
	"\"Attributes\":{" attributes "}}}\n"

START_TEST(a_killed_container_is_signaled)
{
	expect_loss(EVENT("kill", "\"signal\":\"9\"") EVENT("die", "\"exitCode\":\"137\""),
		SANDCELL_RESULT_SIGNALED, 9, 137, "killed from outside (signal 9)");
	expect_loss(EVENT("oom", "") EVENT("kill", "\"signal\":\"15\"")
			    EVENT("die", "\"exitCode\":\"0\"") EVENT("destroy", ""),
		SANDCELL_RESULT_SIGNALED, 15, 143, "signal 15");
	expect_loss(EVENT("die", "\"exitCode\":\"139\""), SANDCELL_RESULT_SIGNALED, 11, 139,
		"signal 11");
}
END_TEST

START_TEST(an_oom_of_the_container_is_oom)
{
	expect_loss(EVENT("oom", "") EVENT("die", "\"exitCode\":\"137\""),
		SANDCELL_RESULT_OOM, 9, 137, "out of memory");
}
END_TEST

START_TEST(an_end_without_a_reason_is_lost)
{
	expect_loss(EVENT("die", "\"exitCode\":\"71\""), SANDCELL_RESULT_LOST, 0, -1,
		"exit status 71");
	expect_loss(EVENT("destroy", ""), SANDCELL_RESULT_LOST, 0, -1, "nobody knows why");
}
END_TEST

/* Hangs up within the reply to a call: after so many bytes of it. */
static size_t cut_reply_at;

static int answer_in_part(fake_runner *r, const sc_frame *frame)
{
	r->sent = 0;
	r->cut_at = cut_reply_at;
	int rc = answer(r, frame);
	r->cut_at = 0;
	return rc;
}

/* Success may only be told when the whole result has come. */
START_TEST(a_cut_at_any_byte_of_the_reply_is_no_success)
{
	cut_reply_at = 0;
	begin_with(answer_in_part);
	fake_reply(fake, "GET /events", 200, EVENT("die", "\"exitCode\":\"137\""));
	expect_status(execute("x", NULL), SANDCELL_RESULT_OK, NULL);
	/* Ids differ in length, so the very last bytes are not cut. */
	size_t total = runner.sent - 30;
	for (size_t n = 1; n < total; n++) {
		cut_reply_at = n;
		sandcell_result *result = execute("x", NULL);
		ck_assert_int_eq(sandcell_result_get_success(result), 0);
		ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
		ck_assert_int_eq(sandcell_result_get_container_restarted(result), 1);
		expect_status(result, SANDCELL_RESULT_SIGNALED, "signal 9");
		ck_assert_int_eq(fake_left(fake), 1);
	}
	cut_reply_at = 0;
	expect_status(execute("x", NULL), SANDCELL_RESULT_OK, NULL);
	end();
}
END_TEST

START_TEST(a_loss_opens_another_container)
{
	begin_with(hang_up_once);
	sandcell_result *result = execute("x", NULL);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 1);
	expect_status(result, SANDCELL_RESULT_LOST, "while it was running");
	ck_assert_uint_eq(fake_count(fake, "POST /containers/create"), 2);
	ck_assert_int_eq(fake_left(fake), 1);
	end();
}
END_TEST

START_TEST(a_container_that_cannot_be_replaced_is_tried_again)
{
	begin_with(hang_up_once);
	const fake_rule refuse = {.on = "POST /containers/create",
		.status = 500,
		.body = "{\"message\":\"disk full\"}",
		.times = 2};
	fake_on(fake, &refuse);
	sandcell_result *result = execute("x", NULL);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 0);
	expect_status(result, SANDCELL_RESULT_LOST, "disk full");
	sandcell_error *err = NULL;
	ck_assert_int_eq(
		sandcell_execute(session, "x", 1, NULL, &result, &err), SANDCELL_E_GONE);
	expect_error(&err, SANDCELL_E_GONE, "disk full");
	result = execute("x", NULL);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 1);
	expect_status(result, SANDCELL_RESULT_OK, NULL);
	result = execute("x", NULL);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 0);
	sandcell_result_free(result);
	/* Not end(): the fake counts the two refused ones, which were never made. */
	(void)sandcell_session_close(session, NULL);
	sandcell_session_free(session);
	sandcell_engine_free(engine);
	fake_stop(fake);
}
END_TEST

static int be_hostile(fake_runner *r, const sc_frame *frame)
{
	static const char *const headers[] = {
		"{\"type\":\"result\",\"status\":\"splendid\"}",
		"{\"type\":\"result\"}",
		"{\"type\":\"result\",\"parts\":[[\"output\",99999999999]]}",
		"{\"type\":\"output\",\"stream\":77}",
		"{\"type\":\"display\",\"parts\":7}",
		"{\"type\":\"hello\"}",
		"[]",
		"{\"type\":\"unheard of\"}",
	};
	size_t attempt = (size_t)atomic_load(&r->sessions) - 1;

	if (attempt >= sizeof(headers) / sizeof(headers[0]))
		return answer(r, frame);
	json_t *header = json_loads(headers[attempt], 0, NULL);
	(void)json_object_set_new(header, "id", json_integer((json_int_t)frame->id));
	return runner_send(r, header, "", 0);
}

START_TEST(a_hostile_container_is_removed_and_replaced)
{
	begin_with(be_hostile);
	for (int i = 0; i < 8; i++) {
		sandcell_result *result = execute("x", NULL);
		ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
		ck_assert_int_eq(sandcell_result_get_container_restarted(result), 1);
		expect_status(result, SANDCELL_RESULT_LOST, "broke the protocol");
		ck_assert_int_eq(fake_left(fake), 1);
	}
	expect_status(execute("x", NULL), SANDCELL_RESULT_OK, NULL);
	end();
}
END_TEST

static int flood(fake_runner *r, const sc_frame *frame)
{
	static char bytes[65536];

	if (!is(frame, "execute"))
		return -1;
	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0; i < 800; i++) {
		int rc = runner_send(r,
			json_pack("{s:s, s:I, s:i}", "type", "output", "id",
				(json_int_t)frame->id, "stream", 1),
			bytes, sizeof(bytes));
		if (rc < 0)
			return rc;
	}
	return runner_result(r, frame->id, OK);
}

START_TEST(a_flood_costs_no_more_than_what_is_kept)
{
	const sandcell_execute_options opts = {.output_max = 1000};
	size_t len = 0;

	begin_with(flood);
	sandcell_result *result = execute("x", &opts);
	(void)sandcell_result_get_stream(result, SANDCELL_STDOUT, &len);
	ck_assert_uint_eq(len, 1000);
	ck_assert_uint_eq(
		sandcell_result_get_dropped(result, SANDCELL_STDOUT), 800 * 65536 - 1000);
	expect_status(result, SANDCELL_RESULT_OK, NULL);
	end();
}
END_TEST

/* ---- time ---- */

static int never_answer(fake_runner *r, const sc_frame *frame)
{
	if (atomic_load(&r->sessions) > 1)
		return answer(r, frame);
	return is(frame, "execute") ? runner_output(r, frame->id, 1, "hm") : 0;
}

START_TEST(the_host_keeps_a_deadline_of_its_own)
{
	const sandcell_execute_options opts = {.timeout_ms = 1};

	begin_with(never_answer);
	sandcell_result *result = execute("x", &opts);
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 1);
	ck_assert_str_eq(sandcell_result_get_stream(result, SANDCELL_STDOUT, NULL), "hm");
	expect_status(result, SANDCELL_RESULT_TIMEOUT, "in time");
	expect_status(execute("x", NULL), SANDCELL_RESULT_OK, NULL);
	end();
}
END_TEST

START_TEST(an_interrupt_that_nobody_heeds_ends_the_container)
{
	const sandcell_execute_options opts = {
		.on_output = note_talking, .timeout_ms = SANDCELL_NO_TIMEOUT};
	pthread_t thread;

	begin_with(never_answer);
	ck_assert_int_eq(sem_init(&talking, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, interrupt_later, session), 0);
	sandcell_result *result = execute("x", &opts);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 1);
	expect_status(result, SANDCELL_RESULT_INTERRUPTED, NULL);
	end();
}
END_TEST

static void *close_later(void *user)
{
	(void)sem_wait(&talking);
	return sandcell_session_close(user, NULL) < 0 ? user : NULL;
}

START_TEST(closing_ends_a_call_of_another_thread)
{
	const sandcell_execute_options opts = {
		.on_output = note_talking, .timeout_ms = SANDCELL_NO_TIMEOUT};
	pthread_t thread;

	begin_with(never_answer);
	ck_assert_int_eq(sem_init(&talking, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, close_later, session), 0);
	sandcell_result *result = execute("x", &opts);
	void *wrong = NULL;
	ck_assert_int_eq(pthread_join(thread, &wrong), 0);
	ck_assert_ptr_null(wrong);
	ck_assert_int_eq(sandcell_result_get_container_restarted(result), 0);
	expect_status(result, SANDCELL_RESULT_LOST, "closed while the call was running");
	ck_assert_uint_eq(fake_count(fake, "POST /containers/create"), 1);
	end();
}
END_TEST

/* ---- commands ---- */

static int run_command(fake_runner *r, const sc_frame *frame)
{
	if (!is(frame, "cli") || !memmem(frame->payload, frame->payload_len, "\"grep\"", 6))
		return -1;
	if (memmem(frame->payload, frame->payload_len, "loud", 4))
		(void)runner_output(r, frame->id, 2, "grep: \xff: no such file");
	return runner_result(r, frame->id,
		"{\"status\":\"error\",\"exit_code\":1,\"stages\":[1],\"state_preserved\":"
		"true}");
}

static sandcell_result *run_cli(const char *command)
{
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;
	int rc = sandcell_execute_cli(session, command, NULL, &result, &err);

	ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
	return result;
}

START_TEST(a_command_that_fails_is_explained)
{
	begin_with(run_command);
	sandcell_result *result = run_cli("grep x y");
	ck_assert_int_eq(sandcell_result_get_exit_code(result), 1);
	ck_assert_str_eq(sandcell_result_get_code(result, NULL), "grep x y");
	ck_assert_ptr_nonnull(strstr(sandcell_result_get_json(result), "\"stages\":[1]"));
	expect_status(result, SANDCELL_RESULT_ERROR, "exit status 1");
	expect_status(run_cli("grep loud y"), SANDCELL_RESULT_ERROR,
		"grep: \xef\xbf\xbd: no such file");
	end();
}
END_TEST

START_TEST(a_refused_command_is_a_result)
{
	begin_with(run_command);
	sandcell_result *result = run_cli("rm -rf /");
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
	ck_assert_int_eq(sandcell_result_get_success(result), 0);
	expect_status(result, SANDCELL_RESULT_DENIED, "'rm'");
	expect_status(run_cli("grep x > y"), SANDCELL_RESULT_DENIED, "'>'");
	end();
}
END_TEST

UNIT_MAIN("execute", output_and_result_arrive, options_reach_the_supervisor,
	calls_that_cannot_be_made_are_errors, a_closed_session_says_so,
	a_callback_hears_everything_and_cannot_call_back, a_callback_can_stop_the_call,
	another_thread_interrupts, an_interrupt_between_calls_hits_no_call,
	a_killed_container_is_signaled, an_oom_of_the_container_is_oom,
	an_end_without_a_reason_is_lost, a_cut_at_any_byte_of_the_reply_is_no_success,
	a_loss_opens_another_container, a_container_that_cannot_be_replaced_is_tried_again,
	a_hostile_container_is_removed_and_replaced,
	a_flood_costs_no_more_than_what_is_kept, the_host_keeps_a_deadline_of_its_own,
	an_interrupt_that_nobody_heeds_ends_the_container,
	closing_ends_a_call_of_another_thread, a_command_that_fails_is_explained,
	a_refused_command_is_a_result)
