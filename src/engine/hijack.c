/* SPDX-License-Identifier: MIT */
#include "engine/hijack.h"

#include <inttypes.h>
#include <string.h>

#include "base/fd.h"
#include "engine/dial.h"
#include "engine/engine_impl.h"
#include "engine/http.h"
#include "engine/stream_impl.h"

#define PIECE ((size_t)4096)

/* Waits until the stream can be read (or written); SANDCELL_E_TIMEOUT otherwise. */
static int wait_for(
	sc_stream *stream, int want_write, sc_deadline deadline, sandcell_error **err_out)
{
	int rc = sc_fd_wait(sc_stream_fd(stream), sc_stream_events(stream, want_write),
		deadline, err_out);

	if (rc != 0)
		return rc;
	return sc_fail(err_out, SANDCELL_E_TIMEOUT,
		"timed out waiting for the engine to hand over the connection");
}

static int lost(const sc_stream *stream, sandcell_error **err_out)
{
	sc_autobuf complaint = SC_BUF_INIT(SC_MAX_URL);

	sc_stream_complaint(stream, &complaint);
	return sc_fail(err_out, SANDCELL_E_CONNECT,
		"the engine closed the connection before its answer was complete%s%s",
		complaint.len > 0 ? ": " : "", sc_buf_text(&complaint));
}

static int send_request(sc_stream *stream, const sc_buf *request, sc_deadline deadline,
	sandcell_error **err_out)
{
	const char *at = request->data;
	size_t left = request->len;
	size_t n = 0;
	int rc;

	while (left > 0) {
		rc = sc_stream_write(stream, at, left, &n, err_out);
		if (rc == SC_STREAM_AGAIN)
			rc = wait_for(stream, 1, deadline, err_out);
		else if (rc == SC_STREAM_END)
			return 0; /* it may have answered before it closed: read on */
		if (rc < 0)
			return rc;
		at += n;
		left -= n;
	}
	return 0;
}

/* Appends what comes next; 0 at the end of the stream, 1 otherwise. */
static int read_more(
	sc_stream *stream, sc_buf *buf, sc_deadline deadline, sandcell_error **err_out)
{
	char piece[PIECE];
	size_t n = 0;
	int rc;

	for (;;) {
		rc = sc_stream_read(stream, piece, sizeof(piece), &n, err_out);
		if (rc == SC_STREAM_END)
			return 0;
		if (rc == SC_STREAM_DATA)
			break;
		if (rc == SC_STREAM_AGAIN)
			rc = wait_for(stream, 0, deadline, err_out);
		if (rc < 0)
			return rc;
	}
	(void)sc_buf_append(buf, piece, n);
	rc = sc_buf_check(buf, err_out, "reply");
	return rc < 0 ? rc : 1;
}

/* Reads the head, skipping interim ones; gives the rest back to the stream. */
static int read_head(sc_stream *stream, sc_deadline deadline, struct sc_http_head *head,
	sandcell_error **err_out)
{
	sc_autobuf buf = SC_BUF_INIT(SC_MAX_HTTP_HEAD + PIECE);
	int rc = 0;

	for (;;) {
		rc = sc_http_head_parse(sc_buf_text(&buf), buf.len, head, err_out);
		if (rc < 0)
			return rc;
		if (rc == 1 && (head->status >= 200 || head->status == 101))
			break;
		if (rc == 1) {
			sc_buf_consume(&buf, head->size);
			continue;
		}
		rc = read_more(stream, &buf, deadline, err_out);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return lost(stream, err_out);
	}
	sc_stream_set_body(stream, head);
	if (buf.len == head->size)
		return 0;
	return sc_stream_unread(
		stream, buf.data + head->size, buf.len - head->size, err_out);
}

static int refused(sandcell_engine *engine, sc_stream *stream, int status,
	sc_deadline deadline, sandcell_error **err_out)
{
	sc_autobuf body = SC_BUF_INIT(SC_MAX_ERROR_BODY);
	int rc;

	if (status < 400)
		return sc_fail_http(err_out, SANDCELL_E_PROTOCOL, status,
			"unexpected HTTP status %d instead of a stream", status);
	/* An explanation cut short is better than none. */
	do {
		rc = read_more(stream, &body, deadline, NULL);
	} while (rc == 1);
	return sc_http_refusal(
		engine->quirks, status, sc_buf_text(&body), body.len, err_out);
}

static int put_request(sandcell_engine *engine, const char *path, const json_t *json,
	sc_buf *request, sandcell_error **err_out)
{
	sc_autobuf body = SC_BUF_INIT(SC_MAX_HTTP_BODY);
	int rc;

	if (json) {
		rc = sc_json_dump(json, &body, err_out);
		if (rc < 0)
			return rc;
	}
	(void)sc_buf_printf(request,
		"POST /v%s%s HTTP/1.1\r\n"
		"Host: %s\r\n"
		"User-Agent: sandcell\r\n"
		"Content-Type: application/json\r\n"
		"Connection: Upgrade\r\n"
		"Upgrade: tcp\r\n"
		"Content-Length: %zu\r\n\r\n",
		engine->api_version, path, sc_dial_host(engine), body.len);
	(void)sc_buf_append(request, sc_buf_text(&body), body.len);
	return sc_buf_check(request, err_out, "request");
}

static int converse(sandcell_engine *engine, const char *path, const json_t *json,
	sc_deadline deadline, sc_stream **stream_out, int *status_out,
	sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_stream_freep) sc_stream *stream = NULL;
	sc_autobuf request = SC_BUF_INIT(SC_MAX_HTTP_BODY + SC_MAX_HTTP_HEAD);
	struct sc_http_head head = {0};
	int rc;

	rc = put_request(engine, path, json, &request, err_out);
	if (rc < 0)
		return rc;
	rc = sc_dial_stream(engine, deadline, &stream, err_out);
	if (rc < 0)
		return rc;
	rc = send_request(stream, &request, deadline, err_out);
	if (rc < 0)
		return rc;
	rc = read_head(stream, deadline, &head, err_out);
	if (rc < 0)
		return rc;
	*status_out = head.status;
	if (head.status != 101 && head.status != 200)
		return refused(engine, stream, head.status, deadline, err_out);
	*stream_out = SANDCELL_TAKE(stream);
	return 0;
}

int sc_hijack(sandcell_engine *engine, const char *path, const json_t *json,
	sc_deadline deadline, sc_stream **stream_out, sandcell_error **err_out)
{
	uint64_t began_ns = sc_now_ns();
	int status = 0;
	int rc;

	rc = sc_engine_check_owner(engine, err_out);
	if (rc < 0)
		return rc;
	deadline = sc_deadline_min(deadline, sc_engine_request_deadline(engine));
	rc = converse(engine, path, json, deadline, stream_out, &status, err_out);
	sc_log_line(&engine->log, "POST %.*s -> %d in %" PRIu64 " ms (stream)",
		(int)strcspn(path, "?"), path, status,
		(sc_now_ns() - began_ns) / SC_MS_IN_NS);
	return rc;
}
