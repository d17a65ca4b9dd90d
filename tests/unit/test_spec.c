/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "session/config.h"
#include "session/runner_source.h"
#include "session/spec.h"
#include "unit.h"

#define MIB ((uint64_t)1 << 20)

static const struct sc_caller caller = {.uid = 1000, .gid = 1000};
static const struct sc_owner owner = {
	.uid = 1000, .pid = 77, .host = "h", .boot_id = "b", .pid_ns = 5, .start = 6};
static const struct sc_spec_engine engine = {
	.runtime_per_request = true, .created_s = 1234, .nonce = "abc"};

static int load(struct sc_config *config, const sandcell_session_options *opts)
{
	return sc_config_load(config, opts, NULL, false, caller, NULL);
}

static void expect_refusal(const sandcell_session_options *opts)
{
	struct sc_config config;

	ck_assert_int_eq(load(&config, opts), SANDCELL_E_INVAL);
	sc_config_clear(&config);
}

static json_t *make_body(const sandcell_session_options *opts)
{
	struct sc_config config;
	json_t *body = NULL;

	ck_assert_int_eq(load(&config, opts), 0);
	ck_assert_int_eq(sc_spec_container(&config, &owner, &engine, &body, NULL), 0);
	sc_config_clear(&config);
	return body;
}

static json_t *make_setup(const sandcell_session_options *opts, const json_t *image_env)
{
	struct sc_config config;
	json_t *header = NULL;

	ck_assert_int_eq(load(&config, opts), 0);
	ck_assert_int_eq(sc_spec_setup(&config, image_env, 9, &header, NULL), 0);
	sc_config_clear(&config);
	return header;
}

static const json_t *host_of(const json_t *body)
{
	return json_object_get(body, "HostConfig");
}

static bool has_text(const json_t *list, const char *text)
{
	size_t i = 0;
	const json_t *entry = NULL;

	json_array_foreach (list, i, entry) {
		if (strcmp(json_string_value(entry), text) == 0)
			return true;
	}
	return false;
}

/* ---- options ---- */

START_TEST(all_zero_options_are_the_defaults)
{
	const sandcell_session_options opts = SANDCELL_SESSION_OPTIONS_INIT;
	struct sc_config config;

	ck_assert_int_eq(unsetenv("SANDCELL_IMAGE"), 0);
	ck_assert_int_eq(load(&config, &opts), 0);
	ck_assert_str_eq(config.image, "sandcell/python");
	ck_assert_str_eq(config.network, "none");
	ck_assert_uint_eq(strlen(config.name), 16);
	ck_assert(!config.named);
	ck_assert_uint_eq(config.lease_ms, 10000);
	ck_assert_uint_eq(config.timeout_ms, 600000);
	ck_assert_uint_eq(config.output_max, MIB);
	ck_assert_uint_eq(config.limits.memory_bytes, 2048 * MIB);
	ck_assert_uint_eq(config.limits.pids, 256);
	sc_config_clear(&config);
	ck_assert_int_eq(setenv("SANDCELL_IMAGE", "other:tag", 1), 0);
	ck_assert_int_eq(load(&config, &opts), 0);
	ck_assert_str_eq(config.image, "other:tag");
	sc_config_clear(&config);
	ck_assert_int_eq(unsetenv("SANDCELL_IMAGE"), 0);
}
END_TEST

START_TEST(a_named_session_lives_longer)
{
	const sandcell_session_options opts = {.name = "build-1.x_Y"};
	struct sc_config config;

	ck_assert_int_eq(load(&config, &opts), 0);
	ck_assert(config.named);
	ck_assert_uint_eq(config.lease_ms, 30 * 60000);
	sc_config_clear(&config);
}
END_TEST

