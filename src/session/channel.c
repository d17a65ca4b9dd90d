/* SPDX-License-Identifier: MIT */
#include "session/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "engine/demux.h"
#include "session/call.h"
#include "session/owner.h"

#define READ_SIZE	((size_t)65536)
#define COMPLAINTS_KEPT ((size_t)2048)
/* Reads before the deadline and the wake-up are looked at again. */
#define READS_AT_ONCE 16
/* Between two looks of the wait callback.  Bounds how long a signal goes unseen that was
 * handled just before the poll began, or by another thread. */
#define LOOK_MS 200

struct sc_channel {
	sc_stream *stream;
	int wake_fd;
	sandcell_wait_fn on_wait;
	void *wait_user;
	sc_deadline next_look; /* SC_NEVER: not at all */
	sc_demux demux;
	sc_decoder decoder;
	char *input;   /* READ_SIZE bytes while calls run */
	sc_buf queue;  /* whole frames, to be sent before the rest of a message */
	sc_buf output; /* what is being sent, from output_at on */
	size_t output_at;
	bool deaf;	 /* the peer takes nothing any more; what it said may still come */
	bool call_ended; /* since the last look */
	sc_buf complaints;
	json_t *hello;
	sc_call *calls;
	uint64_t next_id;
	sandcell_error **err_out; /* of the pump that runs, for the handlers behind demux */
};

/* ---- life ---- */

static int on_frame(const sc_frame *frame, void *user, sandcell_error **err_out);
static int on_piece(enum sc_demux_stream stream, const void *data, size_t len, void *user);

int sc_channel_new(
	sc_stream *stream, int wake_fd, sc_channel **channel_out, sandcell_error **err_out)
{
	sc_channel *channel = sc_calloc(1, sizeof(*channel));
	uint64_t start = 0;
	int rc = channel ? sc_random_u64(&start, err_out) : sc_fail_nomem(err_out);

	if (rc < 0) {
		sc_free(channel);
		sc_stream_free(stream);
		return rc;
	}
	channel->stream = stream;
	channel->wake_fd = wake_fd;
	channel->next_look = SC_NEVER;
	channel->next_id = start & (SC_FRAME_ID_MAX >> 1);
	channel->queue.max = 2 * SC_FRAME_MAX;
	channel->output.max = 2 * SC_FRAME_MAX;
	channel->complaints.max = COMPLAINTS_KEPT * 2;
	sc_demux_init(&channel->demux, on_piece, channel);
	sc_decoder_init(&channel->decoder, on_frame, channel);
	*channel_out = channel;
	return 0;
}

void sc_channel_free(sc_channel *channel)
{
	if (!channel)
		return;
	sc_stream_free(channel->stream);
	sc_decoder_clear(&channel->decoder);
	sc_free(channel->input);
	sc_buf_clear(&channel->queue);
	sc_buf_clear(&channel->output);
	sc_buf_clear(&channel->complaints);
	json_decref(channel->hello);
	sc_free(channel);
}

void sc_channel_trim(sc_channel *channel)
{
	if (channel->calls)
		return;
	sc_free(SANDCELL_TAKE(channel->input));
	sc_decoder_trim(&channel->decoder);
	if (channel->queue.len == 0)
		sc_buf_clear(&channel->queue);
	if (channel->output_at == channel->output.len) {
		sc_buf_clear(&channel->output);
		channel->output_at = 0;
	}
}

const json_t *sc_channel_hello(const sc_channel *channel)
{
	return channel->hello;
}

const char *sc_channel_complaints(const sc_channel *channel)
{
	return sc_buf_text(&channel->complaints);
}

uint64_t sc_channel_next_id(sc_channel *channel)
{
	return channel->next_id++;
}

/* ---- receiving ---- */

static int take_error(const sc_frame *frame, sandcell_error **err_out)
{
	return sc_fail(err_out, SANDCELL_E_PROTOCOL, "the supervisor refused us: %.300s",
		sc_json_get_str(frame->header, "message", "no reason given"));
}

static int take_hello(sc_channel *channel, const sc_frame *frame, sandcell_error **err_out)
{
	if (channel->hello)
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"frame from the container: a second hello");
	channel->hello = json_incref((json_t *)frame->header);
	return 0;
}

