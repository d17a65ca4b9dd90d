/* SPDX-License-Identifier: MIT */
#include "session/list.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/num.h"
#include "engine/container.h"
#include "session/spec.h"

/* A number that a label has as text; 0: none. */
static json_int_t number_of(const json_t *labels, const char *key)
{
	uint64_t value = 0;

	(void)sc_parse_u64(sc_json_get_str(labels, key, ""), INT64_MAX, &value);
	return (json_int_t)value;
}

static json_t *describe(const json_t *entry)
{
	const json_t *labels = sc_json_get_obj(entry, "Labels");
	const char *text = sc_json_get_str(labels, SC_LABEL_CONFIG, "{}");
	sc_autojson *config = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:I, s:I, s:I, s:{s:I, s:s, "
			 "s:I}}",
		"name", sc_json_get_str(labels, SC_LABEL_SESSION, ""), "container",
		sc_json_get_str(entry, "Id", ""), "kind",
		sc_json_get_str(labels, SC_LABEL_KIND, "unnamed"), "state",
		sc_json_get_str(entry, "State", "unknown"), "image",
		sc_json_get_str(entry, "Image", ""), "user",
		sc_json_get_str(config, "user", ""), "workspace",
		sc_json_get_str(config, "workspace", NULL), "created",
		number_of(labels, SC_LABEL_CREATED), "lease_ms",
		(json_int_t)sc_json_get_int(config, "lease_ms", 0), "max_life_ms",
		number_of(labels, SC_LABEL_MAX_LIFE), "owner", "uid",
		number_of(labels, SC_LABEL_OWNER_UID), "host",
		sc_json_get_str(labels, SC_LABEL_OWNER_HOST, ""), "pid",
		number_of(labels, SC_LABEL_OWNER_PID));
}

static int describe_all(const json_t *found, json_t *all, sandcell_error **err_out)
{
	const json_t *entry = NULL;
	size_t i = 0;

	json_array_foreach (found, i, entry) {
		if (json_array_append_new(all, describe(entry)) < 0)
			return sc_fail_nomem(err_out);
	}
	return 0;
}

int sc_list(sandcell_engine *engine, char **json_out, sandcell_error **err_out)
{
	static const char *const labels[] = {SC_LABEL_VERSION, SC_LABEL_NONCE, NULL};
	sc_autojson *found = NULL;
	sc_autojson *all = json_array();
	sc_autobuf text = SC_BUF_INIT(SC_MAX_HTTP_BODY);
	int rc;

	if (!all)
		return sc_fail_nomem(err_out);
	rc = sc_container_list(
		engine, labels, true, sc_engine_request_deadline(engine), &found, err_out);
	if (rc == 0)
		rc = describe_all(found, all, err_out);
	if (rc == 0)
		rc = sc_json_dump(all, &text, err_out);
	if (rc < 0)
		return rc;
	*json_out = sc_buf_take(&text, NULL);
	return *json_out ? 0 : sc_fail_nomem(err_out);
}
