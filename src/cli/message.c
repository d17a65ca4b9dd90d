/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "cli.h"
#include "terminal.h"

/* Long enough for a path and what is wrong with it. */
#define MESSAGE_MAX 8192

/* One line; file names and engine texts may hold anything. */
static void say(const char *prefix, const char *fmt, va_list args)
{
	char text[MESSAGE_MAX];

	if (vsnprintf(text, sizeof(text), fmt, args) < 0)
		return;
	terminal_one_line(text);
	(void)fprintf(stderr, "sandcell: %s%s\n", prefix, text);
}

void cli_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say("", fmt, args);
	va_end(args);
}

void cli_warning(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say("warning: ", fmt, args);
	va_end(args);
}

int cli_usage(const struct cli_command *command, const char *fmt, ...)
{
	char text[MESSAGE_MAX - 256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	cli_error("%s: %s; see 'sandcell %s --help'", command->name, text, command->name);
	return EXIT_CODE_USAGE;
}
