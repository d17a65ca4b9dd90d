/* SPDX-License-Identifier: MIT */
#include "session/policy/judge.h"

#include <string.h>

#include "session/policy/chars.h"

#define NAME_MAX_LEN 16

/* ---- helpers for the tables ---- */

void sc_judge_take(struct sc_judge *judge, sc_policy_word *word, uint8_t role)
{
	word->role = role;
	if (role == SC_ROLE_FILE || role == SC_ROLE_PATH || role == SC_ROLE_ARG)
		return;
	for (uint32_t i = 0; word->glob && i < word->parts; i++) {
		sc_policy_part *part = &judge->plan->parts[word->part + i];
		if (part->kind == SC_PART_GLOB)
			part->kind = SC_PART_LIT;
	}
	word->glob = false;
}

struct sc_value sc_judge_value(
	const struct sc_judge *judge, const sc_policy_word *word, size_t from)
{
	return (struct sc_value){
		.text = sc_policy_text(judge->plan, word) + from,
		.len = word->len - from,
		.lead = word->lead > from ? word->lead - from : 0,
		.known = sc_policy_fixed(word),
	};
}

bool sc_judge_is(const struct sc_judge *judge, const sc_policy_word *word, const char *text)
{
	return sc_policy_fixed(word) &&
	       strcmp(sc_policy_text(judge->plan, word), text) == 0;
}

bool sc_judge_is_option(const struct sc_judge *judge, const sc_policy_word *word)
{
	return word->lead > 0 && word->len > 1 && *sc_policy_text(judge->plan, word) == '-';
}

int sc_judge_refuse_word(struct sc_judge *judge, const sc_policy_word *word,
	const char *what, const char *reason)
{
	return sc_refuse(judge->why, "%s '%s' of '%s' is not allowed: %s.", what,
		sc_shown(judge->src + word->src, word->src_len).text, judge->spec->name,
		reason);
}

int sc_judge_refuse_option(
	struct sc_judge *judge, const char *name, size_t len, const char *reason)
{
	bool letter = len == 1;

	/* A letter that is no ASCII is shown whole; the text ends with a NUL. */
	while (letter && (unsigned char)name[0] >= 0x80 &&
		((unsigned char)name[len] & 0xc0) == 0x80)
		len++;
	return sc_refuse(judge->why, "Option '%s%s' of '%s' is not allowed: %s.",
		letter ? "-" : "", sc_shown(name, len).text, judge->spec->name, reason);
}

int sc_judge_spelled_out(struct sc_judge *judge, sc_policy_word *word)
{
	if (!sc_policy_fixed(word))
		return sc_judge_refuse_word(
			judge, word, "Option", "an option must not come from a variable");
	sc_judge_take(judge, word, SC_ROLE_OPTION);
	return 0;
}

int sc_judge_program(struct sc_judge *judge, sc_policy_word *word)
{
	if (!sc_policy_fixed(word))
		return sc_judge_refuse_word(judge, word, "Program",
			"it must not contain a variable; use single quotes");
	sc_judge_take(judge, word, SC_ROLE_TEXT);
	return 0;
}

/* ---- getopt ---- */

static int unknown_option(struct sc_judge *judge, const char *name, size_t len)
{
	return sc_judge_refuse_option(
		judge, name, len, "it is not on the list of read-only options");
}

static bool takes_none(struct sc_judge *judge, const struct sc_opt *opt)
{
	judge->seen = judge->seen || opt->arg == SC_ARG_MARK;
	return opt->arg == SC_ARG_NONE || opt->arg == SC_ARG_MARK;
}

static int check_value(
	struct sc_judge *judge, const struct sc_opt *opt, struct sc_value value)
{
	if (opt->arg == SC_ARG_JUDGED || opt->arg == SC_ARG_PATH)
		return judge->spec->value(judge, opt, value);
	return 0;
}

/* The value is the next word. */
static int next_value(struct sc_judge *judge, const struct sc_opt *opt, const char *name,
	size_t len, uint32_t index)
{
	if (index >= judge->count)
		return sc_judge_refuse_option(judge, name, len, "its value is missing");
	sc_policy_word *word = &judge->words[index];
	sc_judge_take(judge, word, opt->arg == SC_ARG_PATH ? SC_ROLE_PATH : SC_ROLE_TEXT);
	return check_value(judge, opt, sc_judge_value(judge, word, 0));
}

