/* SPDX-License-Identifier: MIT */
#include "session/workspace.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "session/hostpath.h"
#include "session/spec.h"

/* The kernel's own, where a mount would hide what the lockdown relies on. */
static const char *const closed_targets[] = {"/proc", "/sys", "/dev"};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Cuts "SRC:DST[:ro]" at its colons. */
static int split(struct sc_mount *mount, const char *text, sandcell_error **err_out)
{
	const char *colon = strchr(text, ':');
	const char *target = colon ? colon + 1 : "";
	const char *end = strchr(target, ':');
	size_t len = end ? (size_t)(end - target) : strlen(target);

	if (!colon || colon == text || len == 0 || (end && strcmp(end, ":ro") != 0))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"mount '%s' is not of the form SRC:DST or SRC:DST:ro", text);
	mount->read_only = end != NULL;
	mount->source = sc_strndup(text, (size_t)(colon - text));
	mount->target = sc_strndup(target, len);
	return mount->source && mount->target ? 0 : sc_fail_nomem(err_out);
}

/* Absolute, and made of names only. */
static bool is_plain(const char *path)
{
	if (path[0] != '/' || path[1] == '\0')
		return false;
	while (*path) {
		const char *name = path + 1;
		size_t len = strcspn(name, "/");

		if (len == 0 || (len == 1 && name[0] == '.') ||
			(len == 2 && name[0] == '.' && name[1] == '.'))
			return false;
		path = name + len;
	}
	return true;
}

/* An engine makes a missing mount point, as root, in the caller's own workspace. */
static int check_in_workspace(const struct sc_mount *mount,
	const struct sc_workspace *workspace, sandcell_error **err_out)
{
	const char *rest = mount->target + strlen(SC_WORKSPACE_TARGET);
	char path[PATH_MAX];
	struct stat info;

	if (!workspace->path)
		return 0;
	int n = snprintf(path, sizeof(path), "%s%s", workspace->path, rest);
	if (n < 0 || (size_t)n >= sizeof(path) || lstat(path, &info) < 0)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"mount target '%s': make '%s' in the workspace first",
			mount->target, rest + 1);
	return 0;
}

static int check_target(const struct sc_mount *mount, const struct sc_workspace *workspace,
	sandcell_error **err_out)
{
	const char *target = mount->target;

	if (!is_plain(target))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"mount target '%s' is not an absolute path without '.' and '..'",
			target);
	for (size_t i = 0; i < COUNT(closed_targets); i++) {
		if (sc_path_within(target, closed_targets[i]))
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"mount target '%s': nothing can be mounted in '%s'", target,
				closed_targets[i]);
	}
	for (size_t i = 0; sc_spec_own_targets[i]; i++) {
		if (sc_path_within(sc_spec_own_targets[i], target))
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"mount target '%s' would hide '%s' of the session", target,
				sc_spec_own_targets[i]);
	}
	if (sc_path_within(target, SC_WORKSPACE_TARGET))
		return check_in_workspace(mount, workspace, err_out);
	return 0;
}

int sc_mount_resolve(struct sc_mount *mount, const char *text,
	const struct sc_workspace *workspace, const char *socket, sandcell_error **err_out)
{
	sc_autofree char *given = NULL;
	struct stat info = {0};
	int rc;

	*mount = (struct sc_mount){0};
	rc = split(mount, text, err_out);
	if (rc < 0)
		return rc;
	given = SANDCELL_TAKE(mount->source);
	rc = sc_hostpath_resolve(given, "mount", &mount->source, &info, err_out);
	if (rc < 0)
		return rc;
	if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"mount '%s' is neither a directory nor a plain file",
			mount->source);
	rc = sc_hostpath_check_socket(mount->source, "mount", socket, err_out);
	if (rc == 0)
		rc = sc_hostpath_check_kernel(mount->source, "mount", err_out);
	if (rc == 0 && !mount->read_only)
		rc = sc_hostpath_check_system(mount->source, "mount", err_out);
	if (rc < 0)
		return rc;
	return check_target(mount, workspace, err_out);
}

int sc_mounts_check(const struct sc_mount *mounts, size_t count, sandcell_error **err_out)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < count; j++) {
			if (i != j && sc_path_within(mounts[i].target, mounts[j].target))
				return sc_fail(err_out, SANDCELL_E_INVAL,
					"mount targets '%s' and '%s' clash",
					mounts[i].target, mounts[j].target);
		}
	}
	return 0;
}

void sc_mount_clear(struct sc_mount *mount)
{
	sc_free(mount->source);
	sc_free(mount->target);
	*mount = (struct sc_mount){0};
}
