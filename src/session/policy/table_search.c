/* SPDX-License-Identifier: MIT */
/* grep, which: where is it.  find has a file of its own. */
#include "session/policy/tables.h"

static const struct sc_opt grep_opts[] = {
	SC_FLAG('E', "extended-regexp"),
	SC_FLAG('F', "fixed-strings"),
	SC_FLAG('G', "basic-regexp"),
	SC_FLAG('P', "perl-regexp"),
	SC_JUDGED('e', "regexp"),
	SC_FLAG('i', "ignore-case"),
	SC_FLAG('y', NULL),
	SC_FLAG(0, "no-ignore-case"),
	SC_FLAG('w', "word-regexp"),
	SC_FLAG('x', "line-regexp"),
	SC_FLAG('z', "null-data"),
	SC_FLAG('s', "no-messages"),
	SC_FLAG('v', "invert-match"),
	SC_FLAG('V', "version"),
	SC_FLAG(0, "help"),
	SC_VALUE('m', "max-count"),
	SC_FLAG('b', "byte-offset"),
	SC_FLAG('n', "line-number"),
	SC_FLAG(0, "line-buffered"),
	SC_FLAG('H', "with-filename"),
	SC_FLAG('h', "no-filename"),
	SC_VALUE(0, "label"),
	SC_FLAG('o', "only-matching"),
	SC_FLAG('q', "quiet"),
	SC_FLAG(0, "silent"),
	SC_VALUE(0, "binary-files"),
	SC_FLAG('a', "text"),
	SC_FLAG('I', NULL),
	SC_VALUE('d', "directories"),
	SC_VALUE('D', "devices"),
	SC_FLAG('r', "recursive"),
	SC_FLAG('R', "dereference-recursive"),
	SC_VALUE(0, "include"),
	SC_VALUE(0, "exclude"),
	SC_VALUE(0, "exclude-dir"),
	SC_FLAG('L', "files-without-match"),
	SC_FLAG('l', "files-with-matches"),
	SC_FLAG('c', "count"),
	SC_FLAG('T', "initial-tab"),
	SC_FLAG('Z', "null"),
	SC_VALUE('B', "before-context"),
	SC_VALUE('A', "after-context"),
	SC_VALUE('C', "context"),
	SC_VALUE(0, "group-separator"),
	SC_FLAG(0, "no-group-separator"),
	SC_MAYBE(0, "color"),
	SC_MAYBE(0, "colour"),
	SC_FLAG('U', "binary"),
	SC_REFUSE('f', "file", SC_READS),
	SC_REFUSE(0, "exclude-from", SC_READS),
};

/* With -e the first operand is a file too. */
static int grep_pattern(
	struct sc_judge *judge, const struct sc_opt *opt, struct sc_value value)
{
	(void)opt;
	(void)value;
	judge->seen = true;
	return 0;
}

const struct sc_spec sc_spec_grep = {
	.name = "grep",
	SC_OPTS(grep_opts),
	.flags = SC_SPEC_DIGITS | SC_SPEC_TEXT_FIRST,
	.value = grep_pattern,
};

static const struct sc_opt which_opts[] = {
	SC_FLAG('a', NULL),
};

const struct sc_spec sc_spec_which = {
	.name = "which",
	SC_OPTS(which_opts),
	.flags = SC_SPEC_TEXT | SC_SPEC_NO_PERMUTE,
};
