/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_STREAM_IMPL_H
#define SC_ENGINE_STREAM_IMPL_H

/* How a stream is made; for the files of this folder only. */

#include "engine/http_head.h"
#include "engine/stream.h"

/* Takes the connected, non-blocking socket, on success only. */
int sc_stream_new(int fd, sc_stream **stream_out, sandcell_error **err_out);
/* Puts bytes that were read too far in front of what comes. */
int sc_stream_unread(
	sc_stream *stream, const void *data, size_t len, sandcell_error **err_out);
/* The rest is a body: chunked, or of a length; otherwise it goes on until the end. */
void sc_stream_set_body(sc_stream *stream, const struct sc_http_head *head);

#endif
