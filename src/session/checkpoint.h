/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_CHECKPOINT_H
#define SC_SESSION_CHECKPOINT_H

/* Copies of the Python process inside the container, to go back to in milliseconds. */

#include "session/session.h"

int sc_checkpoint(
	sandcell_session *s, uint64_t *id_out, char **report_out, sandcell_error **err_out);
int sc_rollback(sandcell_session *s, uint64_t id, sandcell_error **err_out);
int sc_checkpoint_drop(sandcell_session *s, uint64_t id, sandcell_error **err_out);

#endif
