/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sandcell/sandcell.h"
#include "session/policy/policy.h"
#include "unit.h"

#define POLICY_CHECK(condition) ck_assert(condition)
#include "oracle.h"

#define MIN_CASES 600

/* The message of a refusal; NULL for an allowed command. */
static char *refusal(const char *command, uint32_t flags)
{
	char *message = NULL;
	int rc = sandcell_validate_cli_command(command, flags, &message);

	ck_assert_int_ge(rc, 0);
	ck_assert_int_eq(rc, message ? 1 : 0);
	return message;
}

static void expect_message(const char *command, const char *expected)
{
	char *message = refusal(command, 0);

	ck_assert_str_eq(message ? message : "(allowed)", expected);
	sandcell_string_free(message);
}

/* ---- the table ---- */

static void judge_row(const json_t *row, const char *where)
{
	const json_t *text = json_object_get(row, "cmd");
	const char *command = json_string_value(text);
	size_t len = json_string_length(text);
	const char *why = json_string_value(json_object_get(row, "why"));
	bool allowed = json_is_true(json_object_get(row, "allowed"));
	uint32_t flags = json_is_true(json_object_get(row, "quoted"))
				 ? SANDCELL_CLI_QUOTED_OPERATORS
				 : 0;
	char *message = NULL;
	int rc = sc_policy_check(command, len, flags, NULL, &message, NULL);

	if (allowed && rc != 0)
		ck_abort_msg("%s: '%s' is refused: %s", where, command, message);
	if (!allowed && rc != SC_POLICY_REFUSED)
		ck_abort_msg("%s: '%s' is allowed", where, command);
	if (why && !strstr(message, why))
		ck_abort_msg("%s: '%s' is refused for another reason than '%s': %s", where,
			command, why, message);
	sc_free(message);
	ck_assert(policy_oracle(command, len, flags) == allowed);
}

static size_t judge_file(const char *name)
{
	char path[1024];
	char line[16384];
	char where[1100];
	size_t count = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", CLI_CASES, name);
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);
		(void)snprintf(where, sizeof(where), "%s:%zu", name, ++count);
		ck_assert_msg(row != NULL, "%s is not JSON", where);
		judge_row(row, where);
		json_decref(row);
	}
	(void)fclose(file);
	return count;
}

START_TEST(every_command_of_the_table_is_judged_right)
{
	DIR *folder = opendir(CLI_CASES);
	size_t count = 0;

	ck_assert_ptr_nonnull(folder);
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		if (strstr(entry->d_name, ".jsonl"))
			count += judge_file(entry->d_name);
	}
	(void)closedir(folder);
	ck_assert_uint_ge(count, MIN_CASES);
}
END_TEST

/* ---- messages ---- */

START_TEST(messages_are_those_of_opendatasci)
{
	expect_message("", "Empty command.");
	expect_message("ls || pwd", "Shell operator '||' is not allowed.");
	expect_message("ls ; pwd", "Shell operator ';' is not allowed.");
	expect_message("ls |", "Empty pipeline segment.");
	expect_message("echo \"unterminated",
		"Invalid command syntax: No closing quotation for \"unterminated");
	expect_message("rm -rf /tmp",
		"Command 'rm' is not allowed. Permitted commands include: awk, cat, cmp, "
		"cut, date, diff, dir, echo, env, file, find, grep, head, jq, ls, md5sum, "
		"od, printenv, printf, pwd, sed, sha256sum, shasum, sort, stat, strings, "
		"tail, tar, tr, tree, uname, uniq, unzip, wc, which, xxd, zip, … (37 "
		"total)");
}
END_TEST

START_TEST(a_refusal_names_the_word_and_the_reason)
{
	expect_message(
		"sort f -ro p", "Option '-o' of 'sort' is not allowed: it writes a file.");
	expect_message("uniq f \"p q\"",
		"Operand '\"p q\"' of 'uniq' is not allowed: a second "
		"operand is a file to write.");
	expect_message("find . -exec id +",
		"Action '-exec' of 'find' is not allowed: it runs a program.");
}
END_TEST

START_TEST(a_message_stays_one_short_line)
{
	char command[4096] = "uniq f '";

	memset(command + 8, '\n', 2000);
	memset(command + 2008, 0xc3, 1);
	memset(command + 2009, 0xa9, 1);
	command[2010] = '\'';
	char *message = refusal(command, 0);
	ck_assert_ptr_nonnull(message);
	ck_assert_uint_lt(strlen(message), 300);
	ck_assert_ptr_null(strchr(message, '\n'));
	sandcell_string_free(message);
}
END_TEST

