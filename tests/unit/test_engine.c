/* SPDX-License-Identifier: MIT */
/* Finding an engine, and agreeing with it on a version. */
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "engine/engine_impl.h"
#include "engine/find.h"
#include "fake_unit.h"

static const sandcell_engine_options defaults = {.struct_size = sizeof(defaults)};
static char dir[64];

static int open_any(sandcell_engine **out, sandcell_error **err_out)
{
	return sc_engine_open(&defaults, out, err_out);
}

static void forget_environment(void)
{
	static const char *const names[] = {"SANDCELL_HOST", "DOCKER_HOST",
		"CONTAINER_HOST", "DOCKER_CONTEXT", "SANDCELL_API_VERSION",
		"XDG_RUNTIME_DIR"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
	(void)snprintf(dir, sizeof(dir), "/tmp/test-engine-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)setenv("DOCKER_CONFIG", dir, 1);
}

static void tidy(void)
{
	(void)rmdir(dir);
}

/* ---- naming ---- */

START_TEST(each_variable_names_a_host_and_the_first_wins)
{
	static const char *const names[] = {
		"SANDCELL_HOST", "DOCKER_HOST", "CONTAINER_HOST"};
	fake_engine *fake = fake_start();

	forget_environment();
	for (size_t i = 3; i-- > 0;) {
		sandcell_engine *engine = NULL;
		(void)setenv(names[i], fake_host(fake), 1);
		ck_assert_int_eq(open_any(&engine, NULL), 0);
		ck_assert_str_eq(sc_engine_source(engine), names[i]);
		ck_assert_str_eq(sc_engine_host(engine), fake_host(fake));
		ck_assert_str_eq(sc_engine_socket_path(engine), fake_path(fake));
		ck_assert(!sc_engine_is_remote(engine));
		sc_engine_free(engine);
		/* From now on it is the one that must not be asked. */
		(void)setenv(names[i], "unix:///not/asked", 1);
	}
	tidy();
	fake_stop(fake);
}
END_TEST

START_TEST(an_explicit_host_beats_the_environment)
{
	fake_engine *fake = fake_start();

	forget_environment();
	(void)setenv("SANDCELL_HOST", "unix:///nowhere", 1);
	sandcell_engine *engine = open_engine(fake);
	ck_assert_str_eq(sc_engine_source(engine), "host option");
	sc_engine_free(engine);
	tidy();
	fake_stop(fake);
}
END_TEST

START_TEST(a_named_host_is_never_replaced)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	forget_environment();
	(void)setenv("DOCKER_HOST", "unix:///nowhere/docker.sock", 1);
	(void)setenv("CONTAINER_HOST", fake_host(fake), 1);
	ck_assert_int_lt(open_any(&engine, &err), 0);
	ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(err), "DOCKER_HOST"));
	expect_error(&err, SANDCELL_E_CONNECT, "/nowhere/docker.sock");
	ck_assert_uint_eq(fake_connections(fake), 0);
	(void)setenv("DOCKER_HOST", "npipe:////./pipe/docker", 1);
	ck_assert_int_lt(open_any(&engine, &err), 0);
	expect_error(&err, SANDCELL_E_INVAL, "expected unix://");
	ck_assert_ptr_null(engine);
	tidy();
	fake_stop(fake);
}
END_TEST

START_TEST(an_empty_variable_names_nothing)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;

	forget_environment();
	(void)setenv("SANDCELL_HOST", "", 1);
	(void)setenv("DOCKER_HOST", fake_host(fake), 1);
	ck_assert_int_eq(open_any(&engine, NULL), 0);
	ck_assert_str_eq(sc_engine_source(engine), "DOCKER_HOST");
	sc_engine_free(engine);
	tidy();
	fake_stop(fake);
}
END_TEST

/* ---- searching ---- */

static int search(const char *const *paths, sandcell_engine **out, sandcell_error **err_out)
{
	sandcell_engine *engine = sc_engine_new(&defaults);
	int rc = sc_engine_find_among(engine, paths, err_out);

	if (rc < 0)
		sc_engine_free(engine);
	else
		*out = engine;
	return rc;
}

