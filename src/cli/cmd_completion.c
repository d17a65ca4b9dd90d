/* SPDX-License-Identifier: MIT */
/* Completion scripts for shells, written from the command table. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *const forms[] = {"bash|zsh|fish", NULL};
static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const struct cli_option options[] = {{0}};

static int is_end(const struct cli_option *option)
{
	return !option->name && !option->letter;
}

/* Inside single quotes; each of special, and what closes the quote, gets a backslash. */
static void print_quoted(const char *text, const char *special, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'')
			(void)printf("%s", quote);
		else
			(void)printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
	}
}

/* ---- bash ------------------------------------------------------------ */

static void bash_words(const struct cli_option *table)
{
	for (; !is_end(table); table++) {
		if (table->letter)
			(void)printf(" -%c", table->letter);
		if (table->name)
			(void)printf(" --%s", table->name);
	}
}

static const char *bash_action(enum completion_kind kind)
{
	switch (kind) {
	case COMPLETE_FILE:
		return "_sandcell_reply -f";
	case COMPLETE_DIR:
		return "_sandcell_reply -d";
	default:
		return ":";
	}
}

/* After an option that takes a value, only that value is offered. */
static void bash_values(const struct cli_option *table)
{
	(void)printf("\t\tcase $previous in\n");
	for (; !is_end(table); table++) {
		if (table->kind == VALUE_FLAG)
			continue;
		(void)printf("\t\t");
		if (table->letter)
			(void)printf("-%c%s", table->letter, table->name ? "|" : "");
		if (table->name)
			(void)printf("--%s", table->name);
		(void)printf(") %s; return ;;\n", bash_action(table->complete));
	}
	(void)printf("\t\tesac\n");
}

static void bash_command(const struct cli_command *command)
{
	(void)printf("\t%s)\n", command->name);
	bash_values(command->options);
	(void)printf("\t\tif [[ $current == -* ]]; then\n\t\t\t_sandcell_reply -W '");
	bash_words(command->options);
	bash_words(cli_common_options);
	(void)printf("'\n\t\telse\n\t\t\t");
	if (command->words) {
		(void)printf("_sandcell_reply -W '");
		for (size_t i = 0; command->words[i]; i++)
			(void)printf(" %s", command->words[i]);
		(void)printf("'\n");
	} else {
		(void)printf("%s\n", bash_action(command->complete));
	}
	(void)printf("\t\tfi ;;\n");
}

