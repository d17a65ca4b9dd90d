/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_FILTERS_H
#define SC_ENGINE_FILTERS_H

/* The filters parameter of list and event requests: {"label": ["a=b", "c"]}. */

#include "base/json.h"

/* Adds values (NULL-terminated, may be NULL) under key to the filters being built. */
int sc_filters_add(json_t *filters, const char *key, const char *const *values,
	sandcell_error **err_out);
/* One value. */
int sc_filters_add_one(
	json_t *filters, const char *key, const char *value, sandcell_error **err_out);

#endif
