/* SPDX-License-Identifier: MIT */
#include "session/summary.h"

#include "base/alloc.h"
#include "base/json.h"
#include "session/limits.h"

int sc_session_warn(sandcell_session *s, json_t *text, sandcell_error **err_out)
{
	if (json_array_append_new(s->warnings, text) < 0)
		return sc_fail_nomem(err_out);
	return 0;
}

static int check_limits(sandcell_session *s, const json_t *ready, sandcell_error **err_out)
{
	const json_t *in_force = sc_json_get_obj(ready, "limits");
	int dropped = sc_limits_compare(&s->config.limits, in_force, s->warnings);

	if (dropped == SANDCELL_E_NOMEM)
		return sc_fail_nomem(err_out);
	if (dropped == 0 || !s->config.strict_limits)
		return 0;
	const json_t *first =
		json_array_get(s->warnings, json_array_size(s->warnings) - (size_t)dropped);
	return sc_fail(err_out, SANDCELL_E_LIMIT, "%s", json_string_value(first));
}

static int check_preload(sandcell_session *s, const json_t *ready, sandcell_error **err_out)
{
	json_t *errors = sc_json_get_obj(ready, "preload_errors");
	const char *name = NULL;
	json_t *why = NULL;
	int rc = 0;

	json_object_foreach (errors, name, why) {
		const char *text = json_string_value(why);

		if (rc == 0)
			rc = sc_session_warn(s,
				json_sprintf("preload of '%s': %s", name,
					text ? text : "not possible"),
				err_out);
	}
	return rc;
}

static int check_peercred(sandcell_session *s, sandcell_error **err_out)
{
	if (sc_json_get_bool(sc_channel_hello(s->channel), "peercred", true))
		return 0;
	return sc_session_warn(s,
		json_string(
			"this OCI runtime does not tell who connects to a socket, so no "
			"other client can attach to the session"),
		err_out);
}

static json_t *make_summary(const sandcell_session *s, const json_t *ready)
{
	const struct sc_config *config = &s->config;
	const json_t *hello = sc_channel_hello(s->channel);
	const char *path = config->workspace.path;
	const json_t *in_force = sc_json_get_obj(ready, "limits");

	return json_pack("{s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:o, s:s?, s:b, s:s, s:I, "
			 "s:{s:o, s:o}, s:i, s:o}",
		"name", config->name, "container", s->container, "named", config->named,
		"engine", sc_engine_kind(s->engine), "host", sc_engine_host(s->engine),
		"image", config->image, "python",
		sc_json_get_str(hello, "python", "unknown"), "user",
		json_sprintf("%u:%u", config->workspace.uid, config->workspace.gid),
		"workspace", path, "workspace_read_only", config->workspace.read_only,
		"network", config->network, "lease_ms", (json_int_t)config->lease_ms,
		"limits", "asked", sc_limits_json(&config->limits), "in_force",
		in_force ? json_deep_copy(in_force) : json_object(), "landlock",
		(int)sc_json_get_int(ready, "landlock", 0), "warnings",
		json_deep_copy(s->warnings));
}

int sc_session_summarize(sandcell_session *s, const json_t *ready, sandcell_error **err_out)
{
	sc_autojson *summary = NULL;
	sc_autobuf text = SC_BUF_INIT(SC_MAX_TEXT);
	int rc;

	rc = check_preload(s, ready, err_out);
	if (rc == 0)
		rc = check_peercred(s, err_out);
	if (rc == 0)
		rc = check_limits(s, ready, err_out);
	if (rc < 0)
		return rc;
	summary = make_summary(s, ready);
	if (!summary)
		return sc_fail_nomem(err_out);
	rc = sc_json_dump(summary, &text, err_out);
	if (rc < 0)
		return rc;
	sc_free(s->json);
	s->json = sc_buf_take(&text, NULL);
	return s->json ? 0 : sc_fail_nomem(err_out);
}
