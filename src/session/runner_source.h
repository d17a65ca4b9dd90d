/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_RUNNER_SOURCE_H
#define SC_SESSION_RUNNER_SOURCE_H

/*
 * The Python of src/runner, embedded at build time by cmake/embed.cmake.  Texts are
 * NUL-terminated; len does not count the NUL.
 */

#include <stddef.h>

struct sc_runner_source {
	const char *name; /* NULL ends a table */
	const char *text;
	size_t len;
};

extern const struct sc_runner_source sc_runner_modules[];
extern const struct sc_runner_source sc_runner_boot;
extern const struct sc_runner_source sc_runner_stage0_init;
extern const struct sc_runner_source sc_runner_stage0_connect;

#endif
