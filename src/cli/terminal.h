/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_TERMINAL_H
#define SANDCELL_CLI_TERMINAL_H

/*
 * Makes untrusted output harmless for a terminal.  A terminal obeys escape sequences: they
 * can retitle the window, write the clipboard, answer queries into the shell's input, or
 * hide text.  What passes: text in UTF-8, newline, carriage return, tab, backspace, and the
 * sequences that set colours and type faces (CSI ... m).  Everything else is shown instead
 * of obeyed: control characters as ^X, bytes that are not UTF-8 as U+FFFD.
 *
 * A pure function over bytes with a little state; any split of the input gives the same.
 */

#include <stddef.h>

#define TERMINAL_PENDING_MAX 32

struct terminal_filter {
	unsigned char pending[TERMINAL_PENDING_MAX]; /* a sequence not yet complete */
	size_t len;
	int coloured; /* a colour was set and not yet taken back */
};

/* Cleans a piece of data into out; both counts are updated.  Returns when the input is used
 * up or out might not hold what comes next: at least TERMINAL_ROOM must be free for any
 * progress. */
#define TERMINAL_ROOM (3 * TERMINAL_PENDING_MAX)
void terminal_clean(struct terminal_filter *filter, const unsigned char **data, size_t *len,
	unsigned char *out, size_t *out_len, size_t out_max);
/* The end of the output: what is still pending, and the colours back to normal. */
void terminal_end(struct terminal_filter *filter, unsigned char *out, size_t *out_len,
	size_t out_max);

/* For text of ours that quotes others, in place: one line of UTF-8 with '?' for everything
 * that is not plain text, colours included. */
void terminal_one_line(char *text);

#endif
