/* SPDX-License-Identifier: MIT */
#include "session/session.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "engine/container.h"
#include "engine/info.h"
#include "session/connect.h"
#include "session/console.h"
#include "session/runner_source.h"
#include "session/spec.h"
#include "session/summary.h"

#define NONCE_DIGITS 32
/* How long a container may take to say why: one that has let go of the connector, and one
 * that the engine refused something for, which may well be healthy. */
#define LAST_WORDS_MS	 500
#define REFUSED_WORDS_MS 100
#define REMOVE_MS	 30000
#define MODULES_MAX	 64
#define SETUP_ID	 1

/* One attempt to open a container. */
struct opening {
	sandcell_session *s;
	sc_deadline deadline;
	json_t *inspect; /* of the created container */
	bool started;	 /* so it may have said something */
	struct sc_console console;
	sc_call ready;
};

/* ---- what to do about it ---- */

static int explain_image(sandcell_session *s, int rc, sandcell_error **err_out)
{
	static const char ours[] = "sandcell/";
	const char *image = s->config.image;
	const char *name = image + sizeof(ours) - 1;

	if (rc != SANDCELL_E_NOTFOUND)
		return sc_context(err_out, rc, "creating a container from '%s'", image);
	if (strncmp(image, ours, sizeof(ours) - 1) == 0)
		return sc_fail(err_out, rc,
			"the engine has no image '%s': make it with 'scripts/build-image "
			"%.*s'",
			image, (int)strcspn(name, ":@"), name);
	return sc_fail(err_out, rc,
		"the engine has no image '%s': get it with '%s pull %s', or make one with "
		"'scripts/build-image python'",
		image, sc_engine_kind(s->engine), image);
}

/* A hint for what engines and old Pythons say when the image does not fit. */
static const char *hint_for(const char *text)
{
	if (strstr(text, "python3") &&
		(strstr(text, "not found") || strstr(text, "no such file")))
		return "the image has no python3, which sandcell needs (3.9 or newer); "
		       "'scripts/build-image python' makes an image that has it: ";
	if (strstr(text, "recv_fds") || strstr(text, "send_fds"))
		return "the image's Python is older than 3.9: ";
	return "";
}

static int explain_start(struct opening *o, int rc, sandcell_error **err_out)
{
	sandcell_session *s = o->s;
	uint64_t ms = s->channel ? LAST_WORDS_MS : REFUSED_WORDS_MS;
	sc_deadline patience = sc_deadline_in_ms(o->started ? ms : 0);
	const char *words = sc_console_words(&o->console, patience);
	const char *heard = s->channel ? sc_channel_complaints(s->channel) : "";
	const char *said = words[0] ? words : heard;
	const char *why = err_out ? sandcell_error_get_message(*err_out) : "";
	const char *hint = hint_for(said[0] ? said : why);

	if (said[0])
		return sc_context(err_out, rc,
			"starting Python in image '%s': %sthe container said: %s",
			s->config.image, hint, said);
	return sc_context(err_out, rc, "starting Python in image '%s'%s%s", s->config.image,
		hint[0] ? ": " : "", hint);
}

/* A volume that the image declares is a directory on the engine's disk, which has no quota.
 */
static int check_volumes(struct opening *o, sandcell_error **err_out)
{
	const json_t *mounts = sc_json_get_arr(o->inspect, "Mounts");
	const json_t *mount = NULL;
	size_t i = 0;
	int rc = 0;

	json_array_foreach (mounts, i, mount) {
		const char *type = sc_json_get_str(mount, "Type", "");

		if (rc == 0 && strcmp(type, "volume") == 0)
			rc = sc_session_warn(o->s,
				json_sprintf(
					"the image declares the volume '%s', whose size is "
					"not limited",
					sc_json_get_str(mount, "Destination", "?")),
				err_out);
	}
	return rc;
}

/* Between two requests to the engine, each of which takes only a moment. */
static int check_wait(const struct opening *o, sandcell_error **err_out)
{
	const struct sc_config *config = &o->s->config;

	if (!config->on_wait || config->on_wait(config->wait_user) == 0)
		return 0;
	return sc_fail(err_out, SANDCELL_E_CALLBACK, "the wait callback asked to stop");
}

/* ---- create ---- */

static int describe_engine(
	struct opening *o, struct sc_spec_engine *spec, sandcell_error **err_out)
{
	sandcell_session *s = o->s;
	const struct sc_quirks *quirks = sc_engine_quirks(s->engine);
	const struct sc_engine_info *info = NULL;
	int rc = 0;

