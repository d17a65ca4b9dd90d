/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_PARSE_H
#define SC_SESSION_POLICY_PARSE_H

/*
 * Text -> commands, words, parts.  Knows simple commands, quotes, backslashes, globs,
 * $NAME,
 * ${NAME}, ~, | and &&; whatever else a POSIX shell or bash would act on is refused by
 * name.
 */

#include "session/policy/plan.h"

/*
 * Returns 0, SC_REFUSED with the reason in `why`, or an error.  Also when it refuses, the
 * plan holds the commands that were complete before that place.
 */
int sc_policy_parse(
	sc_policy_plan *plan, const char *src, size_t len, uint32_t flags, sc_buf *why);

#endif
