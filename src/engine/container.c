/* SPDX-License-Identifier: MIT */
#include "engine/container.h"

#include <string.h>

#include "base/num.h"
#include "base/url.h"
#include "engine/filters.h"
#include "engine/hijack.h"
#include "engine/http.h"

#define NAME_MAX_LEN	   255
#define REMOVE_POLL_MS	   10
#define REMOVE_POLL_MAX_MS 200

bool sc_container_name_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9');
		if (!word && (i == 0 || !strchr("_.-", c)))
			return false;
	}
	return true;
}

static int check_name(const char *name, sandcell_error **err_out)
{
	if (sc_container_name_valid(name))
		return 0;
	return sc_fail(
		err_out, SANDCELL_E_INVAL, "'%.64s' is not a container's name", name);
}

/* Builds the path of a request about one container; template has one {} for it. */
static int put_path(
	sc_buf *path, const char *template, const char *id, sandcell_error **err_out)
{
	int rc = check_name(id, err_out);

	if (rc < 0)
		return rc;
	(void)sc_url(path, template, id);
	return sc_buf_check(path, err_out, "request path");
}

/* A POST without a body whose answer is its status. */
static int post(sandcell_engine *engine, const char *template, const char *id,
	sc_deadline deadline, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	int rc;

	rc = put_path(&path, template, id, err_out);
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.method = "POST",
		.path = sc_buf_text(&path),
		.deadline = deadline,
	};
	return sc_http_call(engine, &request, &reply, err_out);
}

static int get_json(sandcell_engine *engine, const char *template, const char *id,
	sc_deadline deadline, json_t **root_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	rc = put_path(&path, template, id, err_out);
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.path = sc_buf_text(&path),
		.deadline = deadline,
	};
	return sc_http_call_json(engine, &request, root_out, err_out);
}

static int take_warnings(json_t *reply, json_t **warnings_out, sandcell_error **err_out)
{
	json_t *warnings = sc_json_get_arr(reply, "Warnings");

	if (!warnings_out)
		return 0;
	*warnings_out = warnings ? json_incref(warnings) : json_array();
	return *warnings_out ? 0 : sc_fail_nomem(err_out);
}

static int read_created(
	json_t *reply, char **id_out, json_t **warnings_out, sandcell_error **err_out)
{
	sc_autofree char *id = NULL;
	const char *text = NULL;
	int rc;

	rc = sc_json_want_str(reply, "Id", &text, err_out);
	if (rc < 0)
		return rc;
	if (!sc_container_name_valid(text))
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"engine reply: 'Id' is '%.64s'", text);
	id = sc_strdup(text);
	if (!id)
		return sc_fail_nomem(err_out);
	rc = take_warnings(reply, warnings_out, err_out);
	if (rc < 0)
		return rc;
	*id_out = SANDCELL_TAKE(id);
	return 0;
}

int sc_container_create(sandcell_engine *engine, const char *name, const json_t *body,
	sc_deadline deadline, char **id_out, json_t **warnings_out,
	sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autojson *reply = NULL;
	int rc;

	if (name)
		rc = put_path(&path, "/containers/create?name={}", name, err_out);
	else
		rc = sc_url(&path, "/containers/create");
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
	return read_created(reply, id_out, warnings_out, err_out);
}

int sc_container_start(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sandcell_error **err_out)
{
	return post(engine, "/containers/{}/start", id, deadline, err_out);
}

int sc_container_kill(sandcell_engine *engine, const char *id, const char *signal,
	sc_deadline deadline, sandcell_error **err_out)
{
	sc_autobuf template = SC_BUF_INIT(SC_MAX_URL);

	(void)sc_buf_puts(&template, "/containers/{}/kill?signal=");
	(void)sc_url(&template, "{}", signal);
	if (sc_buf_check(&template, err_out, "request path") < 0)
		return template.rc;
	return post(engine, sc_buf_text(&template), id, deadline, err_out);
}

int sc_container_pause(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sandcell_error **err_out)
{
	return post(engine, "/containers/{}/pause", id, deadline, err_out);
}

int sc_container_unpause(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sandcell_error **err_out)
{
	return post(engine, "/containers/{}/unpause", id, deadline, err_out);
}

int sc_container_rename(sandcell_engine *engine, const char *id, const char *name,
	sc_deadline deadline, sandcell_error **err_out)
{
	sc_autobuf template = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	rc = check_name(name, err_out);
	if (rc < 0)
		return rc;
	(void)sc_buf_printf(&template, "/containers/{}/rename?name=%s", name);
	rc = sc_buf_check(&template, err_out, "request path");
	if (rc < 0)
		return rc;
	return post(engine, sc_buf_text(&template), id, deadline, err_out);
}

