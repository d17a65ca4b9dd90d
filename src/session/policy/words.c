/* SPDX-License-Identifier: MIT */
#include "session/policy/words.h"

#include <string.h>

#include "base/alloc.h"
#include "session/policy/refuse.h"

/* Room for one more item; the caps start small and double up to `max`. */
static int grow(void **array, uint32_t *cap, uint32_t len, uint32_t max, size_t item,
	const char *what, sc_buf *why)
{
	if (len < *cap)
		return 0;
	if (len >= max)
		return sc_refuse(why, "Command has more than %u %s.", max, what);
	uint32_t next = *cap ? *cap * 2 : 16;
	void *bigger = sc_realloc(*array, next * item);
	if (!bigger)
		return SANDCELL_E_NOMEM;
	*array = bigger;
	*cap = next;
	return 0;
}

static sc_policy_word *last_word(const sc_policy_plan *plan)
{
	return &plan->words[plan->words_len - 1];
}

static sc_policy_command *last_command(const sc_policy_plan *plan)
{
	return &plan->commands[plan->commands_len - 1];
}

int sc_command_begin(struct sc_parser *p, uint8_t join)
{
	sc_policy_plan *plan = p->plan;
	int rc = grow((void **)&plan->commands, &plan->commands_cap, plan->commands_len,
		SC_POLICY_COMMANDS_MAX, sizeof(*plan->commands), "commands", p->why);

	if (rc < 0)
		return rc;
	plan->commands_len++;
	*last_command(plan) = (sc_policy_command){.word = plan->words_len, .join = join};
	return 0;
}

/* An incomplete command has no words, so a refusal never hides behind one. */
int sc_command_end(struct sc_parser *p)
{
	sc_policy_command *command = last_command(p->plan);

	command->words = p->plan->words_len - command->word;
	if (command->words == 0)
		return sc_refuse(p->why, "Empty pipeline segment.");
	return 0;
}

bool sc_command_is_empty(const struct sc_parser *p)
{
	return last_command(p->plan)->word == p->plan->words_len;
}

int sc_word_begin(struct sc_parser *p)
{
	sc_policy_plan *plan = p->plan;
	int rc = grow((void **)&plan->words, &plan->words_cap, plan->words_len,
		SC_POLICY_WORDS_MAX, sizeof(*plan->words), "words", p->why);

	if (rc < 0)
		return rc;
	plan->words_len++;
	*last_word(plan) = (sc_policy_word){
		.at = plan->text_len,
		.part = plan->parts_len,
		.src = (uint32_t)p->pos,
	};
	return 0;
}

bool sc_word_is_empty(const struct sc_parser *p)
{
	return last_word(p->plan)->part == p->plan->parts_len;
}

static int new_part(struct sc_parser *p, uint8_t kind, bool quoted)
{
	sc_policy_plan *plan = p->plan;
	int rc = grow((void **)&plan->parts, &plan->parts_cap, plan->parts_len,
		SC_POLICY_PARTS_MAX, sizeof(*plan->parts), "word parts", p->why);

	if (rc < 0)
		return rc;
	plan->parts[plan->parts_len++] =
		(sc_policy_part){.at = plan->text_len, .kind = kind, .quoted = quoted};
	last_word(plan)->parts++;
	return 0;
}

/* The text never grows beyond the command's own length: every byte comes from it. */
static void append(sc_policy_plan *plan, const char *text, size_t len)
{
	if (len)
		memcpy(plan->text + plan->text_len, text, len);
	plan->text_len += (uint32_t)len;
	plan->parts[plan->parts_len - 1].len += (uint32_t)len;
	last_word(plan)->len += (uint32_t)len;
}

/* Text of the same quoting goes on in the same part. */
static bool extends_part(const struct sc_parser *p, bool quoted)
{
	if (sc_word_is_empty(p))
		return false;
	const sc_policy_part *part = &p->plan->parts[p->plan->parts_len - 1];
	return part->kind == SC_PART_LIT && part->quoted == quoted;
}

int sc_word_add(struct sc_parser *p, const char *text, size_t len, bool quoted)
{
	int rc = extends_part(p, quoted) ? 0 : new_part(p, SC_PART_LIT, quoted);

	if (rc < 0)
		return rc;
	append(p->plan, text, len);
	return 0;
}

int sc_word_add_special(struct sc_parser *p, uint8_t kind, const char *text, size_t len)
{
	int rc = new_part(p, kind, false);

	if (rc < 0)
		return rc;
	append(p->plan, text, len);
	return 0;
}

static bool is_active(const sc_policy_plan *plan, const sc_policy_part *part)
{
	if (part->kind != SC_PART_LIT || part->quoted)
		return false;
	for (uint32_t i = 0; i < part->len; i++) {
		if (strchr("*?[", plan->text[part->at + i]))
			return true;
	}
	return false;
}

/* Empty quotes matter only where there is nothing else. */
static void drop_empty_parts(sc_policy_plan *plan, sc_policy_word *word)
{
	sc_policy_part *parts = plan->parts + word->part;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < word->parts; i++) {
		if (parts[i].len > 0)
			parts[kept++] = parts[i];
	}
	if (kept == 0)
		return;
	plan->parts_len -= word->parts - kept;
	word->parts = kept;
}

/* In a word that globs, all its unquoted text is pattern: [a"-"z] needs both brackets. */
int sc_word_end(struct sc_parser *p)
{
	sc_policy_plan *plan = p->plan;
	sc_policy_word *word = last_word(plan);
	sc_policy_part *parts = plan->parts + word->part;
	bool fixed = true;

	plan->text[plan->text_len++] = '\0';
	drop_empty_parts(plan, word);
	word->src_len = (uint32_t)p->pos - word->src;
	for (uint32_t i = 0; i < word->parts; i++) {
		word->glob = word->glob || is_active(plan, &parts[i]);
		fixed = fixed && parts[i].kind == SC_PART_LIT;
		if (fixed)
			word->lead += parts[i].len;
	}
	for (uint32_t i = 0; word->glob && i < word->parts; i++) {
		if (parts[i].kind == SC_PART_LIT && !parts[i].quoted)
			parts[i].kind = SC_PART_GLOB;
	}
	return 0;
}
