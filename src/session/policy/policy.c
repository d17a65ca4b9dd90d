/* SPDX-License-Identifier: MIT */
#include "session/policy/policy.h"

#include "base/alloc.h"
#include "session/policy/judge.h"
#include "session/policy/parse.h"

void sc_policy_free(sc_policy_plan *plan)
{
	if (!plan)
		return;
	sc_free(plan->text);
	sc_free(plan->parts);
	sc_free(plan->words);
	sc_free(plan->commands);
	sc_free(plan);
}

static void plan_freep(sc_policy_plan **plan)
{
	sc_policy_free(*plan);
}

/*
 * The first violation is what stands first in the text: commands that were complete before
 * the parser stopped are judged before its complaint is passed on.
 */
static int check(
	sc_policy_plan *plan, const char *command, size_t len, uint32_t flags, sc_buf *why)
{
	int parsed = sc_policy_parse(plan, command, len, flags, why);
	int rc;

	if (parsed < 0 && parsed != SC_REFUSED)
		return parsed;
	for (uint32_t i = 0; i < plan->commands_len && plan->commands[i].words; i++) {
		rc = sc_judge_command(plan, &plan->commands[i], command, why);
		if (rc < 0)
			return rc;
	}
	return parsed;
}

static int refused(sc_buf *why, char **message_out, sandcell_error **err_out)
{
	char *message = NULL;

	if (message_out) {
		message = sc_buf_take(why, NULL);
		if (!message)
			return sc_fail_nomem(err_out);
		*message_out = message;
	}
	return SC_POLICY_REFUSED;
}

int sc_policy_check(const char *command, size_t len, uint32_t flags,
	sc_policy_plan **plan_out, char **message_out, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(plan_freep) sc_policy_plan *plan = NULL;
	sc_autobuf why = SC_BUF_INIT(SC_REFUSAL_MAX);
	int rc;

	if (flags & ~SANDCELL_CLI_QUOTED_OPERATORS)
		return sc_fail(err_out, SANDCELL_E_INVAL, "unknown flags 0x%x", flags);
	plan = sc_calloc(1, sizeof(*plan));
	if (!plan)
		return sc_fail_nomem(err_out);
	rc = check(plan, command, len, flags, &why);
	if (rc == SC_REFUSED)
		return refused(&why, message_out, err_out);
	if (rc < 0)
		return sc_fail_nomem(err_out);
	if (plan_out)
		*plan_out = SANDCELL_TAKE(plan);
	return 0;
}
