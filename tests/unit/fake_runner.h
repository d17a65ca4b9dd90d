/* SPDX-License-Identifier: MIT */
#ifndef FAKE_RUNNER_H
#define FAKE_RUNNER_H

/*
 * A scripted supervisor behind the scripted engine's exec: it takes the boot source,
 * answers hello and setup, and hands every other frame to the test.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "fake_unit.h"
#include "session/frame.h"

typedef struct fake_runner fake_runner;

struct fake_runner {
	const char *hello; /* header in place of ours; "": none */
	const char *ready; /* members of the ready result in place of ours; "": none */
	const char *words; /* what the main process says on stderr, and then ends */
	/* Every frame but hello, ready and data; a negative return hangs up. */
	int (*on_frame)(fake_runner *runner, const sc_frame *frame);
	void *user;

	/* Hangs up when so many bytes were sent over one connection; 0: never. */
	size_t cut_at;

	int fd;	     /* of the connection that is served */
	size_t sent; /* over it */
	pthread_mutex_t lock;
	int main_fd;	      /* of the attached main process; -1: none */
	atomic_int sessions;  /* connections so far */
	atomic_size_t source; /* bytes of the runner that came in */
};

static inline int runner_put(fake_runner *r, const void *data, size_t len)
{
	bool cut = r->cut_at && r->sent + len >= r->cut_at;
	size_t now = cut ? r->cut_at - r->sent : len;

	r->sent += now;
	if (send(r->fd, data, now, MSG_NOSIGNAL) != (ssize_t)now)
		return -1;
	return cut ? -1 : 0;
}

/* Writes bytes as the engine frames them: stream 1 is stdout, 2 is stderr. */
static inline int runner_say(fake_runner *r, int stream, const void *data, size_t len)
{
	const unsigned char head[8] = {(unsigned char)stream, 0, 0, 0,
		(unsigned char)(len >> 24), (unsigned char)(len >> 16),
		(unsigned char)(len >> 8), (unsigned char)len};

	int rc = runner_put(r, head, sizeof(head));
	return rc < 0 ? rc : runner_put(r, data, len);
}

/* Sends one frame; takes the header over. */
static inline int runner_send(
	fake_runner *r, json_t *header, const void *payload, size_t len)
{
	sc_autobuf bytes = SC_BUF_INIT(SC_FRAME_MAX);
	int rc = sc_frame_encode(&bytes, header, payload, len, NULL);

	json_decref(header);
	return rc < 0 ? rc : runner_say(r, 1, bytes.data, bytes.len);
}

/* A result: members as a JSON object text, with id added. */
static inline int runner_result(fake_runner *r, uint64_t id, const char *members)
{
	json_t *header = json_loads(members, 0, NULL);

	json_object_set_new(header, "type", json_string("result"));
	json_object_set_new(header, "id", json_integer((json_int_t)id));
	return runner_send(r, header, "", 0);
}

static inline int runner_output(fake_runner *r, uint64_t id, int stream, const char *text)
{
	return runner_send(r,
		json_pack("{s:s, s:I, s:i}", "type", "output", "id", (json_int_t)id,
			"stream", stream),
		text, strlen(text));
}

#define RUNNER_LIMITS                                                                      \
	"{\"cgroup\":2,\"memory_bytes\":2147483648,\"swap_bytes\":0,\"pids\":256,"         \
	"\"cpu_millis\":null,\"nofile\":4096,\"nproc\":16384}"
#define RUNNER_READY                                                                       \
	"{\"status\":\"ok\",\"landlock\":3,\"uid\":1,\"gid\":1,\"limits\":" RUNNER_LIMITS  \
	"}"
#define RUNNER_HELLO                                                                       \
	"{\"type\":\"hello\",\"protocol\":1,\"capabilities\":[\"execute\"],"               \
	"\"python\":\"3.11.2\",\"peercred\":true,\"state\":\"new\",\"calls\":[]}"

static inline int runner_frame(const sc_frame *frame, void *user, sandcell_error **err_out)
{
	fake_runner *r = user;
	const char *hello = r->hello ? r->hello : RUNNER_HELLO;
	const char *ready = r->ready ? r->ready : RUNNER_READY;

	(void)err_out;
	if (strcmp(frame->type, "data") == 0)
		return 0;
	if (strcmp(frame->type, "hello") == 0)
		return hello[0] ? runner_send(r, json_loads(hello, 0, NULL), "", 0) : 0;
	if (strcmp(frame->type, "ready") == 0)
		return ready[0] ? runner_result(r, frame->id, ready) : 0;
	return r->on_frame ? r->on_frame(r, frame) : 0;
}

/* Waits for bytes: their count, 0 at the end. */
static inline size_t runner_receive(int fd, void *data, size_t cap)
{
	for (;;) {
		ssize_t n = recv(fd, data, cap, 0);
		struct pollfd ready = {.fd = fd, .events = POLLIN};

		if (n >= 0)
			return (size_t)n;
		if (errno == EAGAIN)
			(void)poll(&ready, 1, -1);
		else if (errno != EINTR)
			return 0;
	}
}

/* The stream of the engine's rule for exec; user is the fake_runner. */
static inline void runner_serve(int fd, void *user)
{
	fake_runner *r = user;
	sc_decoder decoder;
	char bytes[8192];
	size_t n = 0;
	int rc = 0;

	atomic_fetch_add(&r->sessions, 1);
	r->fd = fd;
	r->sent = 0;
	sc_decoder_init(&decoder, runner_frame, r);
	while (rc == 0 && (n = runner_receive(fd, bytes, sizeof(bytes))) > 0)
		rc = sc_decoder_feed(&decoder, bytes, n, NULL);
	sc_decoder_clear(&decoder);
	/* The supervisor is the main process. */
	(void)pthread_mutex_lock(&r->lock);
	if (r->main_fd >= 0)
		(void)shutdown(r->main_fd, SHUT_RDWR);
	(void)pthread_mutex_unlock(&r->lock);
}

static inline void runner_set_main(fake_runner *r, int fd)
{
	(void)pthread_mutex_lock(&r->lock);
	r->main_fd = fd;
	(void)pthread_mutex_unlock(&r->lock);
}

/* The stream for attach: swallows the source until the other side is gone. */
static inline void runner_main(int fd, void *user)
{
	fake_runner *r = user;
	char bytes[8192];
	size_t n = 0;

	if (r->words) {
		size_t len = strlen(r->words);
		const char head[8] = {2, 0, 0, 0, 0, 0, (char)(len >> 8), (char)len};

		(void)send(fd, head, sizeof(head), MSG_NOSIGNAL);
		(void)send(fd, r->words, len, MSG_NOSIGNAL);
		return;
	}
	runner_set_main(r, fd);
	while ((n = runner_receive(fd, bytes, sizeof(bytes))) > 0)
		atomic_fetch_add(&r->source, n);
	runner_set_main(r, -1);
}

/* Puts the runner behind every exec and attach of the engine. */
static inline void runner_install(fake_engine *fake, fake_runner *runner)
{
	const fake_rule attach = {.on = "POST /containers/<any>/attach",
		.status = 101,
		.stream = runner_main,
		.user = runner};
	const fake_rule exec = {.on = "POST /exec/<any>/start",
		.status = 101,
		.stream = runner_serve,
		.user = runner};

	(void)pthread_mutex_init(&runner->lock, NULL);
	runner->main_fd = -1;
	fake_on(fake, &attach);
	fake_on(fake, &exec);
}

#endif
