/* SPDX-License-Identifier: MIT */
#include "session/tar_check.h"

#include <string.h>

#include <openssl/evp.h>

#include "base/alloc.h"

#define DIGEST_KEPT ((size_t)15)
#define FIRST_SLOTS ((size_t)1024)

/* What a name stands for.  IMPLIED is a directory known from the names below it only. */
enum kind { KIND_NONE = 0, KIND_DIR, KIND_IMPLIED, KIND_FILE, KIND_SYMLINK };

/* 120 bits of SHA-256 instead of the name: 16 bytes for any name, and nobody finds two. */
struct sc_tar_slot {
	unsigned char digest[DIGEST_KEPT];
	unsigned char kind;
};

void sc_tar_check_init(sc_tar_check *check, const sc_tar_limits *limits)
{
	*check = (sc_tar_check){.limits = *limits};
}

void sc_tar_check_clear(sc_tar_check *check)
{
	sc_free(check->slots);
	check->slots = NULL;
	check->slot_count = check->used = 0;
}

/* ---- names ---- */

static int bad_path(sandcell_error **err_out, const char *path, const char *why)
{
	return sc_fail(
		err_out, SANDCELL_E_DATA, "path '%.200s' in the archive %s", path, why);
}

int sc_tar_path(const char *path, size_t len, char out[SC_TAR_PATH_MAX + 1],
	uint32_t *depth_out, sandcell_error **err_out)
{
	uint32_t depth = 0;
	size_t used = 0;

	if (len == 0)
		return bad_path(err_out, "", "is empty");
	if (memchr(path, '\0', len))
		return bad_path(err_out, path, "holds a NUL byte");
	if (path[0] == '/')
		return bad_path(err_out, path, "is absolute");
	for (size_t at = 0; at < len;) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t name_len = slash ? (size_t)(slash - path) - at : len - at;
		const char *name = path + at;

		at += name_len + 1;
		if (name_len == 0 || (name_len == 1 && name[0] == '.'))
			continue;
		if (name_len == 2 && name[0] == '.' && name[1] == '.')
			return bad_path(err_out, path, "holds '..'");
		if (name_len > SC_TAR_NAME_MAX)
			return bad_path(err_out, path, "holds too long a name");
		if (used + (used > 0) + name_len > SC_TAR_PATH_MAX)
			return bad_path(err_out, path, "is too long");
		if (used > 0)
			out[used++] = '/';
		memcpy(out + used, name, name_len);
		used += name_len;
		depth++;
	}
	out[used] = '\0';
	*depth_out = depth;
	return 0;
}

bool sc_tar_link_inside(const char *path, const char *target)
{
	uint32_t room = 0; /* directories between the link and the root */
	bool descending = false;

	if (target[0] == '/' || target[0] == '\0')
		return false;
	for (const char *at = path; *at; at++)
		room += *at == '/';
	for (const char *at = target; *at;) {
		size_t len = strcspn(at, "/");

		if (len == 2 && at[0] == '.' && at[1] == '.') {
			if (descending || room == 0)
				return false;
			room--;
		} else if (len > 0 && !(len == 1 && at[0] == '.')) {
			descending = true;
		}
		at += len;
		at += *at == '/';
	}
	return true;
}

/* ---- what came before ---- */

static int digest_of(const char *path, size_t len, unsigned char out[DIGEST_KEPT])
{
	unsigned char whole[EVP_MAX_MD_SIZE];

	if (EVP_Digest(path, len, whole, NULL, EVP_sha256(), NULL) != 1)
		return SANDCELL_E_NOMEM;
	memcpy(out, whole, DIGEST_KEPT);
	return 0;
}

/* The slot of that digest, or the empty one where it belongs. */
static struct sc_tar_slot *find(
	struct sc_tar_slot *slots, size_t count, const unsigned char digest[DIGEST_KEPT])
{
	size_t at = 0;

