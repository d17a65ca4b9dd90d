/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "engine/http.h"
#include "fake_unit.h"

static int get(sandcell_engine *engine, const char *path, struct sc_http_reply *reply,
	sandcell_error **err_out)
{
	const struct sc_http_request request = {.path = path, .deadline = soon()};

	return sc_http_call(engine, &request, reply, err_out);
}

static int post(sandcell_engine *engine, const char *path, const json_t *json,
	sandcell_error **err_out)
{
	const struct sc_http_request request = {
		.method = "POST", .path = path, .json = json, .deadline = soon()};
	sc_autoreply reply = SC_HTTP_REPLY_INIT;

	return sc_http_call(engine, &request, &reply, err_out);
}

static int get_only(sandcell_engine *engine, const char *path, sandcell_error **err_out)
{
	sc_autoreply reply = SC_HTTP_REPLY_INIT;

	return get(engine, path, &reply, err_out);
}

/* ---- what goes out ---- */

START_TEST(a_get_is_plain)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);

	fake_reply(fake, "GET /x", 200, "{}");
	ck_assert_int_eq(get_only(engine, "/x?y=%20", NULL), 0);
	expect_last_request(fake, "GET /v1.41/x?y=%20 HTTP/1.1\r\nHost: docker\r\n");
	char *text = fake_request(fake, fake_requests(fake) - 1);
	ck_assert_ptr_null(strcasestr(text, "Expect"));
	ck_assert_ptr_null(strcasestr(text, "Content-"));
	ck_assert_ptr_null(strcasestr(text, "Cookie"));
	ck_assert_str_eq(text + strlen(text) - 4, "\r\n\r\n");
	free(text);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_post_carries_its_json)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	sc_autojson *body = json_pack("{s:s}", "a", "b");

	fake_reply(fake, "POST /x", 201, "{}");
	ck_assert_int_eq(post(engine, "/x", body, NULL), 0);
	expect_last_request(fake, "POST /v1.41/x HTTP/1.1\r\n");
	expect_last_request(fake, "\r\nContent-Type: application/json\r\n");
	expect_last_request(fake, "\r\nContent-Length: 9\r\n");
	expect_last_request(fake, "\r\n\r\n{\"a\":\"b\"}");
	ck_assert_int_eq(post(engine, "/x", NULL, NULL), 0);
	expect_last_request(fake, "\r\nContent-Length: 0\r\n");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(proxies_and_redirects_do_not_apply)
{
	fake_engine *fake = fake_start();
	sandcell_error *err = NULL;

	(void)setenv("http_proxy", "http://127.0.0.1:9", 1);
	(void)setenv("HTTP_PROXY", "http://127.0.0.1:9", 1);
	(void)setenv("ALL_PROXY", "socks5://127.0.0.1:9", 1);
	sandcell_engine *engine = open_engine(fake);
	fake_reply(fake, "GET /x", 200, "{}");
	ck_assert_int_eq(get_only(engine, "/x", NULL), 0);
	const fake_rule moved = {
		.on = "GET /y", .status = 301, .headers = "Location: /x\r\n"};
	fake_on(fake, &moved);
	ck_assert_int_lt(get_only(engine, "/y", &err), 0);
	expect_error(&err, SANDCELL_E_PROTOCOL, "301");
	ck_assert_uint_eq(fake_count(fake, "GET /x"), 1);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* ---- connections ---- */

START_TEST(gets_share_a_connection_and_posts_have_their_own)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);

	fake_reply(fake, "GET /x", 200, "{}");
	fake_reply(fake, "POST /x", 200, "{}");
	size_t before = fake_connections(fake);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(get_only(engine, "/x", NULL), 0);
	ck_assert_uint_eq(fake_connections(fake), before);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(post(engine, "/x", NULL, NULL), 0);
	ck_assert_uint_eq(fake_connections(fake), before + 3);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_post_is_never_sent_twice)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule silent = {.on = "POST /x", .raw = "", .end = FAKE_CLOSE};
	sandcell_error *err = NULL;

	fake_on(fake, &silent);
	for (int i = 1; i <= 3; i++) {
		ck_assert_int_lt(post(engine, "/x", NULL, &err), 0);
		expect_error(&err, SANDCELL_E_CONNECT, "closed the connection");
		ck_assert_uint_eq(fake_count(fake, "POST /x"), (size_t)i);
	}
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_get_survives_a_stale_connection)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	/* The reply is whole, and then the engine is restarted. */
	const fake_rule last = {.on = "GET /x", .body = "{}", .end = FAKE_CLOSE};

	fake_on(fake, &last);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(get_only(engine, "/x", NULL), 0);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(two_engines_are_never_mixed_up)
{
	fake_engine *fakes[2] = {fake_start(), fake_start()};
	sandcell_engine *engines[2] = {open_engine(fakes[0]), open_engine(fakes[1])};

	fake_reply(fakes[0], "GET /who", 200, "{\"message\":\"a\"}");
	fake_reply(fakes[1], "GET /who", 200, "{\"message\":\"b\"}");
	for (int i = 0; i < 20; i++) {
		const struct sc_http_request request = {.path = "/who", .deadline = soon()};
		sc_autojson *root = NULL;
		ck_assert_int_eq(
			sc_http_call_json(engines[i % 2], &request, &root, NULL), 0);
		ck_assert_str_eq(sc_json_get_str(root, "message", ""), i % 2 ? "b" : "a");
	}
	for (int i = 0; i < 2; i++) {
		sc_engine_free(engines[i]);
		fake_stop(fakes[i]);
	}
}
END_TEST

