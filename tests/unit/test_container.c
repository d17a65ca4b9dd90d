/* SPDX-License-Identifier: MIT */
/* Containers and execs: what is asked, and what is made of the answers. */
#include "engine/container.h"
#include "engine/events.h"
#include "engine/exec.h"
#include "engine/info.h"
#include "engine_fixture.h"

/* ---- containers ---- */

START_TEST(create_gives_the_id_and_the_warnings)
{
	sc_autojson *body = json_pack("{s:s}", "Image", "a");
	sc_autojson *warnings = NULL;
	sc_autofree char *id = NULL;
	sc_autofree char *second = NULL;

	begin();
	fake_reply(fake, "POST /containers/create", 201,
		"{\"Id\":\"abc123\",\"Warnings\":[\"no swap limit\"]}");
	ck_assert_int_eq(
		sc_container_create(engine, "my-name", body, soon(), &id, &warnings, NULL),
		0);
	ck_assert_str_eq(id, "abc123");
	ck_assert_str_eq(json_string_value(json_array_get(warnings, 0)), "no swap limit");
	expect_last_request(fake, "POST /v1.41/containers/create?name=my-name HTTP/1.1");
	expect_last_request(fake, "\r\n\r\n{\"Image\":\"a\"}");
	fake_reply(
		fake, "POST /containers/create", 201, "{\"Id\":\"d\",\"Warnings\":null}");
	ck_assert_int_eq(
		sc_container_create(engine, NULL, body, soon(), &second, NULL, NULL), 0);
	expect_last_request(fake, "POST /v1.41/containers/create HTTP/1.1");
	end();
}
END_TEST

START_TEST(create_fails_with_the_engines_reason)
{
	static const struct {
		int status;
		const char *body;
		int code;
		const char *part;
	} rows[] = {
		{404, "{\"message\":\"No such image: nope:1\"}", SANDCELL_E_NOTFOUND,
			"nope:1"},
		{409, "{\"message\":\"Conflict. The container name is already in use\"}",
			SANDCELL_E_CONFLICT, "in use"},
		{400, "", SANDCELL_E_ENGINE, "400"},
		{502, "<html>bad gateway</html>", SANDCELL_E_ENGINE, "502"},
		{201, "{}", SANDCELL_E_PROTOCOL, "'Id' missing"},
		{201, "{\"Id\":7}", SANDCELL_E_PROTOCOL, "'Id' missing"},
		{201, "{\"Id\":\"../x\"}", SANDCELL_E_PROTOCOL, "'Id' is '../x'"},
		{201, "[]", SANDCELL_E_PROTOCOL, "'Id' missing"},
		{201, "not json", SANDCELL_E_PROTOCOL, "not JSON"},
	};
	sc_autojson *body = json_object();

	begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sandcell_error *err = NULL;
		char *id = NULL;
		json_t *warnings = NULL;
		fake_reply(fake, "POST /containers/create", rows[i].status, rows[i].body);
		ck_assert_int_lt(sc_container_create(
					 engine, "n", body, soon(), &id, &warnings, &err),
			0);
		expect_error(&err, rows[i].code, rows[i].part);
		ck_assert_ptr_null(id);
		ck_assert_ptr_null(warnings);
	}
	end();
}
END_TEST

START_TEST(podman_says_conflict_with_500)
{
	sc_autojson *body = json_object();
	sandcell_error *err = NULL;
	char *id = NULL;

	begin_podman();
	fake_reply(fake, "POST /containers/create", 500,
		"{\"cause\":\"that name is already in use\",\"message\":\"creating "
		"container "
		"storage: the container name \\\"n\\\" is already in "
		"use\",\"response\":500}");
	ck_assert_int_lt(
		sc_container_create(engine, "n", body, soon(), &id, NULL, &err), 0);
	expect_error(&err, SANDCELL_E_CONFLICT, "already in use");
	end();
}
END_TEST

