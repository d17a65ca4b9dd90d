/* SPDX-License-Identifier: MIT */
#include "session/console.h"

#include <poll.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "engine/container.h"

static int keep(enum sc_demux_stream stream, const void *data, size_t len, void *user)
{
	sc_buf *words = user;
	size_t room = words->max - words->len;

	(void)stream;
	(void)sc_buf_append(words, data, len < room ? len : room);
	return 0;
}

int sc_console_attach(struct sc_console *console, sandcell_engine *engine,
	const char *container, sc_deadline deadline, sandcell_error **err_out)
{
	sc_demux_init(&console->demux, keep, &console->words);
	return sc_container_attach(engine, container, SC_ATTACH_STDIN | SC_ATTACH_STDERR,
		deadline, &console->stream, err_out);
}

/* Takes what has come, without waiting. */
static void listen_in(struct sc_console *console)
{
	char piece[1024];
	int rc = SC_STREAM_DATA;

	while (rc == SC_STREAM_DATA && !console->ended) {
		size_t len = 0;

		rc = sc_stream_read(console->stream, piece, sizeof(piece), &len, NULL);
		if (rc == SC_STREAM_DATA &&
			sc_demux_feed(&console->demux, piece, len, NULL) < 0)
			rc = SC_STREAM_END;
		console->ended = rc < 0 || rc == SC_STREAM_END;
	}
}

int sc_console_send(
	struct sc_console *console, sc_deadline deadline, sandcell_error **err_out)
{
	sc_buf *input = &console->input;
	size_t sent = 0;
	int rc = 0;

	while (rc >= 0 && sent < input->len) {
		size_t len = 0;

		rc = sc_stream_write(console->stream, input->data + sent, input->len - sent,
			&len, err_out);
		sent += len;
		if (rc == SC_STREAM_AGAIN) {
			short events = sc_stream_events(console->stream, 1);

			listen_in(console);
			rc = sc_fd_wait(
				sc_stream_fd(console->stream), events, deadline, err_out);
			if (rc == 0)
				rc = sc_fail(err_out, SANDCELL_E_TIMEOUT,
					"the container takes its input too slowly");
		}
		if (rc == SC_STREAM_END || (rc >= 0 && console->ended))
			rc = sc_fail(err_out, SANDCELL_E_GONE,
				"the container's main process takes no input");
	}
	sc_buf_consume(input, sent);
	return rc < 0 ? rc : 0;
}

const char *sc_console_words(struct sc_console *console, sc_deadline deadline)
{
	int rc = 1;

	while (rc > 0 && console->stream && !console->ended &&
		console->words.len < console->words.max) {
		listen_in(console);
		if (!console->ended)
			rc = sc_fd_wait(
				sc_stream_fd(console->stream), POLLIN, deadline, NULL);
	}
	return sc_buf_text(&console->words);
}

void sc_console_clear(struct sc_console *console)
{
	sc_stream_free(SANDCELL_TAKE(console->stream));
	sc_buf_clear(&console->input);
	sc_buf_clear(&console->words);
}
