/* SPDX-License-Identifier: MIT */
#include "session/questions.h"

#include "base/alloc.h"
#include "base/json.h"
#include "session/call.h"
#include "session/recover.h"

/* The kernel answers at once when it is free; another client's call may run before. */
#define ANSWER_MS 60000

/* Builds the JSON text that the caller gets from an answer. */
typedef int (*answer_fn)(
	const sc_call *call, json_t *part, sc_buf *out, sandcell_error **err_out);

static int give_part(
	const sc_call *call, json_t *part, sc_buf *out, sandcell_error **err_out)
{
	(void)call;
	return sc_json_dump(part, out, err_out);
}

static int give_matches(
	const sc_call *call, json_t *part, sc_buf *out, sandcell_error **err_out)
{
	sc_autojson *all = json_pack("{s:O, s:I, s:I}", "matches", part, "start",
		(json_int_t)sc_json_get_int(call->result, "start", 0), "end",
		(json_int_t)sc_json_get_int(call->result, "end", 0));

	if (!all)
		return sc_fail_nomem(err_out);
	return sc_json_dump(all, out, err_out);
}

/* Only what parses is handed on: the text comes from the container. */
static int read_answer(const sc_call *call, const char *part_name, answer_fn give,
	char **json_out, sandcell_error **err_out)
{
	sc_autobuf text = SC_BUF_INIT(SC_CONTENT_MAX);
	sc_autojson *part = NULL;
	size_t len = 0;
	const char *data = sc_content_get(&call->content, part_name, &len);
	int rc;

	if (data)
		part = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_array(part))
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"the kernel's answer has no list of %s", part_name);
	rc = give(call, part, &text, err_out);
	if (rc < 0)
		return rc;
	*json_out = sc_buf_take(&text, NULL);
	return *json_out ? 0 : sc_fail_nomem(err_out);
}

static int ask_entered(sandcell_session *s, json_t *header, const sc_part *part,
	const char *part_name, answer_fn give, char **json_out, sandcell_error **err_out)
{
	uint64_t id = sc_channel_next_id(s->channel);
	sc_call call = {0};
	int rc = 0;

	if (json_object_set_new(header, "id", json_integer((json_int_t)id)) < 0)
		return sc_fail_nomem(err_out);
	rc = sc_call_init(&call, id, header, part, part ? 1 : 0, NULL, NULL, err_out);
	if (rc == 0)
		rc = sc_call_run(s->channel, &call, sc_deadline_in_ms(ANSWER_MS), err_out);
	if (rc == SANDCELL_E_GONE || rc == SANDCELL_E_PROTOCOL) {
		struct sc_verdict verdict;

		sc_recover(s, sc_loss_of(rc), &verdict);
		s->replaced = s->replaced || verdict.replaced;
	}
	if (rc == 0)
		rc = sc_call_check(&call, "asking the kernel", err_out);
	if (rc == 0)
		rc = read_answer(&call, part_name, give, json_out, err_out);
	sc_call_clear(&call);
	return rc;
}

static int ask(sandcell_session *s, json_t *header, const sc_part *part,
	const char *part_name, answer_fn give, char **json_out, sandcell_error **err_out)
{
	int rc;

	if (!header)
		return sc_fail_nomem(err_out);
	rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = ask_entered(s, header, part, part_name, give, json_out, err_out);
	sc_session_leave(s);
	return rc;
}

int sc_names(sandcell_session *s, char **json_out, sandcell_error **err_out)
{
	sc_autojson *header = json_pack("{s:s}", "type", "inspect");

	return ask(s, header, NULL, "names", give_part, json_out, err_out);
}

int sc_history(sandcell_session *s, char **json_out, sandcell_error **err_out)
{
	sc_autojson *header = json_pack("{s:s}", "type", "history");

	return ask(s, header, NULL, "history", give_part, json_out, err_out);
}

int sc_complete(sandcell_session *s, const char *code, size_t code_len, size_t cursor,
	char **json_out, sandcell_error **err_out)
{
	sc_autojson *header =
		json_pack("{s:s, s:I}", "type", "complete", "cursor", (json_int_t)cursor);
	const sc_part part = {.name = "code", .data = code, .len = code_len};

	return ask(s, header, &part, "matches", give_matches, json_out, err_out);
}