START_TEST(names_that_are_none_are_not_sent)
{
	static const char *const bad[] = {
		"", ".", "..", "-x", "_x", "a/b", "a b", "a?b", "ä"};
	size_t asked;

	begin();
	asked = fake_requests(fake);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *root = NULL;
		sandcell_error *err = NULL;
		ck_assert_int_lt(sc_container_start(engine, bad[i], soon(), &err), 0);
		expect_error(&err, SANDCELL_E_INVAL, "not a container's name");
		ck_assert_int_eq(sc_container_inspect(engine, bad[i], soon(), &root, NULL),
			SANDCELL_E_INVAL);
	}
	ck_assert(sc_container_name_valid("a_b.c-9"));
	ck_assert_uint_eq(fake_requests(fake), asked);
	end();
}
END_TEST

START_TEST(starting_what_runs_is_fine)
{
	begin();
	ck_assert_int_eq(sc_container_start(engine, "c1", soon(), NULL), 0);
	expect_last_request(fake, "POST /v1.41/containers/c1/start HTTP/1.1");
	fake_reply(fake, "POST /containers/<any>/start", 304, "");
	ck_assert_int_eq(sc_container_start(engine, "c1", soon(), NULL), 0);
	end();
}
END_TEST

START_TEST(killing_and_pausing_say_what_they_do)
{
	begin();
	fake_reply(fake, "POST /containers/<any>/pause", 204, "");
	fake_reply(fake, "POST /containers/<any>/unpause", 204, "");
	fake_reply(fake, "POST /containers/<any>/rename", 204, "");
	ck_assert_int_eq(sc_container_kill(engine, "c1", "KILL", soon(), NULL), 0);
	expect_last_request(fake, "POST /v1.41/containers/c1/kill?signal=KILL HTTP/1.1");
	ck_assert_int_eq(sc_container_pause(engine, "c1", soon(), NULL), 0);
	ck_assert_int_eq(sc_container_unpause(engine, "c1", soon(), NULL), 0);
	ck_assert_int_eq(sc_container_rename(engine, "c1", "new", soon(), NULL), 0);
	expect_last_request(fake, "POST /v1.41/containers/c1/rename?name=new HTTP/1.1");
	ck_assert_int_eq(
		sc_container_rename(engine, "c1", "a{}b", soon(), NULL), SANDCELL_E_INVAL);
	end();
}
END_TEST

START_TEST(removing_ends_when_it_is_gone)
{
	static const fake_rule in_progress = {.on = "DELETE /containers/<any>",
		.status = 409,
		.body = "{\"message\":\"removal of container c1 is already in progress\"}",
		.times = 3};

	begin();
	ck_assert_int_eq(sc_container_remove(engine, "c1", soon(), NULL), 0);
	expect_last_request(fake, "DELETE /v1.41/containers/c1?force=1&v=1 HTTP/1.1");
	fake_reply(fake, "DELETE /containers/<any>", 404,
		"{\"message\":\"No such container\"}");
	fake_on(fake, &in_progress);
	size_t before = fake_count(fake, "DELETE /containers/c1");
	ck_assert_int_eq(sc_container_remove(engine, "c1", soon(), NULL), 0);
	ck_assert_uint_eq(fake_count(fake, "DELETE /containers/c1"), before + 4);
	end();
}
END_TEST

START_TEST(removing_gives_up_at_its_deadline_and_at_real_errors)
{
	sandcell_error *err = NULL;

	begin();
	fake_reply(fake, "DELETE /containers/<any>", 409,
		"{\"message\":\"removal of container c1 is already in progress\"}");
	ck_assert_int_lt(sc_container_remove(engine, "c1", sc_deadline_in_ms(50), &err), 0);
	expect_error(&err, SANDCELL_E_TIMEOUT, "timed out");
	fake_reply(fake, "DELETE /containers/<any>", 500, "{\"message\":\"disk on fire\"}");
	ck_assert_int_lt(sc_container_remove(engine, "c1", soon(), &err), 0);
	expect_error(&err, SANDCELL_E_ENGINE, "disk on fire");
	end();
}
END_TEST

