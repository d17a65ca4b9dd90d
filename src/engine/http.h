/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_HTTP_H
#define SC_ENGINE_HTTP_H

/*
 * One request, one reply, over libcurl.  No redirects, proxies, cookies or netrc; bounded
 * bodies; a deadline on connecting, on the reply's head and on all of it.  A request that
 * changes something is never sent twice: such requests do not use a kept connection, as
 * libcurl would silently repeat them when it turns out to be stale.
 *
 * Logged: method, path, status, duration.  Never a body.
 */

#include "engine/engine.h"

/* Gives up to cap bytes of an upload: the count, 0 at its end, < 0 to abort. */
typedef ptrdiff_t (*sc_http_read_fn)(void *data, size_t cap, void *user);
/* Takes a piece of a successful reply's body; < 0 aborts, and is what the call returns. */
typedef int (*sc_http_write_fn)(const void *data, size_t len, void *user);

struct sc_http_request {
	const char *method;	/* NULL: GET */
	const char *path;	/* "/containers/json"; the version prefix is added */
	const json_t *json;	/* body; NULL: none */
	sc_http_read_fn read;	/* body as a stream (a tar); excludes json */
	sc_http_write_fn write; /* takes the body of a 2xx; NULL: collected in the reply */
	void *user;		/* for read and write */
	size_t body_max;	/* 0: SC_MAX_HTTP_BODY; only for collected bodies */
	sc_deadline deadline;
	bool slow;	  /* only the deadline counts, not the engine's request timeout */
	bool unversioned; /* path as it stands */
};

struct sc_http_reply {
	int status;
	sc_buf body;	      /* collected; of an error at most SC_MAX_ERROR_BODY */
	char api_version[16]; /* headers of /_ping; empty when absent */
	char libpod_version[32];
	char server[64];
	int64_t date_s; /* Date header; 0: absent */
};

#define SC_HTTP_REPLY_INIT                                                                 \
	{                                                                                  \
		.body = SC_BUF_INIT(SC_MAX_HTTP_BODY)                                      \
	}
#define sc_autoreply SANDCELL_CLEANUP(sc_http_reply_clear) struct sc_http_reply

/* 0 for whatever HTTP status came; a failure means that there was no whole reply. */
int sc_http_send(sandcell_engine *engine, const struct sc_http_request *request,
	struct sc_http_reply *reply, sandcell_error **err_out);
/* The same, and a status of 400 and more is a failure, see sc_http_refusal(). */
int sc_http_call(sandcell_engine *engine, const struct sc_http_request *request,
	struct sc_http_reply *reply, sandcell_error **err_out);
/* The same, and the body must be JSON. */
int sc_http_call_json(sandcell_engine *engine, const struct sc_http_request *request,
	json_t **root_out, sandcell_error **err_out);
/* GET path, whose answer must be an array; null is an empty one. */
int sc_http_call_list(sandcell_engine *engine, const char *path, sc_deadline deadline,
	json_t **array_out, sandcell_error **err_out);
/* Closes the connections that are kept for the next request. */
void sc_http_close_idle(sandcell_engine *engine);
void sc_http_reply_clear(struct sc_http_reply *reply);

/*
 * Makes the error for a refusal: 404 NOTFOUND, 409 CONFLICT, and by the quirks' texts what
 * the engine meant by 500; else ENGINE.  The message is the engine's own, in either form
 * ({"message"} or {"cause", "message", "response"}), or the status and the first bytes.
 */
int sc_http_refusal(const struct sc_quirks *quirks, int status, const char *body,
	size_t len, sandcell_error **err_out);

#endif
