/* SPDX-License-Identifier: MIT */
/* The two printed forms of a plan; policy.h says what they look like. */
#include <string.h>

#include "base/utf8.h"
#include "session/policy/chars.h"
#include "session/policy/plan.h"

/* Parts lie one behind the other, so neighbours of one kind are one span. */
static sc_policy_part merged(
	const sc_policy_plan *plan, const sc_policy_word *word, uint32_t *index)
{
	sc_policy_part part = plan->parts[word->part + *index];
	bool joins = part.kind == SC_PART_LIT || part.kind == SC_PART_GLOB;

	for (++*index; joins && *index < word->parts; ++*index) {
		const sc_policy_part *next = &plan->parts[word->part + *index];
		if (next->kind != part.kind)
			break;
		part.len += next->len;
	}
	return part;
}

/* ---- JSON ---- */

static bool is_plain(const sc_policy_plan *plan, const sc_policy_word *word)
{
	for (uint32_t i = 0; i < word->parts; i++) {
		if (plan->parts[word->part + i].kind != SC_PART_LIT)
			return false;
	}
	return true;
}

static void json_word(sc_buf *out, const sc_policy_plan *plan, const sc_policy_word *word)
{
	static const char *const kinds[] = {"lit", "glob", "var", "home"};
	const char *role = word->role == SC_ROLE_FILE	? "file"
			   : word->role == SC_ROLE_PATH ? "path"
			   : word->role == SC_ROLE_ARG	? "arg"
							: "text";

	if (is_plain(plan, word)) {
		(void)sc_utf8_put_json(out, sc_policy_text(plan, word), word->len);
		return;
	}
	(void)sc_buf_printf(out, "{\"%s\":[", role);
	for (uint32_t i = 0; i < word->parts;) {
		(void)sc_buf_puts(out, i ? ",[\"" : "[\"");
		sc_policy_part part = merged(plan, word, &i);
		(void)sc_buf_puts(out, kinds[part.kind]);
		(void)sc_buf_puts(out, "\",");
		(void)sc_utf8_put_json(out, plan->text + part.at,
			part.kind == SC_PART_HOME ? 0 : part.len);
		(void)sc_buf_putc(out, ']');
	}
	(void)sc_buf_puts(out, "]}");
}

int sc_policy_form_json(const sc_policy_plan *plan, sc_buf *out)
{
	static const char *const joins[] = {"", ",", "],["};

	(void)sc_buf_puts(out, "{\"pipelines\":[[");
	for (uint32_t c = 0; c < plan->commands_len; c++) {
		const sc_policy_command *command = &plan->commands[c];
		(void)sc_buf_puts(out, joins[command->join]);
		(void)sc_buf_puts(out, "{\"argv\":[");
		(void)sc_utf8_put_json(out, command->name, strlen(command->name));
		for (uint32_t w = 1; w < command->words; w++) {
			(void)sc_buf_putc(out, ',');
			json_word(out, plan, &plan->words[command->word + w]);
		}
		(void)sc_buf_puts(out, "]}");
	}
	(void)sc_buf_puts(out, "]]}");
	return out->rc;
}

/* ---- text ---- */

static bool needs_quotes(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!sc_is_name(text[i]) && !strchr("-./,:+@%", text[i]))
			return true;
	}
	return len == 0;
}

static void quoted(sc_buf *out, const char *text, size_t len, bool always)
{
	if (!always && !needs_quotes(text, len)) {
		(void)sc_buf_append(out, text, len);
		return;
	}
	(void)sc_buf_putc(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'')
			(void)sc_buf_puts(out, "'\\''");
		else
			(void)sc_buf_putc(out, text[i]);
	}
	(void)sc_buf_putc(out, '\'');
}

/* Behind ~ a slash must stand bare, or the ~ would be text. */
static void text_part(
	sc_buf *out, const char *text, size_t len, bool behind_home, bool always)
{
	if (behind_home) {
		(void)sc_buf_putc(out, *text);
		text++;
		len--;
	}
	if (len || !behind_home)
		quoted(out, text, len, always);
}

static void text_word(sc_buf *out, const sc_policy_plan *plan, const sc_policy_word *word)
{
	bool home = false;

	for (uint32_t i = 0; i < word->parts;) {
		sc_policy_part part = merged(plan, word, &i);
		const char *text = plan->text + part.at;
		if (part.kind == SC_PART_LIT) {
			/* In a pattern what was quoted stays so: ['-'a] is no range. */
			text_part(out, text, part.len, home, word->glob);
		} else if (part.kind == SC_PART_VAR) {
			(void)sc_buf_puts(out, "${");
			(void)sc_buf_append(out, text, part.len);
			(void)sc_buf_putc(out, '}');
		} else {
			/* At the start of a word a bare # would be a comment. */
			if (part.at == word->at && part.len && *text == '#')
				(void)sc_buf_puts(out, "''");
			(void)sc_buf_append(out, text, part.len);
		}
		home = part.kind == SC_PART_HOME;
	}
}

int sc_policy_form_text(const sc_policy_plan *plan, sc_buf *out)
{
	static const char *const joins[] = {"", " | ", " && "};

	for (uint32_t c = 0; c < plan->commands_len; c++) {
		const sc_policy_command *command = &plan->commands[c];
		(void)sc_buf_puts(out, joins[command->join]);
		(void)sc_buf_puts(out, command->name);
		for (uint32_t w = 1; w < command->words; w++) {
			(void)sc_buf_putc(out, ' ');
			text_word(out, plan, &plan->words[command->word + w]);
		}
	}
	return out->rc;
}
