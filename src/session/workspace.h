/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_WORKSPACE_H
#define SC_SESSION_WORKSPACE_H

/*
 * The directories of the host that a session sees, and the uid that its code runs as.
 *
 * Who is uid X: the caller's choice, else the owner of the workspace when the caller is
 * root or that owner, else the caller.  So nobody gains through a session the right to
 * write as someone else.  Whether X can write there is found out before anything is
 * created; the refusal names owner, uid and remedy.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/error.h"

/* uid and gid of supervisor, zygote and connector; never of user code. */
#define SC_SERVICE_ID 65530
/* "nobody", for a caller who is root and has no workspace. */
#define SC_NOBODY_ID 65534

#define SC_WORKSPACE_TARGET "/workspace"

/* Who asks; taken from the process, or made up by a test. */
struct sc_caller {
	uid_t uid;
	gid_t gid;
};

struct sc_workspace {
	char *path; /* resolved; NULL: a file system in memory */
	bool read_only;
	uid_t owner; /* of path */
	uid_t uid;   /* of user code */
	gid_t gid;
};

struct sc_caller sc_caller_self(void);

/*
 * path, user ("UID:GID") may be NULL.  socket: the engine's, NULL when it has none here.
 * Appends to warnings what the caller should know.  SANDCELL_E_INVAL for a refusal.
 */
int sc_workspace_resolve(struct sc_workspace *workspace, const char *path, bool read_only,
	const char *user, const char *socket, struct sc_caller caller, json_t *warnings,
	sandcell_error **err_out);
void sc_workspace_clear(struct sc_workspace *workspace);

struct sc_mount {
	char *source; /* resolved */
	char *target;
	bool read_only;
};

/* Parses "SRC:DST" or "SRC:DST:ro". */
int sc_mount_resolve(struct sc_mount *mount, const char *text,
	const struct sc_workspace *workspace, const char *socket, sandcell_error **err_out);
/* Targets must not be the same, nor one inside the other. */
int sc_mounts_check(const struct sc_mount *mounts, size_t count, sandcell_error **err_out);
void sc_mount_clear(struct sc_mount *mount);

#endif
