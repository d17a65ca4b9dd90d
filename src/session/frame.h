/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_FRAME_H
#define SC_SESSION_FRAME_H

/*
 * The frame codec of src/runner/PROTOCOL.md, section 2: pure functions over bytes.
 *
 *   sc_message   what we send: a header and parts, cut into frames one at a time, so that a
 *                large content never fills memory and an interrupt can go in between
 *   sc_decoder   what we receive: bytes in, cut anywhere; whole frames out
 *   sc_content   the parts of one received frame, assembled from it and its `data` frames
 *
 * Everything received is hostile: each length is checked before anything is allocated for
 * it, and whatever does not fit is SANDCELL_E_PROTOCOL.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

#define SC_FRAME_PREFIX	     ((size_t)8)
#define SC_FRAME_HEADER_MIN  ((size_t)2)
#define SC_FRAME_HEADER_MAX  ((size_t)65536)
#define SC_FRAME_PAYLOAD_MAX ((size_t)65536)
#define SC_FRAME_MAX	     (SC_FRAME_PREFIX + SC_FRAME_HEADER_MAX + SC_FRAME_PAYLOAD_MAX)
#define SC_CONTENT_MAX	     ((size_t)64 << 20)
#define SC_PARTS_MAX	     ((size_t)256)

#define SC_FRAME_ID_MAX ((UINT64_C(1) << 53) - 1)
#define SC_FRAME_NO_ID	UINT64_MAX

/* ---- sending ---- */

/* Appends one frame. */
int sc_frame_encode(sc_buf *out, const json_t *header, const void *payload,
	size_t payload_len, sandcell_error **err_out);

/* One part of a message; the bytes are borrowed until the message has been sent. */
typedef struct sc_part {
	const char *name;
	const void *data;
	size_t len;
} sc_part;

/* A frame with parts on its way out. */
typedef struct sc_message {
	const json_t *header; /* without `parts`; borrowed */
	const sc_part *parts; /* borrowed */
	size_t count;
	uint64_t id; /* of the `data` frames */
	size_t part; /* next byte to send: parts[part], at byte */
	size_t byte;
	size_t left; /* bytes not yet sent */
	bool started;
} sc_message;

/* The header must hold the id.  SANDCELL_E_LIMIT when the parts are too many or too large.
 */
int sc_message_init(sc_message *message, const json_t *header, uint64_t id,
	const sc_part *parts, size_t count, sandcell_error **err_out);
bool sc_message_done(const sc_message *message);
/* Appends the next frame; nothing when done. */
int sc_message_next(sc_message *message, sc_buf *out, sandcell_error **err_out);

/* ---- receiving ---- */

/* One received frame; everything is lent for the time of the callback. */
typedef struct sc_frame {
	const json_t *header; /* an object */
	const char *type;
	uint64_t id; /* SC_FRAME_NO_ID when it has none */
	const char *payload;
	size_t payload_len;
} sc_frame;

/* A negative return ends the decoding and is handed on. */
typedef int (*sc_frame_fn)(const sc_frame *frame, void *user, sandcell_error **err_out);

typedef struct sc_decoder {
	sc_frame_fn fn;
	void *user;
	sc_buf partial; /* the beginning of a frame that was cut */
	int rc;		/* first failure; nothing is decoded after it */
} sc_decoder;

void sc_decoder_init(sc_decoder *decoder, sc_frame_fn fn, void *user);
void sc_decoder_clear(sc_decoder *decoder);
/* Takes any piece of the stream. */
int sc_decoder_feed(
	sc_decoder *decoder, const void *data, size_t len, sandcell_error **err_out);
/* The stream has ended: fails when it did so inside a frame. */
int sc_decoder_end(sc_decoder *decoder, sandcell_error **err_out);
/* Gives large buffers back while the stream is idle. */
void sc_decoder_trim(sc_decoder *decoder);

/* ---- content ---- */

typedef struct sc_content_part {
	char *name;
	size_t offset;
	size_t len;
} sc_content_part;

/* Each part is followed by a NUL in memory, which does not count. */
typedef struct sc_content {
	sc_content_part *parts;
	size_t count;
	size_t filling; /* the part that the next byte belongs to */
	size_t left;	/* bytes of content still to come */
	sc_buf data;
} sc_content;

/*
 * Starts with the frame that carries `parts` (or none: then its payload is one part named
 * "").  max bounds the sum of the parts.
 */
int sc_content_begin(
	sc_content *content, const sc_frame *frame, size_t max, sandcell_error **err_out);
/* Takes the payload of a `data` frame. */
int sc_content_add(sc_content *content, const sc_frame *frame, sandcell_error **err_out);
bool sc_content_complete(const sc_content *content);
/* A part by name: its NUL-terminated bytes, or NULL.  len_out may be NULL. */
const char *sc_content_get(const sc_content *content, const char *name, size_t *len_out);
const char *sc_content_at(
	const sc_content *content, size_t index, const char **name_out, size_t *len_out);
void sc_content_clear(sc_content *content);

#endif
