/* SPDX-License-Identifier: MIT */
/*
 * Gives the files of a corpus to a fuzz target, for builds without libFuzzer: each whole,
 * and cut at several places.  usage: fuzz_NAME FOLDER
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "fuzz.h"

#include "base/alloc.h"

#define INPUT_MAX ((size_t)16 << 20)

static int replay(const char *folder, const char *name)
{
	sc_autofree char *text = NULL;
	char path[4096];
	size_t len = 0;

	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	if (sc_fd_read_file(path, INPUT_MAX, &text, &len) < 0) {
		perror(path);
		return -1;
	}
	for (size_t part = 0; part < 16; part++)
		(void)LLVMFuzzerTestOneInput((const uint8_t *)text, len * part / 16);
	(void)LLVMFuzzerTestOneInput((const uint8_t *)text, len);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	size_t count = 0;
	int failed = 0;

	if (!folder) {
		(void)fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return EXIT_FAILURE;
	}
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		if (entry->d_name[0] == '.')
			continue;
		failed |= replay(argv[1], entry->d_name) < 0;
		count++;
	}
	(void)closedir(folder);
	(void)printf("%zu inputs replayed\n", count);
	return failed || count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
