/* SPDX-License-Identifier: MIT */
/* The lockdown, each part of it proven from inside, and who the code is. */
#include "sessions.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/url.h"
#include "engine/http.h"

/* ---- what the code cannot do ---- */

START_TEST(there_is_no_network)
{
	start(NULL);
	expect_value("import socket; [n for _, n in socket.if_nameindex()]", "[\"lo\"]");
	expect_end("import socket; socket.create_connection(('192.0.2.1', 80), 3)", NULL,
		SANDCELL_RESULT_ERROR, "unreachable");
	finish();
}
END_TEST

START_TEST(the_code_has_no_capability_and_cannot_get_one)
{
	start(NULL);
	expect_ok("s = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
		  "s = {k: v.strip() for k, v in s.items()}");
	expect_value("[s[c] for c in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')]",
		"[\"0000000000000000\", \"0000000000000000\", \"0000000000000000\", "
		"\"0000000000000000\", \"0000000000000000\"]");
	expect_value("s['NoNewPrivs']", "\"1\"");
	expect_value("s['Seccomp']", "\"2\"");
	expect_value("s['Groups']", "\"\"");
	finish();
}
END_TEST

START_TEST(the_root_file_system_is_read_only)
{
	start(NULL);
	expect_value("import os; bool(os.statvfs('/').f_flag & os.ST_RDONLY)", "true");
	expect_end("open('/usr/x', 'w')", NULL, SANDCELL_RESULT_ERROR, "Error");
	expect_ok("def writable(top):\n"
		  "    for d, names, _ in os.walk(top):\n"
		  "        names[:] = [n for n in names if os.path.join(d, n) not in\n"
		  "                    ('/proc', '/sys', '/dev')]\n"
		  "        if os.access(d, os.W_OK): yield d");
	expect_value("sorted(writable('/'))",
		"[\"/home/sandcell\", \"/tmp\", \"/var/tmp\", \"/workspace\"]");
	finish();
}
END_TEST

START_TEST(every_writable_place_has_a_size)
{
	start(NULL);
	expect_ok("import os\n"
		  "def size(p):\n"
		  "    v = os.statvfs(p)\n"
		  "    return v.f_blocks * v.f_frsize >> 20");
	expect_value(
		"[size(p) for p in ('/tmp', '/workspace', '/home/sandcell', '/dev/shm', "
		"'/var/tmp', '/run')]",
		"[256, 256, 128, 64, 32, 8]");
	expect_ok("mounts = {m.split()[1]: m.split()[3].split(',') for m in "
		  "open('/proc/mounts')}");
	expect_value(
		"[p for p in ('/tmp', '/workspace', '/home/sandcell', '/var/tmp', '/run', "
		"'/dev/shm') if not {'nosuid', 'nodev'} <= set(mounts[p])]",
		"[]");
	expect_value(
		"[p for p in ('/tmp', '/workspace', '/home/sandcell', '/var/tmp', '/run', "
		"'/dev/shm') if 'noexec' in mounts[p]]",
		"[\"/var/tmp\", \"/run\", \"/dev/shm\"]");
	expect_end(
		"f = open('/var/tmp/f', 'wb')\nfor _ in range(40): f.write(bytes(1 << 20))",
		NULL, SANDCELL_RESULT_ERROR, "No space left");
	finish();
}
END_TEST

START_TEST(shared_memory_is_bounded_and_private)
{
	start(NULL);
	expect_ok("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
		  "n = libc.shmget(0, ctypes.c_size_t(64 << 20), 0o1600)");
	expect_value("n, ctypes.get_errno()", "(-1, 28)");
	expect_value("open('/proc/sysvipc/shm').read().count('\\n')", "1");
	finish();
}
END_TEST

START_TEST(processes_are_bounded)
{
	const sandcell_session_options opts = {.pids_max = 40};

	start(&opts);
	expect_value("import os, signal\nn = 0\nwhile n < 1000:\n"
		     "    try: pid = os.fork()\n"
		     "    except BlockingIOError: break\n"
		     "    if pid == 0: signal.pause()\n"
		     "    n += 1\n"
		     "20 < n < 40",
		"true");
	OK(sandcell_reset(session, &err));
	expect_value("1 + 1", "2");
	finish();
}
END_TEST

