/* SPDX-License-Identifier: MIT */
#include "fake_engine.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/sockios.h>

#define RULES_MAX   128
#define REQUEST_MAX ((size_t)64 << 20)
#define WAIT_MS	    20000

struct request {
	char *text;
	char method[8];
	char path[512]; /* without version prefix and query */
};

struct fake_engine {
	int listener;
	int stop; /* eventfd: readable once it stops */
	char dir[64];
	char path[108];
	char host[128];
	pthread_t acceptor;

	pthread_mutex_t lock;
	fake_rule rules[RULES_MAX];
	size_t rule_count;
	struct request **requests;
	size_t request_count;
	size_t connections;
	size_t serving; /* threads that are not done */
	pthread_cond_t idle;
	long long sent;
	long long cut_at;
	size_t drop_at;
	int left;
};

struct connection {
	fake_engine *fake;
	int fd;
	char *in; /* what has come and was not used */
	size_t in_len;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)fputs("fake engine: ", stderr);
	(void)vfprintf(stderr, fmt, args);
	(void)fputc('\n', stderr);
	va_end(args);
	abort();
}

static void *checked(void *ptr)
{
	if (!ptr)
		die("out of memory");
	return ptr;
}

/* ---- reading a request ---- */

/* 1: the descriptor is ready; 0: the engine stops. */
static int ready(const fake_engine *fake, int fd, short events)
{
	struct pollfd entries[2] = {
		{.fd = fd, .events = events},
		{.fd = fake->stop, .events = POLLIN},
	};

	while (poll(entries, 2, -1) < 0) {
		if (errno != EINTR)
			return 0;
	}
	return entries[1].revents ? 0 : 1;
}

static bool is_dropped(fake_engine *fake, size_t len)
{
	(void)pthread_mutex_lock(&fake->lock);
	bool dropped = fake->drop_at > 0 && len >= fake->drop_at;
	(void)pthread_mutex_unlock(&fake->lock);
	return dropped;
}

/* Takes more bytes from the connection; 0 at its end. */
static int receive(struct connection *c)
{
	char piece[65536];
	ssize_t n;

	if (!ready(c->fake, c->fd, POLLIN))
		return 0;
	n = recv(c->fd, piece, sizeof(piece), 0);
	if (n <= 0)
		return 0;
	if (c->in_len + (size_t)n > REQUEST_MAX)
		die("a request of more than %zu bytes", REQUEST_MAX);
	c->in = checked(realloc(c->in, c->in_len + (size_t)n + 1));
	memcpy(c->in + c->in_len, piece, (size_t)n);
	c->in_len += (size_t)n;
	c->in[c->in_len] = '\0';
	return !is_dropped(c->fake, c->in_len);
}

static const char *header(const char *head, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
		line += 2;
		if (strncasecmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1 + (line[len + 1] == ' ');
	}
	return NULL;
}

/* Size of the request at the start of `in`, 0 while it is not all there. */
static size_t request_size(const struct connection *c)
{
	const char *end = c->in ? strstr(c->in, "\r\n\r\n") : NULL;
	const char *length = NULL;
	const char *coding = NULL;
	size_t head = 0;
	size_t size = 0;

	if (!end)
		return 0;
	head = (size_t)(end + 4 - c->in);
	length = header(c->in, "Content-Length");
	coding = header(c->in, "Transfer-Encoding");
	if (coding && coding < end && strncasecmp(coding, "chunked", 7) == 0) {
		/* Payloads of tests do not hold this mark. */
		end = memmem(end + 2, c->in_len - head + 2, "\r\n0\r\n\r\n", 7);
		return end ? (size_t)(end + 7 - c->in) : 0;
	}
	size = head + (length && length < end ? strtoul(length, NULL, 10) : 0);
	return c->in_len >= size ? size : 0;
}

static void note_path(struct request *r)
{
	char target[512] = "";
	const char *path = target;
	size_t len = 0;

	if (sscanf(r->text, "%7s %511s", r->method, target) != 2)
		die("not a request: %.60s", r->text);
	if (strncmp(path, "/v1.", 4) == 0)
		path = path + 1 + strcspn(path + 1, "/");
	len = strcspn(path, "?");
	(void)snprintf(r->path, sizeof(r->path), "%.*s", (int)len, path);
}

