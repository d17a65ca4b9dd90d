/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_MAX_LEN 1024

void sc_log_line(const sc_log *log, const char *fmt, ...)
{
	char line[LINE_MAX_LEN];
	va_list args;

	if (!log->fn)
		return;
	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	for (char *c = line; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	}
	log->fn(line, log->user);
}
