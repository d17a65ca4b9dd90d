/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_CAPTURE_H
#define SC_SESSION_CAPTURE_H

/*
 * What is kept of one stream of output: its head, its tail and the exact number of bytes
 * dropped in between.  Takes any amount; never holds more than its maximum.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

typedef struct sc_capture {
	sc_buf kept;
	size_t head;   /* bytes at the front that are never replaced */
	size_t oldest; /* once full: where the tail, a ring behind the head, begins */
	uint64_t dropped;
} sc_capture;

void sc_capture_init(sc_capture *capture, uint64_t max);
/* Never fails: what finds no memory is dropped, with all that follows. */
void sc_capture_add(sc_capture *capture, const void *data, size_t len);
/* Puts the tail in order.  Nothing may be added afterwards. */
void sc_capture_finish(sc_capture *capture);
void sc_capture_clear(sc_capture *capture);

#endif
