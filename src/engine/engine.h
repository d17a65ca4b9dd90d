/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_ENGINE_H
#define SC_ENGINE_ENGINE_H

/*
 * One engine: found, spoken to in an agreed API version, shared by threads.
 *
 * Every function of engine/ that takes a `sandcell_engine *` may be called by several
 * threads at once; each running request has a curl handle of its own, kept for the next
 * one.  After a fork the child may only free the engine: its requests are refused, because
 * the connections belong to the parent.
 *
 * Every function takes a deadline; the engine's own time limit for one request
 * (sc_engine_request_deadline()) applies as well, except where a comment says that the
 * request may take as long as the deadline allows.
 */

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/quirks.h"
#include "sandcell/engine.h"

int sc_engine_open(const sandcell_engine_options *opts, sandcell_engine **engine_out,
	sandcell_error **err_out);
void sc_engine_free(sandcell_engine *engine);

const char *sc_engine_host(const sandcell_engine *engine);	  /* "unix:///run/x.sock" */
const char *sc_engine_source(const sandcell_engine *engine);	  /* "DOCKER_HOST" */
const char *sc_engine_kind(const sandcell_engine *engine);	  /* "docker", "podman" */
const char *sc_engine_api_version(const sandcell_engine *engine); /* "1.41" */
/* The agreed version is at least 1.minor: sc_engine_speaks(engine, 44). */
bool sc_engine_speaks(const sandcell_engine *engine, uint32_t minor);
/* What this engine does differently; the only place where Docker and Podman are told apart.
 */
const struct sc_quirks *sc_engine_quirks(const sandcell_engine *engine);
/* The socket on this host, without scheme; NULL when the engine is not behind one. */
const char *sc_engine_socket_path(const sandcell_engine *engine);
/* On another machine: bind mounts would name its files, not ours. */
bool sc_engine_is_remote(const sandcell_engine *engine);
const sc_log *sc_engine_log(const sandcell_engine *engine);
/* The engine's wall clock, estimated from its Date header; for event queries. */
uint64_t sc_engine_wall_now_ns(const sandcell_engine *engine);
/* Now plus the request timeout that the caller chose. */
sc_deadline sc_engine_request_deadline(const sandcell_engine *engine);

#endif
