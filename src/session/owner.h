/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_OWNER_H
#define SC_SESSION_OWNER_H

/*
 * Who opened a session, in a form that can be judged later and elsewhere: a pid alone is
 * reused, so its start time, pid namespace and boot belong to it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct sc_owner {
	uid_t uid;
	pid_t pid;
	char host[65];
	char boot_id[40];
	uint64_t pid_ns; /* inode; 0: unknown */
	uint64_t start;	 /* clock ticks after boot; 0: unknown */
};

/* This process.  What /proc does not tell stays empty. */
void sc_owner_self(struct sc_owner *owner);

/*
 * Whether the process with that pid and start time has ended.  Only what is certain is
 * true: a process that cannot be seen has not.
 */
bool sc_owner_gone(pid_t pid, uint64_t start);

/* A random text of count lower-case hexadecimal digits (even), NUL-terminated. */
int sc_random_hex(char *text, size_t count, sandcell_error **err_out);
int sc_random_u64(uint64_t *out, sandcell_error **err_out);

#endif
