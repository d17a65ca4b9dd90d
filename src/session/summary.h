/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_SUMMARY_H
#define SC_SESSION_SUMMARY_H

/* What a session was granted, in comparison with what was asked:
 * sandcell_session_get_json(). */

#include "session/session.h"

/* Appends a text for the caller to the session's warnings; takes it over, NULL included. */
int sc_session_warn(sandcell_session *s, json_t *text, sandcell_error **err_out);
/*
 * Makes s->json from the config and the supervisor's answers.  SANDCELL_E_LIMIT when a
 * limit is not in force and strict limits were asked for.
 */
int sc_session_summarize(
	sandcell_session *s, const json_t *ready, sandcell_error **err_out);

#endif
