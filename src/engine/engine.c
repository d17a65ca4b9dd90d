/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "engine/engine_impl.h"
#include "engine/find.h"
#include "engine/http.h"

#define CONNECT_MS_DEFAULT 5000
#define REQUEST_MS_DEFAULT 60000

/* Docker 20.10 to Docker 29; all requests of this library exist in the whole range. */
#define API_MINOR_MIN 41
#define API_MINOR_MAX 52

static void init_libraries(void)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	json_object_seed(0);
}

sandcell_engine *sc_engine_new(const sandcell_engine_options *opts)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sandcell_engine *engine = NULL;

	(void)pthread_once(&once, init_libraries);
	engine = sc_calloc(1, sizeof(*engine));
	if (!engine)
		return NULL;
	(void)pthread_mutex_init(&engine->lock, NULL);
	engine->opener = getpid();
	engine->quirks = &sc_quirks_docker;
	engine->log = (sc_log){.fn = opts->on_log, .user = opts->log_user};
	engine->connect_ms =
		opts->connect_timeout_ms ? opts->connect_timeout_ms : CONNECT_MS_DEFAULT;
	engine->request_ms =
		opts->request_timeout_ms ? opts->request_timeout_ms : REQUEST_MS_DEFAULT;
	return engine;
}

static void engine_freep(sandcell_engine **engine)
{
	sc_engine_free(*engine);
}

void sc_engine_free(sandcell_engine *engine)
{
	if (!engine)
		return;
	/* In a forked child the connections are the parent's: closing TLS would end them.
	 */
	for (size_t i = 0; engine->opener == getpid() && i < engine->idle_count; i++)
		curl_easy_cleanup(engine->idle[i]);
	sc_info_cache_free(engine->info);
	(void)pthread_mutex_destroy(&engine->lock);
	sc_address_clear(&engine->address);
	sc_tls_clear(&engine->tls);
	sc_free(engine->base);
	sc_free(engine->source);
	sc_free(engine);
}

int sc_engine_check_owner(const sandcell_engine *engine, sandcell_error **err_out)
{
	if (engine->opener == getpid())
		return 0;
	return sc_fail(err_out, SANDCELL_E_INVAL,
		"the engine was opened by another process; open one after fork");
}

/* "1.41": the minor number; false for anything else. */
static bool parse_api(const char *text, uint32_t *minor_out)
{
	uint64_t minor = 0;

	if (strncmp(text, "1.", 2) != 0 || !sc_parse_u64(text + 2, 9999, &minor))
		return false;
	*minor_out = (uint32_t)minor;
	return true;
}

/* The oldest version that the engine still speaks; 0 when it does not say. */
static int ask_minimum(sandcell_engine *engine, sc_deadline deadline, uint32_t *minor_out,
	sandcell_error **err_out)
{
	const struct sc_http_request request = {
		.path = "/version",
		.unversioned = true,
		.deadline = deadline,
	};
	sc_autojson *root = NULL;
	int rc;

	rc = sc_http_call_json(engine, &request, &root, err_out);
	if (rc < 0)
		return rc;
	if (!parse_api(sc_json_get_str(root, "MinAPIVersion", ""), minor_out))
		*minor_out = 0;
	return 0;
}

static int choose_version(sandcell_engine *engine, uint32_t theirs, sc_deadline deadline,
	sandcell_error **err_out)
{
	const char *forced = secure_getenv("SANDCELL_API_VERSION");
	uint32_t ours = theirs < API_MINOR_MAX ? theirs : API_MINOR_MAX;
	uint32_t minimum = 0;
	int rc;

	if (theirs < API_MINOR_MIN)
		return sc_fail(err_out, SANDCELL_E_ENGINE,
			"API too old: it speaks up to 1.%u, 1.%u is needed (Docker 20.10, "
			"Podman 4)",
			theirs, API_MINOR_MIN);
	if (forced && forced[0] && !parse_api(forced, &ours))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"SANDCELL_API_VERSION '%s' is not like '1.41'", forced);
	if ((forced && forced[0]) || theirs > API_MINOR_MAX) {
		rc = ask_minimum(engine, deadline, &minimum, err_out);
		if (rc < 0)
			return rc;
	}
	if (ours < minimum || ours > theirs)
		return sc_fail(err_out, SANDCELL_E_ENGINE,
			"API version 1.%u is not spoken by it, only 1.%u to 1.%u", ours,
			minimum, theirs);
	engine->api_minor = ours;
	(void)snprintf(engine->api_version, sizeof(engine->api_version), "1.%u", ours);
	return 0;
}

