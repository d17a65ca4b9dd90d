/* SPDX-License-Identifier: MIT */
#include "session/tar_header.h"

#include <string.h>

#include "base/num.h"

/* Where the fields are: POSIX.1-2017, "pax", "ustar Interchange Format". */
enum { NAME = 0, NAME_LEN = 100, MODE = 100, MODE_LEN = 8, SIZE = 124, SIZE_LEN = 12 };
enum { MTIME = 136, MTIME_LEN = 12, SUM = 148, SUM_LEN = 8, TYPE = 156 };
enum { LINK = 157, LINK_LEN = 100, MAGIC = 257, PREFIX = 345, PREFIX_LEN = 155 };
enum { GNU_SPARSE = 386, GNU_SPARSE_LEN = 109, BLOCK = 512 };

#define TIME_MAX (INT64_C(1) << 40)

bool sc_tar_is_zero(const void *data, size_t len)
{
	const unsigned char *at = data;

	return len == 0 || (at[0] == 0 && memcmp(at, at + 1, len - 1) == 0);
}

/* Octal digits with blanks or zero bytes around them; all blank is 0. */
static bool read_octal(const unsigned char *field, size_t len, uint64_t *out)
{
	uint64_t value = 0;
	size_t at = 0;

	while (at < len && field[at] == ' ')
		at++;
	for (; at < len && field[at] >= '0' && field[at] <= '7'; at++) {
		if (value > INT64_MAX / 8)
			return false;
		value = value * 8 + (uint64_t)(field[at] - '0');
	}
	for (; at < len; at++) {
		if (field[at] != ' ' && field[at] != '\0')
			return false;
	}
	*out = value;
	return true;
}

/* GNU's big-endian two's complement behind a byte 0x80 or 0xff. */
static bool read_binary(const unsigned char *field, size_t len, int64_t *out)
{
	uint64_t value = field[0] == 0xff ? UINT64_MAX : 0;

	for (size_t at = 1; at < len; at++) {
		if (at + 8 < len && field[at] != (unsigned char)value)
			return false;
		value = value << 8 | field[at];
	}
	*out = (int64_t)value;
	return (field[0] == 0xff) == (*out < 0);
}

static bool read_number(const unsigned char *field, size_t len, int64_t *out)
{
	uint64_t value = 0;

	if (field[0] == 0x80 || field[0] == 0xff)
		return read_binary(field, len, out);
	if (!read_octal(field, len, &value))
		return false;
	*out = (int64_t)value;
	return true;
}

/* The sum of all bytes, with its own field taken as blanks. */
static bool checksum_fits(const unsigned char *block)
{
	uint64_t written = 0;
	uint64_t sum = 0;

	if (!read_octal(block + SUM, SUM_LEN, &written))
		return false;
	for (size_t at = 0; at < BLOCK; at++)
		sum += at >= SUM && at < SUM + SUM_LEN ? ' ' : block[at];
	return sum == written;
}

/* Copies a field that ends at its first zero byte or where it is full. */
static size_t copy_text(char *out, const unsigned char *field, size_t max)
{
	size_t len = strnlen((const char *)field, max);

	memcpy(out, field, len);
	out[len] = '\0';
	return len;
}

static void read_path(const unsigned char *block, bool posix, char *out)
{
	size_t used = 0;

	/* GNU keeps other things where POSIX has the prefix. */
	if (posix && block[PREFIX] != '\0') {
		used = copy_text(out, block + PREFIX, PREFIX_LEN);
		out[used++] = '/';
	}
	(void)copy_text(out + used, block + NAME, NAME_LEN);
}

int sc_tar_header_parse(
	const unsigned char *block, sc_tar_header *header, sandcell_error **err_out)
{
	bool posix = memcmp(block + MAGIC, "ustar\00000", 8) == 0;
	bool gnu = memcmp(block + MAGIC, "ustar  \0", 8) == 0;
	int64_t size = 0;
	int64_t mode = 0;
	int64_t mtime = 0;

	if (!posix && !gnu)
		return sc_fail(err_out, SANDCELL_E_DATA, "not a POSIX or GNU tar archive");
	if (!checksum_fits(block))
		return sc_fail(err_out, SANDCELL_E_DATA,
			"a header of the archive has a wrong checksum");
	/* Some programs look at GNU's old sparse map whatever the type of the entry is. */
	if (gnu && !sc_tar_is_zero(block + GNU_SPARSE, GNU_SPARSE_LEN))
		return sc_fail(err_out, SANDCELL_E_DATA,
			"the archive holds a sparse file in an old format");
	if (!read_number(block + SIZE, SIZE_LEN, &size) || size < 0 ||
		!read_number(block + MODE, MODE_LEN, &mode) ||
		!read_number(block + MTIME, MTIME_LEN, &mtime) || mtime > TIME_MAX ||
		mtime < -TIME_MAX)
		return sc_fail(err_out, SANDCELL_E_DATA,
			"a header of the archive holds a number that makes no sense");
	*header = (sc_tar_header){
		.size = (uint64_t)size,
		.mtime = mtime,
		.mode = (uint32_t)mode & 0777,
		.type = block[TYPE] ? (char)block[TYPE] : '0',
	};
	read_path(block, posix, header->path);
	(void)copy_text(header->link, block + LINK, LINK_LEN);
	return 0;
}

int sc_pax_next(
	const char **at, const char *end, sc_pax_record *record, sandcell_error **err_out)
{
	size_t left = (size_t)(end - *at);
	const char *blank = memchr(*at, ' ', left);
	uint64_t len = 0;

	if (!blank || **at == '0' ||
		!sc_parse_u64_n(*at, (size_t)(blank - *at), left, &len))
		return sc_fail(err_out, SANDCELL_E_DATA,
			"an extended header of the archive has a bad length");
	const char *stop = *at + len; /* behind the newline */
	const char *key = blank + 1;
	const char *equal = stop > key ? memchr(key, '=', (size_t)(stop - key)) : NULL;
	if (!equal || equal == key || stop[-1] != '\n' || equal + 1 > stop - 1)
		return sc_fail(err_out, SANDCELL_E_DATA,
			"an extended header of the archive is malformed");
	*record = (sc_pax_record){
		.key = key,
		.key_len = (size_t)(equal - key),
		.value = equal + 1,
		.value_len = (size_t)(stop - 1 - (equal + 1)),
	};
	*at = stop;
	return 0;
}

bool sc_pax_is(const sc_pax_record *record, const char *key)
{
	return record->key_len == strlen(key) &&
	       memcmp(record->key, key, record->key_len) == 0;
}

bool sc_pax_size(const sc_pax_record *record, uint64_t *out)
{
	return sc_parse_u64_n(record->value, record->value_len, INT64_MAX, out);
}

bool sc_pax_time(const sc_pax_record *record, int64_t *out)
{
	const char *at = record->value;
	size_t len = record->value_len;
	bool negative = len > 0 && *at == '-';
	uint64_t seconds = 0;

	at += negative;
	len -= negative;
	const char *dot = memchr(at, '.', len);
	size_t whole = dot ? (size_t)(dot - at) : len;
	for (size_t i = whole + 1; i < len; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
	}
	if (!sc_parse_u64_n(at, whole, (uint64_t)TIME_MAX, &seconds))
		return false;
	*out = negative ? -(int64_t)seconds : (int64_t)seconds;
	return true;
}
