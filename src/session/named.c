/* SPDX-License-Identifier: MIT */
#include "session/named.h"

#include "base/alloc.h"
#include "base/json.h"
#include "session/call.h"
#include "session/recover.h"

/* The supervisor answers these itself, whatever the kernel does. */
#define ANSWER_MS 30000

/* Runs a call without parts to its end, and hands its result's header out. */
static int ask_entered(
	sandcell_session *s, json_t *header, json_t **result_out, sandcell_error **err_out)
{
	uint64_t id = sc_channel_next_id(s->channel);
	sc_call call = {0};
	int rc = 0;

	if (json_object_set_new(header, "id", json_integer((json_int_t)id)) < 0)
		return sc_fail_nomem(err_out);
	rc = sc_call_init(&call, id, header, NULL, 0, NULL, NULL, err_out);
	if (rc == 0)
		rc = sc_call_run(s->channel, &call, sc_deadline_in_ms(ANSWER_MS), err_out);
	if (rc == SANDCELL_E_GONE || rc == SANDCELL_E_PROTOCOL) {
		struct sc_verdict verdict;

		sc_recover(s, sc_loss_of(rc), &verdict);
		s->replaced = s->replaced || verdict.replaced;
	}
	if (rc == 0)
		rc = sc_call_check(&call, "asking the supervisor", err_out);
	if (rc == 0)
		*result_out = SANDCELL_TAKE(call.result);
	sc_call_clear(&call);
	return rc;
}

static int ask(
	sandcell_session *s, json_t *header, json_t **result_out, sandcell_error **err_out)
{
	int rc;

	if (!header)
		return sc_fail_nomem(err_out);
	rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = ask_entered(s, header, result_out, err_out);
	sc_session_leave(s);
	return rc;
}

int sc_session_set_lease(sandcell_session *s, uint32_t lease_ms, sandcell_error **err_out)
{
	sc_autojson *header =
		json_pack("{s:s, s:I}", "type", "lease", "lease_ms", (json_int_t)lease_ms);
	sc_autojson *result = NULL;

	return ask(s, header, &result, err_out);
}

int sc_session_stat(sandcell_session *s, char **json_out, sandcell_error **err_out)
{
	static const char *const ours[] = {"type", "id", "status", "duration_ns"};
	sc_autojson *header = json_pack("{s:s}", "type", "stat");
	sc_autojson *result = NULL;
	sc_autobuf text = SC_BUF_INIT(SC_MAX_TEXT);
	int rc;

	rc = ask(s, header, &result, err_out);
	for (size_t i = 0; rc == 0 && i < sizeof(ours) / sizeof(ours[0]); i++)
		(void)json_object_del(result, ours[i]);
	if (rc == 0)
		rc = sc_json_dump(result, &text, err_out);
	if (rc < 0)
		return rc;
	*json_out = sc_buf_take(&text, NULL);
	return *json_out ? 0 : sc_fail_nomem(err_out);
}

/* Those that wait go first: else each would begin when the one before it has ended. */
static int send_interrupts(sandcell_session *s, const json_t *ids, sandcell_error **err_out)
{
	for (size_t i = json_array_size(ids); i > 0; i--) {
		const json_t *id = json_array_get(ids, i - 1);
		sc_autojson *header = json_pack("{s:s, s:I}", "type", "interrupt", "target",
			json_integer_value(id));
		int rc = header ? sc_channel_send_frame(s->channel, header, err_out)
				: sc_fail_nomem(err_out);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int interrupt_entered(
	sandcell_session *s, uint32_t *count_out, sandcell_error **err_out)
{
	sc_autojson *stat = json_pack("{s:s}", "type", "stat");
	sc_autojson *ping = json_pack("{s:s}", "type", "ping");
	sc_autojson *before = NULL;
	sc_autojson *after = NULL;
	int rc;

	if (!stat || !ping)
		return sc_fail_nomem(err_out);
	rc = ask_entered(s, stat, &before, err_out);
	if (rc < 0)
		return rc;
	const json_t *ids = sc_json_get_arr(before, "running");
	rc = send_interrupts(s, ids, err_out);
	/* Frames are taken in order: when this is answered, the others have arrived. */
	if (rc == 0)
		rc = ask_entered(s, ping, &after, err_out);
	if (rc == 0 && count_out)
		*count_out = (uint32_t)json_array_size(ids);
	return rc;
}

int sc_session_interrupt_all(
	sandcell_session *s, uint32_t *count_out, sandcell_error **err_out)
{
	int rc;

	rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = interrupt_entered(s, count_out, err_out);
	sc_session_leave(s);
	return rc;
}
