/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_TAR_HEADER_H
#define SC_SESSION_TAR_HEADER_H

/*
 * The fields of a tar header and the records of a pax header: pure, fixed-size, no
 * allocation.  Used by tar_read only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define SC_TAR_HEADER_PATH ((size_t)256) /* prefix, slash and name */
#define SC_TAR_HEADER_LINK ((size_t)100)

typedef struct sc_tar_header {
	char path[SC_TAR_HEADER_PATH + 1];
	char link[SC_TAR_HEADER_LINK + 1];
	uint64_t size;
	int64_t mtime;
	uint32_t mode;
	char type; /* the flag as it stands, '\0' read as '0' */
} sc_tar_header;

/* SANDCELL_E_DATA unless it is a whole POSIX or GNU header with a right checksum. */
int sc_tar_header_parse(
	const unsigned char *block, sc_tar_header *header, sandcell_error **err_out);

/* Whether all bytes are zero. */
bool sc_tar_is_zero(const void *data, size_t len);

/* One "LENGTH KEY=VALUE\n" of a pax header; key and value are lent, not terminated. */
typedef struct sc_pax_record {
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
} sc_pax_record;

/* Takes the record at *at and moves on; SANDCELL_E_DATA when there is none. */
int sc_pax_next(
	const char **at, const char *end, sc_pax_record *record, sandcell_error **err_out);
bool sc_pax_is(const sc_pax_record *record, const char *key);
/* The value as a number; false when it is not one. */
bool sc_pax_size(const sc_pax_record *record, uint64_t *out);
/* The value as a time, cut to seconds. */
bool sc_pax_time(const sc_pax_record *record, int64_t *out);

#endif
