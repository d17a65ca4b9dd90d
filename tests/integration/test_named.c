/* SPDX-License-Identifier: MIT */
/* Sessions found by name, used by several clients, and left alone. */
#include "real.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "sandcell/sandcell.h"

static char name[64];
static sandcell_session *first;

static void open_named(sandcell_session_options opts)
{
	opts.struct_size = sizeof(opts);
	(void)snprintf(name, sizeof(name), "test-named-%ld", (long)getpid());
	opts.name = name;
	real_open(getenv("REAL_HOST"));
	OK(sandcell_session_open(engine, &opts, &first, &err));
}

static void end(void)
{
	ck_assert_int_eq(sandcell_session_close(first, NULL), 0);
	sandcell_session_free(first);
	sc_engine_free(SANDCELL_TAKE(engine));
}

static sandcell_session *attach(uint32_t flags)
{
	const sandcell_attach_options opts = {.struct_size = sizeof(opts), .flags = flags};
	sandcell_session *session = NULL;

	OK(sandcell_session_attach(engine, name, &opts, &session, &err));
	return session;
}

static void expect_output(sandcell_session *session, const char *code, const char *wanted)
{
	sandcell_result *result = NULL;

	OK(sandcell_execute(session, code, strlen(code), NULL, &result, &err));
	const char *output = sandcell_result_get_output(result, NULL);
	ck_assert_str_eq(output ? output : "none", wanted);
	sandcell_result_free(result);
}

static int64_t figure(sandcell_session *session, const char *key)
{
	char *text = NULL;

	OK(sandcell_session_stat(session, &text, &err));
	json_t *stat = json_loads(text, 0, NULL);
	ck_assert_msg(json_object_get(stat, key) != NULL, "no '%s' in %s", key, text);
	int64_t value = sc_json_get_int(stat, key, -1);
	json_decref(stat);
	sandcell_string_free(text);
	return value;
}

START_TEST(clients_share_the_variables)
{
	open_named((sandcell_session_options){0});
	expect_output(first, "x = 41", "none");
	sandcell_session *second = attach(0);
	ck_assert_str_eq(sandcell_session_get_name(second), name);
	ck_assert_str_eq(sandcell_session_get_container(second),
		sandcell_session_get_container(first));
	expect_output(second, "x + 1", "42");
	ck_assert_int_eq(sandcell_reset(second, NULL), 0);
	expect_output(first, "'x' in globals()", "false");
	sandcell_session_free(second);
	end();
}
END_TEST

START_TEST(what_was_granted_is_told_to_whoever_attaches)
{
	const sandcell_session_options opts = {.memory_bytes = 128 << 20, .pids_max = 99};

	open_named(opts);
	sandcell_session *second = attach(SANDCELL_ATTACH_OBSERVE);
	json_t *mine = json_loads(sandcell_session_get_json(first), 0, NULL);
	json_t *theirs = json_loads(sandcell_session_get_json(second), 0, NULL);
	(void)json_object_del(mine, "warnings");
	(void)json_object_del(theirs, "warnings");
	ck_assert_msg(json_equal(mine, theirs), "%s\n%s", sandcell_session_get_json(first),
		sandcell_session_get_json(second));
	json_decref(mine);
	json_decref(theirs);
	sandcell_session_free(second);
	end();
}
END_TEST

START_TEST(a_session_outlives_who_detaches)
{
	sandcell_result *result = NULL;

	open_named((sandcell_session_options){0});
	expect_output(first, "kept = 7", "none");
	OK(sandcell_session_detach(first, &err));
	FAILS(SANDCELL_E_CLOSED, sandcell_execute(first, "1", 1, NULL, &result, &err));
	sandcell_session_free(first);
	first = attach(0);
	expect_output(first, "kept", "7");
	end();
}
END_TEST

START_TEST(nobody_attaches_to_what_is_not_there)
{
	sandcell_session *session = NULL;

	open_named((sandcell_session_options){0});
	FAILS(SANDCELL_E_NOTFOUND,
		sandcell_session_attach(engine, "no-such-session", NULL, &session, &err));
	FAILS(SANDCELL_E_INVAL,
		sandcell_session_attach(engine, "../etc", NULL, &session, &err));
	sandcell_session *second = attach(0);
	OK(sandcell_session_close(second, &err));
	sandcell_session_free(second);
	FAILS(SANDCELL_E_NOTFOUND,
		sandcell_session_attach(engine, name, NULL, &session, &err));
	end();
}
END_TEST

START_TEST(a_session_that_ended_is_not_replaced_by_who_attached)
{
	sandcell_result *result = NULL;

	open_named((sandcell_session_options){0});
	sandcell_session *second = attach(0);
	OK(sandcell_session_close(first, &err));
	int rc = sandcell_execute(second, "1", 1, NULL, &result, NULL);
	if (rc == 0) { /* it was sent before the end was seen */
		ck_assert_int_eq(sandcell_result_get_status(result), SANDCELL_RESULT_LOST);
		ck_assert_int_eq(sandcell_result_get_container_restarted(result), 0);
		sandcell_result_free(result);
	} else {
		ck_assert_int_eq(rc, SANDCELL_E_GONE);
	}
	FAILS(SANDCELL_E_GONE, sandcell_execute(second, "1", 1, NULL, &result, &err));
	sandcell_session_free(second);
	end();
}
END_TEST

/* ---- taking turns ---- */

static const char forever[] = "import time\nwhile True: time.sleep(0.01)";

