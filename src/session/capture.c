/* SPDX-License-Identifier: MIT */
#include "session/capture.h"

#include <string.h>

#define MAX_KEPT ((uint64_t)SIZE_MAX / 4)

void sc_capture_init(sc_capture *capture, uint64_t max)
{
	size_t most = (size_t)(max < MAX_KEPT ? max : MAX_KEPT);

	*capture = (sc_capture){
		.kept = SC_BUF_INIT(most),
		.head = most / 2,
		.oldest = most / 2,
	};
}

/* Writes into the ring; len is at most its size. */
static void replace_oldest(sc_capture *capture, const char *data, size_t len)
{
	size_t piece = capture->kept.max - capture->oldest;

	if (piece > len)
		piece = len;
	memcpy(capture->kept.data + capture->oldest, data, piece);
	memcpy(capture->kept.data + capture->head, data + piece, len - piece);
	capture->oldest += len;
	if (capture->oldest >= capture->kept.max)
		capture->oldest -= capture->kept.max - capture->head;
}

int sc_capture_add(sc_capture *capture, const void *data, size_t len)
{
	size_t room = capture->kept.max - capture->kept.len;
	size_t ring = capture->kept.max - capture->head;
	const char *at = data;
	int rc;

	if (room > len)
		room = len;
	rc = sc_buf_append(&capture->kept, at, room);
	if (rc < 0)
		return rc;
	at += room;
	len -= room;
	capture->dropped += len;
	if (len > ring) {
		at += len - ring;
		len = ring;
	}
	if (len > 0)
		replace_oldest(capture, at, len);
	return 0;
}

int sc_capture_finish(sc_capture *capture)
{
	size_t early = capture->oldest - capture->head; /* bytes that belong at the end */
	sc_autofree char *aside = NULL;
	char *ring = capture->kept.data + capture->head;

	if (capture->dropped == 0 || early == 0)
		return 0;
	aside = sc_malloc(early);
	if (!aside)
		return SANDCELL_E_NOMEM;
	memcpy(aside, ring, early);
	size_t late = capture->kept.len - capture->oldest;
	memmove(ring, ring + early, late);
	memcpy(ring + late, aside, early);
	capture->oldest = capture->head;
	return 0;
}

void sc_capture_clear(sc_capture *capture)
{
	sc_buf_clear(&capture->kept);
}
