/* SPDX-License-Identifier: MIT */
#include "session/tar_read.h"

#include <string.h>

#include "base/alloc.h"
#include "session/tar_header.h"

#define REGIONS_MAX ((uint64_t)65536)
#define DIGITS_MAX  ((size_t)19)

enum {
	SEEN_PAX = 1 << 0,
	SEEN_GNU = 1 << 1,
	SEEN_PATH = 1 << 2,
	SEEN_LINK = 1 << 3,
	SEEN_SIZE = 1 << 4,
	SEEN_MTIME = 1 << 5,
	SEEN_SPARSE_NAME = 1 << 6,
	SEEN_SPARSE_SIZE = 1 << 7,
	SEEN_SPARSE_MAJOR = 1 << 8,
	SEEN_SPARSE_MINOR = 1 << 9,
};
#define SEEN_SPARSE                                                                        \
	(SEEN_SPARSE_NAME | SEEN_SPARSE_SIZE | SEEN_SPARSE_MAJOR | SEEN_SPARSE_MINOR)

void sc_tar_reader_init(
	sc_tar_reader *reader, const sc_tar_limits *limits, const sc_tar_handler *handler)
{
	*reader = (sc_tar_reader){
		.handler = *handler,
		.extension = SC_BUF_INIT(SC_TAR_EXTENSION_MAX),
		.extra = {.path = SC_BUF_INIT(SC_TAR_EXTENSION_MAX),
			.link = SC_BUF_INIT(SC_TAR_EXTENSION_MAX)},
	};
	sc_tar_check_init(&reader->check, limits);
}

void sc_tar_reader_clear(sc_tar_reader *reader)
{
	sc_tar_check_clear(&reader->check);
	sc_buf_clear(&reader->extension);
	sc_buf_clear(&reader->extra.path);
	sc_buf_clear(&reader->extra.link);
	sc_free(reader->regions);
	reader->regions = NULL;
}

static int refuse(sandcell_error **err_out, const char *why)
{
	return sc_fail(err_out, SANDCELL_E_DATA, "the archive %s", why);
}

static size_t padding_of(uint64_t size)
{
	return (size_t)(-size & (SC_TAR_BLOCK - 1));
}

/* ---- extensions ---- */

/* Notes that a record was there; twice is refused, since programs differ in which one wins.
 */
static int note(struct sc_tar_extra *extra, uint32_t bit, sandcell_error **err_out)
{
	if (extra->seen & bit)
		return refuse(err_out, "says the same thing twice in an extended header");
	extra->seen |= bit;
	return 0;
}

static int note_text(struct sc_tar_extra *extra, uint32_t bit, sc_buf *to, const char *text,
	size_t len, sandcell_error **err_out)
{
	int rc = note(extra, bit, err_out);

	if (rc < 0)
		return rc;
	sc_buf_reset(to);
	(void)sc_buf_append(to, text, len);
	return sc_buf_check(to, err_out, "a name in the archive");
}

static int note_number(struct sc_tar_extra *extra, uint32_t bit, uint64_t *to,
	const sc_pax_record *record, sandcell_error **err_out)
{
	if (!sc_pax_size(record, to))
		return refuse(err_out, "has an extended header with a bad number");
	return note(extra, bit, err_out);
}

static int note_time(
	struct sc_tar_extra *extra, const sc_pax_record *record, sandcell_error **err_out)
{
	if (!sc_pax_time(record, &extra->mtime))
		return refuse(err_out, "has an extended header with a bad time");
	return note(extra, SEEN_MTIME, err_out);
}

static int note_version(struct sc_tar_extra *extra, uint32_t bit, uint32_t *to,
	const sc_pax_record *record, sandcell_error **err_out)
{
	uint64_t number = 0;
	int rc = note_number(extra, bit, &number, record, err_out);

	*to = (uint32_t)number;
	return rc;
}

static bool is_vendor_sparse(const sc_pax_record *record)
{
	return (record->key_len >= 11 && memcmp(record->key, "GNU.sparse.", 11) == 0) ||
	       sc_pax_is(record, "SUN.holesdata");
}

