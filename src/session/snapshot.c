/* SPDX-License-Identifier: MIT */
#include "session/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "sandcell/version.h"
#include "session/bulk.h"
#include "session/snapshot_file.h"

/* Saves are tried again: inline after a stall, without a variable that ended the fork. */
#define TRIES 4

static int give_text(const json_t *json, char **out, sandcell_error **err_out)
{
	sc_autobuf text = SC_BUF_INIT(SC_CONTENT_MAX);
	int rc;

	if (!out)
		return 0;
	rc = sc_json_dump(json, &text, err_out);
	if (rc < 0)
		return rc;
	*out = sc_buf_take(&text, NULL);
	return *out ? 0 : sc_fail_nomem(err_out);
}

/* The report comes from the container: handed on only when it is an object. */
static int read_report(const sc_bulk *bulk, json_t **out, sandcell_error **err_out)
{
	size_t len = 0;
	const char *data = sc_content_get(&bulk->call.content, "report", &len);

	*out = data ? json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (json_is_object(*out))
		return 0;
	json_decref(SANDCELL_TAKE(*out));
	return sc_fail(err_out, SANDCELL_E_PROTOCOL, "the container sent no report");
}

static const char *python_of(const sandcell_session *s)
{
	return sc_json_get_str(sc_channel_hello(s->channel), "python", "");
}

/* ---- save ---- */

static int write_state(const void *data, size_t len, void *user, sandcell_error **err_out)
{
	return sc_snapshot_writer_add(user, data, len, err_out);
}

static enum sc_compression compression_of(uint32_t flags)
{
	if (flags & SANDCELL_SNAPSHOT_PLAIN)
		return SC_COMPRESS_NONE;
	return flags & SANDCELL_SNAPSHOT_GZIP ? SC_COMPRESS_GZIP : SC_COMPRESS_ZSTD;
}

static int save_once(sandcell_session *s, const char *path,
	const sandcell_snapshot_options *opts, const json_t *exclude, bool inline_save,
	sc_bulk *bulk, json_t **report_out, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_snapshot_writer_freep) sc_snapshot_writer *writer = NULL;
	sc_autojson *report = NULL;
	sc_autojson *manifest = json_pack("{s:i, s:s, s:I, s:s, s:s}", "format",
		SC_SNAPSHOT_FORMAT, "sandcell", sandcell_version_text(), "created_s",
		(json_int_t)(sc_wall_now_ns() / SC_SEC_IN_NS), "python", python_of(s),
		"image", s->config.image);
	json_t *header = json_pack("{s:s, s:O, s:b, s:I}", "type", "snapshot", "exclude",
		exclude, "inline", inline_save, "timeout_ms", (json_int_t)opts->timeout_ms);
	int rc = manifest ? 0 : sc_fail_nomem(err_out);

	if (rc == 0)
		rc = sc_snapshot_writer_new(
			path, compression_of(opts->flags), manifest, &writer, err_out);
	if (rc < 0) {
		json_decref(header);
		return rc;
	}
	rc = sc_bulk_start(bulk, s, header, write_state, writer, err_out);
	if (rc == 0)
		rc = sc_bulk_finish(bulk, "saving the state", err_out);
	if (rc == 0)
		rc = read_report(bulk, &report, err_out);
	if (rc == 0)
		rc = sc_snapshot_writer_finish(writer, report, err_out);
	if (rc == 0)
		*report_out = SANDCELL_TAKE(report);
	return rc;
}

/* What may help after a failure; false when nothing would. */
static bool adapt(const sc_bulk *bulk, json_t *exclude, bool *inline_save)
{
	const char *name = sc_json_get_str(bulk->call.result, "stopped_at", "");

	if (sc_json_get_bool(bulk->call.result, "stalled", false) && !*inline_save) {
		*inline_save = true;
		return true;
	}
	return name[0] && json_array_append_new(exclude, json_string(name)) == 0;
}

static int save_entered(sandcell_session *s, const char *path,
	const sandcell_snapshot_options *opts, json_t **report_out,
	sandcell_error **err_out)
{
	sc_autojson *exclude = json_array();
	bool inline_save = false;
	int rc = exclude ? 0 : sc_fail_nomem(err_out);

	for (size_t i = 0; rc == 0 && opts->exclude && opts->exclude[i]; i++) {
		if (json_array_append_new(exclude, json_string(opts->exclude[i])) < 0)
			rc = sc_fail(err_out, SANDCELL_E_INVAL,
				"a name to exclude is not UTF-8");
	}
	if (rc < 0)
		return rc;
	for (int i = 0; i < TRIES; i++) {
		sandcell_error *why = NULL;
		sc_bulk bulk = {0};

		rc = save_once(
			s, path, opts, exclude, inline_save, &bulk, report_out, &why);
		bool again = rc == SANDCELL_E_FAIL && adapt(&bulk, exclude, &inline_save);
		sc_bulk_clear(&bulk);
		if (rc < 0 && err_out && (!again || i == TRIES - 1))
			*err_out = SANDCELL_TAKE(why);
		sandcell_error_free(why);
		if (rc == 0 || !again)
			break;
	}
	return rc;
}

