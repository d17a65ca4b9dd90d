/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

/*
 * What libFuzzer and replay.c call.  A broken promise ends the program, so that both
 * notice.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                              \
	do {                                                                               \
		if (!(condition)) {                                                        \
			(void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__,   \
				#condition);                                               \
			abort();                                                           \
		}                                                                          \
	} while (0)

#endif