START_TEST(waiting_gives_the_exit_code)
{
	int code = -1;

	begin();
	fake_reply(fake, "POST /containers/<any>/wait", 200,
		"{\"StatusCode\":137,\"Error\":null}");
	ck_assert_int_eq(sc_container_wait(engine, "c1", soon(), &code, NULL), 0);
	ck_assert_int_eq(code, 137);
	fake_reply(fake, "POST /containers/<any>/wait", 200, "{\"StatusCode\":\"0\"}");
	ck_assert_int_eq(
		sc_container_wait(engine, "c1", soon(), &code, NULL), SANDCELL_E_PROTOCOL);
	end();
}
END_TEST

struct state_row {
	const char *reply;
	const char *status;
	bool running;
	bool paused;
	int64_t exit_code;
};

START_TEST(state_is_read_whatever_is_missing)
{
	static const struct state_row rows[] = {
		{"{\"State\":{\"Status\":\"running\",\"Running\":true,\"Pid\":7}}",
			"running", true, false, 0},
		{"{\"State\":{\"Status\":\"running\"}}", "running", true, false, 0},
		{"{\"State\":{\"Status\":\"paused\",\"Running\":true,\"Paused\":true}}",
			"paused", true, true, 0},
		{"{\"State\":{\"Status\":\"exited\",\"ExitCode\":3,\"Running\":false}}",
			"exited", false, false, 3},
		{"{\"State\":{\"Status\":7,\"Running\":\"yes\",\"ExitCode\":\"3\"}}", "",
			false, false, 0},
		{"{\"Id\":\"a\",\"Created\":\"2020-11-12 22:26:13.62 +0000 UTC\",\"State\":"
		 "{\"Status\":\"running\"},\"Mounts\":null,\"HostConfig\":null}",
			"running", true, false, 0},
		{"{\"State\":null}", "", false, false, 0},
		{"{}", "", false, false, 0},
		{"[]", "", false, false, 0},
	};

	begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sc_container_state state;
		sc_autojson *root = NULL;
		fake_reply(fake, "GET /containers/<any>/json", 200, rows[i].reply);
		ck_assert_int_eq(
			sc_container_inspect(engine, "c1", soon(), &root, NULL), 0);
		sc_container_read_state(root, &state);
		ck_assert_str_eq(state.status, rows[i].status);
		ck_assert_int_eq(state.running, rows[i].running);
		ck_assert_int_eq(state.paused, rows[i].paused);
		ck_assert_int_eq(state.exit_code, rows[i].exit_code);
	}
	end();
}
END_TEST

START_TEST(lists_may_be_null_but_nothing_else)
{
	static const char *const labels[] = {"io.sandcell.version", "a=b c", NULL};
	static const char *const empty[] = {"null", "[]", "null\n"};
	static const char *const bad[] = {"{}", "nullx", "\"x\"", "", "[}"};

	begin();
	for (size_t i = 0; i < 3; i++) {
		sc_autojson *list = NULL;
		fake_reply(fake, "GET /containers/json", 200, empty[i]);
		ck_assert_int_eq(
			sc_container_list(engine, labels, true, soon(), &list, NULL), 0);
		ck_assert_uint_eq(json_array_size(list), 0);
	}
	expect_last_request(fake,
		"GET /v1.41/containers/json?all=1&filters=%7B%22label%22%3A%5B%22"
		"io.sandcell.version%22%2C%22a%3Db%20c%22%5D%7D HTTP/1.1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *list = NULL;
		fake_reply(fake, "GET /containers/json", 200, bad[i]);
		ck_assert_msg(sc_container_list(engine, NULL, false, soon(), &list, NULL) ==
				      SANDCELL_E_PROTOCOL,
			"%s", bad[i]);
	}
	expect_last_request(fake, "?all=0&filters=%7B%7D HTTP/1.1");
	end();
}
END_TEST

START_TEST(attaching_names_what_it_wants)
{
	sc_stream *stream = NULL;

	begin();
	ck_assert_int_eq(sc_container_attach(engine, "c1",
				 SC_ATTACH_STDOUT | SC_ATTACH_STDERR | SC_ATTACH_LOGS,
				 soon(), &stream, NULL),
		0);
	expect_last_request(fake,
		"POST /v1.41/containers/c1/attach?stream=1&stdout=1&stderr=1&logs=1 HTTP");
	sc_stream_free(stream);
	end();
}
END_TEST

