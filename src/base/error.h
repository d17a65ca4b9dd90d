/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_ERROR_H
#define SC_BASE_ERROR_H

/*
 * The error object.  sc_fail() makes one and returns its code, so that failing is one
 * statement; callers up the stack add context with sc_context().  A NULL err_out costs
 * nothing.  Out of memory yields a static object that sandcell_error_free() knows.
 *
 * Messages start lower case, have no full stop, quote the offending value, and are cleaned
 * of control characters and cut to a sane length: engine text is untrusted.
 */

#include <stdarg.h>

#include "sandcell/error.h"

__attribute__((format(printf, 3, 4))) int sc_fail(
	sandcell_error **err_out, int code, const char *fmt, ...);
/* The same with errno (kept in the error, and its text appended). */
__attribute__((format(printf, 4, 5))) int sc_fail_errno(
	sandcell_error **err_out, int code, int errnum, const char *fmt, ...);
/* The same with the HTTP status of an engine's refusal. */
__attribute__((format(printf, 4, 5))) int sc_fail_http(
	sandcell_error **err_out, int code, int http_status, const char *fmt, ...);
/* Puts "context: " before the message that err_out holds; returns rc. */
__attribute__((format(printf, 3, 4))) int sc_context(
	sandcell_error **err_out, int rc, const char *fmt, ...);
int sc_fail_nomem(sandcell_error **err_out);
/* Changes the code and keeps the rest; returns it. */
int sc_error_recode(sandcell_error **err_out, int code);
/* Hands *from over to err_out (in place of what it holds), if there is one; returns rc. */
int sc_error_move(sandcell_error **err_out, sandcell_error **from, int rc);

static inline void sc_error_freep(sandcell_error **err)
{
	sandcell_error_free(*err);
}

/* What the analyzer cannot see from another file: to fail is to return less than 0. */
#if defined(__clang_analyzer__) && !defined(SC_ERROR_C)
#define sc_fail(...)		     ((void)sc_fail(__VA_ARGS__), -1)
#define sc_fail_errno(...)	     ((void)sc_fail_errno(__VA_ARGS__), -1)
#define sc_fail_http(...)	     ((void)sc_fail_http(__VA_ARGS__), -1)
#define sc_fail_nomem(err)	     ((void)sc_fail_nomem(err), -1)
#define sc_context(err, rc, ...)     ((void)sc_context(err, rc, __VA_ARGS__), (rc))
#define sc_error_move(err, from, rc) ((void)sc_error_move(err, from, rc), (rc))
#endif

#endif
