/* SPDX-License-Identifier: MIT */
#include "session/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/num.h"
#include "session/hostpath.h"

struct sc_caller sc_caller_self(void)
{
	return (struct sc_caller){.uid = geteuid(), .gid = getegid()};
}

static int parse_user(const char *text, uid_t *uid, gid_t *gid, sandcell_error **err_out)
{
	const char *colon = strchr(text, ':');
	uint64_t user = 0;
	uint64_t group = 0;

	/* The highest id means "no change" to the kernel. */
	if (!colon ||
		!sc_parse_u64_n(text, (size_t)(colon - text), UINT32_MAX - 1, &user) ||
		!sc_parse_u64(colon + 1, UINT32_MAX - 1, &group))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"user '%s' is not of the form UID:GID, two numbers", text);
	if (user == SC_SERVICE_ID)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"uid %d is the supervisor's own, user code can't have it",
			SC_SERVICE_ID);
	*uid = (uid_t)user;
	*gid = (gid_t)group;
	return 0;
}

/* By permission bits alone: what an unprivileged process with this uid and gid may do. */
static bool bits_allow(const struct stat *info, uid_t uid, gid_t gid, mode_t bits)
{
	mode_t mode = info->st_mode;

	if (info->st_uid == uid)
		return (mode >> 6 & bits) == bits;
	if (info->st_gid == gid)
		return (mode >> 3 & bits) == bits;
	return (mode & bits) == bits;
}

/*
 * The probe.  When user code has this process's own uid the kernel is asked, which knows
 * ACLs and read-only file systems; for another uid only the bits can tell.
 */
static int check_access(const struct sc_workspace *workspace, const struct stat *info,
	sandcell_error **err_out)
{
	mode_t bits = workspace->read_only ? 5 : 3; /* r-x or -wx */
	int mode = workspace->read_only ? R_OK | X_OK : W_OK | X_OK;
	bool by_kernel = workspace->uid == geteuid() && workspace->uid != 0;
	const char *what = workspace->read_only ? "read it" : "write there";

	if (by_kernel ? faccessat(AT_FDCWD, workspace->path, mode, AT_EACCESS) == 0
		      : bits_allow(info, workspace->uid, workspace->gid, bits)) {
		if (workspace->read_only || access(workspace->path, W_OK) == 0 ||
			errno != EROFS)
			return 0;
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"workspace '%s' is on a read-only file system: use it read-only",
			workspace->path);
	}
	return sc_fail(err_out, SANDCELL_E_INVAL,
		"workspace '%s' belongs to uid %u with mode %04o, and the code would run "
		"as "
		"uid %u, which can't %s: change its owner (chown -R %u '%s'), or name the "
		"user "
		"to run as (%u:%u)%s",
		workspace->path, info->st_uid, info->st_mode & 07777, workspace->uid, what,
		workspace->uid, workspace->path, info->st_uid, info->st_gid,
		workspace->read_only ? "" : ", or use it read-only");
}

static int warn_of_root(json_t *warnings, sandcell_error **err_out)
{
	json_t *text =
		json_string("the workspace belongs to root, so the code runs as uid 0 "
			    "without any capability; name another user to change that");

	return json_array_append_new(warnings, text) < 0 ? sc_fail_nomem(err_out) : 0;
}

static int resolve_path(struct sc_workspace *workspace, const char *path,
	const char *socket, struct stat *info, sandcell_error **err_out)
{
	int rc;

	rc = sc_hostpath_resolve(path, "workspace", &workspace->path, info, err_out);
	if (rc < 0)
		return rc;
	workspace->owner = info->st_uid;
	if (!S_ISDIR(info->st_mode))
		return sc_fail(err_out, SANDCELL_E_INVAL, "workspace '%s' is no directory",
			workspace->path);
	rc = sc_hostpath_check_system(workspace->path, "workspace", err_out);
	if (rc < 0)
		return rc;
	return sc_hostpath_check_socket(workspace->path, "workspace", socket, err_out);
}

static void choose_user(
	struct sc_workspace *workspace, const struct stat *info, struct sc_caller caller)
{
	if (!workspace->path && caller.uid == 0) {
		workspace->uid = SC_NOBODY_ID;
		workspace->gid = SC_NOBODY_ID;
	} else if (workspace->path && (caller.uid == 0 || caller.uid == info->st_uid)) {
		workspace->uid = info->st_uid;
		workspace->gid = info->st_gid;
	} else {
		workspace->uid = caller.uid;
		workspace->gid = caller.gid;
	}
}

int sc_workspace_resolve(struct sc_workspace *workspace, const char *path, bool read_only,
	const char *user, const char *socket, struct sc_caller caller, json_t *warnings,
	sandcell_error **err_out)
{
	struct stat info = {0};
	int rc;

	*workspace = (struct sc_workspace){.read_only = read_only};
	if (read_only && !path)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"a read-only workspace needs a directory of the host");
	if (path) {
		rc = resolve_path(workspace, path, socket, &info, err_out);
		if (rc < 0)
			return rc;
	}
	choose_user(workspace, &info, caller);
	if (user) {
		rc = parse_user(user, &workspace->uid, &workspace->gid, err_out);
		if (rc < 0)
			return rc;
	}
	if (workspace->uid == SC_SERVICE_ID)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"uid %d is the supervisor's own: name another user (UID:GID)",
			SC_SERVICE_ID);
	if (!path)
		return 0;
	rc = check_access(workspace, &info, err_out);
	if (rc < 0)
		return rc;
	return workspace->uid == 0 && !user ? warn_of_root(warnings, err_out) : 0;
}

void sc_workspace_clear(struct sc_workspace *workspace)
{
	sc_free(workspace->path);
	*workspace = (struct sc_workspace){0};
}
