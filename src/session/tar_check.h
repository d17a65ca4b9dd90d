/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_TAR_CHECK_H
#define SC_SESSION_TAR_CHECK_H

/*
 * What an archive may contain, whoever made it: the verdict on each entry, given what came
 * before it.  Pure functions over names and numbers; nothing is opened, followed or asked.
 *
 * An entry is accepted when, unpacked entry by entry into an empty directory by a program
 * that follows no link, it stays inside that directory and touches nothing that an earlier
 * entry made: no absolute name, no "..", nothing below a file or a link, no name twice, no
 * device, no hard link but to a file that came before.  On top of that come the limits.
 *
 * Names are bytes here, as they are for the kernel.  On a file system that takes two of
 * them for one (case, Unicode forms) creating the second one has to fail: whoever unpacks
 * opens with O_EXCL and O_NOFOLLOW.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define SC_TAR_PATH_MAX ((size_t)4095) /* of a name or a link's target */
#define SC_TAR_NAME_MAX ((size_t)255)  /* between two slashes */

typedef enum sc_tar_type {
	SC_TAR_FILE = 1,
	SC_TAR_DIR = 2,
	SC_TAR_SYMLINK = 3,
	SC_TAR_HARDLINK = 4,
	SC_TAR_FORBIDDEN = 5, /* device, FIFO, socket and all the rest */
} sc_tar_type;

/* Refuse symbolic links whose target is not inside the directory that is unpacked to. */
#define SC_TAR_LINKS_INSIDE (UINT32_C(1) << 0)

typedef struct sc_tar_limits {
	uint64_t entries;
	uint64_t bytes;	  /* of content that is really there */
	uint64_t logical; /* of file sizes, holes included */
	uint32_t depth;	  /* names in a path */
	uint32_t flags;	  /* SC_TAR_LINKS_INSIDE */
} sc_tar_limits;

#define SC_TAR_ENTRIES_DEFAULT UINT64_C(250000)
#define SC_TAR_BYTES_DEFAULT   (UINT64_C(8) << 30)
#define SC_TAR_LOGICAL_DEFAULT (UINT64_C(64) << 30)
#define SC_TAR_DEPTH_DEFAULT   128

#define SC_TAR_LIMITS_DEFAULT                                                              \
	{                                                                                  \
		.entries = SC_TAR_ENTRIES_DEFAULT, .bytes = SC_TAR_BYTES_DEFAULT,          \
		.logical = SC_TAR_LOGICAL_DEFAULT, .depth = SC_TAR_DEPTH_DEFAULT,          \
	}

/* One entry as its header describes it. */
typedef struct sc_tar_entry {
	const char *path; /* NUL-terminated; path_len tells of bytes behind a NUL */
	size_t path_len;
	const char *link; /* target of a link, else "" */
	size_t link_len;
	uint64_t size; /* logical: what the file will be long */
	uint64_t
		bytes; /* of content in the archive; less than size where there are holes */
	int64_t mtime; /* seconds */
	uint32_t mode; /* permission bits only: 0777 */
	sc_tar_type type;
} sc_tar_entry;

typedef struct sc_tar_check {
	sc_tar_limits limits;
	uint64_t entries;
	uint64_t bytes;
	uint64_t logical;
	struct sc_tar_slot *slots; /* what each name so far is, by a digest of it */
	size_t slot_count;	   /* a power of two, or 0 */
	size_t used;
	char path[SC_TAR_PATH_MAX + 1]; /* see sc_tar_check_entry() */
	char link[SC_TAR_PATH_MAX + 1];
} sc_tar_check;

void sc_tar_check_init(sc_tar_check *check, const sc_tar_limits *limits);
void sc_tar_check_clear(sc_tar_check *check);

/*
 * 0: acceptable, and from here on part of what came before.  Then check->path is its name
 * without "./", doubled and trailing slashes: "" for the directory itself; check->link is
 * a hard link's target in the same form, or a symbolic link's as it stands.
 * SANDCELL_E_DATA, SANDCELL_E_LIMIT or SANDCELL_E_NOMEM otherwise.
 */
int sc_tar_check_entry(
	sc_tar_check *check, const sc_tar_entry *entry, sandcell_error **err_out);

/*
 * Normalises a name: no "./", no doubled or trailing slash.  SANDCELL_E_DATA when it is
 * empty, absolute, too long, or holds ".." or NUL.  *depth_out counts its components.
 */
int sc_tar_path(const char *path, size_t len, char out[SC_TAR_PATH_MAX + 1],
	uint32_t *depth_out, sandcell_error **err_out);

/*
 * Whether a symbolic link at path (normalised) to target stays inside the root: relative,
 * ".." at its beginning only and not above the root.  A ".." behind a name is refused since
 * that name may be a link itself.
 */
bool sc_tar_link_inside(const char *path, const char *target);

#endif
