/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_VALUES_H
#define SANDCELL_CLI_VALUES_H

/*
 * Numbers as people write them: 512m, 1.5s, 30m, 1.5.  Pure functions.  The whole text must
 * be a plain decimal number and a known unit: no sign, blank, exponent, hex, "nan" or
 * "inf", whatever the locale.  A value that does not fit is refused, never rounded to 0 or
 * wrapped.
 */

#include <stdint.h>

enum value_error {
	VALUE_OK = 0,
	VALUE_MALFORMED,
	VALUE_TOO_SMALL, /* zero, or rounds to it */
	VALUE_TOO_LARGE
};

/* Bytes; k, m, g and t are powers of 1024; "b" or "ib" may follow them. */
enum value_error cli_parse_size(const char *text, uint64_t *bytes_out);
/* Seconds, or with ms, s, m, h or d. */
enum value_error cli_parse_duration(const char *text, uint32_t *ms_out);
/* CPUs to thousandths. */
enum value_error cli_parse_cpus(const char *text, uint32_t *millis_out);
enum value_error cli_parse_count(const char *text, uint32_t *count_out);

#endif
