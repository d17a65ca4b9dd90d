/* SPDX-License-Identifier: MIT */
#include "engine/exec.h"

#include "base/url.h"
#include "engine/container.h"
#include "engine/hijack.h"
#include "engine/http.h"

#define POLL_MS	    2
#define POLL_MAX_MS 100

static int put_path(
	sc_buf *path, const char *template, const char *id, sandcell_error **err_out)
{
	if (!sc_container_name_valid(id))
		return sc_fail(err_out, SANDCELL_E_INVAL, "'%.64s' is not an id", id);
	(void)sc_url(path, template, id);
	return sc_buf_check(path, err_out, "request path");
}

int sc_exec_create(sandcell_engine *engine, const char *container, const json_t *body,
	sc_deadline deadline, char **id_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autojson *reply = NULL;
	const char *id = NULL;
	char *copy = NULL;
	int rc;

	rc = put_path(&path, "/containers/{}/exec", container, err_out);
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.method = "POST",
		.path = sc_buf_text(&path),
		.json = body,
		.deadline = deadline,
	};
	rc = sc_http_call_json(engine, &request, &reply, err_out);
	if (rc < 0)
		return rc;
	rc = sc_json_want_str(reply, "Id", &id, err_out);
	if (rc < 0)
		return rc;
	if (!sc_container_name_valid(id))
		return sc_fail(
			err_out, SANDCELL_E_PROTOCOL, "engine reply: 'Id' is '%.64s'", id);
	copy = sc_strdup(id);
	if (!copy)
		return sc_fail_nomem(err_out);
	*id_out = copy;
	return 0;
}

int sc_exec_start(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sc_stream **stream_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autojson *body = NULL;
	int rc;

	rc = put_path(&path, "/exec/{}/start", id, err_out);
	if (rc < 0)
		return rc;
	body = json_pack("{s:b,s:b}", "Detach", 0, "Tty", 0);
	if (!body)
		return sc_fail_nomem(err_out);
	return sc_hijack(engine, sc_buf_text(&path), body, deadline, stream_out, err_out);
}

int sc_exec_read_state(
	const json_t *root, struct sc_exec_state *state, sandcell_error **err_out)
{
	const json_t *running = json_object_get(root, "Running");
	int64_t code = sc_json_get_int(root, "ExitCode", -1);

	if (!json_is_boolean(running))
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"engine reply: 'Running' missing or not a boolean");
	*state = (struct sc_exec_state){
		.running = json_is_true(running),
		.pid = sc_json_get_int(root, "Pid", 0),
	};
	/* Running comes first: while it runs Podman says ExitCode 0, and Docker null. */
	if (!state->running && code >= 0 && code <= 255) {
		state->has_exit_code = true;
		state->exit_code = (int)code;
	}
	return 0;
}

int sc_exec_inspect(sandcell_engine *engine, const char *id, sc_deadline deadline,
	struct sc_exec_state *state, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autojson *root = NULL;
	int rc;

	rc = put_path(&path, "/exec/{}/json", id, err_out);
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.path = sc_buf_text(&path),
		.deadline = deadline,
	};
	rc = sc_http_call_json(engine, &request, &root, err_out);
	if (rc < 0)
		return rc;
	return sc_exec_read_state(root, state, err_out);
}

int sc_exec_wait(sandcell_engine *engine, const char *id, sc_deadline deadline,
	struct sc_exec_state *state, sandcell_error **err_out)
{
	uint64_t pause_ms = POLL_MS;
	int rc;

	for (;;) {
		rc = sc_exec_inspect(engine, id, deadline, state, err_out);
		if (rc < 0 || !state->running)
			return rc;
		if (sc_deadline_passed(deadline))
			return sc_fail(err_out, SANDCELL_E_TIMEOUT,
				"timed out: exec %.12s still runs", id);
		sc_pause_ms(pause_ms, deadline);
		pause_ms = 2 * pause_ms < POLL_MAX_MS ? 2 * pause_ms : POLL_MAX_MS;
	}
}
