/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_STREAM_H
#define SC_ENGINE_STREAM_H

/*
 * A two-way byte stream to a process in a container: what is left of an HTTP connection
 * after its head.  Owned outside libcurl's connection pool.  Belongs to one thread.
 *
 * How to use it: sc_stream_read() until SC_STREAM_AGAIN, only then poll sc_stream_fd() for
 * POLLIN (bytes glued to the head, and TLS records, are buffered and do not wake poll).
 * Write with sc_stream_write(); on SC_STREAM_AGAIN poll for sc_stream_events(), which says
 * what TLS waits for.  Never write without reading: a peer that is not read may stop
 * reading.  Nothing here blocks, and nothing raises SIGPIPE.
 *
 * Send nothing before the stream was handed out (Docker loses bytes that are glued to the
 * request).  Half-closing is not offered to callers as an end mark: engines differ.
 *
 * A child that forks without exec gets its copies of all streams replaced by /dev/null, so
 * that closing in the parent ends the connection.
 */

#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"

typedef struct sc_stream sc_stream;

enum sc_stream_result {
	SC_STREAM_DATA = 1,  /* *len_out > 0 bytes were moved */
	SC_STREAM_AGAIN = 2, /* nothing now: poll */
	SC_STREAM_END = 3    /* the peer ended in order (read), or is gone (write) */
};

/* An enum sc_stream_result or a negative status: SANDCELL_E_CONNECT when it broke. */
int sc_stream_read(sc_stream *stream, void *data, size_t cap, size_t *len_out,
	sandcell_error **err_out);
int sc_stream_write(sc_stream *stream, const void *data, size_t len, size_t *len_out,
	sandcell_error **err_out);
/* For poll(2); non-blocking; lent. */
int sc_stream_fd(const sc_stream *stream);
/* Events to poll for, given that the caller wants to write or not. */
short sc_stream_events(const sc_stream *stream, int want_write);
/* Ends our direction; best effort, a TLS stream ignores it. */
void sc_stream_end_write(sc_stream *stream);
void sc_stream_free(sc_stream *stream);

static inline void sc_stream_freep(sc_stream **stream)
{
	sc_stream_free(*stream);
}

#endif
