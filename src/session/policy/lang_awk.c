/* SPDX-License-Identifier: MIT */
/*
 * awk programs.  awk runs programs with system() and |, and writes files with > and >>
 * behind print; @ loads extensions; < behind getline reads files.  To know that none is
 * there, the program is cut into tokens exactly as awk does, which turns on one question:
 * is a / a division, or does it start a regular expression that may hold anything?  gawk
 * decides by grammar, mawk by the token before; where they could differ, the program is
 * refused.  So it is for brackets around a / in a regular expression.
 *
 * A > is a comparison inside parentheses opened since print, and outside print; else it is
 * a redirection, in every awk.
 */
#include <string.h>

#include "session/policy/chars.h"
#include "session/policy/lang.h"
#include "session/policy/tables.h"

#define DEPTH_MAX 64

/* What the token before was, as far as it matters. */
enum before {
	OPERAND,  /* a / divides: name, number, ) ] */
	OPERATOR, /* a / starts a regular expression; a newline ends nothing */
	START,	  /* the same at the start of a statement */
	KEYWORD,  /* print, return and the like: the same */
	UNSURE,	  /* a / is refused */
};

struct awk {
	struct sc_judge *judge;
	const char *s;
	size_t len;
	size_t pos;
	enum before before;
	bool ended;	   /* the token before could end a statement */
	bool control;	   /* the next ( belongs to if, while, for or switch */
	uint32_t depth;	   /* open ( and [ */
	uint32_t parens;   /* open ( */
	uint32_t braces;   /* open { */
	uint64_t is_paren; /* bit n: bracket n is a ( */
	uint64_t is_control;
	bool printing;	       /* inside print or printf */
	uint32_t print_parens; /* open ( at the print */
};

static char peek(const struct awk *awk, size_t ahead)
{
	return awk->pos + ahead < awk->len ? awk->s[awk->pos + ahead] : '\0';
}

static int refuse(const struct awk *awk, const char *reason)
{
	return sc_refuse(awk->judge->why,
		"awk program '%s' is not allowed: %s (at byte %zu).",
		sc_shown(awk->s, awk->len).text, reason, awk->pos);
}

static void token(struct awk *awk, size_t len, enum before before)
{
	awk->pos += len;
	awk->before = before;
	awk->ended = before == OPERAND;
}

/* ---- tokens that can hold anything ---- */

static int string(struct awk *awk)
{
	for (awk->pos++; awk->pos < awk->len; awk->pos++) {
		char c = peek(awk, 0);
		if (c == '"') {
			token(awk, 1, UNSURE);
			awk->ended = true;
			return 0;
		}
		if (c == '\\')
			awk->pos++;
		if (peek(awk, 0) == '\n')
			break;
	}
	return refuse(awk, "a string is not ended on its line");
}

static int regex(struct awk *awk)
{
	struct sc_brackets brackets = {0};

	for (awk->pos++; awk->pos < awk->len; awk->pos++) {
		char c = peek(awk, 0);
		if (c == '/') {
			if (sc_brackets_open(&brackets))
				return refuse(
					awk, "a / inside a bracket expression; write \\/");
			token(awk, 1, UNSURE);
			awk->ended = true;
			return 0;
		}
		sc_brackets_feed(&brackets, c);
		if (c == '\\') {
			sc_brackets_feed(&brackets, c);
			awk->pos++;
		}
		if (peek(awk, 0) == '\n')
			break;
	}
	return refuse(awk, "a regular expression is not ended on its line");
}

static int slash(struct awk *awk)
{
	switch (awk->before) {
	case OPERAND:
		token(awk, 1, OPERATOR);
		return 0;
	case UNSURE:
		return refuse(awk, "this / could be a division or start a regular "
				   "expression; use parentheses");
	default:
		return regex(awk);
	}
}

/* ---- names ---- */

struct word {
	const char *name;
	enum before before;
	bool ends; /* a newline behind it ends the statement */
};

