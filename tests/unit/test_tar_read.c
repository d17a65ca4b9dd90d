/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/fd.h"
#include "unit.h"

#include "tar_build.h"

#define TAR() SC_BUF_INIT(TAR_TEST_MAX)

/* Recomputes the checksum of the last header, which begins `back` bytes before the end. */
static void fix_sum(sc_buf *tar, size_t back)
{
	char *block = tar->data + tar->len - back;
	unsigned sum = 0;

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)block[i];
	(void)snprintf(block + 148, 8, "%06o", sum);
}

static void plain_archive(sc_buf *tar)
{
	static char long_name[200];

	memset(long_name, 'n', sizeof(long_name) - 1);
	tar_header(tar, '5', "d/", "", 0);
	tar_file(tar, "d/a", "hello");
	TAR_PAX(tar, "path", long_name, "mtime", "1350244992.023960108", "comment", "x=\n");
	tar_file(tar, "short", "world");
	tar_extension(tar, 'L', "d/gnu\0", 6);
	tar_extension(tar, 'K', "d/a\0", 4);
	tar_header(tar, '1', "short", "short", 0);
	tar_header(tar, '2', "s", "d/a", 0);
	tar_file(tar, "empty", "");
	tar_end(tar);
}

START_TEST(an_archive_is_read_for_every_split)
{
	sc_autobuf tar = TAR();
	int rc = 0;

	plain_archive(&tar);
	sc_autofree char *whole = tar_listing(&tar, SIZE_MAX / 2, NULL, &rc, NULL);
	ck_assert_ptr_nonnull(whole);
	ck_assert_ptr_nonnull(strstr(whole, "f d/a 5\n@0 hello\nf nnn"));
	ck_assert_ptr_nonnull(
		strstr(whole, "nn 5\n@0 world\nh d/gnu -> d/a\nl s -> d/a\nf empty\n"));
	for (size_t piece = 5; piece < 1100; piece++) {
		sc_autofree char *found = tar_listing(&tar, piece, NULL, &rc, NULL);
		ck_assert_ptr_nonnull(found);
		if (piece % 512 == 0)
			ck_assert_str_eq(found, whole);
	}
}
END_TEST

START_TEST(a_cut_archive_is_refused_wherever_it_is_cut)
{
	sc_autobuf tar = TAR();
	size_t end = 0;

	plain_archive(&tar);
	end = tar.len - 1024 + 512; /* one zero block is enough of an end */
	for (size_t len = 0; len < end; len++) {
		int rc = 0;
		sc_buf cut = {.data = tar.data, .len = len};
		sandcell_error *err = NULL;
		sc_autofree char *found = tar_listing(&cut, 4096, NULL, &rc, &err);
		ck_assert_msg(rc == SANDCELL_E_DATA, "%zu bytes of it gave %d", len, rc);
		sandcell_error_free(err);
	}
}
END_TEST

START_TEST(what_follows_the_end_is_refused)
{
	sc_autobuf tar = TAR();

	tar_file(&tar, "a", "x");
	tar_end(&tar);
	tar_end(&tar);
	tar_expect(&tar, "f a 1\n@0 x\n");
	tar_file(&tar, "b", "y");
	tar_end(&tar);
	tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, "behind its end");
}
END_TEST

/* Cases B09-01, 03, 04, 06, 08: each archive is refused at its first bad entry. */
START_TEST(archives_that_lead_out_are_refused)
{
	static const struct {
		char type;
		const char *path;
		const char *link;
		const char *word;
	} bad[] = {
		{'0', "../../esc1", "", "path"},
		{'0', "/tmp/esc2", "", "path"},
		{'0', "a/../../esc3", "", "path"},
		{'0', "./../esc4", "", "path"},
		{'0', "a//../..//esc5", "", "path"},
		{'5', "../escdir/", "", "path"},
		{'1', "h", "../../victim", "path"},
		{'1', "h2", "/etc/hostname", "path"},
		{'1', "door/esc", "victim", "no file that came before"},
		{'1', "x", "s", "no file that came before"},
		{'0', "s/x", "", "below"},
		{'2', "d", "/tmp/victimdir", "twice"},
		{'0', "f", "", "twice"},
		{'6', "p", "", "device"},
		{'3', "n", "", "device"},
		{'4', "n", "", "device"},
		{'V', "label", "", "device"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sc_autobuf tar = TAR();
		tar_header(&tar, '5', "d/", "", 0);
		tar_header(&tar, '2', "s", "../../secret", 0);
		tar_file(&tar, "f", "good");
		tar_header(&tar, bad[i].type, bad[i].path, bad[i].link, 0);
		tar_end(&tar);
		tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, bad[i].word);
	}
}
END_TEST

