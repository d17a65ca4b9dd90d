/* SPDX-License-Identifier: MIT */
/*
 * The membrane: checks arguments, loads option structs, and hands on.  Nothing else sees a
 * caller's struct.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "engine/info.h"
#include "sandcell/sandcell.h"

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

uint32_t sandcell_version(void)
{
	return (uint32_t)SANDCELL_VERSION_MAJOR << 16 | SANDCELL_VERSION_MINOR << 8 |
	       SANDCELL_VERSION_PATCH;
}

const char *sandcell_version_text(void)
{
	return STRING(SANDCELL_VERSION_MAJOR) "." STRING(SANDCELL_VERSION_MINOR) "." STRING(
		SANDCELL_VERSION_PATCH);
}

int sandcell_has_feature(const char *name)
{
	static const char *const features[] = {"execute"};

	for (size_t i = 0; name && i < sizeof(features) / sizeof(features[0]); i++) {
		if (strcmp(name, features[i]) == 0)
			return 1;
	}
	return 0;
}

/* ---- engine ---- */

/* Size of an options struct in the first release that had it. */
#define ENGINE_OPTIONS_FIRST sizeof(sandcell_engine_options)

void sandcell_engine_options_init(sandcell_engine_options *opts, size_t size)
{
	memset(opts, 0, size);
	opts->struct_size = size;
}

int sandcell_engine_open(const sandcell_engine_options *opts, sandcell_engine **engine_out,
	sandcell_error **err_out)
{
	sandcell_engine_options mine;
	int rc;

	if (!engine_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "engine_out is NULL");
	rc = sc_opts_load(&mine, sizeof(mine), ENGINE_OPTIONS_FIRST, opts,
		"sandcell_engine_options", err_out);
	if (rc < 0)
		return rc;
	return sc_engine_open(&mine, engine_out, err_out);
}

const char *sandcell_engine_get_host(const sandcell_engine *engine)
{
	return sc_engine_host(engine);
}

const char *sandcell_engine_get_source(const sandcell_engine *engine)
{
	return sc_engine_source(engine);
}

const char *sandcell_engine_get_kind(const sandcell_engine *engine)
{
	return sc_engine_kind(engine);
}

const char *sandcell_engine_get_api_version(const sandcell_engine *engine)
{
	return sc_engine_api_version(engine);
}

int sandcell_engine_describe(
	sandcell_engine *engine, char **json_out, sandcell_error **err_out)
{
	if (!engine || !json_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "engine or json_out is NULL");
	return sc_engine_describe(engine, json_out, err_out);
}

void sandcell_engine_free(sandcell_engine *engine)
{
	sc_engine_free(engine);
}

void sandcell_string_free(char *text)
{
	sc_free(text);
}
