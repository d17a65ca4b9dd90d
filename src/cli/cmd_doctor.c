/* SPDX-License-Identifier: MIT */
/*
 * Is this machine fit for sandcell?  Finds the engine, asks it what it is, and believes
 * nothing of it before a real session has shown it.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sandcell/sandcell.h>

#include "cli.h"
#include "connect.h"
#include "findings.h"
#include "signals.h"

static const char *arg_image;
static const char *arg_runtime;
static int arg_json;

static const char *const forms[] = {"", NULL};

static const struct cli_option options[] = {
	{.name = "image",
		.value = "IMAGE",
		.help = "image of the trial session",
		.kind = VALUE_TEXT,
		.target = &arg_image},
	{.name = "runtime",
		.value = "NAME",
		.help = "OCI runtime of the trial session",
		.kind = VALUE_TEXT,
		.target = &arg_runtime},
	{.name = "json",
		.help = "print one JSON object per check",
		.kind = VALUE_FLAG,
		.target = &arg_json},
	CONNECT_OPTIONS,
	{0},
};

/* What the kernel says about a process of the code; each line true on a good engine. */
static const char probe[] =
	"def lines(name):\n"
	"    try:\n"
	"        return open(name).read().splitlines()\n"
	"    except FileNotFoundError:\n"
	"        return []\n"
	"status = dict(line.split(':', 1) for line in lines('/proc/self/status'))\n"
	"root = [line.split() for line in lines('/proc/self/mounts') if ' / ' in "
	"line][-1]\n"
	"result = {\n"
	"    'no capability': all(int(status[name], 16) == 0\n"
	"        for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')),\n"
	"    'no new privileges': int(status['NoNewPrivs']) == 1,\n"
	"    'seccomp': int(status['Seccomp']) == 2,\n"
	"    'no network': len(lines('/proc/net/route')) <= 1 and all(\n"
	"        line.split()[-1] == 'lo' for line in lines('/proc/net/ipv6_route')),\n"
	"    'read-only root': 'ro' in root[3].split(','),\n"
	"}\n";

static double milliseconds_since(const struct timespec *start)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) * 1e3 +
	       (double)(now.tv_nsec - start->tv_nsec) / 1e6;
}

static void add_error(struct findings *findings, const char *check, const char *advice,
	sandcell_error *err)
{
	if (!cli_signals_caught())
		findings_add(findings, FINDING_FAIL, check, advice, "%s",
			sandcell_error_get_message(err));
	sandcell_error_free(err);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : "?";
}

static void check_runtime(struct findings *findings, const json_t *engine)
{
	const char *wanted = arg_runtime ? arg_runtime : text_of(engine, "runtime");
	char others[512] = "";
	size_t i, len = 0;
	json_t *name;
	int known = 0;

	json_array_foreach (json_object_get(engine, "runtimes"), i, name) {
		if (strcmp(json_string_value(name), wanted) == 0)
			known = 1;
		else if (len < sizeof(others))
			len += (size_t)snprintf(others + len, sizeof(others) - len, "%s %s",
				len ? "," : "; also:", json_string_value(name));
	}
	if (known || !arg_runtime)
		findings_add(findings, FINDING_OK, "runtime", NULL, "%s%s", wanted, others);
	else
		findings_add(findings, FINDING_FAIL, "runtime",
			"register it with the engine, or leave --runtime out",
			"the engine has no runtime '%s'%s", wanted, others);
}

static void check_cgroup(struct findings *findings, const json_t *engine)
{
	int version = (int)json_integer_value(json_object_get(engine, "cgroup_version"));
	int rootless = json_is_true(json_object_get(engine, "rootless"));
	const char *mode = rootless ? "rootless" : "rootful";

	if (json_is_false(json_object_get(engine, "limits_work")))
		findings_add(findings, FINDING_WARN, "cgroup",
			"boot with cgroup version 2 (systemd.unified_cgroup_hierarchy=1), "
			"or "
			"use a rootful engine",
			"version %d, %s: the engine drops limits on memory and processes",
			version, mode);
	else if (version == 0)
		findings_add(findings, FINDING_WARN, "cgroup", NULL,
			"the engine does not say which version, %s", mode);
	else
		findings_add(findings, FINDING_OK, "cgroup", NULL, "version %d, %s",
			version, mode);
}

static void check_host(struct findings *findings, const json_t *engine)
{
	json_int_t memory = json_integer_value(json_object_get(engine, "memory_bytes"));

	findings_add(findings, FINDING_OK, "host", NULL,
		"%s, kernel %s, %s, %" JSON_INTEGER_FORMAT " CPUs, %.1f GiB",
		text_of(engine, "os"), text_of(engine, "kernel"),
		text_of(engine, "architecture"),
		json_integer_value(json_object_get(engine, "cpus")),
		(double)memory / (1 << 30));
}

static void add_warnings(struct findings *findings, const char *check, const char *advice,
	const json_t *owner)
{
	json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(owner, "warnings"), i, warning) {
		if (json_is_string(warning))
			findings_add(findings, FINDING_WARN, check, advice, "%s",
				json_string_value(warning));
	}
}

static void check_engine(struct findings *findings, sandcell_engine *engine)
{
	sandcell_error *err = NULL;
	char *text = NULL;
	json_t *info;

	if (sandcell_engine_describe(engine, &text, &err) < 0) {
		add_error(findings, "engine", "look at the engine's log", err);
		return;
	}
	info = json_loads(text, 0, NULL);
	sandcell_string_free(text);
	findings_add(findings, FINDING_OK, "engine", NULL,
		"%s %s at %s, found by %s, API %s", text_of(info, "kind"),
		text_of(info, "version"), text_of(info, "host"), text_of(info, "source"),
		text_of(info, "api_version"));
	check_host(findings, info);
	check_runtime(findings, info);
	check_cgroup(findings, info);
	add_warnings(findings, "engine", NULL, info);
	json_decref(info);
}

