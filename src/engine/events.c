/* SPDX-License-Identifier: MIT */
#include "engine/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/url.h"
#include "engine/filters.h"
#include "engine/http.h"
#include "engine/json_stream.h"

#define TIME_TEXT   32
#define ACTION_TEXT 64
/* Another machine's clock is known to two seconds: rather wait that long than miss. */
#define REMOTE_MARGIN_NS (2 * SC_SEC_IN_NS)

struct reading {
	const struct sc_quirks *quirks;
	sc_json_stream lines;
	sc_event_fn fn;
	void *user;
	sandcell_error **err_out;
};

/* "exec_create: cat /etc/passwd": the word before the colon. */
static enum sc_event_action action_of(const struct sc_quirks *quirks, const char *text)
{
	char word[ACTION_TEXT];
	size_t len = strcspn(text, ":");

	if (len >= sizeof(word))
		return SC_EVENT_OTHER;
	memcpy(word, text, len);
	word[len] = '\0';
	return sc_quirks_event(quirks, word);
}

static void read_exit_code(
	const struct sc_quirks *quirks, const json_t *attributes, struct sc_event *event)
{
	const char *text = sc_json_get_str(attributes, quirks->die_code_attribute, "");
	uint64_t code = 0;

	event->has_exit_code = sc_parse_u64(text, 255, &code);
	event->exit_code = (int)code;
}

static uint64_t time_of(const json_t *root)
{
	int64_t nanos = sc_json_get_int(root, "timeNano", 0);
	int64_t seconds = sc_json_get_int(root, "time", 0);

	if (nanos > 0)
		return (uint64_t)nanos;
	return seconds > 0 ? (uint64_t)seconds * SC_SEC_IN_NS : 0;
}

void sc_event_read(
	const struct sc_quirks *quirks, const json_t *root, struct sc_event *event)
{
	const json_t *actor = sc_json_get_obj(root, "Actor");
	const json_t *attributes = sc_json_get_obj(actor, "Attributes");

	/* Podman leaves Actor out of some, and names things as Docker did before 1.22. */
	*event = (struct sc_event){
		.text = sc_json_get_str(
			root, "Action", sc_json_get_str(root, "status", "")),
		.container = sc_json_get_str(actor, "ID", sc_json_get_str(root, "id", "")),
		.signal = sc_json_get_str(attributes, "signal", NULL),
		.time_ns = time_of(root),
	};
	event->action = action_of(quirks, event->text);
	if (event->action == SC_EVENT_DIE)
		read_exit_code(quirks, attributes, event);
}

static int on_event(const json_t *root, void *user)
{
	struct reading *reading = user;
	struct sc_event event;

	sc_event_read(reading->quirks, root, &event);
	return reading->fn(&event, reading->user);
}

static int on_bytes(const void *data, size_t len, void *user)
{
	struct reading *reading = user;

	return sc_json_stream_feed(&reading->lines, data, len, reading->err_out);
}

static void put_time(char text[TIME_TEXT], uint64_t ns)
{
	(void)snprintf(text, TIME_TEXT, "%" PRIu64 ".%09" PRIu64, ns / SC_SEC_IN_NS,
		ns % SC_SEC_IN_NS);
}

static int put_path(sandcell_engine *engine, const char *container, uint64_t since_ns,
	sc_buf *path, sandcell_error **err_out)
{
	sc_autojson *filters = json_object();
	sc_autobuf text = SC_BUF_INIT(SC_MAX_URL);
	uint64_t until_ns = sc_engine_wall_now_ns(engine);
	char since[TIME_TEXT];
	char until[TIME_TEXT];
	int rc;

	if (!filters)
		return sc_fail_nomem(err_out);
	rc = sc_filters_add_one(filters, "type", "container", err_out);
	if (rc == 0 && container)
		rc = sc_filters_add_one(filters, "container", container, err_out);
	if (rc == 0)
		rc = sc_json_dump(filters, &text, err_out);
	if (rc < 0)
		return rc;
	if (sc_engine_is_remote(engine))
		until_ns += REMOTE_MARGIN_NS;
	put_time(since, since_ns);
	put_time(until, until_ns);
	if (sc_engine_quirks(engine)->events_until)
		(void)sc_url(path, "/events?since={}&until={}&filters={}", since, until,
			sc_buf_text(&text));
	else
		(void)sc_url(path, "/events?since={}&stream=false&filters={}", since,
			sc_buf_text(&text));
	return sc_buf_check(path, err_out, "request path");
}

int sc_events_read(sandcell_engine *engine, const char *container, uint64_t since_ns,
	sc_deadline deadline, sc_event_fn fn, void *user, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	SANDCELL_CLEANUP(sc_error_freep) sandcell_error *why = NULL;
	struct reading reading = {
		.quirks = sc_engine_quirks(engine),
		.fn = fn,
		.user = user,
		.err_out = &why,
	};
	int rc;

	rc = put_path(engine, container, since_ns, &path, err_out);
	if (rc < 0)
		return rc;
	sc_json_stream_init(&reading.lines, on_event, &reading);
	const struct sc_http_request request = {
		.path = sc_buf_text(&path),
		.write = on_bytes,
		.user = &reading,
		.deadline = deadline,
	};
	rc = sc_http_call(engine, &request, &reply, err_out);
	if (rc == 0)
		rc = sc_json_stream_end(&reading.lines, &why);
	sc_json_stream_clear(&reading.lines);
	if (why)
		(void)sc_error_move(err_out, &why, rc);
	return rc;
}

static int note_demise(const struct sc_event *event, void *user)
{
	struct sc_demise *demise = user;

	switch (event->action) {
	case SC_EVENT_OOM:
		demise->oom = true;
		break;
	case SC_EVENT_KILL:
	case SC_EVENT_STOP:
		demise->killed = true;
		if (event->signal)
			(void)snprintf(demise->signal, sizeof(demise->signal), "%s",
				event->signal);
		break;
	case SC_EVENT_DIE:
		demise->died = true;
		demise->has_exit_code = event->has_exit_code;
		demise->exit_code = event->exit_code;
		break;
	case SC_EVENT_REMOVE:
		demise->removed = true;
		break;
	default:
		break;
	}
	return 0;
}

int sc_events_demise(sandcell_engine *engine, const char *container, uint64_t since_ns,
	sc_deadline deadline, struct sc_demise *demise_out, sandcell_error **err_out)
{
	struct sc_demise demise = {0};
	int rc;

	rc = sc_events_read(
		engine, container, since_ns, deadline, note_demise, &demise, err_out);
	if (rc < 0)
		return rc;
	*demise_out = demise;
	return 0;
}
