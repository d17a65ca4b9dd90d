/* SPDX-License-Identifier: MIT */
#include "session/session.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/container.h"
#include "session/call.h"
#include "session/reap.h"
#include "session/recover.h"

#define CLOSE_TIMEOUT_MS 30000
#define RESET_TIMEOUT_MS 60000

/* ---- states ---- */

static const char *state_name(unsigned state)
{
	switch (state) {
	case SESSION_NEW:
		return "new";
	case SESSION_READY:
		return "ready";
	case SESSION_BUSY:
		return "busy";
	case SESSION_LOST:
		return "lost";
	case SESSION_CLOSED:
		return "closed";
	default:
		return "unknown";
	}
}

int sc_session_move(sandcell_session *s, unsigned from_mask, enum session_state to,
	sandcell_error **err_out)
{
	if (s->state & from_mask) {
		s->state = to;
		return 0;
	}
	if (s->state == SESSION_CLOSED)
		return sc_fail(err_out, SANDCELL_E_CLOSED, "session '%s' was closed",
			s->config.name);
	return sc_fail(err_out, SANDCELL_E_FAIL, "session '%s' cannot go from %s to %s",
		s->config.name, state_name(s->state), state_name(to));
}

static int check_process(const sandcell_session *s, sandcell_error **err_out)
{
	if (s->opener == getpid())
		return 0;
	return sc_fail(err_out, SANDCELL_E_INVAL,
		"session '%s' belongs to process %d, which opened it, not to this fork",
		s->config.name, (int)s->opener);
}

/* A callback that calls back would wait for itself. */
static int check_reentry(sandcell_session *s, sandcell_error **err_out)
{
	int rc = check_process(s, err_out);

	if (rc < 0 || atomic_load(&s->holder) != gettid())
		return rc;
	return sc_fail(err_out, SANDCELL_E_BUSY,
		"session '%s' is running the call whose callback this is", s->config.name);
}

int sc_session_lock(sandcell_session *s, sandcell_error **err_out)
{
	int rc = check_reentry(s, err_out);

	if (rc < 0)
		return rc;
	(void)pthread_mutex_lock(&s->lock);
	atomic_store(&s->holder, gettid());
	return 0;
}

void sc_session_unlock(sandcell_session *s)
{
	atomic_store(&s->holder, 0);
	(void)pthread_mutex_unlock(&s->lock);
}

/* An interrupt that came between two calls must not hit the next one. */
static void forget_wakes(const sandcell_session *s)
{
	uint64_t count = 0;
	ssize_t n = read(s->wake_fd, &count, sizeof(count));

	(void)n;
}

static int make_ready(sandcell_session *s, sandcell_error **err_out)
{
	int rc;

	forget_wakes(s);
	if (atomic_load(&s->closing))
		return sc_fail(err_out, SANDCELL_E_CLOSED, "session '%s' was closed",
			s->config.name);
	if (s->state == SESSION_LOST && s->attached)
		return sc_fail(err_out, SANDCELL_E_GONE,
			"session '%s' has ended, or cannot be reached any more",
			s->config.name);
	if (s->state == SESSION_LOST) {
		rc = sc_session_start(
			s, sc_deadline_in_ms(s->config.open_timeout_ms), err_out);
		if (rc < 0) {
			(void)sc_context(err_out, rc, "replacing the lost container");
			return rc == SANDCELL_E_NOMEM
				       ? rc
				       : sc_error_recode(err_out, SANDCELL_E_GONE);
		}
		s->replaced = true;
	}
	s->call_began_ns = sc_engine_wall_now_ns(s->engine);
	return sc_session_move(s, SESSION_READY, SESSION_BUSY, err_out);
}

int sc_session_enter(sandcell_session *s, sandcell_error **err_out)
{
	int rc;

	rc = sc_session_lock(s, err_out);
	if (rc < 0)
		return rc;
	rc = make_ready(s, err_out);
	if (rc < 0)
		sc_session_unlock(s);
	return rc;
}

void sc_session_leave(sandcell_session *s)
{
	if (s->state == SESSION_BUSY)
		s->state = SESSION_READY;
	if (s->channel)
		sc_channel_trim(s->channel);
	sc_session_unlock(s);
}

/* ---- life ---- */

