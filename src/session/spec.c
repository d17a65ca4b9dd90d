/* SPDX-License-Identifier: MIT */
#include "session/spec.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "sandcell/version.h"
#include "session/config_json.h"
#include "session/runner_source.h"

#define PYTHON	     "python3"
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const char *const sc_spec_own_targets[] = {
	SC_WORKSPACE_TARGET,
	SC_SPEC_HOME,
	"/tmp",
	"/var/tmp",
	"/run",
	NULL,
};

/* json_pack's "o" wants a value that exists: this makes a missing one fail the whole. */
static int done(json_t *json, json_t **out, sandcell_error **err_out)
{
	if (!json)
		return sc_fail_nomem(err_out);
	*out = json;
	return 0;
}

/* ---- labels ---- */

static json_t *number_text(uint64_t value)
{
	return json_sprintf("%" PRIu64, value);
}

static json_t *config_text(const struct sc_config *config)
{
	sc_autojson *all = sc_config_json(config);
	sc_autobuf text = SC_BUF_INIT(SC_MAX_TEXT);

	if (!all || sc_json_dump(all, &text, NULL) < 0)
		return NULL;
	return json_string(sc_buf_text(&text));
}

static json_t *make_labels(const struct sc_config *config, const struct sc_owner *owner,
	const struct sc_spec_engine *engine)
{
	const struct {
		const char *key;
		json_t *value; /* stolen below, NULL included */
	} rows[] = {
		{SC_LABEL_VERSION, json_string(sandcell_version_text())},
		{SC_LABEL_SESSION, json_string(config->name)},
		{SC_LABEL_KIND, json_string(config->named ? "named" : "unnamed")},
		{SC_LABEL_OWNER_UID, number_text(owner->uid)},
		{SC_LABEL_OWNER_HOST, json_string(owner->host)},
		{SC_LABEL_OWNER_BOOT, json_string(owner->boot_id)},
		{SC_LABEL_OWNER_PIDNS, number_text(owner->pid_ns)},
		{SC_LABEL_OWNER_PID, number_text((uint64_t)owner->pid)},
		{SC_LABEL_OWNER_START, number_text(owner->start)},
		{SC_LABEL_CREATED, number_text(engine->created_s)},
		{SC_LABEL_PREFIX "lease_ms", number_text(config->lease_ms)},
		{SC_LABEL_MAX_LIFE, number_text(config->max_life_ms)},
		{SC_LABEL_CONFIG, config_text(config)},
		{SC_LABEL_NONCE, json_string(engine->nonce)},
	};
	json_t *labels = json_object();
	int bad = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bad |= json_object_set_new(labels, rows[i].key, rows[i].value);
	if (!bad)
		return labels;
	json_decref(labels);
	return NULL;
}

/* ---- mounts ---- */

/*
 * Only options that both engines know.  exec or noexec is always said: their defaults
 * differ.  runc 1.1 takes the mode from the image where it has the directory.
 */
static json_t *tmpfs_options(const char *exec, const char *mode, uint64_t size)
{
	return json_sprintf(
		"rw,%s,nosuid,nodev,size=%" PRIu64 ",mode=%s", exec, size, mode);
}

/* /run is for nobody: it is here because Podman would add one without a size. */
static json_t *make_tmpfs(const struct sc_config *config)
{
	const struct sc_limits *limits = &config->limits;
	const struct {
		const char *target;
		uint64_t size;
		const char *exec;
		const char *mode;
	} rows[] = {
		{"/tmp", limits->tmp_bytes, "exec", "1777"},
		{SC_SPEC_HOME, limits->home_bytes, "exec", "1777"},
		{SC_WORKSPACE_TARGET, limits->workspace_bytes, "exec", "1777"},
		{"/var/tmp", limits->var_tmp_bytes, "noexec", "1777"},
		{"/run", limits->run_bytes, "noexec", "0755"},
	};
	json_t *all = json_object();
	int bad = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].size > 0)
			bad |= json_object_set_new(all, rows[i].target,
				tmpfs_options(rows[i].exec, rows[i].mode, rows[i].size));
	}
	if (!bad)
		return all;
	json_decref(all);
	return NULL;
}