/* As getopt_long: the exact name, else the only one that starts so; NULL: none or many. */
static const struct sc_opt *find_long(
	const struct sc_spec *spec, const char *name, size_t len)
{
	const struct sc_opt *found = NULL;
	unsigned int candidates = 0;

	for (uint16_t i = 0; i < spec->opts_len; i++) {
		const struct sc_opt *opt = &spec->opts[i];
		if (!opt->name || strncmp(opt->name, name, len) != 0)
			continue;
		if (opt->name[len] == '\0')
			return opt;
		found = opt;
		candidates++;
	}
	return candidates == 1 ? found : NULL;
}

static int long_option(struct sc_judge *judge, uint32_t index, uint32_t *used_out)
{
	sc_policy_word *word = &judge->words[index];
	const char *text = sc_policy_text(judge->plan, word);
	const char *equals = memchr(text, '=', word->lead);
	size_t len = equals ? (size_t)(equals - text) : word->lead;
	const struct sc_opt *opt = NULL;

	if (!equals && !sc_policy_fixed(word))
		return sc_judge_refuse_word(
			judge, word, "Option", "an option must not come from a variable");
	if (len > 2)
		opt = find_long(judge->spec, text + 2, len - 2);
	if (!opt)
		return unknown_option(judge, text, len);
	if (opt->why)
		return sc_judge_refuse_option(judge, text, len, opt->why);
	if (equals && takes_none(judge, opt))
		return sc_judge_refuse_option(judge, text, len, "it takes no value");
	if (equals)
		return check_value(judge, opt, sc_judge_value(judge, word, len + 1));
	if (takes_none(judge, opt) || opt->arg == SC_ARG_MAYBE)
		return 0;
	*used_out = 2;
	return next_value(judge, opt, text, len, index + 1);
}

static const struct sc_opt *find_short(const struct sc_spec *spec, char letter)
{
	for (uint16_t i = 0; i < spec->opts_len; i++) {
		if (spec->opts[i].letter == letter)
			return &spec->opts[i];
	}
	return NULL;
}

/* A bundle: flags, then at most one option whose value is the rest or the next word. */
static int short_options(struct sc_judge *judge, uint32_t index, uint32_t *used_out)
{
	sc_policy_word *word = &judge->words[index];
	const char *text = sc_policy_text(judge->plan, word);

	for (uint32_t i = 1; i < word->lead; i++) {
		const struct sc_opt *opt = find_short(judge->spec, text[i]);
		if (!opt)
			return unknown_option(judge, text + i, 1);
		if (opt->why)
			return sc_judge_refuse_option(judge, text + i, 1, opt->why);
		if (takes_none(judge, opt))
			continue;
		if (i + 1 < word->len || opt->arg == SC_ARG_MAYBE)
			return check_value(judge, opt, sc_judge_value(judge, word, i + 1));
		*used_out = 2;
		return next_value(judge, opt, text + i, 1, index + 1);
	}
	if (!sc_policy_fixed(word))
		return sc_judge_refuse_word(
			judge, word, "Option", "an option must not come from a variable");
	return 0;
}

int sc_judge_letter(
	struct sc_judge *judge, const char *letter, uint32_t index, uint32_t *used_out)
{
	const struct sc_opt *opt = find_short(judge->spec, *letter);

	*used_out = 0;
	if (!opt)
		return unknown_option(judge, letter, 1);
	if (opt->why)
		return sc_judge_refuse_option(judge, letter, 1, opt->why);
	if (takes_none(judge, opt))
		return 0;
	*used_out = 1;
	return next_value(judge, opt, letter, 1, index);
}

static bool is_number_option(const struct sc_judge *judge, const sc_policy_word *word)
{
	const char *text = sc_policy_text(judge->plan, word);

	for (uint32_t i = 1; i < word->len; i++) {
		if (!sc_is_digit(text[i]))
			return false;
	}
	return sc_policy_fixed(word);
}

int sc_judge_option(struct sc_judge *judge, uint32_t index, uint32_t *used_out)
{
	sc_policy_word *word = &judge->words[index];

	*used_out = 0;
	if (!sc_judge_is_option(judge, word) || sc_judge_is(judge, word, "--"))
		return 0;
	*used_out = 1;
	sc_judge_take(judge, word, SC_ROLE_OPTION);
	if ((judge->spec->flags & SC_SPEC_DIGITS) && is_number_option(judge, word))
		return 0;
	if (sc_policy_text(judge->plan, word)[1] == '-' && word->lead > 1)
		return long_option(judge, index, used_out);
	return short_options(judge, index, used_out);
}

