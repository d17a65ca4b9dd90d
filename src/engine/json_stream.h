/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_JSON_STREAM_H
#define SC_ENGINE_JSON_STREAM_H

/*
 * A stream of JSON objects, one after another, with or without newlines between them, cut
 * anywhere: what /images/create and /events answer.  Pure, except for its buffer, which
 * holds one object and is bounded.
 */

#include "base/json.h"

/* A negative return stops the feeding and is what it returns. */
typedef int (*sc_json_stream_fn)(const json_t *value, void *user);

typedef struct sc_json_stream {
	sc_json_stream_fn fn;
	void *user;
	sc_buf object; /* the one being read */
	uint32_t depth;
	bool in_string;
	bool escaped;
} sc_json_stream;

void sc_json_stream_init(sc_json_stream *stream, sc_json_stream_fn fn, void *user);
int sc_json_stream_feed(
	sc_json_stream *stream, const char *data, size_t len, sandcell_error **err_out);
/* Fails when an object is still open. */
int sc_json_stream_end(const sc_json_stream *stream, sandcell_error **err_out);
void sc_json_stream_clear(sc_json_stream *stream);

#endif
