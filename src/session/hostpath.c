/* SPDX-License-Identifier: MIT */
#include "session/hostpath.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Refused with all that is in them. */
static const char *const system_trees[] = {
	"/bin",
	"/boot",
	"/dev",
	"/etc",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/proc",
	"/sbin",
	"/sys",
	"/usr",
	"/var/lib/containerd",
	"/var/lib/containers",
	"/var/lib/docker",
};

/* Refused themselves; a directory of the caller's in them is fine. */
static const char *const system_parents[] = {
	"/",
	"/home",
	"/media",
	"/mnt",
	"/opt",
	"/root",
	"/run",
	"/run/user",
	"/srv",
	"/tmp",
	"/var",
	"/var/cache",
	"/var/lib",
	"/var/log",
	"/var/run",
	"/var/spool",
	"/var/tmp",
};

/* Whoever can connect to one of these owns the machine. */
static const char *const engine_sockets[] = {
	"/run/containerd/containerd.sock",
	"/run/crio/crio.sock",
	"/run/docker.sock",
	"/run/podman/podman.sock",
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

bool sc_path_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path[0] == '/';
	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

int sc_hostpath_resolve(const char *path, const char *what, char **path_out,
	struct stat *info_out, sandcell_error **err_out)
{
	char resolved[PATH_MAX];

	if (!path[0])
		return sc_fail(err_out, SANDCELL_E_INVAL, "%s: empty path", what);
	if (!realpath(path, resolved) || stat(resolved, info_out) < 0)
		return sc_fail_errno(
			err_out, SANDCELL_E_INVAL, errno, "%s '%s'", what, path);
	*path_out = sc_strdup(resolved);
	return *path_out ? 0 : sc_fail_nomem(err_out);
}

int sc_hostpath_check_system(const char *path, const char *what, sandcell_error **err_out)
{
	for (size_t i = 0; i < COUNT(system_trees); i++) {
		if (sc_path_within(path, system_trees[i]))
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"%s '%s' is in the system directory '%s': give code a "
				"directory of its own",
				what, path, system_trees[i]);
	}
	for (size_t i = 0; i < COUNT(system_parents); i++) {
		if (strcmp(path, system_parents[i]) == 0)
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"%s '%s' is a system directory: give code a directory of "
				"its own",
				what, path);
	}
	return 0;
}

/* The socket may be reached through a symbolic link: /var/run/docker.sock. */
static int check_one_socket(
	const char *path, const char *what, const char *socket, sandcell_error **err_out)
{
	char resolved[PATH_MAX];
	const char *real = realpath(socket, resolved) ? resolved : socket;

	if (!sc_path_within(real, path) && !sc_path_within(socket, path))
		return 0;
	return sc_fail(err_out, SANDCELL_E_INVAL,
		"%s '%s' contains the engine's socket '%s', which would hand out the "
		"machine",
		what, path, socket);
}

int sc_hostpath_check_kernel(const char *path, const char *what, sandcell_error **err_out)
{
	static const char *const trees[] = {"/proc", "/sys", "/dev"};

	for (size_t i = 0; i < COUNT(trees); i++) {
		if (sc_path_within(path, trees[i]) || strcmp(path, "/") == 0)
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"%s '%s' would show the machine's own '%s'", what, path,
				trees[i]);
	}
	return 0;
}

int sc_hostpath_check_socket(
	const char *path, const char *what, const char *socket, sandcell_error **err_out)
{
	int rc = 0;

	if (socket)
		rc = check_one_socket(path, what, socket, err_out);
	for (size_t i = 0; i < COUNT(engine_sockets) && rc == 0; i++)
		rc = check_one_socket(path, what, engine_sockets[i], err_out);
	return rc;
}
