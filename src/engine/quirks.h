/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_QUIRKS_H
#define SC_ENGINE_QUIRKS_H

/*
 * All differences between engines, one row each.  Code asks for the behaviour it needs, by
 * member; nothing outside this table asks which engine it is.
 */

#include <stdbool.h>
#include <stddef.h>

enum sc_event_action {
	SC_EVENT_OTHER = 0,
	SC_EVENT_CREATE,
	SC_EVENT_START,
	SC_EVENT_OOM,
	SC_EVENT_KILL,
	SC_EVENT_STOP,
	SC_EVENT_DIE,
	SC_EVENT_PAUSE,
	SC_EVENT_UNPAUSE,
	SC_EVENT_RESTART,
	SC_EVENT_EXEC_DIE,
	SC_EVENT_REMOVE
};

struct sc_event_name {
	const char *text;
	enum sc_event_action action;
};

struct sc_quirks {
	const char *name; /* "docker" */

	/* HostConfig.Runtime picks the OCI runtime (Podman < 5 ignores it). */
	bool runtime_per_request;
	/* HostConfig.UsernsMode "keep-id" maps the caller's uid to itself. */
	bool userns_keep_id;
	/* Rootless on cgroup v1, every limit is dropped without a word. */
	bool drops_limits_rootless_v1;
	/* A container's oom event exists, and State.OOMKilled is set. */
	bool reports_oom;
	/* GET /events stops at `until`; else at stream=false, and `until` loses events. */
	bool events_until;

	/* Attribute of a die event that holds the exit code. */
	const char *die_code_attribute;
	const struct sc_event_name *events; /* ends with a NULL text */

	/* Texts (substrings) that turn a 500 into SANDCELL_E_CONFLICT; ends with NULL. */
	const char *const *conflict_texts;
	/* Texts (substrings) that turn a 500 into SANDCELL_E_NOTFOUND; ends with NULL. */
	const char *const *notfound_texts;
};

extern const struct sc_quirks sc_quirks_docker;
extern const struct sc_quirks sc_quirks_podman;

enum sc_event_action sc_quirks_event(const struct sc_quirks *quirks, const char *action);
/* The text contains one of texts, in whatever case. */
bool sc_quirks_match(const char *const *texts, const char *text);

#endif
