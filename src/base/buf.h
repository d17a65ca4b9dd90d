/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_BUF_H
#define SC_BASE_BUF_H

/*
 * A growing byte buffer with a maximum.  Always NUL-terminated after the content.  It
 * remembers its first failure (SANDCELL_E_NOMEM or SANDCELL_E_LIMIT), so that a run of
 * appends is checked once, with sc_buf_check().
 */

#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct sc_buf {
	char *data; /* NULL while empty and never grown; see sc_buf_text() */
	size_t len;
	size_t cap;
	size_t max;
	int rc;
} sc_buf;

/* The named maxima of the library. */
#define SC_MAX_HTTP_BODY   ((size_t)8 << 20)
#define SC_MAX_ERROR_BODY  ((size_t)64 << 10)
#define SC_MAX_HEADER_LINE ((size_t)16 << 10)
#define SC_MAX_HTTP_HEAD   ((size_t)64 << 10)
#define SC_MAX_URL	   ((size_t)8 << 10)
#define SC_MAX_TEXT	   ((size_t)1 << 20)
#define SC_MAX_CODE	   ((size_t)16 << 20)

#define SC_BUF_INIT(maximum)                                                               \
	{                                                                                  \
		.max = (maximum)                                                           \
	}
#define sc_autobuf SANDCELL_CLEANUP(sc_buf_clear) sc_buf

void sc_buf_clear(sc_buf *buf);		       /* frees; ready for reuse */
void sc_buf_reset(sc_buf *buf);		       /* empties; keeps the memory */
int sc_buf_reserve(sc_buf *buf, size_t extra); /* room for extra more bytes */
int sc_buf_append(sc_buf *buf, const void *data, size_t len);
int sc_buf_puts(sc_buf *buf, const char *text);
int sc_buf_putc(sc_buf *buf, char c);
__attribute__((format(printf, 2, 3))) int sc_buf_printf(sc_buf *buf, const char *fmt, ...);
void sc_buf_consume(sc_buf *buf, size_t len); /* drops from the front */
const char *sc_buf_text(const sc_buf *buf);   /* never NULL */
char *sc_buf_take(
	sc_buf *buf, size_t *len_out); /* gives the memory away; NULL on failure */
int sc_buf_check(const sc_buf *buf, sandcell_error **err_out, const char *what);

#endif
