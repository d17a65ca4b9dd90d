/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_LANG_H
#define SC_SESSION_POLICY_LANG_H

/*
 * Bracket expressions in regular expressions.  Tools differ on whether a delimiter inside
 * one ends the expression, so what matters is to be sure that one is closed: the count is
 * never lower than that of any tool.  Every "[" opens; a "]" closes unless it is the first
 * character inside.
 */

#include <stdbool.h>
#include <stdint.h>

struct sc_brackets {
	uint32_t depth;
	uint8_t first; /* 2: just behind "[", 1: behind "[^" */
};

static inline void sc_brackets_feed(struct sc_brackets *brackets, char c)
{
	if (c == '[') {
		brackets->depth++;
		brackets->first = 2;
	} else if (c == '^' && brackets->first == 2) {
		brackets->first = 1;
	} else {
		if (c == ']' && !brackets->first && brackets->depth)
			brackets->depth--;
		brackets->first = 0;
	}
}

static inline bool sc_brackets_open(const struct sc_brackets *brackets)
{
	return brackets->depth > 0;
}

#endif