/* Keywords, and functions that may stand without parentheses. */
static const struct word words[] = {
	{"BEGIN", UNSURE, true},
	{"BEGINFILE", UNSURE, true},
	{"END", UNSURE, true},
	{"ENDFILE", UNSURE, true},
	{"break", UNSURE, true},
	{"case", UNSURE, false},
	{"continue", UNSURE, true},
	{"default", UNSURE, false},
	{"delete", UNSURE, false},
	{"do", KEYWORD, true},
	{"else", KEYWORD, true},
	{"exit", UNSURE, true},
	{"for", UNSURE, false},
	{"func", UNSURE, false},
	{"function", UNSURE, false},
	{"getline", UNSURE, true},
	{"if", UNSURE, false},
	{"in", UNSURE, false},
	{"length", UNSURE, true},
	{"next", UNSURE, true},
	{"nextfile", UNSURE, true},
	{"print", KEYWORD, true},
	{"printf", KEYWORD, true},
	{"return", KEYWORD, true},
	{"switch", UNSURE, false},
	{"system", UNSURE, false},
	{"while", UNSURE, false},
};

static bool name_is(const char *name, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(name, word, len) == 0;
}

static const struct word *find_word(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (name_is(name, len, words[i].name))
			return &words[i];
	}
	return NULL;
}

static size_t name_len(const struct awk *awk)
{
	size_t len = 0;

	if (!sc_is_name_start(peek(awk, 0)))
		return 0;
	while (sc_is_name(peek(awk, len)))
		len++;
	return len;
}

static void skip_blanks(struct awk *awk)
{
	while (sc_is_blank(peek(awk, 0)))
		awk->pos++;
}

/* Plain getline, or getline NAME, with nothing behind it that could be its file. */
static int getline_token(struct awk *awk)
{
	token(awk, strlen("getline"), UNSURE);
	awk->ended = true;
	skip_blanks(awk);
	size_t len = name_len(awk);
	if (len && !find_word(awk->s + awk->pos, len)) {
		awk->pos += len;
		skip_blanks(awk);
	}
	if (awk->pos >= awk->len || strchr(";})\n>=!&", peek(awk, 0)))
		return 0;
	return refuse(awk, "getline may only read the next record of the operands");
}

static int name(struct awk *awk)
{
	const char *start = awk->s + awk->pos;
	size_t len = name_len(awk);
	const struct word *word = find_word(start, len);

	if (name_is(start, len, "ARGV") || name_is(start, len, "ARGC") ||
		name_is(start, len, "SYMTAB"))
		return refuse(
			awk, "ARGV, ARGC and SYMTAB can name files that are no operands");
	if (!word) {
		token(awk, len, OPERAND);
		return 0;
	}
	if (name_is(start, len, "system"))
		return refuse(awk, "system() runs a program");
	if (name_is(start, len, "getline"))
		return getline_token(awk);
	if (name_is(start, len, "print") || name_is(start, len, "printf")) {
		awk->printing = true;
		awk->print_parens = awk->parens;
	}
	awk->control = name_is(start, len, "if") || name_is(start, len, "while") ||
		       name_is(start, len, "for") || name_is(start, len, "switch");
	token(awk, len, word->before);
	awk->ended = word->ends;
	return 0;
}

static void number(struct awk *awk)
{
	size_t len = 1;

	while (sc_is_digit(peek(awk, len)) || peek(awk, len) == '.')
		len++;
	if ((peek(awk, len) == 'e' || peek(awk, len) == 'E') &&
		(sc_is_digit(peek(awk, len + 1)) ||
			((peek(awk, len + 1) == '+' || peek(awk, len + 1) == '-') &&
				sc_is_digit(peek(awk, len + 2))))) {
		len += 2;
		while (sc_is_digit(peek(awk, len)))
			len++;
	}
	token(awk, len, OPERAND);
}

/* ---- brackets ---- */