START_TEST(limits_are_in_force_and_told)
{
	const sandcell_session_options opts = {.memory_bytes = (uint64_t)512 << 20,
		.cpu_millis = 500,
		.pids_max = 99,
		.flags = SANDCELL_SESSION_STRICT_LIMITS};

	start(&opts);
	sc_autojson *root = json_loads(sandcell_session_get_json(session), 0, NULL);
	const json_t *in_force =
		json_object_get(json_object_get(root, "limits"), "in_force");
	ck_assert_int_eq(sc_json_get_int(in_force, "memory_bytes", 0), 512 << 20);
	ck_assert_int_eq(sc_json_get_int(in_force, "cpu_millis", 0), 500);
	ck_assert_int_eq(sc_json_get_int(in_force, "pids", 0), 99);
	ck_assert_uint_eq(json_array_size(json_object_get(root, "warnings")), 0);
	expect_value("import resource as r; [r.getrlimit(x) for x in (r.RLIMIT_CORE, "
		     "r.RLIMIT_NOFILE)]",
		"[(0, 0), (4096, 4096)]");
	finish();
}
END_TEST

START_TEST(the_supervisor_is_out_of_reach)
{
	start(NULL);
	expect_end(
		"import os; os.kill(1, 9)", NULL, SANDCELL_RESULT_ERROR, "PermissionError");
	expect_end("open('/proc/1/mem', 'rb')", NULL, SANDCELL_RESULT_ERROR, "Error");
	expect_end(
		"import os; os.setuid(0)", NULL, SANDCELL_RESULT_ERROR, "PermissionError");
	finish();
}
END_TEST

START_TEST(the_engine_shows_nothing_of_the_code)
{
	static const char *const env[] = {"KEY=hunter2", NULL};
	const sandcell_session_options opts = {.env = env};
	sc_autojson *inspect = NULL;

	start(&opts);
	expect_ok("marker_of_this_code = 'hunter2'");
	OK(sc_container_inspect(
		engine, sandcell_session_get_container(session), soon(), &inspect, &err));
	char *text = json_dumps(inspect, 0);
	ck_assert_ptr_null(strstr(text, "hunter2"));
	ck_assert_ptr_null(strstr(text, "marker_of_this_code"));
	sc_free(text);
	finish();
}
END_TEST

/* ---- who the code is ---- */

static void expect_owner(const char *path, uid_t uid, gid_t gid)
{
	struct stat info;

	ck_assert_msg(stat(path, &info) == 0, "%s: %d", path, errno);
	ck_assert_uint_eq(info.st_uid, uid);
	ck_assert_uint_eq(info.st_gid, gid);
}

/* The code runs as the owner, writes, and what it writes belongs to the owner. */
static void use_workspace(uid_t uid, gid_t gid, mode_t mode)
{
	char path[64];
	char file[96];
	char want[64];

	make_workspace(path, uid, gid, mode);
	const sandcell_session_options opts = {.workspace = path};
	start(&opts);
	(void)snprintf(want, sizeof(want), "(%u, %u, '/workspace')", uid, gid);
	expect_value("import os; os.getuid(), os.getgid(), os.getcwd()", want);
	expect_ok("open('made', 'w').write('text')\nos.mkdir('dir')");
	(void)snprintf(file, sizeof(file), "%s/made", path);
	expect_owner(file, uid, gid);
	(void)snprintf(file, sizeof(file), "%s/dir", path);
	expect_owner(file, uid, gid);
	finish();
	remove_workspace(path);
}

START_TEST(the_owner_of_the_workspace_runs_the_code)
{
	if (geteuid() != 0)
		return;
	use_workspace(1234, 1235, 0755);
	use_workspace(1234, 1235, 0700);
}
END_TEST

