/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_STREAM_IMPL_H
#define SC_ENGINE_STREAM_IMPL_H

/* How a stream is made; for the files of this folder only. */

#include <curl/curl.h>

#include "engine/http_head.h"
#include "engine/ssh.h"
#include "engine/stream.h"

/* These take the connection (a socket that does not block), on success only. */
int sc_stream_new(int fd, sc_stream **stream_out, sandcell_error **err_out);
int sc_stream_new_ssh(struct sc_ssh *ssh, sc_stream **stream_out, sandcell_error **err_out);
/* A handle that has connected with CURLOPT_CONNECT_ONLY: the way to TLS. */
int sc_stream_new_curl(CURL *curl, sc_stream **stream_out, sandcell_error **err_out);
/* What the ssh program behind the stream had to say; nothing without one. */
void sc_stream_complaint(const sc_stream *stream, sc_buf *text);
/* Puts bytes that were read too far in front of what comes. */
int sc_stream_unread(
	sc_stream *stream, const void *data, size_t len, sandcell_error **err_out);
/* The rest is a body: chunked, or of a length; otherwise it goes on until the end. */
void sc_stream_set_body(sc_stream *stream, const struct sc_http_head *head);

#endif
