/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>
#include <openssl/evp.h>

#include "base/alloc.h"
#include "base/json.h"
#include "session/snapshot_file.h"
#include "session/tar_read.h"

#define READ_BYTES  65536
#define TEXT_MAX    ((size_t)64 << 20)
#define STATE_MAX   (UINT64_C(16) << 30)
#define MEMBERS_MAX 100000

enum place { AT_MANIFEST, AT_STATE, AT_END };

struct reading {
	sc_snapshot_fn on_state;
	void *user;
	enum place place; /* what may come next */
	bool in_text;	  /* manifest or index: kept, not handed on */
	uint32_t count;
	sc_buf text;
	char name[64];
	uint64_t size;
	EVP_MD_CTX *hash;
	json_t *members; /* as found */
	json_t *manifest;
	json_t *index;
};

static int unfit(sandcell_error **err_out, const char *why)
{
	return sc_fail(err_out, SANDCELL_E_DATA, "no snapshot: %s", why);
}

/* ---- members, in the one order that there is ---- */

static int begin_member(const sc_tar_entry *entry, void *user, sandcell_error **err_out)
{
	struct reading *reading = user;
	char expected[64];

	if (entry->type != SC_TAR_FILE || reading->place == AT_END)
		return unfit(err_out, "a member that does not belong there");
	(void)snprintf(expected, sizeof(expected), "state/%05" PRIu32, reading->count);
	reading->in_text = true;
	if (reading->place == AT_MANIFEST) {
		if (strcmp(entry->path, "manifest.json") != 0)
			return unfit(err_out, "it does not begin with a manifest");
		reading->place = AT_STATE;
	} else if (strcmp(entry->path, "index.json") == 0) {
		reading->place = AT_END;
	} else if (strcmp(entry->path, expected) == 0) {
		reading->in_text = false;
		reading->count++;
	} else {
		return unfit(err_out, "a member that does not belong there");
	}
	(void)snprintf(reading->name, sizeof(reading->name), "%s", entry->path);
	reading->size = entry->size;
	sc_buf_reset(&reading->text);
	return EVP_DigestInit_ex(reading->hash, EVP_sha256(), NULL) == 1
		       ? 0
		       : sc_fail_nomem(err_out);
}

static int take_data(
	uint64_t offset, const void *data, size_t len, void *user, sandcell_error **err_out)
{
	struct reading *reading = user;

	(void)offset;
	if (EVP_DigestUpdate(reading->hash, data, len) != 1)
		return sc_fail_nomem(err_out);
	if (reading->in_text) {
		(void)sc_buf_append(&reading->text, data, len);
		return sc_buf_check(&reading->text, err_out, "a text of the snapshot");
	}
	return reading->on_state ? reading->on_state(data, len, reading->user, err_out) : 0;
}

