/* SPDX-License-Identifier: MIT */
/* Lists the sessions of an engine. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sandcell/sandcell.h>

#include "cli.h"
#include "connect.h"
#include "report.h"
#include "terminal.h"

static int arg_json;

static const char *const forms[] = {"", NULL};

static const struct cli_option options[] = {
	{.name = "json",
		.help = "print one JSON object per session",
		.kind = VALUE_FLAG,
		.target = &arg_json},
	CONNECT_OPTIONS,
	{0},
};

static const char *text_of(const json_t *session, const char *key)
{
	const char *text = json_string_value(json_object_get(session, key));

	return text ? text : "-";
}

/* "5s", "12m", "3h", "2d". */
static void put_age(char age[32], json_int_t created)
{
	json_int_t seconds = (json_int_t)time(NULL) - created;

	seconds = seconds < 0 ? 0 : seconds;
	if (seconds < 120)
		(void)snprintf(age, 32, "%llds", (long long)seconds);
	else if (seconds < 7200)
		(void)snprintf(age, 32, "%lldm", (long long)seconds / 60);
	else if (seconds < 172800)
		(void)snprintf(age, 32, "%lldh", (long long)seconds / 3600);
	else
		(void)snprintf(age, 32, "%lldd", (long long)seconds / 86400);
}

static void print_row(const json_t *session)
{
	const json_t *owner = json_object_get(session, "owner");
	char *line = NULL;
	char age[32];

	put_age(age, json_integer_value(json_object_get(session, "created")));
	if (asprintf(&line, "%-24s %-10s %6s %8lld  %s", text_of(session, "name"),
		    text_of(session, "state"), age,
		    (long long)json_integer_value(json_object_get(owner, "uid")),
		    text_of(session, "image")) < 0)
		return;
	terminal_one_line(line);
	(void)puts(line);
	free(line);
}

static void print_object(const json_t *session)
{
	char *text = json_dumps(session, JSON_COMPACT);

	if (text)
		(void)puts(text);
	free(text);
}

static void print_all(const char *text)
{
	json_t *all = json_loads(text, 0, NULL);
	json_t *session;
	size_t i;

	if (!arg_json)
		(void)printf("%-24s %-10s %6s %8s  %s\n", "NAME", "STATE", "AGE", "OWNER",
			"IMAGE");
	json_array_foreach (all, i, session) {
		if (arg_json)
			print_object(session);
		else
			print_row(session);
	}
	json_decref(all);
}

static int cmd_ps(const struct cli_context *context)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	char *text = NULL;
	int rc;

	(void)context;
	rc = connect_engine(&engine, &err);
	if (rc == 0)
		rc = sandcell_list(engine, &text, &err);
	if (rc == 0)
		print_all(text);
	sandcell_string_free(text);
	sandcell_engine_free(engine);
	return rc < 0 ? report_failure(err, arg_json) : EXIT_CODE_OK;
}

const struct cli_command command_ps = {
	.name = "ps",
	.summary = "List the sessions of the engine, whoever opened them",
	.forms = forms,
	.options = options,
	.operands_max = 0,
	.fn = cmd_ps,
};
