/* SPDX-License-Identifier: MIT */
#include "session/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/num.h"

#define PROC_FILE_MAX ((size_t)8192)

static void read_boot_id(struct sc_owner *owner)
{
	sc_autofree char *text = NULL;
	size_t len = 0;

	if (sc_fd_read_file("/proc/sys/kernel/random/boot_id", PROC_FILE_MAX, &text, &len) <
		0)
		return;
	(void)snprintf(owner->boot_id, sizeof(owner->boot_id), "%.*s",
		(int)strcspn(text, "\n"), text);
}

/* Field 22 of stat; the name in field 2 may hold spaces and brackets. */
static uint64_t read_start(const char *path)
{
	uint64_t start = 0;
	sc_autofree char *text = NULL;
	size_t len = 0;

	if (sc_fd_read_file(path, PROC_FILE_MAX, &text, &len) < 0)
		return 0;
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (at)
		(void)sc_parse_u64_n(at, strcspn(at, " "), UINT64_MAX, &start);
	return start;
}

bool sc_owner_gone(pid_t pid, uint64_t start)
{
	char path[32];
	uint64_t seen = 0;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	seen = read_start(path);
	return start && seen && seen != start;
}

void sc_owner_self(struct sc_owner *owner)
{
	struct stat ns;

	*owner = (struct sc_owner){.uid = getuid(), .pid = getpid()};
	if (gethostname(owner->host, sizeof(owner->host) - 1) < 0)
		owner->host[0] = '\0';
	if (stat("/proc/self/ns/pid", &ns) == 0)
		owner->pid_ns = (uint64_t)ns.st_ino;
	read_boot_id(owner);
	owner->start = read_start("/proc/self/stat");
}

static int random_bytes(void *data, size_t len, sandcell_error **err_out)
{
	ssize_t n = 0;

	/* Up to 256 bytes come whole, and only a signal during early boot interrupts. */
	do {
		n = getrandom(data, len, 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)len)
		return sc_fail_errno(err_out, SANDCELL_E_FAIL, errno, "getrandom");
	return 0;
}

int sc_random_u64(uint64_t *out, sandcell_error **err_out)
{
	return random_bytes(out, sizeof(*out), err_out);
}

int sc_random_hex(char *text, size_t count, sandcell_error **err_out)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[32];
	int rc;

	if (count / 2 > sizeof(bytes))
		return sc_fail(err_out, SANDCELL_E_INVAL, "%zu random digits", count);
	rc = random_bytes(bytes, count / 2, err_out);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		text[i] = digits[i % 2 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4];
	text[count] = '\0';
	return 0;
}
