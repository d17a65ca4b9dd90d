/* SPDX-License-Identifier: MIT */
#include "engine/image.h"

#include <string.h>

#include "base/url.h"
#include "engine/filters.h"
#include "engine/json_stream.h"

/* An image's name has slashes, which the engine wants as they are. */
static int check_name(const char *name, sandcell_error **err_out)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-/:@";
	size_t len = strspn(name, allowed);

	if (len > 0 && name[len] == '\0' && name[0] != '/' && !strstr(name, "..") &&
		!strstr(name, "//") && !strstr(name, "/./"))
		return 0;
	return sc_fail(err_out, SANDCELL_E_INVAL, "'%.128s' is not an image's name", name);
}

static int put_path(
	sc_buf *path, const char *name, const char *tail, sandcell_error **err_out)
{
	int rc = check_name(name, err_out);

	if (rc < 0)
		return rc;
	(void)sc_buf_printf(path, "/images/%s%s", name, tail);
	return sc_buf_check(path, err_out, "request path");
}

int sc_image_inspect(sandcell_engine *engine, const char *name, sc_deadline deadline,
	json_t **root_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	rc = put_path(&path, name, "/json", err_out);
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.path = sc_buf_text(&path),
		.deadline = deadline,
	};
	return sc_http_call_json(engine, &request, root_out, err_out);
}

int sc_image_list(sandcell_engine *engine, const char *const *labels, sc_deadline deadline,
	json_t **array_out, sandcell_error **err_out)
{
	sc_autojson *filters = json_object();
	sc_autobuf text = SC_BUF_INIT(SC_MAX_URL);
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	int rc;

	if (!filters)
		return sc_fail_nomem(err_out);
	rc = sc_filters_add(filters, "label", labels, err_out);
	if (rc < 0)
		return rc;
	rc = sc_json_dump(filters, &text, err_out);
	if (rc < 0)
		return rc;
	(void)sc_url(&path, "/images/json?filters={}", sc_buf_text(&text));
	rc = sc_buf_check(&path, err_out, "request path");
	if (rc < 0)
		return rc;
	return sc_http_call_list(engine, sc_buf_text(&path), deadline, array_out, err_out);
}

/* What the engine reports while it imports: {"status"}, at the end the id, or {"error"}. */
struct import_report {
	sc_json_stream lines;
	char *id;
	sandcell_error **err_out;
	const struct sc_image_import *import;
};

static int on_report(const json_t *value, void *user)
{
	struct import_report *report = user;
	const char *error = sc_json_get_str(value, "error", NULL);
	const char *status = sc_json_get_str(value, "status", "");

	if (!error)
		error = sc_json_get_str(
			sc_json_get_obj(value, "errorDetail"), "message", NULL);
	if (error)
		return sc_fail(report->err_out, SANDCELL_E_ENGINE, "%s", error);
	if (strncmp(status, "sha256:", 7) != 0)
		return 0;
	sc_free(report->id);
	report->id = sc_strdup(status);
	return report->id ? 0 : sc_fail_nomem(report->err_out);
}

static int on_report_bytes(const void *data, size_t len, void *user)
{
	struct import_report *report = user;

	return sc_json_stream_feed(&report->lines, data, len, report->err_out);
}

static ptrdiff_t on_tar(void *data, size_t cap, void *user)
{
	struct import_report *report = user;

	return report->import->read(data, cap, report->import->user);
}

static int put_import_path(
	const struct sc_image_import *import, sc_buf *path, sandcell_error **err_out)
{
	sc_autobuf name = SC_BUF_INIT(SC_MAX_URL);

	/* Both in one: Podman 4.3 takes no notice of the parameter "tag". */
	(void)sc_buf_printf(
		&name, "%s:%s", import->repository, import->tag ? import->tag : "latest");
	(void)sc_url(path, "/images/create?fromSrc=-&repo={}", sc_buf_text(&name));
	if (import->message)
		(void)sc_url(path, "&message={}", import->message);
	for (size_t i = 0; import->changes && import->changes[i]; i++)
		(void)sc_url(path, "&changes={}", import->changes[i]);
	if (sc_buf_check(&name, err_out, "image name") < 0)
		return name.rc;
	return sc_buf_check(path, err_out, "request path");
}

int sc_image_import(sandcell_engine *engine, const struct sc_image_import *import,
	sc_deadline deadline, char **id_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	struct import_report report = {.import = import, .err_out = &why};
	int rc;

	rc = check_name(import->repository, err_out);
	if (rc == 0)
		rc = put_import_path(import, &path, err_out);
	if (rc < 0)
		return rc;
	sc_json_stream_init(&report.lines, on_report, &report);
	const struct sc_http_request request = {
		.method = "POST",
		.path = sc_buf_text(&path),
		.read = on_tar,
		.write = on_report_bytes,
		.user = &report,
		.deadline = deadline,
		.slow = true,
	};
	rc = sc_http_call(engine, &request, &reply, err_out);
	if (rc == 0)
		rc = sc_json_stream_end(&report.lines, &why);
	sc_json_stream_clear(&report.lines);
	/* What the engine wrote into its report explains more than that we stopped. */
	if (why)
		(void)sc_error_move(err_out, &why, rc);
	if (rc == 0 && !report.id)
		rc = sc_fail(err_out, SANDCELL_E_PROTOCOL,
			"the engine did not name the image it made");
	if (rc < 0) {
		sc_free(report.id);
		return rc;
	}
	*id_out = report.id;
	return 0;
}

int sc_image_tag(sandcell_engine *engine, const char *name, const char *repository,
	const char *tag, sc_deadline deadline, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	int rc;

	rc = put_path(&path, name, "/tag", err_out);
	if (rc < 0)
		return rc;
	(void)sc_url(&path, "?repo={}&tag={}", repository, tag);
	rc = sc_buf_check(&path, err_out, "request path");
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.method = "POST",
		.path = sc_buf_text(&path),
		.deadline = deadline,
	};
	return sc_http_call(engine, &request, &reply, err_out);
}

int sc_image_remove(sandcell_engine *engine, const char *name, sc_deadline deadline,
	sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	int rc;

	rc = put_path(&path, name, "", err_out);
	if (rc < 0)
		return rc;
	const struct sc_http_request request = {
		.method = "DELETE",
		.path = sc_buf_text(&path),
		.deadline = deadline,
	};
	rc = sc_http_call(engine, &request, &reply, &why);
	if (rc == SANDCELL_E_NOTFOUND)
		return 0;
	return rc < 0 ? sc_error_move(err_out, &why, rc) : rc;
}
