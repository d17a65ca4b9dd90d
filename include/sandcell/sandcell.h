/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_SANDCELL_H
#define SANDCELL_SANDCELL_H

/**
 * @file sandcell.h
 * @brief Run code that nobody has reviewed, one engine container per session.
 *
 * Rules that hold for every function, so they are said once:
 *
 *  - Fallible functions return 0 or a negative ::sandcell_status and take a last parameter
 *    `err_out`.  Pass NULL, or a pointer to a NULL `sandcell_error *`.  It is written on
 *    failure only; the caller frees what it finds there with sandcell_error_free().
 *  - `*_out` parameters come just before `err_out`, are written on success only, and hand
 *    the object to the caller.
 *  - `_get_` functions lend: the pointer is valid until the object they read from is
 *    changed or freed.
 *  - Input pointers, and whatever they point to, are borrowed for the call.
 *  - Every `_free` accepts NULL, cannot fail, and does not touch the network.
 *  - One object, one thread at a time, unless its comment says otherwise.
 *  - Once a call is accepted, every ending of it is a result; errors are for calls that
 *    never began.
 */

#include "cli.h"
#include "engine.h"
#include "error.h"
#include "execute.h"
#include "files.h"
#include "inspect.h"
#include "named.h"
#include "operators.h"
#include "result.h"
#include "session.h"
#include "snapshot.h"
#include "types.h"
#include "version.h"

#endif /* SANDCELL_SANDCELL_H */
