/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_PLAN_H
#define SC_SESSION_POLICY_PLAN_H

/*
 * What a parsed command is made of.  The bytes of all words lie one after another in
 * plan->text, quotes and escapes removed, each word followed by a NUL; parts are spans of
 * them.  Indices, not pointers, because the arrays grow.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/policy/policy.h"

/* Internal twin of SC_POLICY_REFUSED, negative so that `rc < 0` ends every function. */
#define SC_REFUSED (-100)

enum sc_policy_kind {
	SC_PART_LIT,  /* exactly these bytes */
	SC_PART_GLOB, /* bytes that stood unquoted in a word with *, ? or [ */
	SC_PART_VAR,  /* the span is the variable's name */
	SC_PART_HOME, /* ~ at the start of a word; the span is "~" */
};

typedef struct sc_policy_part {
	uint32_t at;
	uint32_t len;
	uint8_t kind;
	bool quoted; /* while parsing: stood in quotes or after a backslash */
} sc_policy_part;

/* What a word is for.  The judge gives each word of an allowed command one. */
enum sc_policy_role {
	SC_ROLE_NONE,
	SC_ROLE_NAME,	/* the command */
	SC_ROLE_OPTION, /* spelled out; may end in a value */
	SC_ROLE_TEXT,	/* a value, a pattern, a program: never globbed */
	SC_ROLE_FILE,	/* names files */
	SC_ROLE_PATH,	/* names one file */
	SC_ROLE_ARG,	/* to be printed */
};

typedef struct sc_policy_word {
	uint32_t at;   /* in plan->text */
	uint32_t len;  /* of all parts; names of variables count */
	uint32_t lead; /* bytes before the first variable or ~: they are known */
	uint32_t part;
	uint32_t parts;
	uint32_t src; /* where it stood in the command */
	uint32_t src_len;
	uint8_t role;
	bool glob; /* has a part that expands */
} sc_policy_word;

enum sc_policy_join { SC_JOIN_FIRST, SC_JOIN_PIPE, SC_JOIN_AND };

typedef struct sc_policy_command {
	const char *name; /* from the allowlist, set by the judge */
	uint32_t word;
	uint32_t words;
	uint8_t join; /* to the command before it */
} sc_policy_command;

struct sc_policy_plan {
	char *text;
	sc_policy_part *parts;
	sc_policy_word *words;
	sc_policy_command *commands;
	uint32_t text_len;
	uint32_t parts_len, parts_cap;
	uint32_t words_len, words_cap;
	uint32_t commands_len, commands_cap;
};

static inline const char *sc_policy_text(
	const sc_policy_plan *plan, const sc_policy_word *word)
{
	return plan->text + word->at;
}

/* True when the word's bytes are all known: no variable, no ~. */
static inline bool sc_policy_fixed(const sc_policy_word *word)
{
	return word->lead == word->len;
}

#endif
