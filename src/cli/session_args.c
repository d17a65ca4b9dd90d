/* SPDX-License-Identifier: MIT */
#include "session_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session_args session_args;

/* Made by session_args_load(). */
static char *workspace_dir;
static struct text_list environment; /* each item is ours */

static int out_of_memory(void)
{
	cli_error("out of memory");
	return EXIT_CODE_ENGINE;
}

static int ends_with(const char *text, size_t len, const char *suffix)
{
	size_t suffix_len = strlen(suffix);

	return len > suffix_len && memcmp(text + len - suffix_len, suffix, suffix_len) == 0;
}

/* "DIR", "DIR:ro" or "DIR:rw"; the last is for names that end in ":ro" themselves. */
static int load_workspace(sandcell_session_options *options)
{
	const char *text = session_args.workspace;
	size_t len;

	if (!text)
		return EXIT_CODE_OK;
	len = strlen(text);
	if (ends_with(text, len, ":ro"))
		options->flags |= SANDCELL_SESSION_WORKSPACE_RO;
	if (ends_with(text, len, ":ro") || ends_with(text, len, ":rw"))
		len -= 3;
	workspace_dir = strndup(text, len);
	if (!workspace_dir)
		return out_of_memory();
	options->workspace = workspace_dir;
	return EXIT_CODE_OK;
}

/* "KEY=VALUE" as it is, "KEY" with the value that we have. */
static char *env_entry(const char *text)
{
	const char *value = strchr(text, '=') ? "" : secure_getenv(text);
	char *entry;

	return asprintf(&entry, "%s%s%s", text, strchr(text, '=') ? "" : "=",
		       value ? value : "") < 0
		       ? NULL
		       : entry;
}

static int load_env(const struct cli_command *command, sandcell_session_options *options)
{
	const struct text_list *given = &session_args.env;

	if (given->count == 0)
		return EXIT_CODE_OK;
	environment.items =
		reallocarray(NULL, given->count + 1, sizeof(*environment.items));
	if (!environment.items)
		return out_of_memory();
	for (size_t i = 0; i < given->count; i++) {
		const char *text = given->items[i];
		char *entry;

		if (text[0] == '=' || text[0] == '\0')
			return cli_usage(command, "--env '%s' has no name", text);
		if (!strchr(text, '=') && !secure_getenv(text))
			return cli_usage(command,
				"--env '%s' is not set here; give a value, '%s='", text,
				text);
		entry = env_entry(text);
		if (!entry)
			return out_of_memory();
		environment.items[environment.count++] = entry;
		environment.items[environment.count] = NULL;
	}
	options->env = environment.items;
	return EXIT_CODE_OK;
}

int session_args_load(const struct cli_command *command, sandcell_session_options *options)
{
	int rc;

	options->image = session_args.image;
	options->mounts = session_args.mounts.items;
	options->user = session_args.user;
	options->network = session_args.network;
	options->runtime = session_args.runtime;
	options->preload = session_args.preload;
	options->memory_bytes = session_args.memory_bytes;
	options->cpu_millis = session_args.cpu_millis;
	options->pids_max = session_args.pids;
	options->lease_ms = session_args.lease_ms;
	if (session_args.strict_limits)
		options->flags |= SANDCELL_SESSION_STRICT_LIMITS;
	rc = load_workspace(options);
	return rc == EXIT_CODE_OK ? load_env(command, options) : rc;
}

void session_args_clear(void)
{
	for (size_t i = 0; i < environment.count; i++)
		free((char *)environment.items[i]);
	free(environment.items);
	free(workspace_dir);
	free(session_args.mounts.items);
	free(session_args.env.items);
	environment = session_args.mounts = session_args.env = (struct text_list){0};
	workspace_dir = NULL;
}
