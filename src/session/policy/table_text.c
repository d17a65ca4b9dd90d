/* SPDX-License-Identifier: MIT */
/* cut, sort, uniq, wc, tr, strings: text processing without a language. */
#include "session/policy/tables.h"

static const struct sc_opt cut_opts[] = {
	SC_VALUE('b', "bytes"),
	SC_VALUE('c', "characters"),
	SC_VALUE('d', "delimiter"),
	SC_VALUE('f', "fields"),
	SC_FLAG('n', NULL),
	SC_FLAG(0, "complement"),
	SC_FLAG('s', "only-delimited"),
	SC_VALUE(0, "output-delimiter"),
	SC_FLAG('z', "zero-terminated"),
	SC_HELP,
};

const struct sc_spec sc_spec_cut = {.name = "cut", SC_OPTS(cut_opts)};

static const struct sc_opt sort_opts[] = {
	SC_FLAG('b', "ignore-leading-blanks"),
	SC_FLAG('d', "dictionary-order"),
	SC_FLAG('f', "ignore-case"),
	SC_FLAG('g', "general-numeric-sort"),
	SC_FLAG('i', "ignore-nonprinting"),
	SC_FLAG('M', "month-sort"),
	SC_FLAG('h', "human-numeric-sort"),
	SC_FLAG('n', "numeric-sort"),
	SC_FLAG('R', "random-sort"),
	SC_FLAG('r', "reverse"),
	SC_VALUE(0, "sort"),
	SC_FLAG('V', "version-sort"),
	SC_VALUE(0, "batch-size"),
	SC_FLAG('c', NULL),
	SC_MAYBE(0, "check"),
	SC_FLAG('C', NULL),
	SC_FLAG(0, "debug"),
	SC_VALUE('k', "key"),
	SC_FLAG('m', "merge"),
	SC_FLAG('s', "stable"),
	SC_VALUE('S', "buffer-size"),
	SC_VALUE('t', "field-separator"),
	SC_VALUE(0, "parallel"),
	SC_FLAG('u', "unique"),
	SC_FLAG('z', "zero-terminated"),
	SC_HELP,
	SC_REFUSE('o', "output", SC_WRITES),
	SC_REFUSE('T', "temporary-directory", "temporary files have their place already"),
	SC_REFUSE(0, "compress-program", SC_RUNS),
	SC_REFUSE(0, "files0-from", SC_READS),
	SC_REFUSE(0, "random-source", SC_READS),
};

const struct sc_spec sc_spec_sort = {.name = "sort", SC_OPTS(sort_opts)};

static const struct sc_opt uniq_opts[] = {
	SC_FLAG('c', "count"),
	SC_FLAG('d', "repeated"),
	SC_FLAG('D', NULL),
	SC_MAYBE(0, "all-repeated"),
	SC_VALUE('f', "skip-fields"),
	SC_MAYBE(0, "group"),
	SC_FLAG('i', "ignore-case"),
	SC_VALUE('s', "skip-chars"),
	SC_FLAG('u', "unique"),
	SC_FLAG('z', "zero-terminated"),
	SC_VALUE('w', "check-chars"),
	SC_HELP,
};

/* Not permuted: to a uniq that does not permute either, an option behind the operand is
 * the file to write. */
const struct sc_spec sc_spec_uniq = {
	.name = "uniq",
	SC_OPTS(uniq_opts),
	.flags = SC_SPEC_PATHS | SC_SPEC_NO_PERMUTE,
	.operands_max = 1,
	.too_many = "a second operand is a file to write",
};

static const struct sc_opt wc_opts[] = {
	SC_FLAG('c', "bytes"),
	SC_FLAG('m', "chars"),
	SC_FLAG('l', "lines"),
	SC_FLAG('L', "max-line-length"),
	SC_FLAG('w', "words"),
	SC_HELP,
	SC_REFUSE(0, "files0-from", SC_READS),
};

const struct sc_spec sc_spec_wc = {.name = "wc", SC_OPTS(wc_opts)};

static const struct sc_opt tr_opts[] = {
	SC_FLAG('c', "complement"),
	SC_FLAG('C', NULL),
	SC_FLAG('d', "delete"),
	SC_FLAG('s', "squeeze-repeats"),
	SC_FLAG('t', "truncate-set1"),
	SC_HELP,
};

const struct sc_spec sc_spec_tr = {
	.name = "tr",
	SC_OPTS(tr_opts),
	.flags = SC_SPEC_TEXT | SC_SPEC_NO_PERMUTE,
	.operands_max = 2,
	.too_many = "it takes two sets at most",
};

static const struct sc_opt strings_opts[] = {
	SC_FLAG('a', "all"),
	SC_FLAG('d', "data"),
	SC_FLAG('f', "print-file-name"),
	SC_JUDGED('n', "bytes"),
	SC_JUDGED('t', "radix"),
	SC_FLAG('w', "include-all-whitespace"),
	SC_FLAG('o', NULL),
	SC_JUDGED('e', "encoding"),
	SC_JUDGED('U', "unicode"),
	SC_JUDGED('s', "output-separator"),
	SC_FLAG('h', "help"),
	SC_FLAG('v', "version"),
	SC_FLAG('V', NULL),
	SC_REFUSE('T', "target", "it chooses the parser"),
};

/* Binutils replace every word "@x" by options that they read from the file x. */
static int strings_value(
	struct sc_judge *judge, const struct sc_opt *opt, struct sc_value value)
{
	if (value.known && value.text[0] != '@')
		return 0;
	return sc_judge_refuse_option(
		judge, &opt->letter, 1, "its value may be read as '@file'");
}

static int strings_operand(struct sc_judge *judge, uint32_t index, sc_policy_word *word)
{
	(void)index;
	if (word->lead > 0 && sc_policy_text(judge->plan, word)[0] == '@')
		return sc_judge_refuse_word(
			judge, word, "Operand", "it takes options from a file");
	sc_judge_take(judge, word, SC_ROLE_FILE);
	return 0;
}

const struct sc_spec sc_spec_strings = {
	.name = "strings",
	SC_OPTS(strings_opts),
	.flags = SC_SPEC_DIGITS,
	.value = strings_value,
	.operand = strings_operand,
};