static int add_bind(json_t *all, const char *source, const char *target, bool read_only)
{
	return json_array_append_new(
		all, json_pack("{s:s, s:s, s:s, s:b}", "Type", "bind", "Source", source,
			     "Target", target, "ReadOnly", read_only));
}

static json_t *make_binds(const struct sc_config *config)
{
	const struct sc_workspace *workspace = &config->workspace;
	json_t *all = json_array();
	int bad = all ? 0 : -1;

	if (workspace->path)
		bad |= add_bind(
			all, workspace->path, SC_WORKSPACE_TARGET, workspace->read_only);
	for (size_t i = 0; i < config->mount_count; i++)
		bad |= add_bind(all, config->mounts[i].source, config->mounts[i].target,
			config->mounts[i].read_only);
	if (!bad)
		return all;
	json_decref(all);
	return NULL;
}

/* ---- container ---- */

static json_t *make_ulimits(const struct sc_limits *limits)
{
	json_int_t nofile = limits->nofile;
	json_int_t nproc = limits->nproc;

	return json_pack("[{s:s, s:I, s:I}, {s:s, s:I, s:I}, {s:s, s:i, s:i}]", "Name",
		"nofile", "Soft", nofile, "Hard", nofile, "Name", "nproc", "Soft", nproc,
		"Hard", nproc, "Name", "core", "Soft", 0, "Hard", 0);
}

/* What the engine would give and we do not, and the four rights of the supervisor. */
static json_t *make_lockdown(const struct sc_config *config)
{
	return json_pack(
		"{s:s, s:b, s:b, s:[s], s:[ssss], s:[s], s:s, s:{s:s}, s:{s:s, s:{s:s}}}",
		"NetworkMode", config->network, "ReadonlyRootfs", 1, "AutoRemove", 1,
		"CapDrop", "ALL", "CapAdd", "SETUID", "SETGID", "KILL", "SETPCAP",
		"SecurityOpt", "no-new-privileges", "IpcMode", "private",
		/* SysV shared memory is an unlimited tmpfs otherwise; in pages. */
		"Sysctls", "kernel.shmall", "256", "LogConfig", "Type", "json-file",
		"Config", "max-size", "256k");
}

static int set_limits(json_t *host, const struct sc_limits *limits)
{
	json_int_t memory = (json_int_t)limits->memory_bytes;
	int bad = 0;

	bad |= json_object_set_new(host, "Memory", json_integer(memory));
	bad |= json_object_set_new(host, "MemorySwap", json_integer(memory));
	bad |= json_object_set_new(host, "PidsLimit", json_integer(limits->pids));
	bad |= json_object_set_new(
		host, "ShmSize", json_integer((json_int_t)limits->shm_bytes));
	bad |= json_object_set_new(host, "Ulimits", make_ulimits(limits));
	if (limits->cpu_millis)
		bad |= json_object_set_new(host, "NanoCpus",
			json_integer((json_int_t)limits->cpu_millis * 1000000));
	return bad;
}

static json_t *make_host_config(
	const struct sc_config *config, const struct sc_spec_engine *engine)
{
	json_t *host = make_lockdown(config);
	int bad = set_limits(host, &config->limits);

	bad |= json_object_set_new(host, "Tmpfs", make_tmpfs(config));
	bad |= json_object_set_new(host, "Mounts", make_binds(config));
	if (engine->keep_id)
		bad |= json_object_set_new(host, "UsernsMode", json_string("keep-id"));
	if (config->runtime && engine->runtime_per_request)
		bad |= json_object_set_new(host, "Runtime", json_string(config->runtime));
	if (!bad)
		return host;
	json_decref(host);
	return NULL;
}

static json_t *make_command(const struct sc_runner_source *stage0)
{
	return json_pack("[sssss]", PYTHON, "-I", "-S", "-c", stage0->text);
}

/*
 * Entrypoint takes the whole command, since an empty one would not replace the image's.
 * The working directory is /: uid 0 without capabilities may not be able to enter the
 * workspace.
 */
