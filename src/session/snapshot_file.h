/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_SNAPSHOT_FILE_H
#define SC_SESSION_SNAPSHOT_FILE_H

/*
 * The file of a snapshot: a tar with `manifest.json` first, the state in members of at most
 * 8 MiB (`state/00000` ...), and `index.json` last, which has size and SHA-256 of every
 * member before it.  Without a fitting index the file is refused as cut or damaged.
 *
 * Written under another name, synced, renamed: a failed save leaves an older file alone.
 * Read through sc_tar_reader; libarchive only takes compression off (none, gzip, zstd) and
 * has no other filter, so no file can ask for a program.
 */

#include <jansson.h>

#include "base/buf.h"

#define SC_SNAPSHOT_FORMAT 1
#define SC_SNAPSHOT_MEMBER ((size_t)8 << 20)

enum sc_compression { SC_COMPRESS_ZSTD = 0, SC_COMPRESS_GZIP = 1, SC_COMPRESS_NONE = 2 };

typedef struct sc_snapshot_writer sc_snapshot_writer;

int sc_snapshot_writer_new(const char *path, enum sc_compression compression,
	const json_t *manifest, sc_snapshot_writer **out, sandcell_error **err_out);
int sc_snapshot_writer_add(
	sc_snapshot_writer *writer, const void *data, size_t len, sandcell_error **err_out);
/* Writes the index with the report in it, and puts the file in its place. */
int sc_snapshot_writer_finish(
	sc_snapshot_writer *writer, json_t *report, sandcell_error **err_out);
/* Unfinished: nothing of it stays. */
void sc_snapshot_writer_free(sc_snapshot_writer *writer);

static inline void sc_snapshot_writer_freep(sc_snapshot_writer **writer)
{
	sc_snapshot_writer_free(*writer);
}

/* Receives the state in pieces; may be NULL. */
typedef int (*sc_snapshot_fn)(
	const void *data, size_t len, void *user, sandcell_error **err_out);

/*
 * Reads the whole file and checks it: 0 only when everything was there and fits the index.
 * on_state sees the state before that is known.  Out-parameters are json objects.
 */
int sc_snapshot_read(int fd, const char *path, sc_snapshot_fn on_state, void *user,
	json_t **manifest_out, json_t **index_out, sandcell_error **err_out);

#endif
