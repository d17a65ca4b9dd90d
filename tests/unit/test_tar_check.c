/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "session/tar_check.h"
#include "unit.h"

static const sc_tar_limits limits = SC_TAR_LIMITS_DEFAULT;

static int add(sc_tar_check *check, sc_tar_type type, const char *path, const char *link,
	sandcell_error **err_out)
{
	sc_tar_entry entry = {
		.path = path,
		.path_len = strlen(path),
		.link = link,
		.link_len = strlen(link),
		.type = type,
	};

	return sc_tar_check_entry(check, &entry, err_out);
}

static void accept(
	sc_tar_check *check, sc_tar_type type, const char *path, const char *link)
{
	sandcell_error *err = NULL;
	int rc = add(check, type, path, link, &err);

	ck_assert_msg(rc == 0, "'%s': %s", path, sandcell_error_get_message(err));
}

static void refuse(sc_tar_check *check, sc_tar_type type, const char *path,
	const char *link, const char *word)
{
	sandcell_error *err = NULL;
	int rc = add(check, type, path, link, &err);

	ck_assert_msg(rc == SANDCELL_E_DATA, "'%s' gave %d", path, rc);
	ck_assert_msg(strstr(sandcell_error_get_message(err), word) != NULL,
		"'%s' is not in '%s'", word, sandcell_error_get_message(err));
	sandcell_error_free(err);
}

START_TEST(names_are_normalised)
{
	static const char *const table[][2] = {
		{"a", "a"},
		{"./a//b/./c/", "a/b/c"},
		{"..a/...b/c..", "..a/...b/c.."},
		{".", ""},
		{"././/", ""},
		{"a\nb\x1b[31m", "a\nb\x1b[31m"},
		{"\xe2\x80\xae\xef\xbc\x8f", "\xe2\x80\xae\xef\xbc\x8f"},
		{"\xc0\xae\xc0\xae\xc0\xaf", "\xc0\xae\xc0\xae\xc0\xaf"},
		{"a\\..\\b", "a\\..\\b"},
	};
	char out[SC_TAR_PATH_MAX + 1];
	uint32_t depth = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		ck_assert_int_eq(
			sc_tar_path(table[i][0], strlen(table[i][0]), out, &depth, NULL),
			0);
		ck_assert_str_eq(out, table[i][1]);
	}
}
END_TEST

START_TEST(names_that_lead_out_are_refused)
{
	static const char *const table[] = {"..", "../../esc1", "/tmp/esc2", "a/../../esc3",
		"./../esc4", "a//../..//esc5", "../escdir/", "a/..", "a/../b", "//a", "/",
		""};
	char out[SC_TAR_PATH_MAX + 1];
	uint32_t depth = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		ck_assert_int_eq(sc_tar_path(table[i], strlen(table[i]), out, &depth, NULL),
			SANDCELL_E_DATA);
	ck_assert_int_eq(sc_tar_path("a\0b", 3, out, &depth, NULL), SANDCELL_E_DATA);
}
END_TEST

START_TEST(names_have_a_length_limit)
{
	char path[SC_TAR_PATH_MAX + 2];
	char out[SC_TAR_PATH_MAX + 1];
	uint32_t depth = 0;

	memset(path, 'a', sizeof(path));
	ck_assert_int_eq(sc_tar_path(path, 255, out, &depth, NULL), 0);
	path[256] = '\0';
	ck_assert_int_eq(sc_tar_path(path, 256, out, &depth, NULL), SANDCELL_E_DATA);
	path[256] = 'a';
	for (size_t i = 1; i < sizeof(path); i += 2)
		path[i] = '/';
	path[SC_TAR_PATH_MAX + 1] = '\0';
	ck_assert_int_eq(sc_tar_path(path, SC_TAR_PATH_MAX, out, &depth, NULL), 0);
	ck_assert_uint_eq(depth, SC_TAR_PATH_MAX / 2 + 1);
	path[SC_TAR_PATH_MAX] = 'a';
	ck_assert_int_eq(
		sc_tar_path(path, SC_TAR_PATH_MAX + 1, out, &depth, NULL), SANDCELL_E_DATA);
}
END_TEST

