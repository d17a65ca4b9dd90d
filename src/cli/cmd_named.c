/* SPDX-License-Identifier: MIT */
/* Sessions that outlive a command: open, exec, reset, interrupt, stats, close. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sandcell/sandcell.h>

#include "cli.h"
#include "connect.h"
#include "output.h"
#include "report.h"
#include "session_args.h"
#include "signals.h"
#include "source.h"

static const char *arg_name;
static const char *arg_code;
static uint32_t arg_timeout_ms;
static int arg_no_wait;
static int arg_raw;
static int arg_json;

#define JSON_OPTION(text)                                                                  \
	{                                                                                  \
		.name = "json", .help = (text), .kind = VALUE_FLAG, .target = &arg_json    \
	}

/* ---- all of them ---- */

/* What a command does with the session it names. */
typedef int (*session_fn)(const struct cli_context *context, sandcell_session *session,
	sandcell_error **err_out);

/* A ::sandcell_status; *code_out is the exit code when it is 0. */
static int attach(const struct cli_context *context, sandcell_engine *engine,
	uint32_t flags, session_fn fn, int *code_out, sandcell_error **err_out)
{
	sandcell_attach_options options = SANDCELL_ATTACH_OPTIONS_INIT;
	sandcell_session *session = NULL;
	int rc;

	options.on_wait = cli_signals_stop;
	options.flags = flags;
	rc = sandcell_session_attach(
		engine, context->operands[0], &options, &session, err_out);
	if (rc == 0)
		rc = fn(context, session, err_out);
	if (rc >= 0)
		*code_out = rc;
	sandcell_session_free(session);
	return rc < 0 ? rc : 0;
}

static int use(const struct cli_context *context, uint32_t flags, session_fn fn)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	int code = EXIT_CODE_OK;
	int rc;

	if (context->count == 0)
		return cli_usage(context->command, "name a session");
	rc = connect_engine(&engine, &err);
	if (rc == 0)
		rc = attach(context, engine, flags, fn, &code, &err);
	sandcell_engine_free(engine);
	if (rc == 0)
		return code;
	if (cli_signals_caught()) {
		sandcell_error_free(err);
		return cli_exit_code_of_signal(cli_signals_caught());
	}
	return report_failure(err, arg_json);
}

/* ---- open ---- */

static const char *const open_forms[] = {"", NULL};

static const struct cli_option open_options[] = {
	{.name = "name",
		.value = "NAME",
		.help = "what to find it by; default: one made up",
		.kind = VALUE_TEXT,
		.target = &arg_name},
	SESSION_OPTIONS,
	JSON_OPTION("print what was granted as one JSON object"),
	CONNECT_OPTIONS,
	{0},
};

static int open_session(const sandcell_session_options *options)
{
	sandcell_engine *engine = NULL;
	sandcell_session *session = NULL;
	sandcell_error *err = NULL;
	int rc;

	rc = connect_engine(&engine, &err);
	if (rc == 0)
		rc = sandcell_session_open(engine, options, &session, &err);
	if (rc == 0) {
		report_warnings(session);
		(void)puts(arg_json ? sandcell_session_get_json(session)
				    : sandcell_session_get_name(session));
	} else if (cli_signals_caught()) {
		sandcell_error_free(err);
	} else {
		rc = report_failure(err, arg_json);
	}
	sandcell_session_free(session);
	sandcell_engine_free(engine);
	return cli_signals_caught() ? cli_exit_code_of_signal(cli_signals_caught()) : rc;
}

static int cmd_open(const struct cli_context *context)
{
	sandcell_session_options options = SANDCELL_SESSION_OPTIONS_INIT;
	char made_up[32];
	int rc;

	options.on_wait = cli_signals_stop;
	rc = session_args_load(context->command, &options);
	if (!arg_name)
		(void)snprintf(made_up, sizeof(made_up), "session-%d", (int)getpid());
	options.name = arg_name ? arg_name : made_up;
	if (rc == EXIT_CODE_OK)
		rc = open_session(&options);
	session_args_clear();
	return rc;
}

const struct cli_command command_open = {
	.name = "open",
	.summary = "Open a session that other commands use by its name",
	.forms = open_forms,
	.notes = "The session lives until it is closed, or until nobody has used it for\n"
		 "the time of --lease; default: 30m.\n",
	.options = open_options,
	.operands_max = 0,
	.fn = cmd_open,
};

/* ---- exec ---- */

static const char *const exec_forms[] = {
	"NAME FILE [ARGS...]", "NAME -c CODE [ARGS...]", "NAME - [ARGS...]", NULL};

static const struct cli_option exec_options[] = {
	{.letter = 'c',
		.value = "CODE",
		.help = "run this code",
		.kind = VALUE_TEXT,
		.target = &arg_code},
	{.name = "timeout",
		.value = "DURATION",
		.help = "such as 10, 1.5s, 30m; none: no limit; default: 10m",
		.kind = VALUE_TIMEOUT,
		.target = &arg_timeout_ms},
	{.name = "no-wait",
		.help = "fail when another client's call is running",
		.kind = VALUE_FLAG,
		.target = &arg_no_wait},
	{.name = "raw",
		.help = "let a terminal see control characters of the output",
		.kind = VALUE_FLAG,
		.target = &arg_raw},
	JSON_OPTION("print the whole result as one JSON object at the end"),
	CONNECT_OPTIONS,
	{0},
};

struct streams {
	struct output out;
	struct output err;
};

