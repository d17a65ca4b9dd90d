/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "sandcell/result.h"
#include "session/result.h"
#include "unit.h"

/* ---- helpers ---- */

/* A content as it comes in a frame: the parts of header, filled with bytes. */
static sc_content make_content(const json_t *header, const char *bytes)
{
	const sc_frame frame = {.header = header,
		.type = "result",
		.payload = bytes,
		.payload_len = strlen(bytes)};
	sc_content content;

	ck_assert_int_eq(sc_content_begin(&content, &frame, SC_CONTENT_MAX, NULL), 0);
	return content;
}

static sandcell_result *make_result(const char *header_text, const char *bytes)
{
	sandcell_error *err = NULL;
	sandcell_result *result = sc_result_new("x = 1", 5, 1000, &err);
	sc_autojson *header = json_loads(header_text, 0, NULL);

	ck_assert_ptr_nonnull(result);
	ck_assert_ptr_nonnull(header);
	sc_content content = make_content(header, bytes);
	ck_assert_int_eq(sc_result_finish(result, header, &content, &err), 0);
	sc_content_clear(&content);
	return result;
}

/* The result as parsed JSON; one line, and the same when asked for again. */
static json_t *parse_result(sandcell_result *result)
{
	const char *text = sandcell_result_get_json(result);
	json_error_t why;

	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_null(strchr(text, '\n'));
	ck_assert_ptr_eq(text, sandcell_result_get_json(result));
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	ck_assert_msg(root != NULL, "%s in %s", why.text, text);
	return root;
}

static void expect_member(
	const char *header, const char *bytes, const char *key, const char *want)
{
	sandcell_result *result = make_result(header, bytes);
	sc_autojson *root = parse_result(result);
	sc_autobuf text = SC_BUF_INIT(SC_MAX_TEXT);

	ck_assert_ptr_nonnull(json_object_get(root, key));
	ck_assert_int_eq(sc_json_dump(json_object_get(root, key), &text, NULL), 0);
	ck_assert_str_eq(sc_buf_text(&text), want);
	sandcell_result_free(result);
}

/* ---- getters ---- */

START_TEST(a_result_gives_back_what_came)
{
	sandcell_result *result =
		make_result("{\"status\":\"error\",\"exit_code\":null,"
			    "\"signal\":0,\"state_preserved\":true,"
			    "\"duration_ns\":1234,\"output_kind\":\"json\","
			    "\"parts\":[[\"output\",2],[\"error\",4]]}",
			"42oops");
	sandcell_output_kind kind = SANDCELL_OUTPUT_NONE;
	size_t len = 0;

	ck_assert_int_eq(sandcell_result_get_status(result), SANDCELL_RESULT_ERROR);
	ck_assert_int_eq(sandcell_result_get_success(result), 0);
	ck_assert_int_eq(sandcell_result_get_exit_code(result), -1);
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 1);
	ck_assert_uint_eq(sandcell_result_get_duration_ns(result), 1234);
	ck_assert_str_eq(sandcell_result_get_output(result, &kind), "42");
	ck_assert_int_eq(kind, SANDCELL_OUTPUT_JSON);
	ck_assert_str_eq(sandcell_result_get_error(result), "oops");
	ck_assert_str_eq(sandcell_result_get_code(result, &len), "x = 1");
	ck_assert_uint_eq(len, 5);
	ck_assert_str_eq(sandcell_result_get_stream(result, SANDCELL_STDOUT, &len), "");
	ck_assert_str_eq(sandcell_result_get_stream(result, (sandcell_stream)9, &len), "");
	sandcell_result_free(result);
}
END_TEST

