/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "terminal.h"

static const char *const names[] = {"ok", "warn", "fail"};

static void print_object(
	const char *finding, const char *check, const char *message, const char *advice)
{
	json_t *object;
	char *text;

	object = json_pack("{s:s, s:s, s:s, s:s?}", "check", check, "status", finding,
		"message", message, "advice", advice);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	(void)puts(text ? text : "{}");
	free(text);
}

void findings_add(struct findings *findings, enum finding finding, const char *check,
	const char *advice, const char *fmt, ...)
{
	char message[4096];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	findings->count[finding]++;
	if (findings->json) {
		print_object(names[finding], check, message, advice);
		return;
	}
	terminal_one_line(message);
	(void)printf("%-5s %-10s %s\n", names[finding], check, message);
	if (advice)
		(void)printf("%-16s -> %s\n", "", advice);
	(void)fflush(stdout);
}
