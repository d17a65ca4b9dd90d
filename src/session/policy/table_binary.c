/* SPDX-License-Identifier: MIT */
/* od, xxd: bytes.  jq has a file of its own. */
#include <string.h>

#include "session/policy/chars.h"
#include "session/policy/tables.h"

static const struct sc_opt od_opts[] = {
	SC_VALUE('A', "address-radix"),
	SC_VALUE(0, "endian"),
	SC_VALUE('j', "skip-bytes"),
	SC_VALUE('N', "read-bytes"),
	SC_VALUE('S', NULL),
	SC_MAYBE(0, "strings"),
	SC_VALUE('t', "format"),
	SC_FLAG('v', "output-duplicates"),
	SC_MAYBE('w', "width"),
	SC_FLAG(0, "traditional"),
	SC_FLAG('a', NULL),
	SC_FLAG('b', NULL),
	SC_FLAG('B', NULL),
	SC_FLAG('c', NULL),
	SC_FLAG('d', NULL),
	SC_FLAG('D', NULL),
	SC_FLAG('e', NULL),
	SC_FLAG('f', NULL),
	SC_FLAG('F', NULL),
	SC_FLAG('h', NULL),
	SC_FLAG('H', NULL),
	SC_FLAG('i', NULL),
	SC_FLAG('I', NULL),
	SC_FLAG('l', NULL),
	SC_FLAG('L', NULL),
	SC_FLAG('o', NULL),
	SC_FLAG('O', NULL),
	SC_FLAG('s', NULL),
	SC_FLAG('x', NULL),
	SC_FLAG('X', NULL),
	SC_HELP,
};

const struct sc_spec sc_spec_od = {.name = "od", SC_OPTS(od_opts)};

/* ---- xxd: options of one dash, told apart by their first letters ---- */

static const char *const xxd_flags[] = {"-a", "-autoskip", "-b", "-bits", "-C",
	"-capitalize", "-d", "-e", "-E", "-EBCDIC", "-h", "-help", "-i", "-include", "-p",
	"-ps", "-postscript", "-plain", "-u", "-v", "-version"};

static const char *const xxd_values[] = {"-c", "-cols", "-g", "-group", "-groupsize", "-l",
	"-len", "-n", "-name", "-o", "-offset", "-s", "-seek", "-skip"};

static bool is_one_of(const char *text, const char *const *list, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strcmp(text, list[i]) == 0)
			return true;
	}
	return false;
}

/* -c8, -g1, -l0x10, -s-5, -o+1: a value in the same word is a number. */
static bool is_number(const char *text)
{
	text += *text == '+' || *text == '-';
	return sc_is_digit(*text) &&
	       strspn(text, "0123456789abcdefABCDEFxX") == strlen(text);
}

static int xxd_option(struct sc_judge *judge, uint32_t *index)
{
	sc_policy_word *word = &judge->words[*index];
	const char *text = sc_policy_text(judge->plan, word);
	int rc = sc_judge_spelled_out(judge, word);

	if (rc < 0)
		return rc;
	if (text[1] == '-' && text[2])
		text++;
	if (text[1] == 'r')
		return sc_judge_refuse_word(judge, word, "Option", SC_WRITES);
	if (is_one_of(text, xxd_flags, sizeof(xxd_flags) / sizeof(xxd_flags[0])))
		return 0;
	if (strchr("cglos", text[1]) && is_number(text + 2))
		return 0;
	if (!is_one_of(text, xxd_values, sizeof(xxd_values) / sizeof(xxd_values[0])))
		return sc_judge_refuse_word(judge, word, "Option",
			"it is not on the list of read-only options");
	if (++*index >= judge->count)
		return sc_judge_refuse_word(judge, word, "Option", "its value is missing");
	word = &judge->words[*index];
	if (sc_judge_is_option(judge, word) &&
		!is_number(sc_policy_text(judge->plan, word)))
		return sc_judge_refuse_word(
			judge, word, "Value", "it must not start with '-'");
	sc_judge_take(judge, word, SC_ROLE_TEXT);
	return 0;
}

static int judge_xxd(struct sc_judge *judge)
{
	uint32_t i = 1;
	int rc = 0;

	/* The first word that is no option ends them. */
	for (; rc >= 0 && i < judge->count && sc_judge_is_option(judge, &judge->words[i]);
		i++) {
		if (sc_judge_is(judge, &judge->words[i], "--")) {
			sc_judge_take(judge, &judge->words[i++], SC_ROLE_OPTION);
			break;
		}
		rc = xxd_option(judge, &i);
	}
	if (rc < 0 || i >= judge->count)
		return rc;
	sc_judge_take(judge, &judge->words[i], SC_ROLE_PATH);
	if (i + 1 < judge->count)
		return sc_judge_refuse_word(judge, &judge->words[i + 1], "Operand",
			"a second operand is a file to write");
	return 0;
}

const struct sc_spec sc_spec_xxd = {.name = "xxd", .judge = judge_xxd};