/* A record that says something about the entry; *used_out tells whether it does. */
static int use_record(struct sc_tar_extra *extra, const sc_pax_record *record,
	bool *used_out, sandcell_error **err_out)
{
	*used_out = true;
	if (sc_pax_is(record, "path"))
		/* In front of a sparse file it holds a made-up name; the real one wins. */
		return extra->seen & SEEN_SPARSE_NAME
			       ? note(extra, SEEN_PATH, err_out)
			       : note_text(extra, SEEN_PATH, &extra->path, record->value,
					 record->value_len, err_out);
	if (sc_pax_is(record, "GNU.sparse.name"))
		return note_text(extra, SEEN_SPARSE_NAME, &extra->path, record->value,
			record->value_len, err_out);
	if (sc_pax_is(record, "linkpath"))
		return note_text(extra, SEEN_LINK, &extra->link, record->value,
			record->value_len, err_out);
	if (sc_pax_is(record, "size"))
		return note_number(extra, SEEN_SIZE, &extra->size, record, err_out);
	if (sc_pax_is(record, "mtime"))
		return note_time(extra, record, err_out);
	if (sc_pax_is(record, "GNU.sparse.realsize"))
		return note_number(
			extra, SEEN_SPARSE_SIZE, &extra->real_size, record, err_out);
	if (sc_pax_is(record, "GNU.sparse.major"))
		return note_version(
			extra, SEEN_SPARSE_MAJOR, &extra->sparse[0], record, err_out);
	if (sc_pax_is(record, "GNU.sparse.minor"))
		return note_version(
			extra, SEEN_SPARSE_MINOR, &extra->sparse[1], record, err_out);
	if (is_vendor_sparse(record))
		return refuse(err_out, "holds a sparse file in an old format");
	*used_out = false;
	return 0;
}

static int use_pax(sc_tar_reader *reader, bool global, sandcell_error **err_out)
{
	const char *at = reader->extension.data;
	const char *end = at + reader->extension.len;
	int rc;

	if (!global && (reader->extra.seen & (SEEN_PAX | SEEN_GNU)))
		return refuse(err_out, "has two extended headers in front of an entry");
	if (global && reader->extra.seen)
		return refuse(err_out, "has a global header in front of an entry");
	while (at < end) {
		sc_pax_record record = {0};
		bool used = false;

		rc = sc_pax_next(&at, end, &record, err_out);
		if (rc == 0)
			rc = use_record(&reader->extra, &record, &used, err_out);
		if (rc < 0)
			return rc;
		if (global && used)
			return refuse(err_out, "has a global header that changes entries");
	}
	if (!global)
		reader->extra.seen |= SEEN_PAX;
	return 0;
}

/* GNU's long name ('L') or link target ('K'), which ends with a zero byte. */
static int use_long_name(sc_tar_reader *reader, sandcell_error **err_out)
{
	struct sc_tar_extra *extra = &reader->extra;
	const sc_buf *name = &reader->extension;
	size_t len = strnlen(sc_buf_text(name), name->len);
	bool link = reader->extension_type == 'K';

	if (extra->seen & SEEN_PAX)
		return refuse(err_out, "has two kinds of long names for one entry");
	if (!sc_tar_is_zero(sc_buf_text(name) + len, name->len - len))
		return refuse(err_out, "has a long name with a zero byte in it");
	extra->seen |= SEEN_GNU;
	return note_text(extra, link ? SEEN_LINK : SEEN_PATH,
		link ? &extra->link : &extra->path, sc_buf_text(name), len, err_out);
}

static int use_extension(sc_tar_reader *reader, sandcell_error **err_out)
{
	if (reader->extension_type == 'x' || reader->extension_type == 'g')
		return use_pax(reader, reader->extension_type == 'g', err_out);
	return use_long_name(reader, err_out);
}

static int begin_extension(
	sc_tar_reader *reader, const sc_tar_header *header, sandcell_error **err_out)
{
	if (header->size == 0 || header->size > SC_TAR_EXTENSION_MAX)
		return refuse(err_out, "has an extended header of an impossible size");
	sc_buf_reset(&reader->extension);
	reader->extension_type = header->type;
	reader->left = header->size;
	reader->padding = padding_of(header->size);
	reader->state = SC_TAR_IN_EXTENSION;
	return 0;
}

