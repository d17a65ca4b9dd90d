/* SPDX-License-Identifier: MIT */
/*
 * A tar stream.  What is accepted is inside, within the limits, the same for every split,
 * and what libarchive lists too: nobody unpacks anything else than what was checked.
 */
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "fuzz.h"
#include "session/tar_read.h"

#define NOTES_MAX ((size_t)32 << 20)

static const sc_tar_limits limits = {
	.entries = 1000,
	.bytes = 1 << 20,
	.logical = 1 << 24,
	.depth = 16,
	.flags = SC_TAR_LINKS_INSIDE,
};

struct listing {
	sc_buf names;
	uint64_t bytes;
	uint64_t logical;
	uint64_t entries;
	uint64_t end; /* of the data of the entry so far */
	uint64_t size;
};

/* Written down without tar_check's own functions. */
static bool is_inside(const char *path)
{
	return path[0] != '/' && strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 &&
	       !strstr(path, "/../") && !strstr(path, "//") &&
	       (strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

static int on_entry(const sc_tar_entry *entry, void *user, sandcell_error **err_out)
{
	struct listing *listing = user;

	(void)err_out;
	FUZZ_CHECK(is_inside(entry->path));
	FUZZ_CHECK(strlen(entry->path) == entry->path_len);
	FUZZ_CHECK(entry->path[0] != '\0' || entry->type == SC_TAR_DIR);
	FUZZ_CHECK(entry->type >= SC_TAR_FILE && entry->type <= SC_TAR_HARDLINK);
	FUZZ_CHECK(entry->type != SC_TAR_HARDLINK || is_inside(entry->link));
	FUZZ_CHECK(entry->type != SC_TAR_SYMLINK || entry->link[0] != '/');
	FUZZ_CHECK(entry->type == SC_TAR_FILE || entry->size == 0);
	FUZZ_CHECK(entry->bytes <= entry->size);
	FUZZ_CHECK((entry->mode & ~UINT32_C(0777)) == 0);
	listing->logical += entry->size;
	listing->size = entry->size;
	listing->end = 0;
	listing->entries++;
	FUZZ_CHECK(
		listing->logical <= limits.logical && listing->entries <= limits.entries);
	(void)sc_buf_printf(&listing->names, "%d %llu %s\n", (int)entry->type,
		(unsigned long long)entry->size, entry->path);
	return 0;
}

static int on_data(
	uint64_t offset, const void *data, size_t len, void *user, sandcell_error **err_out)
{
	struct listing *listing = user;

	(void)data;
	(void)err_out;
	FUZZ_CHECK(len > 0 && offset >= listing->end && offset + len <= listing->size);
	listing->end = offset + len;
	listing->bytes += len;
	FUZZ_CHECK(listing->bytes <= limits.bytes);
	return 0;
}

/* Reads it in pieces; whether it was accepted. */
static bool read_tar(
	const uint8_t *data, size_t size, size_t piece, struct listing *listing)
{
	sc_tar_handler handler = {.entry = on_entry, .data = on_data, .user = listing};
	sc_tar_reader reader;
	int rc = 0;

	*listing = (struct listing){.names = SC_BUF_INIT(NOTES_MAX)};
	sc_tar_reader_init(&reader, &limits, &handler);
	for (size_t at = 0; at < size && rc == 0; at += piece)
		rc = sc_tar_reader_feed(
			&reader, data + at, size - at < piece ? size - at : piece, NULL);
	if (rc == 0)
		rc = sc_tar_reader_end(&reader, NULL);
	sc_tar_reader_clear(&reader);
	return rc == 0;
}

static sc_tar_type type_of(struct archive_entry *entry)
{
	if (archive_entry_hardlink(entry))
		return SC_TAR_HARDLINK;
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return SC_TAR_FILE;
	case AE_IFDIR:
		return SC_TAR_DIR;
	case AE_IFLNK:
		return SC_TAR_SYMLINK;
	default:
		return SC_TAR_FORBIDDEN;
	}
}

/* The same names by libarchive; false where it will not say, as it does for odd charsets.
 */
static bool list_by_libarchive(const uint8_t *data, size_t size, sc_buf *names)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry = NULL;
	char path[SC_TAR_PATH_MAX + 1];
	uint32_t depth = 0;
	int rc;

	if (!archive)
		return false;
	(void)archive_read_support_format_tar(archive);
	rc = archive_read_open_memory(archive, data, size);
	while (rc == ARCHIVE_OK) {
		rc = archive_read_next_header(archive, &entry);
		if (rc != ARCHIVE_OK)
			break;
		const char *name = archive_entry_pathname(entry);
		if (!name || sc_tar_path(name, strlen(name), path, &depth, NULL) < 0) {
			rc = ARCHIVE_FATAL;
			break;
		}
		(void)sc_buf_printf(names, "%d %lld %s\n", (int)type_of(entry),
			(long long)archive_entry_size(entry), path);
	}
	(void)archive_read_free(archive);
	return rc == ARCHIVE_EOF;
}

/* Makes the checksums right, which no mutation ever would. */
static void fix_checksums(uint8_t *data, size_t size)
{
	for (size_t at = 0; at + SC_TAR_BLOCK <= size; at += SC_TAR_BLOCK) {
		uint8_t *block = data + at;
		unsigned sum = 0;

		if (memcmp(block + 257, "ustar", 5) != 0)
			continue;
		memset(block + 148, ' ', 8);
		for (size_t i = 0; i < SC_TAR_BLOCK; i++)
			sum += block[i];
		(void)snprintf((char *)block + 148, 8, "%06o", sum);
	}
}

static void judge(const uint8_t *data, size_t size)
{
	struct listing whole;
	struct listing split;
	sc_autobuf others = SC_BUF_INIT(NOTES_MAX);
	bool accepted = read_tar(data, size, size ? size : 1, &whole);

	FUZZ_CHECK(read_tar(data, size, 97, &split) == accepted);
	FUZZ_CHECK(strcmp(sc_buf_text(&whole.names), sc_buf_text(&split.names)) == 0);
	if (accepted && list_by_libarchive(data, size, &others))
		FUZZ_CHECK(strcmp(sc_buf_text(&whole.names), sc_buf_text(&others)) == 0);
	sc_buf_clear(&whole.names);
	sc_buf_clear(&split.names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sc_autofree uint8_t *copy = sc_malloc(size + 1);

	if (!copy)
		return 0;
	if (size > 0)
		memcpy(copy, data, size);
	judge(copy, size);
	fix_checksums(copy, size);
	judge(copy, size);
	return 0;
}
