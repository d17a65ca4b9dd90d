/* SPDX-License-Identifier: MIT */
/*
 * Framed output.  The first byte chooses the split; every split must give the same streams
 * and the same verdict, which a plain reading of the whole must share.
 */
#include <string.h>

#include "base/buf.h"
#include "engine/demux.h"
#include "fuzz.h"

#define STREAM_MAX ((size_t)1 << 20)

struct streams {
	sc_buf all; /* "stream byte" pairs, in order */
};

static int note(enum sc_demux_stream stream, const void *data, size_t len, void *user)
{
	struct streams *streams = user;
	const char *bytes = data;

	FUZZ_CHECK(len > 0);
	for (size_t i = 0; i < len; i++) {
		(void)sc_buf_putc(&streams->all, (char)('0' + stream));
		(void)sc_buf_putc(&streams->all, bytes[i]);
	}
	return 0;
}

static int feed(const uint8_t *data, size_t size, size_t piece, struct streams *streams)
{
	sc_demux demux;
	int rc = 0;

	sc_demux_init(&demux, note, streams);
	for (size_t at = 0; at < size && rc == 0; at += piece)
		rc = sc_demux_feed(
			&demux, data + at, size - at < piece ? size - at : piece, NULL);
	return rc < 0 ? rc : sc_demux_end(&demux, NULL);
}

/* The same by hand, over the whole. */
static int plain(const uint8_t *data, size_t size, struct streams *streams)
{
	size_t at = 0;

	while (size - at >= 8) {
		const uint8_t *h = data + at;
		if (h[0] > 3 || h[1] || h[2] || h[3])
			return SANDCELL_E_PROTOCOL;
		size_t len =
			(size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 | h[7];
		at += 8;
		size_t n = size - at < len ? size - at : len;
		if (n > 0)
			(void)note((enum sc_demux_stream)h[0], data + at, n, streams);
		at += n;
		if (n < len)
			return SANDCELL_E_PROTOCOL;
	}
	return at == size ? 0 : SANDCELL_E_PROTOCOL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct streams pieces = {.all = SC_BUF_INIT(STREAM_MAX)};
	struct streams whole = {.all = SC_BUF_INIT(STREAM_MAX)};
	size_t piece = size > 0 ? 1 + data[0] % 16 : 1;

	if (size < 1 || size > STREAM_MAX / 4)
		return 0;
	int rc = feed(data + 1, size - 1, piece, &pieces);
	FUZZ_CHECK(rc == plain(data + 1, size - 1, &whole));
	FUZZ_CHECK(pieces.all.len == whole.all.len);
	FUZZ_CHECK(memcmp(sc_buf_text(&pieces.all), sc_buf_text(&whole.all),
			   whole.all.len) == 0);
	sc_buf_clear(&pieces.all);
	sc_buf_clear(&whole.all);
	return 0;
}
