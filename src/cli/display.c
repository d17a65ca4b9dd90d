/* SPDX-License-Identifier: MIT */
#include "display.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static const char *suffix_of(const char *mime)
{
	static const struct {
		const char *mime, *suffix;
	} known[] = {
		{"image/png", "png"},
		{"image/jpeg", "jpg"},
		{"image/svg+xml", "svg"},
		{"application/pdf", "pdf"},
		{"application/json", "json"},
		{"text/html", "html"},
		{"text/latex", "tex"},
		{"text/markdown", "md"},
		{"text/plain", "txt"},
	};

	for (size_t i = 0; i < COUNT_OF(known); i++) {
		if (strcmp(known[i].mime, mime) == 0)
			return known[i].suffix;
	}
	return NULL;
}

int display_open(const char *path)
{
	int fd;

	if (mkdir(path, 0777) < 0 && errno != EEXIST) {
		cli_error("cannot make the directory '%s': %m", path);
		return -1;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		cli_error("cannot open the directory '%s': %m", path);
	return fd;
}

static int write_file(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t written = write(fd, data, len);

		if (written < 0 && errno != EINTR)
			return -1;
		if (written > 0) {
			data += written;
			len -= (size_t)written;
		}
	}
	return 0;
}

/* The code may have put a link of that name there: a new file is written beside it, and
 * takes its name without looking at it. */
static int replace(int directory_fd, const char *name, const char *data, size_t len)
{
	char fresh[64];
	int fd, rc, error;

	(void)snprintf(fresh, sizeof(fresh), ".%s.%d", name, (int)getpid());
	(void)unlinkat(directory_fd, fresh, 0);
	fd = openat(directory_fd, fresh,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	rc = write_file(fd, data, len);
	if (close(fd) < 0)
		rc = -1;
	if (rc == 0)
		rc = renameat(directory_fd, fresh, directory_fd, name);
	error = errno;
	if (rc < 0)
		(void)unlinkat(directory_fd, fresh, 0);
	errno = error;
	return rc;
}

static int save_one(
	int directory_fd, const sandcell_result *result, size_t display, size_t index)
{
	const char *data, *mime, *suffix;
	char name[48];
	size_t len;

	data = sandcell_result_get_mime(result, display, index, &mime, &len);
	suffix = data ? suffix_of(mime) : NULL;
	if (!suffix)
		return 0;
	(void)snprintf(name, sizeof(name), "display-%zu.%s", display + 1, suffix);
	if (replace(directory_fd, name, data, len) == 0)
		return 0;
	cli_error("cannot write '%s': %m", name);
	return -1;
}

int display_save(int directory_fd, const sandcell_result *result)
{
	for (size_t i = 0; i < sandcell_result_get_display_count(result); i++) {
		for (size_t k = 0; k < sandcell_result_get_mime_count(result, i); k++) {
			if (save_one(directory_fd, result, i, k) < 0)
				return -1;
		}
	}
	return 0;
}
