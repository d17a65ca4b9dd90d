/* SPDX-License-Identifier: MIT */
#include "session/execute.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/call.h"
#include "session/policy/policy.h"
#include "session/recover.h"
#include "session/result.h"
#include "session/spill.h"

/* Between SIGINT and SIGKILL; the supervisor's default, sent all the same. */
#define GRACE_MS 500
/* What the supervisor may take beyond its own deadline before the host acts. */
#define BACKSTOP_MS 5000
/* A call that is not waited for is answered when it has come. */
#define ACCEPT_MS 30000
#define KNOWN_FLAGS                                                                        \
	(SANDCELL_EXECUTE_PROGRAM | SANDCELL_EXECUTE_ARTIFACTS |                           \
		SANDCELL_EXECUTE_NO_WAIT | SANDCELL_EXECUTE_RECOVER)

/* A call that runs. */
struct run {
	sandcell_session *s;
	sc_call call;
	sandcell_result *result;
	sandcell_output_fn on_output;
	void *output_user;
	struct sc_spill *spill; /* NULL: no files */
	sc_deadline deadline;	/* the host's own */
	bool interrupted;	/* the interrupt was sent */
	bool fetching;		/* another call's result: its deadline ends the waiting */
	bool timed_out;		/* and has passed */
	bool stopped;		/* by the callback */
};

/* ---- what comes ---- */

static int take_output(int stream, const void *data, size_t len, uint64_t dropped,
	void *user, sandcell_error **err_out)
{
	struct run *run = user;

	(void)err_out;
	sc_result_add_output(run->result, stream, data, len, dropped);
	if (run->spill && sc_spill_write(run->spill, stream, data, len) < 0)
		run->stopped = true;
	if (run->on_output && !run->stopped && len > 0)
		run->stopped = run->on_output((sandcell_stream)stream, data, len,
				       run->output_user) != 0;
	return 0;
}

static int take_display(sc_content *content, void *user, sandcell_error **err_out)
{
	struct run *run = user;

	(void)err_out;
	sc_result_add_display(run->result, content);
	return 0;
}

/* ---- running ---- */

static int send_interrupt(struct run *run, sandcell_error **err_out)
{
	sc_autojson *header = json_pack(
		"{s:s, s:I}", "type", "interrupt", "target", (json_int_t)run->call.id);

	if (!header)
		return sc_fail_nomem(err_out);
	run->interrupted = true;
	if (run->timed_out)
		run->deadline = SC_NEVER;
	run->deadline =
		sc_deadline_min(run->deadline, sc_deadline_in_ms(GRACE_MS + BACKSTOP_MS));
	return sc_channel_send_frame(run->s->channel, header, err_out);
}

