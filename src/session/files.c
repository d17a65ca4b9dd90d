/* SPDX-License-Identifier: MIT */
#include "session/files.h"

#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/bulk.h"
#include "session/tar_read.h"

#define PUT_MAX	    (UINT64_C(8) << 30)
#define GET_DEFAULT (UINT64_C(64) << 20)
#define BLOCK_BYTES 65536

/* Cuts a path into its directory ("" for the working one) and its last name. */
static int split_path(const char *path, char **folder_out, const char **name_out,
	sandcell_error **err_out)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t folder_len = slash ? (size_t)(slash - path) : 0;

	if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		strlen(path) > SC_TAR_PATH_MAX ||
		sc_utf8_check(path, strlen(path)) < strlen(path))
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"'%.200s' is not the path of a file", path);
	if (slash == path)
		folder_len = 1;
	*folder_out = folder_len ? sc_strndup(path, folder_len) : sc_strdup(".");
	*name_out = name;
	return *folder_out ? 0 : sc_fail_nomem(err_out);
}

/* ---- put ---- */

struct writing {
	sc_bulk *bulk;
	sandcell_error **err_out;
	int rc;
};

static la_ssize_t send_piece(
	struct archive *archive, void *user, const void *data, size_t len)
{
	struct writing *writing = user;

	(void)archive;
	if (writing->rc == 0)
		writing->rc = sc_bulk_send(writing->bulk, data, len, writing->err_out);
	return writing->rc < 0 ? -1 : (la_ssize_t)len;
}

static int write_entry(
	struct archive *archive, const char *name, const void *data, size_t len)
{
	struct archive_entry *entry = archive_entry_new();
	int rc = ARCHIVE_FATAL;

	if (!entry)
		return rc;
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)len);
	archive_entry_set_mtime(entry, (time_t)(sc_wall_now_ns() / SC_SEC_IN_NS), 0);
	rc = archive_write_header(archive, entry);
	if (rc == ARCHIVE_OK && len > 0)
		rc = archive_write_data(archive, data, len) == (la_ssize_t)len
			     ? ARCHIVE_OK
			     : ARCHIVE_FATAL;
	archive_entry_free(entry);
	return rc;
}

static int send_file(sc_bulk *bulk, const char *name, const void *data, size_t len,
	sandcell_error **err_out)
{
	struct writing writing = {.bulk = bulk, .err_out = err_out};
	struct archive *archive = archive_write_new();
	int rc = ARCHIVE_FATAL;

	if (!archive)
		return sc_fail_nomem(err_out);
	(void)archive_write_set_format_pax_restricted(archive);
	/* Names are bytes, whatever the locale of this process. */
	(void)archive_write_set_options(archive, "hdrcharset=BINARY");
	(void)archive_write_set_bytes_per_block(archive, BLOCK_BYTES);
	(void)archive_write_set_bytes_in_last_block(archive, 1);
	if (archive_write_open(archive, &writing, NULL, send_piece, NULL) == ARCHIVE_OK)
		rc = write_entry(archive, name, data, len);
	if (rc == ARCHIVE_OK)
		rc = archive_write_close(archive);
	else
		(void)archive_write_fail(archive);
	(void)archive_write_free(archive);
	if (writing.rc < 0)
		return writing.rc;
	return rc == ARCHIVE_OK ? 0 : sc_fail_nomem(err_out);
}

int sc_put(sandcell_session *s, const char *path, const void *data, size_t len,
	sandcell_error **err_out)
{
	sc_autofree char *folder = NULL;
	const char *name = NULL;
	sc_bulk bulk = {0};
	int rc;

	if (len > PUT_MAX)
		return sc_fail(err_out, SANDCELL_E_LIMIT, "a file of %zu bytes", len);
	rc = split_path(path, &folder, &name, err_out);
	if (rc == 0)
		rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = sc_bulk_start(&bulk, s,
		json_pack("{s:s, s:s, s:b}", "type", "put", "path", folder, "parents", 1),
		NULL, NULL, err_out);
	if (rc == 0)
		rc = send_file(&bulk, name, data, len, err_out);
	if (rc == 0)
		rc = sc_bulk_finish(&bulk, "writing the file", err_out);
	sc_bulk_clear(&bulk);
	sc_bulk_recover(s, rc);
	sc_session_leave(s);
	return rc;
}

