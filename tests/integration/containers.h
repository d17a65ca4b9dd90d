/* SPDX-License-Identifier: MIT */
#ifndef CONTAINERS_H
#define CONTAINERS_H

/* Containers and execs for the tests of the engine layer. */

#include "base/fd.h"
#include "engine/demux.h"
#include "engine/exec.h"
#include "real.h"

/* A locked-down container that runs argv as its main process; both limits, for Podman. */
static inline json_t *body_of(const char *const *argv)
{
	char key[64];
	json_t *command = json_array();
	size_t key_len = strcspn(run_label, "=");

	(void)snprintf(key, sizeof(key), "%.*s", (int)key_len, run_label);
	for (size_t i = 0; argv[i]; i++)
		(void)json_array_append_new(command, json_string(argv[i]));
	json_t *body =
		json_pack("{s:s,s:o,s:[],s:{s:s},s:b,s:b,s:b,s:{s:s,s:I,s:I,s:I,s:b,s:[s],"
			  "s:[{s:s,s:i,s:i},{s:s,s:i,s:i}],s:{s:s}}}",
			"Image", REAL_IMAGE, "Cmd", command, "Entrypoint", "Labels", key,
			run_label + key_len + 1, "AttachStdout", 1, "AttachStderr", 1,
			"OpenStdin", 0, "HostConfig", "NetworkMode", "none", "Memory",
			(json_int_t)(128 << 20), "MemorySwap", (json_int_t)(128 << 20),
			"PidsLimit", (json_int_t)64, "ReadonlyRootfs", 1, "CapDrop", "ALL",
			"Ulimits", "Name", "nofile", "Soft", 1024, "Hard", 1024, "Name",
			"nproc", "Soft", 4096, "Hard", 4096, "LogConfig", "Type", "none");
	ck_assert_ptr_nonnull(body);
	return body;
}

static inline char *create(const char *name, const char *const *argv)
{
	sc_autojson *body = body_of(argv);
	char *id = NULL;

	OK(sc_container_create(engine, name, body, soon(), &id, NULL, &err));
	return id;
}

/* Running, and doing nothing. */
static inline char *run_sleeper(void)
{
	static const char *const argv[] = {"sleep", "600", NULL};
	char *id = create(NULL, argv);

	OK(sc_container_start(engine, id, soon(), &err));
	return id;
}

static inline char *create_exec(const char *container, const char *script)
{
	sc_autojson *body = json_pack("{s:[s,s,s],s:b,s:b,s:b}", "Cmd", "sh", "-c", script,
		"AttachStdin", 1, "AttachStdout", 1, "AttachStderr", 1);
	char *id = NULL;

	OK(sc_exec_create(engine, container, body, soon(), &id, &err));
	return id;
}

struct output {
	sc_buf out;
	sc_buf err;
	sc_demux demux;
};

static inline int keep(
	enum sc_demux_stream stream, const void *data, size_t len, void *user)
{
	struct output *output = user;

	return sc_buf_append(
		stream == SC_DEMUX_STDOUT ? &output->out : &output->err, data, len);
}

static inline void output_init(struct output *output)
{
	*output = (struct output){
		.out = SC_BUF_INIT(SC_MAX_CODE), .err = SC_BUF_INIT(SC_MAX_TEXT)};
	sc_demux_init(&output->demux, keep, output);
}

static inline void output_clear(struct output *output)
{
	sc_buf_clear(&output->out);
	sc_buf_clear(&output->err);
}

/* Feeds input and reads to the end, both in one loop. */
static inline void converse(
	sc_stream *stream, const char *input, size_t input_len, struct output *output)
{
	static char piece[65536];
	sc_deadline deadline = soon();
	size_t sent = 0;
	bool ended = false;
	size_t n = 0;
	int rc;

	for (;;) {
		while ((rc = sc_stream_read(stream, piece, sizeof(piece), &n, NULL)) ==
			SC_STREAM_DATA)
			OK(sc_demux_feed(&output->demux, piece, n, &err));
		ck_assert_int_ge(rc, 0);
		if (rc == SC_STREAM_END)
			break;
		if (sent < input_len &&
			sc_stream_write(stream, input + sent, input_len - sent, &n, NULL) ==
				SC_STREAM_DATA)
			sent += n;
		if (sent == input_len && !ended) {
			sc_stream_end_write(stream);
			ended = true;
		}
		ck_assert_int_eq(
			sc_fd_wait(sc_stream_fd(stream),
				sc_stream_events(stream, sent < input_len), deadline, NULL),
			1);
	}
	OK(sc_demux_end(&output->demux, &err));
}

/* Runs a script to its end; its exit code. */
static inline int run_exec(const char *container, const char *script, struct output *output)
{
	sc_autofree char *id = create_exec(container, script);
	struct sc_exec_state state = {0};
	sc_stream *stream = NULL;

	OK(sc_exec_start(engine, id, soon(), &stream, &err));
	converse(stream, "", 0, output);
	sc_stream_free(stream);
	OK(sc_exec_wait(engine, id, soon(), &state, &err));
	ck_assert(state.has_exit_code);
	return state.exit_code;
}

#endif