/* "memory 2048 MiB", or "memory none" when the container has no such limit. */
static size_t put_limit(char *out, size_t max, const char *name, const json_t *value,
	json_int_t unit, const char *unit_name)
{
	int len;

	if (json_is_integer(value))
		len = snprintf(out, max, "%s %" JSON_INTEGER_FORMAT "%s", name,
			json_integer_value(value) / unit, unit_name);
	else
		len = snprintf(out, max, "%s none", name);
	return len < 0 || (size_t)len >= max ? 0 : (size_t)len;
}

static void check_limits(struct findings *findings, const json_t *session)
{
	const json_t *limits =
		json_object_get(json_object_get(session, "limits"), "in_force");
	static const struct {
		const char *key, *name;
		json_int_t unit;
		const char *unit_name;
	} rows[] = {
		{"memory_bytes", "memory", 1 << 20, " MiB"},
		{"swap_bytes", ", swap", 1 << 20, " MiB"},
		{"pids", ", pids", 1, ""},
		{"cpu_millis", ", cpu", 1, "/1000"},
		{"nofile", ", open files", 1, ""},
	};
	char text[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		len += put_limit(text + len, sizeof(text) - len, rows[i].name,
			json_object_get(limits, rows[i].key), rows[i].unit,
			rows[i].unit_name);
	findings_add(findings, FINDING_OK, "limits", NULL, "read back inside: %s", text);
	add_warnings(findings, "limits",
		"--strict-limits makes this an error; see also the line 'cgroup'", session);
}

/* One finding for all that holds, and one for each that does not. */
static void judge_isolation(struct findings *findings, const json_t *facts)
{
	char good[256] = "";
	size_t len = 0;
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)facts, name, value) {
		if (!json_is_true(value))
			findings_add(findings, FINDING_FAIL, "isolation",
				"do not run unreviewed code on this engine",
				"not in force: %s", name);
		else if (len < sizeof(good))
			len += (size_t)snprintf(good + len, sizeof(good) - len, "%s%s",
				len ? ", " : "", name);
	}
	if (len > 0)
		findings_add(findings, FINDING_OK, "isolation", NULL, "%s", good);
}

static void check_isolation(struct findings *findings, sandcell_session *session)
{
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;
	sandcell_output_kind kind = SANDCELL_OUTPUT_NONE;
	const char *output, *error;
	json_t *facts = NULL;

	cli_signals_watch(session);
	if (sandcell_execute(session, probe, sizeof(probe) - 1, NULL, &result, &err) < 0) {
		cli_signals_watch(NULL);
		add_error(findings, "execute", "run it again with --verbose", err);
		return;
	}
	cli_signals_watch(NULL);
	output = sandcell_result_get_output(result, &kind);
	if (kind == SANDCELL_OUTPUT_JSON)
		facts = json_loads(output, 0, NULL);
	error = sandcell_result_get_error(result);
	if (json_object_size(facts) > 0)
		judge_isolation(findings, facts);
	else if (!cli_signals_caught())
		findings_add(findings, FINDING_FAIL, "execute",
			"run it again with --verbose",
			"the trial code did not end well: %s", error ? error : "no value");
	json_decref(facts);
	sandcell_result_free(result);
}

static void check_close(struct findings *findings, sandcell_session *session)
{
	sandcell_error *err = NULL;
	struct timespec start;

	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	if (sandcell_session_close(session, &err) < 0) {
		add_error(findings, "close", "look at the engine's log", err);
		return;
	}
	findings_add(findings, FINDING_OK, "close", NULL, "container removed in %.0f ms",
		milliseconds_since(&start));
}

static void check_session(struct findings *findings, sandcell_engine *engine)
{
	sandcell_session_options how = SANDCELL_SESSION_OPTIONS_INIT;
	sandcell_session *session = NULL;
	sandcell_error *err = NULL;
	struct timespec start;
	json_t *granted;
	int rc;

	how.image = arg_image;
	how.runtime = arg_runtime;
	how.on_wait = cli_signals_stop;
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	rc = sandcell_session_open(engine, &how, &session, &err);
	if (rc < 0) {
		add_error(findings, rc == SANDCELL_E_NOTFOUND ? "image" : "session",
			rc == SANDCELL_E_NOTFOUND ? NULL : "run it again with --verbose",
			err);
		return;
	}
	granted = json_loads(sandcell_session_get_json(session), 0, NULL);
	findings_add(findings, FINDING_OK, "session", NULL,
		"opened in %.0f ms: image %s, Python %s, user %s",
		milliseconds_since(&start), text_of(granted, "image"),
		text_of(granted, "python"), text_of(granted, "user"));
	check_limits(findings, granted);
	json_decref(granted);
	check_isolation(findings, session);
	check_close(findings, session);
	sandcell_session_free(session);
}

static int cmd_doctor(const struct cli_context *context)
{
	struct findings findings = {.json = arg_json};
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	(void)context;
	if (connect_engine(&engine, &err) < 0) {
		add_error(&findings, "engine",
			"start one (dockerd, podman system service), or name it: --host "
			"URL",
			err);
	} else {
		check_engine(&findings, engine);
		check_session(&findings, engine);
	}
	sandcell_engine_free(engine);
	if (cli_signals_caught())
		return cli_exit_code_of_signal(cli_signals_caught());
	return findings.count[FINDING_FAIL] ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

const struct cli_command command_doctor = {
	.name = "doctor",
	.summary = "Find the engine and check what it grants",
	.forms = forms,
	.options = options,
	.fn = cmd_doctor,
};
