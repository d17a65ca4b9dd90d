/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_HOSTPATH_H
#define SC_SESSION_HOSTPATH_H

/*
 * Paths of the host that are to be seen inside a container: resolved, and refused where
 * sharing them would hand out the machine.  `what` names the path in messages.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"

/* Makes it absolute and free of symbolic links; it must exist, as an engine would create it
 * as root otherwise. */
int sc_hostpath_resolve(const char *path, const char *what, char **path_out,
	struct stat *info_out, sandcell_error **err_out);
/* Refuses "/", the system's directories and what is in them. */
int sc_hostpath_check_system(const char *path, const char *what, sandcell_error **err_out);
/* Refuses what the kernel shows of itself and of devices, and "/" above them. */
int sc_hostpath_check_kernel(const char *path, const char *what, sandcell_error **err_out);
/* Refuses an engine's socket and every directory above one.  socket may be NULL. */
int sc_hostpath_check_socket(
	const char *path, const char *what, const char *socket, sandcell_error **err_out);

/* path is dir or below it; both absolute without a trailing slash. */
bool sc_path_within(const char *path, const char *dir);

#endif
