/* SPDX-License-Identifier: MIT */
/* find: leading options, paths, then an expression of which every word must be known. */
#include <string.h>

#include "session/policy/chars.h"
#include "session/policy/tables.h"

#define DELETES "it deletes files"

/* SC_ARG_TEXT: one argument, always the next word, whatever it looks like. */
static const struct sc_opt predicates[] = {
	SC_FLAG(0, "("),
	SC_FLAG(0, ")"),
	SC_FLAG(0, "!"),
	SC_FLAG(0, ","),
	SC_FLAG(0, "-a"),
	SC_VALUE(0, "-amin"),
	SC_FLAG(0, "-and"),
	SC_VALUE(0, "-anewer"),
	SC_VALUE(0, "-atime"),
	SC_VALUE(0, "-cmin"),
	SC_VALUE(0, "-cnewer"),
	SC_VALUE(0, "-context"),
	SC_VALUE(0, "-ctime"),
	SC_FLAG(0, "-d"),
	SC_FLAG(0, "-daystart"),
	SC_REFUSE(0, "-delete", DELETES),
	SC_FLAG(0, "-depth"),
	SC_FLAG(0, "-empty"),
	SC_REFUSE(0, "-exec", SC_RUNS),
	SC_REFUSE(0, "-execdir", SC_RUNS),
	SC_FLAG(0, "-executable"),
	SC_FLAG(0, "-false"),
	SC_REFUSE(0, "-files0-from", SC_READS),
	SC_REFUSE(0, "-fls", SC_WRITES),
	SC_FLAG(0, "-follow"),
	SC_REFUSE(0, "-fprint", SC_WRITES),
	SC_REFUSE(0, "-fprint0", SC_WRITES),
	SC_REFUSE(0, "-fprintf", SC_WRITES),
	SC_VALUE(0, "-fstype"),
	SC_VALUE(0, "-gid"),
	SC_VALUE(0, "-group"),
	SC_FLAG(0, "-help"),
	SC_FLAG(0, "--help"),
	SC_FLAG(0, "-ignore_readdir_race"),
	SC_VALUE(0, "-ilname"),
	SC_VALUE(0, "-iname"),
	SC_VALUE(0, "-inum"),
	SC_VALUE(0, "-ipath"),
	SC_VALUE(0, "-iregex"),
	SC_VALUE(0, "-iwholename"),
	SC_VALUE(0, "-links"),
	SC_VALUE(0, "-lname"),
	SC_FLAG(0, "-ls"),
	SC_VALUE(0, "-maxdepth"),
	SC_VALUE(0, "-mindepth"),
	SC_VALUE(0, "-mmin"),
	SC_FLAG(0, "-mount"),
	SC_VALUE(0, "-mtime"),
	SC_VALUE(0, "-name"),
	SC_VALUE(0, "-newer"),
	SC_FLAG(0, "-nogroup"),
	SC_FLAG(0, "-noignore_readdir_race"),
	SC_FLAG(0, "-noleaf"),
	SC_FLAG(0, "-not"),
	SC_FLAG(0, "-nouser"),
	SC_FLAG(0, "-nowarn"),
	SC_FLAG(0, "-o"),
	SC_REFUSE(0, "-ok", SC_RUNS),
	SC_REFUSE(0, "-okdir", SC_RUNS),
	SC_FLAG(0, "-or"),
	SC_VALUE(0, "-path"),
	SC_VALUE(0, "-perm"),
	SC_FLAG(0, "-print"),
	SC_FLAG(0, "-print0"),
	SC_VALUE(0, "-printf"),
	SC_FLAG(0, "-prune"),
	SC_FLAG(0, "-quit"),
	SC_FLAG(0, "-readable"),
	SC_VALUE(0, "-regex"),
	SC_VALUE(0, "-regextype"),
	SC_VALUE(0, "-samefile"),
	SC_VALUE(0, "-size"),
	SC_FLAG(0, "-true"),
	SC_VALUE(0, "-type"),
	SC_VALUE(0, "-uid"),
	SC_VALUE(0, "-used"),
	SC_VALUE(0, "-user"),
	SC_FLAG(0, "-version"),
	SC_FLAG(0, "--version"),
	SC_FLAG(0, "-warn"),
	SC_VALUE(0, "-wholename"),
	SC_FLAG(0, "-writable"),
	SC_FLAG(0, "-xdev"),
	SC_VALUE(0, "-xtype"),
};

