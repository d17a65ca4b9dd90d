/* SPDX-License-Identifier: MIT */
#include "engine/find.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "engine/context.h"
#include "engine/dial.h"
#include "engine/engine_impl.h"
#include "engine/service.h"

#define TRAIL_MAX ((size_t)16 << 10)
#define GR_BUFFER 4096

static void describe_group(const char *path, sc_buf *text)
{
	struct stat st;
	struct group entry;
	struct group *found = NULL;
	char buffer[GR_BUFFER];

	if (stat(path, &st) < 0 || !(st.st_mode & S_IWGRP)) {
		(void)sc_buf_puts(text, "permission denied: it is another user's");
		return;
	}
	if (getgrgid_r(st.st_gid, &entry, buffer, sizeof(buffer), &found) == 0 && found)
		(void)sc_buf_printf(text,
			"permission denied: join the group '%s' (usermod -aG %s USER, then "
			"log in again)",
			found->gr_name, found->gr_name);
	else
		(void)sc_buf_printf(
			text, "permission denied: join the group %u", (unsigned)st.st_gid);
}

static void describe_connect(const char *path, int errnum, sc_buf *text)
{
	struct stat st;

	if (errnum == ENOENT || errnum == ENOTDIR)
		(void)sc_buf_puts(text, "no such file");
	else if (errnum == EACCES || errnum == EPERM)
		describe_group(path, text);
	else if (stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		(void)sc_buf_puts(text, "not a socket");
	else if (errnum == ECONNREFUSED)
		(void)sc_buf_puts(text, "no engine listens on it any more");
	else
		(void)sc_buf_printf(text, "errno %d", errnum);
}

/* Connects once for nothing but a good explanation of why it does not work. */
static int check_socket(sandcell_engine *engine, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	sc_autobuf text = SC_BUF_INIT(SC_MAX_URL);
	sc_autoclose int fd = -1;
	const char *path = engine->address.path;
	int rc;

	rc = sc_fd_connect_unix(path, sc_deadline_in_ms(engine->connect_ms), &fd, &why);
	if (rc == 0)
		return 0;
	describe_connect(path, sandcell_error_get_errno(why), &text);
	return sc_fail(err_out, rc, "%s", sc_buf_text(&text));
}

static int choose_tls(sandcell_engine *engine, struct sc_tls *tls, sandcell_error **err_out)
{
	int rc = 0;

	if (tls) {
		engine->tls = *tls;
		*tls = (struct sc_tls){0};
	} else {
		rc = sc_tls_from_environment(&engine->tls, err_out);
	}
	if (engine->address.tls)
		engine->tls.on = true;
	if (rc == 0 && !engine->tls.on)
		sc_log_line(&engine->log, "%s is spoken to without encryption",
			engine->address.text);
	return rc;
}

/* tls is NULL for "as the environment says", and is taken otherwise. */
static int try_host(sandcell_engine *engine, const char *host, const char *source,
	struct sc_tls *tls, sc_deadline deadline, sandcell_error **err_out)
{
	int rc;

	sc_address_clear(&engine->address);
	sc_tls_clear(&engine->tls);
	sc_free(engine->source);
	engine->source = sc_strdup(source);
	if (!engine->source)
		return sc_fail_nomem(err_out);
	rc = sc_address_parse(host, &engine->address, err_out);
	if (rc == 0 && engine->address.scheme == SC_SCHEME_TCP)
		rc = choose_tls(engine, tls, err_out);
	if (rc == 0)
		rc = sc_dial_prepare(engine, err_out);
	if (rc == 0 && engine->address.scheme == SC_SCHEME_UNIX)
		rc = check_socket(engine, err_out);
	if (rc < 0)
		return rc;
	return sc_engine_negotiate(engine, deadline, err_out);
}

static int try_named(sandcell_engine *engine, const char *host, const char *source,
	struct sc_tls *tls, sandcell_error **err_out)
{
	int rc = try_host(
		engine, host, source, tls, sc_engine_request_deadline(engine), err_out);

	return rc < 0 ? sc_context(err_out, rc, "engine '%s' (%s)", host, source) : rc;
}

static int try_context(sandcell_engine *engine, bool *named_out, sandcell_error **err_out)
{
	sc_autocontext context = {0};
	sc_autotls tls = {0};
	sc_autobuf source = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	rc = sc_context_current(NULL, &context, err_out);
	*named_out = rc < 0 || context.name;
	if (rc < 0 || !context.name)
		return rc;
	(void)sc_buf_printf(&source, "Docker context %s", context.name);
	if (context.tls_folder || context.skip_verify)
		rc = sc_tls_from_folder(
			context.tls_folder, context.skip_verify, &tls, err_out);
	if (rc < 0)
		return sc_context(err_out, rc, "%s", sc_buf_text(&source));
	return try_named(engine, context.host, sc_buf_text(&source), &tls, err_out);
}

/* Notes why a place failed; false when the search is over, because memory is. */
static bool note_failure(sandcell_engine *engine, const char *place,
	const sandcell_error *why, sc_buf *trail)
{
	const char *text = sandcell_error_get_message(why);

	if (sandcell_error_get_code(why) == SANDCELL_E_NOMEM)
		return false;
	(void)sc_buf_printf(trail, "%s%s: %s", trail->len ? "; " : "", place, text);
	sc_log_line(&engine->log, "tried %s: %s", place, text);
	return true;
}

/* The last resort.  0 when it works; 1 when it does not, and the trail says why. */
static int try_service(sandcell_engine *engine, sc_buf *trail)
{
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	sc_deadline deadline = sc_engine_request_deadline(engine);
	sc_autofree char *path = NULL;
	int rc;

	if (!sc_service_possible()) {
		(void)sc_buf_printf(
			trail, "%spodman is not installed", trail->len ? "; " : "");
		return 1;
	}
	rc = sc_service_up(&engine->log, deadline, &path, &why);
	if (rc == 0)
		rc = try_host(engine, path, "own podman service", NULL, deadline, &why);
	if (rc == 0) {
		engine->is_service = true;
		return 0;
	}
	return note_failure(engine, "own podman service", why, trail) ? 1 : rc;
}

int sc_engine_find_among(
	sandcell_engine *engine, const char *const *paths, sandcell_error **err_out)
{
	sc_autobuf trail = SC_BUF_INIT(TRAIL_MAX);
	int rc;

	for (size_t i = 0; paths[i]; i++) {
		SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
		sc_deadline deadline = sc_deadline_in_ms(engine->connect_ms);

		rc = try_host(engine, paths[i], "default socket", NULL, deadline, &why);
		if (rc == 0)
			return 0;
		if (!note_failure(engine, paths[i], why, &trail))
			return sc_fail_nomem(err_out);
	}
	rc = try_service(engine, &trail);
	if (rc == 0)
		return 0;
	if (rc < 0)
		return sc_fail_nomem(err_out);
	return sc_fail(err_out, SANDCELL_E_CONNECT, "no engine found; tried %s",
		sc_buf_text(&trail));
}

static int search(sandcell_engine *engine, sandcell_error **err_out)
{
	const char *runtime_dir = secure_getenv("XDG_RUNTIME_DIR");
	sc_autobuf docker = SC_BUF_INIT(SC_MAX_URL);
	sc_autobuf podman = SC_BUF_INIT(SC_MAX_URL);
	const char *paths[5] = {"/var/run/docker.sock"};
	size_t n = 1;

	if (runtime_dir && runtime_dir[0] == '/') {
		(void)sc_buf_printf(&docker, "%s/docker.sock", runtime_dir);
		(void)sc_buf_printf(&podman, "%s/podman/podman.sock", runtime_dir);
		paths[n++] = sc_buf_text(&docker);
		paths[n++] = sc_buf_text(&podman);
	}
	paths[n] = "/run/podman/podman.sock";
	return sc_engine_find_among(engine, paths, err_out);
}

int sc_engine_find(sandcell_engine *engine, const char *host, sandcell_error **err_out)
{
	static const char *const variables[] = {
		"SANDCELL_HOST", "DOCKER_HOST", "CONTAINER_HOST"};
	bool named = false;
	int rc;

	if (host && host[0])
		return try_named(engine, host, "host option", NULL, err_out);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = secure_getenv(variables[i]);
		if (value && value[0])
			return try_named(engine, value, variables[i], NULL, err_out);
	}
	rc = try_context(engine, &named, err_out);
	if (named)
		return rc;
	return search(engine, err_out);
}
