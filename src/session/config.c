/* SPDX-License-Identifier: MIT */
#include "session/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "session/owner.h"

#define DEFAULT_LEASE_MS	10000
#define DEFAULT_NAMED_LEASE_MS	(30 * 60000)
#define DEFAULT_OPEN_TIMEOUT_MS 60000
#define NAME_MAX_LEN		64
#define IMAGE_MAX_LEN		512
#define KNOWN_FLAGS		(SANDCELL_SESSION_WORKSPACE_RO | SANDCELL_SESSION_STRICT_LIMITS)

static int copy_text(char **out, const char *text, sandcell_error **err_out)
{
	*out = sc_strdup(text);
	return *out ? 0 : sc_fail_nomem(err_out);
}

/* Printable ASCII without blanks, which is all that image and network names need. */
static bool is_word(const char *text, size_t max)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	return len > 0 && len <= max;
}

static int load_image(struct sc_config *config, const char *image, sandcell_error **err_out)
{
	if (!image)
		image = secure_getenv("SANDCELL_IMAGE");
	if (!image || !image[0])
		image = SC_DEFAULT_IMAGE;
	if (!is_word(image, IMAGE_MAX_LEN))
		return sc_fail(err_out, SANDCELL_E_INVAL, "bad image name '%s'", image);
	return copy_text(&config->image, image, err_out);
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

int sc_config_load_name(
	struct sc_config *config, const char *name, sandcell_error **err_out)
{
	char made_up[17];
	int rc;

	config->named = name != NULL;
	if (!name) {
		rc = sc_random_hex(made_up, 16, err_out);
		return rc < 0 ? rc : copy_text(&config->name, made_up, err_out);
	}
	size_t len = strlen(name);
	bool good = len > 0 && len <= NAME_MAX_LEN;
	for (size_t i = 0; i < len && good; i++)
		good = is_name_char(name[i]);
	if (!good)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"session name '%s': 1 to %d letters, digits, '_', '.', '-' are "
			"possible",
			name, NAME_MAX_LEN);
	return copy_text(&config->name, name, err_out);
}

/* Sessions are told apart by their network namespace, where the supervisor listens. */
static int load_network(
	struct sc_config *config, const char *network, sandcell_error **err_out)
{
	if (!network)
		network = "none";
	if (!is_word(network, NAME_MAX_LEN * 2))
		return sc_fail(err_out, SANDCELL_E_INVAL, "bad network name '%s'", network);
	if (strcmp(network, "host") == 0 || strncmp(network, "container:", 10) == 0 ||
		strncmp(network, "ns:", 3) == 0)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"network '%s': a session never shares its network namespace",
			network);
	return copy_text(&config->network, network, err_out);
}

static int load_runtime(
	struct sc_config *config, const char *runtime, sandcell_error **err_out)
{
	if (!runtime)
		return 0;
	if (!is_word(runtime, NAME_MAX_LEN * 2))
		return sc_fail(err_out, SANDCELL_E_INVAL, "bad runtime name '%s'", runtime);
	return copy_text(&config->runtime, runtime, err_out);
}

static int load_env(
	struct sc_config *config, const char *const *env, sandcell_error **err_out)
{
	config->env = json_object();
	if (!config->env)
		return sc_fail_nomem(err_out);
	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');
		sc_autofree char *key = NULL;

		/* The value stays out of every message. */
		if (!equals || equals == *env)
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"an environment variable is not of the form KEY=VALUE");
		key = sc_strndup(*env, (size_t)(equals - *env));
		if (!key)
			return sc_fail_nomem(err_out);
		if (json_object_set_new(config->env, key, json_string(equals + 1)) < 0)
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"environment variable '%s' is not UTF-8", key);
	}
	return 0;
}

static bool is_module_name(const char *text, size_t len)
{
	bool start = true;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			      c == '_' || c >= 0x80;
		bool digit = c >= '0' && c <= '9';

		if (!letter && (start || (!digit && c != '.')))
			return false;
		start = c == '.';
	}
	return len > 0 && !start;
}

static int load_preload(
	struct sc_config *config, const char *preload, sandcell_error **err_out)
{
	config->preload = json_array();
	if (!config->preload)
		return sc_fail_nomem(err_out);
	while (preload && *preload) {
		const char *name = preload + strspn(preload, ", ");
		size_t len = strcspn(name, ", ");

		preload = name + len;
		if (len == 0)
			break;
		if (!is_module_name(name, len))
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"preload: '%.*s' is no module name", (int)len, name);
		if (json_array_append_new(config->preload, json_stringn(name, len)) < 0)
			return sc_fail(err_out, SANDCELL_E_INVAL, "preload is not UTF-8");
	}
	return 0;
}

