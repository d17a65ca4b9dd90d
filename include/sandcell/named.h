/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_NAMED_H
#define SANDCELL_NAMED_H

/**
 * @file named.h
 * @brief Sessions that outlive the process which opened them.
 *
 * A session is found by its name, by any process that may use the engine.  Its clients'
 * calls take turns.  When the last client is gone, the session's lease counts down; at its
 * end the container is removed.
 */

#include "execute.h"
#include "result.h"
#include "session.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Only look on: the session's lease and idle time go on as if nobody were there. */
#define SANDCELL_ATTACH_OBSERVE (UINT32_C(1) << 0)

/** How to attach to a session. */
typedef struct sandcell_attach_options {
	size_t struct_size;	    /**< sizeof(sandcell_attach_options) */
	sandcell_wait_fn on_wait;   /**< NULL: wait without looking up */
	void *wait_user;	    /**< passed to on_wait as it stands */
	uint64_t output_max;	    /**< bytes kept per stream and call; 0: 1 MiB */
	uint32_t timeout_ms;	    /**< default for each call; 0: 600 s */
	uint32_t attach_timeout_ms; /**< 0: 30 s */
	uint32_t lease_ms;	    /**< 0: leave the session's lease as it is */
	uint32_t flags;		    /**< SANDCELL_ATTACH_*; unknown bits are refused */
} sandcell_attach_options;

/* clang-format off */
#ifdef __cplusplus
#define SANDCELL_ATTACH_OPTIONS_INIT {sizeof(sandcell_attach_options), 0, 0, 0, 0, 0, 0, 0}
#else
#define SANDCELL_ATTACH_OPTIONS_INIT {.struct_size = sizeof(sandcell_attach_options)}
#endif
/* clang-format on */

/** Run-time twin of the macro, for bindings.  @p size is the caller's sizeof. */
SANDCELL_API void sandcell_attach_options_init(sandcell_attach_options *opts, size_t size);

/**
 * Use a session that is open already.
 *
 * Everything works as on a session that this process opened, except that a container which
 * is lost is not replaced: its calls then fail with #SANDCELL_E_GONE.
 *
 * @param engine       must outlive the session
 * @param name         as given when it was opened
 * @param opts         copied; NULL for the defaults
 * @param session_out  free with sandcell_session_free(), which leaves the container alone
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CONNECT, #SANDCELL_E_NOTFOUND (no such
 *         session), #SANDCELL_E_ENGINE, #SANDCELL_E_PROTOCOL, #SANDCELL_E_TIMEOUT,
 *         #SANDCELL_E_CALLBACK (on_wait), #SANDCELL_E_GONE (it has ended) or
 *         #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_session_attach(sandcell_engine *engine,
	const char *name, const sandcell_attach_options *opts,
	sandcell_session **session_out, sandcell_error **err_out);

/**
 * Let go of a session without removing its container; for us it is closed then.
 *
 * @return 0, #SANDCELL_E_INVAL (in a forked child) or #SANDCELL_E_BUSY (from inside a
 *         callback)
 */
SANDCELL_API int sandcell_session_detach(
	sandcell_session *session, sandcell_error **err_out);

/**
 * Set how long the session lives once its last client is gone; counted from now when none
 * is there.
 *
 * @param lease_ms  0 is refused
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CLOSED, #SANDCELL_E_BUSY, #SANDCELL_E_GONE,
 *         #SANDCELL_E_TIMEOUT, #SANDCELL_E_PROTOCOL or #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_session_set_lease(
	sandcell_session *session, uint32_t lease_ms, sandcell_error **err_out);

/**
 * Figures of a session: one JSON object with processes, memory_bytes, cpu_ns, calls, ended
 * (calls by status), running (ids), running_ms, clients, idle_ms, age_ms, lease_ms,
 * lease_left_ms (null: a client is there), life_left_ms (null: no limit).
 *
 * @param json_out  free with sandcell_string_free()
 * @return as sandcell_session_set_lease()
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_session_stat(
	sandcell_session *session, char **json_out, sandcell_error **err_out);

/**
 * Stop the calls of all clients of the session, those that wait for their turn included.
 *
 * @param count_out  how many there were; may be NULL
 * @return as sandcell_session_set_lease()
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_session_interrupt_all(
	sandcell_session *session, uint32_t *count_out, sandcell_error **err_out);

/**
 * Start @p code and do not wait for it: it goes on after this client is gone.
 *
 * @param opts         needs a timeout_ms; output goes nowhere but into the result
 * @param call_id_out  for sandcell_fetch_result(), in this process or another one
 * @return as sandcell_execute()
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_execute_detached(sandcell_session *session,
	const char *code, size_t code_len, const sandcell_execute_options *opts,
	uint64_t *call_id_out, sandcell_error **err_out);

/**
 * The result of a call by its id, waiting for it while it runs.
 *
 * The session keeps the last 64 results until it is reset: their displays up to 8 MiB, and
 * of each stream 1 MiB.  sandcell_interrupt() ends the waiting, not the call.
 *
 * @param opts        its on_output, output_user, output_max, timeout_ms (for the waiting;
 *                    0: as long as it takes) and #SANDCELL_EXECUTE_NO_WAIT; NULL for the
 *                    defaults
 * @param result_out  free with sandcell_result_free()
 * @return 0, #SANDCELL_E_NOTFOUND (no such call), #SANDCELL_E_TIMEOUT or #SANDCELL_E_BUSY
 *         (it still runs), or as sandcell_execute()
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_fetch_result(sandcell_session *session,
	uint64_t call_id, const sandcell_execute_options *opts,
	sandcell_result **result_out, sandcell_error **err_out);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_NAMED_H */
