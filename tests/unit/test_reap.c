/* SPDX-License-Identifier: MIT */
/* What may be removed and, above all, what may not. */
#include "unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "session/reap.h"

#define NOW 2000000

static const struct sc_owner self = {
	.host = "here", .boot_id = "boot", .pid_ns = 7, .pid = 1};

static bool gone(pid_t pid, uint64_t start)
{
	return pid == 99 && start == 5;
}

static const char *judge(const char *changes, const char *state)
{
	sc_autojson *labels = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
		"io.sandcell.version", "0.1.0", "io.sandcell.nonce", "n",
		"io.sandcell.kind", "unnamed", "io.sandcell.owner.host", "here",
		"io.sandcell.owner.boot", "boot", "io.sandcell.owner.pidns", "7",
		"io.sandcell.owner.pid", "99", "io.sandcell.owner.start", "5",
		"io.sandcell.created", "1999990");
	sc_autojson *more = json_loads(changes, 0, NULL);

	ck_assert_int_eq(json_object_update(labels, more), 0);
	return sc_reap_judge(labels, state, NOW, &self, gone);
}

START_TEST(an_unnamed_session_goes_with_its_owner)
{
	ck_assert_ptr_nonnull(judge("{}", "running"));
	ck_assert_ptr_nonnull(judge("{}", "created"));
	ck_assert_ptr_nonnull(judge("{}", "exited"));
}
END_TEST

START_TEST(an_owner_that_may_be_there_keeps_its_session)
{
	static const char *const changes[] = {
		"{\"io.sandcell.owner.pid\":\"98\"}",
		"{\"io.sandcell.owner.start\":\"6\"}",
		"{\"io.sandcell.owner.host\":\"there\"}",
		"{\"io.sandcell.owner.boot\":\"another\"}",
		"{\"io.sandcell.owner.boot\":\"\"}",
		"{\"io.sandcell.owner.pidns\":\"8\"}",
		"{\"io.sandcell.owner.pid\":\"x\"}",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		ck_assert_ptr_null(judge(changes[i], "running"));
		ck_assert_ptr_null(judge(changes[i], "exited"));
	}
}
END_TEST

START_TEST(what_is_not_ours_stays)
{
	ck_assert_ptr_null(judge("{\"io.sandcell.version\":\"\"}", "exited"));
	ck_assert_ptr_null(judge("{\"io.sandcell.nonce\":\"\"}", "exited"));
	ck_assert_ptr_null(sc_reap_judge(NULL, "exited", NOW, &self, gone));
}
END_TEST

#define NAMED "\"io.sandcell.kind\":\"named\""

START_TEST(a_named_session_outlives_its_owner_while_it_runs)
{
	ck_assert_ptr_null(judge("{" NAMED "}", "running"));
	ck_assert_ptr_null(judge("{" NAMED "}", "paused"));
	ck_assert_ptr_null(judge("{" NAMED "}", "removing"));
	ck_assert_ptr_nonnull(judge("{" NAMED "}", "exited"));
	ck_assert_ptr_nonnull(judge("{" NAMED "}", "created"));
}
END_TEST

START_TEST(a_named_session_that_is_being_opened_stays)
{
	ck_assert_ptr_null(
		judge("{" NAMED ",\"io.sandcell.owner.host\":\"there\"}", "created"));
	ck_assert_ptr_nonnull(judge("{" NAMED ",\"io.sandcell.owner.host\":\"there\","
				    "\"io.sandcell.created\":\"1999000\"}",
		"created"));
}
END_TEST

START_TEST(a_life_has_an_end)
{
	ck_assert_ptr_null(
		judge("{" NAMED ",\"io.sandcell.max_life_ms\":\"9000\"}", "running"));
	ck_assert_ptr_nonnull(judge("{" NAMED ",\"io.sandcell.max_life_ms\":\"9000\","
				    "\"io.sandcell.created\":\"1999900\"}",
		"running"));
}
END_TEST

START_TEST(a_process_is_gone_when_it_has_ended)
{
	struct sc_owner me;
	int status = 0;

	sc_owner_self(&me);
	ck_assert(!sc_owner_gone(me.pid, me.start));
	ck_assert(!sc_owner_gone(me.pid, 0));
	ck_assert(sc_owner_gone(me.pid, me.start + 1));
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(sc_owner_gone(child, 1));
}
END_TEST

UNIT_MAIN("reap", an_unnamed_session_goes_with_its_owner,
	an_owner_that_may_be_there_keeps_its_session, what_is_not_ours_stays,
	a_named_session_outlives_its_owner_while_it_runs,
	a_named_session_that_is_being_opened_stays, a_life_has_an_end,
	a_process_is_gone_when_it_has_ended)
