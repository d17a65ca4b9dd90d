/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_ATTACH_H
#define SC_SESSION_ATTACH_H

/* A session that is open already, found by its name. */

#include "sandcell/named.h"
#include "session/session.h"

/* opts: loaded by the membrane. */
int sc_session_attach(sandcell_engine *engine, const char *name,
	const sandcell_attach_options *opts, sandcell_session **session_out,
	sandcell_error **err_out);

#endif
