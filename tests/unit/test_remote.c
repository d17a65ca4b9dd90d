/* SPDX-License-Identifier: MIT */
/* Engines that are not behind a Unix socket of this machine: tcp, TLS, ssh. */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/exec.h"
#include "engine/http.h"
#include "fake_unit.h"
#include "tls_front.h"

#define ECHO_LEN ((size_t)3 << 20)

static char log_path[64];

static int open_host(const char *host, sandcell_engine **out, sandcell_error **err_out)
{
	const sandcell_engine_options opts = {.struct_size = sizeof(opts), .host = host};

	return sc_engine_open(&opts, out, err_out);
}

static int open_port(
	const char *scheme, int port, sandcell_engine **out, sandcell_error **err_out)
{
	char host[64];

	(void)snprintf(host, sizeof(host), "%s://127.0.0.1:%d", scheme, port);
	return open_host(host, out, err_out);
}

static sandcell_engine *must_open_port(const char *scheme, int port)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	int rc = open_port(scheme, port, &engine, &err);

	ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
	return engine;
}

static void echo(int fd, void *user)
{
	char piece[5000];
	ssize_t n;

	(void)user;
	while ((n = recv(fd, piece, sizeof(piece), 0)) > 0) {
		for (ssize_t done = 0; done < n;) {
			ssize_t m =
				send(fd, piece + done, (size_t)(n - done), MSG_NOSIGNAL);
			if (m <= 0)
				return;
			done += m;
		}
	}
}

/* Reads until AGAIN, polls, and writes in between, as the contract of streams says. */
static void expect_echo(sc_stream *stream)
{
	static char out[ECHO_LEN];
	static char in[ECHO_LEN];
	size_t sent = 0;
	size_t got = 0;
	size_t n = 0;

	for (size_t i = 0; i < ECHO_LEN; i++)
		out[i] = (char)(i * 2654435761u >> 11);
	while (got < ECHO_LEN) {
		int rc;
		while ((rc = sc_stream_read(stream, in + got, ECHO_LEN - got, &n, NULL)) ==
			SC_STREAM_DATA) {
			got += n;
			if (got == ECHO_LEN)
				break;
		}
		ck_assert_int_gt(rc, 0);
		ck_assert_int_ne(rc, SC_STREAM_END);
		if (sent < ECHO_LEN) {
			size_t len = ECHO_LEN - sent < 65536 ? ECHO_LEN - sent : 65536;
			ck_assert_int_gt(
				sc_stream_write(stream, out + sent, len, &n, NULL), 0);
			sent += n;
		}
		if (got < ECHO_LEN)
			ck_assert_int_eq(sc_fd_wait(sc_stream_fd(stream),
						 sc_stream_events(stream, sent < ECHO_LEN),
						 soon(), NULL),
				1);
	}
	ck_assert_mem_eq(in, out, ECHO_LEN);
}

/* Requests, a refusal and a stream: the same whatever carries them. */
static void expect_engine(fake_engine *fake, sandcell_engine *engine)
{
	static const fake_rule rule = {
		.on = "POST /exec/<any>/start", .status = 101, .stream = echo};
	sc_autofree char *id = NULL;
	sc_autojson *body = json_object();
	sandcell_error *err = NULL;
	sc_stream *stream = NULL;

	ck_assert(sc_engine_is_remote(engine));
	ck_assert_ptr_null(sc_engine_socket_path(engine));
	fake_on(fake, &rule);
	int rc = sc_exec_create(engine, "c1", body, soon(), &id, &err);
	ck_assert_msg(rc == 0, "%s", sandcell_error_get_message(err));
	ck_assert_int_eq(sc_exec_start(engine, id, soon(), &stream, NULL), 0);
	ck_assert(fcntl(sc_stream_fd(stream), F_GETFD) & FD_CLOEXEC);
	expect_echo(stream);
	sc_stream_free(stream);
	fake_reply(fake, "POST /exec/<any>/start", 404, "{\"message\":\"No such exec\"}");
	stream = NULL;
	ck_assert_int_lt(sc_exec_start(engine, id, soon(), &stream, &err), 0);
	expect_error(&err, SANDCELL_E_NOTFOUND, "No such exec");
}

