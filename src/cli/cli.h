/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_CLI_H
#define SANDCELL_CLI_CLI_H

/*
 * The command table.  Each command is one entry, with its options in one table; parsing,
 * usage, --help, shell completion and the test of the manual page are all made from it, so
 * there is no second list.  Options write into `arg_` variables of their command's file.
 *
 * The program is one thread; only signals.c runs anything asynchronously.
 */

#include <stddef.h>
#include <stdint.h>

#include "exit_codes.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* What an option takes, and so what its target is. */
enum value_kind {
	VALUE_FLAG = 0, /* int: set to 1; takes no value */
	VALUE_TEXT,	/* const char * */
	VALUE_LIST,	/* struct text_list: may be given again */
	VALUE_SIZE,	/* uint64_t, bytes, never 0 */
	VALUE_DURATION, /* uint32_t, ms, never 0 */
	VALUE_TIMEOUT,	/* the same, but "0" and "none" mean SANDCELL_NO_TIMEOUT */
	VALUE_CPUS,	/* uint32_t, thousandths of a CPU, never 0 */
	VALUE_COUNT	/* uint32_t, never 0 */
};

/* What a shell offers for the value. */
enum completion_kind { COMPLETE_NOTHING = 0, COMPLETE_FILE, COMPLETE_DIR };

struct text_list {
	const char **items; /* NULL-terminated; NULL while empty */
	size_t count;
};

/* A table ends with an entry that has neither a name nor a letter. */
struct cli_option {
	const char *name;  /* without its dashes; NULL: only a letter */
	char letter;	   /* 0: only a name */
	const char *value; /* as the help shows it; NULL for VALUE_FLAG */
	const char *help;
	enum value_kind kind;
	enum completion_kind complete;
	void *target;
};

struct cli_context {
	const struct cli_command *command;
	char **operands; /* what is left once the options are gone; NULL-terminated */
	size_t count;
};

struct cli_command {
	const char *name;
	const char *summary;
	const char *const *forms; /* what may follow the options; NULL-terminated */
	const char *notes;	  /* the end of its --help; NULL: none */
	const struct cli_option *options;
	const char *const *words;      /* what the operand may be; NULL: not a fixed set */
	enum completion_kind complete; /* of the operands */
	size_t stop_after; /* options end with this operand (a script's follow); 0: never */
	size_t operands_max;
	int (*fn)(const struct cli_context *context); /* an enum exit_code, or a script's */
};

extern const struct cli_command *const cli_commands[];	      /* NULL-terminated */
extern const struct cli_option cli_common_options[];	      /* of every command: --help */
const struct cli_command *cli_find_command(const char *name); /* NULL: none */

extern const struct cli_command command_run;
extern const struct cli_command command_open;
extern const struct cli_command command_exec;
extern const struct cli_command command_reset;
extern const struct cli_command command_interrupt;
extern const struct cli_command command_ps;
extern const struct cli_command command_stats;
extern const struct cli_command command_close;
extern const struct cli_command command_gc;
extern const struct cli_command command_doctor;
extern const struct cli_command command_validate;
extern const struct cli_command command_version;
extern const struct cli_command command_help;
extern const struct cli_command command_completion;

/* Fills the targets and the context.  Answers EXIT_CODE_OK, or complains and answers
 * EXIT_CODE_USAGE; *help_out is 1 when --help was asked for. */
int cli_parse(const struct cli_command *command, int argc, char **argv,
	struct cli_context *context, int *help_out);

/* One line on stderr, "sandcell: ..."; what a terminal would obey becomes '?'. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void cli_warning(const char *fmt, ...);
/* The same about the command line, naming the help to read; answers EXIT_CODE_USAGE. */
__attribute__((format(printf, 2, 3))) int cli_usage(
	const struct cli_command *command, const char *fmt, ...);

void cli_print_overview(void); /* all commands */
void cli_print_help(const struct cli_command *command);
void cli_print_table(void); /* all of it as JSON, one command a line */

#endif
