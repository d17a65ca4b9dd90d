/* SPDX-License-Identifier: MIT */
#include "cli.h"

static int arg_json;

static const char *const forms[] = {"[COMMAND]", NULL};

static const struct cli_option options[] = {
	{.name = "json",
		.help = "print all commands and options, one command a line",
		.kind = VALUE_FLAG,
		.target = &arg_json},
	{0},
};

static int cmd_help(const struct cli_context *context)
{
	const struct cli_command *command;

	if (arg_json) {
		cli_print_table();
		return EXIT_CODE_OK;
	}
	if (context->count == 0) {
		cli_print_overview();
		return EXIT_CODE_OK;
	}
	command = cli_find_command(context->operands[0]);
	if (!command)
		return cli_usage(
			context->command, "there is no command '%s'", context->operands[0]);
	cli_print_help(command);
	return EXIT_CODE_OK;
}

const struct cli_command command_help = {
	.name = "help",
	.summary = "Explain the program or one command",
	.forms = forms,
	.options = options,
	.operands_max = 1,
	.fn = cmd_help,
};