static int note_member(struct reading *reading, sandcell_error **err_out)
{
	unsigned char digest[EVP_MAX_MD_SIZE] = {0};
	char text[65];

	if (EVP_DigestFinal_ex(reading->hash, digest, NULL) != 1)
		return sc_fail_nomem(err_out);
	for (size_t i = 0; i < 32; i++) {
		text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	text[64] = '\0';
	if (json_array_append_new(reading->members,
		    json_pack("{s:s, s:I, s:s}", "name", reading->name, "size",
			    (json_int_t)reading->size, "sha256", text)) < 0)
		return sc_fail_nomem(err_out);
	return 0;
}

static int check_index(struct reading *reading, sandcell_error **err_out)
{
	if (sc_json_get_int(reading->index, "format", 0) != SC_SNAPSHOT_FORMAT)
		return unfit(err_out, "its format is another one");
	if (!json_equal(sc_json_get_arr(reading->index, "members"), reading->members))
		return unfit(err_out, "its content does not fit its index; it is damaged");
	return 0;
}

static int end_member(void *user, sandcell_error **err_out)
{
	struct reading *reading = user;
	json_t **to = reading->place == AT_END ? &reading->index : &reading->manifest;

	if (reading->in_text) {
		*to = json_loadb(reading->text.data ? reading->text.data : "",
			reading->text.len, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(*to))
			return unfit(err_out, "a text in it is not JSON");
	}
	if (reading->place == AT_END)
		return check_index(reading, err_out);
	return note_member(reading, err_out);
}

/* ---- the stream ---- */

/* libarchive takes the compression off, and nothing else. */
static int open_filter(struct archive *archive, int fd, sandcell_error **err_out)
{
	if (archive_read_support_filter_gzip(archive) != ARCHIVE_OK ||
		archive_read_support_filter_zstd(archive) != ARCHIVE_OK)
		return sc_fail(err_out, SANDCELL_E_FAIL,
			"this libarchive cannot read gzip and zstd by itself");
	(void)archive_read_support_format_raw(archive);
	if (archive_read_open_fd(archive, fd, READ_BYTES) != ARCHIVE_OK)
		return unfit(err_out, "it cannot be read");
	return 0;
}

static int feed(struct archive *archive, sc_tar_reader *reader, sandcell_error **err_out)
{
	struct archive_entry *entry = NULL;
	const void *data = NULL;
	size_t len = 0;
	la_int64_t offset = 0;
	int rc = archive_read_next_header(archive, &entry);

	while (rc == ARCHIVE_OK) {
		rc = archive_read_data_block(archive, &data, &len, &offset);
		if (rc != ARCHIVE_OK)
			break;
		int failed = sc_tar_reader_feed(reader, data, len, err_out);
		if (failed < 0)
			return failed;
	}
	if (rc != ARCHIVE_EOF)
		return unfit(err_out, "its compressed data are damaged");
	return sc_tar_reader_end(reader, err_out);
}

static int read_stream(struct reading *reading, int fd, sandcell_error **err_out)
{
	static const sc_tar_limits limits = {.entries = MEMBERS_MAX,
		.bytes = STATE_MAX,
		.logical = STATE_MAX,
		.depth = 2};
	const sc_tar_handler handler = {.entry = begin_member,
		.data = take_data,
		.end = end_member,
		.user = reading};
	struct archive *archive = archive_read_new();
	sc_tar_reader reader;
	int rc;

	if (!archive)
		return sc_fail_nomem(err_out);
	sc_tar_reader_init(&reader, &limits, &handler);
	rc = open_filter(archive, fd, err_out);
	if (rc == 0)
		rc = feed(archive, &reader, err_out);
	sc_tar_reader_clear(&reader);
	(void)archive_read_free(archive);
	if (rc == 0 && reading->place != AT_END)
		rc = unfit(err_out, "it has no index; it was cut off");
	return rc;
}

int sc_snapshot_read(int fd, const char *path, sc_snapshot_fn on_state, void *user,
	json_t **manifest_out, json_t **index_out, sandcell_error **err_out)
{
	struct reading reading = {
		.on_state = on_state,
		.user = user,
		.text = SC_BUF_INIT(TEXT_MAX),
		.hash = EVP_MD_CTX_new(),
		.members = json_array(),
	};
	int rc;

	if (!reading.hash || !reading.members)
		rc = sc_fail_nomem(err_out);
	else if (lseek(fd, 0, SEEK_SET) < 0)
		rc = sc_fail_errno(err_out, SANDCELL_E_FAIL, errno, "reading it");
	else
		rc = read_stream(&reading, fd, err_out);
	if (rc == 0) {
		*manifest_out = SANDCELL_TAKE(reading.manifest);
		*index_out = SANDCELL_TAKE(reading.index);
	}
	sc_buf_clear(&reading.text);
	EVP_MD_CTX_free(reading.hash);
	json_decref(reading.members);
	json_decref(reading.manifest);
	json_decref(reading.index);
	return rc < 0 ? sc_context(err_out, rc, "'%s'", path) : 0;
}
