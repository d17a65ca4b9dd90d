/* SPDX-License-Identifier: MIT */
/*
 * jq programs.  jq writes nothing and runs nothing; what is refused is loading modules from
 * files: import, include, modulemeta, -L, -f and the options that read files into
 * variables. The program is cut into tokens so that these words stay usable in strings and
 * as keys.
 */
#include <string.h>

#include "session/policy/chars.h"
#include "session/policy/tables.h"

#define DEPTH_MAX 256

struct jq {
	struct sc_judge *judge;
	const char *s;
	size_t len;
	size_t pos;
	size_t depth;
	char open[DEPTH_MAX]; /* ( [ { and " for the inside of \( ) in a string */
};

static char peek(const struct jq *jq, size_t ahead)
{
	return jq->pos + ahead < jq->len ? jq->s[jq->pos + ahead] : '\0';
}

static int refuse(const struct jq *jq, const char *reason)
{
	return sc_refuse(jq->judge->why,
		"jq program '%s' is not allowed: %s (at byte %zu).",
		sc_shown(jq->s, jq->len).text, reason, jq->pos);
}

static int push(struct jq *jq, char c)
{
	if (jq->depth == DEPTH_MAX)
		return refuse(jq, "too many open brackets");
	jq->open[jq->depth++] = c;
	return 0;
}

/* The text of a string, from behind its quote or behind an interpolation. */
static int string(struct jq *jq)
{
	for (; jq->pos < jq->len; jq->pos++) {
		char c = peek(jq, 0);
		if (c == '"') {
			jq->pos++;
			return 0;
		}
		if (c == '\\' && peek(jq, 1) == '(') {
			jq->pos += 2;
			return push(jq, '"');
		}
		if (c == '\\')
			jq->pos++;
	}
	return refuse(jq, "a string is not ended");
}

static int close_bracket(struct jq *jq, char c)
{
	char want = c == ')' ? '(' : c == ']' ? '[' : '{';
	char open = jq->depth ? jq->open[jq->depth - 1] : '\0';

	jq->pos++;
	if (open == '"' && c == ')') {
		jq->depth--;
		return string(jq);
	}
	if (open != want)
		return refuse(jq, "brackets do not match");
	jq->depth--;
	return 0;
}

/* The newest jq lets a backslash continue a comment, older ones do not. */
static int comment(struct jq *jq)
{
	while (jq->pos < jq->len && peek(jq, 0) != '\n')
		jq->pos++;
	if (jq->s[jq->pos - 1] == '\\')
		return refuse(jq, "a comment that ends with a backslash");
	return 0;
}

static bool is_key(const struct jq *jq, size_t start)
{
	size_t after = jq->pos;

	while (after < jq->len && sc_is_space(jq->s[after]))
		after++;
	return (start > 0 && (jq->s[start - 1] == '.' || jq->s[start - 1] == '$')) ||
	       (after < jq->len && jq->s[after] == ':');
}

static int name(struct jq *jq)
{
	static const char *const loaders[] = {"import", "include", "modulemeta"};
	size_t start = jq->pos;

	while (sc_is_name(peek(jq, 0)))
		jq->pos++;
	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++) {
		size_t len = strlen(loaders[i]);
		if (jq->pos - start == len && !memcmp(jq->s + start, loaders[i], len) &&
			!is_key(jq, start))
			return refuse(jq, "it loads a module from a file");
	}
	return 0;
}

static int program(struct sc_judge *judge, struct sc_value value)
{
	struct jq jq = {.judge = judge, .s = value.text, .len = value.len};
	int rc = 0;

	while (rc >= 0 && jq.pos < jq.len) {
		char c = peek(&jq, 0);
		if (sc_is_name_start(c)) {
			rc = name(&jq);
		} else if (c == '"') {
			jq.pos++;
			rc = string(&jq);
		} else if (c == '#') {
			rc = comment(&jq);
		} else if (strchr("([{", c)) {
			jq.pos++;
			rc = push(&jq, c);
		} else if (strchr(")]}", c)) {
			rc = close_bracket(&jq, c);
		} else {
			jq.pos++;
		}
	}
	if (rc >= 0 && jq.depth)
		return refuse(&jq, "a bracket is not closed");
	return rc;
}

/* ---- the command: an option parser of its own ---- */

/* Letters may be bundled; the names are exact. `--indent`, `--arg` and the like take words.
 */
#define JQ_LETTERS "sSrjcCMaRnehVb"