/* ---- get ---- */

struct receiving {
	sc_tar_reader reader;
	sc_buf content;
	uint64_t size;
	size_t entries;
};

/* Exactly one file, whatever it calls itself. */
static int take_entry(const sc_tar_entry *entry, void *user, sandcell_error **err_out)
{
	struct receiving *receiving = user;

	if (entry->type == SC_TAR_DIR)
		return sc_fail(err_out, SANDCELL_E_DATA, "it is a directory");
	if (entry->type != SC_TAR_FILE || receiving->entries++ > 0)
		return sc_fail(err_out, SANDCELL_E_DATA, "what came is not one file");
	receiving->size = entry->size;
	return 0;
}

/* Holes become zeros. */
static int fill_to(struct receiving *receiving, uint64_t end, sandcell_error **err_out)
{
	static const char zeros[4096];
	sc_buf *content = &receiving->content;

	while (content->len < end && content->rc == 0) {
		uint64_t left = end - content->len;
		(void)sc_buf_append(content, zeros,
			left < sizeof(zeros) ? (size_t)left : sizeof(zeros));
	}
	return sc_buf_check(content, err_out, "the file");
}

static int take_data(
	uint64_t offset, const void *data, size_t len, void *user, sandcell_error **err_out)
{
	struct receiving *receiving = user;
	int rc = fill_to(receiving, offset, err_out);

	if (rc < 0)
		return rc;
	(void)sc_buf_append(&receiving->content, data, len);
	return sc_buf_check(&receiving->content, err_out, "the file");
}

static int take_stream(const void *data, size_t len, void *user, sandcell_error **err_out)
{
	struct receiving *receiving = user;

	return sc_tar_reader_feed(&receiving->reader, data, len, err_out);
}

static int finish_get(struct receiving *receiving, char **data_out, size_t *len_out,
	sandcell_error **err_out)
{
	int rc = sc_tar_reader_end(&receiving->reader, err_out);

	if (rc == 0 && receiving->entries != 1)
		rc = sc_fail(err_out, SANDCELL_E_DATA, "what came is not one file");
	if (rc == 0)
		rc = fill_to(receiving, receiving->size, err_out);
	if (rc == 0)
		rc = sc_buf_reserve(&receiving->content, 0);
	if (rc < 0)
		return rc;
	*data_out = sc_buf_take(&receiving->content, len_out);
	return *data_out ? 0 : sc_fail_nomem(err_out);
}

static int receive(sandcell_session *s, const char *path, uint64_t max, char **data_out,
	size_t *len_out, sandcell_error **err_out)
{
	const sc_tar_limits limits = {
		.entries = 2, .bytes = max, .logical = max, .depth = 2};
	struct receiving receiving = {.content = SC_BUF_INIT((size_t)max)};
	const sc_tar_handler handler = {
		.entry = take_entry, .data = take_data, .user = &receiving};
	sc_bulk bulk = {0};
	int rc;

	sc_tar_reader_init(&receiving.reader, &limits, &handler);
	rc = sc_bulk_start(&bulk, s,
		json_pack("{s:s, s:s, s:I}", "type", "get", "path", path, "max_bytes",
			(json_int_t)max),
		take_stream, &receiving, err_out);
	if (rc == 0)
		rc = sc_bulk_finish(&bulk, "reading the file", err_out);
	if (rc == 0)
		rc = finish_get(&receiving, data_out, len_out, err_out);
	sc_bulk_clear(&bulk);
	sc_tar_reader_clear(&receiving.reader);
	sc_buf_clear(&receiving.content);
	return rc < 0 ? sc_context(err_out, rc, "'%.200s'", path) : 0;
}

int sc_get(sandcell_session *s, const char *path, uint64_t max, char **data_out,
	size_t *len_out, sandcell_error **err_out)
{
	sc_autofree char *folder = NULL;
	const char *name = NULL;
	int rc = split_path(path, &folder, &name, err_out);

	if (rc == 0)
		rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	if (max == 0 || max > PUT_MAX)
		max = max ? PUT_MAX : GET_DEFAULT;
	rc = receive(s, path, max, data_out, len_out, err_out);
	sc_bulk_recover(s, rc);
	sc_session_leave(s);
	return rc;
}
