/* SPDX-License-Identifier: MIT */
/* Opening and closing sessions on the scripted engine: whatever fails, nothing is left. */
#include <sys/wait.h>

#include "fake_runner.h"
#include "sandcell/sandcell.h"
#include "session/runner_source.h"

static fake_engine *fake;
static sandcell_engine *engine;
static fake_runner runner;

static void begin(void)
{
	fake = fake_start();
	runner = (fake_runner){0};
	runner_install(fake, &runner);
	engine = open_engine(fake);
}

static void end(void)
{
	sandcell_engine_free(engine);
	fake_stop(fake);
}

static int try_open(const sandcell_session_options *opts, sandcell_session **s_out,
	sandcell_error **err_out)
{
	sandcell_session_options mine = {.struct_size = sizeof(mine)};

	if (opts)
		mine = *opts;
	mine.struct_size = sizeof(mine);
	return sandcell_session_open(engine, &mine, s_out, err_out);
}

static sandcell_session *open_session(const sandcell_session_options *opts)
{
	sandcell_session *s = NULL;
	sandcell_error *err = NULL;
	int rc = try_open(opts, &s, &err);

	ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
	return s;
}

static void close_session(sandcell_session *s)
{
	ck_assert_int_eq(sandcell_session_close(s, NULL), 0);
	sandcell_session_free(s);
}

/* Opening fails with this, and leaves neither a container nor a descriptor. */
static void expect_failure(const sandcell_session_options *opts, int code, const char *part)
{
	sandcell_session *s = NULL;
	sandcell_error *err = NULL;

	ck_assert_int_lt(try_open(opts, &s, &err), 0);
	ck_assert_ptr_null(s);
	expect_error(&err, code, part);
	ck_assert_int_eq(fake_left(fake), 0);
}

/* ---- the good case ---- */

START_TEST(a_session_opens_and_closes)
{
	begin();
	sandcell_session *s = open_session(NULL);
	ck_assert_int_eq(fake_left(fake), 1);
	ck_assert_uint_gt(atomic_load(&runner.source), sc_runner_boot.len);
	ck_assert_uint_eq(strlen(sandcell_session_get_container(s)), 64);
	ck_assert_uint_eq(strlen(sandcell_session_get_name(s)), 16);
	ck_assert_int_eq(sandcell_session_close(s, NULL), 0);
	ck_assert_int_eq(fake_left(fake), 0);
	ck_assert_int_eq(sandcell_session_close(s, NULL), 0);
	ck_assert_uint_eq(fake_count(fake, "DELETE /containers/<any>"), 1);
	sandcell_session_free(s);
	end();
}
END_TEST

START_TEST(each_step_comes_in_its_turn)
{
	static const char *const steps[] = {"POST /containers/create",
		"GET /containers/<any>/json", "POST /containers/<any>/attach",
		"POST /containers/<any>/start", "POST /containers/<any>/exec",
		"POST /exec/<any>/start"};

	begin();
	size_t before = fake_requests(fake);
	sandcell_session *s = open_session(NULL);
	/* The sweep for leftovers asks once more, but once a minute only. */
	ck_assert_uint_le(fake_requests(fake) - before, 7);
	for (size_t i = 0; i < 6; i++)
		ck_assert_uint_eq(fake_count(fake, steps[i]), 1);
	expect_request(fake, before, "/containers/create?name=sandcell-");
	expect_request(fake, before, "\"User\":\"0:0\"");
	expect_request(fake, before + 4, "\"User\":\"65530:65530\"");
	close_session(s);
	end();
}
END_TEST

START_TEST(what_was_granted_is_told)
{
	begin();
	sandcell_session *s = open_session(NULL);
	json_t *root = json_loads(sandcell_session_get_json(s), 0, NULL);
	const json_t *limits = json_object_get(root, "limits");

	ck_assert_str_eq(sc_json_get_str(root, "image", ""), "sandcell/python");
	ck_assert_str_eq(sc_json_get_str(root, "python", ""), "3.11.2");
	ck_assert_str_eq(sc_json_get_str(root, "network", ""), "none");
	ck_assert(json_is_null(json_object_get(root, "workspace")));
	ck_assert_int_eq(
		sc_json_get_int(json_object_get(limits, "asked"), "memory_bytes", 0),
		2147483648);
	ck_assert_int_eq(
		sc_json_get_int(json_object_get(limits, "in_force"), "memory_bytes", 0),
		2147483648);
	ck_assert_uint_eq(json_array_size(json_object_get(root, "warnings")), 0);
	json_decref(root);
	close_session(s);
	end();
}
END_TEST