static int take_extension(
	sc_tar_reader *reader, const char *data, size_t len, sandcell_error **err_out)
{
	(void)sc_buf_append(&reader->extension, data, len);
	int rc = sc_buf_check(
		&reader->extension, err_out, "an extended header of the archive");

	if (rc < 0)
		return rc;
	reader->left -= len;
	if (reader->left > 0)
		return 0;
	reader->state = SC_TAR_IN_PADDING;
	return use_extension(reader, err_out);
}

/* ---- entries ---- */

static int finish_entry(sc_tar_reader *reader, sandcell_error **err_out)
{
	reader->extra.seen = 0;
	reader->region_count = 0;
	reader->state = SC_TAR_IN_PADDING;
	return reader->handler.end ? reader->handler.end(reader->handler.user, err_out) : 0;
}

/* Judges the entry, hands it on as it was judged, and goes for its content. */
static int open_entry(sc_tar_reader *reader, sandcell_error **err_out)
{
	sc_tar_check *check = &reader->check;
	sc_tar_entry *entry = &reader->entry;
	int rc;

	rc = sc_tar_check_entry(check, entry, err_out);
	if (rc < 0)
		return rc;
	entry->path = check->path;
	entry->path_len = strlen(check->path);
	entry->link = check->link;
	entry->link_len = strlen(check->link);
	if (reader->handler.entry) {
		rc = reader->handler.entry(entry, reader->handler.user, err_out);
		if (rc < 0)
			return rc;
	}
	reader->state = SC_TAR_IN_DATA;
	reader->region = 0;
	reader->region_at = 0;
	return reader->left > 0 ? 0 : finish_entry(reader, err_out);
}

static sc_tar_type type_of(const sc_tar_header *header)
{
	switch (header->type) {
	case '0':
	case '7':
		return SC_TAR_FILE;
	case '1':
		return SC_TAR_HARDLINK;
	case '2':
		return SC_TAR_SYMLINK;
	case '5':
		return SC_TAR_DIR;
	default:
		return SC_TAR_FORBIDDEN;
	}
}

/* Puts the entry together from its header and the extensions in front of it. */
static void describe(sc_tar_reader *reader, const sc_tar_header *header)
{
	const struct sc_tar_extra *extra = &reader->extra;
	uint32_t seen = extra->seen;
	bool long_path = (seen & (SEEN_PATH | SEEN_SPARSE_NAME)) != 0;
	bool long_link = (seen & SEEN_LINK) != 0;

	reader->stored = seen & SEEN_SIZE ? extra->size : header->size;
	reader->left = reader->stored;
	reader->padding = padding_of(reader->stored);
	reader->entry = (sc_tar_entry){
		.path = long_path ? sc_buf_text(&extra->path) : header->path,
		.path_len = long_path ? extra->path.len : strlen(header->path),
		.link = long_link ? sc_buf_text(&extra->link) : header->link,
		.link_len = long_link ? extra->link.len : strlen(header->link),
		.size = reader->stored,
		.bytes = reader->stored,
		.mtime = seen & SEEN_MTIME ? extra->mtime : header->mtime,
		.mode = header->mode,
		.type = type_of(header),
	};
}

static int begin_sparse(sc_tar_reader *reader, sandcell_error **err_out)
{
	const struct sc_tar_extra *extra = &reader->extra;

	if ((extra->seen & SEEN_SPARSE) != SEEN_SPARSE || extra->sparse[0] != 1 ||
		extra->sparse[1] != 0 || reader->entry.type != SC_TAR_FILE)
		return refuse(err_out, "holds a sparse file in an unknown format");
	reader->entry.size = extra->real_size;
	reader->map_counted = false;
	reader->map_number = 0;
	reader->map_digits = 0;
	reader->map_left = 1;
	reader->state = SC_TAR_IN_MAP;
	return reader->left > 0 ? 0 : refuse(err_out, "holds a sparse file without a map");
}

static int begin_entry(
	sc_tar_reader *reader, const sc_tar_header *header, sandcell_error **err_out)
{
	size_t path_len = 0;

	describe(reader, header);
	path_len = reader->entry.path_len;
	if (reader->entry.type == SC_TAR_FILE && path_len > 0 &&
		reader->entry.path[path_len - 1] == '/')
		return refuse(err_out, "holds a file with the name of a directory");
	if (reader->extra.seen & SEEN_SPARSE)
		return begin_sparse(reader, err_out);
	return open_entry(reader, err_out);
}

/* ---- the sparse map: decimal numbers, each behind a newline ---- */