static int open_bracket(struct awk *awk, bool is_paren)
{
	uint64_t bit = UINT64_C(1) << awk->depth;

	if (awk->depth + 1 >= DEPTH_MAX)
		return refuse(awk, "too many open brackets");
	awk->is_paren = is_paren ? awk->is_paren | bit : awk->is_paren & ~bit;
	awk->is_control =
		is_paren && awk->control ? awk->is_control | bit : awk->is_control & ~bit;
	awk->control = false;
	awk->depth++;
	awk->parens += is_paren;
	token(awk, 1, OPERATOR);
	return 0;
}

static int close_bracket(struct awk *awk, bool is_paren)
{
	uint64_t bit = awk->depth ? UINT64_C(1) << (awk->depth - 1) : 0;

	if (!bit || is_paren != ((awk->is_paren & bit) != 0))
		return refuse(awk, "brackets do not match");
	awk->depth--;
	awk->parens -= is_paren;
	if (awk->parens < awk->print_parens)
		awk->printing = false;
	/* Behind if (…) gawk expects a statement, mawk a division. */
	token(awk, 1, awk->is_control & bit ? UNSURE : OPERAND);
	return 0;
}

static int brace(struct awk *awk, char c)
{
	if (awk->depth)
		return refuse(awk, "a brace inside brackets");
	if (c == '}' && awk->braces == 0)
		return refuse(awk, "a brace too many");
	awk->braces += c == '{' ? 1 : -1;
	awk->printing = false;
	token(awk, 1, START);
	return 0;
}

/* ---- the rest ---- */

/* A newline behind an operator, a comma or an open bracket ends nothing. */
static int newline(struct awk *awk)
{
	if (awk->depth && awk->ended)
		return refuse(awk, "a newline inside brackets");
	awk->pos++;
	if (!awk->ended && awk->before != START)
		return 0;
	awk->printing = false;
	/* if (x) NEWLINE / is as unsure as without the newline. */
	if (awk->before != UNSURE || awk->ended)
		token(awk, 0, START);
	return 0;
}

static int greater(struct awk *awk)
{
	if (peek(awk, 1) == '>')
		return refuse(awk, ">> writes a file");
	if (awk->printing && awk->parens == awk->print_parens)
		return refuse(awk, "> behind print writes a file; a comparison needs "
				   "parentheses there");
	token(awk, peek(awk, 1) == '=' ? 2 : 1, OPERATOR);
	return 0;
}

static int bar(struct awk *awk)
{
	if (peek(awk, 1) != '|')
		return refuse(awk, "| runs a program");
	token(awk, 2, OPERATOR);
	return 0;
}

/* Behind ++ and -- a / could go either way; otherwise they change nothing. */
static void increment(struct awk *awk)
{
	bool ended = awk->ended;

	token(awk, 2, UNSURE);
	awk->ended = ended;
}

static int operator_token(struct awk *awk, char c)
{
	if (c == '>')
		return greater(awk);
	if (c == '|')
		return bar(awk);
	if ((c == '+' || c == '-') && peek(awk, 1) == c) {
		increment(awk);
		return 0;
	}
	if (c == '$') {
		token(awk, 1, UNSURE);
		return 0;
	}
	if (c == ';') {
		awk->printing = false;
		token(awk, 1, START);
		return 0;
	}
	if (c == ':' && peek(awk, 1) == ':')
		return refuse(awk, "namespaces are not known");
	if (strchr("+-*%^!<=&?:,~", c)) {
		token(awk, 1, OPERATOR);
		return 0;
	}
	return refuse(awk, c == '@' ? "@ loads or calls what is not written here"
				    : "this character is not known");
}

static int step(struct awk *awk)
{
	char c = peek(awk, 0);

	if (sc_is_blank(c)) {
		awk->pos++;
		return 0;
	}
	if (sc_is_name_start(c))
		return name(awk);
	if (sc_is_digit(c) || (c == '.' && sc_is_digit(peek(awk, 1)))) {
		number(awk);
		return 0;
	}
	switch (c) {
	case '"':
		return string(awk);
	case '/':
		return slash(awk);
	case '(':
	case '[':
		return open_bracket(awk, c == '(');
	case ')':
	case ']':
		return close_bracket(awk, c == ')');
	case '{':
	case '}':
		return brace(awk, c);
	case '\n':
		return newline(awk);
	case '#':
		while (awk->pos < awk->len && peek(awk, 0) != '\n')
			awk->pos++;
		return 0;
	case '\\':
		if (peek(awk, 1) != '\n')
			return refuse(awk, "a backslash outside strings");
		awk->pos += 2;
		return 0;
	default:
		return operator_token(awk, c);
	}
}

