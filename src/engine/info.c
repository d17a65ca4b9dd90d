/* SPDX-License-Identifier: MIT */
#include "engine/info.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "engine/engine_impl.h"
#include "engine/http.h"

struct sc_info_cache {
	struct sc_engine_info info;
	json_t *root; /* the reply, which info lends from */
	json_t *runtimes;
	json_t *warnings;
};

void sc_info_cache_free(struct sc_info_cache *cache)
{
	if (!cache)
		return;
	json_decref(cache->root);
	json_decref(cache->runtimes);
	json_decref(cache->warnings);
	sc_free(cache);
}

static void cache_freep(struct sc_info_cache **cache)
{
	sc_info_cache_free(*cache);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_runtimes(struct sc_info_cache *cache, sandcell_error **err_out)
{
	json_t *from = sc_json_get_obj(cache->root, "Runtimes");
	size_t count = json_object_size(from);
	sc_autofree const char **names = sc_calloc(count, sizeof(*names));
	const char *name = NULL;
	json_t *value = NULL;
	size_t n = 0;

	cache->runtimes = json_array();
	if (!names || !cache->runtimes)
		return sc_fail_nomem(err_out);
	json_object_foreach (from, name, value)
		names[n++] = name;
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n; i++) {
		if (json_array_append_new(cache->runtimes, json_string(names[i])) < 0)
			return sc_fail_nomem(err_out);
	}
	cache->info.runtimes = cache->runtimes;
	return 0;
}

static bool has_option(const json_t *options, const char *name)
{
	size_t i = 0;
	json_t *value = NULL;

	json_array_foreach (options, i, value) {
		const char *text = json_string_value(value);
		/* Docker writes "name=rootless,key=value", old ones just "rootless". */
		if (text && strncmp(text, "name=", 5) == 0)
			text += 5;
		size_t len = strlen(name);
		if (text && strncmp(text, name, len) == 0 &&
			(text[len] == '\0' || text[len] == ','))
			return true;
	}
	return false;
}

static int read_cgroup_version(const json_t *root)
{
	uint64_t version = 0;

	return sc_parse_u64(sc_json_get_str(root, "CgroupVersion", ""), 2, &version)
		       ? (int)version
		       : 0;
}

static int read_warnings(struct sc_info_cache *cache, const struct sc_quirks *quirks,
	sandcell_error **err_out)
{
	struct sc_engine_info *info = &cache->info;
	const json_t *theirs = sc_json_get_arr(cache->root, "Warnings");

	cache->warnings = theirs ? json_copy((json_t *)theirs) : json_array();
	if (!cache->warnings)
		return sc_fail_nomem(err_out);
	info->limits_work = !(quirks->drops_limits_rootless_v1 && info->rootless &&
			      info->cgroup_version == 1);
	if (!info->limits_work &&
		json_array_append_new(cache->warnings,
			json_string("rootless on cgroup v1: memory, CPU, process and file "
				    "limits are dropped by the engine")) < 0)
		return sc_fail_nomem(err_out);
	info->warnings = cache->warnings;
	return 0;
}

static int ask(sandcell_engine *engine, sc_deadline deadline, json_t **root_out,
	sandcell_error **err_out)
{
	const struct sc_http_request request = {.path = "/info", .deadline = deadline};
	sc_autojson *root = NULL;
	int rc;

	rc = sc_http_call_json(engine, &request, &root, err_out);
	if (rc < 0)
		return rc;
	if (!json_is_object(root))
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"engine reply: an object was expected");
	*root_out = SANDCELL_TAKE(root);
	return 0;
}

