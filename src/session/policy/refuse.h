/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_REFUSE_H
#define SC_SESSION_POLICY_REFUSE_H

/*
 * Why a command is refused, in words.  sc_refuse() writes the message and returns
 * SC_REFUSED, so that refusing is one statement.  Text of the command goes through
 * sc_shown(), which makes it one short printable line.
 */

#include "session/policy/plan.h"

#define SC_REFUSAL_MAX 4096
#define SC_SHOWN_MAX   80

typedef struct sc_shown_text {
	char text[SC_SHOWN_MAX + 8];
} sc_shown_text;

/* Control bytes as '?', cut between characters with "…". */
sc_shown_text sc_shown(const char *text, size_t len);

__attribute__((format(printf, 2, 3))) int sc_refuse(sc_buf *why, const char *fmt, ...);

#endif
