/* SPDX-License-Identifier: MIT */
#include "engine/http.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/dial.h"
#include "engine/engine_impl.h"
#include "sandcell/version.h"

#define EXCERPT_MAX 200
#define NO_STATUS   0

/* One request on its way. */
struct transfer {
	sandcell_engine *engine;
	const struct sc_http_request *request;
	struct sc_http_reply *reply;
	CURL *curl;
	struct sc_dialing dialing;
	sc_deadline head_deadline; /* of the first byte of the reply */
	uint64_t began_ns;
	int rc; /* why a callback aborted; 0: it did not */
	bool head_seen;
	bool error_full; /* enough of an error's body was read */
	char why[CURL_ERROR_SIZE];
};

static void slist_freep(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}

#define sc_autoslist SANDCELL_CLEANUP(slist_freep) struct curl_slist

void sc_http_reply_clear(struct sc_http_reply *reply)
{
	sc_buf_clear(&reply->body);
}

/* ---- the pool of handles ---- */

static CURL *handle_take(sandcell_engine *engine)
{
	CURL *curl = NULL;

	(void)pthread_mutex_lock(&engine->lock);
	if (engine->idle_count > 0)
		curl = engine->idle[--engine->idle_count];
	(void)pthread_mutex_unlock(&engine->lock);
	return curl;
}

static void handle_put(sandcell_engine *engine, CURL *curl)
{
	/* Forgets every pointer of ours; the connection stays open. */
	curl_easy_reset(curl);
	(void)pthread_mutex_lock(&engine->lock);
	if (engine->idle_count < SC_ENGINE_IDLE_MAX) {
		engine->idle[engine->idle_count++] = curl;
		curl = NULL;
	}
	(void)pthread_mutex_unlock(&engine->lock);
	curl_easy_cleanup(curl);
}

void sc_http_close_idle(sandcell_engine *engine)
{
	struct sc_sigpipe guard;

	sc_sigpipe_hold(&guard);
	for (CURL *curl = handle_take(engine); curl; curl = handle_take(engine))
		curl_easy_cleanup(curl);
	sc_sigpipe_release(&guard);
}

/* ---- callbacks ---- */

static void copy_value(char *to, size_t size, const char *value, size_t len)
{
	if (len >= size)
		len = size - 1;
	memcpy(to, value, len);
	to[len] = '\0';
}

static void note_header(struct sc_http_reply *reply, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	const char *end = line + len;
	const char *value = colon ? colon + 1 : end;
	size_t name_len = colon ? (size_t)(colon - line) : 0;

	while (value < end && *value == ' ')
		value++;
	while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
		end--;
	len = (size_t)(end - value);
	if (name_len == 11 && strncasecmp(line, "Api-Version", 11) == 0)
		copy_value(reply->api_version, sizeof(reply->api_version), value, len);
	else if (name_len == 18 && strncasecmp(line, "Libpod-Api-Version", 18) == 0)
		copy_value(
			reply->libpod_version, sizeof(reply->libpod_version), value, len);
	else if (name_len == 6 && strncasecmp(line, "Server", 6) == 0)
		copy_value(reply->server, sizeof(reply->server), value, len);
	else if (name_len == 4 && strncasecmp(line, "Date", 4) == 0) {
		char date[64];
		copy_value(date, sizeof(date), value, len);
		time_t when = curl_getdate(date, NULL);
		reply->date_s = when > 0 ? (int64_t)when : 0;
	}
}

static size_t on_header(char *line, size_t size, size_t count, void *user)
{
	struct transfer *t = user;

	t->head_seen = true;
	note_header(t->reply, line, size * count);
	return size * count;
}

