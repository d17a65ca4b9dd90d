/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>
#include <openssl/evp.h>

#include "base/alloc.h"
#include "base/json.h"
#include "session/owner.h"
#include "session/snapshot_file.h"

#define NAME_MAX_LEN 32
#define NAME_DIGITS  16
#define BLOCK_BYTES  65536

struct sc_snapshot_writer {
	char *path;
	char *temporary; /* NULL once renamed */
	int fd;
	struct archive *archive;
	sc_buf member;
	uint32_t count;
	json_t *members; /* of the index */
};

static int archive_failed(sc_snapshot_writer *writer, sandcell_error **err_out)
{
	int errnum = archive_errno(writer->archive);
	const char *text = archive_error_string(writer->archive);

	return sc_fail_errno(err_out, SANDCELL_E_FAIL, errnum > 0 ? errnum : EIO,
		"writing '%s': %s", writer->path, text ? text : "failure");
}

static int note_member(sc_snapshot_writer *writer, const char *name, const void *data,
	size_t len, sandcell_error **err_out)
{
	unsigned char digest[EVP_MAX_MD_SIZE] = {0};
	char text[65];

	if (EVP_Digest(data, len, digest, NULL, EVP_sha256(), NULL) != 1)
		return sc_fail_nomem(err_out);
	for (size_t i = 0; i < 32; i++) {
		text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	text[64] = '\0';
	if (json_array_append_new(
		    writer->members, json_pack("{s:s, s:I, s:s}", "name", name, "size",
					     (json_int_t)len, "sha256", text)) < 0)
		return sc_fail_nomem(err_out);
	return 0;
}

static int write_member(sc_snapshot_writer *writer, const char *name, const void *data,
	size_t len, sandcell_error **err_out)
{
	struct archive_entry *entry = archive_entry_new();
	int rc = entry ? 0 : sc_fail_nomem(err_out);

	if (rc < 0)
		return rc;
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)len);
	if (archive_write_header(writer->archive, entry) != ARCHIVE_OK ||
		(len > 0 &&
			archive_write_data(writer->archive, data, len) != (la_ssize_t)len))
		rc = archive_failed(writer, err_out);
	archive_entry_free(entry);
	return rc < 0 ? rc : note_member(writer, name, data, len, err_out);
}

static int write_json(sc_snapshot_writer *writer, const char *name, const json_t *json,
	sandcell_error **err_out)
{
	sc_autobuf text = SC_BUF_INIT((size_t)64 << 20);
	int rc = sc_json_dump(json, &text, err_out);

	if (rc < 0)
		return rc;
	return write_member(writer, name, text.data, text.len, err_out);
}

/* ---- the file ---- */

static int open_temporary(sc_snapshot_writer *writer, sandcell_error **err_out)
{
	sc_autobuf name = SC_BUF_INIT(SC_MAX_URL);
	char digits[NAME_DIGITS + 1];
	int rc = sc_random_hex(digits, NAME_DIGITS, err_out);

	if (rc < 0)
		return rc;
	(void)sc_buf_printf(&name, "%s.%s.tmp", writer->path, digits);
	rc = sc_buf_check(&name, err_out, "name of the snapshot");
	if (rc < 0)
		return rc;
	writer->fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		0600); /* variables may be secrets */
	if (writer->fd < 0)
		return sc_fail_errno(err_out, SANDCELL_E_FAIL, errno,
			"cannot write a snapshot to '%s'", writer->path);
	writer->temporary = sc_buf_take(&name, NULL);
	return writer->temporary ? 0 : sc_fail_nomem(err_out);
}

static int open_archive(sc_snapshot_writer *writer, enum sc_compression compression,
	sandcell_error **err_out)
{
	struct archive *archive = archive_write_new();
	int rc = ARCHIVE_OK;

	if (!archive)
		return sc_fail_nomem(err_out);
	writer->archive = archive;
	(void)archive_write_set_format_pax_restricted(archive);
	if (compression == SC_COMPRESS_ZSTD)
		rc = archive_write_add_filter_zstd(archive);
	else if (compression == SC_COMPRESS_GZIP)
		rc = archive_write_add_filter_gzip(archive);
	/* ARCHIVE_WARN would mean an external program. */
	if (rc != ARCHIVE_OK)
		return sc_fail(err_out, SANDCELL_E_FAIL,
			"this libarchive cannot compress that way");
	(void)archive_write_set_bytes_per_block(archive, BLOCK_BYTES);
	(void)archive_write_set_bytes_in_last_block(archive, 1);
	if (archive_write_open_fd(archive, writer->fd) != ARCHIVE_OK)
		return archive_failed(writer, err_out);
	return 0;
}

