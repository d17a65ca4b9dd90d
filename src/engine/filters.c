/* SPDX-License-Identifier: MIT */
#include "engine/filters.h"

#include <string.h>

#include "base/utf8.h"

int sc_filters_add(json_t *filters, const char *key, const char *const *values,
	sandcell_error **err_out)
{
	json_t *list = sc_json_get_arr(filters, key);

	if (!values || !values[0])
		return 0;
	if (!list) {
		list = json_array();
		if (json_object_set_new(filters, key, list) < 0)
			return sc_fail_nomem(err_out);
	}
	for (size_t i = 0; values[i]; i++) {
		size_t len = strlen(values[i]);
		if (sc_utf8_check(values[i], len) < len)
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"filter '%s' is not UTF-8", values[i]);
		json_t *text = json_stringn(values[i], len);
		if (!text || json_array_append_new(list, text) < 0)
			return sc_fail_nomem(err_out);
	}
	return 0;
}

int sc_filters_add_one(
	json_t *filters, const char *key, const char *value, sandcell_error **err_out)
{
	const char *const values[] = {value, NULL};

	return sc_filters_add(filters, key, values, err_out);
}
