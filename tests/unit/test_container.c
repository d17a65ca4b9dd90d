/* SPDX-License-Identifier: MIT */
/* Containers, execs, images, events, info: what is asked, and what is made of the answers.
 */
#include "engine/container.h"
#include "engine/events.h"
#include "engine/exec.h"
#include "engine/image.h"
#include "engine/info.h"
#include "fake_unit.h"

static fake_engine *fake;
static sandcell_engine *engine;

static void begin(void)
{
	fake = fake_start();
	engine = open_engine(fake);
}

static void begin_podman(void)
{
	static const fake_rule podman = {.on = "GET /_ping",
		.headers = "Api-Version: 1.41\r\nLibpod-Api-Version: 4.3.1\r\n",
		.body = "OK"};

	fake = fake_start();
	fake_on(fake, &podman);
	engine = open_engine(fake);
}

static void end(void)
{
	sc_engine_free(engine);
	fake_stop(fake);
}

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

/* ---- images ---- */

START_TEST(an_images_name_keeps_its_slashes)
{
	static const char *const bad[] = {
		"", "/a", "a?b", "a b", "../x", "a//b", "a/./b", "ä"};
	sc_autojson *root = NULL;
	sandcell_error *err = NULL;
	json_t *none = NULL;

	begin();
	ck_assert_int_eq(
		sc_image_inspect(engine, "sandcell/python", soon(), &root, NULL), 0);
	expect_last_request(fake, "GET /v1.41/images/sandcell/python/json HTTP/1.1");
	fake_reply(fake, "GET /images/<any>/json", 404,
		"{\"message\":\"No such image: x:1\"}");
	ck_assert_int_lt(sc_image_inspect(engine, "x:1", soon(), &none, &err), 0);
	expect_error(&err, SANDCELL_E_NOTFOUND, "x:1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(sc_image_inspect(engine, bad[i], soon(), &none, NULL) ==
				      SANDCELL_E_INVAL,
			"%s", bad[i]);
	end();
}
END_TEST

struct tar {
	size_t left;
};

static ptrdiff_t give_tar(void *data, size_t cap, void *user)
{
	struct tar *tar = user;
	size_t n = tar->left < cap ? tar->left : cap;

	memset(data, 't', n);
	tar->left -= n;
	return (ptrdiff_t)n;
}

static int import_once(char **id_out, sandcell_error **err_out)
{
	static const char *const changes[] = {"LABEL a=b", "CMD [\"python3\"]", NULL};
	struct tar tar = {.left = 2000};
	const struct sc_image_import import = {
		.repository = "sandcell/test",
		.message = "made by a test",
		.changes = changes,
		.read = give_tar,
		.user = &tar,
	};

	return sc_image_import(engine, &import, soon(), id_out, err_out);
}

START_TEST(importing_gives_the_id)
{
	sc_autofree char *id = NULL;

	begin();
	const fake_rule done = {.on = "POST /images/create",
		.body = "{\"status\":\"Importing\"}\r\n{\"status\":\"sha256:12ab\"}\r\n",
		.chunk = 7,
		.slice = 1};
	fake_on(fake, &done);
	ck_assert_int_eq(import_once(&id, NULL), 0);
	ck_assert_str_eq(id, "sha256:12ab");
	expect_last_request(fake,
		"POST /v1.41/images/create?fromSrc=-&repo=sandcell%2Ftest%3Alatest&"
		"message=made%20by%20a%20test&changes=LABEL%20a%3Db&"
		"changes=CMD%20%5B%22python3%22%5D HTTP/1.1");
	end();
}
END_TEST

START_TEST(an_error_inside_a_200_is_an_error)
{
	static const struct {
		const char *reply;
		int code;
		const char *part;
	} rows[] = {
		{"{\"status\":\"Pulling\"}\r\n{\"errorDetail\":{\"message\":\"Error: image "
		 "x "
		 "not found\"},\"error\":\"Error: image x not found\"}\r\n",
			SANDCELL_E_ENGINE, "image x not found"},
		{"{\"errorDetail\":{\"message\":\"only here\"}}", SANDCELL_E_ENGINE,
			"only here"},
		{"{\"status\":\"a\"}{\"error\":\"no newline\"}{\"status\":\"sha256:1\"}",
			SANDCELL_E_ENGINE, "no newline"},
		{"{\"status\":\"Importing\"}", SANDCELL_E_PROTOCOL, "did not name"},
		{"", SANDCELL_E_PROTOCOL, "did not name"},
		{"{\"status\":\"sha256:1\"}{\"sta", SANDCELL_E_PROTOCOL, "closed"},
		{"oops", SANDCELL_E_PROTOCOL, "object was expected"},
	};

	begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const fake_rule rule = {
			.on = "POST /images/create", .body = rows[i].reply, .chunk = 9};
		sandcell_error *err = NULL;
		char *id = NULL;
		fake_on(fake, &rule);
		ck_assert_int_lt(import_once(&id, &err), 0);
		expect_error(&err, rows[i].code, rows[i].part);
		ck_assert_ptr_null(id);
	}
	end();
}
END_TEST