START_TEST(limits_that_were_dropped_are_a_warning_or_an_error)
{
	const sandcell_session_options strict = {.flags = SANDCELL_SESSION_STRICT_LIMITS};

	begin();
	runner.ready = "{\"status\":\"ok\",\"limits\":{\"memory_bytes\":null,\"pids\":256,"
		       "\"nofile\":4096,\"nproc\":16384}}";
	sandcell_session *s = open_session(NULL);
	ck_assert_ptr_nonnull(strstr(
		sandcell_session_get_json(s), "did not apply the limit 'memory_bytes'"));
	close_session(s);
	expect_failure(&strict, SANDCELL_E_LIMIT, "'memory_bytes'");
	end();
}
END_TEST

START_TEST(preload_errors_are_warnings)
{
	begin();
	runner.ready = "{\"status\":\"ok\",\"limits\":" RUNNER_LIMITS
		       ",\"preload_errors\":{\"nump\":\"No module named 'nump'\"}}";
	sandcell_session *s = open_session(NULL);
	ck_assert_ptr_nonnull(
		strstr(sandcell_session_get_json(s), "preload of 'nump': No module"));
	close_session(s);
	end();
}
END_TEST

START_TEST(a_workspace_that_the_engine_maps_away_is_refused)
{
	char dir[] = "/tmp/sandcell-unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	const sandcell_session_options opts = {.workspace = dir};
	const sandcell_session_options read_only = {
		.workspace = dir, .flags = SANDCELL_SESSION_WORKSPACE_RO};
	begin();
	runner.ready = "{\"status\":\"ok\",\"cwd_uid\":65534,\"limits\":" RUNNER_LIMITS "}";
	expect_failure(&opts, SANDCELL_E_INVAL, "which is uid 65534 in the container");
	close_session(open_session(&read_only));
	close_session(open_session(NULL));
	end();
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* ---- failures of the engine ---- */

START_TEST(every_refused_step_leaves_nothing)
{
	static const char *const steps[] = {"POST /containers/create",
		"GET /containers/<any>/json", "POST /containers/<any>/start",
		"POST /containers/<any>/exec", "POST /exec/<any>/start"};
	static const struct {
		int status;
		const char *body;
	} replies[] = {
		{400, "{\"message\":\"bad thing\"}"},
		{404, "{\"message\":\"no such thing\"}"},
		{409, "{\"message\":\"conflicting thing\"}"},
		{500, "{\"cause\":\"x\",\"message\":\"broken thing\",\"response\":500}"},
		{503, "<html>busy</html>"},
		{200, "not JSON at all"},
		{200, "{\"Id\":[1,2,3]}"},
		{200, "{\"Id\":\"../../etc\"}"},
	};

	begin();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (size_t j = 0; j < sizeof(replies) / sizeof(replies[0]); j++) {
			sandcell_session *s = NULL;
			sandcell_error *err = NULL;
			const fake_rule rule = {.on = steps[i],
				.status = replies[j].status,
				.body = replies[j].body,
				.times = 1,
				.end = FAKE_CLOSE};

			fake_on(fake, &rule);
			int rc = try_open(NULL, &s, &err);
			/* Start and inspect do not look at the body of a success. */
			if (rc == 0) {
				ck_assert_int_eq(replies[j].status, 200);
				close_session(s);
			}
			ck_assert_msg(rc == 0 || sandcell_error_get_code(err) == rc, "%s",
				steps[i]);
			ck_assert_msg(
				rc == 0 || strlen(sandcell_error_get_message(err)) > 10,
				"%s: %s", steps[i], sandcell_error_get_message(err));
			/* A refused create made nothing, though the fake counts it. */
			ck_assert_msg(fake_left(fake) == (i == 0 ? fake_left(fake) : 0),
				"%s answered with %d", steps[i], replies[j].status);
			sandcell_error_free(err);
		}
		if (i == 0) {
			end();
			begin();
		}
	}
	end();
}
END_TEST