static int on_frame(const sc_frame *frame, void *user, sandcell_error **err_out)
{
	sc_channel *channel = user;

	if (strcmp(frame->type, "error") == 0)
		return take_error(frame, err_out);
	if (strcmp(frame->type, "hello") == 0)
		return take_hello(channel, frame, err_out);
	sc_call *call = channel->calls;
	while (call && call->id != frame->id)
		call = call->next;
	/* A call that was given up may still have had something under way. */
	if (!call || sc_call_ended(call))
		return 0;
	int rc = sc_call_take(call, frame, err_out);
	channel->call_ended = channel->call_ended || sc_call_ended(call);
	return rc;
}

/* Keeps the last COMPLAINTS_KEPT bytes at least. */
static void keep_complaint(sc_channel *channel, const char *data, size_t len)
{
	sc_buf *kept = &channel->complaints;

	if (len > COMPLAINTS_KEPT) {
		data += len - COMPLAINTS_KEPT;
		len = COMPLAINTS_KEPT;
	}
	if (kept->len + len > kept->max)
		sc_buf_consume(kept, kept->len + len - COMPLAINTS_KEPT);
	(void)sc_buf_append(kept, data, len);
	kept->rc = 0;
}

static int on_piece(enum sc_demux_stream stream, const void *data, size_t len, void *user)
{
	sc_channel *channel = user;

	if (stream == SC_DEMUX_STDOUT)
		return sc_decoder_feed(&channel->decoder, data, len, channel->err_out);
	if (stream == SC_DEMUX_STDERR || stream == SC_DEMUX_ENGINE)
		keep_complaint(channel, data, len);
	return 0;
}

/* A connection that broke and one that ended are the same to callers. */
static int lost(int rc, sandcell_error **err_out)
{
	return rc == SANDCELL_E_CONNECT ? sc_error_recode(err_out, SANDCELL_E_GONE) : rc;
}

/* 1 when something came, 0 when nothing is there. */
static int receive(sc_channel *channel, sandcell_error **err_out)
{
	int moved = 0;

	if (!channel->input)
		channel->input = sc_malloc(READ_SIZE);
	if (!channel->input)
		return sc_fail_nomem(err_out);
	for (int i = 0; i < READS_AT_ONCE; i++) {
		size_t len = 0;
		int rc = sc_stream_read(
			channel->stream, channel->input, READ_SIZE, &len, err_out);

		if (rc == SC_STREAM_AGAIN)
			return moved;
		if (rc == SC_STREAM_END)
			return sc_fail(err_out, SANDCELL_E_GONE,
				"the stream to the container has ended");
		if (rc < 0)
			return lost(rc, err_out);
		channel->err_out = err_out;
		rc = sc_demux_feed(&channel->demux, channel->input, len, err_out);
		channel->err_out = NULL;
		if (rc < 0)
			return rc;
		moved = 1;
		if (channel->call_ended)
			break;
	}
	channel->call_ended = false;
	return moved;
}

/* ---- sending ---- */

/* Forgets what was appended to the queue after len, so that a failure leaves no half. */
static int take_back(sc_channel *channel, size_t len, int rc)
{
	if (rc < 0) {
		channel->queue.len = len;
		channel->queue.rc = 0;
	}
	return rc;
}

int sc_channel_send_frame(
	sc_channel *channel, const json_t *header, sandcell_error **err_out)
{
	size_t before = channel->queue.len;

	return take_back(channel, before,
		sc_frame_encode(&channel->queue, header, NULL, 0, err_out));
}

int sc_channel_send_chunk(sc_channel *channel, uint64_t id, const void *data, size_t len,
	sandcell_error **err_out)
{
	sc_autojson *header =
		json_pack("{s:s, s:I}", "type", "chunk", "id", (json_int_t)id);
	size_t before = channel->queue.len;

	if (!header)
		return sc_fail_nomem(err_out);
	return take_back(channel, before,
		sc_frame_encode(&channel->queue, header, data, len, err_out));
}

bool sc_channel_is_sending(const sc_channel *channel)
{
	return channel->queue.len > 0 || channel->output_at < channel->output.len;
}

int sc_channel_start(sc_channel *channel, sc_call *call, sandcell_error **err_out)
{
	size_t before = channel->queue.len;
	sc_call **last = &channel->calls;
	int rc;

	rc = take_back(
		channel, before, sc_message_next(&call->message, &channel->queue, err_out));
	if (rc < 0)
		return rc;
	while (*last)
		last = &(*last)->next;
	call->next = NULL;
	*last = call;
	if (channel->on_wait)
		channel->next_look = sc_deadline_in_ms(LOOK_MS);
	return 0;
}

