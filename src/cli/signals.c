/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <stddef.h>
#include <unistd.h>

#include "exit_codes.h"

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};

static sandcell_session *volatile watched;
static volatile sig_atomic_t caught;
static volatile sig_atomic_t asked; /* how often */

int cli_exit_code_of_signal(int number)
{
	return EXIT_CODE_SIGNAL + number;
}

static void on_stop_signal(int number)
{
	sandcell_session *session = watched;

	if (!caught)
		caught = number;
	if (++asked >= 3)
		_exit(cli_exit_code_of_signal(number));
	if (session) {
		sandcell_interrupt(session);
		(void)alarm(1);
	}
}

/* The signal may have come just before a write that then waits for a stalled reader: this
 * one wakes it up, again and again. */
static void on_alarm(int number)
{
	(void)number;
	if (watched)
		(void)alarm(1);
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler}; /* no SA_RESTART, see above */

	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(number, &action, NULL);
}

void cli_signals_init(void)
{
	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(stop_signals[0]); i++) {
		struct sigaction old;

		/* nohup and a shell's background jobs come with signals ignored: so be it.
		 */
		if (sigaction(stop_signals[i], NULL, &old) == 0 &&
			old.sa_handler != SIG_IGN)
			handle(stop_signals[i], on_stop_signal);
	}
	handle(SIGALRM, on_alarm);
	handle(SIGPIPE, SIG_IGN);
}

void cli_signals_watch(sandcell_session *session)
{
	watched = session;
	if (!session)
		(void)alarm(0);
	else if (caught)
		sandcell_interrupt(session);
}

int cli_signals_stop(void *user)
{
	(void)user;
	return caught != 0;
}

int cli_signals_caught(void)
{
	return caught;
}
