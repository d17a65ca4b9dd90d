/* SPDX-License-Identifier: MIT */
#include "engine/context.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/sha.h>

#include "base/fd.h"
#include "base/json.h"

#define CONFIG_MAX   ((size_t)1 << 20)
#define HEX_OF_SHA   (2 * SHA256_DIGEST_LENGTH + 1)
#define PW_BUFFER    4096
#define DEFAULT_NAME "default"

void sc_context_clear(struct sc_context_info *context)
{
	sc_free(context->name);
	sc_free(context->host);
	sc_free(context->tls_folder);
	*context = (struct sc_context_info){0};
}

static char *joined(const char *dir, const char *tail)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);

	(void)sc_buf_printf(&path, "%s/%s", dir, tail);
	return sc_buf_take(&path, NULL);
}

int sc_context_folder(char **folder_out, sandcell_error **err_out)
{
	const char *dir = secure_getenv("DOCKER_CONFIG");
	const char *home = secure_getenv("HOME");
	struct passwd entry;
	struct passwd *found = NULL;
	char buffer[PW_BUFFER];

	if (dir && dir[0]) {
		*folder_out = sc_strdup(dir);
	} else {
		if ((!home || !home[0]) &&
			getpwuid_r(getuid(), &entry, buffer, sizeof(buffer), &found) == 0 &&
			found)
			home = found->pw_dir;
		*folder_out = joined(home ? home : "", ".docker");
	}
	return *folder_out ? 0 : sc_fail_nomem(err_out);
}

/* A missing file is no failure: *root_out stays NULL. */
static int load_json(const char *path, json_t **root_out, sandcell_error **err_out)
{
	sc_autofree char *text = NULL;
	size_t len = 0;
	int rc;

	if (sc_fd_read_file(path, CONFIG_MAX, &text, &len) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return 0;
		return sc_fail_errno(
			err_out, SANDCELL_E_INVAL, errno, "reading '%s'", path);
	}
	rc = sc_json_parse(text, len, path, root_out, err_out);
	return rc == SANDCELL_E_PROTOCOL
		       ? sc_fail(err_out, SANDCELL_E_INVAL, "'%s' is not JSON", path)
		       : rc;
}

static int current_name(const char *dir, char **name_out, sandcell_error **err_out)
{
	const char *name = secure_getenv("DOCKER_CONTEXT");
	sc_autofree char *path = NULL;
	sc_autojson *root = NULL;
	int rc;

	if (!name || !name[0]) {
		path = joined(dir, "config.json");
		if (!path)
			return sc_fail_nomem(err_out);
		rc = load_json(path, &root, err_out);
		if (rc < 0)
			return rc;
		name = sc_json_get_str(root, "currentContext", "");
	}
	if (!name[0] || strcmp(name, DEFAULT_NAME) == 0)
		return 0;
	*name_out = sc_strdup(name);
	return *name_out ? 0 : sc_fail_nomem(err_out);
}

static void hash_name(const char *name, char hex[HEX_OF_SHA])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[SHA256_DIGEST_LENGTH];

	(void)SHA256((const unsigned char *)name, strlen(name), sum);
	for (size_t i = 0; i < sizeof(sum); i++) {
		hex[2 * i] = digits[sum[i] >> 4];
		hex[2 * i + 1] = digits[sum[i] & 15];
	}
	hex[HEX_OF_SHA - 1] = '\0';
}

static int find_tls(
	const char *dir, const char *hash, char **tls_out, sandcell_error **err_out)
{
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	struct stat st;

	(void)sc_buf_printf(&path, "%s/contexts/tls/%s/docker", dir, hash);
	if (sc_buf_check(&path, err_out, "path of a Docker context") < 0)
		return path.rc;
	if (stat(sc_buf_text(&path), &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	*tls_out = sc_buf_take(&path, NULL);
	return *tls_out ? 0 : sc_fail_nomem(err_out);
}

static int load_meta(
	const char *dir, struct sc_context_info *context, sandcell_error **err_out)
{
	char hash[HEX_OF_SHA];
	sc_autobuf path = SC_BUF_INIT(SC_MAX_URL);
	sc_autojson *root = NULL;
	const json_t *endpoint = NULL;
	const char *host = NULL;
	int rc;

	hash_name(context->name, hash);
	(void)sc_buf_printf(&path, "%s/contexts/meta/%s/meta.json", dir, hash);
	rc = sc_buf_check(&path, err_out, "path of a Docker context");
	if (rc < 0)
		return rc;
	rc = load_json(sc_buf_text(&path), &root, err_out);
	if (rc < 0)
		return rc;
	endpoint = sc_json_get_obj(sc_json_get_obj(root, "Endpoints"), "docker");
	host = sc_json_get_str(endpoint, "Host", NULL);
	if (!host)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"Docker context '%s' has no address in '%s'", context->name,
			sc_buf_text(&path));
	context->skip_verify = sc_json_get_bool(endpoint, "SkipTLSVerify", false);
	context->host = sc_strdup(host);
	if (!context->host)
		return sc_fail_nomem(err_out);
	return find_tls(dir, hash, &context->tls_folder, err_out);
}

int sc_context_current(
	const char *config_dir, struct sc_context_info *context, sandcell_error **err_out)
{
	sc_autofree char *found_dir = NULL;
	sc_autocontext current = {0};
	int rc;

	if (!config_dir) {
		rc = sc_context_folder(&found_dir, err_out);
		if (rc < 0)
			return rc;
		config_dir = found_dir;
	}
	rc = current_name(config_dir, &current.name, err_out);
	if (rc < 0)
		return rc;
	if (current.name) {
		rc = load_meta(config_dir, &current, err_out);
		if (rc < 0)
			return rc;
	}
	*context = current;
	current = (struct sc_context_info){0};
	return 0;
}