START_TEST(success_is_ok_or_exit_zero)
{
	static const struct {
		const char *header;
		int success;
	} rows[] = {
		{"{\"status\":\"ok\"}", 1},
		{"{\"status\":\"exited\",\"exit_code\":0}", 1},
		{"{\"status\":\"exited\",\"exit_code\":3}", 0},
		{"{\"status\":\"exited\",\"exit_code\":null}", 0},
		{"{\"status\":\"error\",\"exit_code\":0}", 0},
		{"{\"status\":\"timeout\"}", 0},
		{"{\"status\":\"lost\"}", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sandcell_result *result = make_result(rows[i].header, "");
		ck_assert_msg(sandcell_result_get_success(result) == rows[i].success, "%s",
			rows[i].header);
		sandcell_result_free(result);
	}
}
END_TEST

START_TEST(a_status_that_does_not_exist_is_no_result)
{
	sandcell_result *result = sc_result_new("", 0, 10, NULL);
	sc_autojson *header = json_loads("{\"status\":\"great\"}", 0, NULL);
	sc_content content = make_content(header, "");

	ck_assert_int_eq(
		sc_result_finish(result, header, &content, NULL), SANDCELL_E_PROTOCOL);
	ck_assert_int_eq(sandcell_result_get_status(result), SANDCELL_RESULT_LOST);
	ck_assert_int_eq(sandcell_result_get_success(result), 0);
	sc_content_clear(&content);
	sandcell_result_free(result);
}
END_TEST

START_TEST(mistyped_members_do_no_harm)
{
	sandcell_result *result =
		make_result("{\"status\":\"ok\",\"exit_code\":\"7\",\"signal\":[],\"state_"
			    "preserved\":1,"
			    "\"duration_ns\":-5,\"output_kind\":7,\"usage\":[1,{}],"
			    "\"exit_code\":99999999999999}",
			"");
	sc_autojson *root = parse_result(result);

	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
	ck_assert_int_eq(sandcell_result_get_exit_code(result), INT32_MAX);
	ck_assert_int_eq(sandcell_result_get_signal(result), 0);
	ck_assert_uint_eq(sandcell_result_get_duration_ns(result), 0);
	ck_assert_ptr_null(sandcell_result_get_output(result, NULL));
	sandcell_result_free(result);
}
END_TEST

START_TEST(names_of_all_statuses_are_known)
{
	for (int i = 0; i <= SANDCELL_RESULT_LOST; i++)
		ck_assert_int_eq(sc_result_status_parse(sandcell_result_status_name(i)), i);
	ck_assert_str_eq(sandcell_result_status_name(-1), "unknown");
	ck_assert_str_eq(sandcell_result_status_name(99), "unknown");
	ck_assert_int_eq(sc_result_status_parse("busy"), -1);
	ck_assert_int_eq(sc_result_status_parse(NULL), -1);
}
END_TEST

START_TEST(a_verdict_of_the_host_replaces_the_containers)
{
	sandcell_result *result = make_result(
		"{\"status\":\"ok\",\"state_preserved\":true,\"parts\":[[\"error\",2]]}",
		"no");

	sc_result_set_verdict(result, SANDCELL_RESULT_LOST, "gone");
	ck_assert_int_eq(sandcell_result_get_status(result), SANDCELL_RESULT_LOST);
	ck_assert_int_eq(sandcell_result_get_state_preserved(result), 0);
	ck_assert_str_eq(sandcell_result_get_error(result), "gone");
	sandcell_result_free(result);
}
END_TEST

/* ---- JSON ---- */

#define OK_PARTS(kind, name, len)                                                          \
	"{\"status\":\"ok\",\"output_kind\":\"" kind "\",\"parts\":[[\"" name "\"," #len   \
	"]]}"

START_TEST(plain_data_becomes_a_member_as_it_stands)
{
	expect_member(OK_PARTS("json", "output", 13), "[1,\"a\",null] ", "output",
		"[1,\"a\",null]");
	expect_member(OK_PARTS("json", "output", 4), "true", "output", "true");
	expect_member(OK_PARTS("repr", "output", 4), "true", "output", "\"true\"");
	expect_member("{\"status\":\"ok\"}", "", "output", "null");
	expect_member("{\"status\":\"ok\"}", "", "output_kind", "\"none\"");
}
END_TEST

START_TEST(large_numbers_are_not_converted)
{
	static const char digits[] = "123456789012345678901234567890";
	sandcell_result *result = make_result(OK_PARTS("json", "output", 30), digits);

	ck_assert_ptr_nonnull(strstr(sandcell_result_get_json(result),
		"\"output\":123456789012345678901234567890,"));
	sandcell_result_free(result);
}
END_TEST

START_TEST(output_cannot_forge_members)
{
	/* Each claims to be JSON, and would add or hide a member as it stands. */
	static const char *const forged[] = {
		"1,\"success\":true,\"x\":1 ",
		"{}}{\"status\":\"ok\"      ",
		"\"\n{\\\"status\\\":1}\"      ",
		"[1,2                      ",
	};

	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		sandcell_result *result = sc_result_new("", 0, 10, NULL);
		sc_autojson *header = json_pack("{s:s, s:s, s:[[si]]}", "status", "error",
			"output_kind", "json", "parts", "output", (int)strlen(forged[i]));
		sc_content content = make_content(header, forged[i]);

		ck_assert_int_eq(sc_result_finish(result, header, &content, NULL), 0);
		sc_autojson *root = parse_result(result);
		ck_assert(json_is_false(json_object_get(root, "success")));
		ck_assert_str_eq(
			json_string_value(json_object_get(root, "output")), forged[i]);
		sandcell_result_free(result);
	}
}
END_TEST