int sc_snapshot_writer_new(const char *path, enum sc_compression compression,
	const json_t *manifest, sc_snapshot_writer **out, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_snapshot_writer_freep) sc_snapshot_writer *writer = NULL;
	int rc;

	writer = sc_calloc(1, sizeof(*writer));
	if (!writer)
		return sc_fail_nomem(err_out);
	writer->fd = -1;
	writer->member.max = SC_SNAPSHOT_MEMBER;
	writer->path = sc_strdup(path);
	writer->members = json_array();
	if (!writer->path || !writer->members)
		return sc_fail_nomem(err_out);
	rc = open_temporary(writer, err_out);
	if (rc == 0)
		rc = open_archive(writer, compression, err_out);
	if (rc == 0)
		rc = write_json(writer, "manifest.json", manifest, err_out);
	if (rc < 0)
		return rc;
	*out = SANDCELL_TAKE(writer);
	return 0;
}

void sc_snapshot_writer_free(sc_snapshot_writer *writer)
{
	if (!writer)
		return;
	if (writer->archive) {
		(void)archive_write_free(writer->archive);
	}
	if (writer->fd >= 0)
		(void)close(writer->fd);
	if (writer->temporary)
		(void)unlink(writer->temporary);
	sc_free(writer->path);
	sc_free(writer->temporary);
	sc_buf_clear(&writer->member);
	json_decref(writer->members);
	sc_free(writer);
}

/* ---- content ---- */

static int flush_member(sc_snapshot_writer *writer, sandcell_error **err_out)
{
	char name[NAME_MAX_LEN];
	int rc;

	if (writer->member.len == 0)
		return 0;
	(void)snprintf(name, sizeof(name), "state/%05" PRIu32, writer->count++);
	rc = write_member(writer, name, writer->member.data, writer->member.len, err_out);
	sc_buf_reset(&writer->member);
	return rc;
}

int sc_snapshot_writer_add(
	sc_snapshot_writer *writer, const void *data, size_t len, sandcell_error **err_out)
{
	const char *at = data;

	while (len > 0) {
		size_t piece = SC_SNAPSHOT_MEMBER - writer->member.len;
		int rc;

		if (piece > len)
			piece = len;
		(void)sc_buf_append(&writer->member, at, piece);
		rc = sc_buf_check(&writer->member, err_out, "a member of the snapshot");
		if (rc == 0 && writer->member.len == SC_SNAPSHOT_MEMBER)
			rc = flush_member(writer, err_out);
		if (rc < 0)
			return rc;
		at += piece;
		len -= piece;
	}
	return 0;
}

/* The directory entry has to be on disk as well before an older file is worth nothing. */
static void sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	sc_autofree char *folder =
		slash ? sc_strndup(path, (size_t)(slash - path) + 1) : sc_strdup(".");
	sc_autoclose int fd =
		folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0)
		(void)fsync(fd);
}

int sc_snapshot_writer_finish(
	sc_snapshot_writer *writer, json_t *report, sandcell_error **err_out)
{
	sc_autojson *index = NULL;
	int rc = flush_member(writer, err_out);

	if (rc < 0)
		return rc;
	index = json_pack("{s:i, s:O, s:O}", "format", SC_SNAPSHOT_FORMAT, "members",
		writer->members, "report", report);
	if (!index)
		return sc_fail_nomem(err_out);
	rc = write_json(writer, "index.json", index, err_out);
	if (rc < 0)
		return rc;
	if (archive_write_close(writer->archive) != ARCHIVE_OK)
		return archive_failed(writer, err_out);
	if (fsync(writer->fd) < 0 || rename(writer->temporary, writer->path) < 0)
		return sc_fail_errno(
			err_out, SANDCELL_E_FAIL, errno, "writing '%s'", writer->path);
	sc_free(SANDCELL_TAKE(writer->temporary));
	sync_directory(writer->path);
	return 0;
}
