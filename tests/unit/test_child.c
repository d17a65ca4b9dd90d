/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/fd.h"
#include "unit.h"

#define HANG_MS 30000

/* Runs a shell script with a socket pair as its stdin, stdout and stderr. */
static int run(const char *script, struct sc_child *child)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(sc_child_spawn(argv, pair[1], pair[1], pair[1], child, NULL), 0);
	(void)close(pair[1]);
	return pair[0];
}

static void read_all(int fd, char *text, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	(void)close(fd);
}

static void wait_ended(struct sc_child *child)
{
	sc_deadline deadline = sc_deadline_in_ms(HANG_MS);

	while (!sc_child_has_ended(child)) {
		ck_assert(!sc_deadline_passed(deadline));
		sc_pause_ms(1, deadline);
	}
}

START_TEST(it_gets_three_descriptors_and_no_other)
{
	struct sc_child child = SC_CHILD_INIT;
	char text[256];
	int leaky = open("/dev/null", O_RDONLY); /* a host's, without CLOEXEC */

	int fd = run("ls /proc/self/fd | tr '\\n' ' '; echo err >&2", &child);
	read_all(fd, text, sizeof(text));
	/* 3 is the folder that ls reads. */
	ck_assert_str_eq(text, "0 1 2 3 err\n");
	wait_ended(&child);
	(void)close(leaky);
}
END_TEST

START_TEST(it_has_default_signals_and_its_own_session)
{
	struct sc_child child = SC_CHILD_INIT;
	char text[256];
	sigset_t all;
	sigset_t old;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &old);
	(void)signal(SIGUSR1, SIG_IGN);
	int fd = run("grep SigBlk /proc/self/status | tr -d '\\n\\t 0'; "
		     "ps -o sid= -p $$ | tr -d ' \\n'; echo \" $$\"; "
		     "kill -USR1 $$; echo survived",
		&child);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)signal(SIGUSR1, SIG_DFL);
	pid_t pid = child.pid;
	read_all(fd, text, sizeof(text));
	char wanted[64];
	(void)snprintf(wanted, sizeof(wanted), "SigBlk:%d %d\n", (int)pid, (int)pid);
	ck_assert_str_eq(text, wanted);
	wait_ended(&child);
}
END_TEST

START_TEST(a_missing_program_is_not_found)
{
	const char *const argv[] = {"no-such-program-here", NULL};
	struct sc_child child = SC_CHILD_INIT;
	sandcell_error *err = NULL;

	ck_assert_int_eq(sc_child_spawn(argv, 0, 1, 2, &child, &err), SANDCELL_E_NOTFOUND);
	ck_assert_ptr_nonnull(
		strstr(sandcell_error_get_message(err), "no-such-program-here"));
	ck_assert_int_eq(child.pid, 0);
	sandcell_error_free(err);
}
END_TEST

START_TEST(ending_insists)
{
	struct sc_child child = SC_CHILD_INIT;
	char ready = 0;

	int fd = run("trap '' TERM; echo x; while :; do sleep 600; done", &child);
	pid_t pid = child.pid;
	ck_assert_int_eq(read(fd, &ready, 1), 1);
	sc_child_end(&child);
	ck_assert_int_eq(child.pid, 0);
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	(void)close(fd);
}
END_TEST

START_TEST(ending_twice_or_nothing_is_fine)
{
	struct sc_child child = SC_CHILD_INIT;
	char text[16];

	sc_child_end(&child);
	ck_assert(sc_child_has_ended(&child));
	int fd = run("exit 3", &child);
	read_all(fd, text, sizeof(text));
	sc_child_end(&child);
	sc_child_end(&child);
	ck_assert(sc_child_has_ended(&child));
}
END_TEST

/* Whoever has the number afterwards must not be hit. */
START_TEST(a_host_that_reaps_everything_is_fine)
{
	struct sc_child child = SC_CHILD_INIT;
	int status = 0;

	int fd = run("exit 0", &child);
	ck_assert_int_eq(waitpid(-1, &status, 0), child.pid);
	sc_child_end(&child);
	ck_assert_int_eq(child.pid, 0);
	ck_assert_int_eq(child.pidfd, -1);
	(void)close(fd);
}
END_TEST

START_TEST(it_works_without_stdio)
{
	struct sc_child child = SC_CHILD_INIT;
	char text[16];
	int saved[3];

	for (int i = 0; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
		(void)close(i);
	}
	int fd = run("echo out; echo err >&2", &child);
	read_all(fd, text, sizeof(text));
	for (int i = 0; i < 3; i++) {
		(void)dup2(saved[i], i);
		(void)close(saved[i]);
	}
	ck_assert_str_eq(text, "out\nerr\n");
	wait_ended(&child);
}
END_TEST

UNIT_MAIN("child", it_gets_three_descriptors_and_no_other,
	it_has_default_signals_and_its_own_session, a_missing_program_is_not_found,
	ending_insists, ending_twice_or_nothing_is_fine,
	a_host_that_reaps_everything_is_fine, it_works_without_stdio)
