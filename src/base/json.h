/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_JSON_H
#define SC_BASE_JSON_H

/*
 * JSON through jansson, with every access type-checked: engine text is untrusted.
 *
 * want_* fail with SANDCELL_E_PROTOCOL "engine reply: 'Id' missing or not a string";
 * get_* answer with a fallback when the key is missing, null or of another type.  What they
 * lend lives as long as the root.  `from` may be NULL or not an object.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"

static inline void sc_json_freep(json_t **json)
{
	json_decref(*json);
}

#define sc_autojson SANDCELL_CLEANUP(sc_json_freep) json_t

/* Parses all of text; what names it in the error: "engine reply". */
int sc_json_parse(const char *text, size_t len, const char *what, json_t **root_out,
	sandcell_error **err_out);
/* Appends the compact ASCII form to buf. */
int sc_json_dump(const json_t *json, sc_buf *buf, sandcell_error **err_out);

int sc_json_want_str(
	const json_t *from, const char *key, const char **out, sandcell_error **err_out);
int sc_json_want_int(
	const json_t *from, const char *key, int64_t *out, sandcell_error **err_out);
int sc_json_want_obj(
	const json_t *from, const char *key, json_t **out, sandcell_error **err_out);

const char *sc_json_get_str(const json_t *from, const char *key, const char *fallback);
int64_t sc_json_get_int(const json_t *from, const char *key, int64_t fallback);
bool sc_json_get_bool(const json_t *from, const char *key, bool fallback);
json_t *sc_json_get_obj(const json_t *from, const char *key); /* NULL when not one */
json_t *sc_json_get_arr(const json_t *from, const char *key); /* NULL when not one */

#endif
