/* SPDX-License-Identifier: MIT */
#include "session/config_json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/num.h"

json_t *sc_config_json(const struct sc_config *config)
{
	const struct sc_workspace *workspace = &config->workspace;

	return json_pack("{s:s, s:o, s:s?, s:b, s:s, s:s?, s:I, s:I, s:I, s:o}", "image",
		config->image, "user",
		json_sprintf("%u:%u", workspace->uid, workspace->gid), "workspace",
		workspace->path, "workspace_read_only", workspace->read_only, "network",
		config->network, "runtime", config->runtime, "lease_ms",
		(json_int_t)config->lease_ms, "max_life_ms",
		(json_int_t)config->max_life_ms, "idle_ms", (json_int_t)config->idle_ms,
		"limits", sc_limits_json(&config->limits));
}

static int copy(const json_t *from, const char *key, const char *otherwise, char **out,
	sandcell_error **err_out)
{
	const char *text = sc_json_get_str(from, key, otherwise);

	if (!text)
		return 0;
	*out = sc_strdup(text);
	return *out ? 0 : sc_fail_nomem(err_out);
}

static uint64_t number(const json_t *from, const char *key)
{
	int64_t value = sc_json_get_int(from, key, 0);

	return value > 0 ? (uint64_t)value : 0;
}

static void read_user(const char *text, struct sc_workspace *workspace)
{
	size_t colon = strcspn(text, ":");
	uint64_t uid = 0;
	uint64_t gid = 0;

	if (text[colon] && sc_parse_u64_n(text, colon, UINT32_MAX, &uid) &&
		sc_parse_u64(text + colon + 1, UINT32_MAX, &gid)) {
		workspace->uid = (uid_t)uid;
		workspace->gid = (gid_t)gid;
	}
}

static void read_limits(const json_t *from, struct sc_limits *limits)
{
	limits->memory_bytes = number(from, "memory_bytes");
	limits->tmp_bytes = number(from, "tmp_bytes");
	limits->home_bytes = number(from, "home_bytes");
	limits->shm_bytes = number(from, "shm_bytes");
	limits->workspace_bytes = number(from, "workspace_bytes");
	limits->cpu_millis = (uint32_t)number(from, "cpu_millis");
	limits->pids = (uint32_t)number(from, "pids");
	limits->nofile = (uint32_t)number(from, "nofile");
	limits->nproc = (uint32_t)number(from, "nproc");
}

int sc_config_from_json(
	struct sc_config *config, const json_t *from, sandcell_error **err_out)
{
	struct sc_workspace *workspace = &config->workspace;
	int rc;

	rc = copy(from, "image", "unknown", &config->image, err_out);
	if (rc == 0)
		rc = copy(from, "network", "unknown", &config->network, err_out);
	if (rc == 0)
		rc = copy(from, "runtime", NULL, &config->runtime, err_out);
	if (rc == 0)
		rc = copy(from, "workspace", NULL, &workspace->path, err_out);
	if (rc < 0)
		return rc;
	workspace->read_only = sc_json_get_bool(from, "workspace_read_only", false);
	read_user(sc_json_get_str(from, "user", ""), workspace);
	config->lease_ms = (uint32_t)number(from, "lease_ms");
	config->max_life_ms = (uint32_t)number(from, "max_life_ms");
	config->idle_ms = (uint32_t)number(from, "idle_ms");
	read_limits(sc_json_get_obj(from, "limits"), &config->limits);
	return 0;
}
