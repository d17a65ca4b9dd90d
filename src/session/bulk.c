/* SPDX-License-Identifier: MIT */
#include "session/bulk.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "session/recover.h"

#define WINDOW	  (UINT64_C(512) << 10)
#define GIVE_BACK (UINT64_C(128) << 10)
/* Without any frame for so long the other side is taken for lost. */
#define IDLE_MS	    600000
#define HASH_DIGITS 64
#define SENT_MS	    2

static int send_plain(sc_bulk *bulk, json_t *header, sandcell_error **err_out)
{
	sc_autojson *owned = header;

	if (!owned)
		return sc_fail_nomem(err_out);
	return sc_channel_send_frame(bulk->s->channel, owned, err_out);
}

/* ---- what comes ---- */

static int take_chunk(const void *data, size_t len, void *user, sandcell_error **err_out)
{
	sc_bulk *bulk = user;
	uint64_t owed = 0;

	if (!bulk->sink)
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"frame from the container: a chunk that nobody asked for");
	bulk->bytes += len;
	bulk->owed += len;
	if (EVP_DigestUpdate(bulk->hash, data, len) != 1)
		return sc_fail_nomem(err_out);
	if (bulk->rc == 0)
		bulk->rc = bulk->sink(data, len, bulk->user, &bulk->why);
	if (bulk->owed < GIVE_BACK)
		return 0;
	owed = bulk->owed;
	bulk->owed = 0;
	return send_plain(bulk,
		json_pack("{s:s, s:I, s:I}", "type", "credit", "id",
			(json_int_t)bulk->call.id, "bytes", (json_int_t)owed),
		err_out);
}

static int take_credit(uint64_t bytes, void *user, sandcell_error **err_out)
{
	sc_bulk *bulk = user;

	bulk->room += bytes;
	if (bulk->room > WINDOW)
		return sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"frame from the container: more credit than the window");
	return 0;
}

/* ---- life ---- */

int sc_bulk_start(sc_bulk *bulk, sandcell_session *s, json_t *header, sc_bulk_fn sink,
	void *user, sandcell_error **err_out)
{
	static const struct sc_call_handlers handlers = {
		.chunk = take_chunk, .credit = take_credit};
	uint64_t id = sc_channel_next_id(s->channel);
	int rc;

	*bulk = (sc_bulk){
		.s = s,
		.header = header,
		.hash = EVP_MD_CTX_new(),
		.room = WINDOW,
		.sink = sink,
		.user = user,
	};
	if (!header || !bulk->hash ||
		EVP_DigestInit_ex(bulk->hash, EVP_sha256(), NULL) != 1 ||
		json_object_set_new(header, "id", json_integer((json_int_t)id)) < 0)
		return sc_fail_nomem(err_out);
	rc = sc_call_init(&bulk->call, id, header, NULL, 0, &handlers, bulk, err_out);
	if (rc == 0)
		rc = sc_channel_start(s->channel, &bulk->call, err_out);
	return rc;
}

void sc_bulk_clear(sc_bulk *bulk)
{
	if (bulk->s && bulk->s->channel && bulk->call.id) {
		if (!sc_call_ended(&bulk->call))
			(void)send_plain(bulk,
				json_pack("{s:s, s:I}", "type", "interrupt", "target",
					(json_int_t)bulk->call.id),
				NULL);
		sc_channel_drop(bulk->s->channel, &bulk->call);
	}
	sc_call_clear(&bulk->call);
	json_decref(bulk->header);
	EVP_MD_CTX_free(bulk->hash);
	sandcell_error_free(bulk->why);
	*bulk = (sc_bulk){0};
}

void sc_bulk_recover(sandcell_session *s, int rc)
{
	struct sc_verdict verdict;

	if (rc != SANDCELL_E_GONE && rc != SANDCELL_E_PROTOCOL && rc != SANDCELL_E_TIMEOUT)
		return;
	sc_recover(s, sc_loss_of(rc), &verdict);
	s->replaced = s->replaced || verdict.replaced;
}

/* ---- running ---- */

/* Moves frames once, waiting until the deadline; heeds sandcell_interrupt(). */
static int move(sc_bulk *bulk, sc_deadline deadline, sandcell_error **err_out)
{
	int rc = sc_channel_pump(bulk->s->channel, deadline, err_out);

	if (rc == SC_PUMP_WOKEN && atomic_load(&bulk->s->closing))
		return sc_fail(err_out, SANDCELL_E_CLOSED,
			"the session was closed during the transfer");
	if ((rc != SC_PUMP_WOKEN && rc != SC_PUMP_STOPPED && bulk->rc == 0) ||
		bulk->interrupted || rc < 0)
		return rc;
	bulk->interrupted = true;
	return send_plain(bulk,
		json_pack("{s:s, s:I}", "type", "interrupt", "target",
			(json_int_t)bulk->call.id),
		err_out);
}

