/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_ENGINE_IMPL_H
#define SC_ENGINE_ENGINE_IMPL_H

/* The engine's inside; for the files of this folder only. */

#include <pthread.h>
#include <sys/types.h>

#include <curl/curl.h>

#include "engine/address.h"
#include "engine/engine.h"
#include "engine/ssh.h"
#include "engine/tls.h"

/* Handles kept for the next request, each with its open connection. */
#define SC_ENGINE_IDLE_MAX 8

struct sc_info_cache; /* info.c */

struct sandcell_engine {
	struct sc_address address;
	struct sc_tls tls;
	char *base; /* what URLs start with: "http://docker" */
	char *source;
	const struct sc_quirks *quirks;
	char api_version[16];
	uint32_t api_minor;
	sc_log log;
	uint32_t connect_ms;
	uint32_t request_ms;
	int64_t skew_ns; /* the engine's wall clock minus ours */
	pid_t opener;
	bool is_service; /* a podman of our own, which ends when idle */

	pthread_mutex_t lock; /* guards what follows */
	CURL *idle[SC_ENGINE_IDLE_MAX];
	size_t idle_count;
	struct sc_info_cache *info;
	struct sc_ssh *ssh;  /* those behind libcurl's connections */
	char complaint[256]; /* of the ssh that ended last */
};

/* One that has no address yet; NULL: out of memory. */
sandcell_engine *sc_engine_new(const sandcell_engine_options *opts);
/* Asks /_ping who is there, and agrees on a version. */
int sc_engine_negotiate(
	sandcell_engine *engine, sc_deadline deadline, sandcell_error **err_out);
/* Refuses to work in a forked child. */
int sc_engine_check_owner(const sandcell_engine *engine, sandcell_error **err_out);
void sc_info_cache_free(struct sc_info_cache *cache);

#endif
