/* SPDX-License-Identifier: MIT */
/*
 * Reads a command line by a command's option table.  Long options are taken by their whole
 * name, "--name value" or "--name=value"; letters as "-c value" or "-cvalue".
 */
#include <stdlib.h>
#include <string.h>

#include <sandcell/session.h>

#include "cli.h"
#include "values.h"

struct parser {
	const struct cli_command *command;
	char **argv;
	int argc;
	int next; /* first argument not yet looked at */
	int help;
};

static const struct cli_option *find_in(
	const struct cli_option *table, const char *name, size_t len, char letter)
{
	for (; table->name || table->letter; table++) {
		if (letter ? table->letter == letter
			   : table->name && strlen(table->name) == len &&
					memcmp(table->name, name, len) == 0)
			return table;
	}
	return NULL;
}

static const struct cli_option *find_option(
	const struct parser *parser, const char *name, size_t len, char letter)
{
	const struct cli_option *option;

	option = find_in(parser->command->options, name, len, letter);
	return option ? option : find_in(cli_common_options, name, len, letter);
}

/* "--memory", or "-c" for an option that has only a letter. */
static const char *spelling(const struct cli_option *option)
{
	static char text[64];
	size_t len = 0;

	text[len++] = '-';
	if (option->name) {
		text[len++] = '-';
		for (const char *at = option->name; *at && len < sizeof(text) - 1; at++)
			text[len++] = *at;
	} else {
		text[len++] = option->letter;
	}
	text[len] = '\0';
	return text;
}

static int append(struct text_list *list, const char *text)
{
	const char **items;

	items = reallocarray(list->items, list->count + 2, sizeof(*items));
	if (!items)
		return -1;
	items[list->count++] = text;
	items[list->count] = NULL;
	list->items = items;
	return 0;
}

static const char *expected(enum value_kind kind)
{
	switch (kind) {
	case VALUE_SIZE:
		return "is not a size; give bytes, or a number with k, m, g or t, such as "
		       "512m";
	case VALUE_DURATION:
		return "is not a duration; give seconds, or a number with ms, s, m, h or "
		       "d, "
		       "such as 1.5s";
	case VALUE_TIMEOUT:
		return "is not a duration; give seconds, a number with ms, s, m, h or d, "
		       "such "
		       "as 1.5s, or none";
	case VALUE_CPUS:
		return "is not a number of CPUs; give a decimal number, such as 1.5";
	default:
		return "is not a number; give a whole number, such as 64";
	}
}

static int complain(const struct parser *parser, const struct cli_option *option,
	const char *value, enum value_error error)
{
	const char *why;

	if (error == VALUE_TOO_LARGE)
		why = "is too large";
	else if (error == VALUE_TOO_SMALL)
		why = option->kind == VALUE_TIMEOUT ? "is too small; give none for no limit"
						    : "is too small";
	else
		why = expected(option->kind);
	return cli_usage(parser->command, "%s '%s' %s", spelling(option), value, why);
}

static enum value_error parse_timeout(const char *text, uint32_t *ms_out)
{
	if (strcmp(text, "none") == 0 || strcmp(text, "0") == 0) {
		*ms_out = SANDCELL_NO_TIMEOUT;
		return VALUE_OK;
	}
	return cli_parse_duration(text, ms_out);
}

static int store(
	const struct parser *parser, const struct cli_option *option, const char *value)
{
	enum value_error error = VALUE_OK;

	switch (option->kind) {
	case VALUE_FLAG:
		*(int *)option->target = 1;
		break;
	case VALUE_TEXT:
		*(const char **)option->target = value;
		break;
	case VALUE_LIST:
		if (append(option->target, value) < 0) {
			cli_error("out of memory");
			return EXIT_CODE_ENGINE;
		}
		break;
	case VALUE_SIZE:
		error = cli_parse_size(value, option->target);
		break;
	case VALUE_DURATION:
		error = cli_parse_duration(value, option->target);
		break;
	case VALUE_TIMEOUT:
		error = parse_timeout(value, option->target);
		break;
	case VALUE_CPUS:
		error = cli_parse_cpus(value, option->target);
		break;
	case VALUE_COUNT:
		error = cli_parse_count(value, option->target);
		break;
	}
	return error == VALUE_OK ? EXIT_CODE_OK : complain(parser, option, value, error);
}

/* Stores option, whose value is what stands at attached or, if that is NULL, the next
 * argument. */
static int take_value(
	struct parser *parser, const struct cli_option *option, const char *attached)
{
	if (option->kind == VALUE_FLAG) {
		if (attached)
			return cli_usage(parser->command,
				"%s takes no value, '%s' was given", spelling(option),
				attached);
		if (option == &cli_common_options[0])
			parser->help = 1;
		return option->target ? store(parser, option, NULL) : EXIT_CODE_OK;
	}
	if (!attached) {
		if (parser->next >= parser->argc)
			return cli_usage(parser->command, "%s needs a value, %s",
				spelling(option), option->value);
		attached = parser->argv[parser->next++];
	}
	return store(parser, option, attached);
}

static int take_long(struct parser *parser, const char *name)
{
	const struct cli_option *option;
	size_t len = strcspn(name, "=");

	option = find_option(parser, name, len, 0);
	if (!option)
		return cli_usage(
			parser->command, "unknown option '--%.*s'", (int)len, name);
	return take_value(parser, option, name[len] == '=' ? name + len + 1 : NULL);
}

/* One letter, or several flags in one argument. */
static int take_letters(struct parser *parser, const char *letters)
{
	int rc = EXIT_CODE_OK;

	for (; *letters && rc == EXIT_CODE_OK; letters++) {
		const struct cli_option *option = find_option(parser, NULL, 0, *letters);

		if (!option)
			return cli_usage(parser->command, "unknown option '-%c'", *letters);
		if (option->kind != VALUE_FLAG)
			return take_value(parser, option, letters[1] ? letters + 1 : NULL);
		rc = take_value(parser, option, NULL);
	}
	return rc;
}

int cli_parse(const struct cli_command *command, int argc, char **argv,
	struct cli_context *context, int *help_out)
{
	struct parser parser = {.command = command, .argv = argv, .argc = argc};
	size_t count = 0;
	int options = 1; /* still read as such */

	/* Operands move to the front of argv, over what was read already. */
	while (parser.next < argc) {
		char *word = argv[parser.next++];
		int rc = EXIT_CODE_OK;

		if (!options || word[0] != '-' || word[1] == '\0') {
			argv[count++] = word;
			options = options && count != command->stop_after;
		} else if (strcmp(word, "--") == 0) {
			options = 0;
		} else if (word[1] == '-') {
			rc = take_long(&parser, word + 2);
		} else {
			rc = take_letters(&parser, word + 1);
		}
		if (rc != EXIT_CODE_OK)
			return rc;
	}
	argv[count] = NULL;
	*help_out = parser.help;
	if (!parser.help && count > command->operands_max)
		return cli_usage(
			command, "unexpected argument '%s'", argv[command->operands_max]);
	*context = (struct cli_context){command, argv, count};
	return EXIT_CODE_OK;
}
