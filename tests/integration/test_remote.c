/* SPDX-License-Identifier: MIT */
/* A real engine behind TLS, behind ssh, and one that the library starts itself. */
#include <signal.h>
#include <sys/socket.h>

#include "containers.h"
#include "engine/engine_impl.h"
#include "engine/events.h"
#include "engine/find.h"
#include "engine/image.h"
#include "tls_front.h"

#define INPUT_LEN ((size_t)2 << 20)

/* The tests' engine is behind a Unix socket; its path. */
static const char *real_socket(void)
{
	const char *host = getenv("REAL_HOST");

	ck_assert_msg(strncmp(host, "unix://", 7) == 0, "%s is no Unix socket", host);
	return host + 7;
}

/* A container's whole life, with a stream that carries more than any buffer holds. */
static void expect_everything(void)
{
	static char input[INPUT_LEN];
	struct output output;
	struct sc_demise demise = {0};
	struct sc_exec_state state = {0};
	sc_stream *stream = NULL;
	uint64_t since = sc_engine_wall_now_ns(engine) - SC_SEC_IN_NS;

	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (char)(i * 2654435761u >> 9);
	output_init(&output);
	sc_autofree char *id = run_sleeper();
	/* Not half-closed, as TLS cannot do that: head ends by itself. */
	sc_autofree char *exec = create_exec(id, "head -c 2097152; exit 4");
	OK(sc_exec_start(engine, exec, soon(), &stream, &err));
	converse(stream, input, sizeof(input), &output);
	sc_stream_free(stream);
	ck_assert_uint_eq(output.out.len, sizeof(input));
	ck_assert_mem_eq(output.out.data, input, sizeof(input));
	output_clear(&output);
	OK(sc_exec_wait(engine, exec, soon(), &state, &err));
	ck_assert(state.has_exit_code && state.exit_code == 4);
	OK(sc_container_remove(engine, id, soon(), &err));
	for (sc_deadline until = soon(); !demise.removed && !sc_deadline_passed(until);)
		OK(sc_events_demise(engine, id, since, soon(), &demise, &err));
	ck_assert(demise.removed);
}

START_TEST(behind_tls)
{
	tls_front *front = tls_front_start(real_socket(), false);
	char host[64];

	(void)snprintf(host, sizeof(host), "tcp://127.0.0.1:%d", tls_front_port(front));
	(void)setenv("DOCKER_TLS_VERIFY", "1", 1);
	(void)setenv("DOCKER_CERT_PATH", tls_front_folder(front), 1);
	real_open(host);
	expect_everything();
	sc_engine_free(engine);
	tls_front_stop(front);
}
END_TEST

START_TEST(behind_ssh)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s:%s", FAKE_SSH_FOLDER, getenv("PATH"));
	(void)setenv("PATH", path, 1);
	(void)setenv("FAKE_SSH_SOCKET", real_socket(), 1);
	real_open("ssh://far.example");
	expect_everything();
	sc_engine_free(engine);
}
END_TEST

/* Whoever listens on the socket; it is our own service, which nobody else uses. */
static void kill_service(const char *socket_path)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	int fd = -1;

	OK(sc_fd_connect_unix(socket_path, soon(), &fd, &err));
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
	ck_assert_int_gt(peer.pid, 1);
	ck_assert_int_eq(kill(peer.pid, SIGTERM), 0);
	ck_assert_int_eq(sc_fd_wait(fd, 0, soon(), NULL), 1);
	(void)close(fd);
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = {
		"podman-service.sock", "podman-service.log", "podman-service.lock"};

	for (size_t i = 0; i < 3; i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	ck_assert_int_eq(rmdir(folder), 0);
}

/* On the store of the engine under test when that is Podman, so that it has the image. */
START_TEST(started_by_the_library)
{
	static const char *const nowhere[] = {NULL};
	const sandcell_engine_options opts = {.struct_size = sizeof(opts)};
	char folder[] = "/tmp/test-remote-XXXXXX";

	real_open(getenv("REAL_HOST"));
	bool podman = strcmp(sc_engine_kind(engine), "podman") == 0;
	sc_engine_free(engine);
	engine = NULL;
	if (!podman)
		return;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	(void)setenv("SANDCELL_RUN_DIR", folder, 1);
	engine = sc_engine_new(&opts);
	OK(sc_engine_find_among(engine, nowhere, &err));
	ck_assert_str_eq(sc_engine_source(engine), "own podman service");
	expect_everything();
	kill_service(sc_engine_socket_path(engine));
	sc_autofree char *id = run_sleeper();
	OK(sc_container_remove(engine, id, soon(), &err));
	kill_service(sc_engine_socket_path(engine));
	sc_engine_free(engine);
	engine = NULL;
	remove_folder(folder);
}
END_TEST

REAL_MAIN("remote", behind_tls, behind_ssh, started_by_the_library)
