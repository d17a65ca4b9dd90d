/* SPDX-License-Identifier: MIT */
#include "base/url.h"

#include <stdbool.h>
#include <string.h>

static bool is_unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static int put_escaped(sc_buf *buf, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";

	/* A dot segment would be resolved away on the other side. */
	if (!text || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return buf->rc = SANDCELL_E_INVAL;
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (is_unreserved(c)) {
			(void)sc_buf_putc(buf, *p);
			continue;
		}
		const char escaped[3] = {'%', hex[c >> 4], hex[c & 15]};
		(void)sc_buf_append(buf, escaped, sizeof(escaped));
	}
	return buf->rc;
}

int sc_url_build(sc_buf *buf, const char *template, const char *const *args, size_t count)
{
	size_t used = 0;

	for (const char *p = template; *p && buf->rc == 0; p++) {
		if (p[0] != '{' || p[1] != '}') {
			(void)sc_buf_putc(buf, *p);
			continue;
		}
		if (used == count)
			return buf->rc = SANDCELL_E_INVAL;
		(void)put_escaped(buf, args[used++]);
		p++;
	}
	if (buf->rc == 0 && used != count)
		buf->rc = SANDCELL_E_INVAL;
	return buf->rc;
}