static int on_output(sandcell_stream stream, const void *data, size_t len, void *user)
{
	struct streams *streams = user;
	int is_out = stream == SANDCELL_STDOUT || stream == SANDCELL_LATE_STDOUT;

	return output_write(is_out ? &streams->out : &streams->err, data, len);
}

static int report(struct streams *streams, sandcell_result *result)
{
	if (arg_json) {
		const char *json = sandcell_result_get_json(result);

		(void)puts(json ? json : "{}");
	} else {
		report_result(result, &streams->err);
		(void)output_end(&streams->out);
		(void)output_end(&streams->err);
	}
	return report_exit_code(result);
}

static int exec_code(const struct source *code, const char *script,
	const struct cli_context *context, sandcell_session *session,
	sandcell_error **err_out)
{
	sandcell_execute_options how = SANDCELL_EXECUTE_OPTIONS_INIT;
	sandcell_result *result = NULL;
	struct streams streams;
	int rc;

	output_init(&streams.out, STDOUT_FILENO, arg_raw);
	output_init(&streams.err, STDERR_FILENO, arg_raw);
	if (!arg_json)
		how.on_output = on_output;
	how.output_user = &streams;
	how.args = (const char *const *)context->operands + (arg_code ? 1 : 2);
	how.script = script;
	how.timeout_ms = arg_timeout_ms;
	how.flags = arg_no_wait ? SANDCELL_EXECUTE_NO_WAIT : 0;
	cli_signals_watch(session);
	rc = sandcell_execute(session, code->data, code->len, &how, &result, err_out);
	cli_signals_watch(NULL);
	if (rc == 0)
		rc = report(&streams, result);
	sandcell_result_free(result);
	return rc;
}

static int exec_in(const struct cli_context *context, sandcell_session *session,
	sandcell_error **err_out)
{
	struct source code = {0};
	char *script;
	int rc = EXIT_CODE_ENGINE;

	script = arg_code ? strndup("-c", 2)
			  : source_inside(context->operands[1], NULL, NULL);
	if (arg_code) {
		code.data = strndup(arg_code, SOURCE_CODE_MAX);
		code.len = code.data ? strlen(code.data) : 0;
	} else if (source_load(&code, context->operands[1], SOURCE_CODE_MAX) < 0) {
		free(script);
		return EXIT_CODE_USAGE;
	}
	source_skip_bom(&code);
	if (script && code.data)
		rc = exec_code(&code, script, context, session, err_out);
	free(script);
	source_clear(&code);
	return rc;
}

static int cmd_exec(const struct cli_context *context)
{
	if (context->count > 0 && !arg_code && context->count < 2)
		return cli_usage(context->command, "name a file, -c CODE, or - for stdin");
	return use(context, 0, exec_in);
}

const struct cli_command command_exec = {
	.name = "exec",
	.summary = "Run code in a session that is open; its variables stay",
	.forms = exec_forms,
	.notes = "Calls of several clients take turns.  Exit status: as of run.\n",
	.options = exec_options,
	.complete = COMPLETE_FILE,
	.stop_after = 2,
	.operands_max = SIZE_MAX,
	.fn = cmd_exec,
};

/* ---- reset, interrupt, stats, close ---- */

static const char *const name_forms[] = {"NAME", NULL};
static const struct cli_option name_options[] = {
	JSON_OPTION("print a failure as one JSON object, too"),
	CONNECT_OPTIONS,
	{0},
};

static int reset_it(const struct cli_context *context, sandcell_session *session,
	sandcell_error **err_out)
{
	(void)context;
	return sandcell_reset(session, err_out);
}

static int cmd_reset(const struct cli_context *context)
{
	return use(context, 0, reset_it);
}

const struct cli_command command_reset = {
	.name = "reset",
	.summary = "Forget the variables of a session; its files stay",
	.forms = name_forms,
	.options = name_options,
	.operands_max = 1,
	.fn = cmd_reset,
};

static int interrupt_it(const struct cli_context *context, sandcell_session *session,
	sandcell_error **err_out)
{
	(void)context;
	return sandcell_session_interrupt_all(session, NULL, err_out);
}

static int cmd_interrupt(const struct cli_context *context)
{
	return use(context, SANDCELL_ATTACH_OBSERVE, interrupt_it);
}

const struct cli_command command_interrupt = {
	.name = "interrupt",
	.summary = "Stop what runs in a session, whoever started it",
	.forms = name_forms,
	.options = name_options,
	.operands_max = 1,
	.fn = cmd_interrupt,
};

static int close_it(const struct cli_context *context, sandcell_session *session,
	sandcell_error **err_out)
{
	(void)context;
	return sandcell_session_close(session, err_out);
}

static int cmd_close(const struct cli_context *context)
{
	return use(context, SANDCELL_ATTACH_OBSERVE, close_it);
}

const struct cli_command command_close = {
	.name = "close",
	.summary = "End a session and remove its container",
	.forms = name_forms,
	.options = name_options,
	.operands_max = 1,
	.fn = cmd_close,
};

static int stats_of(const struct cli_context *context, sandcell_session *session,
	sandcell_error **err_out)
{
	char *json = NULL;
	int rc;

	(void)context;
	rc = sandcell_session_stat(session, &json, err_out);
	if (rc == 0)
		(void)puts(json);
	sandcell_string_free(json);
	return rc;
}

static int cmd_stats(const struct cli_context *context)
{
	return use(context, SANDCELL_ATTACH_OBSERVE, stats_of);
}

const struct cli_command command_stats = {
	.name = "stats",
	.summary = "Print the figures of a session as one JSON object",
	.forms = name_forms,
	.options = name_options,
	.operands_max = 1,
	.fn = cmd_stats,
};
