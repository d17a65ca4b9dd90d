/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_VERSION_H
#define SANDCELL_VERSION_H

/**
 * @file version.h
 * @brief Which library this is, at compile time and at run time.
 */

#include "types.h"

#define SANDCELL_VERSION_MAJOR 0
#define SANDCELL_VERSION_MINOR 1
#define SANDCELL_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the library found at run time: major<<16 | minor<<8 | patch. */
SANDCELL_API uint32_t sandcell_version(void);
/** The same as text, such as "0.1.0"; static. */
SANDCELL_API const char *sandcell_version_text(void);
/** 1 when @p name (such as "execute") is compiled in, else 0. */
SANDCELL_API int sandcell_has_feature(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_VERSION_H */