void sc_channel_drop(sc_channel *channel, sc_call *call)
{
	sc_call **at = &channel->calls;

	while (*at && *at != call)
		at = &(*at)->next;
	if (*at)
		*at = call->next;
}

/* Puts the next bytes to send into output, when the last ones are gone. */
static int refill(sc_channel *channel, sandcell_error **err_out)
{
	if (channel->output_at < channel->output.len)
		return 0;
	channel->output_at = 0;
	sc_buf_reset(&channel->output);
	if (channel->queue.len > 0) {
		sc_buf empty = channel->output;
		channel->output = channel->queue;
		channel->queue = empty;
		return 0;
	}
	for (sc_call *call = channel->calls; call; call = call->next) {
		if (!sc_message_done(&call->message))
			return sc_message_next(&call->message, &channel->output, err_out);
	}
	return 0;
}

/* Sends until nothing is left or the stream is full: then *full is set. */
static int transmit(sc_channel *channel, bool *full, sandcell_error **err_out)
{
	while (!channel->deaf) {
		size_t len = 0;
		int rc = refill(channel, err_out);

		if (rc < 0)
			return rc;
		if (channel->output_at == channel->output.len)
			return 0;
		rc = sc_stream_write(channel->stream,
			channel->output.data + channel->output_at,
			channel->output.len - channel->output_at, &len, err_out);
		*full = rc == SC_STREAM_AGAIN;
		if (rc == SC_STREAM_AGAIN)
			return 0;
		channel->deaf = rc == SC_STREAM_END;
		if (rc < 0)
			return lost(rc, err_out);
		channel->output_at += len;
	}
	return 0;
}

/* ---- both ---- */

static bool take_wake(const sc_channel *channel)
{
	uint64_t count = 0;

	return channel->wake_fd >= 0 &&
	       read(channel->wake_fd, &count, sizeof(count)) == (ssize_t)sizeof(count);
}

void sc_channel_set_wait(sc_channel *channel, sandcell_wait_fn on_wait, void *user)
{
	channel->on_wait = on_wait;
	channel->wait_user = user;
	channel->next_look = on_wait ? sc_deadline_in_ms(LOOK_MS) : SC_NEVER;
}

/* Lets the wait callback look in; true when it asks to stop. */
static bool look(sc_channel *channel)
{
	if (!channel->on_wait)
		return false;
	channel->next_look = sc_deadline_in_ms(LOOK_MS);
	return channel->on_wait(channel->wait_user) != 0;
}

/* Waits for the stream, the wake-up or a signal; SC_PUMP_TIMEOUT when none comes. */
static int wait_for_events(sc_channel *channel, bool want_write, sc_deadline deadline,
	sandcell_error **err_out)
{
	struct pollfd fds[] = {
		{.fd = sc_stream_fd(channel->stream),
			.events = sc_stream_events(channel->stream, want_write)},
		{.fd = channel->wake_fd, .events = POLLIN},
	};
	sc_deadline until = sc_deadline_min(deadline, channel->next_look);
	int n = poll(fds, 2, sc_deadline_left_ms(until));

	if (n < 0 && errno != EINTR)
		return sc_fail_errno(err_out, SANDCELL_E_FAIL, errno, "poll");
	if (n > 0 && fds[1].revents && take_wake(channel))
		return SC_PUMP_WOKEN;
	if (n <= 0 && look(channel))
		return SC_PUMP_STOPPED;
	return n == 0 && sc_deadline_passed(deadline) ? SC_PUMP_TIMEOUT : SC_PUMP_MOVED;
}

int sc_channel_pump(sc_channel *channel, sc_deadline deadline, sandcell_error **err_out)
{
	bool full = false;
	int rc;

	rc = transmit(channel, &full, err_out);
	if (rc == 0)
		rc = receive(channel, err_out);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return wait_for_events(channel, full, deadline, err_out);
	/* A flood must hide neither the wake-up nor the deadline. */
	if (take_wake(channel))
		return SC_PUMP_WOKEN;
	if (sc_deadline_passed(channel->next_look) && look(channel))
		return SC_PUMP_STOPPED;
	return sc_deadline_passed(deadline) ? SC_PUMP_TIMEOUT : SC_PUMP_MOVED;
}