START_TEST(options_that_make_no_sense_are_refused)
{
	static const char *const bad_env[] = {"=x", NULL};
	static const char *const no_equals[] = {"KEY", NULL};
	static const char *const not_text[] = {"KEY=\xff", NULL};
	static const char *const bad_mount[] = {"nothing", NULL};
	static const sandcell_session_options bad[] = {
		{.flags = 1u << 31},
		{.name = ""},
		{.name = "a/b"},
		{.name = "0123456789012345678901234567890123456789012345678901234567890123"
			 "x"},
		{.image = "two words"},
		{.image = "new\nline"},
		{.network = ""},
		{.network = "host"},
		{.network = "container:other"},
		{.network = "ns:/proc/1/ns/net"},
		{.runtime = ""},
		{.preload = "numpy;os"},
		{.preload = "a.b."},
		{.preload = "1a"},
		{.preload = ".a"},
		{.env = bad_env},
		{.env = no_equals},
		{.env = not_text},
		{.mounts = bad_mount},
		{.workspace = "/etc"},
		{.flags = SANDCELL_SESSION_WORKSPACE_RO},
		{.memory_bytes = 1},
		{.memory_bytes = UINT64_MAX},
		{.pids_max = 1},
		{.tmp_bytes = UINT64_MAX},
		{.memory_bytes = 256 * MIB, .tmp_bytes = 128 * MIB},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refusal(&bad[i]);
}
END_TEST

START_TEST(a_remote_engine_gets_no_paths)
{
	const sandcell_session_options opts = {.workspace = "/tmp/x"};
	const sandcell_session_options none = SANDCELL_SESSION_OPTIONS_INIT;
	struct sc_config config;

	ck_assert_int_eq(
		sc_config_load(&config, &opts, NULL, true, caller, NULL), SANDCELL_E_INVAL);
	sc_config_clear(&config);
	ck_assert_int_eq(sc_config_load(&config, &none, NULL, true, caller, NULL), 0);
	sc_config_clear(&config);
}
END_TEST

/* ---- limits ---- */

START_TEST(file_systems_in_memory_take_at_most_half)
{
	static const uint64_t sizes[] = {64, 100, 256, 2048, 100000};

	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		const sandcell_session_options opts = {.memory_bytes = sizes[i / 2] * MIB};
		struct sc_limits l;

		ck_assert_int_eq(sc_limits_resolve(&l, &opts, i % 2, NULL), 0);
		uint64_t sum = l.tmp_bytes + l.workspace_bytes + l.home_bytes +
			       l.var_tmp_bytes + l.run_bytes + l.shm_bytes;
		ck_assert_uint_le(sum, l.memory_bytes / 2);
		ck_assert_uint_gt(l.tmp_bytes, 0);
		ck_assert_int_eq(l.workspace_bytes == 0, i % 2);
	}
}
END_TEST

START_TEST(the_size_of_tmp_can_be_chosen)
{
	const sandcell_session_options opts = {.tmp_bytes = 400 * MIB};
	struct sc_limits l;

	ck_assert_int_eq(sc_limits_resolve(&l, &opts, false, NULL), 0);
	ck_assert_uint_eq(l.tmp_bytes, 400 * MIB);
}
END_TEST

static int compare(const char *in_force, json_t *warnings)
{
	const struct sc_limits limits = {.memory_bytes = 1000,
		.cpu_millis = 500,
		.pids = 10,
		.nofile = 20,
		.nproc = 30};
	sc_autojson *json = json_loads(in_force, 0, NULL);

	return sc_limits_compare(&limits, json, warnings);
}

START_TEST(limits_that_are_not_in_force_are_named)
{
	sc_autojson *warnings = json_array();

	ck_assert_int_eq(compare("{\"memory_bytes\":1000,\"pids\":10,\"cpu_millis\":500,"
				 "\"nofile\":20,\"nproc\":30}",
				 warnings),
		0);
	ck_assert_int_eq(compare("{\"memory_bytes\":999,\"pids\":10,\"cpu_millis\":500,"
				 "\"nofile\":20,\"nproc\":31}",
				 warnings),
		1);
	ck_assert_ptr_nonnull(strstr(
		json_string_value(json_array_get(warnings, 0)), "'nproc': 30 asked, 31"));
	ck_assert_int_eq(compare("{\"memory_bytes\":null,\"pids\":\"10\"}", warnings), 5);
	ck_assert_int_eq(compare("[]", warnings), 5);
	ck_assert_uint_eq(json_array_size(warnings), 11);
}
END_TEST

