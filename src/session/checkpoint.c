/* SPDX-License-Identifier: MIT */
#include "session/checkpoint.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "session/bulk.h"
#include "session/call.h"

/* Another client's call may run before; the work itself takes milliseconds. */
#define ANSWER_MS 60000

/* Runs a call that names a checkpoint, or makes one (id 0), on a session that was entered.
 */
static int run(sandcell_session *s, const char *type, uint64_t id, sc_call *call,
	sandcell_error **err_out)
{
	uint64_t number = sc_channel_next_id(s->channel);
	sc_autojson *header =
		json_pack("{s:s, s:I}", "type", type, "id", (json_int_t)number);
	int rc = 0;

	if (!header || (id && json_object_set_new(header, "checkpoint",
				      json_integer((json_int_t)id)) < 0))
		return sc_fail_nomem(err_out);
	rc = sc_call_init(call, number, header, NULL, 0, NULL, NULL, err_out);
	if (rc == 0)
		rc = sc_call_run(s->channel, call, sc_deadline_in_ms(ANSWER_MS), err_out);
	call->message.header = NULL; /* it goes with this function */
	if (rc < 0) {
		sc_bulk_recover(s, rc);
		return rc;
	}
	rc = sc_call_check(call, type, err_out);
	return rc == SANDCELL_E_FAIL ? sc_error_recode(err_out, SANDCELL_E_CONFLICT) : rc;
}

static int check_id(uint64_t id, sandcell_error **err_out)
{
	if (id > 0 && id <= SC_FRAME_ID_MAX)
		return 0;
	return sc_fail(err_out, SANDCELL_E_CONFLICT, "there is no checkpoint %llu",
		(unsigned long long)id);
}

static int change(
	sandcell_session *s, const char *type, uint64_t id, sandcell_error **err_out)
{
	sc_call call = {0};
	int rc = check_id(id, err_out);

	if (rc == 0)
		rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = run(s, type, id, &call, err_out);
	sc_call_clear(&call);
	sc_session_leave(s);
	return rc;
}

int sc_rollback(sandcell_session *s, uint64_t id, sandcell_error **err_out)
{
	return change(s, "rollback", id, err_out);
}

int sc_checkpoint_drop(sandcell_session *s, uint64_t id, sandcell_error **err_out)
{
	return change(s, "forget", id, err_out);
}

/* The report is handed on only when it parses: it comes from the container. */
static int give(
	const sc_call *call, uint64_t *id_out, char **report_out, sandcell_error **err_out)
{
	sc_autobuf text = SC_BUF_INIT(SC_CONTENT_MAX);
	sc_autojson *report = NULL;
	int64_t id = sc_json_get_int(call->result, "checkpoint", 0);
	size_t len = 0;
	const char *data = sc_content_get(&call->content, "report", &len);

	if (data)
		report = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
	if (id <= 0 || !json_is_object(report))
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"the answer to a checkpoint makes no sense");
	if (report_out) {
		int rc = sc_json_dump(report, &text, err_out);
		if (rc < 0)
			return rc;
		*report_out = sc_buf_take(&text, NULL);
		if (!*report_out)
			return sc_fail_nomem(err_out);
	}
	*id_out = (uint64_t)id;
	return 0;
}

int sc_checkpoint(
	sandcell_session *s, uint64_t *id_out, char **report_out, sandcell_error **err_out)
{
	sc_call call = {0};
	int rc = sc_session_enter(s, err_out);

	if (rc < 0)
		return rc;
	rc = run(s, "checkpoint", 0, &call, err_out);
	if (rc == 0)
		rc = give(&call, id_out, report_out, err_out);
	sc_call_clear(&call);
	sc_session_leave(s);
	return rc;
}
