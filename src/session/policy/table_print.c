/* SPDX-License-Identifier: MIT */
/* echo, printf, date, uname, printenv, env: output and info. */
#include "session/policy/tables.h"

/* To echo every word is text; -n and -e change the output only. */
static int judge_echo(struct sc_judge *judge)
{
	for (uint32_t i = 1; i < judge->count; i++)
		sc_judge_take(judge, &judge->words[i], SC_ROLE_ARG);
	return 0;
}

const struct sc_spec sc_spec_echo = {.name = "echo", .judge = judge_echo};

static const struct sc_opt printf_opts[] = {
	SC_HELP,
	SC_REFUSE('v', NULL, "it sets a shell's variable"),
};

static int printf_operand(struct sc_judge *judge, uint32_t index, sc_policy_word *word)
{
	sc_judge_take(judge, word, index == 0 ? SC_ROLE_TEXT : SC_ROLE_ARG);
	return 0;
}

const struct sc_spec sc_spec_printf = {
	.name = "printf",
	SC_OPTS(printf_opts),
	.flags = SC_SPEC_NO_PERMUTE,
	.operand = printf_operand,
};

static const struct sc_opt date_opts[] = {
	SC_VALUE('d', "date"),
	SC_FLAG(0, "debug"),
	SC_MAYBE('I', "iso-8601"),
	SC_FLAG('R', "rfc-email"),
	SC_FLAG(0, "rfc-822"),
	SC_FLAG(0, "rfc-2822"),
	SC_VALUE(0, "rfc-3339"),
	SC_VALUE('r', "reference"),
	SC_FLAG(0, "resolution"),
	SC_FLAG('u', "utc"),
	SC_FLAG(0, "uct"),
	SC_FLAG(0, "universal"),
	SC_HELP,
	SC_REFUSE('s', "set", "it sets the clock"),
	SC_REFUSE('f', "file", SC_READS),
};

static int date_operand(struct sc_judge *judge, uint32_t index, sc_policy_word *word)
{
	(void)index;
	if (word->lead == 0 || *sc_policy_text(judge->plan, word) != '+')
		return sc_judge_refuse_word(judge, word, "Operand",
			"without a '+' in front it would set the clock");
	sc_judge_take(judge, word, SC_ROLE_TEXT);
	return 0;
}

const struct sc_spec sc_spec_date = {
	.name = "date",
	SC_OPTS(date_opts),
	.operands_max = 1,
	.too_many = "it takes one format",
	.operand = date_operand,
};

static const struct sc_opt uname_opts[] = {
	SC_FLAG('a', "all"),
	SC_FLAG('s', "kernel-name"),
	SC_FLAG(0, "sysname"),
	SC_FLAG('n', "nodename"),
	SC_FLAG('r', "kernel-release"),
	SC_FLAG(0, "release"),
	SC_FLAG('v', "kernel-version"),
	SC_FLAG('m', "machine"),
	SC_FLAG('p', "processor"),
	SC_FLAG('i', "hardware-platform"),
	SC_FLAG('o', "operating-system"),
	SC_HELP,
};

const struct sc_spec sc_spec_uname = {
	.name = "uname",
	SC_OPTS(uname_opts),
	.flags = SC_SPEC_NO_OPERANDS,
	.too_many = "it takes none",
};

static const struct sc_opt printenv_opts[] = {
	SC_FLAG('0', "null"),
	SC_HELP,
};

const struct sc_spec sc_spec_printenv = {
	.name = "printenv",
	SC_OPTS(printenv_opts),
	.flags = SC_SPEC_TEXT | SC_SPEC_NO_PERMUTE,
};

static const struct sc_opt env_opts[] = {
	SC_FLAG('i', "ignore-environment"),
	SC_FLAG('0', "null"),
	SC_VALUE('u', "unset"),
	SC_HELP,
	SC_REFUSE('C', "chdir", "it is for running a program"),
	SC_REFUSE('S', "split-string", SC_RUNS),
	SC_REFUSE(0, "block-signal", "it is for running a program"),
	SC_REFUSE(0, "default-signal", "it is for running a program"),
	SC_REFUSE(0, "ignore-signal", "it is for running a program"),
	SC_REFUSE(0, "list-signal-handling", "it is for running a program"),
	SC_REFUSE('v', "debug", "it is for running a program"),
};

const struct sc_spec sc_spec_env = {
	.name = "env",
	SC_OPTS(env_opts),
	.flags = SC_SPEC_NO_OPERANDS | SC_SPEC_NO_PERMUTE,
	.too_many = "env only displays here, it sets nothing and runs nothing",
};
