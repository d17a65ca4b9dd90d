/* SPDX-License-Identifier: MIT */
/* One shot: opens a session, runs one script in it, takes the container away. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sandcell/sandcell.h>

#include "cli.h"
#include "connect.h"
#include "display.h"
#include "output.h"
#include "report.h"
#include "session_args.h"
#include "signals.h"
#include "source.h"

static const char *arg_code;
static const char *arg_cli;
static int arg_quoted_operators;
static const char *arg_stdin;
static const char *arg_display;
static uint32_t arg_timeout_ms;
static int arg_raw;
static int arg_json;

static const char *const forms[] = {
	"FILE [ARGS...]", "-c CODE [ARGS...]", "- [ARGS...]", "--cli COMMAND", NULL};

static const char notes[] =
	"FILE, CODE, or with - what comes on standard input, runs as a script does:\n"
	"sys.argv, __file__ and sys.path[0] are set, and nothing is printed but what it\n"
	"prints.  Options end with FILE or the first of ARGS.\n"
	"\n"
	"Exit status: 0 ok, 1 the code raised, 2 usage, 124 timeout, 125 engine failure,\n"
	"130 interrupted, 137 out of memory, 128+n killed by signal n; else that of\n"
	"sys.exit.\n";

static const struct cli_option options[] = {
	{.letter = 'c',
		.value = "CODE",
		.help = "run this code",
		.kind = VALUE_TEXT,
		.target = &arg_code},
	{.name = "cli",
		.value = "COMMAND",
		.help = "run this read-only command, if the policy allows it",
		.kind = VALUE_TEXT,
		.target = &arg_cli},
	{.name = "quoted-operators",
		.help = "let operators in quotes be text: awk '$1 > 5'",
		.kind = VALUE_FLAG,
		.target = &arg_quoted_operators},
	{.name = "stdin",
		.value = "FILE",
		.help = "stdin of the code; - for ours; default: nothing",
		.kind = VALUE_TEXT,
		.complete = COMPLETE_FILE,
		.target = &arg_stdin},
	{.name = "timeout",
		.value = "DURATION",
		.help = "such as 10, 1.5s, 30m; none: no limit; default: 10m",
		.kind = VALUE_TIMEOUT,
		.target = &arg_timeout_ms},
	SESSION_OPTIONS,
	{.name = "display",
		.value = "DIR",
		.help = "write figures and tables the code displays to DIR",
		.kind = VALUE_TEXT,
		.complete = COMPLETE_DIR,
		.target = &arg_display},
	{.name = "raw",
		.help = "let a terminal see control characters of the output",
		.kind = VALUE_FLAG,
		.target = &arg_raw},
	{.name = "json",
		.help = "print the whole result as one JSON object at the end",
		.kind = VALUE_FLAG,
		.target = &arg_json},
	CONNECT_OPTIONS,
	{0},
};

/* Everything one run needs; all of it is ready before the container is. */
struct run {
	struct source code;
	struct source input;
	char *script; /* a path inside, "-c" or "-" */
	const char *const *args;
	int display_fd;
	sandcell_session_options session_options;
	struct output out;
	struct output err;
};

/* CODE is copied, so that every kind of source is freed alike. */
static int load_argument(struct run *run)
{
	run->code.data = strndup(arg_code, SOURCE_CODE_MAX);
	run->code.len = run->code.data ? strlen(run->code.data) : 0;
	run->script = strndup("-c", 2);
	return run->code.data && run->script ? EXIT_CODE_OK : EXIT_CODE_ENGINE;
}

static int load_file(const char *file, struct run *run)
{
	if (source_load(&run->code, file, SOURCE_CODE_MAX) < 0)
		return EXIT_CODE_USAGE;
	source_skip_bom(&run->code);
	run->script = source_inside(
		file, run->session_options.workspace, run->session_options.mounts);
	return run->script ? EXIT_CODE_OK : EXIT_CODE_ENGINE;
}

static int load_code(const struct cli_context *context, struct run *run)
{
	if (arg_cli && (arg_code || arg_stdin || context->count > 0))
		return cli_usage(
			context->command, "--cli goes with no code, file or --stdin");
	if (arg_cli)
		return EXIT_CODE_OK;
	if (arg_code) {
		run->args = (const char *const *)context->operands;
		return load_argument(run);
	}
	if (context->count == 0)
		return cli_usage(context->command, "name a file, -c CODE, or - for stdin");
	run->args = (const char *const *)context->operands + 1;
	return load_file(context->operands[0], run);
}

static int load_stdin(const struct cli_context *context, struct run *run)
{
	int from_stdin =
		!arg_code && context->count > 0 && strcmp(context->operands[0], "-") == 0;

	if (!arg_stdin)
		return EXIT_CODE_OK;
	if (from_stdin && strcmp(arg_stdin, "-") == 0)
		return cli_usage(context->command,
			"standard input cannot be both the code and --stdin");
	return source_load(&run->input, arg_stdin, SOURCE_STDIN_MAX) < 0 ? EXIT_CODE_USAGE
									 : EXIT_CODE_OK;
}

static int prepare(const struct cli_context *context, struct run *run)
{
	int rc;

	output_init(&run->out, STDOUT_FILENO, arg_raw);
	output_init(&run->err, STDERR_FILENO, arg_raw);
	run->session_options.on_wait = cli_signals_stop;
	rc = session_args_load(context->command, &run->session_options);
	if (rc == EXIT_CODE_OK)
		rc = load_code(context, run);
	if (rc == EXIT_CODE_OK)
		rc = load_stdin(context, run);
	if (rc == EXIT_CODE_OK && arg_display) {
		run->display_fd = display_open(arg_display);
		rc = run->display_fd < 0 ? EXIT_CODE_USAGE : EXIT_CODE_OK;
	}
	return rc;
}

