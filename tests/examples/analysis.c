/* SPDX-License-Identifier: MIT */
/*
 * Several pieces of Python on one session, each of which uses what the ones before it left:
 *
 *     analysis WORKSPACE STEP.py...
 *
 * Output is shown as it arrives, then the value of the step's last expression.  The first
 * step that fails ends the run.
 */
#include <stdio.h>
#include <stdlib.h>

#include <sandcell/sandcell.h>

static int print_output(sandcell_stream stream, const void *data, size_t len, void *user)
{
	FILE *out = stream == SANDCELL_STDOUT ? stdout : stderr;

	(void)user;
	fwrite(data, 1, len, out);
	fflush(out);
	return 0;
}

/* The file's content, or NULL with a message; the caller frees it. */
static char *read_file(const char *path, size_t *len_out)
{
	size_t capacity = 1 << 20;
	char *text = malloc(capacity);
	FILE *file = fopen(path, "rb");

	if (file == NULL || text == NULL) {
		perror(path);
		free(text);
		text = NULL;
	} else {
		*len_out = fread(text, 1, capacity, file);
	}
	if (file != NULL)
		fclose(file);
	return text;
}

/* Runs one file on the session; 0 when its code succeeded. */
static int run_step(sandcell_session *session, const char *path, sandcell_error **err)
{
	sandcell_execute_options opts = SANDCELL_EXECUTE_OPTIONS_INIT;
	sandcell_result *result = NULL;
	size_t len = 0;
	char *code = read_file(path, &len);
	int rc = -1;

	if (code == NULL)
		return -1;
	opts.on_output = print_output;
	printf("\n== %s\n", path);
	if (sandcell_execute(session, code, len, &opts, &result, err) == 0) {
		const char *value = sandcell_result_get_output(result, NULL);
		const char *error = sandcell_result_get_error(result);

		if (value != NULL)
			printf("-> %s\n", value);
		if (error != NULL)
			fprintf(stderr, "%s\n", error);
		printf("(%.2f s)\n", (double)sandcell_result_get_duration_ns(result) / 1e9);
		rc = sandcell_result_get_success(result) ? 0 : -1;
	}
	sandcell_result_free(result);
	free(code);
	return rc;
}

static int run_steps(
	sandcell_engine *engine, const char *workspace, char **steps, sandcell_error **err)
{
	sandcell_session_options opts = SANDCELL_SESSION_OPTIONS_INIT;
	sandcell_session *session = NULL;
	int rc;

	opts.image = "sandcell/datasci";
	opts.workspace = workspace;
	rc = sandcell_session_open(engine, &opts, &session, err);
	while (rc == 0 && *steps != NULL)
		rc = run_step(session, *steps++, err);
	/* The steps are done: a container that cannot be removed is not their failure. */
	if (session != NULL)
		(void)sandcell_session_close(session, NULL);
	sandcell_session_free(session);
	return rc;
}

int main(int argc, char **argv)
{
	sandcell_engine *engine = NULL;
	sandcell_error *err = NULL;
	int rc;

	if (argc < 3) {
		fprintf(stderr, "usage: %s WORKSPACE STEP.py...\n", argv[0]);
		return 2;
	}
	rc = sandcell_engine_open(NULL, &engine, &err);
	if (rc == 0)
		rc = run_steps(engine, argv[1], argv + 2, &err);
	if (err != NULL)
		fprintf(stderr, "analysis: %s\n", sandcell_error_get_message(err));
	sandcell_error_free(err);
	sandcell_engine_free(engine);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
