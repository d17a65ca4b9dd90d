/* SPDX-License-Identifier: MIT */
/* ls, dir, pwd, tree: what is there. */
#include <string.h>

#include "session/policy/chars.h"
#include "session/policy/tables.h"

/* ls only reads, whatever its options. */
static const struct sc_opt ls_opts[] = {
	SC_FLAG('a', "all"),
	SC_FLAG('A', "almost-all"),
	SC_FLAG(0, "author"),
	SC_FLAG('b', "escape"),
	SC_VALUE(0, "block-size"),
	SC_FLAG('B', "ignore-backups"),
	SC_FLAG('c', NULL),
	SC_FLAG('C', NULL),
	SC_MAYBE(0, "color"),
	SC_FLAG('d', "directory"),
	SC_FLAG('D', "dired"),
	SC_FLAG('f', NULL),
	SC_MAYBE(0, "classify"),
	SC_FLAG('F', NULL),
	SC_FLAG(0, "file-type"),
	SC_VALUE(0, "format"),
	SC_FLAG(0, "full-time"),
	SC_FLAG('g', NULL),
	SC_FLAG(0, "group-directories-first"),
	SC_FLAG('G', "no-group"),
	SC_FLAG('h', "human-readable"),
	SC_FLAG(0, "si"),
	SC_FLAG('H', "dereference-command-line"),
	SC_FLAG(0, "dereference-command-line-symlink-to-dir"),
	SC_VALUE(0, "hide"),
	SC_MAYBE(0, "hyperlink"),
	SC_VALUE(0, "indicator-style"),
	SC_FLAG('i', "inode"),
	SC_VALUE('I', "ignore"),
	SC_FLAG('k', "kibibytes"),
	SC_FLAG('l', NULL),
	SC_FLAG('L', "dereference"),
	SC_FLAG('m', NULL),
	SC_FLAG('n', "numeric-uid-gid"),
	SC_FLAG('N', "literal"),
	SC_FLAG('o', NULL),
	SC_FLAG('p', NULL),
	SC_FLAG('q', "hide-control-chars"),
	SC_FLAG(0, "show-control-chars"),
	SC_FLAG('Q', "quote-name"),
	SC_VALUE(0, "quoting-style"),
	SC_FLAG('r', "reverse"),
	SC_FLAG('R', "recursive"),
	SC_FLAG('s', "size"),
	SC_FLAG('S', NULL),
	SC_VALUE(0, "sort"),
	SC_VALUE(0, "time"),
	SC_VALUE(0, "time-style"),
	SC_FLAG('t', NULL),
	SC_VALUE('T', "tabsize"),
	SC_FLAG('u', NULL),
	SC_FLAG('U', NULL),
	SC_FLAG('v', NULL),
	SC_VALUE('w', "width"),
	SC_FLAG('x', NULL),
	SC_FLAG('X', NULL),
	SC_FLAG('Z', "context"),
	SC_FLAG(0, "zero"),
	SC_FLAG('1', NULL),
	SC_HELP,
};

const struct sc_spec sc_spec_ls = {.name = "ls", SC_OPTS(ls_opts)};
const struct sc_spec sc_spec_dir = {.name = "dir", SC_OPTS(ls_opts)};

static const struct sc_opt pwd_opts[] = {
	SC_FLAG('L', "logical"),
	SC_FLAG('P', "physical"),
	SC_HELP,
};

const struct sc_spec sc_spec_pwd = {
	.name = "pwd",
	SC_OPTS(pwd_opts),
	.flags = SC_SPEC_NO_OPERANDS,
	.too_many = "it takes none",
};

/* ---- tree: its own option parser ---- */

#define TREE_FLAGS  "adlfxqNQpugshDFvtcUriASnCXJ"
#define TREE_VALUES "LPIHT"

