/* SPDX-License-Identifier: MIT */
#include "engine/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define COMPLAINT_MAX 400
#define NUMBER_TEXT   16

/* One word for the remote shell, whichever that is; the address has no special characters.
 */
static int put_command(const char *path, sc_buf *command, sandcell_error **err_out)
{
	(void)sc_buf_puts(
		command, "sh -c 'if command -v docker >/dev/null; then exec docker ");
	if (path)
		(void)sc_buf_printf(command, "--host unix://%s ", path);
	(void)sc_buf_puts(command, "system dial-stdio; else exec podman ");
	if (path)
		(void)sc_buf_printf(command, "--url unix://%s ", path);
	(void)sc_buf_puts(command, "system dial-stdio; fi'");
	return sc_buf_check(command, err_out, "ssh command");
}

static int spawn_ssh(struct sc_ssh *ssh, const struct sc_address *address,
	uint32_t connect_ms, int their_end, sandcell_error **err_out)
{
	sc_autobuf command = SC_BUF_INIT(SC_MAX_URL);
	char timeout[2 * NUMBER_TEXT];
	char port[NUMBER_TEXT];
	const char *argv[16] = {"ssh", "-T", "-o", "BatchMode=yes", "-o", timeout};
	size_t n = 6;
	int rc;

	rc = put_command(address->path, &command, err_out);
	if (rc < 0)
		return rc;
	(void)snprintf(timeout, sizeof(timeout), "ConnectTimeout=%u",
		(unsigned)(connect_ms + 999) / 1000);
	(void)snprintf(port, sizeof(port), "%u", (unsigned)address->port);
	if (address->port) {
		argv[n++] = "-p";
		argv[n++] = port;
	}
	if (address->user) {
		argv[n++] = "-l";
		argv[n++] = address->user;
	}
	argv[n++] = "--";
	argv[n++] = address->host;
	argv[n] = sc_buf_text(&command);
	return sc_child_spawn(argv, their_end, their_end, ssh->words, &ssh->child, err_out);
}

static void ssh_freep(struct sc_ssh **ssh)
{
	sc_ssh_close(*ssh);
}

static struct sc_ssh *ssh_new(void)
{
	struct sc_ssh *ssh = sc_calloc(1, sizeof(*ssh));

	if (!ssh)
		return NULL;
	*ssh = (struct sc_ssh){
		.fd = -1,
		.other_fd = -1,
		.words = memfd_create("sandcell-ssh", MFD_CLOEXEC),
		.child = SC_CHILD_INIT,
	};
	return ssh;
}

int sc_ssh_open(const struct sc_address *address, uint32_t connect_ms,
	struct sc_ssh **ssh_out, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(ssh_freep) struct sc_ssh *ssh = ssh_new();
	int pair[2] = {-1, -1};
	int rc;

	if (!ssh)
		return sc_fail_nomem(err_out);
	if (ssh->words < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return sc_fail_errno(
			err_out, SANDCELL_E_CONNECT, errno, "preparing to run ssh");
	ssh->fd = pair[0];
	ssh->other_fd = pair[1];
	if (fcntl(ssh->fd, F_SETFL, O_NONBLOCK) < 0)
		return sc_fail_errno(
			err_out, SANDCELL_E_CONNECT, errno, "preparing to run ssh");
	rc = spawn_ssh(ssh, address, connect_ms, ssh->other_fd, err_out);
	if (rc < 0)
		return rc;
	(void)close(SANDCELL_TAKE_FD(ssh->other_fd));
	*ssh_out = SANDCELL_TAKE(ssh);
	return 0;
}

/* A name that the kernel makes up, in the abstract namespace. */
static int listen_anywhere(int fd, struct sockaddr_un *target, socklen_t *len_out)
{
	const struct sockaddr_un unnamed = {.sun_family = AF_UNIX};

	if (bind(fd, (const struct sockaddr *)&unnamed, sizeof(unnamed.sun_family)) < 0 ||
		listen(fd, 8) < 0)
		return -1;
	*len_out = sizeof(*target);
	return getsockname(fd, (struct sockaddr *)target, len_out);
}

int sc_ssh_prepare(struct sc_ssh **ssh_out, struct sockaddr_un *target, socklen_t *len_out)
{
	SANDCELL_CLEANUP(ssh_freep) struct sc_ssh *ssh = ssh_new();

	if (!ssh)
		return SANDCELL_E_NOMEM;
	ssh->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssh->other_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ssh->words < 0 || ssh->fd < 0 || ssh->other_fd < 0 ||
		listen_anywhere(ssh->other_fd, target, len_out) < 0)
		return SANDCELL_E_CONNECT;
	*ssh_out = SANDCELL_TAKE(ssh);
	return 0;
}

/* Whoever else found the name is not let in. */
static int accept_own(int listener)
{
	for (;;) {
		sc_autoclose int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		struct ucred peer = {0};
		socklen_t len = sizeof(peer);

		if (fd < 0 && errno == EINTR)
			continue;
		if (fd < 0)
			return -1;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
			peer.pid == getpid())
			return SANDCELL_TAKE_FD(fd);
	}
}

int sc_ssh_run(struct sc_ssh *ssh, const struct sc_address *address, uint32_t connect_ms,
	sandcell_error **err_out)
{
	sc_autoclose int their_end = accept_own(ssh->other_fd);

	if (their_end < 0)
		return sc_fail_errno(
			err_out, SANDCELL_E_CONNECT, errno, "preparing to run ssh");
	(void)close(SANDCELL_TAKE_FD(ssh->other_fd));
	return spawn_ssh(ssh, address, connect_ms, their_end, err_out);
}

void sc_ssh_complaint(const struct sc_ssh *ssh, sc_buf *text)
{
	char words[COMPLAINT_MAX];
	ssize_t n = pread(ssh->words, words, sizeof(words), 0);

	while (n > 0 && (words[n - 1] == '\n' || words[n - 1] == '\r'))
		n--;
	if (n > 0)
		(void)sc_buf_append(text, words, (size_t)n);
}

void sc_ssh_close(struct sc_ssh *ssh)
{
	if (!ssh)
		return;
	sc_closep(&ssh->fd);
	sc_closep(&ssh->other_fd);
	sc_child_end(&ssh->child);
	sc_closep(&ssh->words);
	sc_free(ssh);
}