int sc_snapshot_save(sandcell_session *s, const char *path,
	const sandcell_snapshot_options *opts, char **report_out, sandcell_error **err_out)
{
	sc_autojson *report = NULL;
	int rc = sc_session_enter(s, err_out);

	if (rc < 0)
		return rc;
	rc = save_entered(s, path, opts, &report, err_out);
	sc_bulk_recover(s, rc);
	sc_session_leave(s);
	return rc < 0 ? rc : give_text(report, report_out, err_out);
}

/* ---- restore ---- */

static int send_state(const void *data, size_t len, void *user, sandcell_error **err_out)
{
	return sc_bulk_send(user, data, len, err_out);
}

/* "3.11" of "3.11.2". */
static size_t minor_len(const char *version)
{
	const char *dot = strchr(version, '.');

	return dot ? (size_t)(dot + 1 - version) + strcspn(dot + 1, ".") : strlen(version);
}

static int check_origin(sandcell_session *s, const json_t *manifest, uint32_t flags,
	sandcell_error **err_out)
{
	const char *python = sc_json_get_str(manifest, "python", "");
	const char *image = sc_json_get_str(manifest, "image", "");
	size_t len = minor_len(python);

	if (flags & SANDCELL_SNAPSHOT_FORCE)
		return 0;
	if (len != minor_len(python_of(s)) || strncmp(python, python_of(s), len) != 0)
		return sc_fail(err_out, SANDCELL_E_CONFLICT,
			"the snapshot was made by Python %.30s, the session has %.30s",
			python, python_of(s));
	if (strcmp(image, s->config.image) != 0)
		return sc_fail(err_out, SANDCELL_E_CONFLICT,
			"the snapshot was made in image '%.200s', the session has '%.200s'",
			image, s->config.image);
	return 0;
}

/* Sends the state; it takes effect only when the file has passed the second check, too. */
static int load(sandcell_session *s, int fd, const char *path, uint32_t timeout_ms,
	json_t **report_out, sandcell_error **err_out)
{
	sc_autojson *manifest = NULL;
	sc_autojson *index = NULL;
	sc_bulk bulk;
	int rc;

	rc = sc_bulk_start(&bulk, s,
		json_pack("{s:s, s:I}", "type", "restore", "timeout_ms",
			(json_int_t)timeout_ms),
		NULL, NULL, err_out);
	if (rc == 0)
		rc = sc_snapshot_read(
			fd, path, send_state, &bulk, &manifest, &index, err_out);
	if (rc == 0)
		rc = sc_bulk_finish(&bulk, "restoring the state", err_out);
	if (rc == 0)
		rc = read_report(&bulk, report_out, err_out);
	sc_bulk_clear(&bulk);
	return rc;
}

static int open_file(const char *path, int *fd_out, sandcell_error **err_out)
{
	*fd_out = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd_out < 0)
		return sc_fail_errno(
			err_out, SANDCELL_E_FAIL, errno, "cannot read '%s'", path);
	return 0;
}

int sc_snapshot_restore(sandcell_session *s, const char *path,
	const sandcell_snapshot_options *opts, char **report_out, sandcell_error **err_out)
{
	sc_autojson *manifest = NULL;
	sc_autojson *index = NULL;
	sc_autojson *report = NULL;
	sc_autoclose int fd = -1;
	int rc;

	rc = open_file(path, &fd, err_out);
	if (rc == 0)
		rc = sc_snapshot_read(fd, path, NULL, NULL, &manifest, &index, err_out);
	if (rc == 0)
		rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = check_origin(s, manifest, opts->flags, err_out);
	if (rc == 0)
		rc = load(s, fd, path, opts->timeout_ms, &report, err_out);
	sc_bulk_recover(s, rc);
	sc_session_leave(s);
	return rc < 0 ? rc : give_text(report, report_out, err_out);
}

int sc_snapshot_inspect(const char *path, char **json_out, sandcell_error **err_out)
{
	sc_autojson *manifest = NULL;
	sc_autojson *index = NULL;
	sc_autoclose int fd = -1;
	int rc;

	rc = open_file(path, &fd, err_out);
	if (rc == 0)
		rc = sc_snapshot_read(fd, path, NULL, NULL, &manifest, &index, err_out);
	if (rc < 0)
		return rc;
	if (json_object_set(index, "manifest", manifest) < 0)
		return sc_fail_nomem(err_out);
	return give_text(index, json_out, err_out);
}
