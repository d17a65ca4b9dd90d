/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_QUESTIONS_H
#define SC_SESSION_QUESTIONS_H

/* What the kernel can be asked without running code: names, history, completions. */

#include "session/session.h"

int sc_names(sandcell_session *s, char **json_out, sandcell_error **err_out);
int sc_history(sandcell_session *s, char **json_out, sandcell_error **err_out);
int sc_complete(sandcell_session *s, const char *code, size_t code_len, size_t cursor,
	char **json_out, sandcell_error **err_out);

#endif