START_TEST(a_root_owned_workspace_is_used_without_any_capability)
{
	if (geteuid() != 0)
		return;
	use_workspace(0, 0, 0755);
	char path[64];
	make_workspace(path, 0, 0, 0755);
	const sandcell_session_options opts = {.workspace = path};
	start(&opts);
	ck_assert_ptr_nonnull(strstr(
		sandcell_session_get_json(session), "the workspace belongs to root"));
	expect_value("[l.split()[1] for l in open('/proc/self/status') if "
		     "l.startswith('CapEff')]",
		"[\"0000000000000000\"]");
	expect_end("open('/etc/shadow-', 'a')", NULL, SANDCELL_RESULT_ERROR, "Error");
	expect_end(
		"import os; os.kill(1, 9)", NULL, SANDCELL_RESULT_ERROR, "PermissionError");
	finish();
	remove_workspace(path);
}
END_TEST

START_TEST(without_a_workspace_there_is_one_in_memory)
{
	start(NULL);
	if (geteuid() == 0)
		expect_value("import os; os.getuid(), os.getgid()", "(65534, 65534)");
	expect_value(
		"import os; open('f', 'w').close(); os.listdir('/workspace')", "[\"f\"]");
	finish();
}
END_TEST

START_TEST(someone_elses_workspace_is_refused_with_a_remedy)
{
	char path[64];
	sandcell_error *err = NULL;

	if (geteuid() != 0)
		return;
	make_workspace(path, 1234, 1235, 0755);
	const sandcell_session_options opts = {
		.struct_size = sizeof(opts), .workspace = path, .user = "4321:4321"};
	real_open(getenv("REAL_HOST"));
	ck_assert_int_eq(
		sandcell_session_open(engine, &opts, &session, &err), SANDCELL_E_INVAL);
	ck_assert_ptr_nonnull(
		strstr(sandcell_error_get_message(err), "belongs to uid 1234"));
	ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(err), "chown"));
	sandcell_error_free(err);
	finish();
	remove_workspace(path);
}
END_TEST

START_TEST(read_only_means_read_only)
{
	char path[64];
	char mount[128];
	char other[64];
	const char *mounts[] = {mount, NULL};

	make_workspace(path, 1234, 1235, 0777);
	make_workspace(other, 1234, 1235, 0777);
	(void)snprintf(mount, sizeof(mount), "%s:/data:ro", other);
	const sandcell_session_options opts = {.workspace = path,
		.mounts = mounts,
		.flags = SANDCELL_SESSION_WORKSPACE_RO};
	start(&opts);
	expect_end("open('f', 'w')", NULL, SANDCELL_RESULT_ERROR, "Read-only file system");
	expect_end("open('/data/f', 'w')", NULL, SANDCELL_RESULT_ERROR,
		"Read-only file system");
	expect_value("import os; os.listdir('/data')", "[]");
	finish();
	remove_workspace(path);
	remove_workspace(other);
}
END_TEST

START_TEST(mounts_can_be_written_to)
{
	char path[64];
	char file[96];
	char mount[128];
	const char *mounts[] = {mount, NULL};

	make_workspace(path, 0, 0, 0777);
	(void)snprintf(mount, sizeof(mount), "%s:/data/deep", path);
	const sandcell_session_options opts = {.mounts = mounts};
	start(&opts);
	expect_ok("open('/data/deep/f', 'w').write('x')");
	(void)snprintf(file, sizeof(file), "%s/f", path);
	ck_assert_int_eq(access(file, R_OK), 0);
	finish();
	remove_workspace(path);
}
END_TEST

/* ---- volumes of the image ---- */

static int engine_call(const char *method, const char *path)
{
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	sc_autojson *nothing = json_object(); /* Podman wants a body */
	const struct sc_http_request request = {.method = method,
		.path = path,
		.json = strcmp(method, "POST") == 0 ? nothing : NULL,
		.deadline = soon()};

	return sc_http_call(engine, &request, &reply, NULL);
}

/* An image like REAL_IMAGE, but with a volume at /data. */
static void make_volume_image(void)
{
	sc_autojson *body = json_pack("{s:s, s:{s:s}}", "Image", REAL_IMAGE, "Labels",
		"io.sandcell.test", run_label + strlen("io.sandcell.test="));
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autofree char *id = NULL;

	OK(sc_container_create(engine, NULL, body, soon(), &id, NULL, &err));
	(void)sc_url(&path,
		"/commit?container={}&repo=sandcell-test-volume&tag=latest&changes={}", id,
		"VOLUME /data");
	ck_assert_int_eq(engine_call("POST", path.data), 0);
	OK(sc_container_remove(engine, id, soon(), &err));
}

