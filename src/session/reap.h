/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_REAP_H
#define SC_SESSION_REAP_H

/*
 * Removing what a killed owner, engine or host has left.  A container without our labels is
 * never touched, nor one whose owner may still be there.
 */

#include <stdbool.h>

#include "engine/engine.h"
#include "session/owner.h"

/*
 * Why a container is to go, or NULL: it stays.  Pure but for gone, which tells whether a
 * process of this host has ended.
 */
const char *sc_reap_judge(const json_t *labels, const char *state, uint64_t now_s,
	const struct sc_owner *self, bool (*gone)(pid_t pid, uint64_t start));

/*
 * What an open does in passing, at most once a minute: removes a few of those that do not
 * run.  A running one is ended by its own lease, and an open must not wait for that.
 */
void sc_reap_sweep(sandcell_engine *engine);

/* [{name, container, kind, state, reason, removed}] of those that are to go. */
int sc_reap(
	sandcell_engine *engine, bool dry_run, char **json_out, sandcell_error **err_out);

#endif