START_TEST(a_cpu_limit_that_nobody_asked_for_is_not_missed)
{
	const struct sc_limits limits = {
		.memory_bytes = 1000, .pids = 10, .nofile = 20, .nproc = 30};
	sc_autojson *warnings = json_array();
	sc_autojson *json = json_pack("{s:i, s:i, s:i, s:i, s:n}", "memory_bytes", 1000,
		"pids", 10, "nofile", 20, "nproc", 30, "cpu_millis");

	ck_assert_int_eq(sc_limits_compare(&limits, json, warnings), 0);
}
END_TEST

/* ---- container ---- */

START_TEST(the_lockdown_is_complete)
{
	const sandcell_session_options opts = SANDCELL_SESSION_OPTIONS_INIT;
	sc_autojson *body = make_body(&opts);
	const json_t *host = host_of(body);
	sc_autojson *caps = json_pack("[ssss]", "SETUID", "SETGID", "KILL", "SETPCAP");
	sc_autojson *all = json_pack("[s]", "ALL");
	sc_autojson *security = json_pack("[s]", "no-new-privileges");

	ck_assert_str_eq(sc_json_get_str(body, "User", ""), "0:0");
	ck_assert_str_eq(sc_json_get_str(host, "NetworkMode", ""), "none");
	ck_assert_str_eq(sc_json_get_str(host, "IpcMode", ""), "private");
	ck_assert(sc_json_get_bool(host, "ReadonlyRootfs", false));
	ck_assert(sc_json_get_bool(host, "AutoRemove", false));
	ck_assert(json_equal(json_object_get(host, "CapDrop"), all));
	ck_assert(json_equal(json_object_get(host, "CapAdd"), caps));
	ck_assert(json_equal(json_object_get(host, "SecurityOpt"), security));
	ck_assert_ptr_null(json_object_get(host, "Privileged"));
	ck_assert_ptr_null(json_object_get(host, "Init"));
	ck_assert_ptr_null(json_object_get(host, "NanoCpus"));
	ck_assert_ptr_null(json_object_get(host, "UsernsMode"));
	ck_assert_int_eq(sc_json_get_int(host, "Memory", 0), 2048 * (int64_t)MIB);
	ck_assert_int_eq(sc_json_get_int(host, "MemorySwap", 0), 2048 * (int64_t)MIB);
	ck_assert_int_eq(sc_json_get_int(host, "PidsLimit", 0), 256);
	ck_assert_int_gt(sc_json_get_int(host, "ShmSize", 0), 0);
	ck_assert_str_eq(
		sc_json_get_str(json_object_get(host, "Sysctls"), "kernel.shmall", ""),
		"256");
}
END_TEST

START_TEST(every_tmpfs_has_size_mode_and_exec_or_noexec)
{
	const sandcell_session_options opts = SANDCELL_SESSION_OPTIONS_INIT;
	sc_autojson *body = make_body(&opts);
	json_t *tmpfs = json_object_get(host_of(body), "Tmpfs");
	const char *target = NULL;
	json_t *value = NULL;

	ck_assert_uint_eq(json_object_size(tmpfs), 5);
	json_object_foreach (tmpfs, target, value) {
		const char *text = json_string_value(value);
		ck_assert(strncmp(text, "rw,exec,", 8) == 0 ||
			  strncmp(text, "rw,noexec,", 10) == 0);
		ck_assert_ptr_nonnull(strstr(text, ",nosuid,nodev,size="));
		ck_assert_ptr_nonnull(strstr(
			text, strcmp(target, "/run") == 0 ? ",mode=0755" : ",mode=1777"));
	}
	ck_assert_ptr_nonnull(json_object_get(tmpfs, "/workspace"));
}
END_TEST

