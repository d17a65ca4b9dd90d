/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_URL_H
#define SC_BASE_URL_H

/*
 * The only place that writes request paths.  sc_url(buf, "/containers/{}/exec", id)
 * percent-encodes each argument for its {}, so that no argument can end a path segment or a
 * query value.  More or fewer arguments than {} is SANDCELL_E_INVAL; an argument of NULL,
 * "." or ".." too.
 */

#include "base/buf.h"

#define sc_url(buf, template, ...)                                                         \
	sc_url_build((buf), (template),                                                    \
		(const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL},                    \
		sizeof((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}) /           \
				sizeof(const char *) -                                     \
			1)

int sc_url_build(sc_buf *buf, const char *template, const char *const *args, size_t count);

#endif
