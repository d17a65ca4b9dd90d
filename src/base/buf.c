/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sc_buf_clear(sc_buf *buf)
{
	sc_free(buf->data);
	*buf = (sc_buf)SC_BUF_INIT(buf->max);
}

void sc_buf_reset(sc_buf *buf)
{
	buf->len = 0;
	buf->rc = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

int sc_buf_reserve(sc_buf *buf, size_t extra)
{
	if (buf->rc < 0)
		return buf->rc;
	if (extra > buf->max || buf->len > buf->max - extra)
		return buf->rc = SANDCELL_E_LIMIT;
	size_t need = buf->len + extra + 1;
	if (need <= buf->cap)
		return 0;
	size_t cap = buf->cap ? buf->cap : 64;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	if (cap - 1 > buf->max)
		cap = buf->max + 1;
	char *data = sc_realloc(buf->data, cap);
	if (!data)
		return buf->rc = SANDCELL_E_NOMEM;
	buf->data = data;
	buf->cap = cap;
	buf->data[buf->len] = '\0';
	return 0;
}

int sc_buf_append(sc_buf *buf, const void *data, size_t len)
{
	int rc = sc_buf_reserve(buf, len);

	if (rc < 0)
		return rc;
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int sc_buf_puts(sc_buf *buf, const char *text)
{
	return sc_buf_append(buf, text, strlen(text));
}

int sc_buf_putc(sc_buf *buf, char c)
{
	return sc_buf_append(buf, &c, 1);
}

int sc_buf_printf(sc_buf *buf, const char *fmt, ...)
{
	va_list args;
	va_list again;
	int n;
	int rc;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	rc = n < 0 ? SANDCELL_E_FAIL : sc_buf_reserve(buf, (size_t)n);
	if (rc == 0) {
		(void)vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
		buf->len += (size_t)n;
	}
	va_end(again);
	return rc;
}

void sc_buf_consume(sc_buf *buf, size_t len)
{
	if (len > buf->len)
		len = buf->len;
	if (len == 0)
		return; /* there may be no memory yet */
	memmove(buf->data, buf->data + len, buf->len - len);
	buf->len -= len;
	buf->data[buf->len] = '\0';
}

const char *sc_buf_text(const sc_buf *buf)
{
	return buf->data ? buf->data : "";
}

char *sc_buf_take(sc_buf *buf, size_t *len_out)
{
	char *data = NULL;

	if (sc_buf_reserve(buf, 0) < 0)
		return NULL;
	if (len_out)
		*len_out = buf->len;
	data = SANDCELL_TAKE(buf->data);
	*buf = (sc_buf)SC_BUF_INIT(buf->max);
	return data;
}

int sc_buf_check(const sc_buf *buf, sandcell_error **err_out, const char *what)
{
	if (buf->rc == SANDCELL_E_LIMIT)
		return sc_fail(err_out, SANDCELL_E_LIMIT, "%s is longer than %zu bytes",
			what, buf->max);
	if (buf->rc == SANDCELL_E_NOMEM)
		return sc_fail_nomem(err_out);
	return buf->rc;
}