	*spec = (struct sc_spec_engine){
		.runtime_per_request = quirks->runtime_per_request,
		.created_s = sc_wall_now_ns() / SC_SEC_IN_NS,
		.nonce = s->nonce,
	};
	if (quirks->userns_keep_id || (s->config.runtime && !quirks->runtime_per_request))
		rc = sc_engine_info(s->engine, o->deadline, &info, err_out);
	if (rc < 0 || !info)
		return rc;
	spec->keep_id = quirks->userns_keep_id && info->rootless;
	if (s->config.runtime && strcmp(s->config.runtime, info->runtime) != 0)
		return sc_fail(err_out, SANDCELL_E_INVAL,
			"runtime '%s': this engine runs everything with '%s', which only "
			"its "
			"own configuration changes",
			s->config.runtime, info->runtime);
	return 0;
}

static int new_nonce(sandcell_session *s, sandcell_error **err_out)
{
	char text[NONCE_DIGITS + 1];
	int rc;

	rc = sc_random_hex(text, NONCE_DIGITS, err_out);
	if (rc < 0)
		return rc;
	sc_free(s->nonce);
	s->nonce = sc_strdup(text);
	return s->nonce ? 0 : sc_fail_nomem(err_out);
}

/*
 * The engine may have made a container although its reply did not arrive.  It has our name,
 * and is ours when it has our nonce as well.
 */
static void remove_unheard(sandcell_session *s, const char *name)
{
	sc_autojson *inspect = NULL;
	sc_deadline deadline = sc_deadline_in_ms(REMOVE_MS);

	if (sc_container_inspect(s->engine, name, deadline, &inspect, NULL) < 0)
		return;
	const json_t *labels =
		sc_json_get_obj(sc_json_get_obj(inspect, "Config"), "Labels");
	const char *id = sc_json_get_str(inspect, "Id", "");
	if (strcmp(sc_json_get_str(labels, SC_LABEL_NONCE, ""), s->nonce) == 0)
		(void)sc_container_remove(s->engine, id, deadline, NULL);
}

static bool may_be_unheard(int rc)
{
	return rc == SANDCELL_E_CONNECT || rc == SANDCELL_E_PROTOCOL ||
	       rc == SANDCELL_E_TIMEOUT || rc == SANDCELL_E_NOMEM;
}

static int create(struct opening *o, sandcell_error **err_out)
{
	sandcell_session *s = o->s;
	sc_autojson *body = NULL;
	sc_autojson *warnings = NULL;
	sc_autobuf name = SC_BUF_INIT(SC_MAX_URL);
	struct sc_spec_engine spec;
	char *id = NULL;
	int rc;

	rc = new_nonce(s, err_out);
	if (rc == 0)
		rc = describe_engine(o, &spec, err_out);
	if (rc == 0)
		rc = sc_spec_container(&s->config, &s->owner, &spec, &body, err_out);
	if (rc < 0)
		return rc;
	(void)sc_buf_printf(&name, SC_NAME_PREFIX "%s", s->config.name);
	rc = sc_buf_check(&name, err_out, "container name");
	if (rc < 0)
		return rc;
	rc = sc_container_create(
		s->engine, sc_buf_text(&name), body, o->deadline, &id, &warnings, err_out);
	if (may_be_unheard(rc))
		remove_unheard(s, sc_buf_text(&name));
	if (rc == SANDCELL_E_CONFLICT)
		return sc_context(
			err_out, rc, "session name '%s' is in use", s->config.name);
	if (rc < 0)
		return explain_image(s, rc, err_out);
	sc_free(s->container);
	s->container = id;
	if (json_array_extend(s->warnings, warnings) < 0)
		return sc_fail_nomem(err_out);
	return 0;
}

/* ---- start and connect ---- */

static int put_boot(sc_buf *out)
{
	size_t len = sc_runner_boot.len;
	const unsigned char prefix[4] = {
		(unsigned char)(len >> 24),
		(unsigned char)(len >> 16),
		(unsigned char)(len >> 8),
		(unsigned char)len,
	};

	(void)sc_buf_append(out, prefix, sizeof(prefix));
	return sc_buf_append(out, sc_runner_boot.text, len);
}