START_TEST(a_hard_link_with_content_is_refused)
{
	sc_autobuf tar = TAR();

	tar_file(&tar, "victim", "good");
	tar_header(&tar, '1', "h", "victim", 4);
	tar_content(&tar, "evil", 4);
	tar_end(&tar);
	tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, "no file");
}
END_TEST

START_TEST(attributes_are_not_handed_on)
{
	sc_autobuf tar = TAR();

	TAR_PAX(&tar, "SCHILY.acl.access", "user::rwx,other::rwx", "SCHILY.xattr.user.x",
		"y", "mtime", "0");
	tar_header(&tar, '2', "l", "/tmp/victim", 0);
	tar_end(&tar);
	tar_expect(&tar, "l l -> /tmp/victim\n");
}
END_TEST

static int note_mode(const sc_tar_entry *entry, void *user, sandcell_error **err_out)
{
	(void)err_out;
	*(uint32_t *)user = entry->mode;
	return 0;
}

START_TEST(only_permission_bits_of_a_mode_are_handed_on)
{
	sc_tar_limits limits = SC_TAR_LIMITS_DEFAULT;
	uint32_t mode = 0;
	sc_tar_handler handler = {.entry = note_mode, .user = &mode};
	sc_autobuf tar = TAR();
	sc_tar_reader reader;

	tar_header(&tar, '0', "suid", "", 0);
	memcpy(tar.data + tar.len - 512 + 100, "0107755", 8);
	fix_sum(&tar, 512);
	tar_end(&tar);
	sc_tar_reader_init(&reader, &limits, &handler);
	ck_assert_int_eq(sc_tar_reader_feed(&reader, tar.data, tar.len, NULL), 0);
	ck_assert_int_eq(sc_tar_reader_end(&reader, NULL), 0);
	ck_assert_uint_eq(mode, 0755);
	sc_tar_reader_clear(&reader);
}
END_TEST

/* Case B09-10. */
START_TEST(holes_count_with_the_size_they_make)
{
	sc_autobuf old = TAR();
	sc_autobuf tar = TAR();

	tar_header(&old, 'S', "old", "", 512);
	tar_expect_refused(&old, NULL, SANDCELL_E_DATA, "old format");
	TAR_PAX(&tar, "GNU.sparse.major", "1", "GNU.sparse.minor", "0", "GNU.sparse.name",
		"big", "GNU.sparse.realsize", "1099511627776");
	tar_header(&tar, '0', "GNUSparseFile.0/big", "", 513);
	tar_content(&tar, "1\n0\n1\n", 6);
	tar_content(&tar, "x", 1);
	tar_end(&tar);
	tar_expect_refused(&tar, NULL, SANDCELL_E_LIMIT, "larger than");
}
END_TEST

START_TEST(a_sparse_file_keeps_its_holes)
{
	static const char map[] = "3\n0\n3\n1000000\n2\n2000000\n0\n";
	sc_autobuf tar = TAR();

	TAR_PAX(&tar, "path", "GNUSparseFile.0/s", "GNU.sparse.major", "1",
		"GNU.sparse.minor", "0", "GNU.sparse.name", "s", "GNU.sparse.realsize",
		"2000000");
	tar_header(&tar, '0', "GNUSparseFile.0/s", "", 512 + 5);
	tar_content(&tar, map, sizeof(map) - 1);
	tar_content(&tar, "abcde", 5);
	TAR_PAX(&tar, "GNU.sparse.major", "1", "GNU.sparse.minor", "0", "GNU.sparse.name",
		"hole", "GNU.sparse.realsize", "4096");
	tar_header(&tar, '0', "GNUSparseFile.0/hole", "", 512);
	tar_content(&tar, "1\n4096\n0\n", 9);
	tar_file(&tar, "next", "y");
	tar_end(&tar);
	tar_expect(&tar, "f s 2000000\n@0 abc\n@1000000 de\nf hole 4096\nf next 1\n@0 y\n");
}
END_TEST

