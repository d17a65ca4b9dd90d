/* SPDX-License-Identifier: MIT */
/*
 * The membrane: checks arguments, loads option structs, and hands on.  Nothing else sees a
 * caller's struct.
 */
#include <stdio.h>
#include <string.h>

#include "sandcell/sandcell.h"

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

uint32_t sandcell_version(void)
{
	return (uint32_t)SANDCELL_VERSION_MAJOR << 16 | SANDCELL_VERSION_MINOR << 8 |
	       SANDCELL_VERSION_PATCH;
}

const char *sandcell_version_text(void)
{
	return STRING(SANDCELL_VERSION_MAJOR) "." STRING(SANDCELL_VERSION_MINOR) "." STRING(
		SANDCELL_VERSION_PATCH);
}

int sandcell_has_feature(const char *name)
{
	static const char *const features[] = {"execute"};

	for (size_t i = 0; name && i < sizeof(features) / sizeof(features[0]); i++) {
		if (strcmp(name, features[i]) == 0)
			return 1;
	}
	return 0;
}
