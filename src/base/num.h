/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_NUM_H
#define SC_BASE_NUM_H

/* Numbers from text: the whole string, digits only, no sign, no locale, no overflow. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sc_parse_u64(const char *text, uint64_t max, uint64_t *out);
bool sc_parse_u64_n(const char *text, size_t len, uint64_t max, uint64_t *out);
bool sc_parse_hex_n(const char *text, size_t len, uint64_t max, uint64_t *out);

#endif
