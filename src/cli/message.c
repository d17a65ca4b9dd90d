/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Long enough for a path and what is wrong with it. */
#define MESSAGE_MAX 8192

/* One line, in one write where the system allows it.  File names and engine texts may hold
 * anything, so what a terminal would act on becomes '?'. */
static void say(const char *prefix, const char *fmt, va_list args)
{
	char text[MESSAGE_MAX];
	int len;

	len = vsnprintf(text, sizeof(text), fmt, args);
	if (len < 0)
		return;
	for (char *at = text; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	}
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

void cli_log(const char *line)
{
	(void)fprintf(stderr, "sandcell: %s\n", line);
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