/* ---- execs ---- */

START_TEST(exec_create_gives_the_id)
{
	sc_autojson *body = json_pack("{s:[s]}", "Cmd", "true");
	sc_autofree char *id = NULL;
	sandcell_error *err = NULL;
	char *none = NULL;

	begin();
	ck_assert_int_eq(sc_exec_create(engine, "c1", body, soon(), &id, NULL), 0);
	ck_assert_str_eq(id, "e1");
	expect_last_request(fake, "POST /v1.41/containers/c1/exec HTTP/1.1");
	fake_reply(
		fake, "POST /containers/<any>/exec", 409, "{\"message\":\"c1 is paused\"}");
	ck_assert_int_lt(sc_exec_create(engine, "c1", body, soon(), &none, &err), 0);
	expect_error(&err, SANDCELL_E_CONFLICT, "paused");
	fake_reply(fake, "POST /containers/<any>/exec", 201, "{\"Id\":\"\"}");
	ck_assert_int_lt(sc_exec_create(engine, "c1", body, soon(), &none, &err), 0);
	expect_error(&err, SANDCELL_E_PROTOCOL, "'Id' is");
	end();
}
END_TEST

struct exec_row {
	const char *reply;
	int rc;
	bool running;
	bool known;
	int code;
};

START_TEST(an_exit_code_is_never_invented)
{
	static const struct exec_row rows[] = {
		{"{\"Running\":false,\"ExitCode\":127}", 0, false, true, 127},
		{"{\"Running\":false,\"ExitCode\":0}", 0, false, true, 0},
		{"{\"Running\":false,\"ExitCode\":null}", 0, false, false, 0},
		{"{\"Running\":false}", 0, false, false, 0},
		{"{\"Running\":false,\"ExitCode\":\"0\"}", 0, false, false, 0},
		{"{\"Running\":false,\"ExitCode\":-1}", 0, false, false, 0},
		{"{\"Running\":false,\"ExitCode\":256}", 0, false, false, 0},
		{"{\"Running\":true,\"ExitCode\":0}", 0, true, false, 0}, /* Podman */
		{"{\"Running\":true,\"ExitCode\":null}", 0, true, false, 0},
		{"{\"ExitCode\":0}", SANDCELL_E_PROTOCOL, false, false, 0},
		{"[]", SANDCELL_E_PROTOCOL, false, false, 0},
	};

	begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sc_exec_state state = {0};
		fake_reply(fake, "GET /exec/<any>/json", 200, rows[i].reply);
		ck_assert_int_eq(
			sc_exec_inspect(engine, "e1", soon(), &state, NULL), rows[i].rc);
		ck_assert_msg(state.running == rows[i].running &&
				      state.has_exit_code == rows[i].known &&
				      state.exit_code == rows[i].code,
			"%s", rows[i].reply);
	}
	end();
}
END_TEST

START_TEST(the_exit_code_is_asked_for_until_it_is_there)
{
	static const fake_rule running = {.on = "GET /exec/<any>/json",
		.body = "{\"Running\":true,\"ExitCode\":null}",
		.times = 2};
	struct sc_exec_state state = {0};
	sandcell_error *err = NULL;

	begin();
	fake_reply(fake, "GET /exec/<any>/json", 200, "{\"Running\":false,\"ExitCode\":7}");
	fake_on(fake, &running);
	ck_assert_int_eq(sc_exec_wait(engine, "e1", soon(), &state, NULL), 0);
	ck_assert(state.has_exit_code && state.exit_code == 7);
	ck_assert_uint_eq(fake_count(fake, "GET /exec/e1/json"), 3);
	fake_reply(fake, "GET /exec/<any>/json", 200, "{\"Running\":true}");
	ck_assert_int_lt(
		sc_exec_wait(engine, "e1", sc_deadline_in_ms(20), &state, &err), 0);
	expect_error(&err, SANDCELL_E_TIMEOUT, "timed out");
	end();
}
END_TEST

/* ---- cut connections ---- */