static int status_of(const struct transfer *t)
{
	long status = NO_STATUS;

	(void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
	struct transfer *t = user;
	size_t len = size * count;
	sc_buf *body = &t->reply->body;

	if (status_of(t) >= 400) {
		size_t room = SC_MAX_ERROR_BODY - body->len;
		t->error_full = len > room;
		t->rc = sc_buf_append(body, data, t->error_full ? room : len);
	} else if (t->request->write) {
		t->rc = t->request->write(data, len, t->request->user);
	} else {
		t->rc = sc_buf_append(body, data, len);
	}
	return t->rc < 0 || t->error_full ? 0 : len;
}

static size_t on_read(char *data, size_t size, size_t count, void *user)
{
	struct transfer *t = user;
	ptrdiff_t n = t->request->read(data, size * count, t->request->user);

	if (n >= 0)
		return (size_t)n;
	t->rc = (int)n;
	return CURL_READFUNC_ABORT;
}

static int on_progress(void *user, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal,
	curl_off_t ulnow)
{
	struct transfer *t = user;

	(void)dltotal;
	(void)dlnow;
	(void)ultotal;
	(void)ulnow;
	if (t->head_seen || !sc_deadline_passed(t->head_deadline))
		return 0;
	t->rc = SANDCELL_E_TIMEOUT;
	return 1;
}

/* ---- one transfer ---- */

static const char *method_of(const struct sc_http_request *request)
{
	return request->method ? request->method : "GET";
}

static int put_url(struct transfer *t, sandcell_error **err_out)
{
	sc_autobuf url = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	(void)sc_buf_puts(&url, t->engine->base);
	if (!t->request->unversioned)
		(void)sc_buf_printf(&url, "/v%s", t->engine->api_version);
	(void)sc_buf_puts(&url, t->request->path);
	rc = sc_buf_check(&url, err_out, "request path");
	if (rc < 0)
		return rc;
	if (curl_easy_setopt(t->curl, CURLOPT_URL, sc_buf_text(&url)) != CURLE_OK)
		return sc_fail_nomem(err_out);
	return 0;
}

static int put_body(struct transfer *t, const sc_buf *json, struct curl_slist **headers,
	sandcell_error **err_out)
{
	const struct sc_http_request *request = t->request;
	const char *type = request->read ? "Content-Type: application/x-tar"
					 : "Content-Type: application/json";
	bool post = strcmp(method_of(request), "POST") == 0;

	if (post) {
		(void)curl_easy_setopt(t->curl, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(
			t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)json->len);
		(void)curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS, sc_buf_text(json));
		(void)curl_easy_setopt(t->curl, CURLOPT_FRESH_CONNECT, 1L);
	}
	if (request->read) {
		/* A length of -1 with a read function is sent in chunks. */
		(void)curl_easy_setopt(
			t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
		(void)curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS, NULL);
		(void)curl_easy_setopt(t->curl, CURLOPT_READFUNCTION, on_read);
		(void)curl_easy_setopt(t->curl, CURLOPT_READDATA, t);
	}
	(void)curl_easy_setopt(t->curl, CURLOPT_CUSTOMREQUEST, method_of(request));
	/* Expect costs a round trip and Podman 4 never answers it. */
	*headers = curl_slist_append(NULL, "Expect:");
	struct curl_slist *more =
		*headers && post ? curl_slist_append(*headers, type) : *headers;
	if (!more)
		return sc_fail_nomem(err_out);
	(void)curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, *headers);
	return 0;
}

