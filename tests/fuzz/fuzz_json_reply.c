/* SPDX-License-Identifier: MIT */
/*
 * What an engine answers: every reader takes every JSON value, and a stream of objects is
 * the same at every split.
 */
#include <string.h>

#include "engine/container.h"
#include "engine/events.h"
#include "engine/exec.h"
#include "engine/http.h"
#include "engine/json_stream.h"
#include "fuzz.h"

#define NOTES_MAX ((size_t)16 << 20)

static void read_as_everything(const json_t *root)
{
	struct sc_container_state container;
	struct sc_exec_state exec;
	struct sc_event event;

	sc_container_read_state(root, &container);
	FUZZ_CHECK(container.status && container.error && container.started_at);
	if (sc_exec_read_state(root, &exec, NULL) == 0) {
		FUZZ_CHECK(!exec.running || !exec.has_exit_code);
		FUZZ_CHECK(exec.exit_code >= 0 && exec.exit_code <= 255);
	}
	sc_event_read(&sc_quirks_docker, root, &event);
	FUZZ_CHECK(event.text && event.container);
	sc_event_read(&sc_quirks_podman, root, &event);
	FUZZ_CHECK(event.exit_code >= 0 && event.exit_code <= 255);
}

static void read_as_refusal(const char *text, size_t size)
{
	sandcell_error *err = NULL;

	FUZZ_CHECK(sc_http_refusal(&sc_quirks_podman, 500, text, size, &err) < 0);
	FUZZ_CHECK(err && sandcell_error_get_message(err)[0] != '\0');
	FUZZ_CHECK(strlen(sandcell_error_get_message(err)) < 1024);
	sandcell_error_free(err);
}

static int note(const json_t *value, void *user)
{
	read_as_everything(value);
	return sc_json_dump(value, user, NULL);
}

static int feed(const char *text, size_t size, size_t piece, sc_buf *notes)
{
	sc_json_stream stream;
	int rc = 0;

	sc_json_stream_init(&stream, note, notes);
	for (size_t at = 0; at < size && rc == 0; at += piece)
		rc = sc_json_stream_feed(
			&stream, text + at, size - at < piece ? size - at : piece, NULL);
	if (rc == 0)
		rc = sc_json_stream_end(&stream, NULL);
	sc_json_stream_clear(&stream);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	sc_autobuf whole = SC_BUF_INIT(NOTES_MAX);
	sc_autobuf pieces = SC_BUF_INIT(NOTES_MAX);
	sc_autojson *root = NULL;

	if (size == 0)
		return 0;
	if (sc_json_parse(text, size, "reply", &root, NULL) == 0)
		read_as_everything(root);
	read_as_refusal(text, size);
	int rc = feed(text, size, size, &whole);
	FUZZ_CHECK(feed(text, size, 1 + data[size - 1] % 13, &pieces) == rc);
	FUZZ_CHECK(strcmp(sc_buf_text(&whole), sc_buf_text(&pieces)) == 0);
	return 0;
}
