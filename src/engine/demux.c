/* SPDX-License-Identifier: MIT */
#include "engine/demux.h"

#include <string.h>

void sc_demux_init(sc_demux *demux, sc_demux_fn fn, void *user)
{
	*demux = (sc_demux){.fn = fn, .user = user};
}

static int open_frame(sc_demux *demux, sandcell_error **err_out)
{
	const uint8_t *h = demux->header;

	if (h[0] > SC_DEMUX_ENGINE || h[1] || h[2] || h[3])
		return demux->rc = sc_fail(err_out, SANDCELL_E_PROTOCOL,
			       "stream frame starts with %02x %02x %02x %02x", h[0], h[1],
			       h[2], h[3]);
	demux->payload_left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 |
			      (uint32_t)h[6] << 8 | (uint32_t)h[7];
	if (demux->payload_left == 0)
		demux->header_len = 0;
	return 0;
}

static int feed_header(sc_demux *demux, const uint8_t *data, size_t len, size_t *used,
	sandcell_error **err_out)
{
	size_t want = sizeof(demux->header) - demux->header_len;
	size_t n = len < want ? len : want;

	memcpy(demux->header + demux->header_len, data, n);
	demux->header_len += (uint8_t)n;
	*used = n;
	return demux->header_len == sizeof(demux->header) ? open_frame(demux, err_out) : 0;
}

static int feed_payload(sc_demux *demux, const uint8_t *data, size_t len, size_t *used)
{
	size_t n = len < demux->payload_left ? len : demux->payload_left;
	int rc = demux->fn((enum sc_demux_stream)demux->header[0], data, n, demux->user);

	if (rc < 0)
		return demux->rc = rc;
	demux->payload_left -= (uint32_t)n;
	if (demux->payload_left == 0)
		demux->header_len = 0;
	*used = n;
	return 0;
}

int sc_demux_feed(sc_demux *demux, const void *data, size_t len, sandcell_error **err_out)
{
	const uint8_t *at = data;

	if (demux->rc < 0)
		return sc_fail(err_out, demux->rc, "the stream is broken");
	while (len > 0) {
		size_t used = 0;
		int rc = demux->header_len < sizeof(demux->header)
				 ? feed_header(demux, at, len, &used, err_out)
				 : feed_payload(demux, at, len, &used);
		if (rc < 0)
			return rc;
		at += used;
		len -= used;
	}
	return 0;
}

int sc_demux_end(const sc_demux *demux, sandcell_error **err_out)
{
	if (demux->rc < 0)
		return sc_fail(err_out, demux->rc, "the stream is broken");
	if (demux->header_len == 0)
		return 0;
	return sc_fail(err_out, SANDCELL_E_PROTOCOL,
		"the stream was closed inside a frame, %u bytes before its end",
		demux->payload_left
			? demux->payload_left
			: (unsigned)(sizeof(demux->header) - demux->header_len));
}
