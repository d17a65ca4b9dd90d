/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_RESULT_H
#define SANDCELL_RESULT_H

/**
 * @file result.h
 * @brief What one accepted call left behind, however it ended.
 *
 * Everything handed out by a getter belongs to the result.  Program output is bytes, not
 * text: it may hold NUL and invalid UTF-8, and is followed by a NUL that is not counted.
 */

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a call ended.  Values are fixed for ever; new ones are appended. */
typedef enum sandcell_result_status {
	SANDCELL_RESULT_OK = 0,
	SANDCELL_RESULT_ERROR = 1,	 /**< an exception, or a command's exit status */
	SANDCELL_RESULT_TIMEOUT = 2,	 /**< stopped at its deadline */
	SANDCELL_RESULT_INTERRUPTED = 3, /**< stopped by sandcell_interrupt() */
	SANDCELL_RESULT_OOM = 4,	 /**< killed for memory */
	SANDCELL_RESULT_EXITED = 5,	 /**< sys.exit() or os._exit() */
	SANDCELL_RESULT_SIGNALED = 6,	 /**< killed by a signal, such as a segfault */
	SANDCELL_RESULT_DENIED = 7,	 /**< refused by the command policy */
	SANDCELL_RESULT_LOST = 8	 /**< container gone; completion unknown */
} sandcell_result_status;

/** Which stream a piece of output came from. */
typedef enum sandcell_stream {
	SANDCELL_STDOUT = 1,
	SANDCELL_STDERR = 2,
	/** Written between calls by threads and processes that earlier calls left; what
	 * they write while a call runs counts as that call's own. */
	SANDCELL_LATE_STDOUT = 3,
	SANDCELL_LATE_STDERR = 4
} sandcell_stream;

/** What the value of the last expression is given as. */
typedef enum sandcell_output_kind {
	SANDCELL_OUTPUT_NONE = 0, /**< there is no value, or it is None */
	SANDCELL_OUTPUT_JSON = 1, /**< plain data: ASCII JSON text that round-trips */
	SANDCELL_OUTPUT_REPR = 2  /**< anything else: Python's repr, UTF-8 */
} sandcell_output_kind;

/** A ::sandcell_result_status. */
SANDCELL_API int sandcell_result_get_status(const sandcell_result *result);
/** "ok", "error", "timeout", ...; static. */
SANDCELL_API const char *sandcell_result_status_name(int status);
/** 1 when the status is #SANDCELL_RESULT_OK, or sys.exit(0) was called; else 0. */
SANDCELL_API int sandcell_result_get_success(const sandcell_result *result);
/** The code of sys.exit(), of the command, or 128 + signal; -1 when there is none. */
SANDCELL_API int sandcell_result_get_exit_code(const sandcell_result *result);
/** Number of the signal that ended it, or 0. */
SANDCELL_API int sandcell_result_get_signal(const sandcell_result *result);
/**
 * 1 when the variables of the session are as the call left them; else 0.
 *
 * Threads that the code started are part of what it left: after a timeout they go on.
 */
SANDCELL_API int sandcell_result_get_state_preserved(const sandcell_result *result);
/** 1 when the container died and another one took its place. */
SANDCELL_API int sandcell_result_get_container_restarted(const sandcell_result *result);
/** The error with its traceback, UTF-8; NULL when there was none. */
SANDCELL_API const char *sandcell_result_get_error(const sandcell_result *result);
/** The code or command as it was given; @p len_out may be NULL. */
SANDCELL_API const char *sandcell_result_get_code(
	const sandcell_result *result, size_t *len_out);
/** Bytes kept from @p stream; @p len_out may be NULL.  Never NULL. */
SANDCELL_API const char *sandcell_result_get_stream(
	const sandcell_result *result, sandcell_stream stream, size_t *len_out);
/** Bytes of @p stream that were dropped between what was kept of its head and its tail. */
SANDCELL_API uint64_t sandcell_result_get_dropped(
	const sandcell_result *result, sandcell_stream stream);
/** Value of the last expression; NULL for #SANDCELL_OUTPUT_NONE.  @p kind_out may be NULL.
 */
SANDCELL_API const char *sandcell_result_get_output(
	const sandcell_result *result, sandcell_output_kind *kind_out);
/** Wall time of the call inside the container, ns. */
SANDCELL_API uint64_t sandcell_result_get_duration_ns(const sandcell_result *result);

/** Number of displayed objects, in the order of display. */
SANDCELL_API size_t sandcell_result_get_display_count(const sandcell_result *result);
/** Number of representations of one displayed object. */
SANDCELL_API size_t sandcell_result_get_mime_count(
	const sandcell_result *result, size_t display);
/**
 * One representation: its bytes (PNG is binary, the rest UTF-8), or NULL past the end.
 *
 * @param mime_out  its MIME type; may be NULL
 * @param len_out   its length in bytes; may be NULL
 */
SANDCELL_API const char *sandcell_result_get_mime(const sandcell_result *result,
	size_t display, size_t index, const char **mime_out, size_t *len_out);

/**
 * The whole result as one JSON object on one line: status, success, output, output_kind,
 * stdout, stderr, error, code, exit_code, signal, state_preserved, container_restarted,
 * duration_ns, usage, truncated, data (MIME bundle per display; PNG in base64), artifacts.
 * Invalid UTF-8 in program output is replaced by U+FFFD here, and only here.
 *
 * @return text lent by @p result, or NULL when out of memory
 */
SANDCELL_API const char *sandcell_result_get_json(sandcell_result *result);
/**
 * Of that object only what has no getter here: usage, artifacts, and of a command stages
 * and landlock.
 *
 * @return text lent by @p result, or NULL when out of memory
 */
SANDCELL_API const char *sandcell_result_get_details(sandcell_result *result);

SANDCELL_API void sandcell_result_free(sandcell_result *result);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_RESULT_H */
