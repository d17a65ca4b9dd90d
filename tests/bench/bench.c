/* SPDX-License-Identifier: MIT */
/*
 * Times the library against what it has to beat; see scripts/bench.  Absolute figures are
 * of this machine and this minute, the ratios are what counts.
 */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const struct {
	const char *name;
	void (*fn)(struct bench *bench);
} sections[] = {
	{"open", bench_open},
	{"execute", bench_execute},
	{"cli", bench_cli},
	{"output", bench_output},
	{"reset", bench_reset},
};

void bench_die(const char *fmt, ...)
{
	va_list args;

	(void)fputs("bench: ", stderr);
	va_start(args, fmt);
	(void)vfprintf(stderr, fmt, args);
	va_end(args);
	(void)fputc('\n', stderr);
	exit(1);
}

void bench_check(int rc, sandcell_error *err, const char *what)
{
	if (rc < 0)
		bench_die("%s: %s", what, sandcell_error_get_message(err));
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

uint64_t bench_median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

unsigned int bench_rounds(const struct bench *bench, unsigned int rounds)
{
	if (!bench->quick)
		return rounds;
	return rounds > 30 ? rounds / 10 : 3;
}

static uint64_t timed(bench_step step, void *user)
{
	uint64_t begin = sc_now_ns();

	step(user);
	return sc_now_ns() - begin;
}

void bench_pair(unsigned int rounds, unsigned int times, bench_step one, void *one_user,
	uint64_t *one_ns, bench_step two, void *two_user, uint64_t *two_ns)
{
	size_t count = (size_t)rounds * times;
	uint64_t *ones = calloc(count, sizeof(*ones));
	uint64_t *twos = calloc(rounds, sizeof(*twos));

	if (!ones || !twos)
		bench_die("out of memory");
	/* The first of each pays for caches, and does not count. */
	one(one_user);
	two(two_user);
	for (unsigned int i = 0; i < rounds; i++) {
		for (unsigned int k = 0; k < times; k++)
			ones[(size_t)i * times + k] = timed(one, one_user);
		twos[i] = timed(two, two_user);
	}
	*one_ns = bench_median(ones, count);
	*two_ns = bench_median(twos, rounds);
	free(ones);
	free(twos);
}

static const char *format_ns(char *text, size_t size, uint64_t ns)
{
	if (ns < 1000000)
		(void)snprintf(text, size, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		(void)snprintf(text, size, "%.2f ms", (double)ns / 1e6);
	else
		(void)snprintf(text, size, "%.2f s", (double)ns / 1e9);
	return text;
}

void bench_report(struct bench *bench, const char *what, uint64_t ours_ns,
	const char *against, uint64_t theirs_ns, double goal)
{
	char ours[32];
	char theirs[32];
	char bound[48] = "";
	double ratio = (double)ours_ns / (double)theirs_ns;
	int missed = goal > 0 ? ratio > goal : goal < 0 && 1 / ratio < -goal;

	bench->missed += missed;
	if (bench->json) {
		printf("{\"what\":\"%s\",\"ours_ns\":%llu,\"against\":\"%s\",\"theirs_ns\":"
		       "%llu,"
		       "\"ratio\":%.4f,\"goal\":%g,\"met\":%s}\n",
			what, (unsigned long long)ours_ns, against,
			(unsigned long long)theirs_ns, ratio, goal,
			missed ? "false" : "true");
		return;
	}
	if (goal > 0)
		(void)snprintf(bound, sizeof(bound), "goal <= %g: %s", goal,
			missed ? "MISSED" : "met");
	else if (goal < 0)
		(void)snprintf(bound, sizeof(bound), "goal %gx faster: %s", -goal,
			missed ? "MISSED" : "met");
	printf("%-34s %10s | %-38s %10s | ", what, format_ns(ours, sizeof(ours), ours_ns),
		against, format_ns(theirs, sizeof(theirs), theirs_ns));
	if (ratio < 0.5)
		printf("%.0f x faster  %s\n", 1 / ratio, bound);
	else
		printf("%.2f x  %s\n", ratio, bound);
	(void)fflush(stdout);
}

static void usage(void)
{
	printf("usage: bench [--quick] [--json] [--docker PROGRAM] "
	       "[SECTION...]\nsections:");
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		printf(" %s", sections[i].name);
	printf("\n");
}

static int wanted(const char *name, char **names, int count)
{
	for (int i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return 1;
	}
	return count == 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"quick", no_argument, NULL, 'q'},
		{"json", no_argument, NULL, 'j'},
		{"docker", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct bench bench = {.docker = "docker"};
	sandcell_error *err = NULL;
	int option;
	int rc;

	while ((option = getopt_long(argc, argv, "qjh", options, NULL)) >= 0) {
		switch (option) {
		case 'q':
			bench.quick = 1;
			break;
		case 'j':
			bench.json = 1;
			break;
		case 'd':
			bench.docker = optarg;
			break;
		default:
			usage();
			return option == 'h' ? 0 : 2;
		}
	}
	rc = sandcell_engine_open(NULL, &bench.engine, &err);
	bench_check(rc, err, "finding an engine");
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (wanted(sections[i].name, argv + optind, argc - optind))
			sections[i].fn(&bench);
	}
	sandcell_engine_free(bench.engine);
	return bench.missed ? 3 : 0;
}
