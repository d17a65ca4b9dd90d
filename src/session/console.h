/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_CONSOLE_H
#define SC_SESSION_CONSOLE_H

/*
 * stdin and stderr of a container's main process, attached before it starts: the runner's
 * source goes in, and what comes out explains a start that failed.  What stderr brings is
 * kept, SC_CONSOLE_WORDS_MAX of it; nothing is read unless something is to be sent or told.
 */

#include "base/clock.h"
#include "engine/demux.h"
#include "engine/engine.h"
#include "engine/stream.h"

#define SC_CONSOLE_WORDS_MAX ((size_t)4096)
#define SC_CONSOLE_INPUT_MAX ((size_t)4 << 20)

struct sc_console {
	sc_stream *stream; /* NULL: not attached */
	sc_buf input;	   /* still to be sent */
	sc_buf words;
	sc_demux demux;
	bool ended;
};

#define SC_CONSOLE_INIT                                                                    \
	{                                                                                  \
		.input = SC_BUF_INIT(SC_CONSOLE_INPUT_MAX),                                \
		.words = SC_BUF_INIT(SC_CONSOLE_WORDS_MAX)                                 \
	}

int sc_console_attach(struct sc_console *console, sandcell_engine *engine,
	const char *container, sc_deadline deadline, sandcell_error **err_out);
/*
 * Sends what is in input.  SANDCELL_E_TIMEOUT when the deadline passes first: what is left
 * can be sent later.  SANDCELL_E_GONE when the process takes no more.
 */
int sc_console_send(
	struct sc_console *console, sc_deadline deadline, sandcell_error **err_out);
/* Reads until the process has ended or the deadline has passed: what it said, "" nothing.
 */
const char *sc_console_words(struct sc_console *console, sc_deadline deadline);
void sc_console_clear(struct sc_console *console);

#endif
