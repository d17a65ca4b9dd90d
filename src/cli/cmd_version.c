/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <sandcell/version.h>

#include "cli.h"

static int arg_json;

static const char *const forms[] = {"", NULL};

static const struct cli_option options[] = {
	{.name = "json",
		.help = "print one JSON object",
		.kind = VALUE_FLAG,
		.target = &arg_json},
	{0},
};

#define BUILT_AGAINST                                                                      \
	((uint32_t)SANDCELL_VERSION_MAJOR << 16 | SANDCELL_VERSION_MINOR << 8 |            \
		SANDCELL_VERSION_PATCH)

static int cmd_version(const struct cli_context *context)
{
	char program[32];

	(void)context;
	(void)snprintf(program, sizeof(program), "%d.%d.%d", SANDCELL_VERSION_MAJOR,
		SANDCELL_VERSION_MINOR, SANDCELL_VERSION_PATCH);
	if (arg_json)
		(void)printf("{\"program\":\"%s\",\"library\":\"%s\"}\n", program,
			sandcell_version_text());
	else if (sandcell_version() == BUILT_AGAINST)
		(void)printf("sandcell %s\n", program);
	else
		(void)printf(
			"sandcell %s (libsandcell %s)\n", program, sandcell_version_text());
	return EXIT_CODE_OK;
}

const struct cli_command command_version = {
	.name = "version",
	.summary = "Print the versions of program and library",
	.forms = forms,
	.options = options,
	.fn = cmd_version,
};