	memcpy(&at, digest, sizeof(at));
	for (;; at++) {
		struct sc_tar_slot *slot = &slots[at & (count - 1)];
		if (slot->kind == KIND_NONE ||
			memcmp(slot->digest, digest, DIGEST_KEPT) == 0)
			return slot;
	}
}

static int make_room(sc_tar_check *check)
{
	size_t count = check->slot_count ? check->slot_count * 2 : FIRST_SLOTS;
	struct sc_tar_slot *slots = NULL;

	if (check->used + 1 <= check->slot_count / 4 * 3)
		return 0;
	slots = sc_calloc(count, sizeof(*slots));
	if (!slots)
		return SANDCELL_E_NOMEM;
	for (size_t i = 0; i < check->slot_count; i++) {
		if (check->slots[i].kind != KIND_NONE)
			*find(slots, count, check->slots[i].digest) = check->slots[i];
	}
	sc_free(check->slots);
	check->slots = slots;
	check->slot_count = count;
	return 0;
}

/* What the first len bytes of path stand for so far; *kind_out is KIND_NONE when new. */
static int look_up(sc_tar_check *check, const char *path, size_t len, enum kind *kind_out,
	struct sc_tar_slot **slot_out)
{
	unsigned char digest[DIGEST_KEPT];
	int rc;

	rc = make_room(check);
	if (rc == 0)
		rc = digest_of(path, len, digest);
	if (rc < 0)
		return rc;
	*slot_out = find(check->slots, check->slot_count, digest);
	*kind_out = (enum kind)(*slot_out)->kind;
	if (*kind_out == KIND_NONE)
		memcpy((*slot_out)->digest, digest, DIGEST_KEPT);
	return 0;
}

/* The directories above path: each is one already, or becomes one now. */
static int enter_parents(sc_tar_check *check, const char *path, sandcell_error **err_out)
{
	size_t len = strlen(path);
	struct sc_tar_slot *slot = NULL;
	enum kind kind = KIND_NONE;
	int rc;

	for (;;) {
		while (len > 0 && path[len - 1] != '/')
			len--;
		if (len == 0)
			return 0;
		len--;
		rc = look_up(check, path, len, &kind, &slot);
		if (rc < 0)
			return sc_fail_nomem(err_out);
		if (kind == KIND_DIR || kind == KIND_IMPLIED)
			return 0;
		if (kind != KIND_NONE)
			return bad_path(err_out, path, "is below a file or a link");
		slot->kind = KIND_IMPLIED;
		check->used++;
	}
}

static enum kind kind_of(sc_tar_type type)
{
	switch (type) {
	case SC_TAR_DIR:
		return KIND_DIR;
	case SC_TAR_SYMLINK:
		return KIND_SYMLINK;
	default:
		return KIND_FILE; /* a hard link is the file */
	}
}

static int enter(
	sc_tar_check *check, const char *path, enum kind kind, sandcell_error **err_out)
{
	struct sc_tar_slot *slot = NULL;
	enum kind before = KIND_NONE;
	int rc;

	rc = look_up(check, path, strlen(path), &before, &slot);
	if (rc < 0)
		return sc_fail_nomem(err_out);
	if (before != KIND_NONE && !(before == KIND_IMPLIED && kind == KIND_DIR))
		return bad_path(err_out, path, "comes twice");
	check->used += before == KIND_NONE;
	slot->kind = (unsigned char)kind;
	return 0;
}

/* ---- the verdict ---- */

static int check_symlink(
	sc_tar_check *check, const sc_tar_entry *entry, sandcell_error **err_out)
{
	if (entry->link_len == 0 || entry->link_len > SC_TAR_PATH_MAX ||
		memchr(entry->link, '\0', entry->link_len))
		return bad_path(
			err_out, check->path, "is a symbolic link to an impossible name");
	memcpy(check->link, entry->link, entry->link_len);
	check->link[entry->link_len] = '\0';
	if ((check->limits.flags & SC_TAR_LINKS_INSIDE) &&
		!sc_tar_link_inside(check->path, check->link))
		return sc_fail(err_out, SANDCELL_E_DATA,
			"path '%.200s' in the archive is a symbolic link to '%.200s', "
			"which may "
			"be outside",
			check->path, check->link);
	return 0;
}