START_TEST(sparse_maps_that_make_no_sense_are_refused)
{
	static const char *const maps[] = {"", "x\n", "1\n0\n", "\n", "99999999\n0\n5\n",
		"18446744073709551616\n", "2\n10\n2\n11\n3\n", "2\n10\n3\n0\n2\n",
		"1\n998\n5\n", "1\n2000\n5\n", "1\n0\n4\n", "1\n0\n6\n", "1\n-1\n5\n",
		"0\n"};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		sc_autobuf tar = TAR();
		TAR_PAX(&tar, "GNU.sparse.major", "1", "GNU.sparse.minor", "0",
			"GNU.sparse.name", "s", "GNU.sparse.realsize", "1000");
		tar_header(&tar, '0', "s", "", 512 + 5);
		tar_content(&tar, maps[i], strlen(maps[i]));
		tar_content(&tar, "abcde", 5);
		tar_end(&tar);
		tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, "sparse file");
	}
}
END_TEST

START_TEST(other_sparse_formats_are_refused)
{
	static const char *const keys[] = {"GNU.sparse.map", "GNU.sparse.size",
		"GNU.sparse.offset", "GNU.sparse.major", "SUN.holesdata"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		sc_autobuf tar = TAR();
		TAR_PAX(&tar, keys[i], "0");
		tar_file(&tar, "a", "x");
		tar_end(&tar);
		tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, "sparse file");
	}
}
END_TEST

/* Case B09-12, and other ways to say two things about one entry. */
START_TEST(what_programs_read_differently_is_refused)
{
	sc_autobuf mixed = TAR();
	sc_autobuf twice = TAR();
	sc_autobuf doubled = TAR();
	sc_autobuf global = TAR();
	sc_autobuf trailing = TAR();
	static const char path_record[] = "12 path=abc\n12 path=abd\n";

	TAR_PAX(&mixed, "size", "2048");
	tar_extension(&mixed, 'L', "long\0", 5);
	tar_file(&mixed, "a", "0123456789abcdef");
	tar_expect_refused(&mixed, NULL, SANDCELL_E_DATA, "two kinds");
	TAR_PAX(&twice, "size", "1");
	TAR_PAX(&twice, "size", "2");
	tar_expect_refused(&twice, NULL, SANDCELL_E_DATA, "two extended headers");
	tar_extension(&doubled, 'x', path_record, sizeof(path_record) - 1);
	tar_expect_refused(&doubled, NULL, SANDCELL_E_DATA, "twice");
	tar_extension(&global, 'g', path_record, 12);
	tar_expect_refused(&global, NULL, SANDCELL_E_DATA, "global");
	TAR_PAX(&trailing, "path", "x");
	tar_end(&trailing);
	tar_expect_refused(&trailing, NULL, SANDCELL_E_DATA, "ends behind");
}
END_TEST

START_TEST(a_global_comment_is_fine)
{
	sc_autobuf tar = TAR();

	tar_extension(&tar, 'g', "13 comment=x\n", 13);
	tar_file(&tar, "a", "x");
	tar_end(&tar);
	tar_expect(&tar, "f a 1\n@0 x\n");
}
END_TEST

START_TEST(a_size_record_counts)
{
	sc_autobuf tar = TAR();

	TAR_PAX(&tar, "size", "3");
	tar_header(&tar, '0', "a", "", 0);
	tar_content(&tar, "abc", 3);
	tar_file(&tar, "b", "x");
	tar_end(&tar);
	tar_expect(&tar, "f a 3\n@0 abc\nf b 1\n@0 x\n");
}
END_TEST

/* Case B09-13 and the malformed ones of B09-14. */
START_TEST(malformed_records_are_refused)
{
	static const char *const bodies[] = {"0 path=a\n", "5 a=b\n", "7 a=b\n", "6 ab\n\n",
		"99999999999999999999 a=b\n", "a=b\n", "6 a=b", "6 =ab\n", " 6 a=b\n",
		"+6 a=b\n", "06 a=b\n", "6", "9 size=-\n", "10 mtime=\n", "12 size=0x1\n",
		"13 mtime=1e5\n", "27 size=99999999999999999999\n", "12 mtime=1.x\n", "\n"};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		sc_autobuf tar = TAR();
		tar_extension(&tar, 'x', bodies[i], strlen(bodies[i]));
		tar_file(&tar, "a", "x");
		tar_end(&tar);
		tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, "extended header");
	}
}
END_TEST

