/* SPDX-License-Identifier: MIT */
/* Judges a command by the policy of `run --cli`, without an engine. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include <sandcell/cli.h>
#include <sandcell/engine.h>
#include <sandcell/error.h>

#include "cli.h"

static int arg_quoted_operators;
static int arg_json;

static const char *const forms[] = {"COMMAND", NULL};

static const struct cli_option options[] = {
	{.name = "quoted-operators",
		.help = "let operators in quotes be text: awk '$1 > 5'",
		.kind = VALUE_FLAG,
		.target = &arg_quoted_operators},
	{.name = "json",
		.help = "print the verdict as one JSON object",
		.kind = VALUE_FLAG,
		.target = &arg_json},
	{0},
};

/* The command is null when it is not UTF-8, which JSON cannot hold. */
static int print_json(const char *command, const char *violation)
{
	json_t *shown = json_string(command);
	json_t *object;
	char *text;

	object = json_pack("{s:o, s:b, s:s?}", "command", shown ? shown : json_null(),
		"allowed", !violation, "violation", violation);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (!text) {
		cli_error("out of memory");
		return EXIT_CODE_ENGINE;
	}
	(void)puts(text);
	free(text);
	return violation ? EXIT_CODE_DENIED : EXIT_CODE_OK;
}

static int cmd_validate(const struct cli_context *context)
{
	uint32_t flags = arg_quoted_operators ? SANDCELL_CLI_QUOTED_OPERATORS : 0;
	char *violation = NULL;
	int rc;

	if (context->count == 0)
		return cli_usage(context->command, "name a command, as one argument");
	rc = sandcell_validate_cli_command(context->operands[0], flags, &violation);
	if (rc < 0) {
		cli_error("cannot judge the command: %s", sandcell_status_name(rc));
		return EXIT_CODE_ENGINE;
	}
	if (arg_json) {
		rc = print_json(context->operands[0], violation);
	} else {
		if (violation)
			cli_error("%s", violation);
		rc = rc > 0 ? EXIT_CODE_DENIED : EXIT_CODE_OK;
	}
	sandcell_string_free(violation);
	return rc;
}

const struct cli_command command_validate = {
	.name = "validate",
	.summary = "Say whether the command policy allows a command",
	.forms = forms,
	.options = options,
	.operands_max = 1,
	.fn = cmd_validate,
};