START_TEST(the_first_engine_that_answers_is_taken)
{
	fake_engine *broken = fake_start();
	fake_engine *good = fake_start();
	const char *const paths[] = {
		"/nowhere/x.sock", fake_path(broken), fake_path(good), NULL};
	sandcell_engine *engine = NULL;

	fake_reply(broken, "GET /_ping", 500, "{\"message\":\"shutting down\"}");
	ck_assert_int_eq(search(paths, &engine, NULL), 0);
	ck_assert_str_eq(sc_engine_host(engine), fake_host(good));
	ck_assert_str_eq(sc_engine_source(engine), "default socket");
	sc_engine_free(engine);
	fake_stop(good);
	fake_stop(broken);
}
END_TEST

static void make_stale_socket(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(addr.sun_path, path, strlen(path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	(void)close(fd);
}

START_TEST(the_trail_says_why_each_place_failed)
{
	char stale[128];
	char plain[128];
	fake_engine *web = fake_start();
	fake_engine *old = fake_start();
	const fake_rule ancient = {.on = "GET /_ping", .headers = "Api-Version: 1.38\r\n"};
	const char *const paths[] = {
		"/nowhere/x.sock", stale, plain, fake_path(web), fake_path(old), NULL};
	static const char *const reasons[] = {"/nowhere/x.sock: no such file",
		"stale.sock: no engine listens", "plain.file: not a socket",
		"not an engine", "API too old: it speaks up to 1.38"};
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	forget_environment();
	char *old_path = strdup(getenv("PATH"));
	(void)setenv("PATH", "/nowhere", 1); /* no podman */
	(void)snprintf(stale, sizeof(stale), "%s/stale.sock", dir);
	(void)snprintf(plain, sizeof(plain), "%s/plain.file", dir);
	make_stale_socket(stale);
	FILE *file = fopen(plain, "w");
	ck_assert_ptr_nonnull(file);
	(void)fclose(file);
	fake_reply(web, "GET /_ping", 200, "<html>hello</html>");
	fake_on(old, &ancient);
	ck_assert_int_lt(search(paths, &engine, &err), 0);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		ck_assert_msg(strstr(sandcell_error_get_message(err), reasons[i]) != NULL,
			"no '%s' in '%s'", reasons[i], sandcell_error_get_message(err));
	expect_error(&err, SANDCELL_E_CONNECT, "no engine found");
	(void)setenv("PATH", old_path, 1);
	free(old_path);
	(void)unlink(stale);
	(void)unlink(plain);
	tidy();
	fake_stop(old);
	fake_stop(web);
}
END_TEST

/* Root may connect anywhere, so the test becomes somebody else for this. */
START_TEST(a_socket_of_another_group_names_the_group)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	struct group *daemon = getgrnam("daemon");

	if (getuid() != 0 || !daemon) {
		fake_stop(fake);
		return;
	}
	ck_assert_int_eq(chown(fake_path(fake), 0, daemon->gr_gid), 0);
	ck_assert_int_eq(chmod(fake_path(fake), 0660), 0);
	char parent[128];
	(void)snprintf(parent, sizeof(parent), "%s", fake_path(fake));
	*strrchr(parent, '/') = '\0';
	ck_assert_int_eq(chmod(parent, 0755), 0);
	const sandcell_engine_options opts = {
		.struct_size = sizeof(opts), .host = fake_host(fake)};
	ck_assert_int_eq(seteuid(65534), 0);
	int rc = sc_engine_open(&opts, &engine, &err);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_lt(rc, 0);
	expect_error(&err, SANDCELL_E_CONNECT, "join the group 'daemon'");
	fake_stop(fake);
}
END_TEST

/* ---- contexts ---- */

static void write_file(const char *name, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

/* sha256("lab") */
#define LAB "a51146d38077ff992eba84cf1d5e9b249073503eb74868699016153b031a38f7"

static void remove_all(void)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(the_current_context_is_a_named_host)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	char meta[512];

	forget_environment();
	write_file("config.json", "{\"auths\":{},\"currentContext\":\"lab\"}");
	ck_assert_int_lt(open_any(&engine, &err), 0);
	expect_error(&err, SANDCELL_E_INVAL, "context 'lab'");
	(void)snprintf(meta, sizeof(meta),
		"{\"Name\":\"lab\",\"Metadata\":{},\"Endpoints\":{\"docker\":"
		"{\"Host\":\"%s\",\"SkipTLSVerify\":false}}}",
		fake_host(fake));
	write_file("contexts/meta/" LAB "/meta.json", meta);
	ck_assert_int_eq(open_any(&engine, NULL), 0);
	ck_assert_str_eq(sc_engine_source(engine), "Docker context lab");
	ck_assert_str_eq(sc_engine_host(engine), fake_host(fake));
	sc_engine_free(engine);
	(void)setenv("DOCKER_HOST", "unix:///nowhere", 1);
	ck_assert_int_lt(open_any(&engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "DOCKER_HOST");
	remove_all();
	fake_stop(fake);
}
END_TEST

START_TEST(docker_context_in_the_environment_wins_over_the_file)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	char meta[512];

	forget_environment();
	(void)setenv("DOCKER_CONTEXT", "lab", 1);
	write_file("config.json", "{\"currentContext\":\"other\"}");
	(void)snprintf(meta, sizeof(meta), "{\"Endpoints\":{\"docker\":{\"Host\":\"%s\"}}}",
		fake_host(fake));
	write_file("contexts/meta/" LAB "/meta.json", meta);
	ck_assert_int_eq(open_any(&engine, NULL), 0);
	ck_assert_str_eq(sc_engine_source(engine), "Docker context lab");
	sc_engine_free(engine);
	remove_all();
	fake_stop(fake);
}
END_TEST

START_TEST(broken_context_files_are_errors_that_name_the_file)
{
	static const char *const broken[] = {"{", "[]", "{\"Endpoints\":{}}",
		"{\"Endpoints\":{\"docker\":{\"Host\":7}}}"};
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	forget_environment();
	write_file("config.json", "not json");
	ck_assert_int_lt(open_any(&engine, &err), 0);
	expect_error(&err, SANDCELL_E_INVAL, "config.json");
	write_file("config.json", "{\"currentContext\":\"lab\"}");
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		write_file("contexts/meta/" LAB "/meta.json", broken[i]);
		ck_assert_int_lt(open_any(&engine, &err), 0);
		expect_error(&err, SANDCELL_E_INVAL, "meta.json");
	}
	remove_all();
}
END_TEST