int sc_spec_container(const struct sc_config *config, const struct sc_owner *owner,
	const struct sc_spec_engine *engine, json_t **body_out, sandcell_error **err_out)
{
	json_t *body = json_pack(
		"{s:s, s:o, s:[], s:s, s:s, s:s, s:{s:[s]}, s:b, s:b, s:b, s:o, s:o}",
		"Image", config->image, "Entrypoint", make_command(&sc_runner_stage0_init),
		"Cmd", "User", "0:0", "WorkingDir", "/", "Hostname", "sandcell",
		"Healthcheck", "Test", "NONE", "Tty", 0, "OpenStdin", 1, "StdinOnce", 1,
		"Labels", make_labels(config, owner, engine), "HostConfig",
		make_host_config(config, engine));

	return done(body, body_out, err_out);
}

int sc_spec_connector(json_t **body_out, sandcell_error **err_out)
{
	json_t *user = json_sprintf("%d:%d", SC_SERVICE_ID, SC_SERVICE_ID);
	json_t *body = json_pack("{s:b, s:b, s:b, s:b, s:s, s:o, s:o}", "AttachStdin", 1,
		"AttachStdout", 1, "AttachStderr", 1, "Tty", 0, "WorkingDir", "/", "User",
		user, "Cmd", make_command(&sc_runner_stage0_connect));

	return done(body, body_out, err_out);
}

/* ---- setup ---- */

/* The image's variables, ours where it has none, the caller's on top. */
static json_t *make_env(const struct sc_config *config, const json_t *image_env)
{
	json_t *env = json_pack(
		"{s:s, s:s, s:s}", "PATH", DEFAULT_PATH, "LANG", "C.UTF-8", "TERM", "dumb");
	size_t index = 0;
	const json_t *entry = NULL;
	int bad = env ? 0 : -1;

	json_array_foreach (image_env, index, entry) {
		const char *text = json_string_value(entry);
		const char *equals = text ? strchr(text, '=') : NULL;
		sc_autofree char *key = NULL;

		if (!equals || equals == text)
			continue;
		key = sc_strndup(text, (size_t)(equals - text));
		bad |= key ? json_object_set_new(env, key, json_string(equals + 1)) : -1;
	}
	bad |= json_object_set_new(env, "HOME", json_string(SC_SPEC_HOME));
	bad |= json_object_set_new(env, "USER", json_string("sandcell"));
	bad |= json_object_update(env, config->env);
	if (!bad)
		return env;
	json_decref(env);
	return NULL;
}

/* Where Landlock lets user code write; not /proc, where it could make itself less of an OOM
 * victim. */
static json_t *make_writable(const struct sc_config *config)
{
	json_t *all = json_pack("[ssss]", "/tmp", "/var/tmp", SC_SPEC_HOME, "/dev");
	int bad = all ? 0 : -1;

	if (!config->workspace.read_only)
		bad |= json_array_append_new(all, json_string(SC_WORKSPACE_TARGET));
	for (size_t i = 0; i < config->mount_count; i++) {
		if (!config->mounts[i].read_only)
			bad |= json_array_append_new(
				all, json_string(config->mounts[i].target));
	}
	if (!bad)
		return all;
	json_decref(all);
	return NULL;
}

int sc_spec_setup(const struct sc_config *config, const json_t *image_env, uint64_t id,
	json_t **header_out, sandcell_error **err_out)
{
	const struct sc_workspace *workspace = &config->workspace;
	json_t *header = json_pack(
		"{s:s, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:{s:I, s:I}, s:O, s:o, s:o}",
		"type", "setup", "id", (json_int_t)id, "uid", (json_int_t)workspace->uid,
		"gid", (json_int_t)workspace->gid, "cwd", SC_WORKSPACE_TARGET, "lease_ms",
		(json_int_t)config->lease_ms, "max_life_ms",
		(json_int_t)config->max_life_ms, "idle_ms", (json_int_t)config->idle_ms,
		"limits", "nofile", (json_int_t)config->limits.code_nofile, "fsize",
		(json_int_t)config->limits.fsize_bytes, "preload", config->preload, "env",
		make_env(config, image_env), "writable", make_writable(config));

	return done(header, header_out, err_out);
}
