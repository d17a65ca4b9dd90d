/* SPDX-License-Identifier: MIT */
/* What can be had of a session beside a call's result: names, history, files, whole output.
 */
#include "real.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "sandcell/sandcell.h"

static sandcell_session *open_session(void)
{
	sandcell_session *session = NULL;

	real_open(getenv("REAL_HOST"));
	OK(sandcell_session_open(engine, NULL, &session, &err));
	return session;
}

static void close_session(sandcell_session *session)
{
	ck_assert_int_eq(sandcell_session_close(session, NULL), 0);
	sandcell_session_free(session);
	sc_engine_free(SANDCELL_TAKE(engine));
}

static sandcell_result *run(
	sandcell_session *session, const char *code, const sandcell_execute_options *opts)
{
	sandcell_result *result = NULL;

	OK(sandcell_execute(session, code, strlen(code), opts, &result, &err));
	return result;
}

START_TEST(names_tell_the_variables)
{
	sandcell_session *session = open_session();
	char *text = NULL;

	sandcell_result_free(run(session, "number = 42\nword = 'x'", NULL));
	ck_assert_int_eq(sandcell_names(session, &text, NULL), 0);
	json_t *names = json_loads(text, 0, NULL);
	ck_assert_uint_eq(json_array_size(names), 2);
	ck_assert_str_eq(
		json_string_value(json_object_get(json_array_get(names, 0), "name")),
		"number");
	ck_assert_str_eq(
		json_string_value(json_object_get(json_array_get(names, 0), "repr")), "42");
	json_decref(names);
	sandcell_string_free(text);
	close_session(session);
}
END_TEST

START_TEST(history_tells_the_cells_until_a_reset)
{
	sandcell_session *session = open_session();
	char *text = NULL;

	sandcell_result_free(run(session, "a = 1", NULL));
	sandcell_result_free(run(session, "1/0", NULL));
	ck_assert_int_eq(sandcell_history(session, &text, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "a = 1"));
	ck_assert_ptr_nonnull(strstr(text, "1/0"));
	sandcell_string_free(text);
	ck_assert_int_eq(sandcell_reset(session, NULL), 0);
	ck_assert_int_eq(sandcell_history(session, &text, NULL), 0);
	ck_assert_str_eq(text, "[]");
	sandcell_string_free(text);
	close_session(session);
}
END_TEST

START_TEST(completion_comes_from_the_live_namespace)
{
	static const char code[] = "print(particular_na";
	sandcell_session *session = open_session();
	char *text = NULL;

	sandcell_result_free(run(session, "particular_name = 1", NULL));
	ck_assert_int_eq(
		sandcell_complete(session, code, strlen(code), strlen(code), &text, NULL),
		0);
	ck_assert_ptr_nonnull(strstr(text, "particular_name"));
	sandcell_string_free(text);
	close_session(session);
}
END_TEST

START_TEST(questions_to_a_closed_session_are_errors)
{
	sandcell_session *session = open_session();
	sandcell_error *err = NULL;
	char *text = NULL;

	ck_assert_int_eq(sandcell_session_close(session, NULL), 0);
	ck_assert_int_eq(sandcell_names(session, &text, &err), SANDCELL_E_CLOSED);
	ck_assert_ptr_null(text);
	sandcell_error_free(err);
	close_session(session);
}
END_TEST

START_TEST(artifacts_are_listed_when_asked)
{
	sandcell_execute_options opts = SANDCELL_EXECUTE_OPTIONS_INIT;
	sandcell_session *session = open_session();
	sandcell_result *result = NULL;

	opts.flags = SANDCELL_EXECUTE_ARTIFACTS;
	result = run(session, "open('made', 'w').write('123')", &opts);
	json_t *root = json_loads(sandcell_result_get_json(result), 0, NULL);
	json_t *created = json_object_get(json_object_get(root, "artifacts"), "created");
	ck_assert_uint_eq(json_array_size(created), 1);
	ck_assert_str_eq(json_string_value(json_array_get(created, 0)), "made");
	json_decref(root);
	sandcell_result_free(result);
	close_session(session);
}
END_TEST

START_TEST(all_of_the_output_goes_to_a_file)
{
	char path[] = "/tmp/sandcell-spill-XXXXXX";
	int fd = mkstemp(path);
	sandcell_execute_options opts = SANDCELL_EXECUTE_OPTIONS_INIT;
	sandcell_session *session = open_session();
	sandcell_result *result = NULL;

	ck_assert_int_ge(fd, 0);
	opts.stdout_file = path;
	opts.output_max = 1000;
	result = run(session,
		"import sys\nfor i in range(3000): sys.stdout.write('%999d\\n' % i)",
		&opts);
	ck_assert_int_eq(sandcell_result_get_status(result), SANDCELL_RESULT_OK);
	ck_assert_uint_gt(sandcell_result_get_dropped(result, SANDCELL_STDOUT), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 3000000);
	sandcell_result_free(result);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(unlink(path), 0);
	close_session(session);
}
END_TEST

START_TEST(a_full_disk_stops_the_call_and_keeps_the_session)
{
	static const char code[] = "kept = 1\nwhile True: print('x' * 1000)";
	sandcell_execute_options opts = SANDCELL_EXECUTE_OPTIONS_INIT;
	sandcell_session *session = open_session();
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;

	opts.stdout_file = "/dev/full";
	int rc = sandcell_execute(session, code, strlen(code), &opts, &result, &err);
	ck_assert_int_eq(rc, SANDCELL_E_LIMIT);
	ck_assert_ptr_nonnull(strstr(sandcell_error_get_message(err), "/dev/full"));
	sandcell_error_free(err);
	result = run(session, "kept", NULL);
	ck_assert_str_eq(sandcell_result_get_output(result, NULL), "1");
	sandcell_result_free(result);
	close_session(session);
}
END_TEST

START_TEST(a_file_that_cannot_be_made_is_refused_before_the_code_runs)
{
	sandcell_execute_options opts = SANDCELL_EXECUTE_OPTIONS_INIT;
	sandcell_session *session = open_session();
	sandcell_result *result = NULL;

	opts.stderr_file = "/nonexistent/folder/file";
	ck_assert_int_eq(sandcell_execute(session, "ran = 1", 7, &opts, &result, NULL),
		SANDCELL_E_INVAL);
	result = run(session, "'ran' in globals()", NULL);
	ck_assert_str_eq(sandcell_result_get_output(result, NULL), "false");
	sandcell_result_free(result);
	close_session(session);
}
END_TEST

REAL_MAIN("answers", names_tell_the_variables, history_tells_the_cells_until_a_reset,
	completion_comes_from_the_live_namespace, questions_to_a_closed_session_are_errors,
	artifacts_are_listed_when_asked, all_of_the_output_goes_to_a_file,
	a_full_disk_stops_the_call_and_keeps_the_session,
	a_file_that_cannot_be_made_is_refused_before_the_code_runs)
