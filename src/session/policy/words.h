/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_WORDS_H
#define SC_SESSION_POLICY_WORDS_H

/*
 * Builds the plan while the parser reads: opens and closes words and commands, appends
 * parts, keeps the limits.  All return 0, SC_REFUSED or an error.
 */

#include "session/policy/plan.h"

struct sc_parser {
	const char *src;
	size_t len;
	size_t pos;
	sc_policy_plan *plan;
	sc_buf *why;
};

int sc_command_begin(struct sc_parser *p, uint8_t join);
int sc_command_end(struct sc_parser *p);
bool sc_command_is_empty(const struct sc_parser *p);

int sc_word_begin(struct sc_parser *p);
int sc_word_end(struct sc_parser *p);
bool sc_word_is_empty(const struct sc_parser *p);
/* Appends bytes; an empty quoted piece makes an empty word a word. */
int sc_word_add(struct sc_parser *p, const char *text, size_t len, bool quoted);
/* Appends a variable or ~. */
int sc_word_add_special(struct sc_parser *p, uint8_t kind, const char *text, size_t len);

#endif