static uint64_t start_detached(sandcell_session *session, const char *code)
{
	const sandcell_execute_options opts = {
		.struct_size = sizeof(opts), .timeout_ms = REAL_HANG_MS};
	uint64_t id = 0;

	OK(sandcell_execute_detached(session, code, strlen(code), &opts, &id, &err));
	ck_assert_uint_gt(id, 0);
	return id;
}

START_TEST(who_will_not_wait_is_told_that_it_is_busy)
{
	const sandcell_execute_options opts = {
		.struct_size = sizeof(opts), .flags = SANDCELL_EXECUTE_NO_WAIT};
	sandcell_result *result = NULL;
	uint32_t count = 0;

	open_named((sandcell_session_options){0});
	uint64_t id = start_detached(first, forever);
	sandcell_session *second = attach(0);
	FAILS(SANDCELL_E_BUSY, sandcell_execute(second, "1", 1, &opts, &result, &err));
	FAILS(SANDCELL_E_BUSY, sandcell_fetch_result(second, id, &opts, &result, &err));
	OK(sandcell_session_interrupt_all(second, &count, &err));
	ck_assert_uint_eq(count, 1);
	OK(sandcell_fetch_result(second, id, NULL, &result, &err));
	ck_assert_int_eq(sandcell_result_get_status(result), SANDCELL_RESULT_INTERRUPTED);
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
	sandcell_result_free(result);
	expect_output(second, "2", "2");
	sandcell_session_free(second);
	end();
}
END_TEST

START_TEST(a_detached_call_goes_on_and_is_fetched_by_another_client)
{
	size_t len = 0;
	sandcell_result *result = NULL;

	open_named((sandcell_session_options){0});
	uint64_t id = start_detached(
		first, "import time\nprint('a', flush=True)\ntime.sleep(0.3)\n'done'");
	sandcell_session_free(first);
	first = attach(0);
	OK(sandcell_fetch_result(first, id, NULL, &result, &err));
	ck_assert_str_eq(sandcell_result_get_output(result, NULL), "\"done\"");
	ck_assert_str_eq(sandcell_result_get_stream(result, SANDCELL_STDOUT, &len), "a\n");
	sandcell_result_free(result);
	FAILS(SANDCELL_E_NOTFOUND,
		sandcell_fetch_result(first, 12345, NULL, &result, &err));
	end();
}
END_TEST

START_TEST(waiting_for_a_result_has_its_own_end)
{
	const sandcell_execute_options opts = {
		.struct_size = sizeof(opts), .timeout_ms = 50};
	sandcell_result *result = NULL;
	uint64_t id = 0;

	open_named((sandcell_session_options){0});
	FAILS(SANDCELL_E_INVAL, sandcell_execute_detached(first, "1", 1, NULL, &id, &err));
	id = start_detached(first, forever);
	FAILS(SANDCELL_E_TIMEOUT, sandcell_fetch_result(first, id, &opts, &result, &err));
	FAILS(SANDCELL_E_TIMEOUT, sandcell_fetch_result(first, id, &opts, &result, &err));
	ck_assert_int_ge(figure(first, "running_ms"), 0);
	OK(sandcell_session_interrupt_all(first, NULL, &err));
	expect_output(first, "1", "1");
	end();
}
END_TEST

/* ---- life ---- */

static void wait_until_gone(void)
{
	sc_deadline deadline = soon();
	sc_autojson *found = NULL;
	char container[128];

	(void)snprintf(container, sizeof(container), "sandcell-%s", name);
	while (sc_container_inspect(engine, container, soon(), &found, NULL) == 0) {
		json_decref(SANDCELL_TAKE(found));
		ck_assert(!sc_deadline_passed(deadline));
		sc_pause_ms(20, deadline);
	}
}

START_TEST(a_lease_ends_a_session_that_nobody_holds)
{
	open_named((sandcell_session_options){0});
	sandcell_session *watcher = attach(SANDCELL_ATTACH_OBSERVE);
	ck_assert_int_eq(figure(watcher, "clients"), 1);
	ck_assert_int_eq(figure(watcher, "lease_ms"), 1800000);
	OK(sandcell_session_set_lease(watcher, 200, &err));
	ck_assert_int_eq(figure(first, "lease_left_ms"), -1);
	sandcell_session_free(first);
	wait_until_gone();
	first = watcher;
	end();
}
END_TEST

START_TEST(a_session_has_the_lifetimes_and_limits_it_was_opened_with)
{
	const sandcell_session_options opts = {
		.fsize_bytes = 1000, .nofile_max = 64, .max_life_ms = 3600000};

	open_named(opts);
	expect_output(first,
		"import resource as r\n"
		"[r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_FSIZE)] == "
		"[(64, 64), (1000, 1000)]",
		"true");
	int64_t left = figure(first, "life_left_ms");
	ck_assert_int_gt(left, 0);
	ck_assert_int_le(left, 3600000);
	end();
}
END_TEST

START_TEST(an_idle_session_ends)
{
	const sandcell_session_options opts = {.idle_ms = 300};

	open_named(opts);
	wait_until_gone();
	end();
}
END_TEST

REAL_MAIN("named", clients_share_the_variables,
	what_was_granted_is_told_to_whoever_attaches, a_session_outlives_who_detaches,
	nobody_attaches_to_what_is_not_there,
	a_session_that_ended_is_not_replaced_by_who_attached,
	who_will_not_wait_is_told_that_it_is_busy,
	a_detached_call_goes_on_and_is_fetched_by_another_client,
	waiting_for_a_result_has_its_own_end, a_lease_ends_a_session_that_nobody_holds,
	a_session_has_the_lifetimes_and_limits_it_was_opened_with, an_idle_session_ends)