START_TEST(links_are_judged_from_where_they_are)
{
	ck_assert(sc_tar_link_inside("a", "b"));
	ck_assert(sc_tar_link_inside("a", "./b/c"));
	ck_assert(sc_tar_link_inside("a/b/c", "../../d"));
	ck_assert(sc_tar_link_inside("a/b", ".."));
	ck_assert(sc_tar_link_inside("a/b", "./.././c"));
	ck_assert(!sc_tar_link_inside("a", ".."));
	ck_assert(!sc_tar_link_inside("a", "../outside"));
	ck_assert(!sc_tar_link_inside("a/b", "../../c"));
	ck_assert(!sc_tar_link_inside("a", "/etc/passwd"));
	ck_assert(!sc_tar_link_inside("a", ""));
	/* b may be a link to a directory elsewhere, whose ".." is not ours. */
	ck_assert(!sc_tar_link_inside("a/c", "b/../d"));
	ck_assert(!sc_tar_link_inside("a", "b/.."));
}
END_TEST

START_TEST(nothing_goes_below_a_file_or_a_link)
{
	sc_tar_check check;

	sc_tar_check_init(&check, &limits);
	accept(&check, SC_TAR_SYMLINK, "door", "../outside");
	refuse(&check, SC_TAR_FILE, "door/esc", "", "below");
	refuse(&check, SC_TAR_FILE, "./door//deep/esc", "", "below");
	accept(&check, SC_TAR_FILE, "f", "");
	refuse(&check, SC_TAR_DIR, "f/d", "", "below");
	/* For the kernel these are other names; see the top of tar_check.h. */
	accept(&check, SC_TAR_FILE, "Door/x", "");
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(a_name_comes_once)
{
	sc_tar_check check;

	sc_tar_check_init(&check, &limits);
	accept(&check, SC_TAR_DIR, ".", "");
	accept(&check, SC_TAR_DIR, "./", "");
	accept(&check, SC_TAR_FILE, "a/b", "");
	accept(&check, SC_TAR_DIR, "a/", "");
	refuse(&check, SC_TAR_DIR, "a", "", "twice");
	refuse(&check, SC_TAR_SYMLINK, "a", "/tmp/victim", "twice");
	refuse(&check, SC_TAR_FILE, "./a//b", "", "twice");
	refuse(&check, SC_TAR_FILE, ".", "", "names no file");
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(a_directory_does_not_become_a_link)
{
	sc_tar_check check;

	sc_tar_check_init(&check, &limits);
	accept(&check, SC_TAR_DIR, "d/", "");
	refuse(&check, SC_TAR_SYMLINK, "d", "/tmp/victimdir", "twice");
	accept(&check, SC_TAR_FILE, "e/f", "");
	refuse(&check, SC_TAR_SYMLINK, "e", "/tmp/victimdir", "twice");
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(hard_links_lead_to_earlier_files)
{
	sc_tar_check check;

	sc_tar_check_init(&check, &limits);
	refuse(&check, SC_TAR_HARDLINK, "h", "../../victim", "'..'");
	refuse(&check, SC_TAR_HARDLINK, "h", "/etc/hostname", "absolute");
	refuse(&check, SC_TAR_HARDLINK, "h", "later", "no file that came before");
	accept(&check, SC_TAR_SYMLINK, "s", "../../secret");
	refuse(&check, SC_TAR_HARDLINK, "x", "s", "no file that came before");
	accept(&check, SC_TAR_DIR, "d", "");
	refuse(&check, SC_TAR_HARDLINK, "x", "d", "no file that came before");
	accept(&check, SC_TAR_FILE, "f", "");
	accept(&check, SC_TAR_HARDLINK, "x", "./f");
	ck_assert_str_eq(check.link, "f");
	accept(&check, SC_TAR_HARDLINK, "y", "x");
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(special_files_are_refused)
{
	sc_tar_check check;

	sc_tar_check_init(&check, &limits);
	refuse(&check, SC_TAR_FORBIDDEN, "p", "", "device");
	refuse(&check, SC_TAR_HARDLINK, "q", "p", "no file that came before");
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(only_files_have_content)
{
	sc_tar_entry entry = {.path = "h",
		.path_len = 1,
		.link = "f",
		.link_len = 1,
		.size = 4,
		.bytes = 4};
	sc_tar_check check;

	sc_tar_check_init(&check, &limits);
	accept(&check, SC_TAR_FILE, "f", "");
	for (entry.type = SC_TAR_DIR; entry.type <= SC_TAR_HARDLINK; entry.type++)
		ck_assert_int_eq(sc_tar_check_entry(&check, &entry, NULL), SANDCELL_E_DATA);
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(links_inside_is_an_option)
{
	sc_tar_limits strict = limits;
	sc_tar_check check;

	strict.flags = SC_TAR_LINKS_INSIDE;
	sc_tar_check_init(&check, &strict);
	refuse(&check, SC_TAR_SYMLINK, "l", "/tmp/victim", "outside");
	refuse(&check, SC_TAR_SYMLINK, "m", "../victim2", "outside");
	accept(&check, SC_TAR_SYMLINK, "d/m", "../f");
	refuse(&check, SC_TAR_SYMLINK, "n", "", "impossible");
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(sizes_are_summed_without_overflow)
{
	sc_tar_limits small = {.entries = 9, .bytes = 100, .logical = 1000, .depth = 9};
	sc_tar_entry entry = {.path = "a", .path_len = 1, .link = "", .type = SC_TAR_FILE};
	sc_tar_check check;

	sc_tar_check_init(&check, &small);
	entry.size = 900;
	entry.bytes = 60;
	ck_assert_int_eq(sc_tar_check_entry(&check, &entry, NULL), 0);
	entry.path = "b";
	entry.size = 101;
	entry.bytes = 1;
	ck_assert_int_eq(sc_tar_check_entry(&check, &entry, NULL), SANDCELL_E_LIMIT);
	entry.size = entry.bytes = 41;
	ck_assert_int_eq(sc_tar_check_entry(&check, &entry, NULL), SANDCELL_E_LIMIT);
	entry.size = entry.bytes = UINT64_MAX;
	ck_assert_int_eq(sc_tar_check_entry(&check, &entry, NULL), SANDCELL_E_LIMIT);
	entry.size = entry.bytes = 40;
	ck_assert_int_eq(sc_tar_check_entry(&check, &entry, NULL), 0);
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(entries_and_depth_are_counted)
{
	sc_tar_limits small = {.entries = 2, .bytes = 100, .logical = 1000, .depth = 3};
	sc_tar_check check;

	sc_tar_check_init(&check, &small);
	ck_assert_int_eq(add(&check, SC_TAR_FILE, "a/b/c/d", "", NULL), SANDCELL_E_LIMIT);
	accept(&check, SC_TAR_FILE, "a/b/c", "");
	accept(&check, SC_TAR_FILE, "d", "");
	ck_assert_int_eq(add(&check, SC_TAR_FILE, "e", "", NULL), SANDCELL_E_LIMIT);
	sc_tar_check_clear(&check);
}
END_TEST

START_TEST(many_names_are_remembered)
{
	sc_tar_check check;
	char path[32];

	sc_tar_check_init(&check, &limits);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 20000; i++) {
			(void)snprintf(path, sizeof(path), "d%d/f%d", i % 100, i);
			int rc = add(&check, SC_TAR_FILE, path, "", NULL);
			ck_assert_int_eq(rc, round == 0 ? 0 : SANDCELL_E_DATA);
		}
	}
	sc_tar_check_clear(&check);
}
END_TEST

UNIT_MAIN("tar_check", names_are_normalised, names_that_lead_out_are_refused,
	names_have_a_length_limit, links_are_judged_from_where_they_are,
	nothing_goes_below_a_file_or_a_link, a_name_comes_once,
	a_directory_does_not_become_a_link, hard_links_lead_to_earlier_files,
	special_files_are_refused, only_files_have_content, links_inside_is_an_option,
	sizes_are_summed_without_overflow, entries_and_depth_are_counted,
	many_names_are_remembered)
