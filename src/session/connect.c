/* SPDX-License-Identifier: MIT */
#include "session/connect.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/json.h"
#include "engine/exec.h"
#include "session/spec.h"

#define PROTOCOL_VERSION 1

int sc_connect(sandcell_session *s, sc_deadline deadline, sandcell_error **err_out)
{
	sc_autojson *body = NULL;
	sc_autofree char *exec = NULL;
	sc_stream *stream = NULL;
	int rc;

	rc = sc_spec_connector(&body, err_out);
	if (rc == 0)
		rc = sc_exec_create(
			s->engine, s->container, body, deadline, &exec, err_out);
	if (rc == 0)
		rc = sc_exec_start(s->engine, exec, deadline, &stream, err_out);
	if (rc < 0)
		return rc;
	rc = sc_channel_new(stream, s->wake_fd, &s->channel, err_out);
	if (rc == 0)
		sc_channel_set_wait(s->channel, s->config.on_wait, s->config.wait_user);
	return rc;
}

/* The same name each time: a stream of ours that was lost gives its place to this one. */
static int send_hello(const sandcell_session *s, sandcell_error **err_out)
{
	sc_autojson *header = json_pack("{s:s, s:i, s:s, s:b}", "type", "hello", "protocol",
		PROTOCOL_VERSION, "client", s->client, "observe", s->observes);

	if (!header)
		return sc_fail_nomem(err_out);
	return sc_channel_send_frame(s->channel, header, err_out);
}

static int ask_ready(const sandcell_session *s, sc_call *ready, sc_deadline deadline,
	sandcell_error **err_out)
{
	uint64_t id = sc_channel_next_id(s->channel);
	sc_autojson *header =
		json_pack("{s:s, s:I}", "type", "ready", "id", (json_int_t)id);
	int rc;

	if (!header)
		return sc_fail_nomem(err_out);
	rc = sc_call_init(ready, id, header, NULL, 0, NULL, NULL, err_out);
	ready->stoppable = true;
	if (rc == 0)
		rc = sc_call_run(s->channel, ready, deadline, err_out);
	if (rc == 0)
		rc = sc_call_check(ready, "setting up Python", err_out);
	return rc;
}

static int check_hello(const sc_channel *channel, sandcell_error **err_out)
{
	int64_t protocol = sc_json_get_int(sc_channel_hello(channel), "protocol", 0);

	if (protocol == PROTOCOL_VERSION)
		return 0;
	return sc_fail(err_out, SANDCELL_E_PROTOCOL,
		"the supervisor speaks protocol %" PRId64 ", not %d", protocol,
		PROTOCOL_VERSION);
}

int sc_greet(
	sandcell_session *s, sc_call *ready, sc_deadline deadline, sandcell_error **err_out)
{
	int rc;

	rc = send_hello(s, err_out);
	if (rc == 0)
		rc = ask_ready(s, ready, deadline, err_out);
	if (rc == 0)
		rc = check_hello(s->channel, err_out);
	return rc;
}
