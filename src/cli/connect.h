/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_CONNECT_H
#define SANDCELL_CLI_CONNECT_H

/* The engine that a command talks to, and the two options that every such command has. */

#include <sandcell/engine.h>

#include "cli.h"

extern const char *connect_arg_host;
extern int connect_arg_verbose;

#define CONNECT_OPTIONS                                                                    \
	{.name = "host",                                                                   \
		.value = "URL",                                                            \
		.help = "engine to use, such as unix:///var/run/docker.sock",              \
		.kind = VALUE_TEXT,                                                        \
		.target = &connect_arg_host},                                              \
	{                                                                                  \
		.name = "verbose",                                                         \
		.help = "show the conversation with the engine on stderr",                 \
		.kind = VALUE_FLAG, .target = &connect_arg_verbose                         \
	}

/* A ::sandcell_status. */
int connect_engine(sandcell_engine **engine_out, sandcell_error **err_out);

#endif
