/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <string.h>
#include <strings.h>

#define BILLION UINT64_C(1000000000)

/* A decimal number: whole + billionths / 10^9. */
struct decimal {
	uint64_t whole;
	uint64_t billionths;
};

struct unit {
	const char *name;
	uint64_t factor;
};

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the number at *text and moves past it.  Digits beyond the ninth are cut off. */
static enum value_error read_decimal(const char **text, struct decimal *out)
{
	struct decimal number = {0};
	const char *at = *text;

	if (!is_digit(*at))
		return VALUE_MALFORMED;
	for (; is_digit(*at); at++) {
		if (__builtin_mul_overflow(number.whole, 10, &number.whole) ||
			__builtin_add_overflow(
				number.whole, (uint64_t)(*at - '0'), &number.whole))
			return VALUE_TOO_LARGE;
	}
	if (*at == '.') {
		if (!is_digit(*++at))
			return VALUE_MALFORMED;
		for (uint64_t place = BILLION / 10; is_digit(*at); at++, place /= 10)
			number.billionths += place * (uint64_t)(*at - '0');
	}
	*text = at;
	*out = number;
	return VALUE_OK;
}

/* number * factor, rounded down; 1 .. max. */
static enum value_error scale(
	const struct decimal *number, uint64_t factor, uint64_t max, uint64_t *out)
{
	unsigned __int128 total;

	total = (unsigned __int128)number->whole * factor +
		(unsigned __int128)number->billionths * factor / BILLION;
	if (total == 0)
		return VALUE_TOO_SMALL;
	if (total > max)
		return VALUE_TOO_LARGE;
	*out = (uint64_t)total;
	return VALUE_OK;
}

static enum value_error parse(
	const char *text, const struct unit *units, uint64_t max, uint64_t *out)
{
	struct decimal number;
	enum value_error error;

	error = read_decimal(&text, &number);
	/* Only a text that is right but for its size is "too large". */
	if (error == VALUE_TOO_LARGE)
		text += strspn(text, "0123456789");
	else if (error != VALUE_OK)
		return error;
	for (; units->name; units++) {
		if (strcasecmp(text, units->name) == 0)
			return error ? error : scale(&number, units->factor, max, out);
	}
	return VALUE_MALFORMED;
}

static enum value_error parse_u32(
	const char *text, const struct unit *units, uint32_t max, uint32_t *out)
{
	uint64_t value;
	enum value_error error;

	error = parse(text, units, max, &value);
	if (error == VALUE_OK)
		*out = (uint32_t)value;
	return error;
}

enum value_error cli_parse_size(const char *text, uint64_t *bytes_out)
{
	static const struct unit units[] = {
		{"", 1},
		{"b", 1},
		{"k", UINT64_C(1) << 10},
		{"kb", UINT64_C(1) << 10},
		{"kib", UINT64_C(1) << 10},
		{"m", UINT64_C(1) << 20},
		{"mb", UINT64_C(1) << 20},
		{"mib", UINT64_C(1) << 20},
		{"g", UINT64_C(1) << 30},
		{"gb", UINT64_C(1) << 30},
		{"gib", UINT64_C(1) << 30},
		{"t", UINT64_C(1) << 40},
		{"tb", UINT64_C(1) << 40},
		{"tib", UINT64_C(1) << 40},
		{0},
	};

	/* Engines and kernels count memory in a signed 64-bit integer. */
	return parse(text, units, INT64_MAX, bytes_out);
}

enum value_error cli_parse_duration(const char *text, uint32_t *ms_out)
{
	static const struct unit units[] = {
		{"", 1000},
		{"ms", 1},
		{"s", 1000},
		{"m", 60 * 1000},
		{"h", 3600 * 1000},
		{"d", 24 * 3600 * 1000},
		{0},
	};

	/* UINT32_MAX is SANDCELL_NO_TIMEOUT. */
	return parse_u32(text, units, UINT32_MAX - 1, ms_out);
}

enum value_error cli_parse_cpus(const char *text, uint32_t *millis_out)
{
	static const struct unit units[] = {{"", 1000}, {0}};

	return parse_u32(text, units, UINT32_MAX, millis_out);
}

enum value_error cli_parse_count(const char *text, uint32_t *count_out)
{
	static const struct unit units[] = {{"", 1}, {0}};

	if (strchr(text, '.'))
		return VALUE_MALFORMED;
	return parse_u32(text, units, UINT32_MAX, count_out);
}