static int start_map(sc_tar_reader *reader, uint64_t count, sandcell_error **err_out)
{
	if (count > REGIONS_MAX || count > reader->stored / 4)
		return refuse(err_out, "holds a sparse file with an impossible map");
	sc_free(reader->regions);
	reader->regions = sc_calloc(count ? (size_t)count : 1, sizeof(*reader->regions));
	if (!reader->regions)
		return sc_fail_nomem(err_out);
	reader->region_count = (size_t)count;
	reader->region = 0;
	reader->map_counted = true;
	reader->map_left = count * 2;
	return 0;
}

/* Takes one number of the map: an offset, or the length that follows it. */
static int add_to_map(sc_tar_reader *reader, uint64_t number, sandcell_error **err_out)
{
	struct sc_tar_region *region = &reader->regions[reader->region];
	const struct sc_tar_region *before = reader->region > 0 ? region - 1 : NULL;

	reader->map_left--;
	if (reader->map_left % 2 == 1) {
		region->offset = number;
		if (before && number < before->offset + before->len)
			return refuse(
				err_out, "holds a sparse file with an impossible map");
		return 0;
	}
	region->len = number;
	reader->region++;
	if (region->offset > reader->entry.size ||
		number > reader->entry.size - region->offset)
		return refuse(err_out, "holds a sparse file with an impossible map");
	return 0;
}

static int take_map_number(sc_tar_reader *reader, sandcell_error **err_out)
{
	uint64_t number = reader->map_number;

	if (reader->map_digits == 0)
		return refuse(err_out, "holds a sparse file with an impossible map");
	reader->map_number = 0;
	reader->map_digits = 0;
	return reader->map_counted ? add_to_map(reader, number, err_out)
				   : start_map(reader, number, err_out);
}

/* The map is whole: what is left behind its padding has to be the regions' content. */
static int finish_map(sc_tar_reader *reader, sandcell_error **err_out)
{
	size_t rest = padding_of(reader->stored - reader->left);
	uint64_t sum = 0;

	for (size_t i = 0; i < reader->region_count; i++)
		sum += reader->regions[i].len; /* each at most the file's size, in order */
	if (reader->left < rest || reader->left - rest != sum)
		return refuse(err_out, "holds a sparse file that differs from its map");
	reader->left = sum;
	reader->entry.bytes = sum;
	reader->map_padding = rest;
	reader->state = SC_TAR_IN_MAP_PADDING;
	return rest > 0 ? 0 : open_entry(reader, err_out);
}

static int skip_map_padding(
	sc_tar_reader *reader, size_t len, size_t *used_out, sandcell_error **err_out)
{
	*used_out = len < reader->map_padding ? len : reader->map_padding;
	reader->map_padding -= *used_out;
	return reader->map_padding > 0 ? 0 : open_entry(reader, err_out);
}

static int take_map(sc_tar_reader *reader, const char *data, size_t len, size_t *used_out,
	sandcell_error **err_out)
{
	int rc = 0;

	for (*used_out = 0; *used_out < len && reader->map_left > 0 && rc == 0;) {
		char c = data[(*used_out)++];

		reader->left--;
		if (c == '\n') {
			rc = take_map_number(reader, err_out);
		} else if (c >= '0' && c <= '9' && reader->map_digits < DIGITS_MAX - 1) {
			reader->map_number = reader->map_number * 10 + (uint64_t)(c - '0');
			reader->map_digits++;
		} else {
			rc = refuse(err_out, "holds a sparse file with an impossible map");
		}
	}
	if (rc == 0 && reader->map_left == 0)
		return finish_map(reader, err_out);
	if (rc == 0 && reader->left == 0)
		return refuse(err_out, "holds a sparse file whose map is cut");
	return rc;
}

/* ---- content ---- */

static int hand_on(sc_tar_reader *reader, uint64_t offset, const char *data, size_t len,
	sandcell_error **err_out)
{
	const sc_tar_handler *handler = &reader->handler;

	return handler->data ? handler->data(offset, data, len, handler->user, err_out) : 0;
}

