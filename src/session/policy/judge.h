/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_JUDGE_H
#define SC_SESSION_POLICY_JUDGE_H

/*
 * Judges one command's words against its table, and gives each word its role.
 *
 * Most commands are described by a table of getopt options and need no code; those with a
 * language or an option parser of their own bring a function.  Options are listed also when
 * they are refused: for the reason, and because GNU programs accept every unambiguous
 * beginning of a long option.
 */

#include "session/policy/refuse.h"

struct sc_judge {
	const sc_policy_plan *plan;
	const sc_policy_command *command;
	const struct sc_spec *spec;
	sc_policy_word *words; /* words[0] is the command */
	uint32_t count;
	const char *src; /* the command's text, for messages */
	sc_buf *why;
	sc_policy_word *first_operand; /* NULL: none so far */
	uint32_t operands;
	uint32_t depth; /* of open braces, in scripts of several parts */
	bool seen;	/* the option that decides was there: grep -e, sed -e, tar -t */
};

enum sc_arg {
	SC_ARG_NONE,
	SC_ARG_TEXT,   /* takes a value: the rest of the word or the next one */
	SC_ARG_MAYBE,  /* takes a value only in the same word */
	SC_ARG_JUDGED, /* like TEXT; spec->value decides */
	SC_ARG_PATH,   /* like JUDGED; the next word may be a glob for one file */
	SC_ARG_MARK,   /* takes none; sets judge->seen */
};

struct sc_opt {
	char letter;	  /* '\0': long only */
	uint8_t arg;	  /* enum sc_arg */
	const char *name; /* NULL: short only */
	const char *why;  /* why it is refused; NULL: allowed */
};

/* A value of an option: bytes of a word; unknown when a variable is among them. */
struct sc_value {
	const char *text;
	size_t len;
	size_t lead; /* bytes before the first variable or ~ */
	bool known;  /* there is none */
};

#define SC_SPEC_NO_PERMUTE  0x01 /* the first operand ends the options */
#define SC_SPEC_DIGITS	    0x02 /* -5 is an option */
#define SC_SPEC_TEXT	    0x04 /* all operands are text */
#define SC_SPEC_TEXT_FIRST  0x08 /* the first one is, unless seen */
#define SC_SPEC_PATHS	    0x10 /* every operand names one file */
#define SC_SPEC_NO_OPERANDS 0x20

struct sc_spec {
	const char *name;
	const struct sc_opt *opts;
	uint16_t opts_len;
	uint16_t flags;
	uint16_t operands_max; /* 0: any number */
	const char *too_many;  /* why not more */
	int (*value)(
		struct sc_judge *judge, const struct sc_opt *opt, struct sc_value value);
	int (*operand)(struct sc_judge *judge, uint32_t index, sc_policy_word *word);
	int (*judge)(struct sc_judge *judge); /* instead of everything above */
};

/* Rows of the tables. */
#define SC_FLAG(letter, name)                                                              \
	{                                                                                  \
		letter, SC_ARG_NONE, name, NULL                                            \
	}
#define SC_VALUE(letter, name)                                                             \
	{                                                                                  \
		letter, SC_ARG_TEXT, name, NULL                                            \
	}
#define SC_MAYBE(letter, name)                                                             \
	{                                                                                  \
		letter, SC_ARG_MAYBE, name, NULL                                           \
	}
#define SC_JUDGED(letter, name)                                                            \
	{                                                                                  \
		letter, SC_ARG_JUDGED, name, NULL                                          \
	}
#define SC_PATH(letter, name)                                                              \
	{                                                                                  \
		letter, SC_ARG_PATH, name, NULL                                            \
	}
#define SC_MARK(letter, name)                                                              \
	{                                                                                  \
		letter, SC_ARG_MARK, name, NULL                                            \
	}
#define SC_REFUSE(letter, name, why)                                                       \
	{                                                                                  \
		letter, SC_ARG_NONE, name, why                                             \
	}

/* Reasons that come up again and again. */
#define SC_WRITES "it writes a file"
#define SC_RUNS	  "it runs a program"
#define SC_READS  "it reads a file that is not an operand"

#define SC_HELP SC_FLAG(0, "help"), SC_FLAG(0, "version")

#define SC_OPTS(array) .opts = (array), .opts_len = sizeof(array) / sizeof((array)[0])

extern const struct sc_spec *const sc_policy_specs[];
extern const size_t sc_policy_specs_len;

/* The whole command. */
int sc_judge_command(const sc_policy_plan *plan, sc_policy_command *command,
	const char *src, sc_buf *why);

/* ---- for the tables ---- */

/* Options and operands as the spec says; `first` is the index of the first word to read. */
int sc_judge_options(struct sc_judge *judge, uint32_t first);

/* Takes one option word (and its values) at index; *used_out words are done.  0 words: it
 * is an operand, or "--". */
int sc_judge_option(struct sc_judge *judge, uint32_t index, uint32_t *used_out);

/* The same for one letter without a dash, whose value is the word at index. */
int sc_judge_letter(
	struct sc_judge *judge, const char *letter, uint32_t index, uint32_t *used_out);

/* Gives the word its role; a role that never expands makes its globs plain text. */
void sc_judge_take(struct sc_judge *judge, sc_policy_word *word, uint8_t role);

/* The word as a value; `from` bytes of it are skipped. */
struct sc_value sc_judge_value(
	const struct sc_judge *judge, const sc_policy_word *word, size_t from);

/* True when the word is exactly this text. */
bool sc_judge_is(
	const struct sc_judge *judge, const sc_policy_word *word, const char *text);

/* True when the word starts with '-' and is more than that. */
bool sc_judge_is_option(const struct sc_judge *judge, const sc_policy_word *word);

/* "Operand 'x' of 'uniq' is not allowed: reason." and the like; all return SC_REFUSED. */
int sc_judge_refuse_word(struct sc_judge *judge, const sc_policy_word *word,
	const char *what, const char *reason);
int sc_judge_refuse_option(
	struct sc_judge *judge, const char *name, size_t len, const char *reason);

/* An option of a parser that is not getopt: no variable in it. */
int sc_judge_spelled_out(struct sc_judge *judge, sc_policy_word *word);

/* A program inside a word must be known to the last byte. */
int sc_judge_program(struct sc_judge *judge, sc_policy_word *word);

#endif