START_TEST(removing_a_missing_image_is_fine)
{
	sandcell_error *err = NULL;

	begin();
	fake_reply(fake, "DELETE /images/<any>", 404, "{\"message\":\"No such image\"}");
	ck_assert_int_eq(sc_image_remove(engine, "x", soon(), &err), 0);
	ck_assert_ptr_null(err);
	fake_reply(fake, "DELETE /images/<any>", 409, "{\"message\":\"image is in use\"}");
	ck_assert_int_lt(sc_image_remove(engine, "x", soon(), &err), 0);
	expect_error(&err, SANDCELL_E_CONFLICT, "in use");
	fake_reply(fake, "POST /images/<any>/tag", 201, "");
	ck_assert_int_eq(sc_image_tag(engine, "x", "a/b", "1", soon(), NULL), 0);
	expect_last_request(fake, "POST /v1.41/images/x/tag?repo=a%2Fb&tag=1 HTTP/1.1");
	end();
}
END_TEST

/* ---- events ---- */

static const char docker_events[] =
	"{\"status\":\"exec_create: cat\",\"Type\":\"container\",\"Action\":\"exec_create: "
	"cat\","
	"\"Actor\":{\"ID\":\"c1\",\"Attributes\":{}},\"time\":5}\n"
	"{\"Action\":\"oom\",\"Actor\":{\"ID\":\"c1\",\"Attributes\":{}},\"timeNano\":"
	"6000000000}\n"
	"{\"Action\":\"kill\",\"Actor\":{\"ID\":\"c1\",\"Attributes\":{\"signal\":\"9\"}}}"
	"\n"
	"{\"Action\":\"die\",\"Actor\":{\"ID\":\"c1\",\"Attributes\":{\"exitCode\":\"137\"}"
	"}}\n"
	"{\"Action\":\"destroy\",\"Actor\":{\"ID\":\"c1\",\"Attributes\":null}}\n";

START_TEST(a_demise_is_read_from_the_events)
{
	struct sc_demise demise = {0};

	begin();
	const fake_rule rule = {
		.on = "GET /events", .body = docker_events, .chunk = 11, .slice = 5};
	fake_on(fake, &rule);
	ck_assert_int_eq(
		sc_events_demise(engine, "c1", 1500000000, soon(), &demise, NULL), 0);
	ck_assert(demise.oom && demise.killed && demise.died && demise.removed);
	ck_assert(demise.has_exit_code && demise.exit_code == 137);
	ck_assert_str_eq(demise.signal, "9");
	expect_last_request(fake, "GET /v1.41/events?since=1.500000000&until=");
	expect_last_request(fake, "&filters=%7B%22type%22%3A%5B%22container%22%5D%2C%22"
				  "container%22%3A%5B%22c1%22%5D%7D HTTP/1.1");
	end();
}
END_TEST

START_TEST(podmans_words_for_it_are_understood)
{
	struct sc_demise demise = {0};

	begin_podman();
	fake_reply(fake, "GET /events", 200,
		"{\"Action\":\"die\",\"Actor\":{\"ID\":\"c1\",\"Attributes\":"
		"{\"containerExitCode\":\"1\"}}}{\"Action\":\"remove\",\"id\":\"c1\"}");
	ck_assert_int_eq(sc_events_demise(engine, "c1", 0, soon(), &demise, NULL), 0);
	expect_last_request(
		fake, "GET /v1.41/events?since=0.000000000&stream=false&filters=");
	ck_assert(demise.died && demise.has_exit_code && demise.exit_code == 1);
	ck_assert(demise.removed && !demise.killed && !demise.oom);
	end();
}
END_TEST

START_TEST(nothing_happened_is_an_answer_too)
{
	struct sc_demise demise = {.died = true};

	begin();
	ck_assert_int_eq(sc_events_demise(engine, "c1", 0, soon(), &demise, NULL), 0);
	ck_assert(!demise.died && !demise.oom && !demise.removed && !demise.killed);
	end();
}
END_TEST

static int stop_at_kill(const struct sc_event *event, void *user)
{
	(*(int *)user)++;
	if (event->action == SC_EVENT_OOM)
		ck_assert_uint_eq(event->time_ns, 6 * SC_SEC_IN_NS);
	return event->action == SC_EVENT_KILL ? SANDCELL_E_CALLBACK : 0;
}

