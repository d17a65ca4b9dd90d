/* SPDX-License-Identifier: MIT */
/*
 * The membrane: checks arguments, loads option structs, and hands on.  Nothing else sees a
 * caller's struct.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opts.h"
#include "engine/info.h"
#include "sandcell/sandcell.h"
#include "session/attach.h"
#include "session/checkpoint.h"
#include "session/execute.h"
#include "session/files.h"
#include "session/list.h"
#include "session/named.h"
#include "session/policy/policy.h"
#include "session/questions.h"
#include "session/reap.h"
#include "session/session.h"
#include "session/snapshot.h"

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

uint32_t sandcell_version(void)
{
	return (uint32_t)SANDCELL_VERSION_MAJOR << 16 | SANDCELL_VERSION_MINOR << 8 |
	       SANDCELL_VERSION_PATCH;
}

const char *sandcell_version_text(void)
{
	return STRING(SANDCELL_VERSION_MAJOR) "." STRING(SANDCELL_VERSION_MINOR) "." STRING(
		SANDCELL_VERSION_PATCH);
}

int sandcell_has_feature(const char *name)
{
	static const char *const features[] = {
		"execute", "execute_cli", "checkpoint", "snapshot", "files", "attach"};

	for (size_t i = 0; name && i < sizeof(features) / sizeof(features[0]); i++) {
		if (strcmp(name, features[i]) == 0)
			return 1;
	}
	return 0;
}

/*
 * A function fails with the codes that its comment lists, and with SANDCELL_E_FAIL.  Any
 * other one is a mistake of ours: found by the tests, and harmless in a release.
 */
#define CODE(code) (1u << -(code))

static int documented(int rc, unsigned codes, sandcell_error **err_out)
{
	if (rc >= 0 || (codes | CODE(SANDCELL_E_FAIL)) & CODE(rc))
		return rc;
	assert(!"a code that the header does not list");
	return sc_error_recode(err_out, SANDCELL_E_FAIL);
}

/* ---- engine ---- */

/* Size of an options struct in the first release that had it. */
#define ENGINE_OPTIONS_FIRST sizeof(sandcell_engine_options)

void sandcell_engine_options_init(sandcell_engine_options *opts, size_t size)
{
	memset(opts, 0, size);
	opts->struct_size = size;
}

int sandcell_engine_open(const sandcell_engine_options *opts, sandcell_engine **engine_out,
	sandcell_error **err_out)
{
	sandcell_engine_options mine;
	int rc;

	if (!engine_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "engine_out is NULL");
	rc = sc_opts_load(&mine, sizeof(mine), ENGINE_OPTIONS_FIRST, opts,
		"sandcell_engine_options", err_out);
	if (rc < 0)
		return rc;
	return sc_engine_open(&mine, engine_out, err_out);
}

const char *sandcell_engine_get_host(const sandcell_engine *engine)
{
	return sc_engine_host(engine);
}

const char *sandcell_engine_get_source(const sandcell_engine *engine)
{
	return sc_engine_source(engine);
}

const char *sandcell_engine_get_kind(const sandcell_engine *engine)
{
	return sc_engine_kind(engine);
}

const char *sandcell_engine_get_api_version(const sandcell_engine *engine)
{
	return sc_engine_api_version(engine);
}

int sandcell_engine_describe(
	sandcell_engine *engine, char **json_out, sandcell_error **err_out)
{
	if (!engine || !json_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "engine or json_out is NULL");
	return sc_engine_describe(engine, json_out, err_out);
}

void sandcell_engine_free(sandcell_engine *engine)
{
	sc_engine_free(engine);
}

void sandcell_string_free(char *text)
{
	sc_free(text);
}

/* ---- session ---- */

#define SESSION_OPTIONS_FIRST sizeof(sandcell_session_options)

void sandcell_session_options_init(sandcell_session_options *opts, size_t size)
{
	memset(opts, 0, size);
	opts->struct_size = size;
}