static int check_hardlink(
	sc_tar_check *check, const sc_tar_entry *entry, sandcell_error **err_out)
{
	struct sc_tar_slot *slot = NULL;
	enum kind kind = KIND_NONE;
	uint32_t depth = 0;
	int rc;

	rc = sc_tar_path(entry->link, entry->link_len, check->link, &depth, err_out);
	if (rc < 0)
		return sc_context(
			err_out, rc, "target of the hard link '%.200s'", check->path);
	rc = look_up(check, check->link, strlen(check->link), &kind, &slot);
	if (rc < 0)
		return sc_fail_nomem(err_out);
	if (kind != KIND_FILE)
		return sc_fail(err_out, SANDCELL_E_DATA,
			"path '%.200s' in the archive is a hard link to '%.200s', which is "
			"no "
			"file that came before",
			check->path, check->link);
	return 0;
}

static int check_type(
	sc_tar_check *check, const sc_tar_entry *entry, sandcell_error **err_out)
{
	check->link[0] = '\0';
	if (entry->type != SC_TAR_FILE && (entry->size > 0 || entry->bytes > 0))
		return bad_path(err_out, check->path, "has content but is no file");
	switch (entry->type) {
	case SC_TAR_FILE:
	case SC_TAR_DIR:
		return 0;
	case SC_TAR_SYMLINK:
		return check_symlink(check, entry, err_out);
	case SC_TAR_HARDLINK:
		return check_hardlink(check, entry, err_out);
	default:
		return bad_path(err_out, check->path,
			"is a device, a FIFO or another special file");
	}
}

static int check_limits(sc_tar_check *check, const sc_tar_entry *entry, uint32_t depth,
	sandcell_error **err_out)
{
	const sc_tar_limits *limits = &check->limits;

	if (check->entries >= limits->entries)
		return sc_fail(err_out, SANDCELL_E_LIMIT,
			"the archive has more than %llu entries",
			(unsigned long long)limits->entries);
	if (depth > limits->depth)
		return sc_fail(err_out, SANDCELL_E_LIMIT,
			"path '%.60s...' in the archive is more than %u directories deep",
			check->path, limits->depth);
	if (entry->bytes > entry->size)
		return bad_path(err_out, check->path, "has more content than its size");
	if (entry->bytes > limits->bytes - check->bytes)
		return sc_fail(err_out, SANDCELL_E_LIMIT,
			"with '%.200s' the archive holds more than %llu bytes", check->path,
			(unsigned long long)limits->bytes);
	if (entry->size > limits->logical - check->logical)
		return sc_fail(err_out, SANDCELL_E_LIMIT,
			"with '%.200s' the files of the archive are larger than %llu bytes",
			check->path, (unsigned long long)limits->logical);
	return 0;
}

int sc_tar_check_entry(
	sc_tar_check *check, const sc_tar_entry *entry, sandcell_error **err_out)
{
	uint32_t depth = 0;
	int rc;

	rc = sc_tar_path(entry->path, entry->path_len, check->path, &depth, err_out);
	if (rc == 0)
		rc = check_limits(check, entry, depth, err_out);
	if (rc == 0)
		rc = check_type(check, entry, err_out);
	if (rc < 0)
		return rc;
	if (depth == 0) {
		if (entry->type != SC_TAR_DIR)
			return bad_path(err_out, entry->path, "names no file");
	} else {
		rc = enter_parents(check, check->path, err_out);
		if (rc == 0)
			rc = enter(check, check->path, kind_of(entry->type), err_out);
		if (rc < 0)
			return rc;
	}
	check->entries++;
	check->bytes += entry->bytes;
	check->logical += entry->size;
	return 0;
}
