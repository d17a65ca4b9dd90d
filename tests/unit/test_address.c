/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/address.h"
#include "unit.h"

struct row {
	const char *text;
	enum sc_scheme scheme;
	const char *path;
	const char *user;
	const char *host;
	uint16_t port;
	const char *canonical; /* NULL: the same as text */
};

static const struct row good[] = {
	{"unix:///var/run/docker.sock", SC_SCHEME_UNIX, "/var/run/docker.sock", NULL, NULL,
		0, NULL},
	{"/run/x.sock", SC_SCHEME_UNIX, "/run/x.sock", NULL, NULL, 0, "unix:///run/x.sock"},
	{"tcp://127.0.0.1:2375", SC_SCHEME_TCP, NULL, NULL, "127.0.0.1", 2375, NULL},
	{"tcp://build-1.example", SC_SCHEME_TCP, NULL, NULL, "build-1.example", 0, NULL},
	{"tcp://[::1]:2376/", SC_SCHEME_TCP, NULL, NULL, "::1", 2376, "tcp://[::1]:2376"},
	{"http://h:1", SC_SCHEME_TCP, NULL, NULL, "h", 1, "tcp://h:1"},
	{"https://h", SC_SCHEME_TCP, NULL, NULL, "h", 0, NULL},
	{"ssh://host", SC_SCHEME_SSH, NULL, NULL, "host", 0, NULL},
	{"ssh://me@host:22", SC_SCHEME_SSH, NULL, "me", "host", 22, NULL},
	{"ssh://me@[fe80::1]:22", SC_SCHEME_SSH, NULL, "me", "fe80::1", 22, NULL},
	{"ssh://host/run/user/1/podman/podman.sock", SC_SCHEME_SSH,
		"/run/user/1/podman/podman.sock", NULL, "host", 0, NULL},
};

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

START_TEST(addresses_are_taken_apart)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct row *row = &good[i];
		sc_autoaddress a = {0};
		ck_assert_msg(sc_address_parse(row->text, &a, NULL) == 0, "%s", row->text);
		ck_assert_msg(a.scheme == row->scheme && same(a.path, row->path) &&
				      same(a.user, row->user) && same(a.host, row->host) &&
				      a.port == row->port,
			"%s", row->text);
		ck_assert_str_eq(a.text, row->canonical ? row->canonical : row->text);
	}
}
END_TEST

START_TEST(only_https_means_tls)
{
	sc_autoaddress plain = {0};
	sc_autoaddress secure = {0};

	ck_assert_int_eq(sc_address_parse("tcp://h", &plain, NULL), 0);
	ck_assert_int_eq(sc_address_parse("https://h", &secure, NULL), 0);
	ck_assert(!plain.tls && secure.tls);
}
END_TEST

START_TEST(everything_else_is_refused_with_a_reason)
{
	static const char *const bad[] = {
		"",
		"docker.sock",
		"unix://",
		"unix://relative",
		"npipe:////./pipe/docker_engine",
		"fd://",
		"tcp://",
		"tcp://h:",
		"tcp://h:0",
		"tcp://h:65536",
		"tcp://h:x",
		"tcp://h/path",
		"tcp://user@h",
		"tcp://[::1",
		"tcp://[::1]x",
		"tcp://[host]",
		"tcp://a b",
		"ssh://-oProxyCommand=x",
		"ssh://-l@host",
		"ssh://me:secret@host",
		"ssh://@host",
		"ssh://host:22x",
		"ssh://host/run/$(touch x)",
		"ssh://host/it's",
		"UNIX:///x",
		"unix:///"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sc_autoaddress a = {0};
		sandcell_error *err = NULL;
		ck_assert_msg(sc_address_parse(bad[i], &a, &err) == SANDCELL_E_INVAL, "%s",
			bad[i]);
		ck_assert_ptr_null(a.text);
		ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(err), bad[i]));
		sandcell_error_free(err);
	}
}
END_TEST

static int parse_under_chaos(sandcell_error **err_out)
{
	sc_autoaddress a = {0};

	return sc_address_parse("ssh://me@host:22/path", &a, err_out);
}

START_TEST(failing_allocations_are_reported)
{
	unit_chaos(parse_under_chaos);
}
END_TEST

UNIT_MAIN("address", addresses_are_taken_apart, only_https_means_tls,
	everything_else_is_refused_with_a_reason, failing_allocations_are_reported)
