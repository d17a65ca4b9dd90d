/* SPDX-License-Identifier: MIT */
#include "session/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int open_one(const char *path, int *fd_out, sandcell_error **err_out)
{
	int fd;

	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return sc_fail_errno(err_out, SANDCELL_E_INVAL, errno,
			"cannot write output to '%s'", path);
	*fd_out = fd;
	return 0;
}

int sc_spill_open(struct sc_spill *spill, const sandcell_execute_options *opts,
	sandcell_error **err_out)
{
	int rc;

	*spill = (struct sc_spill){
		.fds = {-1, -1},
		.paths = {opts->stdout_file, opts->stderr_file},
	};
	rc = open_one(spill->paths[0], &spill->fds[0], err_out);
	if (rc == 0)
		rc = open_one(spill->paths[1], &spill->fds[1], err_out);
	if (rc < 0)
		sc_spill_close(spill);
	return rc;
}

int sc_spill_write(struct sc_spill *spill, int stream, const void *data, size_t len)
{
	const char *at = data;
	int which = stream - SANDCELL_STDOUT;

	if (spill->failed)
		return -1;
	if (which < 0 || which > 1 || spill->fds[which] < 0)
		return 0;
	while (len > 0) {
		ssize_t n = write(spill->fds[which], at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			spill->failed = which + 1;
			spill->errnum = n < 0 ? errno : EIO;
			return -1;
		}
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int sc_spill_fail(const struct sc_spill *spill, sandcell_error **err_out)
{
	return sc_fail_errno(err_out, SANDCELL_E_LIMIT, spill->errnum,
		"the call was stopped: cannot write its output to '%s'",
		spill->paths[spill->failed - 1]);
}

void sc_spill_close(struct sc_spill *spill)
{
	for (int i = 0; i < 2; i++) {
		if (spill->fds[i] >= 0)
			(void)close(spill->fds[i]);
		spill->fds[i] = -1;
	}
}