static int program(struct sc_judge *judge, struct sc_value value)
{
	struct awk awk = {
		.judge = judge, .s = value.text, .len = value.len, .before = START};
	int rc = 0;

	while (rc >= 0 && awk.pos < awk.len)
		rc = step(&awk);
	if (rc >= 0 && (awk.depth || awk.braces))
		return refuse(&awk, "a bracket is not closed");
	return rc;
}

/* ---- the command ---- */

#define FROM_FILE "it takes the program from a file"

static const struct sc_opt awk_opts[] = {
	SC_VALUE('F', NULL),
	SC_JUDGED('v', NULL),
	SC_HELP,
	SC_REFUSE('f', NULL, FROM_FILE),
	SC_REFUSE(0, "file", FROM_FILE),
	SC_REFUSE('E', NULL, FROM_FILE),
	SC_REFUSE(0, "exec", FROM_FILE),
	SC_REFUSE('i', NULL, FROM_FILE),
	SC_REFUSE(0, "include", FROM_FILE),
	SC_REFUSE('l', NULL, "it loads an extension"),
	SC_REFUSE(0, "load", "it loads an extension"),
	SC_REFUSE('e', NULL, "the program is the first operand"),
	SC_REFUSE(0, "source", "the program is the first operand"),
	SC_REFUSE('o', NULL, SC_WRITES),
	SC_REFUSE(0, "pretty-print", SC_WRITES),
	SC_REFUSE('p', NULL, SC_WRITES),
	SC_REFUSE(0, "profile", SC_WRITES),
	SC_REFUSE('d', NULL, SC_WRITES),
	SC_REFUSE(0, "dump-variables", SC_WRITES),
	SC_REFUSE('D', NULL, "it starts a debugger"),
	SC_REFUSE(0, "debug", "it starts a debugger"),
};

/* -v NAME=value: the name is known, so the value can be any text. */
static int awk_value(
	struct sc_judge *judge, const struct sc_opt *opt, struct sc_value value)
{
	size_t i = 0;

	(void)opt;
	while (i < value.lead && sc_is_name(value.text[i]))
		i++;
	if (i == 0 || i >= value.lead || sc_is_digit(value.text[0]) || value.text[i] != '=')
		return sc_judge_refuse_option(judge, "v", 1, "its value must be NAME=text");
	return 0;
}

/* gawk takes /inet/tcp/0/HOST/PORT, and /inet4 and /inet6, for a connection. */
static int awk_file(struct sc_judge *judge, sc_policy_word *word)
{
	static const char inet[] = "/inet";
	struct sc_value value = sc_judge_value(judge, word, 0);

	if (value.lead >= sizeof(inet) - 1 &&
		memcmp(value.text, inet, sizeof(inet) - 1) == 0)
		return sc_judge_refuse_word(
			judge, word, "Operand", "it opens a network connection");
	sc_judge_take(judge, word, SC_ROLE_FILE);
	return 0;
}

static int awk_operand(struct sc_judge *judge, uint32_t index, sc_policy_word *word)
{
	int rc;

	if (index > 0 && sc_judge_is_option(judge, word))
		return sc_judge_refuse_word(
			judge, word, "Operand", "options stand before the program");
	if (index > 0)
		return awk_file(judge, word);
	rc = sc_judge_program(judge, word);
	return rc < 0 ? rc : program(judge, sc_judge_value(judge, word, 0));
}

const struct sc_spec sc_spec_awk = {
	.name = "awk",
	SC_OPTS(awk_opts),
	.flags = SC_SPEC_NO_PERMUTE,
	.value = awk_value,
	.operand = awk_operand,
};
