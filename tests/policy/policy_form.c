/* SPDX-License-Identifier: MIT */
/*
 * What the policy says of commands, for the tests in Python.  Reads lines from stdin: a
 * decimal flags value, a blank, the command in hexadecimal.  Answers each with one line of
 * JSON: {"refused": message} or {"form": form, "text": text, "raw": [each command as it
 * was written, ...]}.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "session/policy/plan.h"

static int hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static json_t *raw_commands(const sc_policy_plan *plan, const char *source)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < plan->commands_len; i++) {
		const sc_policy_word *first = &plan->words[plan->commands[i].word];
		const sc_policy_word *last = first + plan->commands[i].words - 1;
		json_array_append_new(
			list, json_stringn(source + first->src,
				      last->src + last->src_len - first->src));
	}
	return list;
}

static json_t *answer(const char *command, size_t len, uint32_t flags)
{
	sc_policy_plan *plan = NULL;
	char *message = NULL;
	json_t *result = NULL;
	sc_buf form = SC_BUF_INIT(SC_POLICY_FORM_MAX);
	sc_buf text = SC_BUF_INIT(SC_POLICY_FORM_MAX);
	int rc = sc_policy_check(command, len, flags, &plan, &message, NULL);

	if (rc == SC_POLICY_REFUSED) {
		result = json_pack("{ss}", "refused", message);
	} else if (rc == 0 && sc_policy_form_json(plan, &form) == 0 &&
		   sc_policy_form_text(plan, &text) == 0) {
		result = json_pack("{soss%so}", "form",
			json_loads(sc_buf_text(&form), 0, NULL), "text", text.data,
			text.len, "raw", raw_commands(plan, command));
	}
	sc_policy_free(plan);
	sc_free(message);
	sc_buf_clear(&form);
	sc_buf_clear(&text);
	return result;
}

int main(void)
{
	static char line[2 * SC_POLICY_TEXT_MAX + 64];
	static char command[SC_POLICY_TEXT_MAX + 64];

	while (fgets(line, sizeof(line), stdin)) {
		char *hex = NULL;
		unsigned long flags = strtoul(line, &hex, 10);
		size_t len = 0;
		hex += *hex == ' ';
		for (; hex[0] > ' ' && hex[1] > ' '; hex += 2)
			command[len++] = (char)(hex_digit(hex[0]) * 16 + hex_digit(hex[1]));
		json_t *result = answer(command, len, (uint32_t)flags);
		char *printed = result ? json_dumps(result, JSON_COMPACT) : NULL;
		if (!printed)
			return EXIT_FAILURE;
		(void)puts(printed);
		(void)fflush(stdout);
		free(printed);
		json_decref(result);
	}
	return EXIT_SUCCESS;
}