static const struct request *record(struct connection *c, size_t size)
{
	fake_engine *fake = c->fake;
	struct request *r = checked(calloc(1, sizeof(*r)));
	r->text = checked(strndup(c->in, size));
	note_path(r);
	(void)pthread_mutex_lock(&fake->lock);
	fake->requests = checked(realloc(
		fake->requests, (fake->request_count + 1) * sizeof(*fake->requests)));
	fake->requests[fake->request_count++] = r;
	if (strcmp(r->method, "POST") == 0 && strcmp(r->path, "/containers/create") == 0)
		fake->left++;
	if (strcmp(r->method, "DELETE") == 0 && strncmp(r->path, "/containers/", 12) == 0 &&
		fake->left > 0)
		fake->left--;
	(void)pthread_mutex_unlock(&fake->lock);
	memmove(c->in, c->in + size, c->in_len - size + 1);
	c->in_len -= size;
	return r;
}

/* ---- rules ---- */

/* "<any>" in the pattern stands for one path segment. */
static bool path_matches(const char *pattern, const char *path)
{
	while (*pattern && *path) {
		if (strncmp(pattern, "<any>", 5) == 0) {
			pattern += 5;
			path += strcspn(path, "/");
			continue;
		}
		if (*pattern != *path)
			return false;
		pattern++;
		path++;
	}
	return *pattern == *path;
}

static bool matches(const char *on, const struct request *r)
{
	size_t len = 0;

	if (!on)
		return true;
	len = strcspn(on, " ");
	return strncmp(on, r->method, len) == 0 && r->method[len] == '\0' &&
	       path_matches(on + len + (on[len] == ' '), r->path);
}

static fake_rule find_rule(fake_engine *fake, const struct request *r)
{
	fake_rule found = {.status = 404, .body = "{\"message\":\"page not found\"}"};

	(void)pthread_mutex_lock(&fake->lock);
	for (size_t i = fake->rule_count; i > 0; i--) {
		fake_rule *rule = &fake->rules[i - 1];
		if (rule->times == (unsigned)-1 || !matches(rule->on, r))
			continue;
		found = *rule;
		if (rule->times > 0 && --rule->times == 0)
			rule->times = (unsigned)-1;
		break;
	}
	(void)pthread_mutex_unlock(&fake->lock);
	return found;
}

void fake_on(fake_engine *fake, const fake_rule *rule)
{
	(void)pthread_mutex_lock(&fake->lock);
	if (fake->rule_count == RULES_MAX)
		die("too many rules");
	fake->rules[fake->rule_count++] = *rule;
	(void)pthread_mutex_unlock(&fake->lock);
}

void fake_reply(fake_engine *fake, const char *on, int status, const char *body)
{
	const fake_rule rule = {.on = on, .status = status, .body = body};

	fake_on(fake, &rule);
}

/* ---- replying ---- */

/* How many of the next len bytes may go before the cut. */
static size_t before_cut(fake_engine *fake, size_t len)
{
	size_t n = len;

	(void)pthread_mutex_lock(&fake->lock);
	if (fake->cut_at >= 0 && fake->sent + (long long)len > fake->cut_at) {
		n = (size_t)(fake->cut_at - fake->sent);
		fake->cut_at = -1;
	}
	fake->sent += (long long)n;
	(void)pthread_mutex_unlock(&fake->lock);
	return n;
}

/* Until the other side has read all that was sent, or is gone. */
static int wait_taken(const struct connection *c)
{
	for (int waited = 0; waited < WAIT_MS; waited++) {
		struct pollfd entries[2] = {
			{.fd = c->fd, .events = POLLRDHUP},
			{.fd = c->fake->stop, .events = POLLIN},
		};
		int queued = 0;
		if (ioctl(c->fd, SIOCOUTQ, &queued) < 0 || queued == 0)
			return 0;
		if (poll(entries, 2, 1) > 0)
			return -1;
	}
	die("nobody reads the reply");
}