/* ---- versions ---- */

struct version_row {
	const char *theirs;
	const char *minimum; /* of /version */
	const char *forced;  /* SANDCELL_API_VERSION; NULL: none */
	const char *spoken;  /* NULL: refused */
};

static const struct version_row versions[] = {
	{"1.41", "1.12", NULL, "1.41"}, /* Docker 20.10, Podman 4 */
	{"1.43", "1.12", NULL, "1.43"},
	{"1.52", "1.44", NULL, "1.52"}, /* Docker 29 */
	{"1.60", "1.44", NULL, "1.52"},
	{"1.60", "1.53", NULL, NULL},
	{"1.40", "1.12", NULL, NULL},
	{"1.52", "1.44", "1.44", "1.44"},
	{"1.52", "1.44", "1.43", NULL},
	{"1.41", "1.12", "1.44", NULL},
	{"1.60", "1.44", "1.55", "1.55"},
	{"1.41", "1.12", "", "1.41"},
	{"1.41", "1.12", "v1.41", NULL},
	{"1.41", "1.12", "1.41.0", NULL},
	{"1.44.5.6", "1.12", NULL, NULL},
	{"v9999999999", "1.12", NULL, NULL},
	{"2.0", "1.12", NULL, NULL},
	{"1.-3", "1.12", NULL, NULL},
};

static void expect_version(const struct version_row *row)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	char ping[64];
	char version[128];

	forget_environment();
	if (row->forced)
		(void)setenv("SANDCELL_API_VERSION", row->forced, 1);
	(void)snprintf(ping, sizeof(ping), "Api-Version: %s\r\n", row->theirs);
	(void)snprintf(
		version, sizeof(version), "{\"MinAPIVersion\":\"%s\"}", row->minimum);
	const fake_rule rule = {.on = "GET /_ping", .headers = ping, .body = "OK"};
	fake_on(fake, &rule);
	fake_reply(fake, "GET /version", 200, version);
	int rc = open_with(fake, 0, &engine, &err);
	if (row->spoken) {
		ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
		ck_assert_str_eq(sc_engine_api_version(engine), row->spoken);
	} else {
		ck_assert_int_lt(rc, 0);
		ck_assert_ptr_nonnull(
			strstr(sandcell_error_get_message(err), fake_path(fake)));
	}
	sandcell_error_free(err);
	sc_engine_free(engine);
	tidy();
	fake_stop(fake);
}