START_TEST(a_missing_image_says_how_to_make_it)
{
	const sandcell_session_options datasci = {.image = "sandcell/datasci:latest"};
	const sandcell_session_options other = {.image = "debian:12"};
	sandcell_session *s = NULL;
	sandcell_error *err = NULL;

	begin();
	fake_reply(
		fake, "POST /containers/create", 404, "{\"message\":\"No such image: x\"}");
	ck_assert_int_eq(try_open(NULL, &s, &err), SANDCELL_E_NOTFOUND);
	expect_error(&err, SANDCELL_E_NOTFOUND, "'scripts/build-image python'");
	ck_assert_int_eq(try_open(&datasci, &s, &err), SANDCELL_E_NOTFOUND);
	expect_error(&err, SANDCELL_E_NOTFOUND, "'scripts/build-image datasci'");
	ck_assert_int_eq(try_open(&other, &s, &err), SANDCELL_E_NOTFOUND);
	expect_error(&err, SANDCELL_E_NOTFOUND, "'docker pull debian:12'");
	end();
}
END_TEST

START_TEST(a_name_in_use_is_a_conflict)
{
	const sandcell_session_options opts = {.name = "mine"};
	sandcell_session *s = NULL;
	sandcell_error *err = NULL;

	begin();
	fake_reply(fake, "POST /containers/create", 409,
		"{\"message\":\"The container name is already in use\"}");
	ck_assert_int_eq(try_open(&opts, &s, &err), SANDCELL_E_CONFLICT);
	expect_error(&err, SANDCELL_E_CONFLICT, "session name 'mine' is in use");
	ck_assert_uint_eq(fake_count(fake, "DELETE /containers/<any>"), 0);
	end();
}
END_TEST

START_TEST(an_image_without_python_is_explained)
{
	begin();
	fake_reply(fake, "POST /containers/<any>/start", 400,
		"{\"message\":\"failed to create shim: exec: \\\"python3\\\": executable "
		"file not "
		"found in $PATH: unknown\"}");
	expect_failure(NULL, SANDCELL_E_ENGINE, "has no python3");
	end();
}
END_TEST

/* ---- failures of the container ---- */

static void hang_up(int fd, void *user)
{
	(void)fd;
	(void)user;
}

START_TEST(a_container_that_dies_has_the_last_word)
{
	const fake_rule exec = {
		.on = "POST /exec/<any>/start", .status = 101, .stream = hang_up};

	begin();
	runner.words = "Traceback: out of luck\n...";
	fake_on(fake, &exec);
	expect_failure(NULL, SANDCELL_E_GONE, "said: Traceback: out of luck");
	end();
}
END_TEST

static void complain(int fd, void *user)
{
	static const char text[] = "\2\0\0\0\0\0\0\x10peer is not pid1";

	(void)user;
	(void)send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL);
}

START_TEST(a_connector_that_fails_is_heard)
{
	const fake_rule exec = {
		.on = "POST /exec/<any>/start", .status = 101, .stream = complain};

	begin();
	fake_on(fake, &exec);
	expect_failure(NULL, SANDCELL_E_GONE, "said: peer is not pid1");
	end();
}
END_TEST

START_TEST(a_setup_that_fails_says_why)
{
	begin();
	runner.ready = "{\"status\":\"error\"}";
	expect_failure(NULL, SANDCELL_E_FAIL, "setting up Python: error");
	runner.ready = "{\"status\":7}";
	expect_failure(NULL, SANDCELL_E_FAIL, "setting up Python");
	end();
}
END_TEST

START_TEST(another_protocol_is_refused)
{
	begin();
	runner.hello = "{\"type\":\"hello\",\"protocol\":2}";
	expect_failure(NULL, SANDCELL_E_PROTOCOL, "speaks protocol 2");
	runner.hello = "";
	expect_failure(NULL, SANDCELL_E_PROTOCOL, "speaks protocol 0");
	runner.hello = "{\"type\":\"error\",\"message\":\"go away\"}";
	expect_failure(NULL, SANDCELL_E_PROTOCOL, "go away");
	end();
}
END_TEST

