/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_CHARS_H
#define SC_SESSION_POLICY_CHARS_H

/* ASCII classes that no locale changes. */

#include <stdbool.h>

static inline bool sc_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool sc_is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool sc_is_name_start(char c)
{
	return sc_is_alpha(c) || c == '_';
}

static inline bool sc_is_name(char c)
{
	return sc_is_name_start(c) || sc_is_digit(c);
}

static inline bool sc_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool sc_is_space(char c)
{
	return sc_is_blank(c) || (c >= '\n' && c <= '\r');
}

#endif