int sc_container_remove(sandcell_engine *engine, const char *id, sc_deadline deadline,
	sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	uint64_t pause_ms = REMOVE_POLL_MS;
	int rc;

	rc = put_path(&path, "/containers/{}?force=1&v=1", id, err_out);
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.method = "DELETE",
		.path = sc_buf_text(&path),
		.deadline = deadline,
	};
	for (;;) {
		sc_autoreply reply = SC_HTTP_REPLY_INIT;
		SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;

		rc = sc_http_call(engine, &request, &reply, &why);
		if (rc == 0 || rc == SANDCELL_E_NOTFOUND)
			return 0;
		/* Someone else is removing it: asking again is how to wait for that. */
		if (rc != SANDCELL_E_CONFLICT)
			return sc_error_move(err_out, &why, rc);
		if (sc_deadline_passed(deadline))
			return sc_fail(err_out, SANDCELL_E_TIMEOUT,
				"timed out removing container %.12s: %s", id,
				sandcell_error_get_message(why));
		sc_pause_ms(pause_ms, deadline);
		pause_ms = 2 * pause_ms < REMOVE_POLL_MAX_MS ? 2 * pause_ms
							     : REMOVE_POLL_MAX_MS;
	}
}

int sc_container_wait(sandcell_engine *engine, const char *id, sc_deadline deadline,
	int *exit_code_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autojson *reply = NULL;
	int64_t code = 0;
	int rc;

	rc = put_path(&path, "/containers/{}/wait", id, err_out);
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.method = "POST",
		.path = sc_buf_text(&path),
		.deadline = deadline,
		.slow = true,
	};
	rc = sc_http_call_json(engine, &request, &reply, err_out);
	if (rc < 0)
		return rc;
	rc = sc_json_want_int(reply, "StatusCode", &code, err_out);
	if (rc < 0)
		return rc;
	*exit_code_out = (int)code;
	return 0;
}

int sc_container_inspect(sandcell_engine *engine, const char *id, sc_deadline deadline,
	json_t **root_out, sandcell_error **err_out)
{
	return get_json(engine, "/containers/{}/json", id, deadline, root_out, err_out);
}

int sc_container_stats(sandcell_engine *engine, const char *id, sc_deadline deadline,
	json_t **root_out, sandcell_error **err_out)
{
	return get_json(
		engine, "/containers/{}/stats?stream=0", id, deadline, root_out, err_out);
}

void sc_container_read_state(const json_t *inspect, struct sc_container_state *state)
{
	const json_t *from = sc_json_get_obj(inspect, "State");

	*state = (struct sc_container_state){
		.status = sc_json_get_str(from, "Status", ""),
		.error = sc_json_get_str(from, "Error", ""),
		.started_at = sc_json_get_str(from, "StartedAt", ""),
		.pid = sc_json_get_int(from, "Pid", 0),
		.exit_code = sc_json_get_int(from, "ExitCode", 0),
		.running = sc_json_get_bool(from, "Running", false),
		.paused = sc_json_get_bool(from, "Paused", false),
		.oom_killed = sc_json_get_bool(from, "OOMKilled", false),
	};
	/* Some engines leave the booleans out and say it in words only. */
	if (strcmp(state->status, "running") == 0 || strcmp(state->status, "paused") == 0)
		state->running = true;
}

int sc_container_list(sandcell_engine *engine, const char *const *labels, bool all,
	sc_deadline deadline, json_t **array_out, sandcell_error **err_out)
{
	sc_autojson *filters = json_object();
	sc_autobuf text = SC_BUF_INIT(SC_MAX_URL);
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	if (!filters)
		return sc_fail_nomem(err_out);
	rc = sc_filters_add(filters, "label", labels, err_out);
	if (rc < 0)
		return rc;
	rc = sc_json_dump(filters, &text, err_out);
	if (rc < 0)
		return rc;
	(void)sc_url(&path, "/containers/json?all={}&filters={}", all ? "1" : "0",
		sc_buf_text(&text));
	rc = sc_buf_check(&path, err_out, "request path");
	if (rc < 0)
		return rc;
	return sc_http_call_list(engine, sc_buf_text(&path), deadline, array_out, err_out);
}

int sc_container_attach(sandcell_engine *engine, const char *id, uint32_t what,
	sc_deadline deadline, sc_stream **stream_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	rc = put_path(&path, "/containers/{}/attach?stream=1", id, err_out);
	if (rc < 0)
		return rc;
	if (what & SC_ATTACH_STDIN)
		(void)sc_buf_puts(&path, "&stdin=1");
	if (what & SC_ATTACH_STDOUT)
		(void)sc_buf_puts(&path, "&stdout=1");
	if (what & SC_ATTACH_STDERR)
		(void)sc_buf_puts(&path, "&stderr=1");
	if (what & SC_ATTACH_LOGS)
		(void)sc_buf_puts(&path, "&logs=1");
	rc = sc_buf_check(&path, err_out, "request path");
	if (rc < 0)
		return rc;
	return sc_hijack(engine, sc_buf_text(&path), NULL, deadline, stream_out, err_out);
}
