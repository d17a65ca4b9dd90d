/* SPDX-License-Identifier: MIT */
/* The podman service of our own, with a program that only pretends to be podman. */
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/num.h"
#include "engine/engine_impl.h"
#include "engine/exec.h"
#include "engine/find.h"
#include "engine/http.h"
#include "engine/service.h"
#include "fake_unit.h"

static const char *const nowhere[] = {NULL};
static char folder[64];
static char log_path[80];

static void begin(void)
{
	char path[4096];

	(void)snprintf(folder, sizeof(folder), "/tmp/test-service-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	(void)snprintf(log_path, sizeof(log_path), "%s/log", folder);
	(void)snprintf(path, sizeof(path), "%s:/usr/bin:/bin", FAKE_PODMAN_FOLDER);
	(void)setenv("PATH", path, 1);
	(void)setenv("SANDCELL_RUN_DIR", folder, 1);
	(void)setenv("FAKE_PODMAN_LOG", log_path, 1);
	(void)setenv("CONTAINERS_CONF", "/nowhere", 1);
	(void)setenv("STORAGE_DRIVER", "overlay", 1);
	(void)unsetenv("FAKE_PODMAN_FAIL");
}

static char *read_log(void)
{
	char *text = NULL;
	size_t len = 0;

	if (sc_fd_read_file(log_path, 1 << 20, &text, &len) < 0)
		text = sc_strdup("");
	return text;
}

static size_t count_starts(void)
{
	sc_autofree char *text = read_log();
	size_t count = 0;

	for (const char *p = text; *p; p++)
		count += *p == '\n';
	return count;
}

/* Ends every one that was started, and returns when nobody listens any more. */
static void kill_services(void)
{
	sc_autofree char *text = read_log();
	sc_deadline deadline = soon();
	char socket_path[128];
	int fd = -1;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		uint64_t pid = 0;
		ck_assert(sc_parse_u64_n(line, strcspn(line, " "), INT32_MAX, &pid));
		(void)kill((pid_t)pid, SIGKILL);
	}
	(void)snprintf(socket_path, sizeof(socket_path), "%s/podman-service.sock", folder);
	while (sc_fd_connect_unix(socket_path, soon(), &fd, NULL) == 0) {
		sc_closep(&fd);
		ck_assert(!sc_deadline_passed(deadline));
	}
}

static void end(void)
{
	static const char *const names[] = {
		"log", "podman-service.sock", "podman-service.log", "podman-service.lock"};

	kill_services();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	ck_assert_int_eq(rmdir(folder), 0);
}

static int find(sandcell_engine **out, sandcell_error **err_out)
{
	const sandcell_engine_options opts = {.struct_size = sizeof(opts)};
	sandcell_engine *engine = sc_engine_new(&opts);
	int rc = sc_engine_find_among(engine, nowhere, err_out);

	if (rc < 0)
		sc_engine_free(engine);
	else
		*out = engine;
	return rc;
}

static sandcell_engine *must_find(void)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	int rc = find(&engine, &err);

	ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
	return engine;
}

START_TEST(it_is_started_where_no_engine_answers)
{
	begin();
	sandcell_engine *engine = must_find();
	sc_autofree char *log = read_log();
	ck_assert_str_eq(sc_engine_kind(engine), "podman");
	ck_assert_str_eq(sc_engine_source(engine), "own podman service");
	ck_assert_ptr_nonnull(strstr(log, " system service --time=60 unix:///tmp/"));
	ck_assert(!sc_engine_is_remote(engine));
	sc_engine_free(engine);
	end();
}
END_TEST

START_TEST(one_serves_everybody)
{
	begin();
	sandcell_engine *first = must_find();
	sandcell_engine *second = must_find();
	ck_assert_str_eq(sc_engine_host(first), sc_engine_host(second));
	ck_assert_uint_eq(count_starts(), 1);
	sc_engine_free(first);
	sc_engine_free(second);
	end();
}
END_TEST

static void *find_one(void *user)
{
	sandcell_engine *engine = NULL;

	(void)user;
	return find(&engine, NULL) == 0 ? engine : NULL;
}

START_TEST(four_threads_start_one)
{
	pthread_t threads[4];
	void *engines[4] = {NULL};

	begin();
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, find_one, NULL), 0);
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(threads[i], &engines[i]), 0);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_ptr_nonnull(engines[i]);
		sc_engine_free(engines[i]);
	}
	ck_assert_uint_eq(count_starts(), 1);
	end();
}
END_TEST

/* It ends when idle: the next request, or stream, starts it again. */
START_TEST(an_engine_outlives_its_service)
{
	const struct sc_http_request request = {.path = "/info", .deadline = soon()};
	sc_stream *stream = NULL;

	begin();
	sandcell_engine *engine = must_find();
	for (size_t i = 2; i <= 3; i++) {
		sc_autoreply reply = SC_HTTP_REPLY_INIT;
		kill_services();
		ck_assert_int_eq(sc_http_call(engine, &request, &reply, NULL), 0);
		ck_assert_uint_eq(count_starts(), i);
	}
	kill_services();
	ck_assert_int_eq(sc_exec_start(engine, "e1", soon(), &stream, NULL), 0);
	ck_assert_uint_eq(count_starts(), 4);
	sc_stream_free(stream);
	sc_engine_free(engine);
	end();
}
END_TEST

START_TEST(what_podman_complains_about_is_in_the_error)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	begin();
	(void)setenv("FAKE_PODMAN_FAIL", "Error: cannot re-exec process", 1);
	ck_assert_int_lt(find(&engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "cannot re-exec process");
	end();
}
END_TEST

START_TEST(without_podman_the_trail_says_so)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	begin();
	(void)setenv("PATH", "/nowhere:", 1);
	ck_assert_int_lt(find(&engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "podman is not installed");
	end();
}
END_TEST

START_TEST(a_folder_that_others_can_enter_is_refused)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	begin();
	ck_assert_int_eq(chmod(folder, 0755), 0);
	ck_assert_int_lt(find(&engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "yours alone");
	ck_assert_uint_eq(count_starts(), 0);
	end();
}
END_TEST

UNIT_MAIN("service", it_is_started_where_no_engine_answers, one_serves_everybody,
	four_threads_start_one, an_engine_outlives_its_service,
	what_podman_complains_about_is_in_the_error, without_podman_the_trail_says_so,
	a_folder_that_others_can_enter_is_refused)
