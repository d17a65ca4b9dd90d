/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_SNAPSHOT_H
#define SANDCELL_SNAPSHOT_H

/**
 * @file snapshot.h
 * @brief State that survives: snapshots in files, checkpoints in memory.
 *
 * A snapshot holds the variables, functions and classes of a session with its working
 * directory, environment changes, random state, history and saved results.  What cannot be
 * pickled is left out and named in the report.  Pickled data are opaque on this side: they
 * are loaded inside of a container only.
 *
 * A checkpoint is a copy of the Python process inside the container.  It holds everything,
 * unpicklable objects included, but not the contents of files, and ends with the session,
 * a reset or a restore.
 */

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SANDCELL_SNAPSHOT_GZIP	(UINT32_C(1) << 0) /**< compress with gzip, not zstd */
#define SANDCELL_SNAPSHOT_PLAIN (UINT32_C(1) << 1) /**< do not compress */
/** Restore although another Python or image made it. */
#define SANDCELL_SNAPSHOT_FORCE (UINT32_C(1) << 2)

/** How to save or restore; all-zero means the defaults. */
typedef struct sandcell_snapshot_options {
	size_t struct_size;	    /**< sizeof(sandcell_snapshot_options) */
	const char *const *exclude; /**< names not to save, NULL-terminated; NULL: none */
	uint32_t timeout_ms;	    /**< inside of the container; 0: none */
	uint32_t flags;		    /**< SANDCELL_SNAPSHOT_*; unknown bits are refused */
} sandcell_snapshot_options;

/* clang-format off */
#ifdef __cplusplus
#define SANDCELL_SNAPSHOT_OPTIONS_INIT {sizeof(sandcell_snapshot_options), 0, 0, 0}
#else
#define SANDCELL_SNAPSHOT_OPTIONS_INIT {.struct_size = sizeof(sandcell_snapshot_options)}
#endif
/* clang-format on */

/** Run-time twin of the macro, for bindings.  @p size is the caller's sizeof. */
SANDCELL_API void sandcell_snapshot_options_init(
	sandcell_snapshot_options *opts, size_t size);

/**
 * Save the state of a session to a file.
 *
 * Written under another name, synced and renamed: when it fails, an older file stays as it
 * was.  The session's state is not changed.
 *
 * @param opts        NULL for the defaults
 * @param report_out  one JSON object with names, skipped (each with its reason) and more;
 *                    free with sandcell_string_free(); may be NULL
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CLOSED, #SANDCELL_E_BUSY, #SANDCELL_E_GONE,
 *         #SANDCELL_E_TIMEOUT, #SANDCELL_E_PROTOCOL, #SANDCELL_E_LIMIT,
 *         #SANDCELL_E_DATA, #SANDCELL_E_FAIL (the message says why, such as a full disk) or
 *         #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_snapshot_save(sandcell_session *session,
	const char *path, const sandcell_snapshot_options *opts, char **report_out,
	sandcell_error **err_out);

/**
 * Replace the state of a session by that of a file.
 *
 * The file is read twice: it is checked before anything is sent, and the restored state
 * becomes the session's only once all of it has been checked again.  On failure the session
 * is as before.
 *
 * @param report_out  one JSON object with names, skipped, missing and warnings; free with
 *                    sandcell_string_free(); may be NULL
 * @return as sandcell_snapshot_save(), and #SANDCELL_E_CONFLICT for a snapshot of another
 *         Python version or image
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_snapshot_restore(sandcell_session *session,
	const char *path, const sandcell_snapshot_options *opts, char **report_out,
	sandcell_error **err_out);

/**
 * Check a file and tell what is in it, without a session.
 *
 * @param json_out  one JSON object with manifest, members and report; free with
 *                  sandcell_string_free()
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_DATA, #SANDCELL_E_LIMIT, #SANDCELL_E_FAIL or
 *         #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_snapshot_inspect(
	const char *path, char **json_out, sandcell_error **err_out);

/**
 * Keep a copy of the state, to roll back to.  At most 8 are kept, the oldest goes first.
 *
 * @param id_out      the checkpoint's number
 * @param report_out  one JSON object: children, sockets, shared_maps, which a rollback will
 *                    not bring back; free with sandcell_string_free(); may be NULL
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CONFLICT (threads make it unsafe),
 *         #SANDCELL_E_CLOSED, #SANDCELL_E_BUSY, #SANDCELL_E_GONE, #SANDCELL_E_TIMEOUT,
 *         #SANDCELL_E_PROTOCOL or #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_checkpoint(sandcell_session *session,
	uint64_t *id_out, char **report_out, sandcell_error **err_out);
/** Go back to a checkpoint, which stays.  @return as sandcell_checkpoint() */
SANDCELL_API SANDCELL_NODISCARD int sandcell_rollback(
	sandcell_session *session, uint64_t id, sandcell_error **err_out);
/** Forget a checkpoint.  @return as sandcell_checkpoint() */
SANDCELL_API SANDCELL_NODISCARD int sandcell_checkpoint_drop(
	sandcell_session *session, uint64_t id, sandcell_error **err_out);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_SNAPSHOT_H */
