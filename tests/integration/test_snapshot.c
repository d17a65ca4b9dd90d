/* SPDX-License-Identifier: MIT */
/* Snapshots in files and checkpoints in memory, on real engines. */
#include "sessions.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/snapshot_file.h"

static char folder[64];
static char file[128];

static void begin(void)
{
	make_workspace(folder, 0, 0, 0700);
	(void)snprintf(file, sizeof(file), "%s/s.tar", folder);
	start(NULL);
}

static void end(void)
{
	finish();
	remove_workspace(folder);
}

static void save(const char *name_in_report)
{
	char *report = NULL;

	OK(sandcell_snapshot_save(session, file, NULL, &report, &err));
	ck_assert_msg(!name_in_report || strstr(report, name_in_report), "%s", report);
	sandcell_string_free(report);
}

static void restore(void)
{
	OK(sandcell_snapshot_restore(session, file, NULL, NULL, &err));
}

static size_t files_in_folder(void)
{
	DIR *dir = opendir(folder);
	size_t count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 2;
}

/* Cases B06-02, 04, 06, 07, 10. */
START_TEST(state_goes_through_a_file)
{
	begin();
	expect_ok("import threading, json as j\n"
		  "class P:\n    pass\n"
		  "class S:\n    def __reduce__(self): raise SystemExit(9)\n"
		  "p, s, lock, data = P(), S(), threading.Lock(), {'k': [1, 2]}\n"
		  "deep = []\nfor _ in range(200000): deep = [deep]\n"
		  "def enc(v): return j.dumps(v) + str(data['k'])");
	save("lock");
	OK(sandcell_reset(session, &err));
	restore();
	expect_value("[enc([1]), isinstance(p, P), 'lock' in globals(), 's' in globals()]",
		"[\"[1][1, 2]\", true, false, false]");
	ck_assert_uint_eq(files_in_folder(), 1);
	end();
}
END_TEST

START_TEST(every_compression_is_read_back)
{
	static const uint32_t flags[] = {
		0, SANDCELL_SNAPSHOT_GZIP, SANDCELL_SNAPSHOT_PLAIN};

	begin();
	for (size_t i = 0; i < 3; i++) {
		const sandcell_snapshot_options opts = {
			.struct_size = sizeof(opts), .flags = flags[i]};

		expect_ok("big = bytes(range(256)) * 80000");
		OK(sandcell_snapshot_save(session, file, &opts, NULL, &err));
		expect_ok("big = None");
		restore();
		expect_value("[len(big), big[255]]", "[20480000, 255]");
	}
	end();
}
END_TEST

START_TEST(a_restore_goes_into_another_session)
{
	begin();
	expect_ok("x = [1, 2]; y = x");
	save(NULL);
	start(NULL);
	expect_ok("z = 1");
	restore();
	expect_value("[x, y is x, 'z' in globals()]", "[[1, 2], true, false]");
	end();
}
END_TEST

/* A file cut or changed anywhere is refused, and the session is as before. */
START_TEST(a_damaged_file_changes_nothing)
{
	const sandcell_snapshot_options plain = {
		.struct_size = sizeof(plain), .flags = SANDCELL_SNAPSHOT_PLAIN};
	struct stat status;

	begin();
	expect_ok("x = 'saved'");
	OK(sandcell_snapshot_save(session, file, &plain, NULL, &err));
	expect_ok("x = 'now'");
	ck_assert_int_eq(stat(file, &status), 0);
	for (off_t at = 0; at < status.st_size; at += 509) {
		unsigned char byte = 0;
		int fd = open(file, O_RDWR);
		char *json = NULL;

		ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
		unsigned char other = byte ^ 0x20;
		ck_assert_int_eq(pwrite(fd, &other, 1, at), 1);
		int rc = sandcell_snapshot_inspect(file, &json, NULL);
		sandcell_string_free(json);
		/* Padding and owners are no part of what was saved. */
		if (rc < 0)
			FAILS(SANDCELL_E_DATA,
				sandcell_snapshot_restore(session, file, NULL, NULL, &err));
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		(void)close(fd);
	}
	for (off_t len = status.st_size - 1024; len > 0; len -= 700) {
		ck_assert_int_eq(truncate(file, len), 0);
		FAILS(SANDCELL_E_DATA,
			sandcell_snapshot_restore(session, file, NULL, NULL, &err));
	}
	expect_value("x", "\"now\"");
	end();
}
END_TEST

