/* SPDX-License-Identifier: MIT */
#include "tls_front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define VALID_S (24L * 3600)
#define PIECE	65536

struct tls_front {
	SSL_CTX *context; /* NULL: plain */
	int listener;
	int stop;
	int port;
	char folder[64];
	char socket_path[108];
	pthread_t acceptor;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	size_t serving;
};

#define CHECK(condition)                                                                   \
	do {                                                                               \
		if (!(condition)) {                                                        \
			(void)fprintf(stderr, "tls front: %s:%d: %s\n", __FILE__,          \
				__LINE__, #condition);                                     \
			ERR_print_errors_fp(stderr);                                       \
			abort();                                                           \
		}                                                                          \
	} while (0)

/* ---- certificates ---- */

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension = NULL;

	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	CHECK(extension && X509_add_ext(cert, extension, -1));
	X509_EXTENSION_free(extension);
}

/* issuer NULL: signs itself, and is an authority. */
static X509 *make_cert(
	const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key, long serial)
{
	X509 *cert = X509_new();
	X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;

	CHECK(subject && X509_set_version(cert, 2));
	CHECK(ASN1_INTEGER_set(X509_get_serialNumber(cert), serial));
	CHECK(X509_NAME_add_entry_by_txt(
		subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0));
	CHECK(X509_gmtime_adj(X509_getm_notBefore(cert), -VALID_S));
	CHECK(X509_gmtime_adj(X509_getm_notAfter(cert), VALID_S));
	CHECK(X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject));
	CHECK(X509_set_pubkey(cert, key));
	if (issuer)
		add_extension(
			cert, issuer, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
	else
		add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
	CHECK(X509_sign(cert, issuer ? issuer_key : key, EVP_sha256()));
	return cert;
}

static FILE *open_file(const tls_front *front, const char *name)
{
	char path[128];
	FILE *file = NULL;

	(void)snprintf(path, sizeof(path), "%s/%s", front->folder, name);
	file = fopen(path, "we");
	CHECK(file);
	return file;
}

static void write_cert(const tls_front *front, const char *name, X509 *cert)
{
	FILE *file = open_file(front, name);

	CHECK(PEM_write_X509(file, cert) && fclose(file) == 0);
}

