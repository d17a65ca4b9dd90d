/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/fd.h"
#include "unit.h"

static char dir[32];
static char path[64];

static void make_path(const char *name)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/test-fd-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
}

static int listen_at(int backlog)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_path("socket");
	memcpy(addr.sun_path, path, strlen(path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, backlog), 0);
	return fd;
}

static void tidy(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}

START_TEST(a_connection_is_closed_on_exec_and_never_blocks)
{
	sc_autoclose int listener = listen_at(4);
	sc_autoclose int fd = -1;

	ck_assert_int_eq(sc_fd_connect_unix(path, sc_deadline_in_ms(5000), &fd, NULL), 0);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	tidy();
}
END_TEST

START_TEST(a_full_backlog_ends_with_the_deadline)
{
	sc_autoclose int listener = listen_at(0);
	int fds[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
	sandcell_error *err = NULL;
	int rc = 0;

	for (size_t i = 0; i < 8 && rc == 0; i++)
		rc = sc_fd_connect_unix(path, sc_deadline_in_ms(20), &fds[i], &err);
	ck_assert_int_eq(rc, SANDCELL_E_CONNECT);
	ck_assert_int_eq(sandcell_error_get_errno(err), EAGAIN);
	for (size_t i = 0; i < 8; i++)
		sc_closep(&fds[i]);
	sandcell_error_free(err);
	tidy();
}
END_TEST

START_TEST(why_it_cannot_connect_is_in_the_error)
{
	char too_long[200];
	sandcell_error *err = NULL;
	int fd = -1;

	make_path("nothing");
	ck_assert_int_eq(sc_fd_connect_unix(path, SC_NEVER, &fd, &err), SANDCELL_E_CONNECT);
	ck_assert_int_eq(sandcell_error_get_errno(err), ENOENT);
	memset(too_long, 'x', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = '\0';
	ck_assert_int_eq(
		sc_fd_connect_unix(too_long, SC_NEVER, &fd, &err), SANDCELL_E_INVAL);
	ck_assert_int_eq(sc_fd_connect_unix("", SC_NEVER, &fd, &err), SANDCELL_E_INVAL);
	ck_assert_int_eq(fd, -1);
	sandcell_error_free(err);
	tidy();
}
END_TEST

START_TEST(sending_stops_at_the_deadline_and_survives_a_gone_peer)
{
	static char data[1 << 20];
	int pair[2];
	sandcell_error *err = NULL;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(
		sc_fd_send_all(pair[0], data, sizeof(data), sc_deadline_in_ms(20), &err),
		SANDCELL_E_TIMEOUT);
	(void)close(pair[1]);
	ck_assert_int_eq(
		sc_fd_send_all(pair[0], data, 1, SC_NEVER, &err), SANDCELL_E_CONNECT);
	ck_assert_int_eq(sandcell_error_get_errno(err), EPIPE);
	(void)close(pair[0]);
	sandcell_error_free(err);
}
END_TEST

START_TEST(waiting_knows_ready_from_late)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(sc_fd_wait(pair[0], POLLIN, sc_deadline_in_ms(5), NULL), 0);
	ck_assert_int_eq(sc_fd_wait(pair[0], POLLOUT, SC_NEVER, NULL), 1);
	(void)close(pair[1]);
	ck_assert_int_eq(sc_fd_wait(pair[0], POLLIN, SC_NEVER, NULL), 1);
	(void)close(pair[0]);
}
END_TEST

START_TEST(files_are_read_whole_or_not_at_all)
{
	char *text = NULL;
	size_t len = 0;
	FILE *file = NULL;

	make_path("file");
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs("hello", file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(sc_fd_read_file(path, 5, &text, &len), 0);
	ck_assert_str_eq(text, "hello");
	ck_assert_uint_eq(len, 5);
	sc_free(text);
	ck_assert_int_eq(sc_fd_read_file(path, 4, &text, &len), -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_int_eq(sc_fd_read_file(dir, 4, &text, &len), -1);
	ck_assert_int_eq(errno, EISDIR);
	tidy();
	ck_assert_int_eq(sc_fd_read_file(path, 4, &text, &len), -1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

UNIT_MAIN("fd", a_connection_is_closed_on_exec_and_never_blocks,
	a_full_backlog_ends_with_the_deadline, why_it_cannot_connect_is_in_the_error,
	sending_stops_at_the_deadline_and_survives_a_gone_peer,
	waiting_knows_ready_from_late, files_are_read_whole_or_not_at_all)