/* Case B06-03: a small file system stands for a full disk. */
START_TEST(a_full_disk_keeps_the_older_file)
{
	char command[128];

	begin();
	(void)snprintf(
		command, sizeof(command), "mount -t tmpfs -o size=2m none '%s'", folder);
	if (system(command) != 0) {
		end();
		return;
	}
	expect_ok("x = 'good'");
	save(NULL);
	expect_ok("import os; x = 'new'; big = os.urandom(8 << 20)");
	sandcell_error *err = NULL;
	ck_assert_int_lt(sandcell_snapshot_save(session, file, NULL, NULL, &err), 0);
	ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(err), "space"));
	sandcell_error_free(err);
	ck_assert_uint_eq(files_in_folder(), 1);
	restore();
	expect_value("x", "\"good\"");
	(void)snprintf(command, sizeof(command), "umount '%s'", folder);
	ck_assert_int_eq(system(command), 0);
	end();
}
END_TEST

/* Case B06-08: pickled data are never loaded on this side. */
START_TEST(nothing_is_unpickled_on_the_host)
{
	char *json = NULL;

	begin();
	expect_ok("import os\nclass Z:\n    def __reduce__(self):\n"
		  "        return (os.system, ('touch /tmp/PWNED_BY_PICKLE',))\nz = Z()");
	save(NULL);
	OK(sandcell_snapshot_inspect(file, &json, &err));
	sandcell_string_free(json);
	restore();
	ck_assert_int_ne(access("/tmp/PWNED_BY_PICKLE", F_OK), 0);
	end();
}
END_TEST

START_TEST(another_python_or_image_is_refused_unless_forced)
{
	sandcell_snapshot_options opts = SANDCELL_SNAPSHOT_OPTIONS_INIT;
	sc_snapshot_writer *writer = NULL;
	json_t *manifest = json_pack(
		"{s:i, s:s, s:s}", "format", 1, "python", "3.8.1", "image", REAL_IMAGE);
	json_t *report = json_object();

	begin();
	OK(sc_snapshot_writer_new(file, SC_COMPRESS_NONE, manifest, &writer, &err));
	OK(sc_snapshot_writer_add(writer, "no state", 8, &err));
	OK(sc_snapshot_writer_finish(writer, report, &err));
	sc_snapshot_writer_free(writer);
	FAILS(SANDCELL_E_CONFLICT,
		sandcell_snapshot_restore(session, file, NULL, NULL, &err));
	opts.flags = SANDCELL_SNAPSHOT_FORCE;
	FAILS(SANDCELL_E_FAIL, sandcell_snapshot_restore(session, file, &opts, NULL, &err));
	expect_value("1 + 1", "2");
	json_decref(manifest);
	json_decref(report);
	end();
}
END_TEST

/* Group 09 as a snapshot: whatever it is, it is none. */
START_TEST(foreign_archives_are_no_snapshots)
{
	static const char *const makers[] = {
		"tar -cPf \"$F\" /etc/hostname 2>/dev/null",
		"printf x | tar -cf \"$F\" --transform 's,.*,../../esc,' /etc/hostname "
		"2>/dev/null",
		"head -c 100000 /dev/zero | gzip > \"$F\"",
		"echo hello > \"$F\"",
		": > \"$F\"",
	};

	begin();
	ck_assert_int_eq(setenv("F", file, 1), 0);
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		ck_assert_int_eq(system(makers[i]), 0);
		FAILS(SANDCELL_E_DATA,
			sandcell_snapshot_restore(session, file, NULL, NULL, &err));
	}
	end();
}
END_TEST

