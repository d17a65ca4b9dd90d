/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_RESULT_H
#define SC_SESSION_RESULT_H

/*
 * The result object: filled by execute.c from what the container sent and from what the
 * host found out, then read through sandcell_result_get_*.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "sandcell/result.h"
#include "session/capture.h"
#include "session/frame.h"

#define SC_STREAM_COUNT 4
/* What is kept of displayed objects: the rest is counted. */
#define SC_DISPLAY_MAX	     ((size_t)32 << 20)
#define SC_DISPLAY_SUM_MAX   ((size_t)64 << 20)
#define SC_DISPLAY_COUNT_MAX ((size_t)1024)

struct sandcell_result {
	int status;    /* SANDCELL_RESULT_* */
	int exit_code; /* -1: none */
	int signal;
	bool state_preserved;
	bool container_restarted;
	uint64_t duration_ns;

	char *code;
	size_t code_len;
	sc_capture streams[SC_STREAM_COUNT]; /* by SANDCELL_STDOUT - 1 ... */

	json_t *header;	    /* of the `result` frame; NULL: the host made this result */
	sc_content content; /* its parts: output, error, artifacts */
	int output_kind;
	char *host_error; /* takes the place of the part `error` */

	sc_content *displays;
	size_t display_count;
	size_t display_bytes;
	size_t displays_dropped;

	char *json; /* made when asked for, as is the next */
	char *details;
};

sandcell_result *sc_result_new(
	const char *code, size_t code_len, uint64_t output_max, sandcell_error **err_out);

static inline void sc_result_freep(sandcell_result **result)
{
	sandcell_result_free(*result);
}

/* dropped: bytes that the container itself could not keep.  Never fails. */
void sc_result_add_output(sandcell_result *result, int stream, const void *data, size_t len,
	uint64_t dropped);
/* Takes the content over. */
void sc_result_add_display(sandcell_result *result, sc_content *display);
/* Takes the content over; checks and reads the header of a `result` frame. */
int sc_result_finish(sandcell_result *result, const json_t *header, sc_content *content,
	sandcell_error **err_out);
/* Nothing is added after this. */
void sc_result_seal(sandcell_result *result);
/* The host's own verdict, with a text for people. */
void sc_result_set_verdict(sandcell_result *result, int status, const char *error);

/* By name, -1 for one that does not exist. */
int sc_result_status_parse(const char *name);

/* result_json.c */
char *sc_result_format_json(const sandcell_result *result);
char *sc_result_format_details(const sandcell_result *result);

#endif
