/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_REPORT_H
#define SANDCELL_CLI_REPORT_H

/* How errors and results reach the shell: exit codes, stderr, and JSON on stdout. */

#include <sandcell/error.h>
#include <sandcell/result.h>
#include <sandcell/session.h>

#include "output.h"

/* Prints and frees err, and with json an object of status "failed" on stdout; answers the
 * exit code for it. */
int report_failure(sandcell_error *err, int json);
/* What the library wants said about a session: limits not in force, who the code is. */
void report_warnings(const sandcell_session *session);
/* Says on stderr why a call did not end well. */
void report_result(const sandcell_result *result, struct output *error_output);
int report_exit_code(const sandcell_result *result);

#endif
