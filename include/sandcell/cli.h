/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_H
#define SANDCELL_CLI_H

/**
 * @file cli.h
 * @brief The allowlisted, read-only command runner.
 *
 * No shell is involved anywhere: the command is parsed here, judged as parsed, and run as
 * judged.
 */

#include "execute.h"
#include "result.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Operators inside quotes are plain text (awk '$1 > 5'); without it they are refused. */
#define SANDCELL_CLI_QUOTED_OPERATORS (UINT32_C(1) << 0)

/** How to run one command. */
typedef struct sandcell_cli_options {
	size_t struct_size;	      /**< sizeof(sandcell_cli_options) */
	sandcell_output_fn on_output; /**< NULL: keep, do not stream */
	void *output_user;	      /**< passed to on_output as it stands */
	uint64_t output_max;	      /**< bytes kept per stream; 0: the session's */
	uint32_t timeout_ms;	      /**< 0: the session's; #SANDCELL_NO_TIMEOUT: none */
	uint32_t flags;		      /**< SANDCELL_CLI_*; unknown bits are refused */
} sandcell_cli_options;

/* clang-format off */
#ifdef __cplusplus
#define SANDCELL_CLI_OPTIONS_INIT {sizeof(sandcell_cli_options), 0, 0, 0, 0, 0}
#else
#define SANDCELL_CLI_OPTIONS_INIT {.struct_size = sizeof(sandcell_cli_options)}
#endif
/* clang-format on */

/** Run-time twin of the macro, for bindings.  @p size is the caller's sizeof. */
SANDCELL_API void sandcell_cli_options_init(sandcell_cli_options *opts, size_t size);

/**
 * Judge a command without running it.  Pure: no engine, no session, no file is touched.
 *
 * @param command      NUL-terminated
 * @param flags        SANDCELL_CLI_*
 * @param message_out  the first violation when it is refused; free with
 *                     sandcell_string_free(); may be NULL
 * @return 0: allowed; 1: refused; #SANDCELL_E_INVAL or #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_validate_cli_command(
	const char *command, uint32_t flags, char **message_out);

/**
 * Run an allowed command and wait for it.
 *
 * A refused command is a result of status #SANDCELL_RESULT_DENIED.  Variables are
 * untouched.
 *
 * @param result_out  free with sandcell_result_free()
 * @return as sandcell_execute()
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_execute_cli(sandcell_session *session,
	const char *command, const sandcell_cli_options *opts, sandcell_result **result_out,
	sandcell_error **err_out);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_CLI_H */