/* What a session does; the name is known beforehand, so that its owner can clean up. */
static int whole_life(sandcell_error **err_out)
{
	sc_autojson *body = json_object();
	sc_autofree char *id = NULL;
	sc_autofree char *exec = NULL;
	sc_stream *stream = NULL;
	struct sc_exec_state state;
	int rc;

	rc = sc_container_create(engine, "n", body, soon(), &id, NULL, err_out);
	if (rc == 0)
		rc = sc_container_start(engine, id, soon(), err_out);
	if (rc == 0)
		rc = sc_exec_create(engine, id, body, soon(), &exec, err_out);
	if (rc == 0)
		rc = sc_exec_start(engine, exec, soon(), &stream, err_out);
	sc_stream_free(stream);
	if (rc == 0)
		rc = sc_exec_wait(engine, exec, soon(), &state, err_out);
	return rc;
}

START_TEST(a_cut_at_any_byte_leaves_no_container_and_no_descriptor)
{
	size_t before = fake_open_fds();
	long long total = 1;

	for (long long at = 0; at < total; at++) {
		sandcell_error *err = NULL;
		begin();
		long long sent = fake_sent(fake);
		if (at > 0)
			fake_cut_at(fake, at - 1);
		int rc = whole_life(&err);
		if (at == 0) {
			ck_assert_int_eq(rc, 0);
			total = fake_sent(fake) - sent + 1;
		}
		ck_assert_int_eq(rc < 0, err != NULL);
		sandcell_error_free(err);
		fake_cut_at(fake, -1);
		ck_assert_int_eq(sc_container_remove(engine, "n", soon(), NULL), 0);
		ck_assert_int_eq(fake_left(fake), 0);
		ck_assert_uint_le(fake_count(fake, "POST /containers/create"), 1);
		end();
		ck_assert_uint_eq(fake_open_fds(), before);
	}
	ck_assert_int_gt(total, 200);
}
END_TEST

/* ---- memory ---- */

static int everything(sandcell_error **err_out)
{
	sc_autojson *body = json_pack("{s:s}", "Image", "a");
	sc_autojson *root = NULL;
	sc_autojson *list = NULL;
	sc_autofree char *id = NULL;
	sc_autofree char *exec = NULL;
	sc_autofree char *json = NULL;
	sc_stream *stream = NULL;
	struct sc_exec_state state;
	struct sc_demise demise;
	int rc;

	if (!body)
		return sc_fail_nomem(err_out);
	rc = sc_container_create(engine, "n", body, soon(), &id, NULL, err_out);
	if (rc == 0)
		rc = sc_container_inspect(engine, id, soon(), &root, err_out);
	if (rc == 0)
		rc = sc_exec_create(engine, id, body, soon(), &exec, err_out);
	if (rc == 0)
		rc = sc_exec_start(engine, exec, soon(), &stream, err_out);
	sc_stream_free(stream);
	if (rc == 0)
		rc = sc_exec_inspect(engine, exec, soon(), &state, err_out);
	if (rc == 0)
		rc = sc_container_list(engine, NULL, true, soon(), &list, err_out);
	if (rc == 0)
		rc = sc_events_demise(engine, id, 0, soon(), &demise, err_out);
	if (rc == 0)
		rc = sc_engine_describe(engine, &json, err_out);
	return rc;
}

START_TEST(failing_allocations_are_reported)
{
	begin();
	unit_chaos(everything);
	end();
}
END_TEST

UNIT_MAIN("container", create_gives_the_id_and_the_warnings,
	create_fails_with_the_engines_reason, podman_says_conflict_with_500,
	names_that_are_none_are_not_sent, starting_what_runs_is_fine,
	killing_and_pausing_say_what_they_do, removing_ends_when_it_is_gone,
	removing_gives_up_at_its_deadline_and_at_real_errors, waiting_gives_the_exit_code,
	state_is_read_whatever_is_missing, lists_may_be_null_but_nothing_else,
	attaching_names_what_it_wants, exec_create_gives_the_id,
	an_exit_code_is_never_invented, the_exit_code_is_asked_for_until_it_is_there,
	a_cut_at_any_byte_leaves_no_container_and_no_descriptor,
	failing_allocations_are_reported)
