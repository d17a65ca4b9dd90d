/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/buf.h"

int sc_fd_wait(int fd, short events, sc_deadline deadline, sandcell_error **err_out)
{
	struct pollfd entry = {.fd = fd, .events = events};

	for (;;) {
		int n = poll(&entry, 1, sc_deadline_left_ms(deadline));
		if (n > 0)
			return 1;
		if (n == 0 && sc_deadline_passed(deadline))
			return 0;
		if (n < 0 && errno != EINTR)
			return sc_fail_errno(err_out, SANDCELL_E_FAIL, errno, "poll");
	}
}

int sc_fd_send_all(int fd, const void *data, size_t len, sc_deadline deadline,
	sandcell_error **err_out)
{
	const char *at = data;
	int rc;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			at += n;
			len -= (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return sc_fail_errno(err_out, SANDCELL_E_CONNECT, errno,
				"sending to the engine");
		rc = sc_fd_wait(fd, POLLOUT, deadline, err_out);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return sc_fail(err_out, SANDCELL_E_TIMEOUT,
				"timed out sending to the engine");
	}
	return 0;
}

/* A Unix socket whose backlog is full answers EAGAIN at once instead of connecting later.
 */
static int connect_until(int fd, const struct sockaddr_un *addr, sc_deadline deadline)
{
	for (;;) {
		if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || sc_deadline_passed(deadline))
			return -1;
		sc_pause_ms(5, deadline);
	}
}

int sc_fd_connect_unix(
	const char *path, sc_deadline deadline, int *fd_out, sandcell_error **err_out)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	sc_autoclose int fd = -1;
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(addr.sun_path))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"socket path '%s' has %zu bytes, at most %zu are possible", path,
			len, sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sc_fail_errno(err_out, SANDCELL_E_CONNECT, errno, "making a socket");
	if (connect_until(fd, &addr, deadline) < 0)
		return sc_fail_errno(
			err_out, SANDCELL_E_CONNECT, errno, "connecting to '%s'", path);
	*fd_out = SANDCELL_TAKE_FD(fd);
	return 0;
}

int sc_fd_read_file(const char *path, size_t max, char **text_out, size_t *len_out)
{
	sc_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	sc_autobuf buf = SC_BUF_INIT(max);
	char chunk[4096];

	if (fd < 0)
		return -1;
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (sc_buf_append(&buf, chunk, (size_t)n) < 0) {
			errno = buf.rc == SANDCELL_E_LIMIT ? EFBIG : ENOMEM;
			return -1;
		}
	}
	char *text = sc_buf_take(&buf, len_out);
	if (!text) {
		errno = ENOMEM;
		return -1;
	}
	*text_out = text;
	return 0;
}
