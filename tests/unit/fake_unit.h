/* SPDX-License-Identifier: MIT */
#ifndef FAKE_UNIT_H
#define FAKE_UNIT_H

/* What the tests against the scripted engine share. */

#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/engine_impl.h"
#include "fake_engine.h"
#include "unit.h"

/* A bound against hanging, nowhere near what anything here takes. */
#define HANG_MS 30000

static inline sc_deadline soon(void)
{
	return sc_deadline_in_ms(HANG_MS);
}

static inline int open_with(fake_engine *fake, uint32_t request_ms, sandcell_engine **out,
	sandcell_error **err_out)
{
	const sandcell_engine_options opts = {
		.struct_size = sizeof(opts),
		.host = fake_host(fake),
		.request_timeout_ms = request_ms,
	};

	return sc_engine_open(&opts, out, err_out);
}

static inline sandcell_engine *open_engine(fake_engine *fake)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	int rc = open_with(fake, 0, &engine, &err);

	ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
	return engine;
}

/* Waits for no reply longer than 50 ms; but opening it may take what a busy machine needs.
 */
static inline sandcell_engine *open_impatient(fake_engine *fake)
{
	sandcell_engine *engine = open_engine(fake);

	engine->request_ms = 50;
	return engine;
}

/* Frees the error after looking for a part of its message. */
static inline void expect_error(sandcell_error **err, int code, const char *part)
{
	ck_assert_msg(sandcell_error_get_code(*err) == code, "code %d (%s), wanted %d",
		sandcell_error_get_code(*err), sandcell_error_get_message(*err), code);
	ck_assert_msg(strstr(sandcell_error_get_message(*err), part) != NULL,
		"'%s' has no '%s'", sandcell_error_get_message(*err), part);
	sandcell_error_free(*err);
	*err = NULL;
}

/* The text of the last request to `on` has this part. */
static inline void expect_request(fake_engine *fake, size_t index, const char *part)
{
	char *text = fake_request(fake, index);

	ck_assert_ptr_nonnull(text);
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in:\n%s", part, text);
	free(text);
}

static inline void expect_last_request(fake_engine *fake, const char *part)
{
	expect_request(fake, fake_requests(fake) - 1, part);
}

#endif