static int take_operand(struct sc_judge *judge, sc_policy_word *word)
{
	const struct sc_spec *spec = judge->spec;
	uint32_t number = judge->operands++;

	if (number == 0)
		judge->first_operand = word;
	if ((spec->flags & SC_SPEC_NO_OPERANDS) ||
		(spec->operands_max && number >= spec->operands_max))
		return sc_judge_refuse_word(judge, word, "Operand", spec->too_many);
	if (spec->operand)
		return spec->operand(judge, number, word);
	sc_judge_take(judge, word,
		spec->flags & SC_SPEC_TEXT    ? SC_ROLE_TEXT
		: spec->flags & SC_SPEC_PATHS ? SC_ROLE_PATH
					      : SC_ROLE_FILE);
	return 0;
}

int sc_judge_options(struct sc_judge *judge, uint32_t first)
{
	bool operands_only = false;
	uint32_t used = 0;
	int rc = 0;

	for (uint32_t i = first; rc >= 0 && i < judge->count; i += used ? used : 1) {
		sc_policy_word *word = &judge->words[i];
		used = 0;
		if (!operands_only && sc_judge_is(judge, word, "--")) {
			sc_judge_take(judge, word, SC_ROLE_OPTION);
			operands_only = true;
			continue;
		}
		if (!operands_only)
			rc = sc_judge_option(judge, i, &used);
		if (rc < 0 || used)
			continue;
		operands_only = operands_only || (judge->spec->flags & SC_SPEC_NO_PERMUTE);
		rc = take_operand(judge, word);
	}
	if (rc >= 0 && (judge->spec->flags & SC_SPEC_TEXT_FIRST) && judge->first_operand &&
		!judge->seen)
		sc_judge_take(judge, judge->first_operand, SC_ROLE_TEXT);
	return rc;
}

/* ---- the command's name ---- */

static void refuse_name(sc_buf *why, const char *name, size_t len)
{
	(void)sc_refuse(why, "Command '%s' is not allowed. Permitted commands include: ",
		sc_shown(name, len).text);
	for (size_t i = 0; i < sc_policy_specs_len; i++)
		(void)sc_buf_printf(why, "%s, ", sc_policy_specs[i]->name);
	(void)sc_buf_printf(why, "… (%zu total)", sc_policy_specs_len);
}

static const struct sc_spec *find_spec(const char *name)
{
	size_t low = 0;
	size_t high = sc_policy_specs_len;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(name, sc_policy_specs[middle]->name);
		if (order == 0)
			return sc_policy_specs[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool is_trusted(const char *dir, size_t len)
{
	return (len == 5 && memcmp(dir, "/bin/", len) == 0) ||
	       (len == 9 && memcmp(dir, "/usr/bin/", len) == 0);
}

/* The command by base name, case-folded; a folder in front must be a trusted one.  NULL: it
 * is refused. */
static const struct sc_spec *judge_name(struct sc_judge *judge)
{
	const sc_policy_word *word = &judge->words[0];
	const char *text = sc_policy_text(judge->plan, word);
	const char *slash = strrchr(text, '/');
	const char *base = slash ? slash + 1 : text;
	const struct sc_spec *spec = NULL;
	char folded[NAME_MAX_LEN] = "";
	size_t len = strlen(base);

	if (!sc_policy_fixed(word) || word->glob) {
		(void)sc_refuse(judge->why,
			"Command '%s' is not allowed: a command's name must not be "
			"expanded.",
			sc_shown(judge->src + word->src, word->src_len).text);
		return NULL;
	}
	for (size_t i = 0; i < len && len < sizeof(folded); i++)
		folded[i] =
			(char)(base[i] >= 'A' && base[i] <= 'Z' ? base[i] | 0x20 : base[i]);
	spec = find_spec(folded);
	if (!spec) {
		refuse_name(judge->why, len < sizeof(folded) ? folded : base, len);
	} else if (slash && !is_trusted(text, (size_t)(base - text))) {
		(void)sc_refuse(judge->why,
			"Command '%s' is not allowed: only names and programs in /usr/bin "
			"and "
			"/bin are.",
			sc_shown(text, word->len).text);
		return NULL;
	}
	return spec;
}

int sc_judge_command(const sc_policy_plan *plan, sc_policy_command *command,
	const char *src, sc_buf *why)
{
	struct sc_judge judge = {
		.plan = plan,
		.command = command,
		.words = plan->words + command->word,
		.count = command->words,
		.src = src,
		.why = why,
	};

	judge.spec = judge_name(&judge);
	if (!judge.spec)
		return why->rc < 0 ? why->rc : SC_REFUSED;
	command->name = judge.spec->name;
	sc_judge_take(&judge, &judge.words[0], SC_ROLE_NAME);
	return judge.spec->judge ? judge.spec->judge(&judge) : sc_judge_options(&judge, 1);
}
