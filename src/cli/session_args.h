/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_SESSION_ARGS_H
#define SANDCELL_CLI_SESSION_ARGS_H

/* The options that say what a new session is like; every command that opens one has them.
 */

#include <sandcell/session.h>

#include "cli.h"

struct session_args {
	const char *image;
	const char *workspace;
	struct text_list mounts;
	const char *user;
	const char *network;
	uint64_t memory_bytes;
	uint32_t cpu_millis;
	uint32_t pids;
	uint32_t lease_ms;
	struct text_list env;
	const char *preload;
	const char *runtime;
	int strict_limits;
};

extern struct session_args session_args;

/* clang-format off */
#define SESSION_OPTIONS \
	{.name = "image", .value = "IMAGE", \
		.help = "default: $SANDCELL_IMAGE, else sandcell/python", \
		.kind = VALUE_TEXT, .target = &session_args.image}, \
	{.name = "workspace", .value = "DIR[:ro]", \
		.help = "directory seen as /workspace; default: an empty one", \
		.kind = VALUE_TEXT, .complete = COMPLETE_DIR, \
		.target = &session_args.workspace}, \
	{.name = "mount", .value = "SRC:DST[:ro]", \
		.help = "file or directory SRC seen as DST; may be repeated", \
		.kind = VALUE_LIST, .complete = COMPLETE_FILE, \
		.target = &session_args.mounts}, \
	{.name = "user", .value = "UID:GID", \
		.help = "who the code is; default: the workspace's owner", \
		.kind = VALUE_TEXT, .target = &session_args.user}, \
	{.name = "network", .value = "NAME", \
		.help = "engine network to join; default: none", \
		.kind = VALUE_TEXT, .target = &session_args.network}, \
	{.name = "memory", .value = "SIZE", \
		.help = "such as 512m or 2g; default: 2g; no swap is added", \
		.kind = VALUE_SIZE, .target = &session_args.memory_bytes}, \
	{.name = "cpus", .value = "NUMBER", \
		.help = "such as 1.5; default: all", \
		.kind = VALUE_CPUS, .target = &session_args.cpu_millis}, \
	{.name = "pids", .value = "NUMBER", \
		.help = "processes and threads; default: 256", \
		.kind = VALUE_COUNT, .target = &session_args.pids}, \
	{.name = "lease", .value = "DURATION", \
		.help = "life of the container without us; default: 10s", \
		.kind = VALUE_DURATION, .target = &session_args.lease_ms}, \
	{.name = "env", .letter = 'e', .value = "KEY[=VALUE]", \
		.help = "environment of the code; may be repeated", \
		.kind = VALUE_LIST, .target = &session_args.env}, \
	{.name = "preload", .value = "MODULES", \
		.help = "import these once per session: numpy,pandas", \
		.kind = VALUE_TEXT, .target = &session_args.preload}, \
	{.name = "runtime", .value = "NAME", \
		.help = "OCI runtime by the engine's name, such as runsc", \
		.kind = VALUE_TEXT, .target = &session_args.runtime}, \
	{.name = "strict-limits", \
		.help = "fail when the engine drops a limit, not only warn", \
		.kind = VALUE_FLAG, .target = &session_args.strict_limits}
/* clang-format on */

/* Fills opts from the options; what it points to lives until session_args_clear().  Answers
 * EXIT_CODE_OK, or complains and answers another code. */
int session_args_load(const struct cli_command *command, sandcell_session_options *options);
void session_args_clear(void);

#endif
