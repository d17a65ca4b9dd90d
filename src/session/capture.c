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

void sc_capture_add(sc_capture *capture, const void *data, size_t len)
{
	size_t room = capture->kept.max - capture->kept.len;
	size_t ring = capture->kept.max - capture->head;
	const char *at = data;

	if (room > len)
		room = len;
	if (sc_buf_append(&capture->kept, at, room) < 0) {
		/* The rest of the stream is dropped, too: it would not be its tail. */
		capture->dropped += len;
		return;
	}
	at += room;
	len -= room;
	capture->dropped += len;
	if (len > ring) {
		at += len - ring;
		len = ring;
	}
	if (len > 0)
		replace_oldest(capture, at, len);
}

static void reverse(char *data, size_t len)
{
	for (size_t i = 0; i < len / 2; i++) {
		char c = data[i];
		data[i] = data[len - 1 - i];
		data[len - 1 - i] = c;
	}
}

/* Turns the ring in place: reversing both pieces and then the whole swaps them. */
void sc_capture_finish(sc_capture *capture)
{
	size_t early = capture->oldest - capture->head; /* bytes that belong at the end */

	if (early == 0)
		return;
	char *ring = capture->kept.data + capture->head;
	size_t late = capture->kept.len - capture->oldest;
	reverse(ring, early);
	reverse(ring + early, late);
	reverse(ring, early + late);
	capture->oldest = capture->head;
}

void sc_capture_clear(sc_capture *capture)
{
	sc_buf_clear(&capture->kept);
}