static void put_rules(CURL *curl)
{
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	(void)curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	(void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(curl, CURLOPT_MAXCONNECTS, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
	(void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	(void)curl_easy_setopt(
		curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	(void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "sandcell");
}

/* The reply's head within one request timeout, and its body within another. */
static int put_deadlines(struct transfer *t, sandcell_error **err_out)
{
	const struct sc_http_request *request = t->request;
	sc_deadline total = request->deadline;
	long connect_ms = (long)t->engine->connect_ms;

	t->head_deadline = request->deadline;
	if (!request->slow) {
		t->head_deadline = sc_deadline_min(
			t->head_deadline, sc_engine_request_deadline(t->engine));
		total = sc_deadline_min(
			total, sc_deadline_in_ms(2 * (uint64_t)t->engine->request_ms));
	}
	if (sc_deadline_passed(total))
		return sc_fail(err_out, SANDCELL_E_TIMEOUT, "timed out before %s %s",
			method_of(request), request->path);
	/* 0 would mean no limit; -1 is ours for never. */
	long left_ms = sc_deadline_left_ms(total);
	if (left_ms >= 0)
		(void)curl_easy_setopt(
			t->curl, CURLOPT_TIMEOUT_MS, left_ms > 0 ? left_ms : 1L);
	(void)curl_easy_setopt(t->curl, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	(void)curl_easy_setopt(t->curl, CURLOPT_NOPROGRESS, 0L);
	(void)curl_easy_setopt(t->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	(void)curl_easy_setopt(t->curl, CURLOPT_XFERINFODATA, t);
	return 0;
}

static void put_callbacks(struct transfer *t)
{
	(void)curl_easy_setopt(t->curl, CURLOPT_ERRORBUFFER, t->why);
	(void)curl_easy_setopt(t->curl, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(t->curl, CURLOPT_HEADERDATA, t);
	(void)curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
}

/* What a broken transfer means to the caller. */
static int code_of(const struct transfer *t, CURLcode code)
{
	if (t->rc < 0)
		return t->rc;
	if (t->dialing.why)
		return SANDCELL_E_CONNECT;
	switch (code) {
	case CURLE_OUT_OF_MEMORY:
		return SANDCELL_E_NOMEM;
	case CURLE_OPERATION_TIMEDOUT:
		return SANDCELL_E_TIMEOUT;
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_PEER_FAILED_VERIFICATION:
		return SANDCELL_E_CONNECT;
	default:
		return SANDCELL_E_PROTOCOL;
	}
}

/* The connection was there, and then it was not. */
static bool was_lost(CURLcode code)
{
	return code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR ||
	       code == CURLE_RECV_ERROR || code == CURLE_PARTIAL_FILE;
}

static int report(const struct transfer *t, CURLcode code, sandcell_error **err_out)
{
	const char *method = method_of(t->request);
	const char *path = t->request->path;
	const char *why = t->why[0] ? t->why : curl_easy_strerror(code);
	int path_len = (int)strcspn(path, "?");
	sc_autobuf complaint = SC_BUF_INIT(SC_MAX_URL);
	int rc = code_of(t, code);

	if (rc == SANDCELL_E_NOMEM)
		return sc_fail_nomem(err_out);
	if (rc == SANDCELL_E_TIMEOUT)
		return sc_fail(err_out, rc, "timed out after %" PRIu64 " ms: %s %.*s",
			(sc_now_ns() - t->began_ns) / SC_MS_IN_NS, method, path_len, path);
	if (rc == SANDCELL_E_LIMIT)
		return sc_fail(err_out, rc, "the reply to %s %.*s is longer than %zu bytes",
			method, path_len, path, t->reply->body.max);
	if (t->rc < 0)
		return sc_fail(err_out, rc, "%s %.*s was stopped", method, path_len, path);
	sc_dial_complaint(&t->dialing, &complaint);
	if (complaint.len > 0)
		why = sc_buf_text(&complaint);
	return sc_fail(err_out, rc, "%s%s %.*s: %s",
		was_lost(code) ? "the engine closed the connection during " : "", method,
		path_len, path, why);
}

static void log_transfer(const struct transfer *t)
{
	const char *path = t->request->path;
	uint64_t us = (sc_now_ns() - t->began_ns) / 1000;

	sc_log_line(&t->engine->log, "%s %.*s -> %d in %" PRIu64 ".%" PRIu64 " ms",
		method_of(t->request), (int)strcspn(path, "?"), path, t->reply->status,
		us / 1000, us % 1000 / 100);
}

static int perform(struct transfer *t, const sc_buf *json, sandcell_error **err_out)
{
	sc_autoslist *headers = NULL;
	CURLcode code;
	int rc;

	put_rules(t->curl);
	put_callbacks(t);
	rc = sc_dial_setup(&t->dialing, t->curl, err_out);
	if (rc == 0)
		rc = put_url(t, err_out);
	if (rc == 0)
		rc = put_body(t, json, &headers, err_out);
	if (rc == 0)
		rc = put_deadlines(t, err_out);
	if (rc < 0)
		return rc;
	code = curl_easy_perform(t->curl);
	if (code == CURLE_COULDNT_CONNECT && sc_dial_revive(t->engine))
		code = curl_easy_perform(t->curl); /* nothing was sent before */
	t->reply->status = status_of(t);
	log_transfer(t);
	if (code != CURLE_OK && !t->error_full)
		return report(t, code, err_out);
	return 0;
}

int sc_http_send(sandcell_engine *engine, const struct sc_http_request *request,
	struct sc_http_reply *reply, sandcell_error **err_out)
{
	struct transfer t = {
		.engine = engine,
		.dialing = {.engine = engine},
		.request = request,
		.reply = reply,
		.began_ns = sc_now_ns(),
	};
	sc_autobuf json = SC_BUF_INIT(SC_MAX_HTTP_BODY);
	struct sc_sigpipe guard;
	int rc;

	rc = sc_engine_check_owner(engine, err_out);
	if (rc < 0)
		return rc;
	if (request->json) {
		rc = sc_json_dump(request->json, &json, err_out);
		if (rc < 0)
			return rc;
	}
	if (request->body_max)
		reply->body.max = request->body_max;
	t.curl = handle_take(engine);
	if (!t.curl)
		t.curl = curl_easy_init();
	if (!t.curl)
		return sc_fail_nomem(err_out);
	sc_sigpipe_hold(&guard);
	rc = perform(&t, &json, err_out);
	handle_put(engine, t.curl);
	sc_sigpipe_release(&guard);
	sandcell_error_free(t.dialing.why);
	return rc;
}

/* ---- what the engine answered ---- */

/* Status to code; what is not listed is SANDCELL_E_ENGINE. */
static const struct {
	int status;
	int code;
} refusals[] = {
	{404, SANDCELL_E_NOTFOUND},
	{409, SANDCELL_E_CONFLICT},
};

static int refusal_code(const struct sc_quirks *quirks, int status, const char *message)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (refusals[i].status == status)
			return refusals[i].code;
	}
	if (status < 500)
		return SANDCELL_E_ENGINE;
	if (sc_quirks_match(quirks->conflict_texts, message))
		return SANDCELL_E_CONFLICT;
	if (sc_quirks_match(quirks->notfound_texts, message))
		return SANDCELL_E_NOTFOUND;
	return SANDCELL_E_ENGINE;
}

int sc_http_refusal(const struct sc_quirks *quirks, int status, const char *body,
	size_t len, sandcell_error **err_out)
{
	sc_autojson *root = NULL;
	const char *message = NULL;
	int shown = len < EXCERPT_MAX ? (int)len : EXCERPT_MAX;

	(void)sc_json_parse(body, len, "error", &root, NULL);
	message = sc_json_get_str(root, "message", "");
	if (!message[0])
		message = sc_json_get_str(root, "cause", "");
	if (message[0])
		return sc_fail_http(err_out, refusal_code(quirks, status, message), status,
			"%s (HTTP %d)", message, status);
	if (shown > 0)
		return sc_fail_http(err_out, refusal_code(quirks, status, ""), status,
			"HTTP %d: %.*s", status, shown, body);
	return sc_fail_http(err_out, refusal_code(quirks, status, ""), status,
		"HTTP %d without an explanation", status);
}

int sc_http_call(sandcell_engine *engine, const struct sc_http_request *request,
	struct sc_http_reply *reply, sandcell_error **err_out)
{
	int rc = sc_http_send(engine, request, reply, err_out);

	if (rc < 0)
		return rc;
	if (reply->status >= 400)
		return sc_http_refusal(engine->quirks, reply->status,
			sc_buf_text(&reply->body), reply->body.len, err_out);
	if (reply->status < 200 || (reply->status > 299 && reply->status != 304))
		return sc_fail_http(err_out, SANDCELL_E_PROTOCOL, reply->status,
			"unexpected HTTP status %d", reply->status);
	return 0;
}

int sc_http_call_json(sandcell_engine *engine, const struct sc_http_request *request,
	json_t **root_out, sandcell_error **err_out)
{
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	int rc;

	rc = sc_http_call(engine, request, &reply, err_out);
	if (rc < 0)
		return rc;
	return sc_json_parse(sc_buf_text(&reply.body), reply.body.len, "engine reply",
		root_out, err_out);
}

/* Docker says null for an empty list; jansson takes that only when asked to. */
static bool is_null(const sc_buf *body)
{
	const char *text = sc_buf_text(body);

	return strncmp(text, "null", 4) == 0 &&
	       strspn(text + 4, " \t\r\n") == body->len - 4;
}

int sc_http_call_list(sandcell_engine *engine, const char *path, sc_deadline deadline,
	json_t **array_out, sandcell_error **err_out)
{
	const struct sc_http_request request = {.path = path, .deadline = deadline};
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	sc_autojson *root = NULL;
	int rc;

	rc = sc_http_call(engine, &request, &reply, err_out);
	if (rc < 0)
		return rc;
	if (is_null(&reply.body))
		rc = sc_json_parse("[]", 2, "empty list", &root, err_out);
	else
		rc = sc_json_parse(sc_buf_text(&reply.body), reply.body.len, "engine reply",
			&root, err_out);
	if (rc < 0)
		return rc;
	if (!json_is_array(root))
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"engine reply: an array was expected");
	*array_out = SANDCELL_TAKE(root);
	return 0;
}
