/* SPDX-License-Identifier: MIT */
#include "engine/stream_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/tls.h"

enum body_kind {
	BODY_RAW, /* until the connection ends */
	BODY_CHUNKED,
	BODY_LENGTH
};

struct sc_stream {
	int fd;
	CURL *curl;	    /* owns fd, when there is one */
	struct sc_ssh *ssh; /* owns fd, when there is one */
	sc_buf unread;	    /* bytes that came with the head */
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

static int stream_new(sc_stream **stream_out, int fd, CURL *curl, struct sc_ssh *ssh,
	sandcell_error **err_out)
{
	sc_stream *stream = sc_calloc(1, sizeof(*stream));

	if (!stream)
		return sc_fail_nomem(err_out);
	stream->fd = fd;
	stream->curl = curl;
	stream->ssh = ssh;
	stream->unread.max = SC_MAX_HTTP_HEAD;
	list_add(stream);
	*stream_out = stream;
	return 0;
}

int sc_stream_new(int fd, sc_stream **stream_out, sandcell_error **err_out)
{
	return stream_new(stream_out, fd, NULL, NULL, err_out);
}

int sc_stream_new_ssh(struct sc_ssh *ssh, sc_stream **stream_out, sandcell_error **err_out)
{
	return stream_new(stream_out, ssh->fd, NULL, ssh, err_out);
}

int sc_stream_new_curl(CURL *curl, sc_stream **stream_out, sandcell_error **err_out)
{
	curl_socket_t fd = CURL_SOCKET_BAD;

	if (curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd < 0)
		return sc_fail(err_out, SANDCELL_E_CONNECT, "the connection has no socket");
	return stream_new(stream_out, fd, curl, NULL, err_out);
}

static void close_curl(CURL *curl)
{
	struct sc_sigpipe guard;

	sc_sigpipe_hold(&guard);
	curl_easy_cleanup(curl);
	sc_sigpipe_release(&guard);
}

void sc_stream_free(sc_stream *stream)
{
	if (!stream)
		return;
	list_remove(stream);
	if (stream->curl)
		close_curl(stream->curl);
	else if (stream->ssh)
		sc_ssh_close(stream->ssh);
	else
		(void)close(stream->fd);
	sc_buf_clear(&stream->unread);
	sc_free(stream);
}

void sc_stream_complaint(const sc_stream *stream, sc_buf *text)
{
	if (stream->ssh)
		sc_ssh_complaint(stream->ssh, text);
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
	/* Under TLS the end of one direction is the end of both. */
	if (!stream->curl)
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

static int read_socket(sc_stream *stream, void *data, size_t cap, size_t *len_out,
	sandcell_error **err_out)
{
	ssize_t n;

	do {
		n = recv(stream->fd, data, cap, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		*len_out = (size_t)n;
		return SC_STREAM_DATA;
	}
	/* Podman resets the connection when not all of stdin was read. */
	if (n == 0 || errno == ECONNRESET)
		return SC_STREAM_END;
	if (errno == EAGAIN)
		return SC_STREAM_AGAIN;
	return sc_fail_errno(err_out, SANDCELL_E_CONNECT, errno, "reading from the engine");
}

static int read_curl(sc_stream *stream, void *data, size_t cap, size_t *len_out,
	sandcell_error **err_out)
{
	struct sc_sigpipe guard;
	CURLcode code;
	size_t n = 0;

	sc_sigpipe_hold(&guard);
	code = curl_easy_recv(stream->curl, data, cap, &n);
	sc_sigpipe_release(&guard);
	if (code == CURLE_AGAIN)
		return SC_STREAM_AGAIN;
	if (code != CURLE_OK)
		return sc_fail(err_out, SANDCELL_E_CONNECT, "reading from the engine: %s",
			curl_easy_strerror(code));
	*len_out = n;
	return n > 0 ? SC_STREAM_DATA : SC_STREAM_END;
}

static int read_raw(sc_stream *stream, void *data, size_t cap, size_t *len_out,
	sandcell_error **err_out)
{
	*len_out = take_unread(stream, data, cap);
	if (*len_out > 0)
		return SC_STREAM_DATA;
	if (stream->curl)
		return read_curl(stream, data, cap, len_out, err_out);
	return read_socket(stream, data, cap, len_out, err_out);
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

static int write_curl(sc_stream *stream, const void *data, size_t len, size_t *len_out,
	sandcell_error **err_out)
{
	struct sc_sigpipe guard;
	CURLcode code;

	sc_sigpipe_hold(&guard);
	code = curl_easy_send(stream->curl, data, len, len_out);
	sc_sigpipe_release(&guard);
	if (code == CURLE_OK && *len_out > 0)
		return SC_STREAM_DATA;
	if (code == CURLE_OK || code == CURLE_AGAIN)
		return SC_STREAM_AGAIN;
	if (code == CURLE_SEND_ERROR)
		return SC_STREAM_END;
	return sc_fail(err_out, SANDCELL_E_CONNECT, "writing to the engine: %s",
		curl_easy_strerror(code));
}

static int write_socket(sc_stream *stream, const void *data, size_t len, size_t *len_out,
	sandcell_error **err_out)
{
	ssize_t n;

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

int sc_stream_write(sc_stream *stream, const void *data, size_t len, size_t *len_out,
	sandcell_error **err_out)
{
	*len_out = 0;
	if (stream->curl)
		return write_curl(stream, data, len, len_out, err_out);
	return write_socket(stream, data, len, len_out, err_out);
}
