/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_LOG_H
#define SC_BASE_LOG_H

/*
 * The caller's log callback, carried by value.  A line is one sentence about what the
 * library or the engine did; it never holds code, request bodies or environment values.
 */

#include "sandcell/engine.h"

typedef struct sc_log {
	sandcell_log_fn fn; /* NULL: silent, and nothing is formatted */
	void *user;
} sc_log;

__attribute__((format(printf, 2, 3))) void sc_log_line(
	const sc_log *log, const char *fmt, ...);

#endif