/* Waits for something to move. */
static int wait(sc_bulk *bulk, sandcell_error **err_out)
{
	int rc = move(bulk, sc_deadline_in_ms(IDLE_MS), err_out);

	if (rc == SC_PUMP_TIMEOUT && !bulk->interrupted)
		return sc_fail(err_out, SANDCELL_E_TIMEOUT,
			"the container has not moved for %d s", IDLE_MS / 1000);
	return rc < 0 ? rc : 0;
}

/* Waits until the next piece may go out: what is queued is sent, and the window has room.
 */
static int wait_for_room(sc_bulk *bulk, sandcell_error **err_out)
{
	sc_channel *channel = bulk->s->channel;
	sc_deadline patience = sc_deadline_in_ms(IDLE_MS);

	for (;;) {
		bool sending = sc_channel_is_sending(channel);
		int rc = 0;

		if (sc_call_ended(&bulk->call) || (bulk->room > 0 && !sending))
			return 0;
		/* Once all is sent, a pump waits for what comes: not for long, then. */
		rc = move(bulk, sending ? sc_deadline_in_ms(SENT_MS) : patience, err_out);
		if (rc < 0)
			return rc;
		if (sc_deadline_passed(patience))
			return sc_fail(err_out, SANDCELL_E_TIMEOUT,
				"the container has taken nothing for %d s", IDLE_MS / 1000);
	}
}

static int ended_early(sc_bulk *bulk, sandcell_error **err_out)
{
	const char *text = sc_content_get(&bulk->call.content, "error", NULL);
	const char *status = sc_json_get_str(bulk->call.result, "status", "missing");

	return sc_fail(err_out, SANDCELL_E_FAIL, "%s", text ? text : status);
}

int sc_bulk_send(sc_bulk *bulk, const void *data, size_t len, sandcell_error **err_out)
{
	const char *at = data;
	int rc;

	while (len > 0) {
		rc = wait_for_room(bulk, err_out);
		if (rc < 0)
			return rc;
		if (sc_call_ended(&bulk->call))
			return ended_early(bulk, err_out);
		size_t piece = len < SC_FRAME_PAYLOAD_MAX ? len : SC_FRAME_PAYLOAD_MAX;
		if (piece > bulk->room)
			piece = (size_t)bulk->room;
		if (EVP_DigestUpdate(bulk->hash, at, piece) != 1)
			return sc_fail_nomem(err_out);
		rc = sc_channel_send_chunk(
			bulk->s->channel, bulk->call.id, at, piece, err_out);
		if (rc < 0)
			return rc;
		bulk->room -= piece;
		bulk->bytes += piece;
		rc = move(bulk, 0, err_out);
		if (rc < 0)
			return rc;
		at += piece;
		len -= piece;
	}
	return 0;
}

static void hash_text(sc_bulk *bulk, char text[HASH_DIGITS + 1])
{
	unsigned char digest[EVP_MAX_MD_SIZE] = {0};

	(void)EVP_DigestFinal_ex(bulk->hash, digest, NULL);
	for (size_t i = 0; i < HASH_DIGITS / 2; i++) {
		text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	text[HASH_DIGITS] = '\0';
}

/* The container's count and hash of a stream that came from it. */
static int compare(sc_bulk *bulk, const char *hash, sandcell_error **err_out)
{
	const json_t *result = bulk->call.result;

	if (sc_json_get_int(result, "bytes", -1) == (int64_t)bulk->bytes &&
		strcmp(sc_json_get_str(result, "sha256", ""), hash) == 0)
		return 0;
	return sc_fail(err_out, SANDCELL_E_DATA,
		"the stream from the container was damaged on its way");
}

int sc_bulk_finish(sc_bulk *bulk, const char *what, sandcell_error **err_out)
{
	char hash[HASH_DIGITS + 1];
	int rc = 0;

	if (!bulk->sink) {
		hash_text(bulk, hash);
		rc = send_plain(bulk,
			json_pack("{s:s, s:I, s:I, s:s}", "type", "end", "id",
				(json_int_t)bulk->call.id, "bytes", (json_int_t)bulk->bytes,
				"sha256", hash),
			err_out);
	}
	while (rc == 0 && !sc_call_ended(&bulk->call))
		rc = wait(bulk, err_out);
	if (rc < 0)
		return rc;
	if (bulk->rc < 0) {
		sandcell_error *why = SANDCELL_TAKE(bulk->why);
		if (err_out)
			*err_out = why;
		else
			sandcell_error_free(why);
		return bulk->rc;
	}
	rc = sc_call_check(&bulk->call, what, err_out);
	if (rc < 0 || !bulk->sink)
		return rc;
	hash_text(bulk, hash);
	return compare(bulk, hash, err_out);
}
