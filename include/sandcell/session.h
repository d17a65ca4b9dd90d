/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_SESSION_H
#define SANDCELL_SESSION_H

/**
 * @file session.h
 * @brief One locked-down container, opened, used and removed.
 *
 * A session belongs to one thread at a time; sandcell_interrupt() is the exception.
 */

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** "No limit" for the members that say so. */
#define SANDCELL_NO_TIMEOUT UINT32_MAX

#define SANDCELL_SESSION_WORKSPACE_RO (UINT32_C(1) << 0) /**< workspace read-only */
#define SANDCELL_SESSION_STRICT_LIMITS                                                     \
	(UINT32_C(1) << 1) /**< a dropped limit is an error */

/**
 * Looks in while a call waits for the container: soon after a signal was handled on the
 * calling thread, and else a few times a second.
 *
 * Called on the thread that made the call.  Return 0 to go on waiting; any other value
 * stops the call as sandcell_interrupt() does, and makes an open fail with
 * #SANDCELL_E_CALLBACK. It must not call the library, except sandcell_interrupt().  Meant
 * for languages that run their signal handlers only when control comes back to them.
 */
typedef int (*sandcell_wait_fn)(void *user);

/**
 * How to start a session.
 *
 * Begin from ::SANDCELL_SESSION_OPTIONS_INIT (or sandcell_session_options_init()) and
 * change what you need.  All-zero means the default for every member; members are only
 * appended.
 */
typedef struct sandcell_session_options {
	size_t struct_size;	   /**< sizeof(sandcell_session_options) */
	const char *image;	   /**< NULL: SANDCELL_IMAGE, else "sandcell/python" */
	const char *workspace;	   /**< host directory, seen as /workspace; NULL: a tmpfs */
	const char *const *mounts; /**< "SRC:DST" or "SRC:DST:ro", NULL-terminated */
	const char *const *env;	   /**< "KEY=VALUE", NULL-terminated; NULL: none */
	const char *user;    /**< "UID:GID" of the code; NULL: the workspace's owner */
	const char *network; /**< engine network; NULL: "none" */
	const char *runtime; /**< OCI runtime by the engine's name; NULL: its default */
	const char *preload; /**< modules imported once per session: "numpy,pandas" */
	const char *name;    /**< session name; NULL: unnamed */
	sandcell_wait_fn on_wait; /**< NULL: wait without looking up */
	void *wait_user;	  /**< passed to on_wait as it stands */
	uint64_t memory_bytes;	  /**< 0: 2 GiB; swap is never added */
	uint64_t tmp_bytes;	  /**< size of /tmp; 0: an eighth of the memory */
	uint64_t output_max;	  /**< bytes kept per stream and call; 0: 1 MiB */
	uint32_t cpu_millis;	  /**< 1000 is one CPU; 0: all of the host */
	uint32_t pids_max;	  /**< 0: 256 */
	uint32_t timeout_ms;	  /**< default for each call; 0: 600 s */
	uint32_t lease_ms;	  /**< life without a client; 0: 10 s, named: 30 min */
	uint32_t open_timeout_ms; /**< 0: 60 s */
	uint32_t flags;		  /**< SANDCELL_SESSION_*; unknown bits are refused */
	uint64_t fsize_bytes;	  /**< largest file that the code may write; 0: any */
	uint64_t nofile_max;	  /**< open files of each of its processes; 0: 4096 */
	uint32_t max_life_ms;	  /**< life at all, whoever is there; 0: no limit */
	uint32_t idle_ms;	  /**< life without a call; 0: no limit */
} sandcell_session_options;

/* clang-format off */
#ifdef __cplusplus
#define SANDCELL_SESSION_OPTIONS_INIT \
	{sizeof(sandcell_session_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
	 0, 0, 0, 0, 0, 0}
#else
#define SANDCELL_SESSION_OPTIONS_INIT {.struct_size = sizeof(sandcell_session_options)}
#endif
/* clang-format on */

/** Run-time twin of the macro, for bindings.  @p size is the caller's sizeof. */
SANDCELL_API void sandcell_session_options_init(
	sandcell_session_options *opts, size_t size);

/**
 * Create and start one container and make Python ready in it.
 *
 * @param engine       must outlive the session
 * @param opts         copied, may be freed at once; NULL for the defaults
 * @param session_out  free with sandcell_session_free()
 * @param err_out      may be NULL
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CONNECT, #SANDCELL_E_NOTFOUND (no such image),
 *         #SANDCELL_E_CONFLICT (name in use), #SANDCELL_E_ENGINE, #SANDCELL_E_PROTOCOL,
 *         #SANDCELL_E_TIMEOUT, #SANDCELL_E_CALLBACK (on_wait), #SANDCELL_E_LIMIT (strict
 *         limits), #SANDCELL_E_GONE or #SANDCELL_E_NOMEM.  On failure no container is
 *         left.
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_session_open(sandcell_engine *engine,
	const sandcell_session_options *opts, sandcell_session **session_out,
	sandcell_error **err_out);

/** The engine's id of the container, 64 hexadecimal digits. */
SANDCELL_API const char *sandcell_session_get_container(const sandcell_session *session);
/** The session's name; made up by the library when none was given. */
SANDCELL_API const char *sandcell_session_get_name(const sandcell_session *session);
/**
 * What was granted: one JSON object with image, python, user, workspace, network, limits
 * asked for and in force, warnings (array of text).  Lent by @p session.
 */
SANDCELL_API const char *sandcell_session_get_json(const sandcell_session *session);

/**
 * Clear variables, results, history and every process the code left behind.
 *
 * The container and the files stay.
 * @return 0, #SANDCELL_E_INVAL (in a forked child), #SANDCELL_E_CLOSED, #SANDCELL_E_BUSY
 *         (from inside a callback), #SANDCELL_E_GONE, #SANDCELL_E_TIMEOUT,
 *         #SANDCELL_E_PROTOCOL or #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_reset(
	sandcell_session *session, sandcell_error **err_out);

/**
 * Stop the running call, if there is one.
 *
 * The one call that may be made from any thread, and from a signal handler.
 */
SANDCELL_API void sandcell_interrupt(sandcell_session *session);

/**
 * Remove the container and wait until it is gone.  Calling it twice is fine.
 *
 * May be called while another thread runs a call, which then ends as lost.
 *
 * @return 0, #SANDCELL_E_INVAL (in a forked child), #SANDCELL_E_BUSY (from inside a
 *         callback), #SANDCELL_E_CONNECT, #SANDCELL_E_ENGINE, #SANDCELL_E_PROTOCOL,
 *         #SANDCELL_E_TIMEOUT or #SANDCELL_E_NOMEM
 */
SANDCELL_API int sandcell_session_close(
	sandcell_session *session, sandcell_error **err_out);

/** Release memory only; a container not closed ends by itself when its lease has run out.
 */
SANDCELL_API void sandcell_session_free(sandcell_session *session);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_SESSION_H */
