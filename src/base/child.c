/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

#define PATIENCE_MS 2000
#define FIRST_FREE  3 /* after stdin, stdout and stderr */

extern char **environ;

/* Out of the way of 0, 1 and 2, which a host may have closed. */
static int above_stdio(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
}

static int put_actions(posix_spawn_file_actions_t *actions, const int fds[3])
{
	int rc = 0;

	for (int i = 0; i < 3 && rc == 0; i++)
		rc = posix_spawn_file_actions_adddup2(actions, fds[i], i);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
	/* The host may have opened some without CLOEXEC. */
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(actions, FIRST_FREE);
#endif
	return rc;
}

static int put_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none;
	sigset_t all;
	int rc;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	rc = posix_spawnattr_setsigmask(attributes, &none);
	if (rc == 0)
		rc = posix_spawnattr_setsigdefault(attributes, &all);
	if (rc == 0)
		rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
								  POSIX_SPAWN_SETSIGDEF |
								  POSIX_SPAWN_SETSID);
	return rc;
}

/* An errno, as posix_spawn() gives it. */
static int spawn(const char *const *argv, const int fds[3], pid_t *pid_out)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int rc;

	rc = posix_spawn_file_actions_init(&actions);
	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&attributes);
	if (rc == 0) {
		rc = put_actions(&actions, fds);
		if (rc == 0)
			rc = put_attributes(&attributes);
		if (rc == 0)
			rc = posix_spawnp(pid_out, argv[0], &actions, &attributes,
				(char *const *)argv, environ);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

int sc_child_spawn(const char *const *argv, int in, int out, int err,
	struct sc_child *child, sandcell_error **err_out)
{
	sc_autoclose int safe_in = above_stdio(in);
	sc_autoclose int safe_out = above_stdio(out);
	sc_autoclose int safe_err = above_stdio(err);
	const int fds[3] = {safe_in, safe_out, safe_err};
	pid_t pid = 0;
	int rc;

	if (safe_in < 0 || safe_out < 0 || safe_err < 0)
		return sc_fail_errno(
			err_out, SANDCELL_E_FAIL, errno, "duplicating a descriptor");
	rc = spawn(argv, fds, &pid);
	if (rc != 0)
		return sc_fail_errno(err_out,
			rc == ENOENT ? SANDCELL_E_NOTFOUND : SANDCELL_E_FAIL, rc,
			"running '%s'", argv[0]);
	child->pid = pid;
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

void sc_child_forget(struct sc_child *child)
{
	sc_closep(&child->pidfd);
	*child = (struct sc_child)SC_CHILD_INIT;
}

bool sc_child_has_ended(struct sc_child *child)
{
	siginfo_t info = {0};

	if (child->pid == 0)
		return true;
	if (child->pidfd < 0) {
		if (waitpid(child->pid, NULL, WNOHANG) == 0)
			return false;
	} else if (waitid((idtype_t)P_PIDFD, (id_t)child->pidfd, &info,
			   WEXITED | WNOHANG) == 0 &&
		   info.si_pid == 0) {
		return false;
	}
	/* ECHILD: the host reaped it, or lets the kernel do that. */
	sc_child_forget(child);
	return true;
}

static bool wait_a_while(const struct sc_child *child)
{
	struct pollfd entry = {.fd = child->pidfd, .events = POLLIN};

	return poll(&entry, 1, PATIENCE_MS) > 0;
}

void sc_child_end(struct sc_child *child)
{
	/* Without a pidfd its number may be another's by now: it ends by its closed input.
	 */
	if (child->pid != 0 && child->pidfd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, child->pidfd, SIGTERM, NULL, 0);
		if (!wait_a_while(child)) {
			(void)syscall(
				SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
			(void)wait_a_while(child);
		}
	}
	if (!sc_child_has_ended(child))
		sc_child_forget(child);
}
