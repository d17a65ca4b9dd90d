/* SPDX-License-Identifier: MIT */
/* The engine layer on a real engine: what differs from engine to engine shows here. */
#include <pthread.h>

#include "containers.h"
#include "engine/events.h"
#include "engine/image.h"
#include "engine/info.h"

static void begin(void)
{
	real_open(getenv("REAL_HOST"));
}

static void end(void)
{
	sc_engine_free(engine);
	engine = NULL;
}

/* ---- the engine ---- */

START_TEST(it_says_what_it_is)
{
	const struct sc_engine_info *info = NULL;
	sc_autofree char *json = NULL;

	begin();
	OK(sc_engine_info(engine, soon(), &info, &err));
	ck_assert_str_ne(info->version, "");
	ck_assert_str_ne(info->runtime, "");
	ck_assert_str_ne(info->kernel, "");
	ck_assert(sc_engine_has_runtime(info, info->runtime));
	ck_assert_int_gt(info->cpus, 0);
	ck_assert_int_gt(info->memory_bytes, 0);
	ck_assert(info->cgroup_version == 1 || info->cgroup_version == 2);
	OK(sc_engine_describe(engine, &json, &err));
	end();
}
END_TEST

/* ---- containers ---- */

START_TEST(a_container_lives_and_is_gone)
{
	const char *const labels[] = {run_label, NULL};
	sc_autojson *root = NULL;
	sc_autojson *list = NULL;
	json_t *none = NULL;
	struct sc_container_state state;

	begin();
	sc_autofree char *id = run_sleeper();
	OK(sc_container_start(engine, id, soon(), &err));
	OK(sc_container_inspect(engine, id, soon(), &root, &err));
	sc_container_read_state(root, &state);
	ck_assert_str_eq(state.status, "running");
	ck_assert(state.running && state.pid > 0 && !state.oom_killed);
	OK(sc_container_list(engine, labels, false, soon(), &list, &err));
	ck_assert_uint_ge(json_array_size(list), 1);
	OK(sc_container_remove(engine, id, soon(), &err));
	OK(sc_container_remove(engine, id, soon(), &err));
	FAILS(SANDCELL_E_NOTFOUND, sc_container_inspect(engine, id, soon(), &none, &err));
	end();
}
END_TEST

