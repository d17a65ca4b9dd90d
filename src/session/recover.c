/* SPDX-License-Identifier: MIT */
#include "session/recover.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "engine/container.h"
#include "engine/events.h"

/* How long the engine may take to notice that a container has ended. */
#define NOTICE_MS      3000
#define NOTICE_STEP_MS 20
/* A stream that broke while the container runs on is believed after this. */
#define RUNNING_MS 500
#define REMOVE_MS  30000

enum sc_loss sc_loss_of(int rc)
{
	switch (rc) {
	case SANDCELL_E_PROTOCOL:
		return SC_LOSS_PROTOCOL;
	case SANDCELL_E_TIMEOUT:
		return SC_LOSS_DEADLINE;
	default:
		return SC_LOSS_STREAM;
	}
}

__attribute__((format(printf, 3, 4))) static void set_verdict(
	struct sc_verdict *verdict, int status, const char *fmt, ...)
{
	va_list args;

	verdict->status = status;
	va_start(args, fmt);
	(void)vsnprintf(verdict->text, sizeof(verdict->text), fmt, args);
	va_end(args);
}

/* ---- why ---- */

/* "9", "KILL" or "SIGKILL", as engines write it; 0: unknown. */
static int signal_number(const char *text)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {
		{"KILL", SIGKILL},
		{"TERM", SIGTERM},
		{"INT", SIGINT},
		{"HUP", SIGHUP},
		{"QUIT", SIGQUIT},
	};
	uint64_t number = 0;

	if (sc_parse_u64(text, 64, &number))
		return (int)number;
	if (strncmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].name, text) == 0)
			return names[i].number;
	}
	return 0;
}

static void set_signal(struct sc_verdict *verdict, int number)
{
	verdict->signal = number;
	verdict->exit_code = 128 + number;
}

static void judge_killed(const struct sc_demise *demise, struct sc_verdict *verdict)
{
	int number = signal_number(demise->signal);

	if (number == 0 && demise->has_exit_code && demise->exit_code > 128)
		number = demise->exit_code - 128;
	set_signal(verdict, number ? number : SIGKILL);
	set_verdict(verdict, SANDCELL_RESULT_SIGNALED,
		"the container was killed from outside (signal %d)", verdict->signal);
}

/*
 * Someone's kill comes before an OOM: a container may have survived many of those.  Exit
 * code 137 without a kill is a SIGKILL that did not come through the engine.
 */
static void judge(const struct sc_demise *demise, struct sc_verdict *verdict)
{
	if (demise->killed) {
		judge_killed(demise, verdict);
	} else if (demise->oom) {
		set_signal(verdict, SIGKILL);
		set_verdict(verdict, SANDCELL_RESULT_OOM,
			"out of memory: the container was killed at its memory limit");
	} else if (demise->has_exit_code && demise->exit_code > 128 &&
		   demise->exit_code <= 128 + 64) {
		set_signal(verdict, demise->exit_code - 128);
		set_verdict(verdict, SANDCELL_RESULT_SIGNALED,
			"the container's first process was killed by signal %d%s",
			verdict->signal,
			verdict->signal == SIGKILL ? ", perhaps for lack of memory" : "");
	} else if (demise->has_exit_code) {
		set_verdict(verdict, SANDCELL_RESULT_LOST,
			"the supervisor ended with exit status %d, nobody knows why",
			demise->exit_code);
	} else if (demise->died || demise->removed) {
		set_verdict(verdict, SANDCELL_RESULT_LOST,
			"the container is gone, nobody knows why");
	}
}

/* true: there is no point in asking again. */
static bool look_at_container(
	sandcell_session *s, uint64_t began, struct sc_verdict *verdict)
{
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	sc_autojson *inspect = NULL;
	struct sc_container_state state = {0};
	int rc;

	rc = sc_container_inspect(
		s->engine, s->container, sc_deadline_in_ms(NOTICE_MS), &inspect, &why);
	if (rc == SANDCELL_E_NOTFOUND)
		return false; /* its events are about to come */
	if (rc < 0) {
		set_verdict(verdict, SANDCELL_RESULT_LOST, "the engine does not answer: %s",
			sandcell_error_get_message(why));
		return true;
	}
	sc_container_read_state(inspect, &state);
	if (!state.running || sc_now_ns() < began + RUNNING_MS * SC_MS_IN_NS)
		return false;
	set_verdict(verdict, SANDCELL_RESULT_LOST,
		"the stream to the container broke while it was running");
	return true;
}

static void find_reason(sandcell_session *s, struct sc_verdict *verdict)
{
	uint64_t began = sc_now_ns();
	sc_deadline deadline = sc_deadline_in_ms(NOTICE_MS);

	while (!sc_deadline_passed(deadline)) {
		struct sc_demise demise = {0};
		int rc = sc_events_demise(s->engine, s->container, s->call_began_ns,
			sc_deadline_in_ms(NOTICE_MS), &demise, NULL);

		if (rc == 0 && (demise.died || demise.removed)) {
			judge(&demise, verdict);
			return;
		}
		if (look_at_container(s, began, verdict))
			return;
		sc_pause_ms(NOTICE_STEP_MS, deadline);
	}
}

/* ---- another one ---- */

static void replace(sandcell_session *s, struct sc_verdict *verdict)
{
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	size_t used = strlen(verdict->text);
	int rc;

	s->state = SESSION_LOST;
	if (s->attached) {
		/* Others may use it: nobody's stream but ours is known to be lost. */
		sc_channel_free(SANDCELL_TAKE(s->channel));
		return;
	}
	(void)sc_session_discard(s, sc_deadline_in_ms(REMOVE_MS), NULL);
	if (atomic_load(&s->closing))
		return;
	rc = sc_session_start(s, sc_deadline_in_ms(s->config.open_timeout_ms), &why);
	if (rc < 0) {
		(void)snprintf(verdict->text + used, sizeof(verdict->text) - used,
			"; no other container could be opened: %s",
			sandcell_error_get_message(why));
		return;
	}
	verdict->replaced = true;
	s->state = SESSION_BUSY;
}

void sc_recover(sandcell_session *s, enum sc_loss loss, struct sc_verdict *verdict)
{
	*verdict = (struct sc_verdict){.exit_code = -1};
	set_verdict(verdict, SANDCELL_RESULT_LOST,
		"the stream to the container was lost, and no reason was found");
	if (atomic_load(&s->closing))
		set_verdict(verdict, SANDCELL_RESULT_LOST,
			"the session was closed while the call was running");
	else if (loss == SC_LOSS_STREAM)
		find_reason(s, verdict);
	else if (loss == SC_LOSS_PROTOCOL)
		set_verdict(verdict, SANDCELL_RESULT_LOST,
			"the container broke the protocol and was removed");
	else
		set_verdict(verdict, SANDCELL_RESULT_LOST,
			"the supervisor did not answer in time and the container was "
			"removed");
	replace(s, verdict);
}