/* Pumps until the result has come; what ends it earlier is returned. */
static int pump_to_end(struct run *run, sandcell_error **err_out)
{
	while (!sc_call_ended(&run->call)) {
		int rc = sc_channel_pump(run->s->channel, run->deadline, err_out);
		bool woken = rc == SC_PUMP_WOKEN;

		if (sc_call_ended(&run->call))
			break;
		bool patience = run->fetching && !run->interrupted;
		if (rc == SC_PUMP_TIMEOUT && patience)
			run->timed_out = true;
		else if (rc == SC_PUMP_TIMEOUT)
			return sc_fail(err_out, SANDCELL_E_TIMEOUT,
				"the supervisor did not keep the deadline");
		if (woken && atomic_load(&run->s->closing))
			return sc_fail(err_out, SANDCELL_E_CLOSED,
				"the session was closed during the call");
		bool stop =
			woken || rc == SC_PUMP_STOPPED || run->stopped || run->timed_out;
		if (rc >= 0 && stop && !run->interrupted)
			rc = send_interrupt(run, err_out);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- results ---- */

/* The container did not give a result: the host's verdict takes its place. */
static void give_verdict(struct run *run, int rc, const char *why)
{
	sandcell_result *result = run->result;
	struct sc_verdict verdict;

	sc_recover(run->s, sc_loss_of(rc), &verdict);
	if (rc == SANDCELL_E_TIMEOUT)
		verdict.status = run->interrupted ? SANDCELL_RESULT_INTERRUPTED
						  : SANDCELL_RESULT_TIMEOUT;
	sc_log_line(sc_engine_log(run->s->engine), "call lost: %s: %s", why, verdict.text);
	sc_result_set_verdict(result, verdict.status, verdict.text);
	result->exit_code = verdict.exit_code;
	result->signal = verdict.signal;
	result->container_restarted = verdict.replaced;
}

/* Answers that are no results of calls. */
static int check_answer(const struct run *run, sandcell_error **err_out)
{
	const json_t *header = run->call.result;
	const char *status = sc_json_get_str(header, "status", "");

	if (strcmp(status, "busy") == 0)
		return sc_fail(err_out, SANDCELL_E_BUSY, "%s",
			run->fetching ? "the call is still running"
				      : "another client's call is running");
	if (!run->fetching)
		return 0;
	if (!json_object_get(header, "target"))
		return sc_fail(err_out, SANDCELL_E_NOTFOUND,
			"the session knows no such call, or keeps its result no longer");
	/* A call's own result has the time it took. */
	if (run->interrupted && !json_object_get(header, "duration_ns"))
		return run->timed_out
			       ? sc_fail(err_out, SANDCELL_E_TIMEOUT,
					 "the call is still running")
			       : sc_fail(err_out, SANDCELL_E_BUSY,
					 "the waiting was interrupted; the call is still "
					 "running");
	return 0;
}

static int finish(struct run *run, int rc, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;

	if (rc == 0) {
		int bad = check_answer(run, err_out);

		if (bad < 0)
			return bad;
	}
	if (rc == 0)
		rc = sc_result_finish(
			run->result, run->call.result, &run->call.content, &why);
	if (rc < 0)
		give_verdict(run, rc, sandcell_error_get_message(why));
	sc_result_seal(run->result);
	if (run->s->replaced)
		run->result->container_restarted = true;
	run->s->replaced = false;
	if (run->spill && run->spill->failed)
		return sc_spill_fail(run->spill, err_out);
	if (run->stopped)
		return sc_fail(err_out, SANDCELL_E_CALLBACK,
			"the output callback asked to stop the call");
	return 0;
}

/* Runs what the header and parts say, on a session that was entered. */
static int run_call(struct run *run, const json_t *header, const sc_part *parts,
	size_t count, sandcell_error **err_out)
{
	static const struct sc_call_handlers handlers = {
		.output = take_output,
		.display = take_display,
	};
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	uint64_t id = (uint64_t)sc_json_get_int(header, "id", 0);
	int rc;

	rc = sc_call_init(&run->call, id, header, parts, count, &handlers, run, err_out);
	if (rc < 0)
		return rc;
	rc = sc_channel_start(run->s->channel, &run->call, err_out);
	if (rc < 0)
		return rc;
	rc = pump_to_end(run, &why);
	sc_channel_drop(run->s->channel, &run->call);
	if (rc < 0)
		sc_log_line(sc_engine_log(run->s->engine), "call %" PRIu64 " failed: %s",
			id, sandcell_error_get_message(why));
	rc = finish(run, rc, err_out);
	sc_call_clear(&run->call);
	return rc;
}

/* ---- execute ---- */

static uint32_t effective_timeout(const sandcell_session *s, uint32_t timeout_ms)
{
	uint32_t ms = timeout_ms ? timeout_ms : s->config.timeout_ms;

	return ms == SANDCELL_NO_TIMEOUT ? 0 : ms;
}

static sc_deadline backstop(uint32_t timeout_ms)
{
	if (timeout_ms == 0)
		return SC_NEVER;
	return sc_deadline_in_ms((uint64_t)timeout_ms + GRACE_MS + BACKSTOP_MS);
}

static json_t *text_list(const char *const *texts)
{
	json_t *list = json_array();

	for (; texts && *texts; texts++) {
		if (json_array_append_new(list, json_string(*texts)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static int make_header(uint64_t id, const sandcell_execute_options *opts,
	uint32_t timeout_ms, json_t **out, sandcell_error **err_out)
{
	json_t *header = json_pack("{s:s, s:I, s:I, s:i}", "type", "execute", "id",
		(json_int_t)id, "timeout_ms", (json_int_t)timeout_ms, "grace_ms", GRACE_MS);
	int bad = header ? 0 : -1;

	if (opts->script)
		bad |= json_object_set_new(header, "script", json_string(opts->script));
	if (opts->flags & SANDCELL_EXECUTE_PROGRAM)
		bad |= json_object_set_new(header, "program", json_true());
	if (opts->flags & SANDCELL_EXECUTE_NO_WAIT)
		bad |= json_object_set_new(header, "wait", json_false());
	if (opts->flags & SANDCELL_EXECUTE_ARTIFACTS)
		bad |= json_object_set_new(header, "artifacts", json_true());
	if (opts->flags & SANDCELL_EXECUTE_RECOVER)
		bad |= json_object_set_new(header, "recover", json_string("last"));
	if (opts->args)
		bad |= json_object_set_new(header, "args", text_list(opts->args));
	if (bad) {
		json_decref(header);
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"the script's name or arguments are not UTF-8");
	}
	*out = header;
	return 0;
}

static int check_input(const char *code, size_t code_len,
	const sandcell_execute_options *opts, sandcell_error **err_out)
{
	if (opts->flags & ~KNOWN_FLAGS)
		return sc_fail(err_out, SANDCELL_E_INVAL, "unknown execute flags 0x%x",
			opts->flags);
	if (code_len > SC_MAX_CODE)
		return sc_fail(err_out, SANDCELL_E_LIMIT,
			"code of %zu bytes, at most %zu are possible", code_len,
			SC_MAX_CODE);
	size_t good = sc_utf8_check(code, code_len);
	if (good < code_len)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"the code is not UTF-8 at byte %zu", good);
	return 0;
}

static int execute_entered(sandcell_session *s, const char *code, size_t code_len,
	const sandcell_execute_options *opts, sandcell_result *result,
	sandcell_error **err_out)
{
	uint32_t timeout_ms = effective_timeout(s, opts->timeout_ms);
	const sc_part parts[] = {
		{.name = "code", .data = code, .len = code_len},
		{.name = "stdin", .data = opts->stdin_data, .len = opts->stdin_len},
	};
	struct run run = {
		.s = s,
		.result = result,
		.on_output = opts->on_output,
		.output_user = opts->output_user,
		.deadline = backstop(timeout_ms),
	};
	struct sc_spill spill;
	sc_autojson *header = NULL;
	int rc;

	rc = make_header(
		sc_channel_next_id(s->channel), opts, timeout_ms, &header, err_out);
	if (rc == 0)
		rc = sc_spill_open(&spill, opts, err_out);
	if (rc < 0)
		return rc;
	run.spill = &spill;
	rc = run_call(&run, header, parts, opts->stdin_data ? 2 : 1, err_out);
	sc_spill_close(&spill);
	return rc;
}

int sc_execute(sandcell_session *s, const char *code, size_t code_len,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_result_freep) sandcell_result *result = NULL;
	uint64_t output_max = opts->output_max ? opts->output_max : s->config.output_max;
	int rc;

	rc = check_input(code, code_len, opts, err_out);
	if (rc < 0)
		return rc;
	result = sc_result_new(code, code_len, output_max, err_out);
	if (!result)
		return SANDCELL_E_NOMEM;
	rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = execute_entered(s, code, code_len, opts, result, err_out);
	sc_session_leave(s);
	if (rc < 0)
		return rc;
	*result_out = SANDCELL_TAKE(result);
	return 0;
}

/* ---- detached ---- */

static int detach_entered(sandcell_session *s, const sc_part *parts, size_t count,
	const sandcell_execute_options *opts, uint64_t *call_id_out,
	sandcell_error **err_out)
{
	uint64_t id = sc_channel_next_id(s->channel);
	sc_autojson *header = NULL;
	sc_call call = {0};
	int rc;

	rc = make_header(id, opts, opts->timeout_ms, &header, err_out);
	if (rc < 0)
		return rc;
	if (json_object_set_new(header, "detach", json_true()) < 0)
		return sc_fail_nomem(err_out);
	rc = sc_call_init(&call, id, header, parts, count, NULL, NULL, err_out);
	if (rc == 0)
		rc = sc_call_run(s->channel, &call, sc_deadline_in_ms(ACCEPT_MS), err_out);
	if (rc == SANDCELL_E_GONE || rc == SANDCELL_E_PROTOCOL) {
		struct sc_verdict verdict;

		sc_recover(s, sc_loss_of(rc), &verdict);
		rc = sc_error_recode(err_out, SANDCELL_E_GONE);
	}
	if (rc == 0 && strcmp(sc_json_get_str(call.result, "status", ""), "busy") == 0)
		rc = sc_fail(err_out, SANDCELL_E_BUSY, "another client's call is running");
	else if (rc == 0)
		rc = sc_call_check(&call, "starting the call", err_out);
	if (rc == 0)
		*call_id_out = id;
	sc_call_clear(&call);
	return rc;
}

int sc_execute_detached(sandcell_session *s, const char *code, size_t code_len,
	const sandcell_execute_options *opts, uint64_t *call_id_out,
	sandcell_error **err_out)
{
	const sc_part parts[] = {
		{.name = "code", .data = code, .len = code_len},
		{.name = "stdin", .data = opts->stdin_data, .len = opts->stdin_len},
	};
	int rc;

	rc = check_input(code, code_len, opts, err_out);
	if (rc < 0)
		return rc;
	if (!opts->timeout_ms || opts->timeout_ms == SANDCELL_NO_TIMEOUT)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"a detached call needs a timeout of its own");
	if (opts->on_output || opts->stdout_file || opts->stderr_file)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"the output of a detached call is part of its result only");
	rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = detach_entered(s, parts, opts->stdin_data ? 2 : 1, opts, call_id_out, err_out);
	sc_session_leave(s);
	return rc;
}

static int fetch_entered(sandcell_session *s, uint64_t call_id,
	const sandcell_execute_options *opts, sandcell_result *result,
	sandcell_error **err_out)
{
	struct run run = {
		.s = s,
		.result = result,
		.on_output = opts->on_output,
		.output_user = opts->output_user,
		.fetching = true,
		.deadline = opts->timeout_ms && opts->timeout_ms != SANDCELL_NO_TIMEOUT
				    ? sc_deadline_in_ms(opts->timeout_ms)
				    : SC_NEVER,
	};
	sc_autojson *header = json_pack("{s:s, s:I, s:I, s:b}", "type", "result", "id",
		(json_int_t)sc_channel_next_id(s->channel), "target", (json_int_t)call_id,
		"wait", !(opts->flags & SANDCELL_EXECUTE_NO_WAIT));

	if (!header)
		return sc_fail_nomem(err_out);
	return run_call(&run, header, NULL, 0, err_out);
}

int sc_fetch_result(sandcell_session *s, uint64_t call_id,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_result_freep) sandcell_result *result = NULL;
	uint64_t output_max = opts->output_max ? opts->output_max : s->config.output_max;
	int rc;

	if (call_id > SC_FRAME_ID_MAX || opts->flags & ~SANDCELL_EXECUTE_NO_WAIT)
		return sc_fail(err_out, SANDCELL_E_INVAL, "no such call id, or flags 0x%x",
			opts->flags);
	result = sc_result_new("", 0, output_max, err_out);
	if (!result)
		return SANDCELL_E_NOMEM;
	rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = fetch_entered(s, call_id, opts, result, err_out);
	sc_session_leave(s);
	if (rc < 0)
		return rc;
	*result_out = SANDCELL_TAKE(result);
	return 0;
}