int sc_session_new(
	sandcell_engine *engine, sandcell_session **out, sandcell_error **err_out)
{
	sandcell_session *s = sc_calloc(1, sizeof(*s));

	if (!s)
		return sc_fail_nomem(err_out);
	s->engine = engine;
	s->state = SESSION_NEW;
	s->opener = getpid();
	s->wake_fd = -1;
	sc_owner_self(&s->owner);
	(void)pthread_mutex_init(&s->lock, NULL);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = s->wake_fd < 0 ? sc_fail_errno(err_out, SANDCELL_E_FAIL, errno, "eventfd")
				: sc_random_hex(s->client, SC_CLIENT_DIGITS, err_out);
	if (rc < 0) {
		sc_session_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void sc_session_free(sandcell_session *s)
{
	if (!s)
		return;
	sc_channel_free(s->channel);
	if (s->wake_fd >= 0)
		(void)close(s->wake_fd);
	(void)pthread_mutex_destroy(&s->lock);
	sc_config_clear(&s->config);
	sc_free(s->container);
	sc_free(s->nonce);
	json_decref(s->warnings);
	sc_free(s->json);
	sc_free(s);
}

int sc_session_open(sandcell_engine *engine, const sandcell_session_options *opts,
	sandcell_session **session_out, sandcell_error **err_out)
{
	SANDCELL_CLEANUP(sc_session_freep) sandcell_session *s = NULL;
	int rc;

	rc = sc_session_new(engine, &s, err_out);
	if (rc < 0)
		return rc;
	rc = sc_config_load(&s->config, opts, sc_engine_socket_path(engine),
		sc_engine_is_remote(engine), sc_caller_self(), err_out);
	if (rc < 0)
		return rc;
	rc = sc_session_start(s, sc_deadline_in_ms(s->config.open_timeout_ms), err_out);
	if (rc < 0)
		return rc;
	sc_reap_sweep(engine);
	*session_out = SANDCELL_TAKE(s);
	return 0;
}

int sc_session_discard(sandcell_session *s, sc_deadline deadline, sandcell_error **err_out)
{
	int rc = 0;

	sc_channel_free(SANDCELL_TAKE(s->channel));
	if (s->container)
		rc = sc_container_remove(s->engine, s->container, deadline, err_out);
	return rc;
}

int sc_session_close(sandcell_session *s, sandcell_error **err_out)
{
	int rc;

	rc = check_reentry(s, err_out);
	if (rc < 0)
		return rc;
	/* A call of another thread ends at once, without waiting for its code. */
	atomic_store(&s->closing, true);
	sc_session_interrupt(s);
	rc = sc_session_lock(s, err_out);
	if (rc < 0)
		return rc;
	if (s->state != SESSION_CLOSED) {
		rc = sc_session_discard(s, sc_deadline_in_ms(CLOSE_TIMEOUT_MS), err_out);
		s->state = rc < 0 ? SESSION_LOST : SESSION_CLOSED;
	}
	sc_session_unlock(s);
	if (rc < 0)
		return sc_context(err_out, rc, "closing session '%s'", s->config.name);
	return 0;
}

int sc_session_detach(sandcell_session *s, sandcell_error **err_out)
{
	int rc;

	rc = sc_session_lock(s, err_out);
	if (rc < 0)
		return rc;
	sc_channel_free(SANDCELL_TAKE(s->channel));
	s->state = SESSION_CLOSED;
	sc_session_unlock(s);
	return 0;
}

/* Signal-safe: getpid and write only.  A fork shares the eventfd, but not the session. */
void sc_session_interrupt(sandcell_session *s)
{
	const uint64_t one = 1;
	int saved = errno;

	if (s->opener == getpid()) {
		ssize_t n = write(s->wake_fd, &one, sizeof(one));
		(void)n;
	}
	errno = saved;
}

/* ---- reset ---- */

static int run_reset(sandcell_session *s, sandcell_error **err_out)
{
	uint64_t id = sc_channel_next_id(s->channel);
	sc_autojson *header =
		json_pack("{s:s, s:I}", "type", "reset", "id", (json_int_t)id);
	sc_call call;
	int rc;

	if (!header)
		return sc_fail_nomem(err_out);
	rc = sc_call_init(&call, id, header, NULL, 0, NULL, NULL, err_out);
	if (rc == 0)
		rc = sc_call_run(
			s->channel, &call, sc_deadline_in_ms(RESET_TIMEOUT_MS), err_out);
	if (rc == 0)
		rc = sc_call_check(&call, "reset", err_out);
	sc_call_clear(&call);
	return rc;
}

int sc_session_reset(sandcell_session *s, sandcell_error **err_out)
{
	int rc;

	rc = sc_session_enter(s, err_out);
	if (rc < 0)
		return rc;
	rc = run_reset(s, err_out);
	if (rc < 0) {
		struct sc_verdict verdict;

		sc_recover(s, sc_loss_of(rc), &verdict);
		s->replaced = s->replaced || verdict.replaced;
		(void)sc_context(err_out, rc, "resetting session '%s': %s", s->config.name,
			verdict.text);
	}
	sc_session_leave(s);
	return rc;
}