/* Fills an empty cache, which the caller frees in any case. */
static int load(sandcell_engine *engine, sc_deadline deadline, struct sc_info_cache *cache,
	sandcell_error **err_out)
{
	int rc;

	rc = ask(engine, deadline, &cache->root, err_out);
	if (rc < 0)
		return rc;
	const json_t *root = cache->root;
	const json_t *security = sc_json_get_arr(root, "SecurityOptions");
	cache->info = (struct sc_engine_info){
		.version = sc_json_get_str(root, "ServerVersion", ""),
		.runtime = sc_json_get_str(root, "DefaultRuntime", ""),
		.kernel = sc_json_get_str(root, "KernelVersion", ""),
		.os = sc_json_get_str(root, "OperatingSystem", ""),
		.architecture = sc_json_get_str(root, "Architecture", ""),
		.name = sc_json_get_str(root, "Name", ""),
		.security = security,
		.cpus = sc_json_get_int(root, "NCPU", 0),
		.memory_bytes = sc_json_get_int(root, "MemTotal", 0),
		.cgroup_version = read_cgroup_version(root),
		.rootless = sc_json_get_bool(root, "Rootless", false) ||
			    has_option(security, "rootless"),
		.userns_remap = has_option(security, "userns"),
	};
	rc = read_runtimes(cache, err_out);
	if (rc < 0)
		return rc;
	return read_warnings(cache, engine->quirks, err_out);
}

int sc_engine_info(sandcell_engine *engine, sc_deadline deadline,
	const struct sc_engine_info **info_out, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(cache_freep) struct sc_info_cache *fresh = NULL;
	struct sc_info_cache *kept = NULL;
	int rc;

	(void)pthread_mutex_lock(&engine->lock);
	kept = engine->info;
	(void)pthread_mutex_unlock(&engine->lock);
	if (!kept) {
		fresh = sc_calloc(1, sizeof(*fresh));
		if (!fresh)
			return sc_fail_nomem(err_out);
		rc = load(engine, deadline, fresh, err_out);
		if (rc < 0)
			return rc;
		/* Another thread may have been quicker; what it lent must stay. */
		(void)pthread_mutex_lock(&engine->lock);
		if (!engine->info)
			engine->info = SANDCELL_TAKE(fresh);
		kept = engine->info;
		(void)pthread_mutex_unlock(&engine->lock);
	}
	*info_out = &kept->info;
	return 0;
}

bool sc_engine_has_runtime(const struct sc_engine_info *info, const char *name)
{
	size_t i = 0;
	json_t *value = NULL;

	json_array_foreach (info->runtimes, i, value) {
		if (strcmp(json_string_value(value), name) == 0)
			return true;
	}
	return false;
}

static json_t *summarise(const sandcell_engine *engine, const struct sc_engine_info *info)
{
	return json_pack(
		"{s:s,s:s,s:s,s:s,s:s,s:s,s:O,s:i,s:b,s:b,s:I,s:I,s:O?,s:s,s:s,s:s,"
		"s:b,s:O}",
		"host", engine->address.text, "source", engine->source, "kind",
		engine->quirks->name, "version", info->version, "api_version",
		engine->api_version, "runtime", info->runtime, "runtimes", info->runtimes,
		"cgroup_version", info->cgroup_version, "rootless", info->rootless,
		"userns_remap", info->userns_remap, "cpus", (json_int_t)info->cpus,
		"memory_bytes", (json_int_t)info->memory_bytes, "security_options",
		info->security, "kernel", info->kernel, "os", info->os, "architecture",
		info->architecture, "limits_work", info->limits_work, "warnings",
		info->warnings);
}

int sc_engine_describe(sandcell_engine *engine, char **json_out, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(cache_freep)
	struct sc_info_cache *cache = sc_calloc(1, sizeof(*cache));
	sc_autojson *summary = NULL;
	sc_autobuf text = SC_BUF_INIT(SC_MAX_TEXT);
	int rc;

	if (!cache)
		return sc_fail_nomem(err_out);
	rc = load(engine, sc_engine_request_deadline(engine), cache, err_out);
	if (rc < 0)
		return rc;
	summary = summarise(engine, &cache->info);
	if (!summary)
		return sc_fail_nomem(err_out);
	rc = sc_json_dump(summary, &text, err_out);
	if (rc < 0)
		return rc;
	*json_out = sc_buf_take(&text, NULL);
	return *json_out ? 0 : sc_fail_nomem(err_out);
}
