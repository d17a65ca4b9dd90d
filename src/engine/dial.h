/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_DIAL_H
#define SC_ENGINE_DIAL_H

/* Connections: what differs between unix, tcp and ssh, for libcurl and for streams. */

#include "engine/engine_impl.h"

/* Sets a curl handle up to reach the engine; the URL's host is sc_dial_base(). */
int sc_dial_setup(sandcell_engine *engine, CURL *curl, sandcell_error **err_out);
/* "http://docker": scheme and host that a URL starts with. */
const char *sc_dial_base(const sandcell_engine *engine);
/* What goes into a Host header. */
const char *sc_dial_host(const sandcell_engine *engine);

#endif
