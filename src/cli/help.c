/* SPDX-License-Identifier: MIT */
/*
 * Texts made from the command table: the overview, --help, and the table itself as JSON,
 * which the tests and other tools read.
 */
#include <stdio.h>
#include <string.h>

#include <sandcell/version.h>

#include "cli.h"

/* Columns; the help of an option starts at the second one. */
#define INDENT 26

/* "-h, --help", "--memory SIZE", "-c CODE"; answers the columns taken. */
static int print_spelling(const struct cli_option *option)
{
	int columns = 0;

	if (option->letter)
		columns += printf("-%c%s", option->letter, option->name ? ", " : "");
	if (option->name)
		columns += printf("--%s", option->name);
	if (option->value)
		columns += printf(" %s", option->value);
	return columns;
}

static void print_option(const struct cli_option *option)
{
	int columns;

	columns = printf("  ");
	columns += print_spelling(option);
	if (columns >= INDENT)
		columns = printf("\n") - 1;
	(void)printf("%*s%s\n", INDENT - columns, "", option->help);
}

static void print_options(const struct cli_option *table)
{
	for (; table->name || table->letter; table++)
		print_option(table);
}

void cli_print_help(const struct cli_command *command)
{
	for (size_t i = 0; command->forms[i]; i++)
		(void)printf("%s sandcell %s [OPTIONS]%s%s\n", i == 0 ? "Usage:" : "      ",
			command->name, command->forms[i][0] ? " " : "", command->forms[i]);
	(void)printf("\n%s\n\nOptions:\n", command->summary);
	print_options(command->options);
	print_options(cli_common_options);
	if (command->notes)
		(void)printf("\n%s", command->notes);
}

void cli_print_overview(void)
{
	(void)printf("Usage: sandcell COMMAND [OPTIONS] ...\n\n"
		     "Runs code that nobody has reviewed in a locked-down container.\n\n"
		     "Commands:\n");
	for (size_t i = 0; cli_commands[i]; i++)
		(void)printf(
			"  %-12s  %s\n", cli_commands[i]->name, cli_commands[i]->summary);
	(void)printf("\nSee 'sandcell COMMAND --help' for one of them, and sandcell(1).\n");
}

/* The texts of the tables hold nothing else that JSON needs escaped. */
static void print_json_text(const char *text)
{
	(void)putchar('"');
	for (; *text; text++) {
		if (*text == '\n')
			(void)printf("\\n");
		else if (*text == '"' || *text == '\\')
			(void)printf("\\%c", *text);
		else
			(void)putchar(*text);
	}
	(void)putchar('"');
}

static void print_json_member(const char *name, const char *text)
{
	(void)printf("\"%s\":", name);
	if (text)
		print_json_text(text);
	else
		(void)printf("null");
}

static void print_json_options(const struct cli_option *table, const char *separator)
{
	for (; table->name || table->letter; table++, separator = ",") {
		char letter[2] = {table->letter, '\0'};

		(void)printf("%s{", separator);
		print_json_member("name", table->name);
		(void)putchar(',');
		print_json_member("letter", table->letter ? letter : NULL);
		(void)putchar(',');
		print_json_member("value", table->value);
		(void)putchar(',');
		print_json_member("help", table->help);
		(void)printf(",\"repeatable\":%s}",
			table->kind == VALUE_LIST ? "true" : "false");
	}
}

static void print_json_command(const struct cli_command *command)
{
	(void)putchar('{');
	print_json_member("name", command->name);
	(void)putchar(',');
	print_json_member("summary", command->summary);
	(void)printf(",\"forms\":[");
	for (size_t i = 0; command->forms[i]; i++) {
		(void)printf("%s", i ? "," : "");
		print_json_text(command->forms[i]);
	}
	(void)printf("],\"options\":[");
	print_json_options(command->options, "");
	print_json_options(cli_common_options,
		command->options->name || command->options->letter ? "," : "");
	(void)printf("]}\n");
}

void cli_print_table(void)
{
	for (size_t i = 0; cli_commands[i]; i++)
		print_json_command(cli_commands[i]);
}