static void *ask_often(void *user)
{
	sandcell_engine *engine = user;

	for (int i = 0; i < 50; i++) {
		sc_autojson *root = NULL;
		const struct sc_http_request request = {.path = "/x", .deadline = soon()};
		if (sc_http_call_json(engine, &request, &root, NULL) < 0 ||
			sc_json_get_int(root, "n", 0) != 7)
			return engine;
	}
	return NULL;
}

START_TEST(threads_ask_at_the_same_time)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	pthread_t threads[12];
	void *failed = NULL;

	fake_reply(fake, "GET /x", 200, "{\"n\":7}");
	for (size_t i = 0; i < 12; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, engine), 0);
	for (size_t i = 0; i < 12; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
	ck_assert_uint_eq(fake_count(fake, "GET /x"), 600);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* Our end of each connection; libcurl's own wake-up pair is not ours to mark. */
START_TEST(no_connection_survives_exec)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	int found = 0;

	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_un peer = {0};
		socklen_t len = sizeof(peer);
		if (getpeername(fd, (struct sockaddr *)&peer, &len) < 0 ||
			strcmp(peer.sun_path, fake_path(fake)) != 0)
			continue;
		found++;
		ck_assert_msg(fcntl(fd, F_GETFD) & FD_CLOEXEC, "socket %d", fd);
	}
	ck_assert_int_ge(found, 1);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_forked_child_is_refused)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	int status = 0;

	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		int rc = get_only(engine, "/x", NULL);
		sc_engine_free(engine);
		_exit(rc == SANDCELL_E_INVAL ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	fake_reply(fake, "GET /x", 200, "{}");
	ck_assert_int_eq(get_only(engine, "/x", NULL), 0);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* ---- refusals ---- */

struct refusal {
	int status;
	const char *body;
	int docker; /* the code on either engine */
	int podman;
	const char *part;
};

static const struct refusal refusals[] = {
	{400, "", SANDCELL_E_ENGINE, SANDCELL_E_ENGINE, "400"},
	{400, "{\"message\":\"bad parameter\"}\n", SANDCELL_E_ENGINE, SANDCELL_E_ENGINE,
		"bad parameter (HTTP 400)"},
	{401, "{\"message\":\"who\"}", SANDCELL_E_ENGINE, SANDCELL_E_ENGINE, "who"},
	{404, "{\"message\":\"No such image: nope:1\"}", SANDCELL_E_NOTFOUND,
		SANDCELL_E_NOTFOUND, "nope:1"},
	{404, "Not Found", SANDCELL_E_NOTFOUND, SANDCELL_E_NOTFOUND, "HTTP 404: Not Found"},
	{409, "{\"message\":\"Conflict. The name is already in use\"}", SANDCELL_E_CONFLICT,
		SANDCELL_E_CONFLICT, "in use"},
	{500, "{\"cause\":\"c\",\"message\":\"m\",\"response\":500}", SANDCELL_E_ENGINE,
		SANDCELL_E_ENGINE, "m (HTTP 500)"},
	{500, "{\"cause\":\"only this\",\"message\":\"\",\"response\":500}",
		SANDCELL_E_ENGINE, SANDCELL_E_ENGINE, "only this"},
	{500,
		"{\"message\":\"creating container storage: the name \\\"x\\\" is already "
		"in use\"}",
		SANDCELL_E_ENGINE, SANDCELL_E_CONFLICT, "already in use"},
	{500, "{\"message\":\"cannot exec: Container State Improper\"}", SANDCELL_E_ENGINE,
		SANDCELL_E_CONFLICT, "Improper"},
	{500, "{\"message\":\"container x is not running\"}", SANDCELL_E_CONFLICT,
		SANDCELL_E_CONFLICT, "not running"},
	{500, "{\"message\":\"no such container\"}", SANDCELL_E_ENGINE, SANDCELL_E_NOTFOUND,
		"no such container"},
	{500, "{\"message\":", SANDCELL_E_ENGINE, SANDCELL_E_ENGINE, "500"},
	{500, "{\"message\":{\"a\":1}}", SANDCELL_E_ENGINE, SANDCELL_E_ENGINE, "500"},
	{500, "[]", SANDCELL_E_ENGINE, SANDCELL_E_ENGINE, "500"},
	{502, "<html>bad gateway</html>", SANDCELL_E_ENGINE, SANDCELL_E_ENGINE,
		"HTTP 502: <html>bad gateway"},
	{503, "\x1b[31m\xff\xfe", SANDCELL_E_ENGINE, SANDCELL_E_ENGINE, "503"},
};

START_TEST(each_refusal_has_its_code_and_the_engines_words)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		sandcell_error *err = NULL;
		size_t len = strlen(r->body);
		(void)sc_http_refusal(&sc_quirks_docker, r->status, r->body, len, &err);
		ck_assert_int_eq(sandcell_error_get_http(err), r->status);
		expect_error(&err, r->docker, r->part);
		(void)sc_http_refusal(&sc_quirks_podman, r->status, r->body, len, &err);
		expect_error(&err, r->podman, r->part);
	}
}
END_TEST

