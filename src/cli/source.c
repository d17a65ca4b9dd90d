/* SPDX-License-Identifier: MIT */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "signals.h"

static int open_source(const char *path)
{
	struct stat info;
	int fd;

	if (strcmp(path, "-") == 0)
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
		(void)close(fd);
		errno = EISDIR;
		return -1;
	}
	return fd;
}

/* Answers 0, or errno; EFBIG when there is more than max. */
static int copy(int fd, FILE *to, size_t max)
{
	char chunk[65536];
	size_t total = 0;

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR && !cli_signals_caught())
			continue;
		if (got < 0)
			return errno;
		if (got == 0)
			return 0;
		total += (size_t)got;
		if (total > max)
			return EFBIG;
		if (fwrite(chunk, 1, (size_t)got, to) != (size_t)got)
			return ENOMEM;
	}
}

static int load(struct source *source, const char *path, size_t max)
{
	FILE *memory;
	int fd, error;

	fd = open_source(path);
	if (fd < 0)
		return errno;
	memory = open_memstream(&source->data, &source->len);
	error = memory ? copy(fd, memory, max) : ENOMEM;
	if (memory && fclose(memory) != 0 && error == 0)
		error = ENOMEM;
	(void)close(fd);
	return error;
}

int source_load(struct source *source, const char *path, size_t max)
{
	const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
	int error;

	*source = (struct source){0};
	error = load(source, path, max);
	if (error == 0)
		return 0;
	source_clear(source);
	if (error == EFBIG)
		cli_error("cannot read '%s': more than %zu MiB", shown, max >> 20);
	else if (error != EINTR) {
		errno = error;
		cli_error("cannot read '%s': %m", shown);
	}
	return -1;
}

void source_skip_bom(struct source *source)
{
	if (source->len < 3 || memcmp(source->data, "\xef\xbb\xbf", 3) != 0)
		return;
	source->len -= 3;
	memmove(source->data, source->data + 3, source->len + 1);
}

void source_clear(struct source *source)
{
	free(source->data);
	*source = (struct source){0};
}

static char *join(const char *folder, size_t folder_len, const char *rest)
{
	char *text;

	return asprintf(&text, "%.*s%s", (int)folder_len, folder, rest) < 0 ? NULL : text;
}

/* The rest of real, from its slash, when it lies in the host directory that the first
 * folder_len bytes of folder name; else NULL. */
static const char *rest_below(const char *real, const char *folder, size_t folder_len)
{
	char name[PATH_MAX], real_folder[PATH_MAX];
	size_t len;

	if (folder_len >= sizeof(name))
		return NULL;
	memcpy(name, folder, folder_len);
	name[folder_len] = '\0';
	if (!realpath(name, real_folder))
		return NULL;
	len = strlen(real_folder);
	return strncmp(real, real_folder, len) == 0 && real[len] == '/' ? real + len : NULL;
}

char *source_inside(const char *path, const char *workspace, const char *const *mounts)
{
	char real[PATH_MAX];
	const char *rest;

	if (strcmp(path, "-") == 0 || !realpath(path, real))
		return join("", 0, path);
	for (; mounts && *mounts; mounts++) {
		size_t source_len = strcspn(*mounts, ":");
		const char *target = *mounts + source_len + 1;

		if ((*mounts)[source_len] == '\0')
			continue;
		rest = rest_below(real, *mounts, source_len);
		if (rest)
			return join(target, strcspn(target, ":"), rest);
	}
	rest = workspace ? rest_below(real, workspace, strlen(workspace)) : NULL;
	return rest ? join("/workspace", 10, rest) : join("", 0, strrchr(real, '/') + 1);
}
