/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_SERVICE_H
#define SC_ENGINE_SERVICE_H

/*
 * An engine where none runs: `podman system service` on a socket of the caller's own, with
 * neither daemon nor root.  All processes of one user share it; it ends by itself after a
 * minute without a connection, and is started again by the next one.
 */

#include <stdbool.h>

#include "base/clock.h"
#include "base/log.h"

/* There is a podman to be started. */
bool sc_service_possible(void);
/* Starts it unless it answers already; the path of its socket. */
int sc_service_up(const sc_log *log, sc_deadline deadline, char **socket_out,
	sandcell_error **err_out);

#endif
