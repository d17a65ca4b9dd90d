/* SPDX-License-Identifier: MIT */
/* Images, events, info: what is asked, and what is made of the answers. */
#include "engine/events.h"
#include "engine/image.h"
#include "engine/info.h"
#include "engine_fixture.h"

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

UNIT_MAIN("image", an_images_name_keeps_its_slashes, importing_gives_the_id,
	an_error_inside_a_200_is_an_error, removing_a_missing_image_is_fine,
	a_demise_is_read_from_the_events, podmans_words_for_it_are_understood,
	nothing_happened_is_an_answer_too, a_reader_may_stop,
	info_is_asked_for_once_and_describe_each_time, lost_limits_are_told,
	security_options_are_read_in_both_notations, odd_info_is_an_error_not_a_crash)
