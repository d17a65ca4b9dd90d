/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "signals.h"

const struct cli_command *const cli_commands[] = {
	&command_run,
	&command_open,
	&command_exec,
	&command_reset,
	&command_interrupt,
	&command_ps,
	&command_stats,
	&command_close,
	&command_gc,
	&command_validate,
	&command_doctor,
	&command_completion,
	&command_version,
	&command_help,
	NULL,
};

const struct cli_option cli_common_options[] = {
	{.name = "help", .letter = 'h', .help = "show this help and exit"},
	{0},
};

const struct cli_command *cli_find_command(const char *name)
{
	for (size_t i = 0; cli_commands[i]; i++) {
		if (strcmp(cli_commands[i]->name, name) == 0)
			return cli_commands[i];
	}
	return NULL;
}

/* A descriptor 0, 1 or 2 that the caller closed would be given to the next file or socket
 * opened, and program output would be written into it. */
static int occupy_standard_descriptors(void)
{
	/* Output that goes nowhere must not look like success: /dev/full takes none. */
	static const char *const places[] = {"/dev/null", "/dev/full", "/dev/null"};

	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			open(places[fd], fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			return -1;
	}
	return 0;
}

/* What stdio still holds may fail to be written: a full disk is not a success. */
static int finish(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno == EPIPE)
		return cli_exit_code_of_signal(SIGPIPE);
	cli_error("cannot write to standard output: %m");
	return EXIT_CODE_ENGINE;
}

/* The spellings that people try first: options instead of a command. */
static const char *command_name(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return "help";
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return "version";
	return word;
}

static int run_command(const struct cli_command *command, int argc, char **argv)
{
	struct cli_context context;
	int help = 0;
	int rc;

	rc = cli_parse(command, argc, argv, &context, &help);
	if (rc != EXIT_CODE_OK)
		return rc;
	if (help) {
		cli_print_help(command);
		return EXIT_CODE_OK;
	}
	return command->fn(&context);
}

int main(int argc, char **argv)
{
	const struct cli_command *command;

	if (occupy_standard_descriptors() < 0)
		return EXIT_CODE_ENGINE;
	cli_signals_init();
	if (argc < 2) {
		cli_error("no command given; see 'sandcell --help'");
		return EXIT_CODE_USAGE;
	}
	command = cli_find_command(command_name(argv[1]));
	if (!command) {
		cli_error("unknown %s '%s'; see 'sandcell --help'",
			argv[1][0] == '-' ? "option" : "command", argv[1]);
		return EXIT_CODE_USAGE;
	}
	return finish(run_command(command, argc - 2, argv + 2));
}
