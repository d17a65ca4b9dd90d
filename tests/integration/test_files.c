/* SPDX-License-Identifier: MIT */
/* Files into sessions on real engines, and out of them. */
#include "sessions.h"

#include <stdlib.h>
#include <unistd.h>

static void expect_file(const char *path, const void *want, size_t want_len)
{
	char *data = NULL;
	size_t len = 0;

	OK(sandcell_get(session, path, 0, &data, &len, &err));
	ck_assert_uint_eq(len, want_len);
	ck_assert_mem_eq(data, want, len);
	sandcell_string_free(data);
}

START_TEST(bytes_go_in_and_come_out)
{
	static unsigned char bytes[3 << 20];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 >> 3);
	start(NULL);
	OK(sandcell_put(session, "in/new folder/\xc3\xa9.bin", bytes, sizeof(bytes), &err));
	OK(sandcell_put(session, "/tmp/empty", NULL, 0, &err));
	expect_file("in/new folder/\xc3\xa9.bin", bytes, sizeof(bytes));
	expect_file("/tmp/empty", "", 0);
	expect_value("import os; [len(open('in/new folder/\xc3\xa9.bin', 'rb').read()), "
		     "os.stat('/tmp/empty').st_uid == os.getuid()]",
		"[3145728, true]");
	finish();
}
END_TEST

/* Cases B07-07, 08, 16: a link is named, and nothing behind it is read or written. */
START_TEST(links_are_not_followed)
{
	sandcell_error *why = NULL;
	char *data = NULL;
	size_t len = 0;

	start(NULL);
	expect_ok("import os\nos.symlink('/etc/shadow', '/workspace/result.txt')\n"
		  "os.symlink('/tmp', '/workspace/link')");
	ck_assert_int_eq(
		sandcell_get(session, "result.txt", 0, &data, &len, &why), SANDCELL_E_FAIL);
	ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(why), "symbolic link"));
	sandcell_error_free(why);
	FAILS(SANDCELL_E_FAIL, sandcell_put(session, "link/newdir/f.txt", "x", 1, &err));
	expect_value("os.path.exists('/tmp/newdir')", "false");
	finish();
}
END_TEST

START_TEST(what_cannot_be_done_is_said)
{
	char *data = NULL;
	size_t len = 0;

	start(NULL);
	FAILS(SANDCELL_E_FAIL, sandcell_put(session, "/etc/x", "x", 1, &err));
	FAILS(SANDCELL_E_FAIL, sandcell_get(session, "missing", 0, &data, &len, &err));
	FAILS(SANDCELL_E_INVAL, sandcell_put(session, "a/..", "x", 1, &err));
	FAILS(SANDCELL_E_DATA, sandcell_get(session, "/tmp", 0, &data, &len, &err));
	OK(sandcell_put(session, "f", "0123456789", 10, &err));
	FAILS(SANDCELL_E_FAIL, sandcell_get(session, "f", 5, &data, &len, &err));
	expect_value("1 + 1", "2");
	finish();
}
END_TEST

REAL_MAIN("files", bytes_go_in_and_come_out, links_are_not_followed,
	what_cannot_be_done_is_said)