START_TEST(artifacts_and_usage_pass_through)
{
	expect_member("{\"status\":\"ok\",\"usage\":{\"cpu_ns\":5}}", "", "usage",
		"{\"cpu_ns\":5}");
	expect_member("{\"status\":\"ok\"}", "", "usage", "null");
	expect_member("{\"status\":\"ok\"}", "", "artifacts", "null");
	expect_member(OK_PARTS("none", "artifacts", 16), "[{\"path\":\"a.txt\"",
		"artifacts", "null");
	expect_member(OK_PARTS("none", "artifacts", 18), "[{\"path\":\"a.txt\"}]",
		"artifacts", "[{\"path\":\"a.txt\"}]");
	expect_member("{\"status\":\"ok\",\"stages\":[0,1],\"landlock\":true}", "",
		"stages", "[0,1]");
}
END_TEST

START_TEST(streams_are_text_with_what_was_dropped)
{
	sandcell_result *result = make_result("{\"status\":\"ok\"}", "");
	size_t len = 0;

	sc_result_add_output(result, SANDCELL_STDOUT, "a\xff\0b", 4, 0);
	for (int i = 0; i < 3; i++)
		sc_result_add_output(result, SANDCELL_STDERR, "0123456789", 10, 0);
	for (int i = 0; i < 150; i++)
		sc_result_add_output(result, SANDCELL_LATE_STDOUT, "0123456789", 10, 0);
	sc_result_add_output(result, SANDCELL_LATE_STDERR, "", 0, 7);
	sc_result_seal(result);
	ck_assert_mem_eq(
		sandcell_result_get_stream(result, SANDCELL_STDOUT, &len), "a\xff\0b", 5);
	ck_assert_uint_eq(len, 4);
	ck_assert_uint_eq(sandcell_result_get_dropped(result, SANDCELL_LATE_STDOUT), 500);
	sc_autojson *root = parse_result(result);
	const json_t *truncated = json_object_get(root, "truncated");
	ck_assert_uint_eq(json_string_length(json_object_get(root, "stdout")), 6);
	ck_assert_str_eq(json_string_value(json_object_get(root, "stderr")),
		"012345678901234567890123456789");
	ck_assert_int_eq(
		sc_json_get_int(json_object_get(truncated, "late_stdout"), "dropped", 0),
		500);
	ck_assert_int_eq(
		sc_json_get_int(json_object_get(truncated, "late_stdout"), "at", 0), 500);
	ck_assert_int_eq(
		sc_json_get_int(json_object_get(truncated, "late_stderr"), "dropped", 0),
		7);
	ck_assert_uint_eq(json_object_size(truncated), 2);
	sandcell_result_free(result);
}
END_TEST