int sandcell_session_open(sandcell_engine *engine, const sandcell_session_options *opts,
	sandcell_session **session_out, sandcell_error **err_out)
{
	const unsigned codes = CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CONNECT) |
			       CODE(SANDCELL_E_NOTFOUND) | CODE(SANDCELL_E_CONFLICT) |
			       CODE(SANDCELL_E_ENGINE) | CODE(SANDCELL_E_PROTOCOL) |
			       CODE(SANDCELL_E_TIMEOUT) | CODE(SANDCELL_E_CALLBACK) |
			       CODE(SANDCELL_E_LIMIT) | CODE(SANDCELL_E_GONE) |
			       CODE(SANDCELL_E_NOMEM);
	sandcell_session_options mine;
	int rc;

	if (!engine || !session_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "engine or session_out is NULL");
	rc = sc_opts_load(&mine, sizeof(mine), SESSION_OPTIONS_FIRST, opts,
		"sandcell_session_options", err_out);
	if (rc == 0)
		rc = sc_session_open(engine, &mine, session_out, err_out);
	return documented(rc, codes, err_out);
}

const char *sandcell_session_get_container(const sandcell_session *session)
{
	return session->container;
}

const char *sandcell_session_get_name(const sandcell_session *session)
{
	return session->config.name;
}

const char *sandcell_session_get_json(const sandcell_session *session)
{
	return session->json;
}

int sandcell_reset(sandcell_session *session, sandcell_error **err_out)
{
	const unsigned codes = CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CLOSED) |
			       CODE(SANDCELL_E_BUSY) | CODE(SANDCELL_E_GONE) |
			       CODE(SANDCELL_E_TIMEOUT) | CODE(SANDCELL_E_PROTOCOL) |
			       CODE(SANDCELL_E_NOMEM);

	if (!session)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session is NULL");
	return documented(sc_session_reset(session, err_out), codes, err_out);
}

/* What the questions of inspect.h may return. */
#define QUESTION_CODES                                                                     \
	(CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CLOSED) | CODE(SANDCELL_E_BUSY) |        \
		CODE(SANDCELL_E_GONE) | CODE(SANDCELL_E_TIMEOUT) |                         \
		CODE(SANDCELL_E_PROTOCOL) | CODE(SANDCELL_E_NOMEM))

int sandcell_names(sandcell_session *session, char **json_out, sandcell_error **err_out)
{
	if (!session || !json_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session or json_out is NULL");
	return documented(sc_names(session, json_out, err_out), QUESTION_CODES, err_out);
}

int sandcell_history(sandcell_session *session, char **json_out, sandcell_error **err_out)
{
	if (!session || !json_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session or json_out is NULL");
	return documented(sc_history(session, json_out, err_out), QUESTION_CODES, err_out);
}

int sandcell_complete(sandcell_session *session, const char *code, size_t code_len,
	size_t cursor, char **json_out, sandcell_error **err_out)
{
	if (!session || !json_out || (!code && code_len > 0))
		return sc_fail(
			err_out, SANDCELL_E_INVAL, "session, code or json_out is NULL");
	return documented(
		sc_complete(session, code ? code : "", code_len, cursor, json_out, err_out),
		QUESTION_CODES, err_out);
}

void sandcell_interrupt(sandcell_session *session)
{
	if (session)
		sc_session_interrupt(session);
}

int sandcell_session_close(sandcell_session *session, sandcell_error **err_out)
{
	const unsigned codes = CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_BUSY) |
			       CODE(SANDCELL_E_CONNECT) | CODE(SANDCELL_E_ENGINE) |
			       CODE(SANDCELL_E_PROTOCOL) | CODE(SANDCELL_E_TIMEOUT) |
			       CODE(SANDCELL_E_NOMEM);

	if (!session)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session is NULL");
	return documented(sc_session_close(session, err_out), codes, err_out);
}

void sandcell_session_free(sandcell_session *session)
{
	sc_session_free(session);
}

/* ---- execute ---- */

#define EXECUTE_OPTIONS_FIRST sizeof(sandcell_execute_options)

void sandcell_execute_options_init(sandcell_execute_options *opts, size_t size)
{
	memset(opts, 0, size);
	opts->struct_size = size;
}

int sandcell_execute(sandcell_session *session, const char *code, size_t code_len,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	const unsigned codes = CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CLOSED) |
			       CODE(SANDCELL_E_BUSY) | CODE(SANDCELL_E_CALLBACK) |
			       CODE(SANDCELL_E_GONE) | CODE(SANDCELL_E_LIMIT) |
			       CODE(SANDCELL_E_NOMEM);
	sandcell_execute_options mine;
	int rc;

	if (!session || (!code && code_len > 0) || !result_out)
		return sc_fail(
			err_out, SANDCELL_E_INVAL, "session, code or result_out is NULL");
	rc = sc_opts_load(&mine, sizeof(mine), EXECUTE_OPTIONS_FIRST, opts,
		"sandcell_execute_options", err_out);
	if (rc == 0)
		rc = sc_execute(
			session, code ? code : "", code_len, &mine, result_out, err_out);
	return documented(rc, codes, err_out);
}

