/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_TAR_READ_H
#define SC_SESSION_TAR_READ_H

/*
 * A strict reader of tar streams: bytes in, cut anywhere; checked entries and their content
 * out.  Pure, allocates only for long names and for the check's memory of names.
 *
 * Every tar stream that sandcell acts on comes through here, and what is acted on is what
 * was checked: there is no second pass that might read the headers in another way.  POSIX
 * (ustar, pax) and GNU archives are understood, with the extensions that GNU tar, bsdtar
 * and Python write; what two programs might read differently is refused: bad checksums,
 * repeated or contradicting records, mixed kinds of long names, sparse formats other than
 * GNU 1.0, anything but zeros behind the end.  Owners, ACLs, extended attributes and flags
 * are not handed on at all.
 *
 * A failure is final.  SANDCELL_E_DATA: the archive is not one, or is unsafe;
 * SANDCELL_E_LIMIT: it is too much.
 */

#include "base/buf.h"
#include "session/tar_check.h"

#define SC_TAR_BLOCK	     ((size_t)512)
#define SC_TAR_EXTENSION_MAX ((size_t)64 << 10) /* of a pax header or a long name */

/*
 * Receives what the archive holds.  A negative return ends the reading and is handed on.
 * Entries are accepted ones; their path and link are normalised (sc_tar_check_entry) and
 * lent for the call.  data comes in order; bytes that no call gives are holes.  end follows
 * each entry.  Any member may be NULL.
 */
typedef struct sc_tar_handler {
	int (*entry)(const sc_tar_entry *entry, void *user, sandcell_error **err_out);
	int (*data)(uint64_t offset, const void *data, size_t len, void *user,
		sandcell_error **err_out);
	int (*end)(void *user, sandcell_error **err_out);
	void *user;
} sc_tar_handler;

enum sc_tar_state {
	SC_TAR_AT_HEADER,
	SC_TAR_IN_EXTENSION, /* a pax header or a long name */
	SC_TAR_IN_MAP,	     /* of a sparse file, in front of its content */
	SC_TAR_IN_MAP_PADDING,
	SC_TAR_IN_DATA,
	SC_TAR_IN_PADDING,
	SC_TAR_BEHIND_END,
};

struct sc_tar_region {
	uint64_t offset;
	uint64_t len;
};

/* What the extensions in front of a header say about it. */
struct sc_tar_extra {
	sc_buf path;
	sc_buf link;
	uint64_t size;
	uint64_t real_size; /* of a sparse file */
	int64_t mtime;
	uint32_t seen;	    /* SEEN_*: which of all these are set */
	uint32_t sparse[2]; /* version of the sparse format */
};

typedef struct sc_tar_reader {
	sc_tar_check check;
	sc_tar_handler handler;
	enum sc_tar_state state;
	unsigned char block[SC_TAR_BLOCK];
	size_t have;	     /* bytes in block */
	char extension_type; /* 'x', 'g', 'L' or 'K' */
	sc_buf extension;
	struct sc_tar_extra extra;
	sc_tar_entry entry;
	uint64_t stored;   /* what the header says is stored for this entry */
	uint64_t left;	   /* of it, still to come */
	uint64_t map_left; /* numbers of the sparse map still to come */
	uint64_t map_number;
	size_t map_digits;
	size_t map_padding;
	bool map_counted; /* its first number, which tells how many follow, is known */
	struct sc_tar_region *regions; /* the sparse map */
	size_t region_count;
	size_t region; /* the one being filled, at region_at */
	uint64_t region_at;
	size_t padding;
	int rc; /* first failure */
} sc_tar_reader;

void sc_tar_reader_init(
	sc_tar_reader *reader, const sc_tar_limits *limits, const sc_tar_handler *handler);
void sc_tar_reader_clear(sc_tar_reader *reader);
int sc_tar_reader_feed(
	sc_tar_reader *reader, const void *data, size_t len, sandcell_error **err_out);
/* The stream has ended: fails unless the archive did so before. */
int sc_tar_reader_end(sc_tar_reader *reader, sandcell_error **err_out);

#endif