START_TEST(a_refusal_comes_through_the_connection)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	sandcell_error *err = NULL;

	fake_reply(fake, "GET /x", 404, "{\"message\":\"No such thing\"}\n");
	ck_assert_int_lt(get_only(engine, "/x", &err), 0);
	ck_assert_int_eq(sandcell_error_get_http(err), 404);
	expect_error(&err, SANDCELL_E_NOTFOUND, "No such thing");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(an_endless_explanation_is_cut)
{
	static char body[1 << 20];
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rule = {.on = "GET /x", .status = 500, .body = body};
	sandcell_error *err = NULL;

	memset(body, 'x', sizeof(body) - 1);
	fake_on(fake, &rule);
	ck_assert_int_lt(get_only(engine, "/x", &err), 0);
	expect_error(&err, SANDCELL_E_ENGINE, "HTTP 500: xxx");
	fake_reply(fake, "GET /y", 200, "{}");
	ck_assert_int_eq(get_only(engine, "/y", NULL), 0);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* ---- broken replies ---- */

START_TEST(a_reply_in_single_bytes_is_a_reply)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rules[] = {
		{.on = "GET /x", .body = "{\"n\":7}", .slice = 1},
		{.on = "GET /x", .body = "{\"n\":7}", .slice = 1, .chunk = 2},
		{.on = "GET /x",
			.raw = "HTTP/1.0 200 OK\r\n\r\n{\"n\":7}",
			.slice = 1,
			.end = FAKE_CLOSE},
	};

	for (size_t i = 0; i < 3; i++) {
		const struct sc_http_request request = {.path = "/x", .deadline = soon()};
		sc_autojson *root = NULL;
		fake_on(fake, &rules[i]);
		ck_assert_int_eq(sc_http_call_json(engine, &request, &root, NULL), 0);
		ck_assert_int_eq(sc_json_get_int(root, "n", 0), 7);
	}
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(garbage_is_a_protocol_violation)
{
	static const char *const garbage[] = {
		"garbage\r\n\r\n",
		"HTTP/9.9 200 OK\r\n\r\n",
		"\x16\x03\x01\x02\x15\x03\x02 TLS?",
		"SSH-2.0-OpenSSH_9.2\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{x}",
	};
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);

	for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		const fake_rule rule = {
			.on = "GET /x", .raw = garbage[i], .end = FAKE_CLOSE};
		const struct sc_http_request request = {.path = "/x", .deadline = soon()};
		sc_autojson *root = NULL;
		sandcell_error *err = NULL;
		fake_on(fake, &rule);
		int rc = sc_http_call_json(engine, &request, &root, &err);
		ck_assert_msg(rc == SANDCELL_E_PROTOCOL || rc == SANDCELL_E_CONNECT,
			"%zu: %d %s", i, rc, sandcell_error_get_message(err));
		sandcell_error_free(err);
	}
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_body_longer_than_allowed_is_refused)
{
	static char body[9 << 20];
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const fake_rule rule = {.on = "GET /x", .body = body};
	sandcell_error *err = NULL;

	memset(body, ' ', sizeof(body) - 1);
	fake_on(fake, &rule);
	ck_assert_int_lt(get_only(engine, "/x", &err), 0);
	expect_error(&err, SANDCELL_E_LIMIT, "longer than");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* One conversation whose connection breaks at each of its bytes. */
START_TEST(a_cut_anywhere_is_an_error_and_leaves_nothing_open)
{
	size_t before = fake_open_fds();
	long long total = 1;

	for (long long at = 0; at < total; at++) {
		fake_engine *fake = fake_start();
		sandcell_engine *engine = open_engine(fake);
		sc_autojson *root = NULL;
		sandcell_error *err = NULL;
		const struct sc_http_request request = {
			.method = "POST", .path = "/x", .deadline = soon()};
		const fake_rule rule = {
			.on = "POST /x", .status = 201, .body = "{\"n\":7}", .chunk = 3};
		fake_on(fake, &rule);
		long long sent = fake_sent(fake);
		if (at > 0)
			fake_cut_at(fake, at - 1);
		int rc = sc_http_call_json(engine, &request, &root, &err);
		if (at == 0) {
			ck_assert_int_eq(rc, 0);
			total = fake_sent(fake) - sent + 1;
		} else if (at < total - 1) { /* libcurl does without the last byte */
			ck_assert_msg(rc == SANDCELL_E_CONNECT || rc == SANDCELL_E_PROTOCOL,
				"cut at %lld: %d", at - 1, rc);
			ck_assert_ptr_nonnull(err);
		}
		sandcell_error_free(err);
		sc_engine_free(engine);
		fake_stop(fake);
		ck_assert_uint_eq(fake_open_fds(), before);
	}
	ck_assert_int_gt(total, 40);
}
END_TEST

START_TEST(a_silent_engine_times_out)
{
	fake_engine *fake = fake_start();
	const fake_rule deaf = {.on = "GET /x", .deaf = true};
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	engine = open_impatient(fake);
	fake_on(fake, &deaf);
	ck_assert_int_lt(get_only(engine, "/x", &err), 0);
	expect_error(&err, SANDCELL_E_TIMEOUT, "timed out");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_reply_that_stops_in_the_middle_times_out)
{
	static const char *const parts[] = {
		"HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"};
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	engine = open_impatient(fake);
	for (size_t i = 0; i < 2; i++) {
		const fake_rule stuck = {.on = "GET /x", .raw = parts[i], .end = FAKE_HANG};
		fake_on(fake, &stuck);
		ck_assert_int_lt(get_only(engine, "/x", &err), 0);
		expect_error(&err, SANDCELL_E_TIMEOUT, "timed out");
	}
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_deadline_in_the_past_asks_nothing)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	const struct sc_http_request request = {.path = "/x", .deadline = 1};
	sc_autoreply reply = SC_HTTP_REPLY_INIT;
	sandcell_error *err = NULL;

	ck_assert_int_lt(sc_http_call(engine, &request, &reply, &err), 0);
	expect_error(&err, SANDCELL_E_TIMEOUT, "timed out");
	ck_assert_uint_eq(fake_count(fake, "GET /x"), 0);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* ---- uploads ---- */

struct upload {
	size_t left;
	size_t fail_at; /* left at which it fails; SIZE_MAX: never */
};

static ptrdiff_t give(void *data, size_t cap, void *user)
{
	struct upload *upload = user;
	size_t n = upload->left < cap ? upload->left : cap;

	if (upload->left == upload->fail_at)
		return SANDCELL_E_CALLBACK;
	if (n > 1000)
		n = 1000;
	memset(data, 'u', n);
	upload->left -= n;
	return (ptrdiff_t)n;
}

static int send_upload(
	sandcell_engine *engine, struct upload *upload, sandcell_error **err_out)
{
	const struct sc_http_request request = {
		.method = "POST",
		.path = "/load",
		.read = give,
		.user = upload,
		.deadline = soon(),
		.slow = true,
	};
	sc_autoreply reply = SC_HTTP_REPLY_INIT;

	return sc_http_call(engine, &request, &reply, err_out);
}

START_TEST(an_upload_is_sent_in_chunks)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	struct upload upload = {.left = 3500, .fail_at = SIZE_MAX};

	fake_reply(fake, "POST /load", 200, "");
	ck_assert_int_eq(send_upload(engine, &upload, NULL), 0);
	expect_last_request(fake, "\r\nTransfer-Encoding: chunked\r\n");
	expect_last_request(fake, "\r\nContent-Type: application/x-tar\r\n");
	char *text = fake_request(fake, fake_requests(fake) - 1);
	size_t payload = 0;
	for (const char *p = strstr(text, "\r\n\r\n"); *p; p++)
		payload += *p == 'u';
	ck_assert_uint_eq(payload, 3500);
	free(text);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

START_TEST(a_failing_source_fails_the_upload)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	struct upload upload = {.left = 3500, .fail_at = 1500};
	sandcell_error *err = NULL;

	fake_reply(fake, "POST /load", 200, "");
	ck_assert_int_lt(send_upload(engine, &upload, &err), 0);
	expect_error(&err, SANDCELL_E_CALLBACK, "stopped");
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* The engine goes away in the middle of an upload: nobody dies of SIGPIPE. */
START_TEST(an_upload_to_nobody_is_an_error_not_a_signal)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = open_engine(fake);
	struct upload upload = {.left = (size_t)1 << 30, .fail_at = SIZE_MAX};
	struct sigaction action = {0};
	sandcell_error *err = NULL;

	ck_assert_int_eq(sigaction(SIGPIPE, NULL, &action), 0);
	ck_assert(action.sa_handler == SIG_DFL);
	fake_drop_uploads(fake, 100000);
	ck_assert_int_lt(send_upload(engine, &upload, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "closed the connection");
	ck_assert_int_eq(sigaction(SIGPIPE, NULL, &action), 0);
	ck_assert(action.sa_handler == SIG_DFL);
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

/* ---- log ---- */

static void keep_line(const char *line, void *user)
{
	sc_buf *lines = user;

	(void)sc_buf_printf(lines, "%s\n", line);
}

START_TEST(the_log_has_no_secrets)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	sc_autobuf lines = SC_BUF_INIT(SC_MAX_TEXT);
	sc_autojson *body = json_pack("{s:[s]}", "Env", "TOKEN=sesame");
	const sandcell_engine_options opts = {
		.struct_size = sizeof(opts),
		.host = fake_host(fake),
		.on_log = keep_line,
		.log_user = &lines,
	};

	ck_assert_int_eq(sc_engine_open(&opts, &engine, NULL), 0);
	fake_reply(fake, "POST /x", 201, "{\"also\":\"sesame\"}");
	ck_assert_int_eq(post(engine, "/x?token=sesame", body, NULL), 0);
	ck_assert_ptr_nonnull(strstr(sc_buf_text(&lines), "POST /x -> 201 in "));
	ck_assert_ptr_null(strstr(sc_buf_text(&lines), "sesame"));
	sc_engine_free(engine);
	fake_stop(fake);
}
END_TEST

UNIT_MAIN("http", a_get_is_plain, a_post_carries_its_json,
	proxies_and_redirects_do_not_apply,
	gets_share_a_connection_and_posts_have_their_own, a_post_is_never_sent_twice,
	a_get_survives_a_stale_connection, two_engines_are_never_mixed_up,
	threads_ask_at_the_same_time, no_connection_survives_exec,
	a_forked_child_is_refused, each_refusal_has_its_code_and_the_engines_words,
	a_refusal_comes_through_the_connection, an_endless_explanation_is_cut,
	a_reply_in_single_bytes_is_a_reply, garbage_is_a_protocol_violation,
	a_body_longer_than_allowed_is_refused,
	a_cut_anywhere_is_an_error_and_leaves_nothing_open, a_silent_engine_times_out,
	a_reply_that_stops_in_the_middle_times_out, a_deadline_in_the_past_asks_nothing,
	an_upload_is_sent_in_chunks, a_failing_source_fails_the_upload,
	an_upload_to_nobody_is_an_error_not_a_signal, the_log_has_no_secrets)
