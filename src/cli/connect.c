/* SPDX-License-Identifier: MIT */
#include "connect.h"

#include <stdio.h>
#include <time.h>

const char *connect_arg_host;
int connect_arg_verbose;

static struct timespec started;

static double seconds_since_start(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - started.tv_sec) +
	       (double)(now.tv_nsec - started.tv_nsec) / 1e9;
}

static void log_line(const char *line, void *user)
{
	(void)user;
	cli_error("%8.3f %s", seconds_since_start(), line);
}

int connect_engine(sandcell_engine **engine_out, sandcell_error **err_out)
{
	sandcell_engine_options options = SANDCELL_ENGINE_OPTIONS_INIT;

	(void)clock_gettime(CLOCK_MONOTONIC, &started);
	options.host = connect_arg_host;
	if (connect_arg_verbose)
		options.on_log = log_line;
	return sandcell_engine_open(&options, engine_out, err_out);
}
