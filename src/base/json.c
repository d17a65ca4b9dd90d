/* SPDX-License-Identifier: MIT */
#include "base/json.h"

int sc_json_parse(const char *text, size_t len, const char *what, json_t **root_out,
	sandcell_error **err_out)
{
	json_error_t why = {0};
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

	if (!root && json_error_code(&why) == json_error_out_of_memory)
		return sc_fail_nomem(err_out);
	if (!root)
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"%s is not JSON: %s at byte %d", what, why.text, why.position);
	*root_out = root;
	return 0;
}

static int append(const char *data, size_t len, void *user)
{
	return sc_buf_append(user, data, len);
}

int sc_json_dump(const json_t *json, sc_buf *buf, sandcell_error **err_out)
{
	int rc = json_dump_callback(
		json, append, buf, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);

	if (rc < 0 && buf->rc == 0)
		return sc_fail_nomem(err_out);
	return sc_buf_check(buf, err_out, "JSON text");
}

static int missing(const char *key, const char *type, sandcell_error **err_out)
{
	return sc_fail(err_out, SANDCELL_E_PROTOCOL, "engine reply: '%s' missing or not %s",
		key, type);
}

int sc_json_want_str(
	const json_t *from, const char *key, const char **out, sandcell_error **err_out)
{
	const char *text = sc_json_get_str(from, key, NULL);

	if (!text)
		return missing(key, "a string", err_out);
	*out = text;
	return 0;
}

int sc_json_want_int(
	const json_t *from, const char *key, int64_t *out, sandcell_error **err_out)
{
	const json_t *value = json_object_get(from, key);

	if (!json_is_integer(value))
		return missing(key, "an integer", err_out);
	*out = json_integer_value(value);
	return 0;
}

int sc_json_want_obj(
	const json_t *from, const char *key, json_t **out, sandcell_error **err_out)
{
	json_t *value = sc_json_get_obj(from, key);

	if (!value)
		return missing(key, "an object", err_out);
	*out = value;
	return 0;
}

const char *sc_json_get_str(const json_t *from, const char *key, const char *fallback)
{
	const char *text = json_string_value(json_object_get(from, key));

	return text ? text : fallback;
}

int64_t sc_json_get_int(const json_t *from, const char *key, int64_t fallback)
{
	const json_t *value = json_object_get(from, key);

	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool sc_json_get_bool(const json_t *from, const char *key, bool fallback)
{
	const json_t *value = json_object_get(from, key);

	return json_is_boolean(value) ? json_is_true(value) : fallback;
}

json_t *sc_json_get_obj(const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);

	return json_is_object(value) ? value : NULL;
}

json_t *sc_json_get_arr(const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);

	return json_is_array(value) ? value : NULL;
}
