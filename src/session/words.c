/* SPDX-License-Identifier: MIT */
#include "session/words.h"

#include <poll.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "engine/container.h"
#include "engine/demux.h"

void sc_words_attach(struct sc_words *words, sandcell_engine *engine, const char *container,
	sc_deadline deadline)
{
	(void)sc_container_attach(
		engine, container, SC_ATTACH_STDERR, deadline, &words->stream, NULL);
}

static int keep(enum sc_demux_stream stream, const void *data, size_t len, void *user)
{
	sc_buf *text = user;
	size_t room = text->max - text->len;

	(void)stream;
	(void)sc_buf_append(text, data, len < room ? len : room);
	return 0;
}

const char *sc_words_read(struct sc_words *words, sc_deadline deadline)
{
	char piece[1024];
	sc_demux demux;
	int rc = words->stream ? SC_STREAM_DATA : SC_STREAM_END;

	sc_demux_init(&demux, keep, &words->text);
	while (rc > 0 && rc != SC_STREAM_END && words->text.len < words->text.max) {
		size_t len = 0;

		rc = sc_stream_read(words->stream, piece, sizeof(piece), &len, NULL);
		if (rc == SC_STREAM_DATA)
			rc = sc_demux_feed(&demux, piece, len, NULL) < 0 ? -1 : rc;
		else if (rc == SC_STREAM_AGAIN)
			rc = sc_fd_wait(
				sc_stream_fd(words->stream), POLLIN, deadline, NULL);
	}
	return sc_buf_text(&words->text);
}

void sc_words_clear(struct sc_words *words)
{
	sc_stream_free(SANDCELL_TAKE(words->stream));
	sc_buf_clear(&words->text);
}