/* ---- tcp ---- */

START_TEST(plain_tcp_works)
{
	fake_engine *fake = fake_start();
	tls_front *front = tls_front_start(fake_path(fake), true);
	sandcell_engine *engine = must_open_port("tcp", tls_front_port(front));

	expect_engine(fake, engine);
	expect_request(fake, 0, "Host: 127.0.0.1:");
	sc_engine_free(engine);
	tls_front_stop(front);
	fake_stop(fake);
}
END_TEST

START_TEST(a_port_where_nobody_listens_is_named)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	ck_assert_int_lt(open_port("tcp", 1, &engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "127.0.0.1:1");
}
END_TEST

START_TEST(tls_with_client_certificates_works)
{
	size_t before = fake_open_fds();
	fake_engine *fake = fake_start();
	tls_front *front = tls_front_start(fake_path(fake), false);
	struct sigaction action = {0};

	(void)setenv("DOCKER_TLS_VERIFY", "1", 1);
	(void)setenv("DOCKER_CERT_PATH", tls_front_folder(front), 1);
	sandcell_engine *engine = must_open_port("tcp", tls_front_port(front));
	expect_engine(fake, engine);
	sc_engine_free(engine);
	ck_assert_int_eq(sigaction(SIGPIPE, NULL, &action), 0);
	ck_assert(action.sa_handler == SIG_DFL);
	tls_front_stop(front);
	fake_stop(fake);
	ck_assert_uint_eq(fake_open_fds(), before);
}
END_TEST

START_TEST(the_folder_of_the_docker_command_is_the_default)
{
	fake_engine *fake = fake_start();
	tls_front *front = tls_front_start(fake_path(fake), false);

	(void)unsetenv("DOCKER_CERT_PATH");
	(void)setenv("DOCKER_TLS_VERIFY", "1", 1);
	(void)setenv("DOCKER_CONFIG", tls_front_folder(front), 1);
	sandcell_engine *engine = must_open_port("tcp", tls_front_port(front));
	sc_engine_free(engine);
	tls_front_stop(front);
	fake_stop(fake);
}
END_TEST

/* A copy of the folder with other files in it, as a user gets it wrong. */
static void link_into(
	const char *folder, const char *name, const tls_front *front, const char *target)
{
	char from[128];
	char to[128];

	(void)snprintf(from, sizeof(from), "%s/%s", tls_front_folder(front), target);
	(void)snprintf(to, sizeof(to), "%s/%s", folder, name);
	ck_assert_int_eq(symlink(from, to), 0);
}

