/* SPDX-License-Identifier: MIT */
/*
 * Paths and addresses.  An argument comes out of the path as it went in, and cannot add to
 * it; an accepted address is the same after being written out and read again.
 */
#include <string.h>

#include "base/num.h"
#include "base/url.h"
#include "engine/address.h"
#include "fuzz.h"

#define TEXT_MAX ((size_t)4096)

static void check_escaped(const char *path, const char *argument)
{
	const char *at = path + strlen("/a/");

	FUZZ_CHECK(strncmp(path, "/a/", 3) == 0);
	for (const char *p = argument; *p; p++) {
		uint64_t byte = (unsigned char)*at;
		FUZZ_CHECK(!strchr("/?#&= ", (int)byte) || byte == '\0');
		if (byte == '%') {
			FUZZ_CHECK(sc_parse_hex_n(at + 1, 2, 255, &byte));
			at += 2;
		}
		FUZZ_CHECK(byte == (unsigned char)*p);
		at++;
	}
	FUZZ_CHECK(strcmp(at, "/b") == 0);
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_address(const char *text)
{
	sc_autoaddress first = {0};
	sc_autoaddress second = {0};

	if (sc_address_parse(text, &first, NULL) < 0) {
		FUZZ_CHECK(!first.text && !first.path && !first.host && !first.user);
		return;
	}
	FUZZ_CHECK(!first.host || (first.host[0] != '-' && !strpbrk(first.host, " \t\n/")));
	FUZZ_CHECK(
		!first.user || (first.user[0] != '-' && !strpbrk(first.user, " \t\n/@:")));
	FUZZ_CHECK(sc_address_parse(first.text, &second, NULL) == 0);
	FUZZ_CHECK(same(first.text, second.text) && same(first.path, second.path));
	FUZZ_CHECK(same(first.host, second.host) && same(first.user, second.user));
	FUZZ_CHECK(first.port == second.port && first.tls == second.tls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sc_autobuf url = SC_BUF_INIT(4 * TEXT_MAX);
	char text[TEXT_MAX];

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (sc_url(&url, "/a/{}/b", text) == 0)
		check_escaped(sc_buf_text(&url), text);
	else
		FUZZ_CHECK(strcmp(text, ".") == 0 || strcmp(text, "..") == 0);
	check_address(text);
	return 0;
}