static void garbage(int fd, void *user)
{
	(void)user;
	for (int i = 0; i < 100; i++)
		(void)send(fd, "\1\0\0\0\0\0\0\x08garbage!", 16, MSG_NOSIGNAL);
}

START_TEST(garbage_is_no_supervisor)
{
	const fake_rule exec = {
		.on = "POST /exec/<any>/start", .status = 101, .stream = garbage};

	begin();
	fake_on(fake, &exec);
	expect_failure(NULL, SANDCELL_E_PROTOCOL, "frame from the container");
	end();
}
END_TEST

START_TEST(silence_ends_at_the_deadline)
{
	const sandcell_session_options opts = {.open_timeout_ms = 300};

	begin();
	runner.ready = "";
	expect_failure(&opts, SANDCELL_E_TIMEOUT, "did not answer in time");
	end();
}
END_TEST

/* Reads nothing, and stays until the other side is gone. */
static void take_nothing(int fd, void *user)
{
	struct pollfd hangup = {.fd = fd};

	(void)user;
	(void)poll(&hangup, 1, -1);
}

/* The source is larger than what a socket holds. */
START_TEST(a_source_that_nobody_takes_ends_at_the_deadline)
{
	const sandcell_session_options opts = {.open_timeout_ms = 300};
	const fake_rule attach = {.on = "POST /containers/<any>/attach",
		.status = 101,
		.stream = take_nothing};

	begin();
	runner.ready = "";
	fake_on(fake, &attach);
	expect_failure(&opts, SANDCELL_E_TIMEOUT, "starting Python");
	end();
}
END_TEST

static int stop_at_once(void *user)
{
	(void)user;
	return 1;
}

START_TEST(the_caller_can_stop_an_open)
{
	const sandcell_session_options opts = {.on_wait = stop_at_once};

	begin();
	expect_failure(&opts, SANDCELL_E_CALLBACK, "wait callback");
	end();
}
END_TEST

/* ---- a create whose reply did not arrive ---- */

/* Answers an inspect by name with the labels of the last create, whose nonce is random. */
static void answer_labels(int fd, void *user)
{
	const char *id = user;
	char *request = NULL;
	char reply[4096];

	for (size_t i = 0; !request; i++) {
		char *text = fake_request(fake, i);
		if (text && strstr(text, "/containers/create"))
			request = text;
		else
			free(text);
	}
	json_t *body = json_loads(strstr(request, "\r\n\r\n") + 4, 0, NULL);
	char *labels = json_dumps(json_object_get(body, "Labels"), JSON_COMPACT);
	int n = snprintf(reply, sizeof(reply),
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"Id\":\"%s\",\"Config\":"
		"{\"Labels\":%s}}",
		id, labels);
	(void)send(fd, reply, (size_t)n, MSG_NOSIGNAL);
	json_decref(body);
	sc_free(labels);
	free(request);
}

static void unheard(const char *inspect_body, int deletes)
{
	const fake_rule create = {.on = "POST /containers/create",
		.raw = "HTTP/1.1 201 Cre",
		.end = FAKE_CLOSE};
	const fake_rule ours = {.on = "GET /containers/<any>/json",
		.raw = "",
		.stream = answer_labels,
		.user = "feed1234"};
	sandcell_session *s = NULL;
	sandcell_error *err = NULL;

	begin();
	fake_on(fake, &create);
	if (inspect_body)
		fake_reply(fake, "GET /containers/<any>/json", 200, inspect_body);
	else
		fake_on(fake, &ours);
	ck_assert_int_lt(try_open(NULL, &s, &err), 0);
	ck_assert_uint_eq(fake_count(fake, "GET /containers/<any>/json"), 1);
	ck_assert_uint_eq(fake_count(fake, "DELETE /containers/<any>"), (size_t)deletes);
	sandcell_error_free(err);
	end();
}

