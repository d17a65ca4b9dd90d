/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_ENGINE_H
#define SANDCELL_ENGINE_H

/**
 * @file engine.h
 * @brief Finding a Docker or Podman engine and asking what it is.
 *
 * An engine may be used by several threads at once; it must outlive its sessions.
 */

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Receives one line of the engine conversation or of the library's own doings, without
 * secrets, code or environment values.  Called on whichever thread does the work; must not
 * call the library.
 */
typedef void (*sandcell_log_fn)(const char *line, void *user);

/** How to reach an engine; all-zero means: find one. */
typedef struct sandcell_engine_options {
	size_t struct_size;	     /**< sizeof(sandcell_engine_options) */
	const char *host;	     /**< like DOCKER_HOST, "unix:///path"; NULL: search */
	sandcell_log_fn on_log;	     /**< NULL: silent */
	void *log_user;		     /**< passed to on_log as it stands */
	uint32_t connect_timeout_ms; /**< 0: 5 s */
	uint32_t request_timeout_ms; /**< 0: 60 s for one request */
} sandcell_engine_options;

/* clang-format off */
#ifdef __cplusplus
#define SANDCELL_ENGINE_OPTIONS_INIT {sizeof(sandcell_engine_options), 0, 0, 0, 0, 0}
#else
#define SANDCELL_ENGINE_OPTIONS_INIT {.struct_size = sizeof(sandcell_engine_options)}
#endif
/* clang-format on */

/** Run-time twin of the macro, for bindings.  @p size is the caller's sizeof. */
SANDCELL_API void sandcell_engine_options_init(sandcell_engine_options *opts, size_t size);

/**
 * Find an engine and agree with it on an API version.
 *
 * The search order without a host: SANDCELL_HOST, DOCKER_HOST, CONTAINER_HOST, Docker's
 * current context, the usual sockets of Docker and Podman, and last a podman service of the
 * user's own, which is started where podman is installed.  A host that was named, the
 * context included, is never replaced by another one.
 *
 * Hosts are "unix:///path", "tcp://host:port" (with TLS as DOCKER_TLS_VERIFY and
 * DOCKER_CERT_PATH say, or the context) and "ssh://user@host".
 *
 * @param opts        NULL for the defaults
 * @param engine_out  free with sandcell_engine_free()
 * @param err_out     may be NULL; its message lists what was tried
 * @return 0, #SANDCELL_E_INVAL, #SANDCELL_E_CONNECT, #SANDCELL_E_ENGINE,
 *         #SANDCELL_E_PROTOCOL, #SANDCELL_E_TIMEOUT or #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_engine_open(
	const sandcell_engine_options *opts, sandcell_engine **engine_out,
	sandcell_error **err_out);

/** The address in use, such as "unix:///var/run/docker.sock". */
SANDCELL_API const char *sandcell_engine_get_host(const sandcell_engine *engine);
/** Where that address came from, such as "DOCKER_HOST". */
SANDCELL_API const char *sandcell_engine_get_source(const sandcell_engine *engine);
/** "docker" or "podman". */
SANDCELL_API const char *sandcell_engine_get_kind(const sandcell_engine *engine);
/** The API version spoken, such as "1.41". */
SANDCELL_API const char *sandcell_engine_get_api_version(const sandcell_engine *engine);

/**
 * Ask the engine about itself.
 *
 * @param json_out  one JSON object: host, source, kind, version, api_version, runtime,
 *                  runtimes, cgroup_version, rootless, cpus, memory_bytes,
 *                  security_options, kernel, warnings; free with sandcell_string_free()
 * @return 0, #SANDCELL_E_CONNECT, #SANDCELL_E_ENGINE, #SANDCELL_E_PROTOCOL,
 *         #SANDCELL_E_TIMEOUT or #SANDCELL_E_NOMEM
 */
SANDCELL_API SANDCELL_NODISCARD int sandcell_engine_describe(
	sandcell_engine *engine, char **json_out, sandcell_error **err_out);

SANDCELL_API void sandcell_engine_free(sandcell_engine *engine);

/** Frees a text that a function of the library handed out through `char **`. */
SANDCELL_API void sandcell_string_free(char *text);

#ifdef __cplusplus
}
#endif

#endif /* SANDCELL_ENGINE_H */