static const struct sc_opt jq_long[] = {
	SC_FLAG(0, "slurp"),
	SC_FLAG(0, "raw-output"),
	SC_FLAG(0, "raw-output0"),
	SC_FLAG(0, "join-output"),
	SC_FLAG(0, "compact-output"),
	SC_FLAG(0, "color-output"),
	SC_FLAG(0, "monochrome-output"),
	SC_FLAG(0, "ascii-output"),
	SC_FLAG(0, "unbuffered"),
	SC_FLAG(0, "sort-keys"),
	SC_FLAG(0, "raw-input"),
	SC_FLAG(0, "null-input"),
	SC_FLAG(0, "tab"),
	SC_FLAG(0, "stream"),
	SC_FLAG(0, "seq"),
	SC_FLAG(0, "exit-status"),
	SC_FLAG(0, "args"),
	SC_FLAG(0, "jsonargs"),
	SC_VALUE(0, "indent"),
	SC_VALUE(0, "arg"),
	SC_VALUE(0, "argjson"),
	SC_HELP,
	SC_REFUSE(0, "from-file", "it takes the program from a file"),
	SC_REFUSE(0, "slurpfile", SC_READS),
	SC_REFUSE(0, "rawfile", SC_READS),
	SC_REFUSE(0, "argfile", SC_READS),
	SC_REFUSE(0, "library-path", "it loads modules from files"),
	SC_REFUSE(0, "run-tests", SC_READS),
};

static int refuse_unknown(struct sc_judge *judge, const sc_policy_word *word)
{
	return sc_judge_refuse_word(
		judge, word, "Option", "it is not on the list of read-only options");
}

static int letters(struct sc_judge *judge, const sc_policy_word *word)
{
	const char *text = sc_policy_text(judge->plan, word);

	for (uint32_t i = 1; i < word->len; i++) {
		if (text[i] == 'f')
			return sc_judge_refuse_option(
				judge, "f", 1, "it takes the program from a file");
		if (text[i] == 'L')
			return sc_judge_refuse_option(
				judge, "L", 1, "it loads modules from files");
		if (!strchr(JQ_LETTERS, text[i]))
			return refuse_unknown(judge, word);
	}
	return 0;
}

/* --indent takes one word, --arg and --argjson take two, whatever they look like. */
static int take_values(struct sc_judge *judge, uint32_t *index, uint32_t count)
{
	const sc_policy_word *option = &judge->words[*index];

	for (uint32_t i = 0; i < count; i++) {
		if (++*index >= judge->count)
			return sc_judge_refuse_word(
				judge, option, "Option", "its value is missing");
		sc_judge_take(judge, &judge->words[*index], SC_ROLE_TEXT);
	}
	return 0;
}

static int long_option(struct sc_judge *judge, uint32_t *index, bool *text_operands)
{
	const sc_policy_word *word = &judge->words[*index];
	const char *text = sc_policy_text(judge->plan, word) + 2;

	for (size_t i = 0; i < sizeof(jq_long) / sizeof(jq_long[0]); i++) {
		const struct sc_opt *opt = &jq_long[i];
		if (strcmp(opt->name, text) != 0)
			continue;
		if (opt->why)
			return sc_judge_refuse_word(judge, word, "Option", opt->why);
		if (strcmp(text, "args") == 0 || strcmp(text, "jsonargs") == 0)
			*text_operands = true;
		if (opt->arg == SC_ARG_NONE)
			return 0;
		return take_values(judge, index, strcmp(text, "indent") == 0 ? 1 : 2);
	}
	return refuse_unknown(judge, word);
}

static int operand(struct sc_judge *judge, sc_policy_word *word, bool is_text)
{
	int rc;

	if (judge->seen) {
		sc_judge_take(judge, word, is_text ? SC_ROLE_TEXT : SC_ROLE_FILE);
		return 0;
	}
	judge->seen = true;
	rc = sc_judge_program(judge, word);
	return rc < 0 ? rc : program(judge, sc_judge_value(judge, word, 0));
}

static int judge_jq(struct sc_judge *judge)
{
	bool text_operands = false;
	int rc = 0;

	for (uint32_t i = 1; rc >= 0 && i < judge->count; i++) {
		sc_policy_word *word = &judge->words[i];
		if (!sc_judge_is_option(judge, word)) {
			rc = operand(judge, word, text_operands);
			continue;
		}
		rc = sc_judge_spelled_out(judge, word);
		if (rc < 0)
			return rc;
		if (sc_judge_is(judge, word, "--"))
			rc = refuse_unknown(judge, word);
		else if (sc_policy_text(judge->plan, word)[1] == '-')
			rc = long_option(judge, &i, &text_operands);
		else
			rc = letters(judge, word);
	}
	return rc;
}

const struct sc_spec sc_spec_jq = {.name = "jq", .judge = judge_jq};