START_TEST(a_volume_of_the_image_is_told_and_removed)
{
	const sandcell_session_options opts = {.image = "sandcell-test-volume"};
	sc_autojson *inspect = NULL;
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);

	real_open(getenv("REAL_HOST"));
	make_volume_image();
	start(&opts);
	ck_assert_ptr_nonnull(strstr(sandcell_session_get_json(session), "volume '/data'"));
	OK(sc_container_inspect(
		engine, sandcell_session_get_container(session), soon(), &inspect, &err));
	const json_t *mount = NULL;
	size_t i = 0;
	json_array_foreach (json_object_get(inspect, "Mounts"), i, mount) {
		if (strcmp(sc_json_get_str(mount, "Destination", ""), "/data") == 0)
			(void)sc_url(
				&path, "/volumes/{}", sc_json_get_str(mount, "Name", ""));
	}
	ck_assert_uint_gt(path.len, strlen("/volumes/"));
	ck_assert_int_eq(engine_call("GET", path.data), 0);
	OK(sandcell_session_close(session, &err));
	ck_assert_int_eq(engine_call("GET", path.data), SANDCELL_E_NOTFOUND);
	ck_assert_int_eq(engine_call("DELETE", "/images/sandcell-test-volume?force=1"), 0);
	finish();
}
END_TEST

/* ---- a client that is killed ---- */

static int tell_parent(sandcell_stream stream, const void *data, size_t len, void *user)
{
	(void)stream;
	(void)data;
	(void)len;
	return write(*(int *)user, "x", 1) == 1 ? 0 : 1;
}

static void run_for_ever(int pipe_end)
{
	const sandcell_session_options opts = {.lease_ms = 1000};
	const sandcell_execute_options execute = {.on_output = tell_parent,
		.output_user = &pipe_end,
		.timeout_ms = SANDCELL_NO_TIMEOUT};

	start(&opts);
	sandcell_result_free(
		run_with("print('begun', flush=True)\nwhile True: pass", &execute));
	_exit(1);
}

START_TEST(a_killed_client_leaves_nothing_once_its_lease_is_over)
{
	int fds[2];
	char byte = 0;
	char label[64];
	const char *const labels[] = {label, NULL};
	size_t left = 1;

	ck_assert_int_eq(pipe(fds), 0);
	pid_t child = fork();
	if (child == 0)
		run_for_ever(fds[1]);
	(void)close(fds[1]);
	struct pollfd ready = {.fd = fds[0], .events = POLLIN};
	ck_assert_int_eq(poll(&ready, 1, REAL_HANG_MS), 1);
	ck_assert_int_eq(read(fds[0], &byte, 1), 1);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	real_open(getenv("REAL_HOST"));
	(void)snprintf(label, sizeof(label), "io.sandcell.owner.pid=%ld", (long)child);
	for (sc_deadline hang = soon(); left > 0 && !sc_deadline_passed(hang);) {
		sc_autojson *list = NULL;

		OK(sc_container_list(engine, labels, true, soon(), &list, &err));
		left = json_array_size(list);
		sc_pause_ms(50, hang);
	}
	ck_assert_uint_eq(left, 0);
	(void)close(fds[0]);
	finish();
}
END_TEST

REAL_MAIN("lockdown", there_is_no_network, the_code_has_no_capability_and_cannot_get_one,
	the_root_file_system_is_read_only, every_writable_place_has_a_size,
	shared_memory_is_bounded_and_private, processes_are_bounded,
	limits_are_in_force_and_told, the_supervisor_is_out_of_reach,
	the_engine_shows_nothing_of_the_code, the_owner_of_the_workspace_runs_the_code,
	a_root_owned_workspace_is_used_without_any_capability,
	without_a_workspace_there_is_one_in_memory,
	someone_elses_workspace_is_refused_with_a_remedy, read_only_means_read_only,
	mounts_can_be_written_to, a_volume_of_the_image_is_told_and_removed,
	a_killed_client_leaves_nothing_once_its_lease_is_over)
