/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_UTF8_H
#define SC_BASE_UTF8_H

/* UTF-8 as it is defined: no overlong forms, no surrogates, nothing above U+10FFFF. */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Length of the sequence at data (len > 0).  When it is not valid, *valid is false and the
 * length is that of the part to replace by one U+FFFD, as Unicode recommends and Python
 * does.
 */
size_t sc_utf8_next(const char *data, size_t len, bool *valid);
/* Offset of the first byte that is not valid, or len. */
size_t sc_utf8_check(const char *data, size_t len);
/* Appends the text; what is not valid becomes U+FFFD. */
int sc_utf8_put(sc_buf *buf, const char *data, size_t len);
/* Appends a JSON string, quotes included; what is not valid becomes U+FFFD. */
int sc_utf8_put_json(sc_buf *buf, const char *data, size_t len);

#endif
