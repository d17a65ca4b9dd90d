/* SPDX-License-Identifier: MIT */
#include "session/reap.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/num.h"
#include "engine/container.h"
#include "session/spec.h"

#define REMOVE_MS 30000
/* One that is being opened has its labels before it runs; no open takes so long. */
#define OPENING_S 600
/* Clocks of two hosts differ, and the supervisor keeps the limit itself. */
#define LIFE_MARGIN_S 60
#define SWEEP_EVERY_S 60
#define SWEEP_MAX     8
#define SWEEP_MS      2000

static const char *text_of(const json_t *labels, const char *key)
{
	return sc_json_get_str(labels, key, "");
}

static uint64_t number_of(const json_t *labels, const char *key)
{
	uint64_t value = 0;

	(void)sc_parse_u64(text_of(labels, key), INT64_MAX, &value);
	return value;
}

/* Its pid means something here: same machine, same boot, same pid namespace. */
static bool same_place(const json_t *labels, const struct sc_owner *self)
{
	return self->boot_id[0] && self->pid_ns &&
	       strcmp(text_of(labels, SC_LABEL_OWNER_HOST), self->host) == 0 &&
	       strcmp(text_of(labels, SC_LABEL_OWNER_BOOT), self->boot_id) == 0 &&
	       number_of(labels, SC_LABEL_OWNER_PIDNS) == self->pid_ns;
}

static bool owner_gone(const json_t *labels, const struct sc_owner *self,
	bool (*gone)(pid_t pid, uint64_t start))
{
	uint64_t pid = number_of(labels, SC_LABEL_OWNER_PID);

	return pid > 0 && pid <= INT32_MAX && same_place(labels, self) &&
	       gone((pid_t)pid, number_of(labels, SC_LABEL_OWNER_START));
}

static bool is_one_of(const char *state, const char *const *states)
{
	while (*states && strcmp(*states, state) != 0)
		states++;
	return *states != NULL;
}

static bool past_life(const json_t *labels, uint64_t now_s)
{
	uint64_t life_s = number_of(labels, SC_LABEL_MAX_LIFE) / 1000;
	uint64_t created_s = number_of(labels, SC_LABEL_CREATED);

	return life_s && created_s && now_s > created_s + life_s + LIFE_MARGIN_S;
}

const char *sc_reap_judge(const json_t *labels, const char *state, uint64_t now_s,
	const struct sc_owner *self, bool (*gone)(pid_t pid, uint64_t start))
{
	static const char *const ended[] = {"exited", "dead", "stopped", NULL};
	static const char *const opening[] = {"created", "configured", "initialized", NULL};
	uint64_t created_s = number_of(labels, SC_LABEL_CREATED);
	bool left = owner_gone(labels, self, gone);

	if (!text_of(labels, SC_LABEL_VERSION)[0] || !text_of(labels, SC_LABEL_NONCE)[0])
		return NULL;
	if (strcmp(text_of(labels, SC_LABEL_KIND), "unnamed") == 0)
		return left ? "its owner is gone" : NULL;
	if (is_one_of(state, ended))
		return "it has ended";
	if (is_one_of(state, opening) &&
		(left || (created_s && now_s > created_s + OPENING_S)))
		return "it was never started";
	return past_life(labels, now_s) ? "its life is over" : NULL;
}

/* ---- all of them ---- */

static int reap_one(sandcell_engine *engine, const json_t *entry, const char *reason,
	bool dry_run, json_t *all, sandcell_error **err_out)
{
	const json_t *labels = sc_json_get_obj(entry, "Labels");
	const char *id = sc_json_get_str(entry, "Id", "");
	bool removed = !dry_run && sc_container_remove(engine, id,
					   sc_deadline_in_ms(REMOVE_MS), NULL) == 0;
	json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "name",
		text_of(labels, SC_LABEL_SESSION), "container", id, "kind",
		text_of(labels, SC_LABEL_KIND), "state",
		sc_json_get_str(entry, "State", "unknown"), "reason", reason, "removed",
		removed);

	return json_array_append_new(all, row) < 0 ? sc_fail_nomem(err_out) : 0;
}

static int reap_all(sandcell_engine *engine, const json_t *found, bool dry_run, json_t *all,
	sandcell_error **err_out)
{
	uint64_t now_s = sc_wall_now_ns() / SC_SEC_IN_NS;
	struct sc_owner self;
	const json_t *entry = NULL;
	size_t i = 0;

	sc_owner_self(&self);
	json_array_foreach (found, i, entry) {
		const char *reason = sc_reap_judge(sc_json_get_obj(entry, "Labels"),
			sc_json_get_str(entry, "State", ""), now_s, &self, sc_owner_gone);
		int rc =
			reason ? reap_one(engine, entry, reason, dry_run, all, err_out) : 0;

		if (rc < 0)
			return rc;
	}
	return 0;
}

int sc_reap(
	sandcell_engine *engine, bool dry_run, char **json_out, sandcell_error **err_out)
{
	static const char *const labels[] = {SC_LABEL_VERSION, SC_LABEL_NONCE, NULL};
	sc_autojson *found = NULL;
	sc_autojson *all = json_array();
	sc_autobuf text = SC_BUF_INIT(SC_MAX_HTTP_BODY);
	int rc;

	if (!all)
		return sc_fail_nomem(err_out);
	rc = sc_container_list(
		engine, labels, true, sc_engine_request_deadline(engine), &found, err_out);
	if (rc == 0)
		rc = reap_all(engine, found, dry_run, all, err_out);
	if (rc == 0)
		rc = sc_json_dump(all, &text, err_out);
	if (rc < 0)
		return rc;
	*json_out = sc_buf_take(&text, NULL);
	return *json_out ? 0 : sc_fail_nomem(err_out);
}

/* ---- in passing ---- */

static void sweep(sandcell_engine *engine, const json_t *found, sc_deadline deadline)
{
	uint64_t now_s = sc_wall_now_ns() / SC_SEC_IN_NS;
	struct sc_owner self;
	const json_t *entry = NULL;
	size_t removed = 0;
	size_t i = 0;

	sc_owner_self(&self);
	json_array_foreach (found, i, entry) {
		const char *state = sc_json_get_str(entry, "State", "");

		if (strcmp(state, "running") == 0 || removed >= SWEEP_MAX ||
			!sc_reap_judge(sc_json_get_obj(entry, "Labels"), state, now_s,
				&self, sc_owner_gone))
			continue;
		removed++;
		(void)sc_container_remove(
			engine, sc_json_get_str(entry, "Id", ""), deadline, NULL);
	}
}

void sc_reap_sweep(sandcell_engine *engine)
{
	static const char *const labels[] = {SC_LABEL_VERSION, SC_LABEL_NONCE, NULL};
	static _Atomic uint64_t next_ns;
	sc_deadline deadline = sc_deadline_in_ms(SWEEP_MS);
	uint64_t now = sc_now_ns();
	uint64_t due = atomic_load(&next_ns);
	sc_autojson *found = NULL;

	if (now < due || !atomic_compare_exchange_strong(
				 &next_ns, &due, now + SWEEP_EVERY_S * SC_SEC_IN_NS))
		return;
	if (sc_container_list(engine, labels, true, deadline, &found, NULL) == 0)
		sweep(engine, found, deadline);
}