START_TEST(extended_headers_have_a_size_limit)
{
	sc_autobuf tar = TAR();
	sc_autobuf empty = TAR();

	tar_header(&tar, 'L', "././@LongLink", "", UINT64_C(1) << 40);
	tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, "impossible size");
	tar_header(&empty, 'x', "pax", "", 0);
	tar_expect_refused(&empty, NULL, SANDCELL_E_DATA, "impossible size");
}
END_TEST

/* Case B09-15: names are bytes; the locale has no say in it. */
START_TEST(names_of_any_bytes_are_read)
{
	sc_autobuf tar = TAR();
	sc_autobuf nul = TAR();

	TAR_PAX(&tar, "path", "\xc3\xa9\xe4\xb8\xad.txt");
	tar_header(&tar, '0', "x", "", 0);
	TAR_PAX(&tar, "hdrcharset", "BINARY", "path", "\xff\xfe");
	tar_header(&tar, '0', "x", "", 0);
	TAR_PAX(&tar, "linkpath", "\xe4\xb8\xad");
	tar_header(&tar, '2', "l", "x", 0);
	tar_header(&tar, '0', "raw\xe9", "", 0);
	tar_end(&tar);
	tar_expect(&tar,
		"f \xc3\xa9\xe4\xb8\xad.txt\nf \xff\xfe\nl l -> \xe4\xb8\xad\nf raw\xe9\n");
	tar_extension(&nul, 'x', "11 path=a\0b\n", 12);
	memcpy(nul.data + 512, "12", 2);
	tar_file(&nul, "x", "");
	tar_expect_refused(&nul, NULL, SANDCELL_E_DATA, "NUL");
}
END_TEST

START_TEST(headers_that_make_no_sense_are_refused)
{
	static const struct {
		size_t at;
		const char *text;
		const char *word;
	} bad[] = {
		{124, "0000000000x", "number"},
		{124, "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", "number"},
		{124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", "number"},
		{124, "\x80\x01\0\0\0\0\0\0\0\0\0\0", "number"},
		{124, "-0000000001", "number"},
		{136, "\x80\0\0\0\x7f\0\0\0\0\0\0\0", "number"},
		{257, "ustar\0xx", "not a POSIX or GNU"},
		{257, "\0\0\0\0\0\0\0\0", "not a POSIX or GNU"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sc_autobuf tar = TAR();
		size_t len = bad[i].at == 257 ? 8 : 12;
		tar_header(&tar, '0', "a", "", 0);
		memcpy(tar.data + bad[i].at, bad[i].text, len);
		fix_sum(&tar, 512);
		tar_end(&tar);
		tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, bad[i].word);
	}
	sc_autobuf tar = TAR();
	tar_file(&tar, "a", "x");
	tar.data[0] = 'b';
	tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, "checksum");
}
END_TEST

START_TEST(a_file_is_not_called_like_a_directory)
{
	sc_autobuf tar = TAR();

	tar_file(&tar, "a/", "x");
	tar_expect_refused(&tar, NULL, SANDCELL_E_DATA, "name of a directory");
}
END_TEST

/* Case B09-18. */
START_TEST(limits_hold_before_any_content_is_read)
{
	static const sc_tar_limits limits = {
		.entries = 3, .bytes = 1000, .logical = 1000, .depth = 4};
	sc_autobuf flood = TAR();
	sc_autobuf deep = TAR();
	sc_autobuf large = TAR();

	for (int i = 0; i < 4; i++) {
		char path[8];
		(void)snprintf(path, sizeof(path), "f%d", i);
		tar_file(&flood, path, "");
	}
	tar_expect_refused(&flood, &limits, SANDCELL_E_LIMIT, "entries");
	tar_file(&deep, "a/b/c/d/e", "");
	tar_expect_refused(&deep, &limits, SANDCELL_E_LIMIT, "deep");
	tar_header(&large, '0', "big", "", UINT64_C(10) << 30);
	tar_expect_refused(&large, &limits, SANDCELL_E_LIMIT, "bytes");
}
END_TEST

