/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_INFO_H
#define SC_ENGINE_INFO_H

/* What the engine says about itself and its host. */

#include "engine/engine.h"

/* Asked for once and kept; lent by the engine. */
struct sc_engine_info {
	const char *version;	  /* "20.10.24" */
	const char *runtime;	  /* default OCI runtime: "runc" */
	const char *kernel;	  /* "6.1.0" */
	const char *os;		  /* "Debian GNU/Linux 12" */
	const char *architecture; /* "x86_64" */
	const char *name;	  /* host name of the engine's machine */
	const json_t *runtimes;	  /* array of names, sorted */
	const json_t *security;	  /* array of text, as the engine lists them */
	const json_t *warnings;	  /* array of text: the engine's, and ours on lost limits */
	int64_t cpus;
	int64_t memory_bytes;
	int cgroup_version; /* 1, 2; 0 unknown */
	bool rootless;
	bool userns_remap; /* Docker's daemon-wide user namespace */
	bool limits_work;  /* false: memory, cpu and pids limits would be dropped */
};

int sc_engine_info(sandcell_engine *engine, sc_deadline deadline,
	const struct sc_engine_info **info_out, sandcell_error **err_out);
bool sc_engine_has_runtime(const struct sc_engine_info *info, const char *name);
/* sandcell_engine_describe(): the summary as JSON text, asked for anew. */
int sc_engine_describe(sandcell_engine *engine, char **json_out, sandcell_error **err_out);

#endif