/* ---- commands ---- */

#define CLI_OPTIONS_FIRST sizeof(sandcell_cli_options)

void sandcell_cli_options_init(sandcell_cli_options *opts, size_t size)
{
	memset(opts, 0, size);
	opts->struct_size = size;
}

int sandcell_validate_cli_command(const char *command, uint32_t flags, char **message_out)
{
	if (!command)
		return SANDCELL_E_INVAL;
	return sc_policy_check(command, strlen(command), flags, NULL, message_out, NULL);
}

int sandcell_execute_cli(sandcell_session *session, const char *command,
	const sandcell_cli_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	const unsigned codes = CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CLOSED) |
			       CODE(SANDCELL_E_BUSY) | CODE(SANDCELL_E_CALLBACK) |
			       CODE(SANDCELL_E_GONE) | CODE(SANDCELL_E_LIMIT) |
			       CODE(SANDCELL_E_NOMEM);
	sandcell_cli_options mine;
	int rc;

	if (!session || !command || !result_out)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"session, command or result_out is NULL");
	rc = sc_opts_load(&mine, sizeof(mine), CLI_OPTIONS_FIRST, opts,
		"sandcell_cli_options", err_out);
	if (rc == 0)
		rc = sc_execute_cli(session, command, &mine, result_out, err_out);
	return documented(rc, codes, err_out);
}

/* ---- snapshots and checkpoints ---- */

#define SNAPSHOT_OPTIONS_FIRST sizeof(sandcell_snapshot_options)
#define SNAPSHOT_FLAGS                                                                     \
	(SANDCELL_SNAPSHOT_GZIP | SANDCELL_SNAPSHOT_PLAIN | SANDCELL_SNAPSHOT_FORCE)
#define SNAPSHOT_CODES                                                                     \
	(QUESTION_CODES | CODE(SANDCELL_E_CONFLICT) | CODE(SANDCELL_E_DATA) |              \
		CODE(SANDCELL_E_LIMIT))

void sandcell_snapshot_options_init(sandcell_snapshot_options *opts, size_t size)
{
	memset(opts, 0, size);
	opts->struct_size = size;
}

static int load_snapshot_options(sandcell_snapshot_options *mine,
	const sandcell_session *session, const char *path,
	const sandcell_snapshot_options *opts, sandcell_error **err_out)
{
	int rc;

	if (!session || !path || !path[0])
		return sc_fail(
			err_out, SANDCELL_E_INVAL, "session or path is NULL or empty");
	rc = sc_opts_load(mine, sizeof(*mine), SNAPSHOT_OPTIONS_FIRST, opts,
		"sandcell_snapshot_options", err_out);
	if (rc == 0 && (mine->flags & ~SNAPSHOT_FLAGS))
		rc = sc_fail(err_out, SANDCELL_E_INVAL, "unknown snapshot flags 0x%x",
			mine->flags);
	return rc;
}

int sandcell_snapshot_save(sandcell_session *session, const char *path,
	const sandcell_snapshot_options *opts, char **report_out, sandcell_error **err_out)
{
	sandcell_snapshot_options mine;
	int rc = load_snapshot_options(&mine, session, path, opts, err_out);

	if (rc == 0)
		rc = sc_snapshot_save(session, path, &mine, report_out, err_out);
	return documented(rc, SNAPSHOT_CODES, err_out);
}

