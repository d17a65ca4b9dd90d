/* SPDX-License-Identifier: MIT */
/* What looks in while the channel waits. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "engine/stream_impl.h"
#include "session/call.h"
#include "session/channel.h"
#include "unit.h"

/* A bound against hanging. */
#define HANG_MS 30000

struct looks {
	int count;
	int stop_at;
};

static int look_in(void *user)
{
	struct looks *looks = user;

	return ++looks->count >= looks->stop_at;
}

/* A channel whose peer is the returned socket. */
static sc_channel *open_channel(int *peer_out)
{
	int pair[2];
	sc_stream *stream = NULL;
	sc_channel *channel = NULL;

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
		0);
	ck_assert_int_eq(sc_stream_new(pair[0], &stream, NULL), 0);
	ck_assert_int_eq(sc_channel_new(stream, -1, &channel, NULL), 0);
	*peer_out = pair[1];
	return channel;
}

static int pump_until_stopped(sc_channel *channel, sandcell_error **err_out)
{
	sc_deadline deadline = sc_deadline_in_ms(HANG_MS);
	int rc;

	do {
		rc = sc_channel_pump(channel, deadline, err_out);
	} while (rc == SC_PUMP_MOVED);
	return rc;
}

START_TEST(silent_peer_lets_the_callback_look_in_and_stop)
{
	struct looks looks = {.stop_at = 3};
	int peer = -1;
	sc_channel *channel = open_channel(&peer);

	sc_channel_set_wait(channel, look_in, &looks);
	ck_assert_int_eq(pump_until_stopped(channel, NULL), SC_PUMP_STOPPED);
	ck_assert_int_eq(looks.count, 3);
	sc_channel_free(channel);
	(void)close(peer);
}
END_TEST

START_TEST(deadline_is_kept_while_the_callback_looks_in)
{
	struct looks looks = {.stop_at = 1000};
	int peer = -1;
	sc_channel *channel = open_channel(&peer);
	int rc;

	sc_channel_set_wait(channel, look_in, &looks);
	sc_deadline deadline = sc_deadline_in_ms(300);
	do {
		rc = sc_channel_pump(channel, deadline, NULL);
	} while (rc == SC_PUMP_MOVED);
	ck_assert_int_eq(rc, SC_PUMP_TIMEOUT);
	ck_assert(sc_deadline_passed(deadline));
	ck_assert_int_gt(looks.count, 0);
	sc_channel_free(channel);
	(void)close(peer);
}
END_TEST

/* Frames that belong to no call, until nobody reads them any more. */
static void *flood(void *user)
{
	static const char header[] = "{\"type\":\"output\",\"id\":1,\"stream\":1}";
	const int peer = *(int *)user;
	unsigned char frame[8 + 8 + sizeof(header) - 1 + 64] = {1};
	size_t content = sizeof(frame) - 8;

	frame[7] = (unsigned char)content;
	frame[11] = sizeof(header) - 1;
	frame[15] = 64;
	memcpy(frame + 16, header, sizeof(header) - 1);
	while (send(peer, frame, sizeof(frame), MSG_NOSIGNAL) == (ssize_t)sizeof(frame))
		;
	return NULL;
}

START_TEST(flood_does_not_keep_the_callback_from_looking_in)
{
	struct looks looks = {.stop_at = 2};
	sc_autojson *header = json_pack("{s:s, s:i}", "type", "ping", "id", 7);
	sc_call call;
	pthread_t writer;
	int peer = -1;
	sc_channel *channel = open_channel(&peer);

	sc_channel_set_wait(channel, look_in, &looks);
	ck_assert_int_eq(sc_call_init(&call, 7, header, NULL, 0, NULL, NULL, NULL), 0);
	ck_assert_int_eq(sc_channel_start(channel, &call, NULL), 0);
	ck_assert_int_eq(fcntl(peer, F_SETFL, 0), 0);
	ck_assert_int_eq(pthread_create(&writer, NULL, flood, &peer), 0);
	ck_assert_int_eq(pump_until_stopped(channel, NULL), SC_PUMP_STOPPED);
	sc_channel_drop(channel, &call);
	sc_call_clear(&call);
	sc_channel_free(channel);
	ck_assert_int_eq(pthread_join(writer, NULL), 0);
	(void)close(peer);
}
END_TEST

START_TEST(stoppable_call_ends_when_the_callback_says_so)
{
	struct looks looks = {.stop_at = 1};
	sc_autojson *header = json_pack("{s:s, s:i}", "type", "setup", "id", 7);
	sandcell_error *err = NULL;
	sc_call call;
	int peer = -1;
	sc_channel *channel = open_channel(&peer);

	sc_channel_set_wait(channel, look_in, &looks);
	ck_assert_int_eq(sc_call_init(&call, 7, header, NULL, 0, NULL, NULL, NULL), 0);
	call.stoppable = true;
	ck_assert_int_eq(sc_call_run(channel, &call, sc_deadline_in_ms(HANG_MS), &err),
		SANDCELL_E_CALLBACK);
	ck_assert_int_eq(sandcell_error_get_code(err), SANDCELL_E_CALLBACK);
	sandcell_error_free(err);
	sc_call_clear(&call);
	sc_channel_free(channel);
	(void)close(peer);
}
END_TEST

UNIT_MAIN("wait", silent_peer_lets_the_callback_look_in_and_stop,
	deadline_is_kept_while_the_callback_looks_in,
	flood_does_not_keep_the_callback_from_looking_in,
	stoppable_call_ends_when_the_callback_says_so)
