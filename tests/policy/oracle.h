/* SPDX-License-Identifier: MIT */
#ifndef POLICY_ORACLE_H
#define POLICY_ORACLE_H

/*
 * What must hold for every text that is judged, whatever it says.  Shared by the fuzz
 * target and by the unit test, which gives it the whole table.  POLICY_CHECK(condition) is
 * the user's.
 */

#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "session/policy/plan.h"
#include "session/policy/tables.h"

static void policy_oracle_message(char *message)
{
	size_t len = strlen(message);

	POLICY_CHECK(len > 0 && len < 1024);
	POLICY_CHECK(sc_utf8_check(message, len) == len);
	for (size_t i = 0; i < len; i++)
		POLICY_CHECK((unsigned char)message[i] >= 0x20 && message[i] != 0x7f);
	sc_free(message);
}

/* Every word has a role, and only what may expand still does. */
static void policy_oracle_word(const sc_policy_plan *plan, const sc_policy_word *word)
{
	bool expands = word->role == SC_ROLE_FILE || word->role == SC_ROLE_PATH ||
		       word->role == SC_ROLE_ARG;
	uint32_t len = 0;

	POLICY_CHECK(word->role != SC_ROLE_NONE);
	POLICY_CHECK(strlen(sc_policy_text(plan, word)) == word->len);
	for (uint32_t i = 0; i < word->parts; i++) {
		const sc_policy_part *part = &plan->parts[word->part + i];
		POLICY_CHECK(part->at == word->at + len);
		POLICY_CHECK(part->kind != SC_PART_GLOB || expands);
		POLICY_CHECK(part->kind != SC_PART_HOME || i == 0);
		len += part->len;
	}
	POLICY_CHECK(len == word->len);
	/* An option is spelled out at least to its value. */
	if (word->role == SC_ROLE_OPTION)
		POLICY_CHECK(word->lead > 0);
	POLICY_CHECK(!word->glob || expands);
}

static void policy_oracle_plan(const sc_policy_plan *plan)
{
	uint32_t words = 0;

	POLICY_CHECK(plan->commands_len > 0);
	for (uint32_t i = 0; i < plan->commands_len; i++) {
		const sc_policy_command *command = &plan->commands[i];
		bool listed = false;
		for (size_t n = 0; n < sc_policy_specs_len; n++)
			listed = listed || command->name == sc_policy_specs[n]->name;
		POLICY_CHECK(listed);
		POLICY_CHECK(command->words > 0 && command->word == words);
		POLICY_CHECK((i == 0) == (command->join == SC_JOIN_FIRST));
		POLICY_CHECK(plan->words[words].role == SC_ROLE_NAME);
		for (uint32_t w = 0; w < command->words; w++)
			policy_oracle_word(plan, &plan->words[words + w]);
		words += command->words;
	}
	POLICY_CHECK(words == plan->words_len);
}

/* The command in one spelling parses to the same form, and is its own spelling. */
static void policy_oracle_again(const sc_buf *text, const sc_buf *form)
{
	sc_policy_plan *plan = NULL;
	sc_buf text_again = SC_BUF_INIT(SC_POLICY_FORM_MAX);
	sc_buf form_again = SC_BUF_INIT(SC_POLICY_FORM_MAX);
	int rc = sc_policy_check(sc_buf_text(text), text->len,
		SANDCELL_CLI_QUOTED_OPERATORS, &plan, NULL, NULL);

	POLICY_CHECK(rc == 0);
	POLICY_CHECK(sc_policy_form_text(plan, &text_again) == 0);
	POLICY_CHECK(sc_policy_form_json(plan, &form_again) == 0);
	POLICY_CHECK(strcmp(sc_buf_text(text), sc_buf_text(&text_again)) == 0);
	POLICY_CHECK(strcmp(sc_buf_text(form), sc_buf_text(&form_again)) == 0);
	sc_policy_free(plan);
	sc_buf_clear(&text_again);
	sc_buf_clear(&form_again);
}

/* Judges the command; returns whether it is allowed. */
static bool policy_oracle(const char *command, size_t len, uint32_t flags)
{
	sc_policy_plan *plan = NULL;
	char *message = NULL;
	sc_buf text = SC_BUF_INIT(SC_POLICY_FORM_MAX);
	sc_buf form = SC_BUF_INIT(SC_POLICY_FORM_MAX);
	int rc = sc_policy_check(command, len, flags, &plan, &message, NULL);

	POLICY_CHECK(rc == 0 || rc == SC_POLICY_REFUSED);
	POLICY_CHECK((rc == 0) == (plan != NULL) && (rc == 0) == (message == NULL));
	if (rc == SC_POLICY_REFUSED) {
		policy_oracle_message(message);
		return false;
	}
	policy_oracle_plan(plan);
	POLICY_CHECK(sc_policy_form_json(plan, &form) == 0);
	POLICY_CHECK(sc_policy_form_text(plan, &text) == 0);
	json_t *parsed = json_loadb(form.data, form.len, 0, NULL);
	POLICY_CHECK(json_is_object(parsed));
	json_decref(parsed);
	/* Longer than a command may be: the quotes of the one spelling can double it. */
	if (text.len <= SC_POLICY_TEXT_MAX)
		policy_oracle_again(&text, &form);
	sc_policy_free(plan);
	sc_buf_clear(&text);
	sc_buf_clear(&form);
	return true;
}

#endif
