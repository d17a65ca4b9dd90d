/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_SOURCE_H
#define SANDCELL_CLI_SOURCE_H

/*
 * Reading what the caller names: scripts, standard input, files for stdin.  Everything is
 * read before untrusted code runs, so that the code cannot change what a name means.
 */

#include <stddef.h>

struct source {
	char *data; /* NUL-terminated; free with source_clear() */
	size_t len;
};

/* Largest script, and largest stdin, as the library and its protocol take them. */
#define SOURCE_CODE_MAX	 ((size_t)16 << 20)
#define SOURCE_STDIN_MAX ((size_t)48 << 20)

/* Reads path whole, or our own stdin for "-".  Complains and answers -1 on failure. */
int source_load(struct source *source, const char *path, size_t max);
/* Drops a byte order mark, as Python does. */
void source_skip_bom(struct source *source);
void source_clear(struct source *source);

/* The name that the script at path has inside the container: its place under a directory
 * of the host that the container sees, else its base name.  Free with free(); NULL: out of
 * memory.  mounts are "SRC:DST[:ro]", workspace is seen as /workspace; both may be NULL. */
char *source_inside(const char *path, const char *workspace, const char *const *mounts);

#endif
