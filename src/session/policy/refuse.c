/* SPDX-License-Identifier: MIT */
#include "session/policy/refuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

sc_shown_text sc_shown(const char *text, size_t len)
{
	sc_shown_text shown = {.text = ""};
	size_t n = len < SC_SHOWN_MAX ? len : SC_SHOWN_MAX;

	n = sc_utf8_check(text, n);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		shown.text[i] = c < 0x20 || c == 0x7f ? '?' : text[i];
	}
	memcpy(shown.text + n, n < len ? "…" : "", n < len ? sizeof("…") : 1);
	return shown;
}

int sc_refuse(sc_buf *why, const char *fmt, ...)
{
	char line[1024];
	va_list args;
	int rc;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	sc_buf_reset(why);
	rc = sc_buf_puts(why, line);
	return rc < 0 ? rc : SC_REFUSED;
}
