/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_SNAPSHOT_H
#define SC_SESSION_SNAPSHOT_H

/* Saving a session's state to a file and back; options were loaded by the membrane. */

#include "sandcell/snapshot.h"
#include "session/session.h"

int sc_snapshot_save(sandcell_session *s, const char *path,
	const sandcell_snapshot_options *opts, char **report_out, sandcell_error **err_out);
int sc_snapshot_restore(sandcell_session *s, const char *path,
	const sandcell_snapshot_options *opts, char **report_out, sandcell_error **err_out);
int sc_snapshot_inspect(const char *path, char **json_out, sandcell_error **err_out);

#endif
