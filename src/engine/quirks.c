/* SPDX-License-Identifier: MIT */
#include "engine/quirks.h"

#include <string.h>

/* Docker 20.10 to 29; the names have not changed since API 1.22. */
static const struct sc_event_name docker_events[] = {
	{"create", SC_EVENT_CREATE},
	{"start", SC_EVENT_START},
	{"oom", SC_EVENT_OOM},
	{"kill", SC_EVENT_KILL},
	{"stop", SC_EVENT_STOP},
	{"die", SC_EVENT_DIE},
	{"pause", SC_EVENT_PAUSE},
	{"unpause", SC_EVENT_UNPAUSE},
	{"restart", SC_EVENT_RESTART},
	{"exec_die", SC_EVENT_EXEC_DIE},
	{"destroy", SC_EVENT_REMOVE},
	{NULL, SC_EVENT_OTHER},
};

/* Podman 4 says "died" in its own events and "die" in the Docker-compatible ones. */
static const struct sc_event_name podman_events[] = {
	{"create", SC_EVENT_CREATE},
	{"start", SC_EVENT_START},
	{"oom", SC_EVENT_OOM},
	{"kill", SC_EVENT_KILL},
	{"stop", SC_EVENT_STOP},
	{"die", SC_EVENT_DIE},
	{"died", SC_EVENT_DIE},
	{"pause", SC_EVENT_PAUSE},
	{"unpause", SC_EVENT_UNPAUSE},
	{"restart", SC_EVENT_RESTART},
	{"exec_died", SC_EVENT_EXEC_DIE},
	{"remove", SC_EVENT_REMOVE},
	{"destroy", SC_EVENT_REMOVE},
	{NULL, SC_EVENT_OTHER},
};

/* Docker 20.10 answers 500, not 409, to pausing a paused container. */
static const char *const docker_conflicts[] = {
	"is already paused",
	"is not paused",
	"is not running",
	NULL,
};

/* Podman 4.3 answers 500 to nearly every wrong state. */
static const char *const podman_conflicts[] = {
	"already in use",
	"state improper",
	"is not running",
	"cannot be paused",
	"is already paused",
	"is not paused",
	NULL,
};

static const char *const docker_missing[] = {NULL};

static const char *const podman_missing[] = {
	"no such container",
	"no such image",
	"no such exec session",
	"no container with",
	NULL,
};

const struct sc_quirks sc_quirks_docker = {
	.name = "docker",
	.runtime_per_request = true,
	.reports_oom = true,
	.events_until = true,
	.die_code_attribute = "exitCode",
	.events = docker_events,
	.conflict_texts = docker_conflicts,
	.notfound_texts = docker_missing,
};

const struct sc_quirks sc_quirks_podman = {
	.name = "podman",
	.userns_keep_id = true,
	.drops_limits_rootless_v1 = true,
	.die_code_attribute = "containerExitCode",
	.events = podman_events,
	.conflict_texts = podman_conflicts,
	.notfound_texts = podman_missing,
};

enum sc_event_action sc_quirks_event(const struct sc_quirks *quirks, const char *action)
{
	for (const struct sc_event_name *e = quirks->events; e->text; e++) {
		if (strcmp(e->text, action) == 0)
			return e->action;
	}
	return SC_EVENT_OTHER;
}

bool sc_quirks_match(const char *const *texts, const char *text)
{
	for (size_t i = 0; texts[i]; i++) {
		if (strcasestr(text, texts[i]))
			return true;
	}
	return false;
}
