/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_WORDS_H
#define SC_SESSION_WORDS_H

/*
 * What a container's main process says on stderr: attached before it starts, and read only
 * when something went wrong.  The engine keeps a little of it meanwhile.
 */

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/stream.h"

#define SC_WORDS_MAX ((size_t)4096)

struct sc_words {
	sc_stream *stream; /* NULL: not attached */
	sc_buf text;
};

#define SC_WORDS_INIT                                                                      \
	{                                                                                  \
		.text = SC_BUF_INIT(SC_WORDS_MAX)                                          \
	}

/* Best effort: a failure only means that there will be no words. */
void sc_words_attach(struct sc_words *words, sandcell_engine *engine, const char *container,
	sc_deadline deadline);
/* Reads until the process has ended or the deadline has passed; at most SC_WORDS_MAX. */
const char *sc_words_read(struct sc_words *words, sc_deadline deadline);
void sc_words_clear(struct sc_words *words);

#endif