START_TEST(a_container_whose_id_never_came_is_removed_if_it_is_ours)
{
	unheard(NULL, 1);
	unheard("{\"Id\":\"a\",\"Config\":{\"Labels\":{\"io.sandcell.nonce\":\"other\"}}}",
		0);
	unheard("{\"Id\":\"a\",\"Config\":{\"Labels\":null}}", 0);
	unheard("{\"Id\":\"a\"}", 0);
}
END_TEST

/* Every byte of the engine's side of an open; the exec stream included. */
START_TEST(a_cut_at_any_byte_leaves_nothing)
{
	const fake_rule labels = {.on = "GET /containers/<any>/json",
		.raw = "",
		.stream = answer_labels,
		.user = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"};
	long long total = 0;

	begin();
	long long before = fake_sent(fake);
	close_session(open_session(NULL));
	total = fake_sent(fake) - before;
	end();
	ck_assert_int_gt(total, 500);
	size_t fds = fake_open_fds();
	for (long long n = 0; n < total; n++) {
		sandcell_session *s = NULL;
		sandcell_error *err = NULL;

		begin();
		fake_on(fake, &labels);
		fake_cut_at(fake, fake_sent(fake) + n);
		int rc = try_open(NULL, &s, &err);
		ck_assert_int_eq(sandcell_error_get_code(err), rc);
		if (rc == 0)
			close_session(s);
		ck_assert_msg(fake_left(fake) == 0, "cut at %lld of %lld: %s", n, total,
			sandcell_error_get_message(err));
		sandcell_error_free(err);
		end();
		ck_assert_uint_eq(fake_open_fds(), fds);
	}
}
END_TEST

/* Every byte of the supervisor's side of it, but the last few: ids are random, and so is
 * the number of their digits. */
START_TEST(a_supervisor_that_dies_at_any_byte_leaves_nothing)
{
	size_t total = 0;

	begin();
	close_session(open_session(NULL));
	total = runner.sent;
	end();
	ck_assert_uint_gt(total, 300);
	for (size_t n = 1; n + 16 < total; n++) {
		sandcell_session *s = NULL;
		sandcell_error *err = NULL;

		begin();
		runner.cut_at = n;
		int rc = try_open(NULL, &s, &err);
		ck_assert_msg(rc == SANDCELL_E_GONE, "cut at %zu of %zu: %d %s", n, total,
			rc, sandcell_error_get_message(err));
		ck_assert_int_eq(fake_left(fake), 0);
		sandcell_error_free(err);
		end();
	}
}
END_TEST

/* ---- forks ---- */

START_TEST(a_forked_child_may_only_free)
{
	begin();
	sandcell_session *s = open_session(NULL);
	pid_t child = fork();
	if (child == 0) {
		sandcell_result *result = NULL;
		int bad = 0;

		bad |= sandcell_execute(s, "1", 1, NULL, &result, NULL) != SANDCELL_E_INVAL;
		bad |= sandcell_reset(s, NULL) != SANDCELL_E_INVAL;
		bad |= sandcell_session_close(s, NULL) != SANDCELL_E_INVAL;
		sandcell_interrupt(s);
		sandcell_session_free(s);
		_exit(bad);
	}
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(fake_left(fake), 1);
	close_session(s);
	ck_assert_int_eq(fake_left(fake), 0);
	end();
}
END_TEST

UNIT_MAIN("open", a_session_opens_and_closes, each_step_comes_in_its_turn,
	what_was_granted_is_told, limits_that_were_dropped_are_a_warning_or_an_error,
	preload_errors_are_warnings, a_workspace_that_the_engine_maps_away_is_refused,
	every_refused_step_leaves_nothing, a_missing_image_says_how_to_make_it,
	a_name_in_use_is_a_conflict, an_image_without_python_is_explained,
	a_container_that_dies_has_the_last_word, a_connector_that_fails_is_heard,
	a_setup_that_fails_says_why, another_protocol_is_refused, garbage_is_no_supervisor,
	silence_ends_at_the_deadline, a_source_that_nobody_takes_ends_at_the_deadline,
	the_caller_can_stop_an_open,
	a_container_whose_id_never_came_is_removed_if_it_is_ours,
	a_cut_at_any_byte_leaves_nothing, a_supervisor_that_dies_at_any_byte_leaves_nothing,
	a_forked_child_may_only_free)