static void expect_tls_failure(const char *const *links, int code, const char *part)
{
	fake_engine *fake = fake_start();
	tls_front *front = tls_front_start(fake_path(fake), false);
	char folder[] = "/tmp/test-remote-XXXXXX";
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (size_t i = 0; links[i]; i += 2)
		link_into(folder, links[i], front, links[i + 1]);
	(void)setenv("DOCKER_CERT_PATH", folder, 1);
	ck_assert_int_lt(open_port("tcp", tls_front_port(front), &engine, &err), 0);
	expect_error(&err, code, part);
	for (size_t i = 0; links[i]; i += 2) {
		char path[128];
		(void)snprintf(path, sizeof(path), "%s/%s", folder, links[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
	ck_assert_uint_eq(fake_requests(fake), 0);
	tls_front_stop(front);
	fake_stop(fake);
}

START_TEST(an_engine_of_an_unknown_authority_is_refused)
{
	static const char *const other[] = {"ca.pem", "other_ca.pem", "cert.pem",
		"cert.pem", "key.pem", "key.pem", NULL};
	static const char *const none[] = {
		"cert.pem", "cert.pem", "key.pem", "key.pem", NULL};

	expect_tls_failure(other, SANDCELL_E_CONNECT, "certificate");
	expect_tls_failure(none, SANDCELL_E_CONNECT, "certificate");
}
END_TEST

START_TEST(half_a_client_certificate_is_said_at_once)
{
	static const char *const half[] = {
		"ca.pem", "ca.pem", "cert.pem", "cert.pem", NULL};

	expect_tls_failure(half, SANDCELL_E_INVAL, "only one of cert.pem and key.pem");
}
END_TEST

START_TEST(without_a_client_certificate_the_engine_refuses)
{
	static const char *const none[] = {"ca.pem", "ca.pem", NULL};

	expect_tls_failure(none, SANDCELL_E_CONNECT, "GET /_ping");
}
END_TEST

START_TEST(plain_text_to_a_tls_port_is_an_error)
{
	fake_engine *fake = fake_start();
	tls_front *front = tls_front_start(fake_path(fake), false);
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	(void)unsetenv("DOCKER_CERT_PATH");
	(void)unsetenv("DOCKER_TLS_VERIFY");
	ck_assert_int_lt(open_port("tcp", tls_front_port(front), &engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "GET /_ping");
	tls_front_stop(front);
	fake_stop(fake);
}
END_TEST

START_TEST(tls_to_a_plain_port_is_an_error)
{
	fake_engine *fake = fake_start();
	tls_front *front = tls_front_start(fake_path(fake), true);
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	fake_drop_uploads(fake, 1); /* a handshake is no request to wait for */
	ck_assert_int_lt(open_port("https", tls_front_port(front), &engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "GET /_ping");
	tls_front_stop(front);
	fake_stop(fake);
}
END_TEST

/* ---- ssh ---- */

static void use_fake_ssh(const fake_engine *fake)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s:%s", FAKE_SSH_FOLDER, getenv("PATH"));
	(void)setenv("PATH", path, 1);
	(void)snprintf(log_path, sizeof(log_path), "/tmp/test-remote-log-XXXXXX");
	int fd = mkstemp(log_path);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	(void)setenv("FAKE_SSH_LOG", log_path, 1);
	(void)setenv("FAKE_SSH_SOCKET", fake_path(fake), 1);
	(void)unsetenv("FAKE_SSH_FAIL");
}

static void expect_ssh_arguments(const char *wanted)
{
	char *text = NULL;
	size_t len = 0;

	ck_assert_int_eq(sc_fd_read_file(log_path, 1 << 20, &text, &len), 0);
	ck_assert_msg(strncmp(text, wanted, strlen(wanted)) == 0, "%s", text);
	sc_free(text);
	(void)unlink(log_path);
}

START_TEST(ssh_works)
{
	size_t before = fake_open_fds();
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;

	use_fake_ssh(fake);
	ck_assert_int_eq(open_host("ssh://me@far.example:2222", &engine, NULL), 0);
	ck_assert_str_eq(sc_engine_host(engine), "ssh://me@far.example:2222");
	expect_engine(fake, engine);
	expect_request(fake, 0, "Host: docker\r\n");
	sc_engine_free(engine);
	expect_ssh_arguments(
		"-T\n-o\nBatchMode=yes\n-o\nConnectTimeout=5\n-p\n2222\n-l\nme\n--\n"
		"far.example\nsh -c 'if command -v docker >/dev/null; then exec "
		"docker system dial-stdio; else exec podman system dial-stdio; fi'\n");
	fake_stop(fake);
	ck_assert_uint_eq(fake_open_fds(), before);
}
END_TEST

/* Each connection costs a login, so GET and DELETE use a kept one. */
START_TEST(ssh_connections_are_kept)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	struct sc_http_request request = {.path = "/info", .deadline = soon()};

	use_fake_ssh(fake);
	ck_assert_int_eq(open_host("ssh://far", &engine, NULL), 0);
	for (int i = 0; i < 6; i++) {
		sc_autoreply reply = SC_HTTP_REPLY_INIT;
		request.method = i % 3 == 2 ? "POST" : "GET";
		request.path = i % 3 == 2 ? "/containers/create" : "/info";
		ck_assert_int_eq(sc_http_call(engine, &request, &reply, NULL), 0);
	}
	ck_assert_uint_eq(fake_connections(fake), 3);
	sc_engine_free(engine);
	(void)unlink(log_path);
	fake_stop(fake);
}
END_TEST

START_TEST(a_socket_on_the_other_side_is_passed_on)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	use_fake_ssh(fake);
	ck_assert_int_eq(open_host("ssh://far/run/podman.sock", &engine, NULL), 0);
	sc_engine_free(engine);
	expect_ssh_arguments(
		"-T\n-o\nBatchMode=yes\n-o\nConnectTimeout=5\n--\nfar\nsh -c 'if command "
		"-v "
		"docker >/dev/null; then exec docker --host unix:///run/podman.sock system "
		"dial-stdio; else exec podman --url unix:///run/podman.sock system "
		"dial-stdio; "
		"fi'\n");
	ck_assert_int_lt(open_host("ssh://far/run/$(touch x)", &engine, &err), 0);
	expect_error(&err, SANDCELL_E_INVAL, "characters");
	fake_stop(fake);
}
END_TEST

START_TEST(what_ssh_complains_about_is_in_the_error)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	use_fake_ssh(fake);
	(void)setenv("FAKE_SSH_FAIL", "me@far: Permission denied (publickey).", 1);
	ck_assert_int_lt(open_host("ssh://me@far", &engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "Permission denied (publickey)");
	(void)unsetenv("FAKE_SSH_FAIL");
	ck_assert_int_eq(open_host("ssh://me@far", &engine, NULL), 0);
	(void)setenv("FAKE_SSH_FAIL", "Connection closed by far", 1);
	sc_stream *stream = NULL;
	ck_assert_int_lt(sc_exec_start(engine, "e1", soon(), &stream, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "Connection closed by far");
	sc_engine_free(engine);
	(void)unlink(log_path);
	fake_stop(fake);
}
END_TEST

START_TEST(without_an_ssh_program_the_error_says_so)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;

	(void)setenv("PATH", "/nowhere", 1);
	ck_assert_int_lt(open_host("ssh://far", &engine, &err), 0);
	expect_error(&err, SANDCELL_E_CONNECT, "ssh");
}
END_TEST

START_TEST(ssh_programs_end_with_their_connections_even_if_sigchld_is_ignored)
{
	fake_engine *fake = fake_start();
	sandcell_engine *engine = NULL;
	char children[64];
	char *text = NULL;
	size_t len = 0;

	(void)signal(SIGCHLD, SIG_IGN);
	use_fake_ssh(fake);
	ck_assert_int_eq(open_host("ssh://far", &engine, NULL), 0);
	expect_engine(fake, engine);
	sc_engine_free(engine);
	(void)snprintf(children, sizeof(children), "/proc/self/task/%d/children", getpid());
	if (sc_fd_read_file(children, 4096, &text, &len) == 0)
		ck_assert_str_eq(text, "");
	sc_free(text);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)unlink(log_path);
	fake_stop(fake);
}
END_TEST

UNIT_MAIN("remote", plain_tcp_works, a_port_where_nobody_listens_is_named,
	tls_with_client_certificates_works, the_folder_of_the_docker_command_is_the_default,
	an_engine_of_an_unknown_authority_is_refused,
	half_a_client_certificate_is_said_at_once,
	without_a_client_certificate_the_engine_refuses,
	plain_text_to_a_tls_port_is_an_error, tls_to_a_plain_port_is_an_error, ssh_works,
	ssh_connections_are_kept, a_socket_on_the_other_side_is_passed_on,
	what_ssh_complains_about_is_in_the_error, without_an_ssh_program_the_error_says_so,
	ssh_programs_end_with_their_connections_even_if_sigchld_is_ignored)
