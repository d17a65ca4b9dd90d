/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_NAMED_H
#define SC_SESSION_NAMED_H

/* What is asked of a supervisor about the session as a whole, and not of its Python. */

#include "session/session.h"

int sc_session_set_lease(sandcell_session *s, uint32_t lease_ms, sandcell_error **err_out);
int sc_session_stat(sandcell_session *s, char **json_out, sandcell_error **err_out);
int sc_session_interrupt_all(
	sandcell_session *s, uint32_t *count_out, sandcell_error **err_out);

#endif
