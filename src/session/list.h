/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_LIST_H
#define SC_SESSION_LIST_H

/* The sessions of an engine, from the labels of its containers. */

#include "engine/engine.h"

int sc_list(sandcell_engine *engine, char **json_out, sandcell_error **err_out);

#endif