int sandcell_snapshot_restore(sandcell_session *session, const char *path,
	const sandcell_snapshot_options *opts, char **report_out, sandcell_error **err_out)
{
	sandcell_snapshot_options mine;
	int rc = load_snapshot_options(&mine, session, path, opts, err_out);

	if (rc == 0)
		rc = sc_snapshot_restore(session, path, &mine, report_out, err_out);
	return documented(rc, SNAPSHOT_CODES, err_out);
}

int sandcell_snapshot_inspect(const char *path, char **json_out, sandcell_error **err_out)
{
	if (!path || !json_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "path or json_out is NULL");
	return documented(
		sc_snapshot_inspect(path, json_out, err_out), SNAPSHOT_CODES, err_out);
}

int sandcell_checkpoint(sandcell_session *session, uint64_t *id_out, char **report_out,
	sandcell_error **err_out)
{
	if (!session || !id_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session or id_out is NULL");
	return documented(sc_checkpoint(session, id_out, report_out, err_out),
		SNAPSHOT_CODES, err_out);
}

int sandcell_rollback(sandcell_session *session, uint64_t id, sandcell_error **err_out)
{
	if (!session)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session is NULL");
	return documented(sc_rollback(session, id, err_out), SNAPSHOT_CODES, err_out);
}

int sandcell_checkpoint_drop(
	sandcell_session *session, uint64_t id, sandcell_error **err_out)
{
	if (!session)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session is NULL");
	return documented(
		sc_checkpoint_drop(session, id, err_out), SNAPSHOT_CODES, err_out);
}

/* ---- files ---- */

int sandcell_put(sandcell_session *session, const char *path, const void *data, size_t len,
	sandcell_error **err_out)
{
	if (!session || !path || (!data && len > 0))
		return sc_fail(err_out, SANDCELL_E_INVAL, "session, path or data is NULL");
	return documented(
		sc_put(session, path, data, len, err_out), SNAPSHOT_CODES, err_out);
}

int sandcell_get(sandcell_session *session, const char *path, uint64_t max, char **data_out,
	size_t *len_out, sandcell_error **err_out)
{
	if (!session || !path || !data_out || !len_out)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"session, path, data_out or len_out is NULL");
	return documented(sc_get(session, path, max, data_out, len_out, err_out),
		SNAPSHOT_CODES, err_out);
}

/* ---- sessions of other processes ---- */

#define ATTACH_OPTIONS_FIRST sizeof(sandcell_attach_options)
#define ASK_CODES                                                                          \
	(CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CLOSED) | CODE(SANDCELL_E_BUSY) |        \
		CODE(SANDCELL_E_GONE) | CODE(SANDCELL_E_TIMEOUT) |                         \
		CODE(SANDCELL_E_PROTOCOL) | CODE(SANDCELL_E_NOMEM))

void sandcell_attach_options_init(sandcell_attach_options *opts, size_t size)
{
	memset(opts, 0, size);
	opts->struct_size = size;
}

int sandcell_session_attach(sandcell_engine *engine, const char *name,
	const sandcell_attach_options *opts, sandcell_session **session_out,
	sandcell_error **err_out)
{
	const unsigned codes = CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CONNECT) |
			       CODE(SANDCELL_E_NOTFOUND) | CODE(SANDCELL_E_ENGINE) |
			       CODE(SANDCELL_E_PROTOCOL) | CODE(SANDCELL_E_TIMEOUT) |
			       CODE(SANDCELL_E_CALLBACK) | CODE(SANDCELL_E_GONE) |
			       CODE(SANDCELL_E_CONFLICT) | CODE(SANDCELL_E_NOMEM);
	sandcell_attach_options mine;
	int rc;

	if (!engine || !name || !session_out)
		return sc_fail(
			err_out, SANDCELL_E_INVAL, "engine, name or session_out is NULL");
	rc = sc_opts_load(&mine, sizeof(mine), ATTACH_OPTIONS_FIRST, opts,
		"sandcell_attach_options", err_out);
	if (rc == 0)
		rc = sc_session_attach(engine, name, &mine, session_out, err_out);
	return documented(rc, codes, err_out);
}

