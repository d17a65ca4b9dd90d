/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_ERROR_H
#define SANDCELL_ERROR_H

/**
 * @file error.h
 * @brief Why a call could not be made.
 *
 * The code is the contract, the message is for people.
 */

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A ::sandcell_status; #SANDCELL_OK for NULL. */
SANDCELL_API int sandcell_error_get_code(const sandcell_error *err);
/** One line without a newline, outer context first; never NULL. */
SANDCELL_API const char *sandcell_error_get_message(const sandcell_error *err);
/** HTTP status of the engine's refusal, or 0. */
SANDCELL_API int sandcell_error_get_http(const sandcell_error *err);
/** errno of the system call behind it, or 0. */
SANDCELL_API int sandcell_error_get_errno(const sandcell_error *err);
SANDCELL_API void sandcell_error_free(sandcell_error *err);
/** "invalid argument" and so on; never NULL, static. */
SANDCELL_API const char *sandcell_status_name(int status);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_ERROR_H */