/* -newerXY: access, birth, change, modification; Y may be a time. */
static bool is_newer_xy(const char *text)
{
	return strncmp(text, "-newer", 6) == 0 && strlen(text) == 8 &&
	       strchr("aBcm", text[6]) && strchr("aBcmt", text[7]);
}

static const struct sc_opt *find_predicate(const char *text)
{
	static const struct sc_opt newer_xy = SC_VALUE(0, "-newerXY");

	for (size_t i = 0; i < sizeof(predicates) / sizeof(predicates[0]); i++) {
		if (strcmp(predicates[i].name, text) == 0)
			return &predicates[i];
	}
	return is_newer_xy(text) ? &newer_xy : NULL;
}

/* As GNU find and POSIX: the paths end at the first word that starts with '-', or is one
 * of ( ) ! and the comma. */
static bool starts_expression(const struct sc_judge *judge, const sc_policy_word *word)
{
	const char *text = sc_policy_text(judge->plan, word);

	return sc_judge_is_option(judge, word) ||
	       (sc_policy_fixed(word) && word->len == 1 && strchr("()!,", *text));
}

/* -H -L -P -O2 and --, before the paths. */
static bool is_leading_option(const struct sc_judge *judge, const sc_policy_word *word)
{
	const char *text = sc_policy_text(judge->plan, word);

	return sc_judge_is(judge, word, "-H") || sc_judge_is(judge, word, "-L") ||
	       sc_judge_is(judge, word, "-P") || sc_judge_is(judge, word, "--") ||
	       (sc_policy_fixed(word) && word->len == 3 && memcmp(text, "-O", 2) == 0 &&
		       sc_is_digit(text[2]));
}

/* One predicate and its argument; *index ends on its last word. */
static int judge_predicate(struct sc_judge *judge, uint32_t *index)
{
	sc_policy_word *word = &judge->words[*index];
	const char *text = sc_policy_text(judge->plan, word);
	const struct sc_opt *opt = NULL;
	int rc = sc_judge_spelled_out(judge, word);

	if (rc < 0)
		return rc;
	opt = find_predicate(text);
	if (!opt)
		return sc_judge_refuse_word(judge, word, "Word",
			*text == '-'
				? "it is not on the list of read-only tests and actions"
				: "paths come before the expression");
	if (opt->why)
		return sc_judge_refuse_word(judge, word, "Action", opt->why);
	if (opt->arg == SC_ARG_NONE)
		return 0;
	if (++*index >= judge->count)
		return sc_judge_refuse_word(judge, word, "Test", "its argument is missing");
	sc_judge_take(judge, &judge->words[*index], SC_ROLE_TEXT);
	return 0;
}

static int judge_find(struct sc_judge *judge)
{
	uint32_t i = 1;
	int rc = 0;

	for (; i < judge->count && is_leading_option(judge, &judge->words[i]); i++) {
		sc_judge_take(judge, &judge->words[i], SC_ROLE_OPTION);
		if (sc_judge_is(judge, &judge->words[i], "--")) {
			i++;
			break;
		}
	}
	for (; i < judge->count && !starts_expression(judge, &judge->words[i]); i++)
		sc_judge_take(judge, &judge->words[i], SC_ROLE_FILE);
	for (; rc >= 0 && i < judge->count; i++)
		rc = judge_predicate(judge, &i);
	return rc;
}

const struct sc_spec sc_spec_find = {.name = "find", .judge = judge_find};
