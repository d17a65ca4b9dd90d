/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_BULK_H
#define SC_SESSION_BULK_H

/*
 * A call with a stream of bulk data (PROTOCOL.md, Streams): put and restore send one, get
 * and snapshot receive one.  At most a window of it is under way, so that an interrupt
 * never waits behind it; count and hash of both ends have to agree.
 */

#include <openssl/evp.h>

#include "session/call.h"
#include "session/session.h"

/* What comes; a negative return ends the call, which then fails with it. */
typedef int (*sc_bulk_fn)(
	const void *data, size_t len, void *user, sandcell_error **err_out);

typedef struct sc_bulk {
	sandcell_session *s;
	sc_call call;
	json_t *header;
	EVP_MD_CTX *hash;
	uint64_t bytes;
	uint64_t room; /* may still be sent */
	uint64_t owed; /* received, and not yet given back */
	sc_bulk_fn sink;
	void *user;
	bool interrupted;
	int rc; /* of the sink */
	sandcell_error *why;
} sc_bulk;

/* On a session that was entered.  Takes the header, which needs no id; sink: NULL to send.
 */
int sc_bulk_start(sc_bulk *bulk, sandcell_session *s, json_t *header, sc_bulk_fn sink,
	void *user, sandcell_error **err_out);
/* Sends a piece; fails when the call has ended before, with what its result says. */
int sc_bulk_send(sc_bulk *bulk, const void *data, size_t len, sandcell_error **err_out);
/* Sends the end, unless this receives, and waits for the result, which has to be "ok". */
int sc_bulk_finish(sc_bulk *bulk, const char *what, sandcell_error **err_out);
/* Also in the middle: the other side then leaves everything as it was. */
void sc_bulk_clear(sc_bulk *bulk);
/* After a failure of any of these: a container that is lost is replaced. */
void sc_bulk_recover(sandcell_session *s, int rc);

#endif
