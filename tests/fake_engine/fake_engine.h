/* SPDX-License-Identifier: MIT */
#ifndef FAKE_ENGINE_H
#define FAKE_ENGINE_H

/*
 * A scripted engine on a Unix socket, in threads of the test's own process.
 *
 * It answers each request by the newest rule that matches; fake_start() begins with rules
 * for a whole session's life (ping, version, info, images, create, start, inspect, exec,
 * attach, remove), which a test overrides one by one.  Everything asked is recorded.
 *
 * It never sleeps: a reply in slices goes on when the other side has taken the last one,
 * and a connection that hangs does so until fake_stop().  It uses neither the library's
 * allocator nor its parsers, so that tests may break those.
 */

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_engine fake_engine;

enum fake_end {
	FAKE_KEEP = 0, /* the connection takes the next request */
	FAKE_CLOSE,    /* it ends after the reply */
	FAKE_HANG      /* it stays open and silent */
};

/* The bytes that a stream's peer sends and takes; runs on the connection's thread. */
typedef void (*fake_stream_fn)(int fd, void *user);

/* Texts are lent until fake_stop(). */
typedef struct fake_rule {
	const char *on;	     /* "POST /exec/<any>/start": no version, no query; NULL: all */
	int status;	     /* 0: 200 */
	const char *headers; /* further lines, each with its \r\n */
	const char *body;
	size_t body_len; /* 0: strlen(body) */
	const char *raw; /* sent as it stands, in place of all that */
	size_t raw_len;	 /* 0: strlen(raw) */
	size_t chunk;	 /* body in chunks of this size; 0: with a length */
	size_t slice;	 /* bytes per write, each read before the next; 0: all at once */
	bool deaf;	 /* no reply at all */
	enum fake_end end;
	unsigned times;	       /* so many requests only; 0: every one */
	fake_stream_fn stream; /* after the reply; then the connection ends */
	void *user;
} fake_rule;

/* A fresh one; aborts the test when that is not possible. */
fake_engine *fake_start(void);
/* At a path of the caller's choosing. */
fake_engine *fake_start_at(const char *path);
void fake_stop(fake_engine *fake);
const char *fake_path(const fake_engine *fake); /* of the socket */
const char *fake_host(const fake_engine *fake); /* "unix://" and the path */

void fake_on(fake_engine *fake, const fake_rule *rule);
/* The usual case of it. */
void fake_reply(fake_engine *fake, const char *on, int status, const char *body);
/*
 * Closes the connection over which the n-th byte of all replies would go, counted from 0,
 * and goes on as if nothing had been; -1: never.
 */
void fake_cut_at(fake_engine *fake, long long n);
/* Closes a connection once it has received so many bytes of one request; 0: never. */
void fake_drop_uploads(fake_engine *fake, size_t len);
/* Bytes sent so far. */
long long fake_sent(fake_engine *fake);

/* What was asked, in order; a copy for the caller to free, NULL when there are not so many.
 */
size_t fake_requests(fake_engine *fake);
char *fake_request(fake_engine *fake, size_t index); /* as received: head and body */
/* How many requests match `on`. */
size_t fake_count(fake_engine *fake, const char *on);
/* Containers created and not removed: by completed requests, whatever their replies. */
int fake_left(fake_engine *fake);
/* Connections accepted. */
size_t fake_connections(fake_engine *fake);
/* Writes all requests to stderr, for a test that fails. */
void fake_print(fake_engine *fake);

/* Open descriptors of this process. */
size_t fake_open_fds(void);

#endif
