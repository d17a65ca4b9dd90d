/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_EXIT_CODES_H
#define SANDCELL_CLI_EXIT_CODES_H

/*
 * What the program tells a shell.  A promise: scripts depend on these numbers.  `run`
 * passes on the code of sys.exit(n) as it is, so only --json tells an exit(124) from a
 * timeout.
 */
enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILED = 1,	 /* the code raised, or a check of doctor failed */
	EXIT_CODE_USAGE = 2,	 /* the command line, or a value or file that it names */
	EXIT_CODE_TIMEOUT = 124, /* the code ran out of time */
	EXIT_CODE_ENGINE = 125,	 /* engine or library failed; the code's fate is unknown */
	EXIT_CODE_DENIED = 126,	 /* refused by the command policy */
	EXIT_CODE_SIGNAL = 128,	 /* + number of the signal that ended the code, or us */
	EXIT_CODE_INTERRUPTED = 130, /* 128 + SIGINT */
	EXIT_CODE_OOM = 137	     /* killed for memory; 128 + SIGKILL */
};

#endif