/* ---- forms ---- */

static void expect_form(const char *command, const char *json, const char *text)
{
	sc_policy_plan *plan = NULL;
	sc_buf out = SC_BUF_INIT(SC_POLICY_FORM_MAX);

	ck_assert_int_eq(
		sc_policy_check(command, strlen(command), 0, &plan, NULL, NULL), 0);
	ck_assert_int_eq(sc_policy_form_json(plan, &out), 0);
	ck_assert_str_eq(sc_buf_text(&out), json);
	sc_buf_reset(&out);
	ck_assert_int_eq(sc_policy_form_text(plan, &out), 0);
	ck_assert_str_eq(sc_buf_text(&out), text);
	sc_buf_clear(&out);
	sc_policy_free(plan);
}

START_TEST(the_form_says_what_expands_and_what_for)
{
	expect_form("/bin/LS -l '*'  \"a b\"",
		"{\"pipelines\":[[{\"argv\":[\"ls\",\"-l\",\"*\",\"a b\"]}]]}",
		"ls -l '*' 'a b'");
	expect_form("cat ~/x$A*.c | wc && pwd",
		"{\"pipelines\":[[{\"argv\":[\"cat\",{\"file\":[[\"home\",\"\"],[\"glob\","
		"\"/"
		"x\"],[\"var\",\"A\"],[\"glob\",\"*.c\"]]}]},{\"argv\":[\"wc\"]}],[{"
		"\"argv\":"
		"[\"pwd\"]}]]}",
		"cat ~/x${A}*.c | wc && pwd");
	expect_form("uniq a'*'* && echo \"$A\" && grep $A",
		"{\"pipelines\":[[{\"argv\":[\"uniq\",{\"path\":[[\"glob\",\"a\"],[\"lit\","
		"\"*\"],[\"glob\",\"*\"]]}]}],[{\"argv\":[\"echo\",{\"arg\":[[\"var\","
		"\"A\"]]}"
		"]}],[{\"argv\":[\"grep\",{\"text\":[[\"var\",\"A\"]]}]}]]}",
		"uniq a'*'* && echo ${A} && grep ${A}");
}
END_TEST

/* ---- limits ---- */

static void expect_repeated(const char *start, const char *unit, size_t times, bool allowed,
	const char *expected)
{
	sc_buf command = SC_BUF_INIT((size_t)1 << 20);

	(void)sc_buf_puts(&command, start);
	for (size_t i = 0; i < times; i++)
		(void)sc_buf_puts(&command, unit);
	char *message = refusal(sc_buf_text(&command), 0);
	if (allowed)
		ck_assert_msg(!message, "%s", message);
	else
		ck_assert_msg(message && strstr(message, expected), "%s", message);
	sandcell_string_free(message);
	sc_buf_clear(&command);
}

START_TEST(what_is_too_large_is_refused)
{
	expect_repeated("echo ", "x", SC_POLICY_TEXT_MAX - 5, true, NULL);
	expect_repeated(
		"echo ", "x", SC_POLICY_TEXT_MAX - 4, false, "longer than 65536 bytes");
	expect_repeated("echo", " x", SC_POLICY_WORDS_MAX - 1, true, NULL);
	expect_repeated("echo", " x", SC_POLICY_WORDS_MAX, false, "more than 4096 words");
	expect_repeated("ls", "|ls", SC_POLICY_COMMANDS_MAX - 1, true, NULL);
	expect_repeated(
		"ls", "|ls", SC_POLICY_COMMANDS_MAX, false, "more than 64 commands");
	expect_repeated(
		"echo ", "a''", SC_POLICY_PARTS_MAX, false, "more than 16384 word parts");
}
END_TEST

/* ---- the rest ---- */

START_TEST(unknown_flags_are_refused)
{
	ck_assert_int_eq(sandcell_validate_cli_command("ls", 2, NULL), SANDCELL_E_INVAL);
	ck_assert_int_eq(sandcell_validate_cli_command(NULL, 0, NULL), SANDCELL_E_INVAL);
	ck_assert_int_eq(sandcell_validate_cli_command("rm", 0, NULL), 1);
	ck_assert_int_eq(sandcell_validate_cli_command("ls", 0, NULL), 0);
}
END_TEST

