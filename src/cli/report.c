/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void print_failure_object(const sandcell_error *err)
{
	json_t *object;
	char *text;

	object = json_pack("{s:s, s:b, s:s, s:s}", "status", "failed", "success", 0,
		"error", sandcell_error_get_message(err), "reason",
		sandcell_status_name(sandcell_error_get_code(err)));
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (text)
		(void)puts(text);
	free(text);
}

int report_failure(sandcell_error *err, int json)
{
	int code = sandcell_error_get_code(err) == SANDCELL_E_INVAL ? EXIT_CODE_USAGE
								    : EXIT_CODE_ENGINE;

	cli_error("%s", sandcell_error_get_message(err));
	if (json)
		print_failure_object(err);
	sandcell_error_free(err);
	return code;
}

void report_warnings(const sandcell_session *session)
{
	json_t *root, *warning;
	size_t i;

	root = json_loads(sandcell_session_get_json(session), 0, NULL);
	json_array_foreach (json_object_get(root, "warnings"), i, warning) {
		if (json_is_string(warning))
			cli_warning("%s", json_string_value(warning));
	}
	json_decref(root);
}

/* sys.exit("text") prints its text; sys.exit(3) and os._exit(3) nothing, as in any Python.
 */
static int exit_is_silent(const sandcell_result *result, const char *error)
{
	char number[32];

	(void)snprintf(number, sizeof(number), "SystemExit: %d",
		sandcell_result_get_exit_code(result));
	return !sandcell_result_get_state_preserved(result) || strcmp(error, number) == 0;
}

/* A traceback is the code's own text, other verdicts are ours. */
static int is_our_verdict(int status)
{
	return status != SANDCELL_RESULT_ERROR && status != SANDCELL_RESULT_EXITED;
}

void report_result(const sandcell_result *result, struct output *error_output)
{
	const char *error = sandcell_result_get_error(result);
	int status = sandcell_result_get_status(result);

	if (!error || (status == SANDCELL_RESULT_EXITED && exit_is_silent(result, error)))
		return;
	/* The error of a command that failed is its stderr, which was passed on. */
	if (status == SANDCELL_RESULT_ERROR && sandcell_result_get_exit_code(result) > 0)
		return;
	(void)output_line(error_output,
		is_our_verdict(status) && !strchr(error, '\n') ? "sandcell: " : "", error);
}

int report_exit_code(const sandcell_result *result)
{
	switch (sandcell_result_get_status(result)) {
	case SANDCELL_RESULT_OK:
		return EXIT_CODE_OK;
	case SANDCELL_RESULT_ERROR: /* a command's exit status; an exception has none */
		return sandcell_result_get_exit_code(result) > 0
			       ? sandcell_result_get_exit_code(result) & 0xff
			       : EXIT_CODE_FAILED;
	case SANDCELL_RESULT_TIMEOUT:
		return EXIT_CODE_TIMEOUT;
	case SANDCELL_RESULT_INTERRUPTED:
		return EXIT_CODE_INTERRUPTED;
	case SANDCELL_RESULT_OOM:
		return EXIT_CODE_OOM;
	case SANDCELL_RESULT_EXITED:
		return sandcell_result_get_exit_code(result) & 0xff;
	case SANDCELL_RESULT_SIGNALED:
		return EXIT_CODE_SIGNAL + sandcell_result_get_signal(result);
	case SANDCELL_RESULT_DENIED:
		return EXIT_CODE_DENIED;
	default:
		return EXIT_CODE_ENGINE;
	}
}
