/* SPDX-License-Identifier: MIT */
/*
 * Stands in for the podman program: `podman [options] system service --time=N unix://PATH`
 * is a scripted engine at that path, until it is killed.  Each start adds its process id
 * and arguments to the file FAKE_PODMAN_LOG.  With FAKE_PODMAN_FAIL it says that and fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_engine.h"

int main(int argc, char **argv)
{
	static const fake_rule ping = {.on = "GET /_ping",
		.headers = "Api-Version: 1.41\r\nLibpod-Api-Version: 4.3.1\r\n",
		.body = "OK"};
	const char *complaint = getenv("FAKE_PODMAN_FAIL");
	const char *log_name = getenv("FAKE_PODMAN_LOG");
	const char *url = argv[argc - 1];
	FILE *log = log_name ? fopen(log_name, "ae") : NULL;

	if (log) {
		(void)fprintf(log, "%ld", (long)getpid());
		for (int i = 1; i < argc; i++)
			(void)fprintf(log, " %s", argv[i]);
		(void)fprintf(log, "\n");
		(void)fclose(log);
	}
	if (complaint || strncmp(url, "unix://", 7) != 0) {
		(void)fprintf(stderr, "%s\n", complaint ? complaint : "no address");
		return 125;
	}
	fake_on(fake_start_at(url + 7), &ping);
	for (;;)
		(void)pause();
}
