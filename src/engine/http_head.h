/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_HTTP_HEAD_H
#define SC_ENGINE_HTTP_HEAD_H

/*
 * Parsers for connections that libcurl does not read: the head of a reply, and chunked
 * coding.  Pure functions over bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct sc_http_head {
	int status;
	bool chunked;
	bool has_length;
	uint64_t length;
	size_t size; /* of the head in bytes, blank line included */
};

/*
 * 1: parsed.  0: more bytes are needed.  SANDCELL_E_PROTOCOL: this is, or can only become,
 * something else, or is longer than SC_MAX_HTTP_HEAD.
 */
int sc_http_head_parse(
	const char *data, size_t len, struct sc_http_head *head, sandcell_error **err_out);

enum sc_chunk_state {
	SC_CHUNK_SIZE = 0,
	SC_CHUNK_EXTENSION,
	SC_CHUNK_SIZE_LF,
	SC_CHUNK_DATA,
	SC_CHUNK_DATA_CR,
	SC_CHUNK_DATA_LF,
	SC_CHUNK_TRAILER,
	SC_CHUNK_TRAILER_LINE,
	SC_CHUNK_TRAILER_LF,
	SC_CHUNK_END_LF,
	SC_CHUNK_END
};

/* All zero is the start. */
struct sc_chunked {
	enum sc_chunk_state state;
	uint64_t left; /* of the size line being read, or of the chunk's data */
	uint32_t digits;
	uint32_t noise; /* bytes of extensions and trailers so far */
};

/*
 * Decodes in place: data shrinks to *len_out payload bytes.  1: the body has ended (what
 * follows is dropped).  0: more to come.  SANDCELL_E_PROTOCOL: not chunked coding.
 */
int sc_chunked_decode(struct sc_chunked *chunked, char *data, size_t len, size_t *len_out,
	sandcell_error **err_out);

#endif
