/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_DEMUX_H
#define SC_ENGINE_DEMUX_H

/*
 * Takes apart the engine's framing of stdout and stderr:
 *
 *	byte 0: 0 stdin (an echo), 1 stdout, 2 stderr, 3 the engine's own error text
 *	bytes 1-3: zero        bytes 4-7: payload length, big-endian        payload
 *
 * Pure: no I/O, no allocation, so no length in a header can cost memory.  Payload is
 * forwarded in the pieces in which it comes.  A zero length is legal.  Another type or a
 * non-zero padding is SANDCELL_E_PROTOCOL, and sticks.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum sc_demux_stream {
	SC_DEMUX_STDIN = 0,
	SC_DEMUX_STDOUT = 1,
	SC_DEMUX_STDERR = 2,
	SC_DEMUX_ENGINE = 3 /* the engine says why the stream ends */
};

/*
 * A negative return stops the feeding and is what sc_demux_feed() returns; the callback
 * makes the error, through its user pointer.
 */
typedef int (*sc_demux_fn)(
	enum sc_demux_stream stream, const void *data, size_t len, void *user);

typedef struct sc_demux {
	sc_demux_fn fn;
	void *user;
	uint32_t payload_left;
	uint8_t header[8];
	uint8_t header_len;
	int rc;
} sc_demux;

void sc_demux_init(sc_demux *demux, sc_demux_fn fn, void *user);
int sc_demux_feed(sc_demux *demux, const void *data, size_t len, sandcell_error **err_out);
/* Fails with SANDCELL_E_PROTOCOL when the stream closed inside a frame. */
int sc_demux_end(const sc_demux *demux, sandcell_error **err_out);

#endif
