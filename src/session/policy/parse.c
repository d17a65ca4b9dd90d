/* SPDX-License-Identifier: MIT */
#include "session/policy/parse.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "session/policy/chars.h"
#include "session/policy/refuse.h"
#include "session/policy/words.h"

/* OpenDataSci's list, in its order: the first of these anywhere in the text is named. */
static const char *const forbidden[] = {"||", ";", "`", "$(", ">", "<"};

/* What a shell takes for an operator outside quotes, longer spellings first. */
static const char *const operators[] = {"&>>", "&>", ";;&", ";;", ";&", "<<<", "<<-", "<<",
	"<(", "<>", "<&", ">>", ">(", ">|", ">&", "||", "|&", "&", ";", "<", ">", "(", ")",
	"`"};

/* Words that start something else than a simple command. */
static const char *const reserved[] = {"!", "[[", "case", "coproc", "do", "done", "elif",
	"else", "esac", "fi", "for", "function", "if", "in", "select", "then", "time",
	"until", "while"};

/* Variables that a shell sets by itself: here they would silently be empty. */
static const char *const shell_only[] = {"_", "BASH", "BASHPID", "BASH_VERSION", "DIRSTACK",
	"EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "IFS", "LINENO",
	"OPTARG", "OPTIND", "PIPESTATUS", "PPID", "RANDOM", "SECONDS", "SRANDOM", "UID"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- bytes ---- */

/* The code point, when a control character starts here (C1 is two bytes), else 0. */
static unsigned int control_at(const unsigned char *s, size_t left)
{
	if ((s[0] < 0x20 && s[0] != '\t' && s[0] != '\n') || s[0] == 0x7f)
		return s[0] ? s[0] : 0x100;
	return s[0] == 0xc2 && left > 1 && s[1] < 0xa0 ? s[1] : 0;
}

static int check_bytes(const struct sc_parser *p)
{
	size_t good = sc_utf8_check(p->src, p->len);

	if (good < p->len)
		return sc_refuse(p->why,
			"Invalid command syntax: byte %zu is not valid UTF-8", good);
	for (size_t i = 0; i < p->len; i++) {
		unsigned int c = control_at((const unsigned char *)p->src + i, p->len - i);
		if (c == '\r')
			return sc_refuse(
				p->why, "Shell operator 'carriage return' is not allowed.");
		if (c)
			return sc_refuse(p->why,
				"Invalid command syntax: control character 0x%02x",
				c & 0xff);
	}
	return 0;
}

/* Whether the byte at `end` is inside quotes or escaped: what the flag makes text. */
static bool is_quoted(const char *src, size_t end)
{
	char quote = '\0';
	bool escape = false;

	for (size_t i = 0; i < end; i++) {
		char c = src[i];
		if (escape)
			escape = false;
		else if (c == '\\' && quote != '\'')
			escape = true;
		else if (c == quote)
			quote = '\0';
		else if (!quote && (c == '\'' || c == '"'))
			quote = c;
	}
	return quote || escape;
}

/* Without the flag these are refused also where they would be text, as OpenDataSci does. */
static int check_forbidden(const struct sc_parser *p)
{
	for (size_t i = 0; i < COUNT(forbidden); i++) {
		const char *op = forbidden[i];
		const char *found = memmem(p->src, p->len, op, strlen(op));
		if (!found)
			continue;
		const char *hint = "";
		if (is_quoted(p->src, (size_t)(found - p->src)))
			hint = " (in quotes it is text only with the option for quoted "
			       "operators)";
		else if (op[0] == '>')
			hint = " (stdout and stderr are captured anyway)";
		return sc_refuse(p->why, "Shell operator '%s' is not allowed.%s", op, hint);
	}
	return 0;
}

/* ---- operators ---- */

static bool at(const struct sc_parser *p, const char *text)
{
	size_t n = strlen(text);

	return n <= p->len - p->pos && memcmp(p->src + p->pos, text, n) == 0;
}

static int refuse_operator(const struct sc_parser *p)
{
	for (size_t i = 0; i < COUNT(operators); i++) {
		if (at(p, operators[i]))
			return sc_refuse(p->why, "Shell operator '%s' is not allowed.",
				operators[i]);
	}
	return sc_refuse(p->why, "Shell operator 'newline' is not allowed.");
}

static bool ends_word(char c)
{
	return sc_is_space(c) || (c != '\0' && strchr("|&;<>()`", c) != NULL);
}

/* ---- pieces of a word; each starts at its first byte and moves pos behind it ---- */

static int single_quoted(struct sc_parser *p)
{
	size_t start = p->pos + 1;
	const char *end = memchr(p->src + start, '\'', p->len - start);

	if (!end)
		return sc_refuse(p->why,
			"Invalid command syntax: No closing quotation for %s",
			sc_shown(p->src + p->pos, p->len - p->pos).text);
	p->pos = (size_t)(end - p->src) + 1;
	return sc_word_add(p, p->src + start, p->pos - 1 - start, true);
}

static int check_variable(const struct sc_parser *p, const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT(shell_only); i++) {
		if (strlen(shell_only[i]) == len && memcmp(shell_only[i], name, len) == 0)
			return sc_refuse(p->why,
				"Shell expansion '$%s' is not allowed: only a shell sets "
				"that variable.",
				shell_only[i]);
	}
	return 0;
}