static int load_mounts(struct sc_config *config, const char *const *mounts,
	const char *socket, sandcell_error **err_out)
{
	size_t count = 0;
	int rc;

	while (mounts && mounts[count])
		count++;
	config->mounts = sc_calloc(count, sizeof(*config->mounts));
	if (!config->mounts)
		return sc_fail_nomem(err_out);
	for (size_t i = 0; i < count; i++) {
		config->mount_count = i + 1;
		rc = sc_mount_resolve(
			&config->mounts[i], mounts[i], &config->workspace, socket, err_out);
		if (rc < 0)
			return rc;
	}
	return sc_mounts_check(config->mounts, config->mount_count, err_out);
}

static int load_directories(struct sc_config *config, const sandcell_session_options *opts,
	const char *socket, bool remote, struct sc_caller caller, sandcell_error **err_out)
{
	int rc;

	if (remote && (opts->workspace || (opts->mounts && opts->mounts[0])))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"the engine is on another machine, which does not have '%s'",
			opts->workspace ? opts->workspace : opts->mounts[0]);
	config->warnings = json_array();
	if (!config->warnings)
		return sc_fail_nomem(err_out);
	rc = sc_workspace_resolve(&config->workspace, opts->workspace,
		opts->flags & SANDCELL_SESSION_WORKSPACE_RO, opts->user, socket, caller,
		config->warnings, err_out);
	return rc < 0 ? rc : load_mounts(config, opts->mounts, socket, err_out);
}

static int load_texts(struct sc_config *config, const sandcell_session_options *opts,
	sandcell_error **err_out)
{
	int rc;

	rc = load_image(config, opts->image, err_out);
	if (rc == 0)
		rc = sc_config_load_name(config, opts->name, err_out);
	if (rc == 0)
		rc = load_network(config, opts->network, err_out);
	if (rc == 0)
		rc = load_runtime(config, opts->runtime, err_out);
	if (rc == 0)
		rc = load_env(config, opts->env, err_out);
	if (rc == 0)
		rc = load_preload(config, opts->preload, err_out);
	return rc;
}

static void load_times(struct sc_config *config, const sandcell_session_options *opts)
{
	config->timeout_ms = opts->timeout_ms ? opts->timeout_ms : SC_DEFAULT_TIMEOUT_MS;
	config->max_life_ms = opts->max_life_ms;
	config->idle_ms = opts->idle_ms;
	config->lease_ms = opts->lease_ms;
	if (!config->lease_ms)
		config->lease_ms = opts->name ? DEFAULT_NAMED_LEASE_MS : DEFAULT_LEASE_MS;
	config->open_timeout_ms =
		opts->open_timeout_ms ? opts->open_timeout_ms : DEFAULT_OPEN_TIMEOUT_MS;
}

int sc_config_load(struct sc_config *config, const sandcell_session_options *opts,
	const char *socket, bool remote, struct sc_caller caller, sandcell_error **err_out)
{
	int rc;

	*config = (struct sc_config){
		.on_wait = opts->on_wait,
		.wait_user = opts->wait_user,
		.output_max = opts->output_max ? opts->output_max : SC_DEFAULT_OUTPUT_MAX,
		.strict_limits = opts->flags & SANDCELL_SESSION_STRICT_LIMITS,
	};
	if (opts->flags & ~KNOWN_FLAGS)
		return sc_fail(err_out, SANDCELL_E_INVAL, "unknown session flags 0x%x",
			opts->flags & ~KNOWN_FLAGS);
	load_times(config, opts);
	rc = load_texts(config, opts, err_out);
	if (rc == 0)
		rc = load_directories(config, opts, socket, remote, caller, err_out);
	if (rc == 0)
		rc = sc_limits_resolve(
			&config->limits, opts, config->workspace.path != NULL, err_out);
	return rc;
}

void sc_config_clear(struct sc_config *config)
{
	sc_free(config->image);
	sc_free(config->name);
	sc_free(config->network);
	sc_free(config->runtime);
	sc_workspace_clear(&config->workspace);
	for (size_t i = 0; i < config->mount_count; i++)
		sc_mount_clear(&config->mounts[i]);
	sc_free(config->mounts);
	json_decref(config->env);
	json_decref(config->preload);
	json_decref(config->warnings);
	*config = (struct sc_config){0};
}
