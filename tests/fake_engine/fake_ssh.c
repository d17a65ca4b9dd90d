/* SPDX-License-Identifier: MIT */
/*
 * Stands in for the ssh program: relays between its stdin and stdout and the socket named
 * by FAKE_SSH_SOCKET, as `docker system dial-stdio` on another machine would.  Its
 * arguments go to the file FAKE_SSH_LOG, one to a line.  With FAKE_SSH_FAIL it says that
 * and fails.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FAILED 255 /* what ssh exits with when it is itself to blame */

static void log_arguments(char **argv)
{
	const char *name = getenv("FAKE_SSH_LOG");
	FILE *file = name ? fopen(name, "ae") : NULL;

	if (!file)
		return;
	for (char **arg = argv + 1; *arg; arg++)
		(void)fprintf(file, "%s\n", *arg);
	(void)fclose(file);
}

static int connect_socket(void)
{
	const char *path = getenv("FAKE_SSH_SOCKET");
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path ? path : "");
	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ? fd : -1;
}

/* Moves what there is; false at the end. */
static int move(int from, int to)
{
	static char piece[65536];
	ssize_t n = read(from, piece, sizeof(piece));

	for (ssize_t done = 0; done < n;) {
		ssize_t m = write(to, piece + done, (size_t)(n - done));
		if (m <= 0)
			return 0;
		done += m;
	}
	return n > 0;
}

int main(int argc, char **argv)
{
	const char *complaint = getenv("FAKE_SSH_FAIL");
	struct pollfd entries[2] = {{.fd = 0, .events = POLLIN}, {.events = POLLIN}};

	(void)argc;
	log_arguments(argv);
	if (complaint) {
		(void)fprintf(stderr, "%s\n", complaint);
		return FAILED;
	}
	entries[1].fd = connect_socket();
	if (entries[1].fd < 0) {
		perror("FAKE_SSH_SOCKET");
		return FAILED;
	}
	for (int fd = entries[1].fd; poll(entries, 2, -1) > 0;) {
		if (entries[0].revents && !move(0, fd)) {
			(void)shutdown(fd, SHUT_WR);
			entries[0].fd = -1;
		}
		if (entries[1].revents && !move(fd, 1))
			break;
	}
	return EXIT_SUCCESS;
}
