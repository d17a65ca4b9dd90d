/* SPDX-License-Identifier: MIT */
#include "session/call.h"

#include <string.h>

#include "base/json.h"
#include "sandcell/result.h"
#include "session/result.h"

int sc_call_init(sc_call *call, uint64_t id, const json_t *header, const sc_part *parts,
	size_t count, const struct sc_call_handlers *handlers, void *user,
	sandcell_error **err_out)
{
	static const struct sc_call_handlers none = {0};

	*call = (sc_call){
		.id = id,
		.handlers = handlers ? handlers : &none,
		.user = user,
	};
	return sc_message_init(&call->message, header, id, parts, count, err_out);
}

void sc_call_clear(sc_call *call)
{
	sc_content_clear(&call->content);
	json_decref(call->pending);
	json_decref(call->result);
	*call = (sc_call){0};
}

bool sc_call_ended(const sc_call *call)
{
	return call->result != NULL;
}

static int bad_frame(sandcell_error **err_out, const char *why)
{
	return sc_fail(err_out, SANDCELL_E_PROTOCOL, "frame from the container: %s", why);
}

static int take_output(sc_call *call, const sc_frame *frame, sandcell_error **err_out)
{
	int64_t stream = sc_json_get_int(frame->header, "stream", 0);
	int64_t dropped = sc_json_get_int(frame->header, "dropped", 0);

	if (stream < SANDCELL_STDOUT || stream > SANDCELL_LATE_STDERR || dropped < 0)
		return bad_frame(err_out, "output of an unknown stream");
	if (!call->handlers->output)
		return 0;
	return call->handlers->output((int)stream, frame->payload, frame->payload_len,
		(uint64_t)dropped, call->user, err_out);
}

/* All parts of the pending frame are there. */
static int complete(sc_call *call, sandcell_error **err_out)
{
	json_t *header = SANDCELL_TAKE(call->pending);
	int rc = 0;

	if (strcmp(sc_json_get_str(header, "type", ""), "result") == 0) {
		call->result = header;
		return 0;
	}
	json_decref(header);
	if (call->handlers->display)
		rc = call->handlers->display(&call->content, call->user, err_out);
	sc_content_clear(&call->content);
	return rc;
}

static int begin(sc_call *call, const sc_frame *frame, size_t max, sandcell_error **err_out)
{
	int rc;

	if (call->pending)
		return bad_frame(err_out, "a second content before the end of the first");
	rc = sc_content_begin(&call->content, frame, max, err_out);
	if (rc < 0)
		return rc;
	call->pending = json_incref((json_t *)frame->header);
	return sc_content_complete(&call->content) ? complete(call, err_out) : 0;
}

static int take_data(sc_call *call, const sc_frame *frame, sandcell_error **err_out)
{
	int rc;

	if (!call->pending)
		return bad_frame(err_out, "data that belongs to nothing");
	rc = sc_content_add(&call->content, frame, err_out);
	if (rc < 0)
		return rc;
	return sc_content_complete(&call->content) ? complete(call, err_out) : 0;
}

static int take_credit(sc_call *call, const sc_frame *frame, sandcell_error **err_out)
{
	int64_t bytes = sc_json_get_int(frame->header, "bytes", 0);

	if (bytes <= 0)
		return bad_frame(err_out, "a credit that makes no sense");
	return call->handlers->credit
		       ? call->handlers->credit((uint64_t)bytes, call->user, err_out)
		       : 0;
}

static int take_chunk(sc_call *call, const sc_frame *frame, sandcell_error **err_out)
{
	return call->handlers->chunk ? call->handlers->chunk(frame->payload,
					       frame->payload_len, call->user, err_out)
				     : 0;
}

int sc_call_take(sc_call *call, const sc_frame *frame, sandcell_error **err_out)
{
	if (strcmp(frame->type, "output") == 0)
		return take_output(call, frame, err_out);
	if (strcmp(frame->type, "result") == 0)
		return begin(call, frame, SC_CONTENT_MAX, err_out);
	if (strcmp(frame->type, "display") == 0)
		return begin(call, frame, SC_DISPLAY_MAX, err_out);
	if (strcmp(frame->type, "data") == 0)
		return take_data(call, frame, err_out);
	if (strcmp(frame->type, "chunk") == 0)
		return take_chunk(call, frame, err_out);
	if (strcmp(frame->type, "credit") == 0)
		return take_credit(call, frame, err_out);
	return bad_frame(err_out, "unknown type");
}

int sc_call_run(
	sc_channel *channel, sc_call *call, sc_deadline deadline, sandcell_error **err_out)
{
	int rc;

	rc = sc_channel_start(channel, call, err_out);
	if (rc < 0)
		return rc;
	rc = SC_PUMP_MOVED;
	while (!sc_call_ended(call) && rc > 0) {
		rc = sc_channel_pump(channel, deadline, err_out);
		if (rc == SC_PUMP_STOPPED && call->stoppable)
			rc = sc_fail(err_out, SANDCELL_E_CALLBACK,
				"the wait callback asked to stop");
	}
	sc_channel_drop(channel, call);
	if (sc_call_ended(call))
		return 0;
	if (rc == SC_PUMP_TIMEOUT)
		return sc_fail(err_out, SANDCELL_E_TIMEOUT,
			"the supervisor in the container did not answer in time");
	return rc;
}

int sc_call_check(const sc_call *call, const char *what, sandcell_error **err_out)
{
	const char *status = sc_json_get_str(call->result, "status", "missing");
	const char *text = sc_content_get(&call->content, "error", NULL);

	if (strcmp(status, "ok") == 0)
		return 0;
	return sc_fail(err_out, SANDCELL_E_FAIL, "%s: %s", what, text ? text : status);
}