START_TEST(ulimits_are_soft_and_hard)
{
	const sandcell_session_options opts = SANDCELL_SESSION_OPTIONS_INIT;
	sc_autojson *body = make_body(&opts);
	const json_t *list = json_object_get(host_of(body), "Ulimits");
	static const char *const names[] = {"nofile", "nproc", "core"};

	ck_assert_uint_eq(json_array_size(list), 3);
	for (size_t i = 0; i < 3; i++) {
		const json_t *entry = json_array_get(list, i);
		ck_assert_str_eq(sc_json_get_str(entry, "Name", ""), names[i]);
		ck_assert_int_eq(sc_json_get_int(entry, "Soft", -1),
			sc_json_get_int(entry, "Hard", -2));
	}
	ck_assert_int_eq(sc_json_get_int(json_array_get(list, 2), "Hard", -1), 0);
}
END_TEST

START_TEST(nothing_secret_is_in_a_body)
{
	static const char *const env[] = {"TOKEN=hunter2", NULL};
	const sandcell_session_options opts = {.env = env, .preload = "numpy"};
	sc_autojson *body = make_body(&opts);
	sc_autojson *exec = NULL;
	sc_autobuf text = SC_BUF_INIT(SC_MAX_TEXT);

	ck_assert_int_eq(sc_spec_connector(&exec, NULL), 0);
	ck_assert_int_eq(sc_json_dump(body, &text, NULL), 0);
	ck_assert_int_eq(sc_json_dump(exec, &text, NULL), 0);
	ck_assert_ptr_null(strstr(text.data, "hunter2"));
	ck_assert_ptr_null(strstr(text.data, "TOKEN"));
	ck_assert_ptr_null(json_object_get(body, "Env"));
}
END_TEST

START_TEST(the_command_is_stage_0_and_nothing_of_the_image)
{
	const sandcell_session_options opts = SANDCELL_SESSION_OPTIONS_INIT;
	sc_autojson *body = make_body(&opts);
	const json_t *entry = json_object_get(body, "Entrypoint");

	ck_assert_str_eq(json_string_value(json_array_get(entry, 0)), "python3");
	ck_assert_str_eq(
		json_string_value(json_array_get(entry, 4)), sc_runner_stage0_init.text);
	ck_assert_uint_lt(sc_runner_stage0_init.len, 300);
	ck_assert_uint_lt(sc_runner_stage0_connect.len, 300);
	ck_assert_uint_eq(json_array_size(json_object_get(body, "Cmd")), 0);
	ck_assert(has_text(
		json_object_get(json_object_get(body, "Healthcheck"), "Test"), "NONE"));
}
END_TEST

START_TEST(labels_say_whose_it_is)
{
	const sandcell_session_options opts = {.name = "n1", .lease_ms = 5000};
	sc_autojson *body = make_body(&opts);
	const json_t *labels = json_object_get(body, "Labels");
	static const char *const want[][2] = {
		{"session", "n1"},
		{"kind", "named"},
		{"owner.uid", "1000"},
		{"owner.host", "h"},
		{"owner.boot", "b"},
		{"owner.pidns", "5"},
		{"owner.pid", "77"},
		{"owner.start", "6"},
		{"created", "1234"},
		{"lease_ms", "5000"},
		{"max_life_ms", "0"},
		{"nonce", "abc"},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		char key[64];

		(void)snprintf(key, sizeof(key), "io.sandcell.%s", want[i][0]);
		ck_assert_str_eq(sc_json_get_str(labels, key, "missing"), want[i][1]);
	}
	ck_assert_uint_eq(json_object_size(labels), 14);
}
END_TEST