START_TEST(the_highest_version_of_both_is_spoken)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		expect_version(&versions[i]);
}
END_TEST

START_TEST(the_kind_is_read_from_the_ping)
{
	fake_engine *fake = fake_start();
	const fake_rule podman = {.on = "GET /_ping",
		.headers = "API-VERSION: 1.41\r\nLibpod-API-Version: 4.3.1\r\n",
		.body = "OK"};
	sandcell_engine *engine = open_engine(fake);

	ck_assert_str_eq(sc_engine_kind(engine), "docker");
	ck_assert(sc_engine_speaks(engine, 41) && !sc_engine_speaks(engine, 42));
	sc_engine_free(engine);
	fake_on(fake, &podman);
	engine = open_engine(fake);
	ck_assert_str_eq(sc_engine_kind(engine), "podman");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* What a broken engine, or a hostile one, may answer to the first requests. */
START_TEST(odd_version_replies_are_errors_or_ignored)
{
	static const char *const replies[] = {"{\"a\\u0000b\":1}", "{\"n\":1e999}", "[]",
		"null", "{\"MinAPIVersion\":7}",
		"{\"MinAPIVersion\":\"1.1\",\"MinAPIVersion\":7}",
		"{\"MinAPIVersion\":\"1.44\"}x", ""};
	fake_engine *fake = fake_start();

	forget_environment();
	(void)setenv("SANDCELL_API_VERSION", "1.41", 1);
	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		sandcell_engine *engine = NULL;
		sandcell_error *err = NULL;
		fake_reply(fake, "GET /version", 200, replies[i]);
		int rc = open_with(fake, 0, &engine, &err);
		ck_assert_msg(rc == 0 || rc == SANDCELL_E_PROTOCOL, "%s", replies[i]);
		sandcell_error_free(err);
		sc_engine_free(engine);
	}
	tidy();
	fake_stop(fake);
}
END_TEST

/* ---- the engine's clock ---- */

START_TEST(a_clock_that_differs_is_taken_from_the_date)
{
	fake_engine *fake = fake_start();
	const fake_rule dated = {.on = "GET /_ping",
		.headers = "Api-Version: 1.41\r\nDate: Fri, 02 Jan 1970 00:00:00 GMT\r\n"};
	sandcell_engine *engine = open_engine(fake);
	uint64_t now = sc_wall_now_ns();

	ck_assert_uint_ge(sc_engine_wall_now_ns(engine), now);
	sc_engine_free(engine);
	fake_on(fake, &dated);
	engine = open_engine(fake);
	uint64_t theirs = sc_engine_wall_now_ns(engine);
	ck_assert_uint_ge(theirs, 86400 * SC_SEC_IN_NS);
	ck_assert_uint_lt(theirs, (86400 + 600) * SC_SEC_IN_NS);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

static fake_engine *chaos_fake;

static int open_under_chaos(sandcell_error **err_out)
{
	sandcell_engine *engine = NULL;
	int rc = open_with(chaos_fake, 0, &engine, err_out);

	if (rc == 0)
		sc_engine_free(engine);
	return rc;
}

START_TEST(opening_survives_failing_allocations)
{
	chaos_fake = fake_start();
	unit_chaos(open_under_chaos);
	fake_stop(chaos_fake);
}
END_TEST

UNIT_MAIN("engine", each_variable_names_a_host_and_the_first_wins,
	an_explicit_host_beats_the_environment, a_named_host_is_never_replaced,
	an_empty_variable_names_nothing, the_first_engine_that_answers_is_taken,
	the_trail_says_why_each_place_failed, a_socket_of_another_group_names_the_group,
	the_current_context_is_a_named_host,
	docker_context_in_the_environment_wins_over_the_file,
	broken_context_files_are_errors_that_name_the_file,
	the_highest_version_of_both_is_spoken, the_kind_is_read_from_the_ping,
	odd_version_replies_are_errors_or_ignored,
	a_clock_that_differs_is_taken_from_the_date, opening_survives_failing_allocations)
