/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_FILES_H
#define SC_SESSION_FILES_H

/* One file into the container and out of it, as a tar of one entry. */

#include "session/session.h"

int sc_put(sandcell_session *s, const char *path, const void *data, size_t len,
	sandcell_error **err_out);
int sc_get(sandcell_session *s, const char *path, uint64_t max, char **data_out,
	size_t *len_out, sandcell_error **err_out);

#endif
