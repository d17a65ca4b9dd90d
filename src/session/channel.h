/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_CHANNEL_H
#define SC_SESSION_CHANNEL_H

/*
 * Frames over the attached stream of the connector: what the connector writes to stdout are
 * frames for the decoder; what comes on stderr is kept, the last of it, for error messages.
 *
 * One poll loop serves both directions, so that neither side ever waits for the other: a
 * call's content goes out while its output comes in.  Memory is bounded: one frame each
 * way. Belongs to one thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "engine/stream.h"
#include "sandcell/session.h"
#include "session/frame.h"

typedef struct sc_channel sc_channel;
struct sc_call;

/* Takes the stream.  wake_fd: an eventfd that interrupts sc_channel_pump(), lent; -1: none.
 */
int sc_channel_new(
	sc_stream *stream, int wake_fd, sc_channel **channel_out, sandcell_error **err_out);
void sc_channel_free(sc_channel *channel);

static inline void sc_channel_freep(sc_channel **channel)
{
	sc_channel_free(*channel);
}

/* Asked while calls wait, a few times a second and after a signal. */
void sc_channel_set_wait(sc_channel *channel, sandcell_wait_fn on_wait, void *user);

/* Queues one frame without payload, before what a running call has still to send. */
int sc_channel_send_frame(
	sc_channel *channel, const json_t *header, sandcell_error **err_out);
/* The same for a piece of a call's stream; whether what was queued is still to be sent. */
int sc_channel_send_chunk(sc_channel *channel, uint64_t id, const void *data, size_t len,
	sandcell_error **err_out);
bool sc_channel_is_sending(const sc_channel *channel);
/*
 * Begins a call: queues its message, and hands it every frame with its id until its
 * `result` has come.  The call must stay where it is until sc_channel_drop().  A failure,
 * such as SANDCELL_E_LIMIT for a header that is too long, leaves the channel as it was.
 */
int sc_channel_start(sc_channel *channel, struct sc_call *call, sandcell_error **err_out);
/* Forgets a call.  Frames that still come for it are ignored. */
void sc_channel_drop(sc_channel *channel, struct sc_call *call);
/* An id that no call of this session has had. */
uint64_t sc_channel_next_id(sc_channel *channel);

enum sc_pump {
	SC_PUMP_TIMEOUT = 0, /* the deadline has passed */
	SC_PUMP_MOVED = 1,   /* something came, or can be sent now */
	SC_PUMP_WOKEN = 2,   /* wake_fd was written to; it has been read */
	SC_PUMP_STOPPED = 3  /* the wait callback asked to stop */
};

/*
 * Sends and receives once, waiting until something moves.  An enum sc_pump, or
 *
 *   SANDCELL_E_GONE      the stream has ended or broke
 *   SANDCELL_E_PROTOCOL  the container sent what is not a frame of the protocol
 *   what a call's handler returned
 *
 * After a failure the channel is of no more use.
 */
int sc_channel_pump(sc_channel *channel, sc_deadline deadline, sandcell_error **err_out);

/* The greeting of the supervisor, or NULL while it has not come. */
const json_t *sc_channel_hello(const sc_channel *channel);
/* What the connector and the engine said on stderr, the last of it; "" for nothing. */
const char *sc_channel_complaints(const sc_channel *channel);
/* Gives large buffers back while no call runs. */
void sc_channel_trim(sc_channel *channel);

#endif
