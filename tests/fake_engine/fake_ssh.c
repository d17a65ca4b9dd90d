/* SPDX-License-Identifier: MIT */
/*
 * Stands in for the ssh program: relays between its stdin and stdout and the socket named
 * by FAKE_SSH_SOCKET, as `docker system dial-stdio` on another machine would.  Its
 * arguments go to the file FAKE_SSH_LOG, one to a line.  With FAKE_SSH_FAIL it says that
 * and fails.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Until one side ends. */
static void move_all(int from, int to)
{
	char piece[65536];
	ssize_t n;

	while ((n = read(from, piece, sizeof(piece))) > 0) {
		for (ssize_t done = 0; done < n;) {
			ssize_t m = write(to, piece + done, (size_t)(n - done));
			if (m <= 0)
				return;
			done += m;
		}
	}
}

/* A thread for each way, so that neither waits for the other. */
static void *move_up(void *user)
{
	int fd = *(const int *)user;

	move_all(STDIN_FILENO, fd);
	(void)shutdown(fd, SHUT_WR);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *complaint = getenv("FAKE_SSH_FAIL");
	pthread_t up;
	int fd;

	(void)argc;
	log_arguments(argv);
	if (complaint) {
		(void)fprintf(stderr, "%s\n", complaint);
		return FAILED;
	}
	fd = connect_socket();
	if (fd < 0 || pthread_create(&up, NULL, move_up, &fd) != 0) {
		perror("FAKE_SSH_SOCKET");
		return FAILED;
	}
	move_all(fd, STDOUT_FILENO);
	return EXIT_SUCCESS;
}