static void note_clock(sandcell_engine *engine, int64_t date_s)
{
	int64_t now_ns = (int64_t)sc_wall_now_ns();
	int64_t skew_ns = date_s * (int64_t)SC_SEC_IN_NS - now_ns;

	/* The header has whole seconds: less than two apart means the same clock. */
	if (date_s > 0 && (skew_ns > 2 * (int64_t)SC_SEC_IN_NS ||
				  skew_ns < -2 * (int64_t)SC_SEC_IN_NS))
		engine->skew_ns = skew_ns;
}

/* Is there an engine, which one, and what does it speak? */
int sc_engine_negotiate(
	sandcell_engine *engine, sc_deadline deadline, sandcell_error **err_out)
{
	const struct sc_http_request request = {
		.path = "/_ping",
		.unversioned = true,
		.body_max = SC_MAX_ERROR_BODY,
		.deadline = deadline,
	};
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	uint32_t theirs = 0;
	int rc;

	rc = sc_http_call(engine, &request, &reply, err_out);
	if (rc < 0)
		return rc;
	if (!reply.api_version[0])
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"not an engine: its answer to /_ping has no Api-Version");
	if (!parse_api(reply.api_version, &theirs))
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"not an engine: its Api-Version is '%s'", reply.api_version);
	engine->quirks = reply.libpod_version[0] ? &sc_quirks_podman : &sc_quirks_docker;
	note_clock(engine, reply.date_s);
	return choose_version(engine, theirs, deadline, err_out);
}

int sc_engine_open(const sandcell_engine_options *opts, sandcell_engine **engine_out,
	sandcell_error **err_out)
{
	SANDCELL_CLEANUP(engine_freep) sandcell_engine *engine = sc_engine_new(opts);
	int rc;

	if (!engine)
		return sc_fail_nomem(err_out);
	rc = sc_engine_find(engine, opts->host, err_out);
	if (rc < 0)
		return rc;
	sc_log_line(&engine->log, "engine %s at %s (%s), API %s", engine->quirks->name,
		engine->address.text, engine->source, engine->api_version);
	*engine_out = SANDCELL_TAKE(engine);
	return 0;
}

const char *sc_engine_host(const sandcell_engine *engine)
{
	return engine->address.text;
}

const char *sc_engine_source(const sandcell_engine *engine)
{
	return engine->source;
}

const char *sc_engine_kind(const sandcell_engine *engine)
{
	return engine->quirks->name;
}

const char *sc_engine_api_version(const sandcell_engine *engine)
{
	return engine->api_version;
}

bool sc_engine_speaks(const sandcell_engine *engine, uint32_t minor)
{
	return engine->api_minor >= minor;
}

const struct sc_quirks *sc_engine_quirks(const sandcell_engine *engine)
{
	return engine->quirks;
}

const char *sc_engine_socket_path(const sandcell_engine *engine)
{
	return engine->address.scheme == SC_SCHEME_UNIX ? engine->address.path : NULL;
}

bool sc_engine_is_remote(const sandcell_engine *engine)
{
	return engine->address.scheme != SC_SCHEME_UNIX;
}

const sc_log *sc_engine_log(const sandcell_engine *engine)
{
	return &engine->log;
}

uint64_t sc_engine_wall_now_ns(const sandcell_engine *engine)
{
	return sc_wall_now_ns() + (uint64_t)engine->skew_ns;
}

sc_deadline sc_engine_request_deadline(const sandcell_engine *engine)
{
	return sc_deadline_in_ms(engine->request_ms);
}
