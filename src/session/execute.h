/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_EXECUTE_H
#define SC_SESSION_EXECUTE_H

/*
 * Calls that have a result: Python code, and command pipelines.  Once the call has been
 * sent, whatever happens to it becomes a result: the container's own, or the host's verdict
 * about a container that is gone, too late or not to be believed.
 */

#include "sandcell/cli.h"
#include "sandcell/execute.h"
#include "session/session.h"

/* opts: loaded by the membrane. */
int sc_execute(sandcell_session *s, const char *code, size_t code_len,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out);

/* Starts it, and lets it go on alone. */
int sc_execute_detached(sandcell_session *s, const char *code, size_t code_len,
	const sandcell_execute_options *opts, uint64_t *call_id_out,
	sandcell_error **err_out);
int sc_fetch_result(sandcell_session *s, uint64_t call_id,
	const sandcell_execute_options *opts, sandcell_result **result_out,
	sandcell_error **err_out);

/* A command that the policy refuses is a result, too. */
int sc_execute_cli(sandcell_session *s, const char *command,
	const sandcell_cli_options *opts, sandcell_result **result_out,
	sandcell_error **err_out);

#endif