static int refuse_expansion(const struct sc_parser *p, size_t len, const char *reason)
{
	return sc_refuse(p->why, "Shell expansion '%s' is not allowed: %s.",
		sc_shown(p->src + p->pos, len).text, reason);
}

/* ${NAME} and nothing else between the braces. */
static int braced_variable(struct sc_parser *p)
{
	size_t start = p->pos + 2;
	size_t end = start;
	const char *close = memchr(p->src + start, '}', p->len - start);
	size_t shown = close ? (size_t)(close - p->src) + 1 - p->pos : p->len - p->pos;
	int rc;

	while (end < p->len && sc_is_name(p->src[end]))
		end++;
	if (end == start || end >= p->len || p->src[end] != '}' ||
		sc_is_digit(p->src[start]))
		return refuse_expansion(p, shown, "only $NAME and ${NAME} are known");
	rc = check_variable(p, p->src + start, end - start);
	if (rc < 0)
		return rc;
	p->pos = end + 1;
	return sc_word_add_special(p, SC_PART_VAR, p->src + start, end - start);
}

static int dollar(struct sc_parser *p, bool quoted)
{
	size_t start = p->pos + 1;
	char c = start < p->len ? p->src[start] : '\0';
	size_t end = start;
	int rc;

	if (c == '{')
		return braced_variable(p);
	if (c == '(')
		return sc_refuse(p->why, "Shell operator '$(' is not allowed.");
	if (c == '[')
		return refuse_expansion(p, 2, "arithmetic needs a shell");
	if (!quoted && (c == '\'' || c == '"'))
		return refuse_expansion(p, 2, "use plain quotes");
	if (sc_is_digit(c) || (c != '\0' && strchr("@*#?-!$", c)))
		return refuse_expansion(p, 2,
			"only $NAME and ${NAME} are known; use single quotes for text");
	if (!sc_is_name_start(c)) {
		p->pos++;
		return sc_word_add(p, "$", 1, true);
	}
	while (end < p->len && sc_is_name(p->src[end]))
		end++;
	rc = check_variable(p, p->src + start, end - start);
	if (rc < 0)
		return rc;
	p->pos = end;
	return sc_word_add_special(p, SC_PART_VAR, p->src + start, end - start);
}

static int refuse_continuation(const struct sc_parser *p)
{
	return sc_refuse(p->why, "Shell operator 'backslash-newline' is not allowed: a "
				 "command is one line.");
}

