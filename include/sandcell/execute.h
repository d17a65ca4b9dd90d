/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_EXECUTE_H
#define SANDCELL_EXECUTE_H

/**
 * @file execute.h
 * @brief Running Python code in a session.
 */

#include "result.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Receives output as it arrives, every byte of it, whatever the limits on what is kept.
 *
 * Called on the thread that called sandcell_execute(), never twice at once for one session.
 * @p data is lent until the callback returns and is not NUL-terminated.  Return 0 to go on;
 * any other value interrupts the call, which then fails with #SANDCELL_E_CALLBACK.  Do not
 * call the same session from inside, except sandcell_interrupt().
 */
typedef int (*sandcell_output_fn)(
	sandcell_stream stream, const void *data, size_t len, void *user);

/**
 * End as a program does: wait for the threads it started, then run its atexit functions.
 * Meant for the last call of a session.
 */
#define SANDCELL_EXECUTE_PROGRAM (UINT32_C(1) << 0)

/** List the files below /workspace that the call creates, changes or removes. */
#define SANDCELL_EXECUTE_ARTIFACTS (UINT32_C(1) << 1)

/** Fail with #SANDCELL_E_BUSY when another client's call runs, in place of waiting. */
#define SANDCELL_EXECUTE_NO_WAIT (UINT32_C(1) << 2)

/**
 * When the call ends Python itself (a crash, a kill for time or memory, os._exit()), go on
 * with the variables from before it: the state is preserved, and `rolled_back` is in the
 * details.  Where threads make that unsafe, `recover_refused` there says so.
 */
#define SANDCELL_EXECUTE_RECOVER (UINT32_C(1) << 3)

/** How to run one piece of code. */
typedef struct sandcell_execute_options {
	size_t struct_size;	      /**< sizeof(sandcell_execute_options) */
	sandcell_output_fn on_output; /**< NULL: keep, do not stream */
	void *output_user;	      /**< passed to on_output as it stands */
	const void *stdin_data;	      /**< what the code reads from stdin; NULL: nothing */
	size_t stdin_len;	      /**< bytes of stdin_data */
	const char *script;	      /**< run as this script: __file__, sys.path[0]; "-c"
					   and "-" as python(1) has them */
	const char *const *args;      /**< sys.argv[1:], NULL-terminated; NULL: none */
	uint64_t output_max;	      /**< bytes kept per stream; 0: the session's */
	uint32_t timeout_ms;	      /**< 0: the session's; #SANDCELL_NO_TIMEOUT: none */
	uint32_t flags;		      /**< SANDCELL_EXECUTE_*; unknown bits are refused */
	const char *stdout_file; /**< all of stdout goes there as well; NULL: nowhere */
	const char *stderr_file; /**< the same for stderr */
} sandcell_execute_options;

/* clang-format off */
#ifdef __cplusplus
#define SANDCELL_EXECUTE_OPTIONS_INIT \
	{sizeof(sandcell_execute_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
#else
#define SANDCELL_EXECUTE_OPTIONS_INIT {.struct_size = sizeof(sandcell_execute_options)}
#endif
/* clang-format on */

/** Run-time twin of the macro, for bindings.  @p size is the caller's sizeof. */
SANDCELL_API void sandcell_execute_options_init(
	sandcell_execute_options *opts, size_t size);

/**
 * Run @p code and wait for it.
 *
 * Variables, imports and functions stay for the next call.  Code that raises, exits, is
 * killed or runs out of time is a success of this call: look at the result.  The call fails
 * only when the code never began.
 *
 * @param code        UTF-8; need not be NUL-terminated
 * @param code_len    bytes, at most 16 MiB
 * @param opts        NULL for the defaults
 * @param result_out  free with sandcell_result_free()
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CLOSED, #SANDCELL_E_BUSY, #SANDCELL_E_CALLBACK,
 *         #SANDCELL_E_GONE, #SANDCELL_E_LIMIT (code too long; stdout_file or stderr_file
 *         took no more, and the call was stopped) or #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_execute(sandcell_session *session,
	const char *code, size_t code_len, const sandcell_execute_options *opts,
	sandcell_result **result_out, sandcell_error **err_out);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_EXECUTE_H */
