/* SPDX-License-Identifier: MIT */
#include "engine/address.h"

#include <string.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/num.h"

#define HOST_MAX 253

static int refuse(const char *text, const char *why, sandcell_error **err_out)
{
	return sc_fail(err_out, SANDCELL_E_INVAL, "engine address '%s': %s", text, why);
}

void sc_address_clear(struct sc_address *address)
{
	sc_free(address->text);
	sc_free(address->path);
	sc_free(address->user);
	sc_free(address->host);
	*address = (struct sc_address){0};
}

static int parse_unix(const char *text, const char *path, struct sc_address *out,
	sandcell_error **err_out)
{
	if (path[0] != '/')
		return refuse(text, "the path must be absolute: unix:///path", err_out);
	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return refuse(text, "longer than a socket path can be", err_out);
	out->scheme = SC_SCHEME_UNIX;
	out->path = sc_strdup(path);
	return out->path ? 0 : sc_fail_nomem(err_out);
}

/* Characters that a host or user name may have; keeps options and spaces out of argv. */
static bool is_plain(const char *text, size_t len, const char *extra)
{
	if (len == 0 || len > HOST_MAX || text[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			      (c >= '0' && c <= '9');
		if (!letter && (c == '\0' || !strchr(extra, c)))
			return false;
	}
	return true;
}

static int parse_port(const char *text, const char *digits, size_t len,
	struct sc_address *out, sandcell_error **err_out)
{
	uint64_t port = 0;

	if (!sc_parse_u64_n(digits, len, UINT16_MAX, &port) || port == 0)
		return refuse(text, "the port is not a number from 1 to 65535", err_out);
	out->port = (uint16_t)port;
	return 0;
}

/* host, host:port, [v6], [v6]:port */
static int parse_host_port(const char *text, const char *at, size_t len,
	struct sc_address *out, sandcell_error **err_out)
{
	const char *host = at;
	const char *end = at + len;
	const char *host_end = memchr(at, ':', len);
	const char *allowed = ".-_";

	if (len > 0 && at[0] == '[') {
		host = at + 1;
		host_end = memchr(host, ']', len - 1);
		if (!host_end)
			return refuse(text, "']' is missing", err_out);
		if (!memchr(host, ':', (size_t)(host_end - host)))
			return refuse(text, "only an IPv6 address has brackets", err_out);
		allowed = ":.%";
	} else if (!host_end) {
		host_end = end;
	}
	if (!is_plain(host, (size_t)(host_end - host), allowed))
		return refuse(text, "the host name is not one", err_out);
	out->host = sc_strndup(host, (size_t)(host_end - host));
	if (!out->host)
		return sc_fail_nomem(err_out);
	at = host_end + (host_end < end && *host_end == ']');
	if (at == end)
		return 0;
	if (*at != ':')
		return refuse(text, "unexpected text after the host name", err_out);
	return parse_port(text, at + 1, (size_t)(end - at - 1), out, err_out);
}

static int parse_tcp(const char *text, const char *rest, struct sc_address *out,
	sandcell_error **err_out)
{
	size_t len = strlen(rest);

	if (len > 0 && rest[len - 1] == '/')
		len--;
	if (memchr(rest, '/', len) || memchr(rest, '@', len))
		return refuse(text, "only host and port are possible", err_out);
	out->scheme = SC_SCHEME_TCP;
	return parse_host_port(text, rest, len, out, err_out);
}

/* No character that a shell on the other side gives a meaning to. */
static bool is_plain_path(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+@:";

	return path[strspn(path, plain)] == '\0';
}

static int parse_ssh(const char *text, const char *rest, struct sc_address *out,
	sandcell_error **err_out)
{
	const char *slash = strchr(rest, '/');
	const char *end = slash ? slash : rest + strlen(rest);
	const char *at = memchr(rest, '@', (size_t)(end - rest));

	out->scheme = SC_SCHEME_SSH;
	if (slash && !is_plain_path(slash))
		return refuse(
			text, "characters that ssh would not pass on as they are", err_out);
	if (slash && slash[1]) {
		out->path = sc_strdup(slash);
		if (!out->path)
			return sc_fail_nomem(err_out);
	}
	if (at) {
		if (memchr(rest, ':', (size_t)(at - rest)))
			return refuse(text, "a password is not possible here", err_out);
		if (!is_plain(rest, (size_t)(at - rest), ".-_+"))
			return refuse(text, "the user name is not one", err_out);
		out->user = sc_strndup(rest, (size_t)(at - rest));
		if (!out->user)
			return sc_fail_nomem(err_out);
		rest = at + 1;
	}
	return parse_host_port(text, rest, (size_t)(end - rest), out, err_out);
}

static int parse_scheme(const char *text, struct sc_address *out, sandcell_error **err_out)
{
	if (text[0] == '/')
		return parse_unix(text, text, out, err_out);
	if (strncmp(text, "unix://", 7) == 0)
		return parse_unix(text, text + 7, out, err_out);
	if (strncmp(text, "tcp://", 6) == 0)
		return parse_tcp(text, text + 6, out, err_out);
	if (strncmp(text, "http://", 7) == 0)
		return parse_tcp(text, text + 7, out, err_out);
	if (strncmp(text, "https://", 8) == 0) {
		out->tls = true;
		return parse_tcp(text, text + 8, out, err_out);
	}
	if (strncmp(text, "ssh://", 6) == 0)
		return parse_ssh(text, text + 6, out, err_out);
	return refuse(text, "expected unix://, tcp:// or ssh://", err_out);
}

static const char *canonical_scheme(const struct sc_address *address)
{
	if (address->scheme == SC_SCHEME_SSH)
		return "ssh";
	return address->tls ? "https" : "tcp";
}

static int put_text(struct sc_address *address, sandcell_error **err_out)
{
	sc_autobuf text = SC_BUF_INIT(SC_MAX_URL);
	bool v6 = address->host && strchr(address->host, ':');

	if (address->scheme == SC_SCHEME_UNIX) {
		(void)sc_buf_printf(&text, "unix://%s", address->path);
	} else {
		(void)sc_buf_printf(&text, "%s://%s%s%s%s%s", canonical_scheme(address),
			address->user ? address->user : "", address->user ? "@" : "",
			v6 ? "[" : "", address->host, v6 ? "]" : "");
		if (address->port)
			(void)sc_buf_printf(&text, ":%u", address->port);
		(void)sc_buf_puts(&text, address->path ? address->path : "");
	}
	address->text = sc_buf_take(&text, NULL);
	return address->text ? 0 : sc_fail_nomem(err_out);
}

int sc_address_parse(const char *text, struct sc_address *address, sandcell_error **err_out)
{
	sc_autoaddress parsed = {0};
	int rc;

	rc = parse_scheme(text, &parsed, err_out);
	if (rc < 0)
		return rc;
	rc = put_text(&parsed, err_out);
	if (rc < 0)
		return rc;
	*address = parsed;
	parsed = (struct sc_address){0};
	return 0;
}