START_TEST(a_reader_may_stop)
{
	int seen = 0;

	begin();
	fake_reply(fake, "GET /events", 200, docker_events);
	ck_assert_int_eq(sc_events_read(engine, NULL, 0, soon(), stop_at_kill, &seen, NULL),
		SANDCELL_E_CALLBACK);
	ck_assert_int_eq(seen, 3);
	end();
}
END_TEST

/* ---- info ---- */

START_TEST(info_is_asked_for_once_and_describe_each_time)
{
	const struct sc_engine_info *info = NULL;
	sc_autofree char *json = NULL;

	begin();
	ck_assert_int_eq(sc_engine_info(engine, soon(), &info, NULL), 0);
	ck_assert_int_eq(sc_engine_info(engine, soon(), &info, NULL), 0);
	ck_assert_uint_eq(fake_count(fake, "GET /info"), 1);
	ck_assert_str_eq(info->version, "20.10.24");
	ck_assert_int_eq(info->cgroup_version, 2);
	ck_assert_int_eq(info->cpus, 2);
	ck_assert(info->limits_work && !info->rootless && !info->userns_remap);
	ck_assert(sc_engine_has_runtime(info, "runc"));
	ck_assert(!sc_engine_has_runtime(info, "run"));
	ck_assert_int_eq(sc_engine_describe(engine, &json, NULL), 0);
	ck_assert_uint_eq(fake_count(fake, "GET /info"), 2);
	ck_assert_ptr_nonnull(strstr(json, "\"kind\":\"docker\""));
	ck_assert_ptr_nonnull(strstr(json, "\"runtimes\":[\"runc\"]"));
	end();
}
END_TEST

START_TEST(lost_limits_are_told)
{
	const struct sc_engine_info *info = NULL;

	begin_podman();
	fake_reply(fake, "GET /info", 200,
		"{\"Rootless\":true,\"CgroupVersion\":\"1\",\"Runtimes\":{\"b\":{},\"a\":{}"
		"},"
		"\"Warnings\":[\"theirs\"]}");
	ck_assert_int_eq(sc_engine_info(engine, soon(), &info, NULL), 0);
	ck_assert(info->rootless && !info->limits_work);
	ck_assert_uint_eq(json_array_size(info->warnings), 2);
	ck_assert_str_eq(json_string_value(json_array_get(info->warnings, 0)), "theirs");
	ck_assert_str_eq(json_string_value(json_array_get(info->runtimes, 0)), "a");
	end();
}
END_TEST

START_TEST(security_options_are_read_in_both_notations)
{
	static const char *const replies[] = {
		"{\"SecurityOptions\":[\"name=rootless\",\"name=userns\"]}",
		"{\"SecurityOptions\":[\"name=seccomp,profile=default\",\"rootless\","
		"\"userns,x=y\"]}",
		"{\"SecurityOptions\":[\"name=rootless-not\",7]}",
		"{\"SecurityOptions\":null}"};

	for (size_t i = 0; i < 4; i++) {
		const struct sc_engine_info *info = NULL;
		begin();
		fake_reply(fake, "GET /info", 200, replies[i]);
		ck_assert_int_eq(sc_engine_info(engine, soon(), &info, NULL), 0);
		ck_assert_int_eq(info->rootless, i < 2);
		ck_assert_int_eq(info->userns_remap, i < 2);
		end();
	}
}
END_TEST

START_TEST(odd_info_is_an_error_not_a_crash)
{
	static const char *const replies[] = {"[]", "7", "", "{\"a\":"};

	begin();
	for (size_t i = 0; i < 4; i++) {
		const struct sc_engine_info *info = NULL;
		fake_reply(fake, "GET /info", 200, replies[i]);
		ck_assert_int_eq(
			sc_engine_info(engine, soon(), &info, NULL), SANDCELL_E_PROTOCOL);
		ck_assert_ptr_null(info);
	}
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
	an_images_name_keeps_its_slashes, importing_gives_the_id,
	an_error_inside_a_200_is_an_error, removing_a_missing_image_is_fine,
	a_demise_is_read_from_the_events, podmans_words_for_it_are_understood,
	nothing_happened_is_an_answer_too, a_reader_may_stop,
	info_is_asked_for_once_and_describe_each_time, lost_limits_are_told,
	security_options_are_read_in_both_notations, odd_info_is_an_error_not_a_crash,
	a_cut_at_any_byte_leaves_no_container_and_no_descriptor,
	failing_allocations_are_reported)