START_TEST(pictures_are_base64_and_text_is_text)
{
	sandcell_result *result = make_result("{\"status\":\"ok\"}", "");
	sc_autojson *header = json_pack("{s:[[si][si][si]]}", "parts", "image/png", 4,
		"text/html", 3, "image/svg+xml", 3);
	sc_content display = make_content(header, "\x89PNG<b>svg");
	const char *mime = NULL;
	size_t len = 0;

	sc_result_add_display(result, &display);
	ck_assert_uint_eq(sandcell_result_get_display_count(result), 1);
	ck_assert_uint_eq(sandcell_result_get_mime_count(result, 0), 3);
	ck_assert_uint_eq(sandcell_result_get_mime_count(result, 1), 0);
	ck_assert_mem_eq(sandcell_result_get_mime(result, 0, 0, &mime, &len), "\x89PNG", 4);
	ck_assert_str_eq(mime, "image/png");
	ck_assert_uint_eq(len, 4);
	ck_assert_ptr_null(sandcell_result_get_mime(result, 0, 3, NULL, NULL));
	ck_assert_ptr_null(sandcell_result_get_mime(result, 7, 0, NULL, NULL));
	sc_autojson *root = parse_result(result);
	const json_t *bundle = json_array_get(json_object_get(root, "data"), 0);
	ck_assert_str_eq(sc_json_get_str(bundle, "image/png", ""), "iVBORw==");
	ck_assert_str_eq(sc_json_get_str(bundle, "text/html", ""), "<b>");
	ck_assert_str_eq(sc_json_get_str(bundle, "image/svg+xml", ""), "svg");
	sandcell_result_free(result);
}
END_TEST

START_TEST(too_many_displays_are_counted)
{
	sandcell_result *result = make_result("{\"status\":\"ok\"}", "");
	sc_autojson *header = json_pack("{s:[[si]]}", "parts", "text/plain", 1);

	for (size_t i = 0; i < SC_DISPLAY_COUNT_MAX + 5; i++) {
		sc_content display = make_content(header, "x");
		sc_result_add_display(result, &display);
		ck_assert_ptr_null(display.parts);
	}
	ck_assert_uint_eq(sandcell_result_get_display_count(result), SC_DISPLAY_COUNT_MAX);
	sc_autojson *root = parse_result(result);
	const json_t *truncated = json_object_get(root, "truncated");
	ck_assert_int_eq(
		sc_json_get_int(json_object_get(truncated, "data"), "dropped", 0), 5);
	sandcell_result_free(result);
}
END_TEST

static int format(sandcell_error **err_out)
{
	static const char header_text[] =
		"{\"status\":\"ok\",\"usage\":{\"cpu_ns\":5},"
		"\"parts\":[[\"output\",2]],\"output_kind\":\"json\"}";
	SANDCELL_CLEANUP(sc_result_freep)
	sandcell_result *result = sc_result_new("code", 4, 100, err_out);
	sc_autojson *header = json_loads(header_text, 0, NULL);
	const sc_frame frame = {
		.header = header, .type = "result", .payload = "42", .payload_len = 2};
	sc_content content = {0};
	int rc;

	if (!result)
		return SANDCELL_E_NOMEM;
	if (!header)
		return sc_fail_nomem(err_out);
	rc = sc_content_begin(&content, &frame, 100, err_out);
	if (rc == 0)
		rc = sc_result_finish(result, header, &content, err_out);
	sc_content_clear(&content);
	if (rc == 0 && !sandcell_result_get_json(result))
		rc = sc_fail_nomem(err_out);
	return rc;
}

START_TEST(out_of_memory_is_reported)
{
	unit_chaos(format);
}
END_TEST

START_TEST(details_are_what_has_no_getter)
{
	sandcell_result *result = make_result("{\"status\":\"ok\",\"stages\":[0,1],"
					      "\"landlock\":true,\"usage\":{\"cpu_ns\":7},"
					      "\"parts\":[[\"artifacts\",2]]}",
		"{}");

	ck_assert_str_eq(sandcell_result_get_details(result),
		"{\"artifacts\":{},\"usage\":{\"cpu_ns\":7},\"stages\":[0,1],\"landlock\":"
		"true}");
	ck_assert_ptr_eq(
		sandcell_result_get_details(result), sandcell_result_get_details(result));
	sandcell_result_free(result);
}
END_TEST

UNIT_MAIN("result", details_are_what_has_no_getter, a_result_gives_back_what_came,
	success_is_ok_or_exit_zero, a_status_that_does_not_exist_is_no_result,
	mistyped_members_do_no_harm, names_of_all_statuses_are_known,
	a_verdict_of_the_host_replaces_the_containers,
	plain_data_becomes_a_member_as_it_stands, large_numbers_are_not_converted,
	output_cannot_forge_members, artifacts_and_usage_pass_through,
	streams_are_text_with_what_was_dropped, pictures_are_base64_and_text_is_text,
	too_many_displays_are_counted, out_of_memory_is_reported)
