/* SPDX-License-Identifier: MIT */
#ifndef TAR_BUILD_H
#define TAR_BUILD_H

/*
 * Makes tar archives field by field, right or wrong on purpose, and reads them with a
 * handler that writes down what it is given.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "session/tar_read.h"

#define TAR_TEST_MAX ((size_t)64 << 20)

/* One header; content follows with tar_content(). */
static inline void tar_header(
	sc_buf *tar, char type, const char *path, const char *link, uint64_t size)
{
	char block[512] = {0};
	unsigned sum = 0;

	memcpy(block, path, strnlen(path, 100));
	(void)snprintf(block + 100, 8, "%07o", 0644);
	(void)snprintf(block + 108, 8, "%07o", 1000);
	(void)snprintf(block + 116, 8, "%07o", 1000);
	if (size < UINT64_C(1) << 33) {
		(void)snprintf(block + 124, 12, "%011llo", (unsigned long long)size);
	} else {
		block[124] = (char)0x80;
		for (int i = 0; i < 8; i++)
			block[135 - i] = (char)(size >> 8 * i);
	}
	(void)snprintf(block + 136, 12, "%011o", 1700000000);
	memset(block + 148, ' ', 8);
	block[156] = type;
	memcpy(block + 157, link, strnlen(link, 100));
	memcpy(block + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(block); i++)
		sum += (unsigned char)block[i];
	(void)snprintf(block + 148, 8, "%06o", sum);
	ck_assert_int_eq(sc_buf_append(tar, block, sizeof(block)), 0);
}

static inline void tar_content(sc_buf *tar, const void *data, size_t len)
{
	static const char zeros[512];

	ck_assert_int_eq(sc_buf_append(tar, data, len), 0);
	ck_assert_int_eq(sc_buf_append(tar, zeros, -len & 511), 0);
}

static inline void tar_file(sc_buf *tar, const char *path, const char *text)
{
	tar_header(tar, '0', path, "", strlen(text));
	tar_content(tar, text, strlen(text));
}

static inline void tar_extension(sc_buf *tar, char type, const void *data, size_t len)
{
	tar_header(
		tar, type, type == 'x' || type == 'g' ? "pax" : "././@LongLink", "", len);
	tar_content(tar, data, len);
}

/* Appends "LENGTH key=value\n". */
static inline void tar_record(sc_buf *records, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3;
	size_t len = rest;

	while (len != rest + (size_t)snprintf(NULL, 0, "%zu", len))
		len = rest + (size_t)snprintf(NULL, 0, "%zu", len);
	ck_assert_int_eq(sc_buf_printf(records, "%zu %s=%s\n", len, key, value), 0);
}

/* A pax header with NULL-terminated pairs of key and value. */
static inline void tar_pax(sc_buf *tar, const char *const *pairs)
{
	sc_autobuf records = SC_BUF_INIT(TAR_TEST_MAX);

	for (; *pairs; pairs += 2)
		tar_record(&records, pairs[0], pairs[1]);
	tar_extension(tar, 'x', records.data, records.len);
}
#define TAR_PAX(tar, ...) tar_pax(tar, (const char *const[]){__VA_ARGS__, NULL})

static inline void tar_end(sc_buf *tar)
{
	static const char zeros[1024];

	ck_assert_int_eq(sc_buf_append(tar, zeros, sizeof(zeros)), 0);
}

/* ---- reading ---- */

static inline int tar_note_entry(
	const sc_tar_entry *entry, void *user, sandcell_error **err_out)
{
	static const char types[] = "?fdlh!";

	(void)sc_buf_printf(user, "%c %s", types[entry->type], entry->path);
	if (entry->link_len)
		(void)sc_buf_printf(user, " -> %s", entry->link);
	if (entry->size)
		(void)sc_buf_printf(user, " %llu", (unsigned long long)entry->size);
	(void)sc_buf_putc(user, '\n');
	return sc_buf_check(user, err_out, "notes");
}

static inline int tar_note_data(
	uint64_t offset, const void *data, size_t len, void *user, sandcell_error **err_out)
{
	(void)sc_buf_printf(user, "@%llu %.*s\n", (unsigned long long)offset, (int)len,
		(const char *)data);
	return sc_buf_check(user, err_out, "notes");
}

/* Reads tar in pieces; what it holds, or NULL with the failure in *rc_out and *err_out. */
static inline char *tar_listing(const sc_buf *tar, size_t piece,
	const sc_tar_limits *limits, int *rc_out, sandcell_error **err_out)
{
	static const sc_tar_limits defaults = SC_TAR_LIMITS_DEFAULT;
	sc_autobuf notes = SC_BUF_INIT(TAR_TEST_MAX);
	sc_tar_handler handler = {
		.entry = tar_note_entry, .data = tar_note_data, .user = &notes};
	sc_tar_reader reader;

	sc_tar_reader_init(&reader, limits ? limits : &defaults, &handler);
	*rc_out = 0;
	for (size_t at = 0; at < tar->len && *rc_out == 0; at += piece) {
		size_t len = tar->len - at < piece ? tar->len - at : piece;
		*rc_out = sc_tar_reader_feed(&reader, tar->data + at, len, err_out);
	}
	if (*rc_out == 0)
		*rc_out = sc_tar_reader_end(&reader, err_out);
	sc_tar_reader_clear(&reader);
	if (*rc_out < 0)
		return NULL;
	(void)sc_buf_puts(&notes, "");
	return sc_buf_take(&notes, NULL);
}

static inline void tar_expect(const sc_buf *tar, const char *listing)
{
	sandcell_error *err = NULL;
	int rc = 0;
	sc_autofree char *found = tar_listing(tar, SIZE_MAX / 2, NULL, &rc, &err);

	ck_assert_msg(rc == 0, "refused: %s", sandcell_error_get_message(err));
	ck_assert_str_eq(found, listing);
}

static inline void tar_expect_refused(
	const sc_buf *tar, const sc_tar_limits *limits, int code, const char *word)
{
	sandcell_error *err = NULL;
	int rc = 0;
	sc_autofree char *found = tar_listing(tar, SIZE_MAX / 2, limits, &rc, &err);

	ck_assert_msg(rc == code, "got %d (%s), listing:\n%s", rc,
		sandcell_error_get_message(err), found ? found : "");
	ck_assert_msg(strstr(sandcell_error_get_message(err), word) != NULL,
		"'%s' is not in '%s'", word, sandcell_error_get_message(err));
	sandcell_error_free(err);
}

#endif