START_TEST(limits_are_kept_by_the_engine)
{
	const struct sc_engine_info *info = NULL;
	sc_autojson *root = NULL;

	begin();
	sc_autofree char *id = run_sleeper();
	OK(sc_engine_info(engine, soon(), &info, &err));
	OK(sc_container_inspect(engine, id, soon(), &root, &err));
	const json_t *host = sc_json_get_obj(root, "HostConfig");
	ck_assert_int_eq(
		sc_json_get_int(host, "Memory", 0), info->limits_work ? 128 << 20 : 0);
	ck_assert_int_eq(sc_json_get_int(host, "PidsLimit", 0), info->limits_work ? 64 : 0);
	ck_assert(sc_json_get_bool(host, "ReadonlyRootfs", false));
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

START_TEST(a_taken_name_is_a_conflict_and_a_missing_image_is_not_found)
{
	static const char *const argv[] = {"true", NULL};
	char name[64];
	char *none = NULL;

	begin();
	(void)snprintf(name, sizeof(name), "sandcell-test-%s", strchr(run_label, '=') + 1);
	sc_autofree char *id = create(name, argv);
	sc_autojson *body = body_of(argv);
	FAILS(SANDCELL_E_CONFLICT,
		sc_container_create(engine, name, body, soon(), &none, NULL, &err));
	(void)json_object_set_new(body, "Image", json_string("sandcell/nothing:1"));
	FAILS(SANDCELL_E_NOTFOUND,
		sc_container_create(engine, NULL, body, soon(), &none, NULL, &err));
	ck_assert_ptr_null(none);
	OK(sc_container_remove(engine, name, soon(), &err));
	end();
}
END_TEST

START_TEST(a_wrong_state_is_a_conflict)
{
	sc_autojson *exec = json_pack("{s:[s]}", "Cmd", "true");
	char *none = NULL;

	begin();
	sc_autofree char *id = run_sleeper();
	FAILS(SANDCELL_E_CONFLICT, sc_container_unpause(engine, id, soon(), &err));
	OK(sc_container_pause(engine, id, soon(), &err));
	FAILS(SANDCELL_E_CONFLICT, sc_container_pause(engine, id, soon(), &err));
	FAILS(SANDCELL_E_CONFLICT, sc_exec_create(engine, id, exec, soon(), &none, &err));
	OK(sc_container_unpause(engine, id, soon(), &err));
	OK(sc_container_kill(engine, id, "KILL", soon(), &err));
	int code = 0;
	OK(sc_container_wait(engine, id, soon(), &code, &err));
	ck_assert_int_eq(code, 137);
	FAILS(SANDCELL_E_CONFLICT, sc_container_kill(engine, id, "KILL", soon(), &err));
	FAILS(SANDCELL_E_CONFLICT, sc_exec_create(engine, id, exec, soon(), &none, &err));
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

START_TEST(a_paused_container_is_removed_all_the_same)
{
	begin();
	sc_autofree char *id = run_sleeper();
	OK(sc_container_pause(engine, id, soon(), &err));
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

START_TEST(a_command_that_is_missing_is_named_in_the_error)
{
	static const char *const argv[] = {"/no/such/program", NULL};
	sandcell_error *why = NULL;

	begin();
	sc_autofree char *id = create(NULL, argv);
	ck_assert_int_lt(sc_container_start(engine, id, soon(), &why), 0);
	ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(why), "/no/such/program"));
	sandcell_error_free(why);
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

START_TEST(waiting_ends_with_its_deadline)
{
	int code = 0;

	begin();
	sc_autofree char *id = run_sleeper();
	FAILS(SANDCELL_E_TIMEOUT,
		sc_container_wait(engine, id, sc_deadline_in_ms(100), &code, &err));
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

static void *remove_it(void *user)
{
	return sc_container_remove(engine, user, soon(), NULL) < 0 ? user : NULL;
}

START_TEST(removed_by_four_at_once)
{
	pthread_t threads[4];
	void *failed = NULL;

	begin();
	sc_autofree char *id = run_sleeper();
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, remove_it, id), 0);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
	end();
}
END_TEST

START_TEST(attached_before_the_start_nothing_is_lost)
{
	static const char *const argv[] = {
		"sh", "-c", "echo out; echo why >&2; exit 3", NULL};
	struct output output;
	sc_stream *stream = NULL;
	int code = 0;

	begin();
	output_init(&output);
	sc_autofree char *id = create(NULL, argv);
	OK(sc_container_attach(
		engine, id, SC_ATTACH_STDOUT | SC_ATTACH_STDERR, soon(), &stream, &err));
	OK(sc_container_start(engine, id, soon(), &err));
	converse(stream, "", 0, &output);
	ck_assert_str_eq(sc_buf_text(&output.out), "out\n");
	ck_assert_str_eq(sc_buf_text(&output.err), "why\n");
	OK(sc_container_wait(engine, id, soon(), &code, &err));
	ck_assert_int_eq(code, 3);
	sc_stream_free(stream);
	output_clear(&output);
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

/* ---- execs ---- */

START_TEST(an_exec_takes_input_and_gives_output_and_code)
{
	struct output output;

	begin();
	output_init(&output);
	sc_autofree char *id = run_sleeper();
	sc_autofree char *exec = create_exec(id, "cat; echo problem >&2; exit 7");
	sc_stream *stream = NULL;
	struct sc_exec_state state = {0};
	OK(sc_exec_start(engine, exec, soon(), &stream, &err));
	OK(sc_exec_inspect(engine, exec, soon(), &state, &err));
	ck_assert(state.running && !state.has_exit_code);
	converse(stream, "hello", 5, &output);
	sc_stream_free(stream);
	OK(sc_exec_wait(engine, exec, soon(), &state, &err));
	ck_assert(state.has_exit_code && state.exit_code == 7);
	ck_assert_str_eq(sc_buf_text(&output.out), "hello");
	ck_assert_str_eq(sc_buf_text(&output.err), "problem\n");
	output_clear(&output);
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

START_TEST(eight_megabytes_come_back_as_they_went)
{
	static char input[8 << 20];
	struct output output;
	sc_stream *stream = NULL;

	begin();
	output_init(&output);
	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (char)(i * 2654435761u >> 13);
	sc_autofree char *id = run_sleeper();
	sc_autofree char *exec = create_exec(id, "cat");
	OK(sc_exec_start(engine, exec, soon(), &stream, &err));
	converse(stream, input, sizeof(input), &output);
	ck_assert_uint_eq(output.out.len, sizeof(input));
	ck_assert_mem_eq(output.out.data, input, sizeof(input));
	sc_stream_free(stream);
	output_clear(&output);
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

START_TEST(exit_codes_are_what_they_were)
{
	static const struct {
		const char *script;
		int code;
	} rows[] = {{"true", 0}, {"exit 1", 1}, {"exit 255", 255}, {"kill -9 $$", 137},
		{"kill -15 $$", 143}, {"no-such-program", 127}};

	begin();
	sc_autofree char *id = run_sleeper();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct output output;
		output_init(&output);
		int code = run_exec(id, rows[i].script, &output);
		ck_assert_msg(code == rows[i].code, "%s: %d", rows[i].script, code);
		output_clear(&output);
	}
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

/* Both engines say it in the stream: Docker on stdout, Podman on stderr. */
START_TEST(an_exec_that_cannot_start_never_succeeds)
{
	sc_autojson *body = json_pack("{s:[s],s:b,s:b}", "Cmd", "/no/such/program",
		"AttachStdout", 1, "AttachStderr", 1);
	sc_autofree char *exec = NULL;
	struct output output;
	struct sc_exec_state state = {0};
	sc_stream *stream = NULL;

	begin();
	output_init(&output);
	sc_autofree char *id = run_sleeper();
	OK(sc_exec_create(engine, id, body, soon(), &exec, &err));
	int rc = sc_exec_start(engine, exec, soon(), &stream, NULL);
	if (rc == 0) {
		converse(stream, "", 0, &output);
		OK(sc_exec_wait(engine, exec, soon(), &state, &err));
		ck_assert(!state.has_exit_code || state.exit_code != 0);
		ck_assert_uint_gt(output.out.len + output.err.len, 0);
	}
	sc_stream_free(stream);
	output_clear(&output);
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

START_TEST(the_end_of_the_container_ends_its_streams)
{
	struct output output;
	sc_stream *stream = NULL;

	begin();
	output_init(&output);
	sc_autofree char *id = run_sleeper();
	sc_autofree char *exec = create_exec(id, "echo ready; exec sleep 600");
	OK(sc_exec_start(engine, exec, soon(), &stream, &err));
	OK(sc_container_remove(engine, id, soon(), &err));
	converse(stream, "", 0, &output);
	sc_stream_free(stream);
	output_clear(&output);
	end();
}
END_TEST

/* ---- events ---- */

START_TEST(events_tell_how_it_ended)
{
	struct sc_demise demise = {0};
	uint64_t since = 0;
	int code = 0;

	begin();
	since = sc_engine_wall_now_ns(engine);
	sc_autofree char *id = run_sleeper();
	OK(sc_events_demise(engine, id, since, soon(), &demise, &err));
	ck_assert(!demise.died && !demise.removed);
	OK(sc_container_kill(engine, id, "KILL", soon(), &err));
	OK(sc_container_wait(engine, id, soon(), &code, &err));
	OK(sc_container_remove(engine, id, soon(), &err));
	/* The engine writes its journal a moment after it has answered. */
	for (sc_deadline until = soon(); !demise.removed && !sc_deadline_passed(until);)
		OK(sc_events_demise(engine, id, since, soon(), &demise, &err));
	ck_assert(demise.removed && demise.died && demise.killed);
	ck_assert(demise.has_exit_code && demise.exit_code == 137);
	end();
}
END_TEST

START_TEST(running_out_of_memory_is_an_event_where_the_table_says_so)
{
	static const char *const argv[] = {"python3", "-c", "x = b'x' * (1 << 29)", NULL};
	const struct sc_engine_info *info = NULL;
	struct sc_demise demise = {0};
	uint64_t since = 0;
	int code = 0;

	begin();
	OK(sc_engine_info(engine, soon(), &info, &err));
	since = sc_engine_wall_now_ns(engine);
	sc_autofree char *id = create(NULL, argv);
	OK(sc_container_start(engine, id, soon(), &err));
	OK(sc_container_wait(engine, id, soon(), &code, &err));
	if (info->limits_work)
		ck_assert_int_eq(code, 137);
	for (sc_deadline until = soon(); !demise.died && !sc_deadline_passed(until);)
		OK(sc_events_demise(engine, id, since, soon(), &demise, &err));
	ck_assert_int_eq(demise.oom, sc_engine_quirks(engine)->reports_oom);
	OK(sc_container_remove(engine, id, soon(), &err));
	end();
}
END_TEST

/* ---- images ---- */

struct tar {
	char bytes[4 * 512];
	size_t at;
};

/* A tar with the one file "hello", made by hand. */
static void make_tar(struct tar *tar)
{
	char *h = tar->bytes;
	unsigned sum = 0;

	memset(tar, 0, sizeof(*tar));
	(void)snprintf(h, 100, "hello");
	memcpy(h + 100, "0000644", 8);
	memcpy(h + 108, "0000000", 8);
	memcpy(h + 116, "0000000", 8);
	memcpy(h + 124, "00000000003", 12);
	memcpy(h + 136, "00000000000", 12);
	memset(h + 148, ' ', 8);
	h[156] = '0';
	memcpy(h + 257,
		"ustar\0"
		"00",
		8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	(void)snprintf(h + 148, 8, "%06o", sum);
	memcpy(h + 512, "hi\n", 3);
}

static ptrdiff_t give(void *data, size_t cap, void *user)
{
	struct tar *tar = user;
	size_t left = sizeof(tar->bytes) - tar->at;
	size_t n = left < cap ? left : cap;

	memcpy(data, tar->bytes + tar->at, n);
	tar->at += n;
	return (ptrdiff_t)n;
}

START_TEST(an_image_is_imported_found_tagged_and_removed)
{
	char change[128];
	const char *const changes[] = {change, "CMD [\"/hello\"]", NULL};
	const char *const labels[] = {run_label, NULL};
	struct tar tar;
	const struct sc_image_import import = {
		.repository = "sandcell-test/import",
		.tag = strchr(run_label, '=') + 1,
		.changes = changes,
		.read = give,
		.user = &tar,
	};
	char name[128];
	char other[128];
	sc_autojson *list = NULL;
	sc_autojson *root = NULL;
	sc_autofree char *id = NULL;
	json_t *none = NULL;

	begin();
	make_tar(&tar);
	(void)snprintf(change, sizeof(change), "LABEL %s", run_label);
	(void)snprintf(name, sizeof(name), "%s:%s", import.repository, import.tag);
	(void)snprintf(other, sizeof(other), "sandcell-test/other:%s", import.tag);
	OK(sc_image_import(engine, &import, soon(), &id, &err));
	OK(sc_image_inspect(engine, name, soon(), &root, &err));
	ck_assert_ptr_nonnull(strstr(sc_json_get_str(root, "Id", ""), id + 7));
	OK(sc_image_list(engine, labels, soon(), &list, &err));
	ck_assert_uint_eq(json_array_size(list), 1);
	OK(sc_image_tag(engine, name, "sandcell-test/other", import.tag, soon(), &err));
	OK(sc_image_remove(engine, name, soon(), &err));
	OK(sc_image_remove(engine, other, soon(), &err));
	OK(sc_image_remove(engine, other, soon(), &err));
	FAILS(SANDCELL_E_NOTFOUND, sc_image_inspect(engine, other, soon(), &none, &err));
	end();
}
END_TEST

REAL_MAIN("engine", it_says_what_it_is, a_container_lives_and_is_gone,
	limits_are_kept_by_the_engine,
	a_taken_name_is_a_conflict_and_a_missing_image_is_not_found,
	a_wrong_state_is_a_conflict, a_paused_container_is_removed_all_the_same,
	a_command_that_is_missing_is_named_in_the_error, waiting_ends_with_its_deadline,
	removed_by_four_at_once, attached_before_the_start_nothing_is_lost,
	an_exec_takes_input_and_gives_output_and_code,
	eight_megabytes_come_back_as_they_went, exit_codes_are_what_they_were,
	an_exec_that_cannot_start_never_succeeds, the_end_of_the_container_ends_its_streams,
	events_tell_how_it_ended, running_out_of_memory_is_an_event_where_the_table_says_so,
	an_image_is_imported_found_tagged_and_removed)