/* One step inside double quotes: a run of plain text, an escape, or an expansion. */
static int quoted_step(struct sc_parser *p)
{
	size_t start = p->pos;
	char next = p->pos + 1 < p->len ? p->src[p->pos + 1] : '\0';

	if (p->src[start] == '`')
		return refuse_operator(p);
	if (p->src[start] == '$')
		return dollar(p, true);
	if (p->src[start] == '\\') {
		if (next == '\n')
			return refuse_continuation(p);
		p->pos += next != '\0' && strchr("$`\"\\", next) ? 1 : 0;
		start = p->pos++;
	}
	while (p->pos < p->len && !strchr("\"$`\\", p->src[p->pos]))
		p->pos++;
	return sc_word_add(p, p->src + start, p->pos - start, true);
}

static int double_quoted(struct sc_parser *p)
{
	size_t start = p->pos++;
	int rc = sc_word_add(p, "", 0, true);

	while (rc >= 0 && p->pos < p->len && p->src[p->pos] != '"')
		rc = quoted_step(p);
	if (rc < 0)
		return rc;
	if (p->pos >= p->len)
		return sc_refuse(p->why,
			"Invalid command syntax: No closing quotation for %s",
			sc_shown(p->src + start, p->len - start).text);
	p->pos++;
	return 0;
}

static int escaped(struct sc_parser *p)
{
	if (p->pos + 1 >= p->len)
		return sc_refuse(p->why,
			"Invalid command syntax: No escaped character after the last '\\'");
	if (p->src[p->pos + 1] == '\n')
		return refuse_continuation(p);
	/* The whole character: a part that ends inside one is no text. */
	const char *next = p->src + p->pos + 1;
	bool valid = false;
	size_t len = sc_utf8_next(next, p->len - p->pos - 1, &valid);
	p->pos += 1 + len;
	return sc_word_add(p, next, len, true);
}

/* ~ alone or before a slash is HOME; elsewhere in a word it is text. */
static int tilde(struct sc_parser *p)
{
	bool first = sc_word_is_empty(p);
	char before = first ? '\0' : p->src[p->pos - 1];
	char next = p->pos + 1 < p->len ? p->src[p->pos + 1] : ' ';

	if (before == '=' || before == ':')
		return sc_refuse(p->why,
			"Shell expansion '%c~' is not allowed: some shells expand it, "
			"others do not; quote it.",
			before);
	p->pos++;
	if (!first)
		return sc_word_add(p, "~", 1, true);
	if (next != '/' && !ends_word(next)) {
		p->pos--;
		return refuse_expansion(p, 2, "only ~ and ~/ are known");
	}
	return sc_word_add_special(p, SC_PART_HOME, "~", 1);
}

/* {} is text to every shell; any other brace may start an expansion or a group. */
static int brace(struct sc_parser *p)
{
	if (!at(p, "{}"))
		return refuse_expansion(
			p, 1, "brace expansion and groups are not known; quote it");
	p->pos += 2;
	return sc_word_add(p, "{}", 2, true);
}

static int bare(struct sc_parser *p)
{
	size_t start = p->pos;

	while (p->pos < p->len && !ends_word(p->src[p->pos]) &&
		!strchr("'\"\\$~{}", p->src[p->pos]))
		p->pos++;
	return sc_word_add(p, p->src + start, p->pos - start, false);
}

static int piece(struct sc_parser *p)
{
	switch (p->src[p->pos]) {
	case '\'':
		return single_quoted(p);
	case '"':
		return double_quoted(p);
	case '\\':
		return escaped(p);
	case '$':
		return dollar(p, false);
	case '~':
		return tilde(p);
	case '{':
	case '}':
		return brace(p);
	default:
		return bare(p);
	}
}

/* ---- words and commands ---- */

/* NAME=, NAME+= or NAME[ at the start of a command is an assignment to a shell. */
static bool is_assignment(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len && sc_is_name(s[i]))
		i++;
	if (i == 0 || i >= len || sc_is_digit(s[0]))
		return false;
	return s[i] == '=' || s[i] == '[' ||
	       (s[i] == '+' && i + 1 < len && s[i + 1] == '=');
}