/* ---- commands ---- */

/* What failed says so on stderr, most of the time. */
static void explain_exit(sandcell_result *result)
{
	sc_autobuf text = SC_BUF_INIT(SIZE_MAX / 4);
	size_t len = 0;
	const char *said = sandcell_result_get_stream(result, SANDCELL_STDERR, &len);

	if (result->status != SANDCELL_RESULT_ERROR || sandcell_result_get_error(result))
		return;
	if (len > 0)
		(void)sc_utf8_put(&text, said, len);
	else
		(void)sc_buf_printf(&text, "exit status %d", result->exit_code);
	result->host_error = sc_buf_take(&text, NULL);
}

static int cli_entered(sandcell_session *s, const sc_buf *form,
	const sandcell_cli_options *opts, sandcell_result *result, sandcell_error **err_out)
{
	uint32_t timeout_ms = effective_timeout(s, opts->timeout_ms);
	const sc_part part = {.name = "form", .data = form->data, .len = form->len};
	struct run run = {
		.s = s,
		.result = result,
		.on_output = opts->on_output,
		.output_user = opts->output_user,
		.deadline = backstop(timeout_ms),
	};
	sc_autojson *header = json_pack("{s:s, s:I, s:I, s:i}", "type", "cli", "id",
		(json_int_t)sc_channel_next_id(s->channel), "timeout_ms",
		(json_int_t)timeout_ms, "grace_ms", GRACE_MS);
	int rc;

	if (!header)
		return sc_fail_nomem(err_out);
	rc = run_call(&run, header, &part, 1, err_out);
	if (rc == 0)
		explain_exit(result);
	return rc;
}