START_TEST(wishes_reach_the_body)
{
	const sandcell_session_options opts = {.cpu_millis = 1500,
		.network = "bridge",
		.runtime = "runsc",
		.memory_bytes = 512 * MIB,
		.pids_max = 64};
	struct sc_spec_engine podman = engine;
	struct sc_config config;
	sc_autojson *other = NULL;
	sc_autojson *body = make_body(&opts);
	const json_t *host = host_of(body);

	ck_assert_int_eq(sc_json_get_int(host, "NanoCpus", 0), 1500000000);
	ck_assert_int_eq(sc_json_get_int(host, "PidsLimit", 0), 64);
	ck_assert_int_eq(sc_json_get_int(host, "Memory", 0), 512 * (int64_t)MIB);
	ck_assert_str_eq(sc_json_get_str(host, "NetworkMode", ""), "bridge");
	ck_assert_str_eq(sc_json_get_str(host, "Runtime", ""), "runsc");

	podman.keep_id = true;
	podman.runtime_per_request = false;
	ck_assert_int_eq(load(&config, &opts), 0);
	ck_assert_int_eq(sc_spec_container(&config, &owner, &podman, &other, NULL), 0);
	ck_assert_str_eq(sc_json_get_str(host_of(other), "UsernsMode", ""), "keep-id");
	ck_assert_ptr_null(json_object_get(host_of(other), "Runtime"));
	sc_config_clear(&config);
}
END_TEST

START_TEST(a_workspace_is_a_bind_mount)
{
	char dir[] = "/tmp/sandcell-unit-XXXXXX";
	const char *const mounts[] = {"/usr/share:/data:ro", NULL};

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0777), 0);
	const sandcell_session_options opts = {
		.workspace = dir, .mounts = mounts, .flags = SANDCELL_SESSION_WORKSPACE_RO};
	sc_autojson *body = make_body(&opts);
	const json_t *list = json_object_get(host_of(body), "Mounts");
	const json_t *first = json_array_get(list, 0);
	const json_t *second = json_array_get(list, 1);

	ck_assert_uint_eq(json_array_size(list), 2);
	ck_assert_str_eq(sc_json_get_str(first, "Type", ""), "bind");
	ck_assert_str_eq(sc_json_get_str(first, "Source", ""), dir);
	ck_assert_str_eq(sc_json_get_str(first, "Target", ""), "/workspace");
	ck_assert(sc_json_get_bool(first, "ReadOnly", false));
	ck_assert_str_eq(sc_json_get_str(second, "Target", ""), "/data");
	ck_assert_ptr_null(
		json_object_get(json_object_get(host_of(body), "Tmpfs"), "/workspace"));

	sc_autojson *setup = make_setup(&opts, NULL);
	ck_assert(!has_text(json_object_get(setup, "writable"), "/workspace"));
	ck_assert(!has_text(json_object_get(setup, "writable"), "/data"));
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* ---- setup ---- */

START_TEST(the_environment_has_three_layers)
{
	static const char *const env[] = {"A=mine", "EMPTY=", "X=1=2", NULL};
	const sandcell_session_options opts = {.env = env};
	sc_autojson *image =
		json_pack("[ssss]", "PATH=/opt/bin", "A=image", "B=b", "broken");
	sc_autojson *setup = make_setup(&opts, image);
	const json_t *got = json_object_get(setup, "env");

	ck_assert_str_eq(sc_json_get_str(got, "PATH", ""), "/opt/bin");
	ck_assert_str_eq(sc_json_get_str(got, "A", ""), "mine");
	ck_assert_str_eq(sc_json_get_str(got, "B", ""), "b");
	ck_assert_str_eq(sc_json_get_str(got, "EMPTY", "x"), "");
	ck_assert_str_eq(sc_json_get_str(got, "X", ""), "1=2");
	ck_assert_str_eq(sc_json_get_str(got, "HOME", ""), "/home/sandcell");
	ck_assert_str_eq(sc_json_get_str(got, "LANG", ""), "C.UTF-8");
	ck_assert_ptr_nonnull(sc_json_get_str(got, "USER", NULL));
	ck_assert_ptr_nonnull(sc_json_get_str(got, "TERM", NULL));
}
END_TEST