static size_t raw_word_len(const struct sc_parser *p)
{
	size_t end = p->pos;

	while (end < p->len && !ends_word(p->src[end]))
		end++;
	return end - p->pos;
}

/* What only the first word of a command can be. */
static int check_first_word(const struct sc_parser *p)
{
	const char *s = p->src + p->pos;
	size_t len = raw_word_len(p);

	if (is_assignment(s, len))
		return sc_refuse(
			p->why, "Assignment '%s' is not allowed.", sc_shown(s, len).text);
	for (size_t i = 0; i < COUNT(reserved); i++) {
		if (strlen(reserved[i]) == len && memcmp(reserved[i], s, len) == 0)
			return sc_refuse(p->why, "Shell reserved word '%s' is not allowed.",
				reserved[i]);
	}
	return 0;
}

static int word(struct sc_parser *p)
{
	int rc;

	if (p->src[p->pos] == '#')
		return sc_refuse(p->why, "Shell comment '%s' is not allowed.",
			sc_shown(p->src + p->pos, p->len - p->pos).text);
	rc = sc_command_is_empty(p) ? check_first_word(p) : 0;
	if (rc >= 0)
		rc = sc_word_begin(p);
	while (rc >= 0 && p->pos < p->len && !ends_word(p->src[p->pos]))
		rc = piece(p);
	return rc < 0 ? rc : sc_word_end(p);
}

/* The rest is blanks and newlines only: the end of the command. */
static bool at_end(const struct sc_parser *p)
{
	for (size_t i = p->pos; i < p->len; i++) {
		if (!sc_is_space(p->src[i]))
			return false;
	}
	return true;
}

static int join(struct sc_parser *p, size_t len, uint8_t how)
{
	int rc = sc_command_end(p);

	p->pos += len;
	return rc < 0 ? rc : sc_command_begin(p, how);
}

static int list(struct sc_parser *p)
{
	int rc = sc_command_begin(p, SC_JOIN_FIRST);

	while (rc >= 0) {
		while (p->pos < p->len && sc_is_blank(p->src[p->pos]))
			p->pos++;
		if (p->pos >= p->len || (p->src[p->pos] == '\n' && at_end(p)))
			return sc_command_end(p);
		if (at(p, "&&"))
			rc = join(p, 2, SC_JOIN_AND);
		else if (at(p, "|") && !at(p, "||") && !at(p, "|&"))
			rc = join(p, 1, SC_JOIN_PIPE);
		else if (ends_word(p->src[p->pos]))
			rc = refuse_operator(p);
		else
			rc = word(p);
	}
	return rc;
}

int sc_policy_parse(
	sc_policy_plan *plan, const char *src, size_t len, uint32_t flags, sc_buf *why)
{
	struct sc_parser p = {.src = src, .len = len, .plan = plan, .why = why};
	int rc;

	/* OpenDataSci strips the text. A blank at its end may be escaped: the parser's. */
	while (p.pos < len && sc_is_space(src[p.pos]))
		p.pos++;
	if (p.pos == len)
		return sc_refuse(why, "Empty command.");
	if (len > SC_POLICY_TEXT_MAX)
		return sc_refuse(
			why, "Command is longer than %zu bytes.", SC_POLICY_TEXT_MAX);
	while (src[p.len - 1] == '\n' || src[p.len - 1] == '\r')
		p.len--;
	if (!(flags & SANDCELL_CLI_QUOTED_OPERATORS)) {
		rc = check_forbidden(&p);
		if (rc < 0)
			return rc;
	}
	rc = check_bytes(&p);
	if (rc < 0)
		return rc;
	plan->text = sc_malloc(len + 2);
	if (!plan->text)
		return SANDCELL_E_NOMEM;
	return list(&p);
}