static void write_key(const tls_front *front, const char *name, EVP_PKEY *key)
{
	FILE *file = open_file(front, name);

	CHECK(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
	CHECK(fclose(file) == 0);
}

static void make_context(tls_front *front)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256");
	EVP_PKEY *other_key = EVP_EC_gen("P-256");
	EVP_PKEY *server_key = EVP_EC_gen("P-256");
	EVP_PKEY *client_key = EVP_EC_gen("P-256");
	X509 *ca = make_cert("test authority", ca_key, NULL, NULL, 1);
	X509 *other = make_cert("other authority", other_key, NULL, NULL, 1);
	X509 *server = make_cert("server", server_key, ca, ca_key, 2);
	X509 *client = make_cert("client", client_key, ca, ca_key, 3);

	write_cert(front, "ca.pem", ca);
	write_cert(front, "other_ca.pem", other);
	write_cert(front, "cert.pem", client);
	write_key(front, "key.pem", client_key);
	front->context = SSL_CTX_new(TLS_server_method());
	CHECK(front->context && SSL_CTX_use_certificate(front->context, server));
	CHECK(SSL_CTX_use_PrivateKey(front->context, server_key));
	CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(front->context), ca));
	SSL_CTX_set_verify(
		front->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	/* Needed for a client to resume its session, as it does from the second connection.
	 */
	CHECK(SSL_CTX_set_session_id_context(
		front->context, (const unsigned char *)"tls front", 9));
	SSL_CTX_set_mode(front->context,
		SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	X509_free(ca);
	X509_free(other);
	X509_free(server);
	X509_free(client);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(other_key);
	EVP_PKEY_free(server_key);
	EVP_PKEY_free(client_key);
}

/* ---- relaying ---- */

struct relay {
	tls_front *front;
	int client;
	int engine;
	SSL *ssl; /* NULL: plain */
	char up[PIECE];
	char down[PIECE];
	size_t up_len;
	size_t down_len;
	bool client_ended;
	bool engine_ended;
};

/* > 0: bytes; 0: the end; -1: not now. */
static ssize_t from_client(struct relay *r, char *data, size_t cap)
{
	ssize_t n = r->ssl ? SSL_read(r->ssl, data, (int)cap) : read(r->client, data, cap);

	if (n > 0)
		return n;
	if (!r->ssl)
		return n < 0 && errno == EAGAIN ? -1 : 0;
	int why = SSL_get_error(r->ssl, (int)n);
	return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? -1 : 0;
}

static ssize_t to_client(struct relay *r, const char *data, size_t len)
{
	ssize_t n = r->ssl ? SSL_write(r->ssl, data, (int)len)
			   : send(r->client, data, len, MSG_NOSIGNAL);

	if (n > 0)
		return n;
	if (!r->ssl)
		return errno == EAGAIN ? -1 : 0;
	int why = SSL_get_error(r->ssl, (int)n);
	return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? -1 : 0;
}

static void drop(char *data, size_t *len, size_t n)
{
	memmove(data, data + n, *len - n);
	*len -= n;
}

/* false: this way is broken, and so is the connection. */
static bool pump_up(struct relay *r)
{
	if (r->up_len < PIECE && !r->client_ended) {
		ssize_t n = from_client(r, r->up + r->up_len, PIECE - r->up_len);
		r->client_ended = n == 0;
		r->up_len += n > 0 ? (size_t)n : 0;
	}
	if (r->up_len > 0) {
		ssize_t n = send(r->engine, r->up, r->up_len, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return false;
		drop(r->up, &r->up_len, n > 0 ? (size_t)n : 0);
	}
	if (r->client_ended && r->up_len == 0)
		(void)shutdown(r->engine, SHUT_WR);
	return true;
}

static bool pump_down(struct relay *r)
{
	if (r->down_len < PIECE && !r->engine_ended) {
		ssize_t n = read(r->engine, r->down + r->down_len, PIECE - r->down_len);
		if (n > 0)
			r->down_len += (size_t)n;
		else if (n == 0 || errno != EAGAIN)
			r->engine_ended = true;
	}
	if (r->down_len > 0) {
		ssize_t n = to_client(r, r->down, r->down_len);
		if (n == 0)
			return false;
		drop(r->down, &r->down_len, n > 0 ? (size_t)n : 0);
	}
	return !r->engine_ended || r->down_len > 0;
}

static void relay_all(struct relay *r)
{
	for (;;) {
		bool want_up = !r->client_ended && r->up_len < PIECE;
		bool want_down = r->down_len < PIECE;
		struct pollfd entries[3] = {
			{.fd = want_up || r->down_len > 0 ? r->client : -1,
				.events = (short)((want_up ? POLLIN : 0) |
						  (r->down_len > 0 ? POLLOUT : 0))},
			{.fd = want_down || r->up_len > 0 ? r->engine : -1,
				.events = (short)((want_down ? POLLIN : 0) |
						  (r->up_len > 0 ? POLLOUT : 0))},
			{.fd = r->front->stop, .events = POLLIN},
		};
		int wait_ms = want_up && r->ssl && SSL_pending(r->ssl) > 0 ? 0 : -1;
		if (poll(entries, 3, wait_ms) < 0 || entries[2].revents)
			return;
		if (!pump_up(r) || !pump_down(r))
			return;
	}
}

static int connect_engine(const tls_front *front)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", front->socket_path);
	CHECK(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	return fd;
}

static void *serve(void *user)
{
	struct relay *r = user;
	tls_front *front = r->front;
	bool good = true;
	sigset_t pipe_only;

	/* OpenSSL writes without MSG_NOSIGNAL. */
	(void)sigemptyset(&pipe_only);
	(void)sigaddset(&pipe_only, SIGPIPE);
	(void)pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
	if (front->context) {
		r->ssl = SSL_new(front->context);
		CHECK(r->ssl && SSL_set_fd(r->ssl, r->client));
		good = SSL_accept(r->ssl) == 1;
	}
	if (good) {
		r->engine = connect_engine(front);
		(void)fcntl(r->client, F_SETFL, O_NONBLOCK);
		(void)fcntl(r->engine, F_SETFL, O_NONBLOCK);
		relay_all(r);
		if (r->ssl)
			(void)SSL_shutdown(r->ssl);
		(void)close(r->engine);
	}
	SSL_free(r->ssl);
	(void)close(r->client);
	free(r);
	(void)pthread_mutex_lock(&front->lock);
	if (--front->serving == 0)
		(void)pthread_cond_signal(&front->idle);
	(void)pthread_mutex_unlock(&front->lock);
	return NULL;
}

static void *accept_all(void *user)
{
	tls_front *front = user;

	for (;;) {
		struct pollfd entries[2] = {{.fd = front->listener, .events = POLLIN},
			{.fd = front->stop, .events = POLLIN}};
		pthread_t thread;
		if (poll(entries, 2, -1) < 0 || entries[1].revents)
			return NULL;
		int fd = accept4(front->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		struct relay *r = calloc(1, sizeof(*r));
		CHECK(r);
		r->front = front;
		r->client = fd;
		(void)pthread_mutex_lock(&front->lock);
		front->serving++;
		(void)pthread_mutex_unlock(&front->lock);
		CHECK(pthread_create(&thread, NULL, serve, r) == 0);
		(void)pthread_detach(thread);
	}
}

/* ---- life ---- */

tls_front *tls_front_start(const char *socket_path, bool plain)
{
	tls_front *front = calloc(1, sizeof(*front));
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);

	CHECK(front);
	(void)snprintf(front->folder, sizeof(front->folder), "/tmp/tls-front-XXXXXX");
	(void)snprintf(front->socket_path, sizeof(front->socket_path), "%s", socket_path);
	CHECK(mkdtemp(front->folder));
	(void)pthread_mutex_init(&front->lock, NULL);
	(void)pthread_cond_init(&front->idle, NULL);
	if (!plain)
		make_context(front);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	front->stop = eventfd(0, EFD_CLOEXEC);
	front->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(front->listener, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	CHECK(listen(front->listener, 64) == 0);
	CHECK(getsockname(front->listener, (struct sockaddr *)&addr, &len) == 0);
	front->port = ntohs(addr.sin_port);
	CHECK(pthread_create(&front->acceptor, NULL, accept_all, front) == 0);
	return front;
}

void tls_front_stop(tls_front *front)
{
	static const char *const names[] = {
		"ca.pem", "other_ca.pem", "cert.pem", "key.pem"};

	CHECK(eventfd_write(front->stop, 1) == 0);
	(void)pthread_join(front->acceptor, NULL);
	(void)pthread_mutex_lock(&front->lock);
	while (front->serving > 0)
		(void)pthread_cond_wait(&front->idle, &front->lock);
	(void)pthread_mutex_unlock(&front->lock);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[128];
		(void)snprintf(path, sizeof(path), "%s/%s", front->folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(front->folder);
	(void)close(front->listener);
	(void)close(front->stop);
	SSL_CTX_free(front->context);
	(void)pthread_cond_destroy(&front->idle);
	(void)pthread_mutex_destroy(&front->lock);
	free(front);
}

int tls_front_port(const tls_front *front)
{
	return front->port;
}

const char *tls_front_folder(const tls_front *front)
{
	return front->folder;
}