static int on_output(sandcell_stream stream, const void *data, size_t len, void *user)
{
	struct run *run = user;

	if (stream == SANDCELL_STDOUT || stream == SANDCELL_LATE_STDOUT)
		return output_write(&run->out, data, len);
	return output_write(&run->err, data, len);
}

/* The reader of our output went away, or a signal came while it kept us waiting. */
static int stopped_writing(const struct run *run)
{
	int error = run->out.error ? run->out.error : run->err.error;

	if (cli_signals_caught())
		return cli_exit_code_of_signal(cli_signals_caught());
	if (error == EPIPE)
		return cli_exit_code_of_signal(SIGPIPE);
	errno = error;
	cli_error("cannot write the output: %m");
	return EXIT_CODE_ENGINE;
}

static int report(struct run *run, sandcell_result *result)
{
	const char *json;

	if (run->display_fd >= 0 && display_save(run->display_fd, result) < 0)
		return EXIT_CODE_ENGINE;
	if (!arg_json) {
		report_result(result, &run->err);
		(void)output_end(&run->out);
		(void)output_end(&run->err);
		return report_exit_code(result);
	}
	json = sandcell_result_get_json(result);
	if (!json) {
		cli_error("out of memory");
		return EXIT_CODE_ENGINE;
	}
	(void)puts(json);
	return report_exit_code(result);
}

static int run_code(struct run *run, sandcell_session *session,
	sandcell_result **result_out, sandcell_error **err_out)
{
	sandcell_execute_options how = SANDCELL_EXECUTE_OPTIONS_INIT;

	if (!arg_json)
		how.on_output = on_output;
	how.output_user = run;
	how.stdin_data = run->input.data;
	how.stdin_len = run->input.len;
	how.script = run->script;
	how.flags = SANDCELL_EXECUTE_PROGRAM;
	how.args = run->args;
	how.timeout_ms = arg_timeout_ms;
	return sandcell_execute(
		session, run->code.data, run->code.len, &how, result_out, err_out);
}

static int run_command(struct run *run, sandcell_session *session,
	sandcell_result **result_out, sandcell_error **err_out)
{
	sandcell_cli_options how = SANDCELL_CLI_OPTIONS_INIT;

	if (!arg_json)
		how.on_output = on_output;
	how.output_user = run;
	how.timeout_ms = arg_timeout_ms;
	if (arg_quoted_operators)
		how.flags |= SANDCELL_CLI_QUOTED_OPERATORS;
	return sandcell_execute_cli(session, arg_cli, &how, result_out, err_out);
}

static int execute(struct run *run, sandcell_session *session)
{
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;
	int rc;

	cli_signals_watch(session);
	rc = arg_cli ? run_command(run, session, &result, &err)
		     : run_code(run, session, &result, &err);
	cli_signals_watch(NULL);
	if (rc < 0 && run->out.error == 0 && run->err.error == 0)
		return report_failure(err, arg_json);
	sandcell_error_free(err);
	rc = rc < 0 || run->out.error || run->err.error ? stopped_writing(run)
							: report(run, result);
	sandcell_result_free(result);
	return rc;
}

/* The session is open: whatever happens from here on, it is closed. */
static int use_session(struct run *run, sandcell_session *session)
{
	sandcell_error *err = NULL;
	int code = EXIT_CODE_OK;

	report_warnings(session);
	if (!cli_signals_caught())
		code = execute(run, session);
	if (sandcell_session_close(session, &err) < 0) {
		int failed = report_failure(err, 0);

		code = code == EXIT_CODE_OK ? failed : code;
	}
	/* Only SIGINT is the code's to handle: it may end as it likes after one. */
	if (cli_signals_caught() &&
		(cli_signals_caught() != SIGINT || code == EXIT_CODE_OK))
		code = cli_exit_code_of_signal(cli_signals_caught());
	return code;
}

static int open_and_use(struct run *run)
{
	sandcell_engine *engine = NULL;
	sandcell_session *session = NULL;
	sandcell_error *err = NULL;
	int rc;

	rc = connect_engine(&engine, &err);
	if (rc == 0)
		rc = sandcell_session_open(engine, &run->session_options, &session, &err);
	if (rc == 0) {
		rc = use_session(run, session);
	} else if (cli_signals_caught()) {
		rc = cli_exit_code_of_signal(cli_signals_caught());
		sandcell_error_free(err);
	} else {
		rc = report_failure(err, arg_json);
	}
	sandcell_session_free(session);
	sandcell_engine_free(engine);
	return rc;
}

static int cmd_run(const struct cli_context *context)
{
	struct run run = {
		.display_fd = -1, .session_options = SANDCELL_SESSION_OPTIONS_INIT};
	int rc;

	rc = prepare(context, &run);
	if (rc == EXIT_CODE_OK)
		rc = open_and_use(&run);
	else if (cli_signals_caught())
		rc = cli_exit_code_of_signal(cli_signals_caught());
	if (run.display_fd >= 0)
		(void)close(run.display_fd);
	free(run.script);
	source_clear(&run.code);
	source_clear(&run.input);
	session_args_clear();
	return rc;
}

const struct cli_command command_run = {
	.name = "run",
	.summary = "Run a script in a container of its own",
	.forms = forms,
	.notes = notes,
	.options = options,
	.complete = COMPLETE_FILE,
	.stop_after = 1,
	.operands_max = SIZE_MAX,
	.fn = cmd_run,
};