static int send_piece(struct connection *c, const char *data, size_t len)
{
	size_t allowed = before_cut(c->fake, len);
	size_t done = 0;

	while (done < allowed) {
		ssize_t n = send(c->fd, data + done, allowed - done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return allowed == len ? 0 : -1;
}

static int send_all(struct connection *c, const char *data, size_t len, size_t slice)
{
	while (len > 0) {
		size_t n = slice && slice < len ? slice : len;
		if (send_piece(c, data, n) < 0)
			return -1;
		if (slice && wait_taken(c) < 0)
			return -1;
		data += n;
		len -= n;
	}
	return 0;
}

static void append(char **to, size_t *len, const void *data, size_t n)
{
	*to = checked(realloc(*to, *len + n + 1));
	if (n > 0)
		memcpy(*to + *len, data, n);
	*len += n;
	(*to)[*len] = '\0';
}

static void append_text(char **to, size_t *len, const char *text)
{
	append(to, len, text, strlen(text));
}

static void append_chunks(
	char **to, size_t *len, const char *body, size_t body_len, size_t chunk)
{
	char size[32];

	for (size_t at = 0; at < body_len; at += chunk) {
		size_t n = body_len - at < chunk ? body_len - at : chunk;
		(void)snprintf(size, sizeof(size), "%zx\r\n", n);
		append_text(to, len, size);
		append(to, len, body + at, n);
		append_text(to, len, "\r\n");
	}
	append_text(to, len, "0\r\n\r\n");
}

static char *make_reply(const fake_rule *rule, size_t *len_out)
{
	const char *body = rule->body ? rule->body : "";
	size_t body_len = rule->body_len ? rule->body_len : strlen(body);
	int status = rule->status ? rule->status : 200;
	char *text = NULL;
	char line[128];

	*len_out = 0;
	if (rule->raw) {
		append(&text, len_out, rule->raw,
			rule->raw_len ? rule->raw_len : strlen(rule->raw));
		return text;
	}
	(void)snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n", status,
		status == 101 ? "UPGRADED" : "Whatever");
	append_text(&text, len_out, line);
	append_text(&text, len_out, rule->headers ? rule->headers : "");
	if (status == 101 || (rule->stream && !rule->chunk)) {
		append_text(&text, len_out, "\r\n");
		append(&text, len_out, body, body_len);
	} else if (rule->chunk) {
		append_text(&text, len_out, "Transfer-Encoding: chunked\r\n\r\n");
		append_chunks(&text, len_out, body, body_len, rule->chunk);
	} else {
		(void)snprintf(line, sizeof(line), "Content-Length: %zu\r\n\r\n", body_len);
		if (status == 204 || status == 304)
			(void)snprintf(line, sizeof(line), "\r\n");
		append_text(&text, len_out, line);
		append(&text, len_out, body, body_len);
	}
	return text;
}

/* 0: the connection may take another request. */
static int answer(struct connection *c, const struct request *r)
{
	fake_rule rule = find_rule(c->fake, r);
	size_t len = 0;
	char *reply = NULL;
	int rc = 0;

	if (!rule.deaf) {
		reply = make_reply(&rule, &len);
		rc = send_all(c, reply, len, rule.slice);
		free(reply);
	}
	if (rc == 0 && rule.stream)
		rule.stream(c->fd, rule.user);
	if (rc == 0 && (rule.end == FAKE_HANG || rule.deaf) && rule.end != FAKE_CLOSE)
		(void)ready(c->fake, -1, 0);
	return rc < 0 || rule.end != FAKE_KEEP || rule.stream || rule.deaf ? -1 : 0;
}

/* ---- threads ---- */

static void *serve(void *user)
{
	struct connection *c = user;
	fake_engine *fake = c->fake;

	for (;;) {
		size_t size = request_size(c);
		if (size == 0) {
			if (!receive(c))
				break;
			continue;
		}
		if (answer(c, record(c, size)) < 0)
			break;
	}
	(void)close(c->fd);
	free(c->in);
	free(c);
	(void)pthread_mutex_lock(&fake->lock);
	if (--fake->serving == 0)
		(void)pthread_cond_signal(&fake->idle);
	(void)pthread_mutex_unlock(&fake->lock);
	return NULL;
}

static void start_serving(fake_engine *fake, int fd)
{
	struct connection *c = checked(calloc(1, sizeof(*c)));
	pthread_t thread;

	*c = (struct connection){.fake = fake, .fd = fd};
	(void)pthread_mutex_lock(&fake->lock);
	fake->connections++;
	fake->serving++;
	if (pthread_create(&thread, NULL, serve, c) != 0)
		die("no thread for another connection");
	(void)pthread_detach(thread);
	(void)pthread_mutex_unlock(&fake->lock);
}

static void *accept_all(void *user)
{
	fake_engine *fake = user;

	while (ready(fake, fake->listener, POLLIN)) {
		int fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			start_serving(fake, fd);
	}
	return NULL;
}

static void add_defaults(fake_engine *fake)
{
	static const char id[] =
		"{\"Id\":"
		"\"c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00\","
		"\"Warnings\":[]}";
	static const char state[] =
		"{\"Id\":"
		"\"c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00\","
		"\"Created\":\"2024-01-02T03:04:05.678Z\",\"State\":{\"Status\":"
		"\"running\","
		"\"Running\":true,\"Paused\":false,\"OOMKilled\":false,\"Pid\":1,"
		"\"ExitCode\":0,\"Error\":\"\",\"StartedAt\":\"2024-01-02T03:04:05.678Z\"},"
		"\"Config\":{\"Labels\":{}},\"HostConfig\":{},\"Mounts\":[]}";
	static const fake_rule rules[] = {
		{.on = "GET /_ping",
			.headers =
				"Api-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\n",
			.body = "OK"},
		{.on = "GET /version",
			.body = "{\"Version\":\"20.10.24\",\"ApiVersion\":\"1.41\","
				"\"MinAPIVersion\":\"1.12\"}"},
		{.on = "GET /info",
			.body = "{\"ServerVersion\":\"20.10.24\",\"DefaultRuntime\":"
				"\"runc\","
				"\"Runtimes\":{\"runc\":{}},\"CgroupVersion\":\"2\","
				"\"NCPU\":2,\"MemTotal\":1073741824,"
				"\"SecurityOptions\":[\"name=seccomp,profile=default\"],"
				"\"KernelVersion\":\"6.1\",\"OperatingSystem\":\"Fake\","
				"\"Architecture\":\"x86_64\",\"Name\":\"fake\"}"},
		{.on = "GET /images/<any>/json",
			.body = "{\"Id\":\"sha256:1234\",\"Config\":{}}"},
		{.on = "GET /images/<any>/<any>/json",
			.body = "{\"Id\":\"sha256:1234\",\"Config\":{}}"},
		{.on = "POST /containers/create", .status = 201},
		{.on = "POST /containers/<any>/start", .status = 204},
		{.on = "POST /containers/<any>/kill", .status = 204},
		{.on = "POST /containers/<any>/attach", .status = 101},
		{.on = "POST /containers/<any>/wait", .body = "{\"StatusCode\":0}"},
		{.on = "GET /containers/<any>/json"},
		{.on = "GET /containers/json", .body = "[]"},
		{.on = "DELETE /containers/<any>", .status = 204},
		{.on = "POST /containers/<any>/exec",
			.status = 201,
			.body = "{\"Id\":\"e1\"}"},
		{.on = "POST /exec/<any>/start", .status = 101, .end = FAKE_CLOSE},
		{.on = "GET /exec/<any>/json",
			.body = "{\"Running\":false,\"ExitCode\":0}"},
		{.on = "GET /events", .chunk = 512},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		fake_rule rule = rules[i];
		if (strcmp(rule.on, "POST /containers/create") == 0)
			rule.body = id;
		if (strcmp(rule.on, "GET /containers/<any>/json") == 0)
			rule.body = state;
		if (strcmp(rule.on, "POST /containers/<any>/attach") == 0)
			rule.end = FAKE_HANG;
		fake_on(fake, &rule);
	}
}

/* ---- life ---- */

fake_engine *fake_start_at(const char *path)
{
	fake_engine *fake = checked(calloc(1, sizeof(*fake)));
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	(void)pthread_mutex_init(&fake->lock, NULL);
	(void)pthread_cond_init(&fake->idle, NULL);
	fake->cut_at = -1;
	(void)snprintf(fake->path, sizeof(fake->path), "%s", path);
	(void)snprintf(fake->host, sizeof(fake->host), "unix://%s", path);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fake->stop = eventfd(0, EFD_CLOEXEC);
	fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(fake->listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		listen(fake->listener, 128) < 0)
		die("no socket at %s: %m", path);
	add_defaults(fake);
	if (pthread_create(&fake->acceptor, NULL, accept_all, fake) != 0)
		die("no thread");
	return fake;
}

fake_engine *fake_start(void)
{
	char dir[] = "/tmp/fake-engine-XXXXXX";
	char path[64];
	fake_engine *fake = NULL;

	if (!mkdtemp(dir))
		die("mkdtemp: %m");
	(void)snprintf(path, sizeof(path), "%s/engine.sock", dir);
	fake = fake_start_at(path);
	(void)snprintf(fake->dir, sizeof(fake->dir), "%s", dir);
	return fake;
}

void fake_stop(fake_engine *fake)
{
	if (eventfd_write(fake->stop, 1) < 0)
		die("eventfd: %m");
	(void)pthread_join(fake->acceptor, NULL);
	(void)pthread_mutex_lock(&fake->lock);
	while (fake->serving > 0)
		(void)pthread_cond_wait(&fake->idle, &fake->lock);
	(void)pthread_mutex_unlock(&fake->lock);
	(void)close(fake->listener);
	(void)close(fake->stop);
	(void)unlink(fake->path);
	if (fake->dir[0])
		(void)rmdir(fake->dir);
	for (size_t i = 0; i < fake->request_count; i++) {
		free(fake->requests[i]->text);
		free(fake->requests[i]);
	}
	free(fake->requests);
	(void)pthread_cond_destroy(&fake->idle);
	(void)pthread_mutex_destroy(&fake->lock);
	free(fake);
}

const char *fake_path(const fake_engine *fake)
{
	return fake->path;
}

const char *fake_host(const fake_engine *fake)
{
	return fake->host;
}

void fake_cut_at(fake_engine *fake, long long n)
{
	(void)pthread_mutex_lock(&fake->lock);
	fake->cut_at = n < 0 ? -1 : fake->sent + n;
	(void)pthread_mutex_unlock(&fake->lock);
}

void fake_drop_uploads(fake_engine *fake, size_t len)
{
	(void)pthread_mutex_lock(&fake->lock);
	fake->drop_at = len;
	(void)pthread_mutex_unlock(&fake->lock);
}

long long fake_sent(fake_engine *fake)
{
	(void)pthread_mutex_lock(&fake->lock);
	long long sent = fake->sent;
	(void)pthread_mutex_unlock(&fake->lock);
	return sent;
}

/* ---- what was asked ---- */

size_t fake_requests(fake_engine *fake)
{
	(void)pthread_mutex_lock(&fake->lock);
	size_t count = fake->request_count;
	(void)pthread_mutex_unlock(&fake->lock);
	return count;
}

char *fake_request(fake_engine *fake, size_t index)
{
	char *copy = NULL;

	(void)pthread_mutex_lock(&fake->lock);
	if (index < fake->request_count)
		copy = checked(strdup(fake->requests[index]->text));
	(void)pthread_mutex_unlock(&fake->lock);
	return copy;
}

size_t fake_count(fake_engine *fake, const char *on)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&fake->lock);
	for (size_t i = 0; i < fake->request_count; i++)
		count += matches(on, fake->requests[i]);
	(void)pthread_mutex_unlock(&fake->lock);
	return count;
}

int fake_left(fake_engine *fake)
{
	(void)pthread_mutex_lock(&fake->lock);
	int left = fake->left;
	(void)pthread_mutex_unlock(&fake->lock);
	return left;
}

size_t fake_connections(fake_engine *fake)
{
	(void)pthread_mutex_lock(&fake->lock);
	size_t count = fake->connections;
	(void)pthread_mutex_unlock(&fake->lock);
	return count;
}

void fake_print(fake_engine *fake)
{
	(void)pthread_mutex_lock(&fake->lock);
	for (size_t i = 0; i < fake->request_count; i++)
		(void)fprintf(stderr, "> %.*s\n", 400, fake->requests[i]->text);
	(void)pthread_mutex_unlock(&fake->lock);
}

size_t fake_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	if (!dir)
		die("/proc/self/fd: %m");
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 3; /* ".", "..", and the directory itself */
}
