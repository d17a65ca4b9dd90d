/* SPDX-License-Identifier: MIT */
#ifndef FAKE_LIBRARY_H
#define FAKE_LIBRARY_H

/* What the two halves of the library without an engine share. */

#include <stddef.h>

#include <sandcell/sandcell.h>

struct sandcell_error {
	int code;
	char message[200];
};

struct sandcell_engine {
	char host[200];
};

struct text {
	char *data;
	size_t len;
};

struct shown {
	char mime[64];
	struct text text;
};

struct sandcell_result {
	int status;
	int exit_code;
	int kept;
	struct text streams[4];
	struct text output;
	int kind;
	char *error;
	struct shown displays[8];
	size_t display_count;
};

struct sandcell_session {
	int wake;
	sandcell_wait_fn on_wait;
	void *wait_user;
	struct text log;
	char *json;
	int warns;
};

enum fake_kind { FAKE_ENGINE, FAKE_SESSION, FAKE_RESULT, FAKE_ERROR };

void fake_count(enum fake_kind kind, int step);
void fake_append(struct text *text, const char *data, size_t len);
/* One line of the log, which becomes JSON: no quotes, no backslashes. */
__attribute__((format(printf, 2, 3))) void fake_note(
	struct text *log, const char *format, ...);
int fake_fail(sandcell_error **err_out, int code);
int fake_take_interrupt(sandcell_session *session);
/* 1: interrupted, by the eventfd or by the wait callback; 0: the time has passed. */
int fake_wait_ms(sandcell_session *session, long ms);

#endif
