/* SPDX-License-Identifier: MIT */
/* 100 MiB of output through a callback that gets every byte, against docker exec cat. */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <openssl/evp.h>

#define SIZE (UINT64_C(100) << 20)

struct sink {
	struct bench *bench;
	sandcell_session *session;
	EVP_MD_CTX *sha;
	uint64_t bytes;
	const char *const *argv;
};

static int take(sandcell_stream stream, const void *data, size_t len, void *user)
{
	struct sink *sink = user;

	if (stream != SANDCELL_STDOUT)
		return 1;
	sink->bytes += len;
	return EVP_DigestUpdate(sink->sha, data, len) == 1 ? 0 : 1;
}

static void stream_it(void *user)
{
	static const char code[] =
		"with open('/tmp/data', 'rb') as file:\n"
		"    while chunk := file.read(65536): os.write(1, chunk)\n";
	struct sink *sink = user;
	sandcell_execute_options opts = SANDCELL_EXECUTE_OPTIONS_INIT;
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;

	opts.on_output = take;
	opts.output_user = sink;
	sink->bytes = 0;
	if (EVP_DigestInit_ex(sink->sha, EVP_sha256(), NULL) != 1)
		bench_die("no SHA-256");
	bench_check(
		sandcell_execute(sink->session, code, strlen(code), &opts, &result, &err),
		err, "execute");
	if (!sandcell_result_get_success(result) || sink->bytes != SIZE)
		bench_die("%llu bytes came: %s", (unsigned long long)sink->bytes,
			sandcell_result_get_error(result));
	sandcell_result_free(result);
}

static void docker_cat(void *user)
{
	struct sink *sink = user;

	bench_spawn(sink->argv);
}

static void check_digest(struct sink *sink)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	char text[2 * EVP_MAX_MD_SIZE + 3] = "\"";
	sandcell_result *result = NULL;
	sandcell_error *err = NULL;
	static const char code[] = "import hashlib\nhashlib.sha256(open('/tmp/data', "
				   "'rb').read()).hexdigest()";

	stream_it(sink);
	if (EVP_DigestFinal_ex(sink->sha, digest, &len) != 1)
		bench_die("no SHA-256");
	for (unsigned int i = 0; i < len; i++)
		(void)snprintf(text + 1 + (size_t)i * 2, 4, "%02x\"", digest[i]);
	bench_check(
		sandcell_execute(sink->session, code, strlen(code), NULL, &result, &err),
		err, "execute");
	const char *inside = sandcell_result_get_output(result, NULL);
	if (!inside || strcmp(inside, text) != 0)
		bench_die("the bytes that came differ: %s, inside %s", text, inside);
	sandcell_result_free(result);
}

void bench_output(struct bench *bench)
{
	struct sink sink = {.bench = bench, .sha = EVP_MD_CTX_new()};
	uint64_t ours;
	uint64_t theirs;
	struct rusage usage;

	sink.session = bench_session(bench, BENCH_IMAGE, NULL);
	bench_run(sink.session, "import os\n"
				"with open('/tmp/data', 'wb') as file:\n"
				"    for i in range(100): file.write(os.urandom(1 << 20))");
	check_digest(&sink);
	const char *argv[] = {bench->docker, "exec",
		sandcell_session_get_container(sink.session), "cat", "/tmp/data", NULL};
	sink.argv = argv;
	bench_pair(bench_rounds(bench, 20), 1, stream_it, &sink, &ours, docker_cat, &sink,
		&theirs);
	bench_report(bench, "100 MiB of stdout, SHA-256 taken", ours, "docker exec cat",
		theirs, 1 / 0.6);
	if (getrusage(RUSAGE_SELF, &usage) == 0 && !bench->json)
		printf("%-34s %7ld KiB\n", "  peak memory of this process",
			usage.ru_maxrss);
	EVP_MD_CTX_free(sink.sha);
	bench_close(sink.session);
}
