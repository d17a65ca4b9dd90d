/* SPDX-License-Identifier: MIT */
/*
 * sed scripts.  The commands that read, write and run are r R w W e, and the flags w and e
 * of s.  To know that none is there, the whole script must be read as sed reads it; where
 * sed's versions differ on where something ends, the script is refused:
 *
 *  - a delimiter inside a bracket expression (GNU sed before 4.9 ends there, busybox not);
 *  - a label, which POSIX ends only with the line, before text that spans lines.
 *
 * Each -e is parsed by itself, as only an open brace goes on into the next one; a fragment
 * that ends with a backslash would join it, and is refused.
 */
#include <string.h>

#include "session/policy/chars.h"
#include "session/policy/lang.h"
#include "session/policy/tables.h"

#define DEPTH_MAX 64

struct sed {
	struct sc_judge *judge;
	const char *s;
	size_t len;
	size_t pos;
	uint32_t *depth;
	bool label_on_line;
};

static char peek(const struct sed *sed)
{
	return sed->pos < sed->len ? sed->s[sed->pos] : '\0';
}

static int refuse(const struct sed *sed, const char *reason)
{
	return sc_refuse(sed->judge->why,
		"sed script '%s' is not allowed: %s (at byte %zu).",
		sc_shown(sed->s, sed->len).text, reason, sed->pos);
}

static void skip_blanks(struct sed *sed)
{
	while (sc_is_blank(peek(sed)))
		sed->pos++;
}

static void skip_digits(struct sed *sed)
{
	while (sc_is_digit(peek(sed)))
		sed->pos++;
}

/* What spans lines is read line by line by a sed that is still inside a label. */
static int spans_lines(const struct sed *sed, size_t from)
{
	if (sed->label_on_line && memchr(sed->s + from, '\n', sed->pos - from))
		return refuse(
			sed, "text over several lines after a label on the same line");
	return 0;
}

/* From behind a delimiter to behind the next one. */
static int delimited(struct sed *sed, char delimiter)
{
	struct sc_brackets brackets = {0};
	size_t from = sed->pos;

	for (; sed->pos < sed->len; sed->pos++) {
		char c = sed->s[sed->pos];
		if (c == '\n')
			break;
		if (c == delimiter) {
			if (sc_brackets_open(&brackets))
				return refuse(
					sed, "a delimiter inside a bracket expression");
			sed->pos++;
			return spans_lines(sed, from);
		}
		sc_brackets_feed(&brackets, c);
		if (c == '\\' && sed->pos + 1 < sed->len) {
			sc_brackets_feed(&brackets, '\\');
			sed->pos++;
		}
	}
	return refuse(sed, "an expression is not ended");
}

static bool is_delimiter(char c)
{
	return c > ' ' && c < 0x7f && c != '\\' && !sc_is_name(c);
}

/* /re/ or \cREc, and its flags. */
static int regex_address(struct sed *sed)
{
	int rc;

	if (peek(sed) == '\\')
		sed->pos++;
	char delimiter = peek(sed);
	if (!is_delimiter(delimiter))
		return refuse(sed, "this delimiter is not known");
	sed->pos++;
	rc = delimited(sed, delimiter);
	while (rc >= 0 && (peek(sed) == 'I' || peek(sed) == 'M'))
		sed->pos++;
	return rc;
}

/* One address, if there is one. */
static int address(struct sed *sed, bool second)
{
	char c = peek(sed);

	if (c == '/' || c == '\\')
		return regex_address(sed);
	if (c == '$') {
		sed->pos++;
		return 0;
	}
	if (second && (c == '+' || c == '~')) {
		sed->pos++;
		if (!sc_is_digit(peek(sed)))
			return refuse(sed, "an address needs a number here");
	}
	skip_digits(sed);
	if (sc_is_digit(c) && peek(sed) == '~') {
		sed->pos++;
		skip_digits(sed);
	}
	return 0;
}

