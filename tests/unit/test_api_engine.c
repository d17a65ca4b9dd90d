/* SPDX-License-Identifier: MIT */
/* The public functions about engines: what a caller may do wrong, and what it gets. */
#include "fake_unit.h"
#include "sandcell/sandcell.h"

static void count_line(const char *line, void *user)
{
	(void)line;
	(*(int *)user)++;
}

START_TEST(options_begin_as_all_defaults)
{
	static const sandcell_engine_options wanted = SANDCELL_ENGINE_OPTIONS_INIT;
	sandcell_engine_options opts;

	memset(&opts, 0xff, sizeof(opts));
	sandcell_engine_options_init(&opts, sizeof(opts));
	ck_assert_mem_eq(&opts, &wanted, sizeof(opts));
	ck_assert_uint_eq(opts.struct_size, sizeof(opts));
}
END_TEST

START_TEST(an_engine_is_opened_described_and_freed)
{
	fake_engine *fake = fake_start();
	int lines = 0;
	sandcell_engine_options opts = SANDCELL_ENGINE_OPTIONS_INIT;
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	char *json = NULL;

	opts.host = fake_host(fake);
	opts.on_log = count_line;
	opts.log_user = &lines;
	ck_assert_int_eq(sandcell_engine_open(&opts, &engine, &err), SANDCELL_OK);
	ck_assert_ptr_null(err);
	ck_assert_str_eq(sandcell_engine_get_host(engine), fake_host(fake));
	ck_assert_str_eq(sandcell_engine_get_source(engine), "host option");
	ck_assert_str_eq(sandcell_engine_get_kind(engine), "docker");
	ck_assert_str_eq(sandcell_engine_get_api_version(engine), "1.41");
	ck_assert_int_eq(sandcell_engine_describe(engine, &json, &err), SANDCELL_OK);
	ck_assert_ptr_nonnull(strstr(json, "\"version\":\"20.10.24\""));
	ck_assert_int_ge(lines, 3);
	sandcell_string_free(json);
	sandcell_engine_free(engine);
	sandcell_engine_free(NULL);
	sandcell_string_free(NULL);
	fake_stop(fake);
}
END_TEST

START_TEST(wrong_arguments_are_refused_and_outputs_untouched)
{
	sandcell_engine_options opts = SANDCELL_ENGINE_OPTIONS_INIT;
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	char *json = NULL;

	ck_assert_int_lt(sandcell_engine_open(NULL, NULL, &err), 0);
	expect_error(&err, SANDCELL_E_INVAL, "engine_out");
	opts.struct_size = 3;
	ck_assert_int_lt(sandcell_engine_open(&opts, &engine, &err), 0);
	expect_error(&err, SANDCELL_E_INVAL, "sandcell_engine_options");
	ck_assert_int_lt(sandcell_engine_describe(NULL, &json, &err), 0);
	expect_error(&err, SANDCELL_E_INVAL, "NULL");
	opts = (sandcell_engine_options)SANDCELL_ENGINE_OPTIONS_INIT;
	opts.host = "unix:///nowhere";
	ck_assert_int_lt(sandcell_engine_open(&opts, &engine, NULL), 0);
	ck_assert_ptr_null(engine);
	ck_assert_ptr_null(json);
}
END_TEST

UNIT_MAIN("api_engine", options_begin_as_all_defaults,
	an_engine_is_opened_described_and_freed,
	wrong_arguments_are_refused_and_outputs_untouched)