START_TEST(a_variable_that_ends_the_fork_is_left_out)
{
	begin();
	expect_ok("import signal\nclass C:\n"
		  "    def __reduce__(self): signal.raise_signal(11)\nc = C(); a = 1");
	save("excluded");
	expect_ok("a = 2");
	restore();
	expect_value("[a, 'c' in globals()]", "[1, false]");
	end();
}
END_TEST

START_TEST(checkpoints_bring_everything_back)
{
	uint64_t id = 0;
	char *report = NULL;

	begin();
	expect_ok("gen = iter(range(9)); next(gen)");
	OK(sandcell_checkpoint(session, &id, &report, &err));
	ck_assert_ptr_nonnull(strstr(report, "sockets"));
	sandcell_string_free(report);
	expect_value("next(gen)", "1");
	OK(sandcell_rollback(session, id, &err));
	expect_value("next(gen)", "1");
	OK(sandcell_rollback(session, id, &err));
	expect_value("next(gen)", "1");
	OK(sandcell_checkpoint_drop(session, id, &err));
	FAILS(SANDCELL_E_CONFLICT, sandcell_rollback(session, id, &err));
	expect_ok("import threading; e = threading.Event()\n"
		  "threading.Thread(target=e.wait, daemon=True).start()");
	FAILS(SANDCELL_E_CONFLICT, sandcell_checkpoint(session, &id, NULL, &err));
	end();
}
END_TEST

START_TEST(a_call_that_ends_python_leaves_the_state_before_it)
{
	const sandcell_execute_options opts = {
		.struct_size = sizeof(opts), .flags = SANDCELL_EXECUTE_RECOVER};
	sandcell_result *result = NULL;

	begin();
	expect_ok("import os; gen = iter(range(9)); next(gen)");
	result = run_with("next(gen); os.kill(os.getpid(), 11)", &opts);
	check_result(result, SANDCELL_RESULT_SIGNALED, "as they were before", "a crash");
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
	ck_assert_ptr_nonnull(
		strstr(sandcell_result_get_details(result), "\"rolled_back\":true"));
	sandcell_result_free(result);
	expect_value("next(gen)", "1");
	end();
}
END_TEST

/* A client of its own, which saves over and over until it is killed. */
static void save_for_ever(void)
{
	start(NULL);
	expect_ok("import os; big = os.urandom(6 << 20)");
	for (;;)
		save(NULL);
}

START_TEST(a_client_killed_at_any_time_leaves_a_good_file)
{
	static const useconds_t delays[] = {1000, 37000, 91000, 160000};

	make_workspace(folder, 0, 0, 0700);
	(void)snprintf(file, sizeof(file), "%s/s.tar", folder);
	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		sc_deadline deadline = soon();
		char *json = NULL;
		pid_t pid = fork();

		if (pid == 0) {
			save_for_ever();
			_exit(0);
		}
		while (access(file, F_OK) < 0 && !sc_deadline_passed(deadline))
			sc_pause_ms(1, deadline);
		(void)usleep(delays[i]); /* somewhere in a later save */
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		OK(sandcell_snapshot_inspect(file, &json, &err));
		sandcell_string_free(json);
		ck_assert_int_eq(unlink(file), 0);
	}
	start(NULL);
	end();
}
END_TEST

REAL_MAIN("snapshot", state_goes_through_a_file, every_compression_is_read_back,
	a_restore_goes_into_another_session, a_damaged_file_changes_nothing,
	a_full_disk_keeps_the_older_file, nothing_is_unpickled_on_the_host,
	another_python_or_image_is_refused_unless_forced, foreign_archives_are_no_snapshots,
	a_variable_that_ends_the_fork_is_left_out, checkpoints_bring_everything_back,
	a_call_that_ends_python_leaves_the_state_before_it,
	a_client_killed_at_any_time_leaves_a_good_file)
