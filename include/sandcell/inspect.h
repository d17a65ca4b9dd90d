/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_INSPECT_H
#define SANDCELL_INSPECT_H

/**
 * @file inspect.h
 * @brief Looking into a session's Python without running code in it.
 *
 * Each answer is one JSON text; free it with sandcell_string_free().  The questions wait
 * for the kernel like any call, and run none of the user's code: no `__repr__`, no
 * property.
 *
 * All return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CLOSED, #SANDCELL_E_BUSY, #SANDCELL_E_GONE,
 * #SANDCELL_E_TIMEOUT, #SANDCELL_E_PROTOCOL or #SANDCELL_E_NOMEM.
 */

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The variables by name: [{"name", "type", "repr", "size"}]. */
SANDCELL_API SANDCELL_NODISCARD int sandcell_names(
	sandcell_session *session, char **json_out, sandcell_error **err_out);

/** What was executed since the last reset, oldest first: [{"cell", "code"}]. */
SANDCELL_API SANDCELL_NODISCARD int sandcell_history(
	sandcell_session *session, char **json_out, sandcell_error **err_out);

/**
 * What may stand at @p cursor: {"matches": [...], "start", "end"}; a match replaces the
 * characters from start to end.
 *
 * @param code    UTF-8, @p code_len bytes
 * @param cursor  in characters from the beginning of @p code
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_complete(sandcell_session *session,
	const char *code, size_t code_len, size_t cursor, char **json_out,
	sandcell_error **err_out);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_INSPECT_H */