/* The setup frame, with the source of every module. */
static int put_setup(const struct opening *o, sc_buf *out, sandcell_error **err_out)
{
	const json_t *image_env =
		sc_json_get_arr(sc_json_get_obj(o->inspect, "Config"), "Env");
	char names[MODULES_MAX][64];
	sc_part parts[MODULES_MAX];
	sc_autojson *header = NULL;
	sc_message message;
	size_t count = 0;
	int rc;

	for (; sc_runner_modules[count].name && count < MODULES_MAX; count++) {
		const struct sc_runner_source *module = &sc_runner_modules[count];

		(void)snprintf(
			names[count], sizeof(names[count]), "module:%s", module->name);
		parts[count] = (sc_part){
			.name = names[count], .data = module->text, .len = module->len};
	}
	rc = sc_spec_setup(&o->s->config, image_env, SETUP_ID, &header, err_out);
	if (rc == 0)
		rc = sc_message_init(&message, header, SETUP_ID, parts, count, err_out);
	while (rc == 0 && !sc_message_done(&message))
		rc = sc_message_next(&message, out, err_out);
	return rc;
}

/*
 * The source waits in the socket for the process to start, so that Python gets ready while
 * the engine is still busy with the connector.
 */
static int start(struct opening *o, sandcell_error **err_out)
{
	sandcell_session *s = o->s;
	sc_buf *source = &o->console.input;
	int rc;

	rc = sc_container_inspect(
		s->engine, s->container, o->deadline, &o->inspect, err_out);
	if (rc == 0)
		rc = sc_console_attach(
			&o->console, s->engine, s->container, o->deadline, err_out);
	if (rc == 0 && put_boot(source) == 0)
		rc = put_setup(o, source, err_out);
	if (rc == 0)
		rc = sc_buf_check(source, err_out, "the runner's source");
	if (rc < 0)
		return rc;
	(void)sc_console_send(&o->console, sc_now_ns(), NULL);
	rc = sc_container_start(s->engine, s->container, o->deadline, err_out);
	if (rc < 0)
		return rc;
	o->started = true;
	return sc_console_send(&o->console, o->deadline, err_out);
}

/* ---- what was granted ---- */

/*
 * The other half of the write probe: an engine that maps user ids (userns-remap, rootless)
 * shows the workspace as someone else's, and the code could not write there.
 */
static int check_mapping(struct opening *o, sandcell_error **err_out)
{
	const struct sc_workspace *workspace = &o->s->config.workspace;
	int64_t seen = sc_json_get_int(o->ready.result, "cwd_uid", workspace->owner);

	if (!workspace->path || workspace->read_only || seen == workspace->owner)
		return 0;
	return sc_fail(err_out, SANDCELL_E_INVAL,
		"workspace '%s' belongs to uid %u, which is uid %" PRId64
		" in the container, as the engine maps user ids; the code would run there "
		"as "
		"uid %u: give the directory to the uid that the engine maps %u to, or use "
		"it "
		"read-only",
		workspace->path, workspace->owner, seen, workspace->uid, workspace->uid);
}

/* ---- all of it ---- */

static int bring_up(struct opening *o, sandcell_error **err_out)
{
	int rc;

	rc = check_wait(o, err_out);
	if (rc == 0)
		rc = start(o, err_out);
	if (rc == 0)
		rc = check_wait(o, err_out);
	if (rc == 0)
		rc = sc_connect(o->s, o->deadline, err_out);
	if (rc == 0)
		rc = sc_greet(o->s, &o->ready, o->deadline, err_out);
	if (rc == SANDCELL_E_CALLBACK)
		return rc;
	if (rc < 0)
		return explain_start(o, rc, err_out);
	rc = check_mapping(o, err_out);
	if (rc == 0)
		rc = check_volumes(o, err_out);
	return rc < 0 ? rc : sc_session_summarize(o->s, o->ready.result, err_out);
}

int sc_session_start(sandcell_session *s, sc_deadline deadline, sandcell_error **err_out)
{
	struct opening o = {.s = s, .deadline = deadline, .console = SC_CONSOLE_INIT};
	int rc;

	json_decref(s->warnings);
	s->warnings = json_deep_copy(s->config.warnings);
	if (!s->warnings)
		return sc_fail_nomem(err_out);
	rc = create(&o, err_out);
	if (rc == 0)
		rc = bring_up(&o, err_out);
	if (rc < 0 && s->container)
		(void)sc_session_discard(s, sc_deadline_in_ms(REMOVE_MS), NULL);
	json_decref(o.inspect);
	sc_console_clear(&o.console);
	sc_call_clear(&o.ready);
	if (rc < 0)
		return rc;
	return sc_session_move(s, SESSION_NEW | SESSION_LOST, SESSION_READY, err_out);
}