static int addresses(struct sed *sed)
{
	int rc = address(sed, false);

	if (rc < 0)
		return rc;
	skip_blanks(sed);
	if (peek(sed) == ',') {
		sed->pos++;
		skip_blanks(sed);
		rc = address(sed, true);
	}
	for (skip_blanks(sed); rc >= 0 && peek(sed) == '!'; skip_blanks(sed))
		sed->pos++;
	return rc;
}

/* Behind a command: blanks, then ; or a newline, or what starts the next by itself. */
static int end_of_command(struct sed *sed)
{
	skip_blanks(sed);
	if (sed->pos >= sed->len || peek(sed) == '#' || peek(sed) == '}')
		return 0;
	if (peek(sed) != ';' && peek(sed) != '\n')
		return refuse(sed, "more text than the command takes");
	if (peek(sed) == '\n')
		sed->label_on_line = false;
	sed->pos++;
	return 0;
}

/* a, i, c: the text, to the first line end without a backslash. */
static int text_command(struct sed *sed)
{
	size_t from = sed->pos;

	skip_blanks(sed);
	if (peek(sed) == '\\') {
		sed->pos++;
		if (peek(sed) == '\\')
			return refuse(sed, "two backslashes before text");
		size_t text = sed->pos;
		skip_blanks(sed);
		if (peek(sed) == '\n')
			sed->pos++;
		else
			sed->pos = text;
	} else if (peek(sed) == '\n') {
		return refuse(sed, "a, i and c need text");
	}
	if (sed->pos >= sed->len)
		return refuse(sed, "a, i and c need text");
	while (sed->pos < sed->len && peek(sed) != '\n')
		sed->pos += peek(sed) == '\\' && sed->pos + 1 < sed->len ? 2 : 1;
	int rc = spans_lines(sed, from);
	return rc < 0 ? rc : end_of_command(sed);
}

static int label(struct sed *sed, bool needed)
{
	size_t from = 0;

	skip_blanks(sed);
	from = sed->pos;
	while (sc_is_name(peek(sed)) || peek(sed) == '-' || peek(sed) == '.')
		sed->pos++;
	if (needed && sed->pos == from)
		return refuse(sed, "a label needs a name");
	sed->label_on_line = true;
	/* busybox takes } and # into the name, and whatever follows. */
	bool ends = peek(sed) == '\0' || strchr("; \t\n", peek(sed));
	skip_blanks(sed);
	if (!ends || peek(sed) == '#')
		return refuse(sed, "a label must be ended by a blank, ; or a newline");
	return end_of_command(sed);
}

static int substitute_flags(struct sed *sed)
{
	for (;; sed->pos++) {
		char c = peek(sed);
		if (c == 'e')
			return refuse(sed, "the flag e of s runs a program");
		if (c == 'w')
			return refuse(sed, "the flag w of s writes a file");
		if (c == '\0' || (!strchr("gpiImM", c) && !sc_is_digit(c)))
			return end_of_command(sed);
	}
}

/* s and y, behind the letter. */
static int substitute(struct sed *sed, char command)
{
	char delimiter = peek(sed);
	int rc;

	if (!is_delimiter(delimiter))
		return refuse(sed, "this delimiter is not known");
	sed->pos++;
	rc = delimited(sed, delimiter);
	if (rc >= 0)
		rc = delimited(sed, delimiter);
	if (rc < 0)
		return rc;
	return command == 's' ? substitute_flags(sed) : end_of_command(sed);
}

static int braces(struct sed *sed, char brace)
{
	if (brace == '{') {
		if (++*sed->depth > DEPTH_MAX)
			return refuse(sed, "too many open braces");
		return 0;
	}
	if (*sed->depth == 0)
		return refuse(sed, "a brace too many");
	--*sed->depth;
	return end_of_command(sed);
}

