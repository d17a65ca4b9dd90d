/* SPDX-License-Identifier: MIT */
#include "engine/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COMPLAINT_MAX 400
#define NUMBER_TEXT   16
#define SOCKET_NAME   "s"

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

/*
 * In a folder that is ours alone.  The abstract namespace would need none, but libcurl 7.88
 * takes a connection without a printable address for one that it is still resolving, and
 * does not use it again.
 */
static int listen_anywhere(struct sc_ssh *ssh, struct sockaddr_un *target)
{
	char folder[] = "/tmp/sandcell-ssh-XXXXXX";

	*target = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(ssh->folder, sizeof(ssh->folder), "%s", folder);
	(void)snprintf(
		target->sun_path, sizeof(target->sun_path), "%s/%s", folder, SOCKET_NAME);
	if (bind(ssh->other_fd, (const struct sockaddr *)target, sizeof(*target)) < 0)
		return -1;
	return listen(ssh->other_fd, 1);
}

static void remove_folder(struct sc_ssh *ssh)
{
	char path[sizeof(ssh->folder) + sizeof(SOCKET_NAME)];

	if (!ssh->folder[0])
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", ssh->folder, SOCKET_NAME);
	(void)unlink(path);
	(void)rmdir(ssh->folder);
	ssh->folder[0] = '\0';
}

int sc_ssh_prepare(struct sc_ssh **ssh_out, struct sockaddr_un *target)
{
	SANDCELL_CLEANUP(ssh_freep) struct sc_ssh *ssh = ssh_new();

	if (!ssh)
		return SANDCELL_E_NOMEM;
	ssh->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssh->other_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ssh->words < 0 || ssh->fd < 0 || ssh->other_fd < 0 ||
		listen_anywhere(ssh, target) < 0)
		return SANDCELL_E_CONNECT;
	*ssh_out = SANDCELL_TAKE(ssh);
	return 0;
}

int sc_ssh_run(struct sc_ssh *ssh, const struct sc_address *address, uint32_t connect_ms,
	sandcell_error **err_out)
{
	sc_autoclose int their_end = accept4(ssh->other_fd, NULL, NULL, SOCK_CLOEXEC);

	remove_folder(ssh);
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
	remove_folder(ssh);
	sc_child_end(&ssh->child);
	sc_closep(&ssh->words);
	sc_free(ssh);
}
