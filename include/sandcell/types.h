/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_TYPES_H
#define SANDCELL_TYPES_H

/**
 * @file types.h
 * @brief What every other header of sandcell stands on: export macros, status codes,
 * handles.
 */

#include <stddef.h>
#include <stdint.h>

/* A public function carries SANDCELL_API; everything else is hidden by the build. */
#if defined(__GNUC__)
#define SANDCELL_API	   __attribute__((visibility("default")))
#define SANDCELL_NODISCARD __attribute__((warn_unused_result))
#else
#define SANDCELL_API
#define SANDCELL_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Why a call could not be made.  Values are fixed for ever; new ones are appended. */
typedef enum sandcell_status {
	SANDCELL_OK = 0,
	SANDCELL_E_FAIL = -1,	  /**< No more precise code; read the message. */
	SANDCELL_E_NOMEM = -2,	  /**< The host is out of memory. */
	SANDCELL_E_INVAL = -3,	  /**< The caller broke a documented rule. */
	SANDCELL_E_CONNECT = -4,  /**< The engine's socket could not be reached. */
	SANDCELL_E_ENGINE = -5,	  /**< The engine refused; see sandcell_error_get_http(). */
	SANDCELL_E_PROTOCOL = -6, /**< A reply or frame did not parse. */
	SANDCELL_E_NOTFOUND = -7, /**< No such image, container or session. */
	SANDCELL_E_CONFLICT = -8, /**< The name is taken, or the state does not allow it. */
	SANDCELL_E_TIMEOUT = -9,  /**< A deadline of the library's own work passed. */
	SANDCELL_E_CALLBACK = -10, /**< A caller's callback asked to stop. */
	SANDCELL_E_LIMIT = -11,	   /**< A limit on size, count or memory was hit. */
	SANDCELL_E_GONE = -12,	   /**< The container went away under the session. */
	SANDCELL_E_CLOSED = -13,   /**< The session was closed before. */
	SANDCELL_E_BUSY = -14, /**< Another call is running and waiting was not wanted. */
	SANDCELL_E_DATA = -15  /**< An archive or snapshot is malformed, cut or unsafe. */
} sandcell_status;

typedef struct sandcell_error sandcell_error;
typedef struct sandcell_engine
	sandcell_engine; /**< One engine; may be shared by threads. */
typedef struct sandcell_session sandcell_session; /**< One container. */
typedef struct sandcell_result sandcell_result;	  /**< What one call left behind. */

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_TYPES_H */
