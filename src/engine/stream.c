/* SPDX-License-Identifier: MIT */
#include "engine/stream_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

enum body_kind {
	BODY_RAW, /* until the connection ends */
	BODY_CHUNKED,
	BODY_LENGTH
};

struct sc_stream {
	int fd;
	sc_buf unread; /* bytes that came with the head */
	size_t unread_at;
	enum body_kind body;
	struct sc_chunked chunked;
	uint64_t length_left;
	bool ended;
	sc_stream *next; /* in the list of open streams */
	sc_stream **link;
};

/* ---- streams and fork ---- */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static sc_stream *open_streams;

static void before_fork(void)
{
	(void)pthread_mutex_lock(&open_lock);
}

static void in_parent(void)
{
	(void)pthread_mutex_unlock(&open_lock);
}

/* Replaced, not closed: the numbers stay taken until the streams are freed. */
static void in_child(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (sc_stream *s = open_streams; s && null >= 0; s = s->next)
		(void)dup3(null, s->fd, O_CLOEXEC);
	if (null >= 0)
		(void)close(null);
	(void)pthread_mutex_unlock(&open_lock);
}

static void watch_forks(void)
{
	(void)pthread_atfork(before_fork, in_parent, in_child);
}

static void list_add(sc_stream *stream)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, watch_forks);
	(void)pthread_mutex_lock(&open_lock);
	stream->next = open_streams;
	stream->link = &open_streams;
	if (open_streams)
		open_streams->link = &stream->next;
	open_streams = stream;
	(void)pthread_mutex_unlock(&open_lock);
}

static void list_remove(sc_stream *stream)
{
	(void)pthread_mutex_lock(&open_lock);
	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	(void)pthread_mutex_unlock(&open_lock);
}

/* ---- life ---- */

int sc_stream_new(int fd, sc_stream **stream_out, sandcell_error **err_out)
{
	sc_stream *stream = sc_calloc(1, sizeof(*stream));

	if (!stream)
		return sc_fail_nomem(err_out);
	stream->fd = fd;
	stream->unread.max = SC_MAX_HTTP_HEAD;
	list_add(stream);
	*stream_out = stream;
	return 0;
}

void sc_stream_free(sc_stream *stream)
{
	if (!stream)
		return;
	list_remove(stream);
	(void)close(stream->fd);
	sc_buf_clear(&stream->unread);
	sc_free(stream);
}

int sc_stream_unread(
	sc_stream *stream, const void *data, size_t len, sandcell_error **err_out)
{
	(void)sc_buf_append(&stream->unread, data, len);
	return sc_buf_check(&stream->unread, err_out, "start of the stream");
}

void sc_stream_set_body(sc_stream *stream, const struct sc_http_head *head)
{
	/* After 101 the connection is no HTTP any more, whatever its head says. */
	if (head->status == 101)
		return;
	if (head->chunked) {
		stream->body = BODY_CHUNKED;
	} else if (head->has_length) {
		stream->body = BODY_LENGTH;
		stream->length_left = head->length;
	}
}

int sc_stream_fd(const sc_stream *stream)
{
	return stream->fd;
}

short sc_stream_events(const sc_stream *stream, int want_write)
{
	(void)stream;
	return (short)(POLLIN | (want_write ? POLLOUT : 0));
}

void sc_stream_end_write(sc_stream *stream)
{
	(void)shutdown(stream->fd, SHUT_WR);
}

/* ---- reading ---- */

static size_t take_unread(sc_stream *stream, void *data, size_t cap)
{
	size_t left = stream->unread.len - stream->unread_at;
	size_t n = left < cap ? left : cap;

	if (n > 0)
		memcpy(data, stream->unread.data + stream->unread_at, n);
	stream->unread_at += n;
	if (n > 0 && stream->unread_at == stream->unread.len) {
		sc_buf_clear(&stream->unread);
		stream->unread_at = 0;
	}
	return n;
}

static int read_raw(sc_stream *stream, void *data, size_t cap, size_t *len_out,
	sandcell_error **err_out)
{
	ssize_t n = (ssize_t)take_unread(stream, data, cap);

	while (n == 0) {
		n = recv(stream->fd, data, cap, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return SC_STREAM_END; /* Podman resets when stdin was not read */
		if (n < 0 && errno == EAGAIN)
			return SC_STREAM_AGAIN;
		if (n < 0 && errno != EINTR)
			return sc_fail_errno(err_out, SANDCELL_E_CONNECT, errno,
				"reading from the engine");
		if (n < 0)
			n = 0;
	}
	*len_out = (size_t)n;
	return SC_STREAM_DATA;
}

static int cut_short(sandcell_error **err_out)
{
	return sc_fail(
		err_out, SANDCELL_E_PROTOCOL, "the stream was closed before its end");
}

static int read_length(sc_stream *stream, void *data, size_t cap, size_t *len_out,
	sandcell_error **err_out)
{
	int rc;

	if (stream->length_left == 0)
		return SC_STREAM_END;
	if (cap > stream->length_left)
		cap = (size_t)stream->length_left;
	rc = read_raw(stream, data, cap, len_out, err_out);
	if (rc == SC_STREAM_DATA)
		stream->length_left -= *len_out;
	return rc == SC_STREAM_END ? cut_short(err_out) : rc;
}

static int read_chunked(sc_stream *stream, void *data, size_t cap, size_t *len_out,
	sandcell_error **err_out)
{
	size_t raw = 0;
	int rc;

	while (!stream->ended) {
		rc = read_raw(stream, data, cap, &raw, err_out);
		if (rc == SC_STREAM_END)
			return cut_short(err_out);
		if (rc != SC_STREAM_DATA)
			return rc;
		rc = sc_chunked_decode(&stream->chunked, data, raw, len_out, err_out);
		if (rc < 0)
			return rc;
		stream->ended = rc == 1;
		if (*len_out > 0)
			return SC_STREAM_DATA;
	}
	return SC_STREAM_END;
}

int sc_stream_read(sc_stream *stream, void *data, size_t cap, size_t *len_out,
	sandcell_error **err_out)
{
	*len_out = 0;
	switch (stream->body) {
	case BODY_CHUNKED:
		return read_chunked(stream, data, cap, len_out, err_out);
	case BODY_LENGTH:
		return read_length(stream, data, cap, len_out, err_out);
	case BODY_RAW:
		break;
	}
	return read_raw(stream, data, cap, len_out, err_out);
}

/* ---- writing ---- */

int sc_stream_write(sc_stream *stream, const void *data, size_t len, size_t *len_out,
	sandcell_error **err_out)
{
	ssize_t n;

	*len_out = 0;
	do {
		n = send(stream->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		*len_out = (size_t)n;
		return SC_STREAM_DATA;
	}
	if (n == 0 || errno == EAGAIN)
		return SC_STREAM_AGAIN;
	if (errno == EPIPE || errno == ECONNRESET)
		return SC_STREAM_END;
	return sc_fail_errno(err_out, SANDCELL_E_CONNECT, errno, "writing to the engine");
}