static int command(struct sed *sed)
{
	char c = peek(sed);

	sed->pos++;
	switch (c) {
	case '{':
	case '}':
		return braces(sed, c);
	case 'a':
	case 'i':
	case 'c':
		return text_command(sed);
	case ':':
		return label(sed, true);
	case 'b':
	case 't':
	case 'T':
		return label(sed, false);
	case 's':
	case 'y':
		return substitute(sed, c);
	case 'l':
	case 'L':
	case 'q':
	case 'Q':
		skip_blanks(sed);
		skip_digits(sed);
		return end_of_command(sed);
	case 'r':
	case 'R':
		return refuse(sed, "r and R read a file that is not an operand");
	case 'w':
	case 'W':
		return refuse(sed, "w and W write a file");
	case 'e':
		return refuse(sed, "e runs a program");
	default:
		if (c != '\0' && strchr("=dDFgGhHnNpPxz", c))
			return end_of_command(sed);
		return refuse(sed, "this command is not known");
	}
}

static int script(struct sc_judge *judge, struct sc_value value, uint32_t *depth)
{
	struct sed sed = {
		.judge = judge, .s = value.text, .len = value.len, .depth = depth};
	size_t backslashes = 0;
	int rc = 0;

	while (backslashes < sed.len && sed.s[sed.len - 1 - backslashes] == '\\')
		backslashes++;
	if (backslashes % 2)
		return refuse(&sed, "it ends with a backslash");
	while (rc >= 0 && sed.pos < sed.len) {
		char c = peek(&sed);
		if (c == '\n')
			sed.label_on_line = false;
		if (sc_is_blank(c) || c == '\n' || c == ';') {
			sed.pos++;
		} else if (c == '#') {
			const char *end = memchr(sed.s + sed.pos, '\n', sed.len - sed.pos);
			sed.pos = end ? (size_t)(end - sed.s) : sed.len;
		} else {
			rc = addresses(&sed);
			rc = rc < 0 ? rc : command(&sed);
		}
	}
	return rc;
}

/* ---- the command ---- */

static const struct sc_opt sed_opts[] = {
	SC_FLAG('n', "quiet"),
	SC_FLAG(0, "silent"),
	SC_FLAG(0, "debug"),
	SC_JUDGED('e', "expression"),
	SC_VALUE('l', "line-length"),
	SC_FLAG('E', "regexp-extended"),
	SC_FLAG('r', NULL),
	SC_FLAG('s', "separate"),
	SC_FLAG(0, "sandbox"),
	SC_FLAG('u', "unbuffered"),
	SC_FLAG('z', "null-data"),
	SC_FLAG(0, "zero-terminated"),
	SC_HELP,
	SC_REFUSE('f', "file", "it takes the script from a file"),
	SC_REFUSE(0, "follow-symlinks", "it is for editing in place"),
	SC_REFUSE('i', "in-place", SC_WRITES),
	SC_REFUSE(0, "posix", "it changes how the script is read"),
	SC_REFUSE('b', "binary", "it changes how the script is read"),
};

static int sed_value(
	struct sc_judge *judge, const struct sc_opt *opt, struct sc_value value)
{
	(void)opt;
	/* To a sed that does not permute, the operand before it is the script. */
	if (judge->operands > 0)
		return sc_judge_refuse_option(
			judge, "e", 1, "it must stand before the files");
	if (!value.known)
		return sc_judge_refuse_option(judge, "e", 1,
			"the script must not contain a variable; use single quotes");
	judge->seen = true;
	return script(judge, value, &judge->depth);
}

static int judge_sed(struct sc_judge *judge)
{
	int rc = sc_judge_options(judge, 1);

	if (rc >= 0 && !judge->seen && judge->first_operand) {
		rc = sc_judge_program(judge, judge->first_operand);
		if (rc >= 0)
			rc = script(judge, sc_judge_value(judge, judge->first_operand, 0),
				&judge->depth);
	}
	if (rc >= 0 && judge->depth > 0)
		return sc_refuse(
			judge->why, "sed script is not allowed: a brace is not closed.");
	return rc;
}

const struct sc_spec sc_spec_sed = {
	.name = "sed",
	SC_OPTS(sed_opts),
	.flags = SC_SPEC_TEXT_FIRST,
	.value = sed_value,
	.judge = judge_sed,
};