int sandcell_session_detach(sandcell_session *session, sandcell_error **err_out)
{
	if (!session)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session is NULL");
	return documented(sc_session_detach(session, err_out),
		CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_BUSY), err_out);
}

int sandcell_session_set_lease(
	sandcell_session *session, uint32_t lease_ms, sandcell_error **err_out)
{
	if (!session || !lease_ms)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session is NULL or lease_ms 0");
	return documented(
		sc_session_set_lease(session, lease_ms, err_out), ASK_CODES, err_out);
}

int sandcell_session_stat(
	sandcell_session *session, char **json_out, sandcell_error **err_out)
{
	if (!session || !json_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session or json_out is NULL");
	return documented(sc_session_stat(session, json_out, err_out), ASK_CODES, err_out);
}

int sandcell_session_interrupt_all(
	sandcell_session *session, uint32_t *count_out, sandcell_error **err_out)
{
	if (!session)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session is NULL");
	return documented(
		sc_session_interrupt_all(session, count_out, err_out), ASK_CODES, err_out);
}

#define RUN_CODES                                                                          \
	(CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CLOSED) | CODE(SANDCELL_E_BUSY) |        \
		CODE(SANDCELL_E_CALLBACK) | CODE(SANDCELL_E_GONE) |                        \
		CODE(SANDCELL_E_LIMIT) | CODE(SANDCELL_E_NOMEM))

int sandcell_execute_detached(sandcell_session *session, const char *code, size_t code_len,
	const sandcell_execute_options *opts, uint64_t *call_id_out,
	sandcell_error **err_out)
{
	sandcell_execute_options mine;
	int rc;

	if (!session || (!code && code_len > 0) || !call_id_out)
		return sc_fail(
			err_out, SANDCELL_E_INVAL, "session, code or call_id_out is NULL");
	rc = sc_opts_load(&mine, sizeof(mine), EXECUTE_OPTIONS_FIRST, opts,
		"sandcell_execute_options", err_out);
	if (rc == 0)
		rc = sc_execute_detached(
			session, code ? code : "", code_len, &mine, call_id_out, err_out);
	return documented(rc, RUN_CODES, err_out);
}

int sandcell_fetch_result(sandcell_session *session, uint64_t call_id,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out)
{
	sandcell_execute_options mine;
	int rc;

	if (!session || !result_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "session or result_out is NULL");
	rc = sc_opts_load(&mine, sizeof(mine), EXECUTE_OPTIONS_FIRST, opts,
		"sandcell_execute_options", err_out);
	if (rc == 0)
		rc = sc_fetch_result(session, call_id, &mine, result_out, err_out);
	return documented(rc,
		RUN_CODES | CODE(SANDCELL_E_NOTFOUND) | CODE(SANDCELL_E_TIMEOUT), err_out);
}

/* ---- operators ---- */

int sandcell_list(sandcell_engine *engine, char **json_out, sandcell_error **err_out)
{
	const unsigned codes = CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CONNECT) |
			       CODE(SANDCELL_E_ENGINE) | CODE(SANDCELL_E_PROTOCOL) |
			       CODE(SANDCELL_E_TIMEOUT) | CODE(SANDCELL_E_NOMEM);

	if (!engine || !json_out)
		return sc_fail(err_out, SANDCELL_E_INVAL, "engine or json_out is NULL");
	return documented(sc_list(engine, json_out, err_out), codes, err_out);
}

int sandcell_reap(
	sandcell_engine *engine, uint32_t flags, char **json_out, sandcell_error **err_out)
{
	const unsigned codes = CODE(SANDCELL_E_INVAL) | CODE(SANDCELL_E_CONNECT) |
			       CODE(SANDCELL_E_ENGINE) | CODE(SANDCELL_E_PROTOCOL) |
			       CODE(SANDCELL_E_TIMEOUT) | CODE(SANDCELL_E_NOMEM);

	if (!engine || !json_out || flags & ~SANDCELL_REAP_DRY_RUN)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"engine or json_out is NULL, or unknown flags 0x%x", flags);
	return documented(sc_reap(engine, flags & SANDCELL_REAP_DRY_RUN, json_out, err_out),
		codes, err_out);
}
