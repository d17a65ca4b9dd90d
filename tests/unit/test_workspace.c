/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "session/hostpath.h"
#include "session/workspace.h"
#include "unit.h"

static char base[] = "/tmp/sandcell-unit-XXXXXX";
static const struct sc_caller root = {.uid = 0, .gid = 0};

/* Every test has a directory of its own, and is in it. */
static void enter(void)
{
	(void)snprintf(base, sizeof(base), "/tmp/sandcell-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
	ck_assert_int_eq(chdir(base), 0);
}

static void leave(void)
{
	char command[128];

	ck_assert_int_eq(chdir("/"), 0);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", base);
	ck_assert_int_eq(system(command), 0);
}

static void make_dir(const char *path, mode_t mode)
{
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static bool skip_unless_root(void)
{
	return geteuid() != 0;
}

/* Resolves, and gives the message of a refusal, or "" for none. */
static const char *resolve(struct sc_workspace *workspace, const char *path, bool read_only,
	const char *user, struct sc_caller caller)
{
	static char message[1100];
	sandcell_error *err = NULL;
	json_t *warnings = json_array();
	int rc = sc_workspace_resolve(
		workspace, path, read_only, user, "/run/test.sock", caller, warnings, &err);

	ck_assert(rc == 0 || rc == SANDCELL_E_INVAL);
	(void)snprintf(message, sizeof(message), "%s",
		rc == 0 ? "" : sandcell_error_get_message(err));
	sandcell_error_free(err);
	json_decref(warnings);
	return message;
}

static void expect_user(
	const char *path, const char *user, struct sc_caller caller, uid_t uid, gid_t gid)
{
	struct sc_workspace workspace;

	ck_assert_str_eq(resolve(&workspace, path, false, user, caller), "");
	ck_assert_uint_eq(workspace.uid, uid);
	ck_assert_uint_eq(workspace.gid, gid);
	sc_workspace_clear(&workspace);
}

static void expect_refusal(const char *path, const char *text)
{
	struct sc_workspace workspace;
	const char *message = resolve(&workspace, path, false, NULL, root);

	ck_assert_msg(strstr(message, text) != NULL, "'%s': '%s' is not in '%s'", path,
		text, message);
	sc_workspace_clear(&workspace);
}

/* ---- who the code is ---- */

START_TEST(without_a_workspace_the_caller_decides)
{
	const struct sc_caller caller = {.uid = 1000, .gid = 1001};

	expect_user(NULL, NULL, root, SC_NOBODY_ID, SC_NOBODY_ID);
	expect_user(NULL, NULL, caller, 1000, 1001);
	expect_user(NULL, "5:6", root, 5, 6);
}
END_TEST

START_TEST(for_root_the_owner_of_the_workspace_decides)
{
	enter();
	make_dir("w", 0755);
	if (!skip_unless_root()) {
		ck_assert_int_eq(chown("w", 1234, 1235), 0);
		expect_user("w", NULL, root, 1234, 1235);
		ck_assert_int_eq(chown("w", 0, 0), 0);
		expect_user("w", NULL, root, 0, 0);
	}
	leave();
}
END_TEST

START_TEST(root_as_owner_is_told)
{
	struct sc_workspace workspace;
	json_t *warnings = json_array();

	enter();
	make_dir("w", 0755);
	if (!skip_unless_root()) {
		ck_assert_int_eq(sc_workspace_resolve(&workspace, "w", false, NULL, NULL,
					 root, warnings, NULL),
			0);
		ck_assert_uint_eq(json_array_size(warnings), 1);
		sc_workspace_clear(&workspace);
		ck_assert_int_eq(sc_workspace_resolve(&workspace, "w", false, "0:0", NULL,
					 root, warnings, NULL),
			0);
		ck_assert_uint_eq(json_array_size(warnings), 1);
		sc_workspace_clear(&workspace);
	}
	json_decref(warnings);
	leave();
}
END_TEST

START_TEST(another_caller_stays_who_he_is)
{
	const struct sc_caller stranger = {.uid = 4321, .gid = 4322};
	struct sc_workspace workspace;

	enter();
	make_dir("open", 0777);
	make_dir("closed", 0755);
	expect_user("open", NULL, stranger, 4321, 4322);
	const char *message = resolve(&workspace, "closed", false, NULL, stranger);
	ck_assert_ptr_nonnull(strstr(message, "uid 4321"));
	ck_assert_ptr_nonnull(strstr(message, "mode 0755"));
	ck_assert_ptr_nonnull(strstr(message, "chown"));
	ck_assert_ptr_nonnull(strstr(message, "read-only"));
	sc_workspace_clear(&workspace);
	ck_assert_str_eq(resolve(&workspace, "closed", true, NULL, stranger), "");
	sc_workspace_clear(&workspace);
	leave();
}
END_TEST

START_TEST(the_chosen_user_has_to_be_able_to_write)
{
	struct sc_workspace workspace;

	enter();
	make_dir("w", 0755);
	make_dir("group", 0070);
	if (!skip_unless_root()) {
		ck_assert_int_eq(chown("w", 1234, 1235), 0);
		ck_assert_int_eq(chown("group", 0, 50), 0);
		const char *message = resolve(&workspace, "w", false, "77:78", root);
		ck_assert_ptr_nonnull(strstr(message, "belongs to uid 1234"));
		ck_assert_ptr_nonnull(strstr(message, "1234:1235"));
		sc_workspace_clear(&workspace);
		expect_user("group", "77:50", root, 77, 50);
		expect_user("w", "1234:9", root, 1234, 9);
	}
	leave();
}
END_TEST

START_TEST(users_are_two_numbers)
{
	static const char *const bad[] = {"", "1", ":", "1:", ":1", "a:b", "1:2:3", "-1:0",
		"1:4294967295", "65530:1"};
	struct sc_workspace workspace;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(resolve(&workspace, NULL, false, bad[i], root)[0] != '\0',
			"user '%s'", bad[i]);
		sc_workspace_clear(&workspace);
	}
}
END_TEST

/* ---- what is refused ---- */

START_TEST(system_directories_are_refused)
{
	static const char *const bad[] = {"/", "/etc", "/etc/..", "/usr", "/usr/lib",
		"/proc", "/proc/self", "/sys", "/dev", "/dev/shm", "/var", "/var/lib",
		"/tmp", "/home", "/root", "/run", "//", "/tmp/", "/./tmp/../tmp"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refusal(bad[i], "system directory");
}
END_TEST

START_TEST(links_are_followed_before_judging)
{
	enter();
	ck_assert_int_eq(symlink("/etc", "innocent"), 0);
	expect_refusal("innocent", "'/etc'");
	leave();
}
END_TEST

START_TEST(what_is_missing_or_no_directory_is_refused)
{
	enter();
	FILE *file = fopen("file", "w");
	ck_assert_ptr_nonnull(file);
	(void)fclose(file);
	expect_refusal("missing", "No such file");
	expect_refusal("", "empty path");
	expect_refusal("file", "no directory");
	leave();
}
END_TEST

START_TEST(directories_around_the_socket_are_refused)
{
	struct sc_workspace workspace;
	char socket_path[64];
	sandcell_error *err = NULL;

	enter();
	make_dir("a", 0755);
	make_dir("a/b", 0755);
	make_dir("a/bc", 0755);
	(void)snprintf(socket_path, sizeof(socket_path), "%s/a/b/engine.sock", base);
	FILE *file = fopen(socket_path, "w");
	ck_assert_ptr_nonnull(file);
	(void)fclose(file);
	ck_assert_int_eq(symlink(socket_path, "link.sock"), 0);
	for (int i = 0; i < 2; i++) {
		const char *socket = i ? "link.sock" : socket_path;
		ck_assert_int_eq(sc_workspace_resolve(&workspace, "a", false, NULL, socket,
					 root, NULL, &err),
			SANDCELL_E_INVAL);
		ck_assert_ptr_nonnull(
			strstr(sandcell_error_get_message(err), "engine's socket"));
		sc_workspace_clear(&workspace);
		ck_assert_int_eq(
			sc_hostpath_check_socket("/", "x", socket, NULL), SANDCELL_E_INVAL);
	}
	sandcell_error_free(err);
	(void)snprintf(socket_path, sizeof(socket_path), "%s/a/bc", base);
	ck_assert_int_eq(
		sc_hostpath_check_socket(socket_path, "x", "a/b/engine.sock", NULL), 0);
	leave();
}
END_TEST

START_TEST(relative_paths_become_absolute)
{
	struct sc_workspace workspace;
	char want[64];

	enter();
	make_dir("w", 0777);
	(void)snprintf(want, sizeof(want), "%s/w", base);
	ck_assert_str_eq(resolve(&workspace, "./w/../w/", false, NULL, root), "");
	ck_assert_str_eq(workspace.path, want);
	sc_workspace_clear(&workspace);
	leave();
}
END_TEST

START_TEST(a_path_is_within_itself_and_its_parents)
{
	ck_assert(sc_path_within("/a/b", "/a"));
	ck_assert(sc_path_within("/a", "/a"));
	ck_assert(sc_path_within("/a", "/"));
	ck_assert(!sc_path_within("/ab", "/a"));
	ck_assert(!sc_path_within("/", "/a"));
}
END_TEST

/* ---- mounts ---- */

static int mount_of(struct sc_mount *mount, const char *text, const char *workspace_path)
{
	const struct sc_workspace workspace = {.path = (char *)workspace_path};

	return sc_mount_resolve(mount, text, &workspace, NULL, NULL);
}

static void expect_mount(const char *text, const char *target, bool read_only)
{
	struct sc_mount mount;

	ck_assert_msg(mount_of(&mount, text, NULL) == 0, "mount '%s'", text);
	ck_assert_str_eq(mount.target, target);
	ck_assert_int_eq(mount.read_only, read_only);
	ck_assert_int_eq(mount.source[0], '/');
	sc_mount_clear(&mount);
}

START_TEST(mounts_are_source_target_and_perhaps_ro)
{
	enter();
	make_dir("d", 0755);
	expect_mount("d:/data", "/data", false);
	expect_mount("d:/data/x:ro", "/data/x", true);
	expect_mount("./d:/workspace/sub", "/workspace/sub", false);
	expect_mount("/usr/share:/data:ro", "/data", true);
	leave();
}
END_TEST

START_TEST(mounts_that_do_harm_are_refused)
{
	static const char *const bad[] = {"", "d", ":", "d:", ":/x", "d:x", "d:/", "d:/x/",
		"d:/x//y", "d:/x/../y", "d:/./x", "d:/x:rw", "d:/x:ro:ro", "missing:/x",
		"d:/proc", "d:/proc/x", "d:/sys", "d:/dev/x", "d:/workspace", "d:/tmp",
		"d:/var", "d:/run", "d:/home", "d:/home/sandcell", "/:/x:ro", "/proc:/x:ro",
		"/dev:/x:ro", "/etc:/x", "/usr/share:/x", "fifo:/x"};
	struct sc_mount mount;

	enter();
	make_dir("d", 0755);
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(mount_of(&mount, bad[i], NULL) == SANDCELL_E_INVAL,
			"mount '%s'", bad[i]);
		sc_mount_clear(&mount);
	}
	leave();
}
END_TEST

START_TEST(a_target_in_the_workspace_has_to_exist)
{
	struct sc_mount mount;

	enter();
	make_dir("d", 0755);
	make_dir("d/there", 0755);
	ck_assert_int_eq(mount_of(&mount, "d:/workspace/there", "d"), 0);
	sc_mount_clear(&mount);
	ck_assert_int_eq(mount_of(&mount, "d:/workspace/not", "d"), SANDCELL_E_INVAL);
	sc_mount_clear(&mount);
	leave();
}
END_TEST

START_TEST(mounts_must_not_hide_each_other)
{
	const struct sc_mount same[] = {
		{.target = "/a"}, {.target = "/b"}, {.target = "/a"}};
	const struct sc_mount nested[] = {{.target = "/a/b"}, {.target = "/a"}};
	const struct sc_mount fine[] = {
		{.target = "/a/b"}, {.target = "/a/bc"}, {.target = "/c"}};

	ck_assert_int_eq(sc_mounts_check(same, 3, NULL), SANDCELL_E_INVAL);
	ck_assert_int_eq(sc_mounts_check(nested, 2, NULL), SANDCELL_E_INVAL);
	ck_assert_int_eq(sc_mounts_check(fine, 3, NULL), 0);
}
END_TEST

UNIT_MAIN("workspace", without_a_workspace_the_caller_decides,
	for_root_the_owner_of_the_workspace_decides, root_as_owner_is_told,
	another_caller_stays_who_he_is, the_chosen_user_has_to_be_able_to_write,
	users_are_two_numbers, system_directories_are_refused,
	links_are_followed_before_judging, what_is_missing_or_no_directory_is_refused,
	directories_around_the_socket_are_refused, relative_paths_become_absolute,
	a_path_is_within_itself_and_its_parents, mounts_are_source_target_and_perhaps_ro,
	mounts_that_do_harm_are_refused, a_target_in_the_workspace_has_to_exist,
	mounts_must_not_hide_each_other)