static void bash(void)
{
	(void)printf(
		"# bash completion of sandcell; source it, or put it where bash looks\n"
		"_sandcell_reply() {\n"
		"\t[[ $1 == -W ]] || compopt -o filenames 2>/dev/null\n"
		"\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$current\")\n"
		"}\n"
		"_sandcell() {\n"
		"\tlocal current=${COMP_WORDS[COMP_CWORD]} "
		"previous=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tCOMPREPLY=()\n"
		"\tif ((COMP_CWORD == 1)); then\n\t\t_sandcell_reply -W '");
	for (size_t i = 0; cli_commands[i]; i++)
		(void)printf(" %s", cli_commands[i]->name);
	(void)printf(" --help --version'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; cli_commands[i]; i++)
		bash_command(cli_commands[i]);
	(void)printf("\tesac\n}\ncomplete -F _sandcell sandcell\n");
}

/* ---- zsh ------------------------------------------------------------- */

static const char *zsh_action(enum completion_kind kind)
{
	switch (kind) {
	case COMPLETE_FILE:
		return "_files";
	case COMPLETE_DIR:
		return "_files -/";
	default:
		return " ";
	}
}

static void zsh_text(const char *text)
{
	print_quoted(text, "[]:\\", "'\\''");
}

static void zsh_option(const struct cli_option *option)
{
	(void)printf(" \\\n\t\t\t'");
	if (option->kind == VALUE_LIST)
		(void)printf("*");
	if (option->name)
		(void)printf("--%s", option->name);
	else
		(void)printf("-%c", option->letter);
	(void)printf("[");
	zsh_text(option->help);
	(void)printf("]");
	if (option->value) {
		(void)printf(":");
		zsh_text(option->value);
		(void)printf(":%s", zsh_action(option->complete));
	}
	(void)printf("'");
}

static void zsh_command(const struct cli_command *command)
{
	(void)printf("\t%s)\n\t\t_arguments -s", command->name);
	for (const struct cli_option *at = command->options; !is_end(at); at++)
		zsh_option(at);
	for (const struct cli_option *at = cli_common_options; !is_end(at); at++)
		zsh_option(at);
	if (command->words) {
		(void)printf(" \\\n\t\t\t'1:word:(");
		for (size_t i = 0; command->words[i]; i++)
			(void)printf("%s%s", i ? " " : "", command->words[i]);
		(void)printf(")'");
	} else if (command->operands_max > 0) {
		(void)printf(" \\\n\t\t\t'*:argument:%s'", zsh_action(command->complete));
	}
	(void)printf(" ;;\n");
}

static void zsh(void)
{
	(void)printf("#compdef sandcell\n"
		     "_sandcell() {\n"
		     "\tlocal -a commands=(\n");
	for (size_t i = 0; cli_commands[i]; i++) {
		(void)printf("\t\t'%s:", cli_commands[i]->name);
		zsh_text(cli_commands[i]->summary);
		(void)printf("'\n");
	}
	(void)printf("\t)\n"
		     "\tif ((CURRENT == 2)); then\n"
		     "\t\t_describe command commands\n"
		     "\t\treturn\n"
		     "\tfi\n"
		     "\tshift words\n"
		     "\t((CURRENT--))\n"
		     "\tcase $words[1] in\n");
	for (size_t i = 0; cli_commands[i]; i++)
		zsh_command(cli_commands[i]);
	(void)printf("\tesac\n}\n"
		     "if [[ $funcstack[1] == _sandcell ]]; then\n\t_sandcell \"$@\"\n"
		     "else\n\tcompdef _sandcell sandcell\nfi\n");
}

/* ---- fish ------------------------------------------------------------ */

static void fish_text(const char *text)
{
	(void)printf(" '");
	print_quoted(text, "\\", "\\'");
	(void)printf("'");
}

static void fish_line(const char *command)
{
	(void)printf("complete -c sandcell -n '__fish_seen_subcommand_from %s'", command);
}

static const char *fish_action(const struct cli_option *option)
{
	if (option->kind == VALUE_FLAG)
		return "";
	switch (option->complete) {
	case COMPLETE_FILE:
		return " -r -F";
	case COMPLETE_DIR:
		return " -x -a '(__fish_complete_directories)'";
	default:
		return " -x";
	}
}

static void fish_options(const char *command, const struct cli_option *table)
{
	for (; !is_end(table); table++) {
		fish_line(command);
		if (table->letter)
			(void)printf(" -s %c", table->letter);
		if (table->name)
			(void)printf(" -l %s", table->name);
		(void)printf("%s -d", fish_action(table));
		fish_text(table->help);
		(void)printf("\n");
	}
}

static void fish_command(const struct cli_command *command)
{
	(void)printf(
		"complete -c sandcell -n __fish_use_subcommand -a %s -d", command->name);
	fish_text(command->summary);
	(void)printf("\n");
	fish_options(command->name, command->options);
	fish_options(command->name, cli_common_options);
	for (size_t i = 0; command->words && command->words[i]; i++) {
		fish_line(command->name);
		(void)printf(" -a %s\n", command->words[i]);
	}
	if (command->complete != COMPLETE_NOTHING) {
		fish_line(command->name);
		(void)printf(" -F\n");
	}
}

static void fish(void)
{
	(void)printf("# fish completion of sandcell\ncomplete -c sandcell -f\n");
	for (size_t i = 0; cli_commands[i]; i++)
		fish_command(cli_commands[i]);
}

static int cmd_completion(const struct cli_context *context)
{
	static void (*const print[])(void) = {bash, zsh, fish};

	if (context->count == 0)
		return cli_usage(context->command, "name a shell: bash, zsh or fish");
	for (size_t i = 0; i < COUNT_OF(print); i++) {
		if (strcmp(context->operands[0], shells[i]) == 0) {
			print[i]();
			return EXIT_CODE_OK;
		}
	}
	return cli_usage(context->command,
		"there is no completion for '%s', only for bash, zsh and fish",
		context->operands[0]);
}

const struct cli_command command_completion = {
	.name = "completion",
	.summary = "Print a completion script for a shell",
	.forms = forms,
	.options = options,
	.words = shells,
	.operands_max = 1,
	.fn = cmd_completion,
};