static const struct sc_opt tree_long[] = {
	SC_FLAG(0, "gitignore"),
	SC_FLAG(0, "ignore-case"),
	SC_FLAG(0, "matchdirs"),
	SC_FLAG(0, "metafirst"),
	SC_FLAG(0, "prune"),
	SC_FLAG(0, "info"),
	SC_FLAG(0, "noreport"),
	SC_VALUE(0, "charset"),
	SC_VALUE(0, "filelimit"),
	SC_FLAG(0, "si"),
	SC_FLAG(0, "du"),
	SC_VALUE(0, "timefmt"),
	SC_FLAG(0, "inodes"),
	SC_FLAG(0, "device"),
	SC_FLAG(0, "dirsfirst"),
	SC_FLAG(0, "filesfirst"),
	SC_VALUE(0, "sort"),
	SC_FLAG(0, "nolinks"),
	SC_HELP,
	SC_REFUSE(0, "output", SC_WRITES),
	SC_REFUSE(0, "fromfile", SC_READS),
	SC_REFUSE(0, "fromtabfile", SC_READS),
	SC_REFUSE(0, "gitfile", SC_READS),
	SC_REFUSE(0, "infofile", SC_READS),
	SC_REFUSE(0, "hintro", SC_READS),
	SC_REFUSE(0, "houtro", SC_READS),
};

/*
 * The value of an option is the next word.  Versions differ in which options take it from
 * there, so it must not be one that could be an option by itself.
 */
static int tree_value(struct sc_judge *judge, const char *name, size_t len, uint32_t index)
{
	if (index >= judge->count)
		return sc_judge_refuse_option(judge, name, len, "its value is missing");
	if (sc_judge_is_option(judge, &judge->words[index]))
		return sc_judge_refuse_option(
			judge, name, len, "its value must not start with '-'");
	sc_judge_take(judge, &judge->words[index], SC_ROLE_TEXT);
	return 0;
}

/* Letters in a bundle that take values take one word each, in order. */
static int tree_bundle(struct sc_judge *judge, uint32_t *index)
{
	const sc_policy_word *word = &judge->words[*index];
	const char *text = sc_policy_text(judge->plan, word);
	int rc;

	for (uint32_t i = 1; i < word->len; i++) {
		if (text[i] == 'o' || text[i] == 'R')
			return sc_judge_refuse_option(judge, text + i, 1, SC_WRITES);
		if (strchr(TREE_VALUES, text[i])) {
			rc = tree_value(judge, text + i, 1, ++*index);
			if (rc < 0)
				return rc;
		} else if (!strchr(TREE_FLAGS, text[i])) {
			return sc_judge_refuse_option(judge, text + i, 1,
				"it is not on the list of read-only options");
		}
	}
	return 0;
}

/* Exact names only: tree knows no abbreviations. */
static int tree_long_option(struct sc_judge *judge, uint32_t *index)
{
	const sc_policy_word *word = &judge->words[*index];
	const char *text = sc_policy_text(judge->plan, word);
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < sizeof(tree_long) / sizeof(tree_long[0]); i++) {
		const struct sc_opt *opt = &tree_long[i];
		if (strlen(opt->name) != len - 2 ||
			memcmp(opt->name, text + 2, len - 2) != 0)
			continue;
		if (opt->why)
			return sc_judge_refuse_option(judge, text, len, opt->why);
		if (opt->arg == SC_ARG_NONE && text[len])
			return sc_judge_refuse_option(
				judge, text, len, "it takes no value");
		if (opt->arg == SC_ARG_NONE || text[len])
			return 0;
		return tree_value(judge, text, len, ++*index);
	}
	return sc_judge_refuse_option(
		judge, text, len, "it is not on the list of read-only options");
}

static int judge_tree(struct sc_judge *judge)
{
	bool operands_only = false;
	int rc;

	for (uint32_t i = 1; i < judge->count; i++) {
		sc_policy_word *word = &judge->words[i];
		if (operands_only || !sc_judge_is_option(judge, word)) {
			sc_judge_take(judge, word, SC_ROLE_FILE);
			continue;
		}
		rc = sc_judge_spelled_out(judge, word);
		if (rc < 0)
			return rc;
		if (sc_judge_is(judge, word, "--"))
			operands_only = true;
		else if (sc_policy_text(judge->plan, word)[1] == '-')
			rc = tree_long_option(judge, &i);
		else
			rc = tree_bundle(judge, &i);
		if (rc < 0)
			return rc;
	}
	return 0;
}

const struct sc_spec sc_spec_tree = {.name = "tree", .judge = judge_tree};