START_TEST(setup_says_who_and_what)
{
	const sandcell_session_options opts = {
		.user = "12:13", .preload = "numpy, pandas.io", .lease_ms = 77};
	sc_autojson *setup = make_setup(&opts, NULL);
	const json_t *preload = json_object_get(setup, "preload");

	ck_assert_str_eq(sc_json_get_str(setup, "type", ""), "setup");
	ck_assert_int_eq(sc_json_get_int(setup, "id", 0), 9);
	ck_assert_int_eq(sc_json_get_int(setup, "uid", 0), 12);
	ck_assert_int_eq(sc_json_get_int(setup, "gid", 0), 13);
	ck_assert_int_eq(sc_json_get_int(setup, "lease_ms", 0), 77);
	ck_assert_uint_eq(json_array_size(preload), 2);
	ck_assert(has_text(preload, "pandas.io"));
	ck_assert(has_text(json_object_get(setup, "writable"), "/workspace"));
	ck_assert(!has_text(json_object_get(setup, "writable"), "/proc"));
}
END_TEST

START_TEST(the_runner_is_embedded)
{
	size_t count = 0;
	bool supervisor = false;

	for (; sc_runner_modules[count].name; count++) {
		const struct sc_runner_source *m = &sc_runner_modules[count];
		ck_assert_uint_gt(m->len, 10);
		ck_assert_uint_eq(strlen(m->text), m->len);
		supervisor = supervisor || strcmp(m->name, "supervisor") == 0;
	}
	ck_assert(supervisor);
	ck_assert_uint_gt(count, 5);
	ck_assert_uint_eq(strlen(sc_runner_boot.text), sc_runner_boot.len);
}
END_TEST

static int make_all(sandcell_error **err_out)
{
	static const char *const env[] = {"A=b", NULL};
	const sandcell_session_options opts = {
		.image = "i", .name = "n", .env = env, .preload = "x", .user = "1:2"};
	struct sc_config config;
	sc_autojson *body = NULL;
	sc_autojson *setup = NULL;
	int rc;

	rc = sc_config_load(&config, &opts, NULL, false, caller, err_out);
	if (rc == 0)
		rc = sc_spec_container(&config, &owner, &engine, &body, err_out);
	if (rc == 0)
		rc = sc_spec_setup(&config, NULL, 1, &setup, err_out);
	sc_config_clear(&config);
	/* A value that could not be made is taken for one that is not UTF-8. */
	if (rc == SANDCELL_E_INVAL)
		return sc_fail_nomem(err_out);
	return rc;
}

START_TEST(out_of_memory_is_reported)
{
	unit_chaos(make_all);
}
END_TEST

UNIT_MAIN("spec", all_zero_options_are_the_defaults, a_named_session_lives_longer,
	options_that_make_no_sense_are_refused, a_remote_engine_gets_no_paths,
	file_systems_in_memory_take_at_most_half, the_size_of_tmp_can_be_chosen,
	limits_that_are_not_in_force_are_named,
	a_cpu_limit_that_nobody_asked_for_is_not_missed, the_lockdown_is_complete,
	every_tmpfs_has_size_mode_and_exec_or_noexec, ulimits_are_soft_and_hard,
	nothing_secret_is_in_a_body, the_command_is_stage_0_and_nothing_of_the_image,
	labels_say_whose_it_is, wishes_reach_the_body, a_workspace_is_a_bind_mount,
	the_environment_has_three_layers, setup_says_who_and_what, the_runner_is_embedded,
	out_of_memory_is_reported)
