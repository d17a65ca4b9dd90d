/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_FILES_H
#define SANDCELL_FILES_H

/**
 * @file files.h
 * @brief Files into a session and out of it.
 *
 * Done as the user of the session, under the container's own view of its files: below a
 * read-only root, in memory file systems and in the workspace alike.  No symbolic link is
 * followed, at any place of a path.
 */

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Write a file; missing directories are made.
 *
 * The content appears under its name at once and whole, or not at all.
 *
 * @param path  in the container; relative to the workspace when it is not absolute
 * @param data  the content, of any bytes
 * @param len   of it; at most 8 GiB
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CLOSED, #SANDCELL_E_BUSY, #SANDCELL_E_GONE,
 *         #SANDCELL_E_TIMEOUT, #SANDCELL_E_PROTOCOL, #SANDCELL_E_LIMIT,
 *         #SANDCELL_E_FAIL (the message says why, such as a full disk) or
 *         #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_put(sandcell_session *session,
	const char *path, const void *data, size_t len, sandcell_error **err_out);

/**
 * Read a file.
 *
 * @param max       bytes that are accepted; 0: 64 MiB
 * @param data_out  the content, followed by a NUL that is not counted; free with
 *                  sandcell_string_free()
 * @param len_out   its length
 * @return as sandcell_put(), and #SANDCELL_E_DATA when what came is not one file
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_get(sandcell_session *session,
	const char *path, uint64_t max, char **data_out, size_t *len_out,
	sandcell_error **err_out);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_FILES_H */