/* Made by GNU tar and by Python; the long name has 180 letters. */
START_TEST(archives_of_other_programs_are_read)
{
	static const char *const names[] = {
		"gnu", "pax", "ustar", "python-gnu", "python-pax"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sc_autobuf path = SC_BUF_INIT(4096);
		sc_autofree char *data = NULL;
		sandcell_error *err = NULL;
		size_t len = 0;
		int rc = 0;

		(void)sc_buf_printf(&path, "%s/%s.tar", TAR_CORPUS, names[i]);
		ck_assert_int_eq(sc_fd_read_file(path.data, TAR_TEST_MAX, &data, &len), 0);
		sc_buf tar = {.data = data, .len = len};
		sc_autofree char *found = tar_listing(&tar, 1000, NULL, &rc, &err);
		ck_assert_msg(rc == 0, "%s: %s", names[i], sandcell_error_get_message(err));
		ck_assert_ptr_nonnull(strstr(found, "f d/a 6\n@0 hello\n"));
		if (strcmp(names[i], "ustar") == 0)
			continue;
		ck_assert_ptr_nonnull(strstr(found, "d d\n"));
		ck_assert_ptr_nonnull(strstr(found, "h d/hard -> d/a\n"));
		ck_assert_ptr_nonnull(strstr(found, "l d/e/sym -> ../d/a\n"));
		ck_assert_ptr_nonnull(strstr(found, "f d/\xc3\xa9\xe4\xb8\xad.txt 2\n"));
		ck_assert_ptr_nonnull(strstr(found, "f d/nnnnnnnn"));
	}
}
END_TEST

START_TEST(a_sparse_file_of_gnu_tar_is_read)
{
	sc_autofree char *data = NULL;
	size_t len = 0;
	int rc = 0;

	ck_assert_int_eq(sc_fd_read_file(TAR_CORPUS "/gnu-sparse-1.0.tar", TAR_TEST_MAX,
				 &data, &len),
		0);
	sc_buf tar = {.data = data, .len = len};
	sc_autofree char *found = tar_listing(&tar, SIZE_MAX / 2, NULL, &rc, NULL);
	ck_assert_int_eq(rc, 0);
	ck_assert_ptr_nonnull(strstr(found, "f sparse 500000\n@0 abc"));
}
END_TEST

static int stop(const sc_tar_entry *entry, void *user, sandcell_error **err_out)
{
	(void)entry;
	(void)user;
	return sc_fail(err_out, SANDCELL_E_CALLBACK, "enough");
}

START_TEST(a_handler_that_fails_ends_the_reading)
{
	sc_tar_limits limits = SC_TAR_LIMITS_DEFAULT;
	sc_tar_handler handler = {.entry = stop};
	sc_autobuf tar = TAR();
	sc_tar_reader reader;

	tar_file(&tar, "a", "x");
	sc_tar_reader_init(&reader, &limits, &handler);
	ck_assert_int_eq(
		sc_tar_reader_feed(&reader, tar.data, tar.len, NULL), SANDCELL_E_CALLBACK);
	ck_assert_int_eq(
		sc_tar_reader_feed(&reader, tar.data, tar.len, NULL), SANDCELL_E_CALLBACK);
	ck_assert_int_eq(sc_tar_reader_end(&reader, NULL), SANDCELL_E_CALLBACK);
	sc_tar_reader_clear(&reader);
}
END_TEST

static char sample[64 << 10];
static size_t sample_len;

static int read_sample(sandcell_error **err_out)
{
	sc_buf tar = {.data = sample, .len = sample_len};
	int rc = 0;
	sc_autofree char *found = tar_listing(&tar, 512, NULL, &rc, err_out);

	return rc == 0 && !found ? sc_fail_nomem(err_out) : rc;
}

START_TEST(running_out_of_memory_is_survived)
{
	sc_autobuf tar = TAR();

	plain_archive(&tar);
	memcpy(sample, tar.data, tar.len);
	sample_len = tar.len;
	unit_chaos(read_sample);
}
END_TEST

UNIT_MAIN("tar_read", an_archive_is_read_for_every_split,
	a_cut_archive_is_refused_wherever_it_is_cut, what_follows_the_end_is_refused,
	archives_that_lead_out_are_refused, a_hard_link_with_content_is_refused,
	attributes_are_not_handed_on, only_permission_bits_of_a_mode_are_handed_on,
	holes_count_with_the_size_they_make, a_sparse_file_keeps_its_holes,
	sparse_maps_that_make_no_sense_are_refused, other_sparse_formats_are_refused,
	what_programs_read_differently_is_refused, a_global_comment_is_fine,
	a_size_record_counts, malformed_records_are_refused,
	extended_headers_have_a_size_limit, names_of_any_bytes_are_read,
	headers_that_make_no_sense_are_refused, a_file_is_not_called_like_a_directory,
	limits_hold_before_any_content_is_read, a_handler_that_fails_ends_the_reading,
	archives_of_other_programs_are_read, a_sparse_file_of_gnu_tar_is_read,
	running_out_of_memory_is_survived)
