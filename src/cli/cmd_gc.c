/* SPDX-License-Identifier: MIT */
/* Removes what killed owners have left. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include <sandcell/sandcell.h>

#include "cli.h"
#include "connect.h"
#include "report.h"

static int arg_dry_run;
static int arg_json;

static const char *const forms[] = {"", NULL};

static const struct cli_option options[] = {
	{.name = "dry-run",
		.help = "only say what would be removed",
		.kind = VALUE_FLAG,
		.target = &arg_dry_run},
	{.name = "json",
		.help = "print one JSON object per session",
		.kind = VALUE_FLAG,
		.target = &arg_json},
	CONNECT_OPTIONS,
	{0},
};

static void print_row(const json_t *row)
{
	char *text = json_dumps(row, JSON_COMPACT);
	int removed = json_is_true(json_object_get(row, "removed"));
	const char *done = removed ? "removed" : "could not remove";

	if (arg_json && text)
		(void)puts(text);
	else
		(void)printf("%s %s: %s\n", arg_dry_run ? "would remove" : done,
			json_string_value(json_object_get(row, "name")),
			json_string_value(json_object_get(row, "reason")));
	free(text);
}

static int cmd_gc(const struct cli_context *context)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	char *text = NULL;
	json_t *all, *row;
	size_t i;
	int rc;

	(void)context;
	rc = connect_engine(&engine, &err);
	if (rc == 0)
		rc = sandcell_reap(
			engine, arg_dry_run ? SANDCELL_REAP_DRY_RUN : 0, &text, &err);
	all = rc == 0 ? json_loads(text, 0, NULL) : NULL;
	json_array_foreach (all, i, row)
		print_row(row);
	json_decref(all);
	sandcell_string_free(text);
	sandcell_engine_free(engine);
	return rc < 0 ? report_failure(err, arg_json) : EXIT_CODE_OK;
}

const struct cli_command command_gc = {
	.name = "gc",
	.summary = "Remove sessions whose owners were killed, or that have ended",
	.forms = forms,
	.options = options,
	.operands_max = 0,
	.fn = cmd_gc,
};