/* Gives content to the regions it belongs to. */
static int take_regions(
	sc_tar_reader *reader, const char *data, size_t len, sandcell_error **err_out)
{
	while (len > 0) {
		const struct sc_tar_region *region = &reader->regions[reader->region];
		uint64_t room = region->len - reader->region_at;
		size_t piece = room < len ? (size_t)room : len;
		int rc = 0;

		if (piece > 0)
			rc = hand_on(reader, region->offset + reader->region_at, data,
				piece, err_out);
		if (rc < 0)
			return rc;
		reader->region_at += piece;
		data += piece;
		len -= piece;
		if (reader->region_at == region->len && len > 0) {
			reader->region++;
			reader->region_at = 0;
		}
	}
	return 0;
}

static int take_data(
	sc_tar_reader *reader, const char *data, size_t len, sandcell_error **err_out)
{
	int rc;

	if (reader->region_count > 0)
		rc = take_regions(reader, data, len, err_out);
	else
		rc = hand_on(
			reader, reader->entry.bytes - reader->left, data, len, err_out);
	if (rc < 0)
		return rc;
	reader->left -= len;
	return reader->left > 0 ? 0 : finish_entry(reader, err_out);
}

/* ---- the stream ---- */

static int take_header(sc_tar_reader *reader, sandcell_error **err_out)
{
	sc_tar_header header;
	int rc;

	if (sc_tar_is_zero(reader->block, SC_TAR_BLOCK)) {
		if (reader->extra.seen)
			return refuse(err_out, "ends behind an extended header");
		reader->state = SC_TAR_BEHIND_END;
		return 0;
	}
	rc = sc_tar_header_parse(reader->block, &header, err_out);
	if (rc < 0)
		return rc;
	switch (header.type) {
	case 'x':
	case 'g':
	case 'L':
	case 'K':
		return begin_extension(reader, &header, err_out);
	case 'S':
		return refuse(err_out, "holds a sparse file in an old format");
	default:
		return begin_entry(reader, &header, err_out);
	}
}

static int take_block(sc_tar_reader *reader, const char *data, size_t len, size_t *used_out,
	sandcell_error **err_out)
{
	size_t piece = SC_TAR_BLOCK - reader->have;

	if (piece > len)
		piece = len;
	memcpy(reader->block + reader->have, data, piece);
	reader->have += piece;
	*used_out = piece;
	if (reader->have < SC_TAR_BLOCK)
		return 0;
	reader->have = 0;
	return take_header(reader, err_out);
}

static void skip_padding(sc_tar_reader *reader, size_t len, size_t *used_out)
{
	*used_out = len < reader->padding ? len : reader->padding;
	reader->padding -= *used_out;
	if (reader->padding == 0)
		reader->state = SC_TAR_AT_HEADER;
}

/* One step of the state machine; *used_out may be 0 when only the state changes. */
static int step(sc_tar_reader *reader, const char *data, size_t len, size_t *used_out,
	sandcell_error **err_out)
{
	size_t piece = reader->left < len ? (size_t)reader->left : len;

	switch (reader->state) {
	case SC_TAR_AT_HEADER:
		return take_block(reader, data, len, used_out, err_out);
	case SC_TAR_IN_EXTENSION:
		*used_out = piece;
		return take_extension(reader, data, piece, err_out);
	case SC_TAR_IN_MAP:
		return take_map(reader, data, piece, used_out, err_out);
	case SC_TAR_IN_MAP_PADDING:
		return skip_map_padding(reader, len, used_out, err_out);
	case SC_TAR_IN_DATA:
		*used_out = piece;
		return take_data(reader, data, piece, err_out);
	case SC_TAR_IN_PADDING:
		skip_padding(reader, len, used_out);
		return 0;
	default:
		*used_out = len;
		return sc_tar_is_zero(data, len)
			       ? 0
			       : refuse(err_out, "goes on behind its end");
	}
}

int sc_tar_reader_feed(
	sc_tar_reader *reader, const void *data, size_t len, sandcell_error **err_out)
{
	const char *at = data;

	while (len > 0 && reader->rc == 0) {
		size_t used = 0;

		reader->rc = step(reader, at, len, &used, err_out);
		at += used;
		len -= used;
	}
	return reader->rc;
}

int sc_tar_reader_end(sc_tar_reader *reader, sandcell_error **err_out)
{
	if (reader->rc == 0 && reader->state != SC_TAR_BEHIND_END)
		reader->rc = refuse(err_out, "is cut off");
	return reader->rc;
}