START_TEST(bytes_that_are_not_text_are_refused)
{
	static const char *const bad[] = {"ls \xff", "ls \xc3", "ls \xc0\x80",
		"ls \xed\xa0\x80", "ls \xf4\x90\x80\x80", "ls '\xe2\x82'"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *message = refusal(bad[i], 0);
		ck_assert_ptr_nonnull(strstr(message, "not valid UTF-8"));
		sandcell_string_free(message);
	}
	ck_assert_int_eq(
		sc_policy_check("ls\0x", 4, 0, NULL, NULL, NULL), SC_POLICY_REFUSED);
}
END_TEST

static int judge_two(sandcell_error **err_out)
{
	static const char allowed[] = "sed -e p -n *.c | awk '{print}' $A ~/x && ls";
	sc_policy_plan *plan = NULL;
	char *message = NULL;
	sc_buf form = SC_BUF_INIT(SC_POLICY_FORM_MAX);
	int rc = sc_policy_check(allowed, strlen(allowed), 0, &plan, NULL, err_out);

	if (rc == 0) {
		rc = sc_policy_form_json(plan, &form);
		rc = rc < 0 ? sc_fail_nomem(err_out) : 0;
	}
	if (rc == 0) {
		rc = sc_policy_check("ls && rm", 8, 0, NULL, &message, err_out);
		rc = rc == SC_POLICY_REFUSED ? 0 : rc;
	}
	sc_policy_free(plan);
	sc_free(message);
	sc_buf_clear(&form);
	return rc;
}

START_TEST(every_allocation_may_fail)
{
	unit_chaos(judge_two);
}
END_TEST

/* Nanoseconds of this thread's own time for one judgement; the best of some. */
static uint64_t cost(const char *start, const char *unit, size_t times)
{
	sc_buf command = SC_BUF_INIT((size_t)1 << 20);
	uint64_t best = UINT64_MAX;

	(void)sc_buf_puts(&command, start);
	for (size_t i = 0; i < times; i++)
		(void)sc_buf_puts(&command, unit);
	for (int round = 0; round < 5; round++) {
		struct timespec before;
		struct timespec after;
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
		(void)sc_policy_check(sc_buf_text(&command), command.len,
			SANDCELL_CLI_QUOTED_OPERATORS, NULL, NULL, NULL);
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
		uint64_t spent = (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000u +
				 (uint64_t)after.tv_nsec - (uint64_t)before.tv_nsec;
		best = spent < best ? spent : best;
	}
	sc_buf_clear(&command);
	return best;
}

START_TEST(time_grows_with_the_length_only)
{
	static const char *const shapes[][2] = {{"echo ", "a"}, {"echo ", "'"},
		{"echo ", "\\a"}, {"echo \"", "$"}, {"echo ", "*"}, {"echo ", "\n"},
		{"awk '", "/[/"}, {"awk '", "x"}, {"awk '", " "}, {"awk '", "getline "},
		{"sed '", "#\n"}, {"sed '", "s/a/\\\n/\n"}, {"sed '", ":a;"},
		{"sed -e p", " -e p"}, {"jq '", "\"\\("}, {"jq '", "#\n"},
		{"find .", " -not"}, {"echo ", "${"}, {"ls ", "-"}, {"tar -t", " --t"},
		{"grep -", "e"}};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		size_t unit = strlen(shapes[i][1]);
		uint64_t small = cost(shapes[i][0], shapes[i][1], 4000 / unit);
		uint64_t large = cost(shapes[i][0], shapes[i][1], 64000 / unit);
		/* 16 times the length; the square would be 256 times the time. */
		ck_assert_msg(large < 64 * small + 100000, "shape %zu: %llu and %llu ns", i,
			(unsigned long long)small, (unsigned long long)large);
	}
}
END_TEST

UNIT_MAIN("policy", every_command_of_the_table_is_judged_right,
	messages_are_those_of_opendatasci, a_refusal_names_the_word_and_the_reason,
	a_message_stays_one_short_line, the_form_says_what_expands_and_what_for,
	what_is_too_large_is_refused, unknown_flags_are_refused,
	bytes_that_are_not_text_are_refused, every_allocation_may_fail,
	time_grows_with_the_length_only)
