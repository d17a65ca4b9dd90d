/* SPDX-License-Identifier: MIT */
#include "session/attach.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "engine/container.h"
#include "session/config_json.h"
#include "session/connect.h"
#include "session/named.h"
#include "session/spec.h"
#include "session/summary.h"

#define ATTACH_MS 30000
/* How often a session is looked at that is about to be opened. */
#define OPENING_STEP_MS 20

/* ---- finding ---- */

static int no_session(const sandcell_session *s, sandcell_error **err_out)
{
	return sc_fail(
		err_out, SANDCELL_E_NOTFOUND, "there is no session '%s'", s->config.name);
}

static int inspect(
	sandcell_session *s, sc_deadline deadline, json_t **out, sandcell_error **err_out)
{
	sc_autobuf name = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	(void)sc_buf_printf(&name, SC_NAME_PREFIX "%s", s->config.name);
	rc = sc_buf_check(&name, err_out, "container name");
	if (rc < 0)
		return rc;
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	rc = sc_container_inspect(s->engine, sc_buf_text(&name), deadline, out, &why);
	if (rc == SANDCELL_E_NOTFOUND)
		return no_session(s, err_out);
	return rc < 0 ? sc_error_move(err_out, &why, rc) : 0;
}

/* Whose container it is, and what for; the labels belong to the inspect object. */
static int read_labels(sandcell_session *s, const json_t *found, sandcell_error **err_out)
{
	const json_t *labels = sc_json_get_obj(sc_json_get_obj(found, "Config"), "Labels");
	const char *nonce = sc_json_get_str(labels, SC_LABEL_NONCE, "");
	const char *text = sc_json_get_str(labels, SC_LABEL_CONFIG, "{}");
	sc_autojson *config = NULL;
	int rc;

	if (!nonce[0] || !json_object_get(labels, SC_LABEL_VERSION))
		return no_session(s, err_out);
	rc = sc_json_parse(text, strlen(text), "label of the container", &config, err_out);
	if (rc == 0)
		rc = sc_config_from_json(&s->config, config, err_out);
	if (rc < 0)
		return rc;
	s->config.named = strcmp(sc_json_get_str(labels, SC_LABEL_KIND, ""), "named") == 0;
	s->container = sc_strdup(sc_json_get_str(found, "Id", ""));
	s->nonce = sc_strdup(nonce);
	return s->container && s->nonce ? 0 : sc_fail_nomem(err_out);
}

/* One that another process is opening right now is waited for. */
static int find(sandcell_session *s, sc_deadline deadline, sandcell_error **err_out)
{
	for (;;) {
		sc_autojson *found = NULL;
		struct sc_container_state state;
		int rc = inspect(s, deadline, &found, err_out);

		if (rc < 0)
			return rc;
		sc_container_read_state(found, &state);
		if (state.running && !state.paused)
			return read_labels(s, found, err_out);
		if (strcmp(state.status, "created") != 0 &&
			strcmp(state.status, "initialized") != 0)
			return sc_fail(err_out, SANDCELL_E_GONE, "session '%s' is %s",
				s->config.name, state.status);
		if (sc_deadline_passed(deadline))
			return sc_fail(err_out, SANDCELL_E_TIMEOUT,
				"session '%s' is still being opened", s->config.name);
		sc_pause_ms(OPENING_STEP_MS, deadline);
	}
}

/* ---- attaching ---- */

static int load(sandcell_session *s, const char *name, const sandcell_attach_options *opts,
	sandcell_error **err_out)
{
	struct sc_config *config = &s->config;

	if (opts->flags & ~SANDCELL_ATTACH_OBSERVE)
		return sc_fail(err_out, SANDCELL_E_INVAL, "unknown attach flags 0x%x",
			opts->flags);
	s->attached = true;
	s->observes = opts->flags & SANDCELL_ATTACH_OBSERVE;
	*config = (struct sc_config){
		.on_wait = opts->on_wait,
		.wait_user = opts->wait_user,
		.output_max = opts->output_max ? opts->output_max : SC_DEFAULT_OUTPUT_MAX,
		.timeout_ms = opts->timeout_ms ? opts->timeout_ms : SC_DEFAULT_TIMEOUT_MS,
		.open_timeout_ms =
			opts->attach_timeout_ms ? opts->attach_timeout_ms : ATTACH_MS,
	};
	s->warnings = json_array();
	if (!s->warnings)
		return sc_fail_nomem(err_out);
	return sc_config_load_name(config, name, err_out);
}

static int greet(sandcell_session *s, sc_deadline deadline, sandcell_error **err_out)
{
	sc_call ready = {0};
	int rc;

	rc = sc_connect(s, deadline, err_out);
	if (rc == 0)
		rc = sc_greet(s, &ready, deadline, err_out);
	if (rc == 0)
		rc = sc_session_summarize(s, ready.result, err_out);
	sc_call_clear(&ready);
	return rc;
}

/* What the engine says of a container that ends meanwhile depends on the moment. */
static int explain(
	sandcell_session *s, sc_deadline deadline, int rc, sandcell_error **err_out)
{
	sc_autojson *found = NULL;
	struct sc_container_state state = {0};
	int gone = inspect(s, deadline, &found, NULL);

	sc_container_read_state(found, &state);
	if (gone == SANDCELL_E_NOTFOUND || (gone == 0 && !state.running))
		rc = sc_error_recode(err_out, SANDCELL_E_GONE);
	return sc_context(err_out, rc, "attaching to session '%s'", s->config.name);
}

int sc_session_attach(sandcell_engine *engine, const char *name,
	const sandcell_attach_options *opts, sandcell_session **session_out,
	sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_session_freep) sandcell_session *s = NULL;
	int rc;

	rc = sc_session_new(engine, &s, err_out);
	if (rc == 0)
		rc = load(s, name, opts, err_out);
	if (rc < 0)
		return rc;
	sc_deadline deadline = sc_deadline_in_ms(s->config.open_timeout_ms);
	rc = find(s, deadline, err_out);
	if (rc < 0)
		return rc;
	s->call_began_ns = sc_engine_wall_now_ns(engine);
	rc = greet(s, deadline, err_out);
	if (rc < 0)
		return explain(s, deadline, rc, err_out);
	rc = sc_session_move(s, SESSION_NEW, SESSION_READY, err_out);
	if (rc == 0 && opts->lease_ms)
		rc = sc_session_set_lease(s, opts->lease_ms, err_out);
	if (rc < 0)
		return rc;
	*session_out = SANDCELL_TAKE(s);
	return 0;
}
