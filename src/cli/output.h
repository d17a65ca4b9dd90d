/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_OUTPUT_H
#define SANDCELL_CLI_OUTPUT_H

/*
 * Program output on its way to our own stdout and stderr: the very bytes to a file or pipe,
 * cleaned (terminal.h) to a terminal unless raw bytes were asked for.  Writes are not
 * buffered.  The first failure is remembered, and stops everything after it.
 */

#include <stddef.h>

#include "terminal.h"

struct output {
	int fd;
	int clean;
	int error; /* errno of the first failed write; EINTR: a signal asked us to stop */
	char last; /* last byte written, 0: none yet */
	struct terminal_filter filter;
};

void output_init(struct output *output, int fd, int raw);
int output_write(struct output *output, const void *data, size_t len); /* 0 or -1 */
/* prefix and text on a line of their own. */
int output_line(struct output *output, const char *prefix, const char *text);
int output_end(struct output *output); /* nothing may follow */

#endif
