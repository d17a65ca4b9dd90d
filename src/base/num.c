/* SPDX-License-Identifier: MIT */
#include "base/num.h"

#include <string.h>

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static bool parse(const char *text, size_t len, unsigned base, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned digit = (unsigned)digit_value(text[i]);
		if (digit >= base)
			return false;
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit, &value) || value > max)
			return false;
	}
	*out = value;
	return true;
}

bool sc_parse_u64(const char *text, uint64_t max, uint64_t *out)
{
	return text && parse(text, strlen(text), 10, max, out);
}

bool sc_parse_u64_n(const char *text, size_t len, uint64_t max, uint64_t *out)
{
	return parse(text, len, 10, max, out);
}

bool sc_parse_hex_n(const char *text, size_t len, uint64_t max, uint64_t *out)
{
	return parse(text, len, 16, max, out);
}
