/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_OPERATORS_H
#define SANDCELL_OPERATORS_H

/**
 * @file operators.h
 * @brief For whoever looks after an engine: which sessions there are.
 */

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * All sessions of an engine, running or not, whoever opened them.
 *
 * @param json_out  an array of objects: name, container, kind ("named" or "unnamed"),
 *                  state (as the engine calls it), image, user, workspace (null: none),
 *                  created (seconds since 1970), lease_ms, max_life_ms, owner (object:
 *                  uid, host, pid); free with sandcell_string_free()
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CONNECT, #SANDCELL_E_ENGINE,
 *         #SANDCELL_E_PROTOCOL, #SANDCELL_E_TIMEOUT or #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_list(
	sandcell_engine *engine, char **json_out, sandcell_error **err_out);

#define SANDCELL_REAP_DRY_RUN (UINT32_C(1) << 0) /**< only tell, remove nothing */

/**
 * Remove the sessions that nobody will: unnamed ones whose owner, a process of this host,
 * boot and pid namespace, is gone; named ones that do not run or are past their
 * max_life_ms. Never a container that is not ours.
 *
 * @param json_out  an array of objects: name, container, kind, state, reason, removed; free
 *                  with sandcell_string_free()
 * @return as sandcell_list()
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_reap(
	sandcell_engine *engine, uint32_t flags, char **json_out, sandcell_error **err_out);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_OPERATORS_H */
