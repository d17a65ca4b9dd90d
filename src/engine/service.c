/* SPDX-License-Identifier: MIT */
#include "engine/service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/fd.h"

#define IDLE_TIME     "--time=60"
#define POLL_MS	      20
#define LOG_TAIL      ((size_t)400)
#define LOG_MAX	      ((size_t)1 << 20)
#define ARGUMENTS_MAX 24

/*
 * Leaves podman to init, so that no zombie of it stays with the host program.  It inherits
 * what was the shell's stdin as a descriptor that it knows nothing of (its own stdin it
 * closes): our end of that is how we notice that it ended early.
 */
#define DETACH "exec 9<&0 </dev/null; \"$@\" &"

static int put_path(
	sc_buf *path, const char *folder, const char *name, sandcell_error **err_out)
{
	(void)sc_buf_printf(path, "%s/%s", folder, name);
	return sc_buf_check(path, err_out, "path of the podman service");
}

static bool is_in_path(const char *program)
{
	const char *at = secure_getenv("PATH");

	while (at && *at) {
		sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
		int len = (int)strcspn(at, ":");

		(void)sc_buf_printf(&path, "%.*s/%s", len, at, program);
		if (len > 0 && access(sc_buf_text(&path), X_OK) == 0)
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

bool sc_service_possible(void)
{
	return is_in_path("podman");
}

/* ---- the folder, which is ours alone ---- */

static int put_folder(sc_buf *folder, sandcell_error **err_out)
{
	const char *chosen = secure_getenv("SANDCELL_RUN_DIR");
	const char *runtime_dir = secure_getenv("XDG_RUNTIME_DIR");

	if (chosen && chosen[0] == '/')
		(void)sc_buf_puts(folder, chosen);
	else if (geteuid() == 0)
		(void)sc_buf_puts(folder, "/run/sandcell");
	else if (runtime_dir && runtime_dir[0] == '/')
		(void)sc_buf_printf(folder, "%s/sandcell", runtime_dir);
	else
		(void)sc_buf_printf(folder, "/tmp/sandcell-%u", (unsigned)geteuid());
	return sc_buf_check(folder, err_out, "path of the podman service");
}

static int make_folder(const char *folder, sandcell_error **err_out)
{
	struct stat st;

	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return sc_fail_errno(
			err_out, SANDCELL_E_CONNECT, errno, "making '%s'", folder);
	if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		(st.st_mode & 077))
		return sc_fail(err_out, SANDCELL_E_CONNECT,
			"'%s' must be a folder that is yours alone (mode 0700)", folder);
	return 0;
}

/* One process at a time; the lock ends with the descriptor. */
static int lock_folder(
	const char *folder, sc_deadline deadline, int *fd_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autoclose int fd = -1;
	int rc;

	rc = put_path(&path, folder, "podman-service.lock", err_out);
	if (rc < 0)
		return rc;
	fd = open(sc_buf_text(&path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return sc_fail_errno(err_out, SANDCELL_E_CONNECT, errno, "opening '%s'",
			sc_buf_text(&path));
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (sc_deadline_passed(deadline))
			return sc_fail(err_out, SANDCELL_E_TIMEOUT,
				"timed out while another process starts podman");
		sc_pause_ms(POLL_MS, deadline);
	}
	*fd_out = SANDCELL_TAKE_FD(fd);
	return 0;
}

/* ---- the program ---- */

struct command {
	const char *argv[ARGUMENTS_MAX];
	size_t count;
};

static void add(struct command *command, const char *argument)
{
	if (command->count + 1 < ARGUMENTS_MAX)
		command->argv[command->count++] = argument;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static bool has_storage_config(void)
{
	const char *home = secure_getenv("HOME");
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);

	(void)sc_buf_printf(&path, "%s/.config/containers/storage.conf", home ? home : "");
	return secure_getenv("STORAGE_DRIVER") || exists("/etc/containers/storage.conf") ||
	       exists(sc_buf_text(&path));
}

/* What Podman 4 gets wrong by itself; whoever has a configuration keeps it. */
static void add_defaults(struct command *command)
{
	if (geteuid() != 0 && !has_storage_config()) {
		/* It may fall back on vfs, which copies the image for each container. */
		add(command, "--storage-driver");
		add(command, "overlay");
	}
	if (secure_getenv("CONTAINERS_CONF"))
		return;
	if (!exists("/run/systemd/system")) {
		add(command, "--cgroup-manager");
		add(command, "cgroupfs");
		add(command, "--events-backend");
		add(command, "file");
	}
	/* crun 1.8 refuses a tree of both cgroup versions. */
	if (!exists("/sys/fs/cgroup/cgroup.controllers") && is_in_path("runc")) {
		add(command, "--runtime");
		add(command, "runc");
	}
}

static int spawn(const char *url, int alive, int log_fd, sandcell_error **err_out)
{
	struct command command = {.argv = {"sh", "-c", DETACH, "sh", "podman"}, .count = 5};
	struct sc_child child = SC_CHILD_INIT;
	int rc;

	add_defaults(&command);
	add(&command, "system");
	add(&command, "service");
	add(&command, IDLE_TIME);
	add(&command, url);
	rc = sc_child_spawn(command.argv, alive, log_fd, log_fd, &child, err_out);
	if (rc < 0)
		return rc;
	/* Only the shell, which is done at once. */
	while (!sc_child_has_ended(&child))
		sc_pause_ms(1, SC_NEVER);
	return 0;
}

static int report_log(const char *path, sandcell_error **err_out)
{
	sc_autofree char *text = NULL;
	size_t len = 0;

	if (sc_fd_read_file(path, LOG_MAX, &text, &len) < 0)
		return sc_fail(err_out, SANDCELL_E_CONNECT,
			"podman system service ended at once; see '%s'", path);
	return sc_fail(err_out, SANDCELL_E_CONNECT,
		"podman system service ended at once: %s",
		text + (len > LOG_TAIL ? len - LOG_TAIL : 0));
}

static bool answers(const char *socket_path)
{
	sc_autoclose int fd = -1;

	return sc_fd_connect_unix(socket_path, sc_deadline_in_ms(POLL_MS), &fd, NULL) == 0;
}

/* Until it answers, or its end of alive is closed because it is gone. */
static int wait_until_up(const char *socket_path, int alive, const char *log_path,
	sc_deadline deadline, sandcell_error **err_out)
{
	while (!answers(socket_path)) {
		int rc = sc_fd_wait(alive, POLLIN,
			sc_deadline_min(deadline, sc_deadline_in_ms(POLL_MS)), err_out);
		if (rc < 0)
			return rc;
		if (rc > 0)
			return report_log(log_path, err_out);
		if (sc_deadline_passed(deadline))
			return sc_fail(err_out, SANDCELL_E_TIMEOUT,
				"timed out starting podman system service; see '%s'",
				log_path);
	}
	return 0;
}

static int start(const char *folder, const char *socket_path, sc_deadline deadline,
	sandcell_error **err_out)
{
	sc_autobuf log_path = SC_BUF_INIT(SC_MAX_URL);
	sc_autobuf url = SC_BUF_INIT(SC_MAX_URL);
	sc_autoclose int ours = -1;
	sc_autoclose int theirs = -1;
	sc_autoclose int log_fd = -1;
	int pair[2];
	int rc;

	rc = put_path(&log_path, folder, "podman-service.log", err_out);
	if (rc < 0)
		return rc;
	(void)sc_buf_printf(&url, "unix://%s", socket_path);
	rc = sc_buf_check(&url, err_out, "path of the podman service");
	if (rc < 0)
		return rc;
	log_fd = open(sc_buf_text(&log_path),
		O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (log_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return sc_fail_errno(err_out, SANDCELL_E_CONNECT, errno, "opening '%s'",
			sc_buf_text(&log_path));
	ours = pair[0];
	theirs = pair[1];
	(void)unlink(socket_path); /* of one that was killed */
	rc = spawn(sc_buf_text(&url), theirs, log_fd, err_out);
	if (rc < 0)
		return rc;
	sc_closep(&theirs);
	theirs = -1;
	return wait_until_up(socket_path, ours, sc_buf_text(&log_path), deadline, err_out);
}

int sc_service_up(const sc_log *log, sc_deadline deadline, char **socket_out,
	sandcell_error **err_out)
{
	sc_autobuf folder = SC_BUF_INIT(SC_MAX_URL);
	sc_autobuf socket_path = SC_BUF_INIT(SC_MAX_URL);
	sc_autoclose int lock = -1;
	int rc;

	rc = put_folder(&folder, err_out);
	if (rc == 0)
		rc = make_folder(sc_buf_text(&folder), err_out);
	if (rc == 0)
		rc = put_path(
			&socket_path, sc_buf_text(&folder), "podman-service.sock", err_out);
	if (rc == 0)
		rc = lock_folder(sc_buf_text(&folder), deadline, &lock, err_out);
	if (rc < 0)
		return rc;
	if (!answers(sc_buf_text(&socket_path))) {
		sc_log_line(log, "starting podman system service on %s",
			sc_buf_text(&socket_path));
		rc = start(
			sc_buf_text(&folder), sc_buf_text(&socket_path), deadline, err_out);
		if (rc < 0)
			return rc;
	}
	*socket_out = sc_buf_take(&socket_path, NULL);
	return *socket_out ? 0 : sc_fail_nomem(err_out);
}