/* 0: the form is there; 1: refused, and the result says why. */
static int judge_command(const char *command, uint32_t flags, sc_buf *form,
	sandcell_result *result, sandcell_error **err_out)
{
	sc_policy_plan *plan = NULL;
	sc_autofree char *message = NULL;
	int rc;

	rc = sc_policy_check(command, strlen(command), flags, &plan, &message, err_out);
	if (rc < 0)
		return rc;
	if (rc == SC_POLICY_REFUSED) {
		sc_result_set_verdict(result, SANDCELL_RESULT_DENIED, message);
		result->state_preserved = true;
		return SC_POLICY_REFUSED;
	}
	(void)sc_policy_form_json(plan, form);
	sc_policy_free(plan);
	return sc_buf_check(form, err_out, "parsed command");
}

/* The session is asked first: a refusal must not hide that it was closed. */
int sc_execute_cli(sandcell_session *s, const char *command,
	const sandcell_cli_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_result_freep) sandcell_result *result = NULL;
	uint64_t output_max = opts->output_max ? opts->output_max : s->config.output_max;
	sc_autobuf form = SC_BUF_INIT(SC_POLICY_FORM_MAX);
	int rc;

	result = sc_result_new(command, strlen(command), output_max, err_out);
	if (!result)
		return SANDCELL_E_NOMEM;
	rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = judge_command(command, opts->flags, &form, result, err_out);
	if (rc == 0)
		rc = cli_entered(s, &form, opts, result, err_out);
	sc_session_leave(s);
	if (rc < 0)
		return rc;
	*result_out = SANDCELL_TAKE(result);
	return 0;
}
