/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_BENCH_H
#define SANDCELL_BENCH_H

/*
 * What a benchmark needs: pairs of things timed turn by turn on one engine, printed as
 * medians and as the ratio that the project promises.  Any failure ends the program.
 */

#include <stdint.h>

#include "engine/engine.h"
#include "engine/stream.h"
#include "sandcell/sandcell.h"

#define BENCH_IMAGE	    "sandcell/python"
#define BENCH_DATASCI_IMAGE "sandcell/datasci"

struct bench {
	sandcell_engine *engine;
	const char *docker; /* the CLI to compare with */
	int quick;	    /* a tenth of the rounds */
	int json;
	int missed; /* ratios that missed their goal */
};

typedef void (*bench_step)(void *user);

/* Median ns of rounds calls of each step, taken in turns; of the first, `times` a turn. */
void bench_pair(unsigned int rounds, unsigned int times, bench_step one, void *one_user,
	uint64_t *one_ns, bench_step two, void *two_user, uint64_t *two_ns);
uint64_t bench_median(uint64_t *values, size_t count);
unsigned int bench_rounds(const struct bench *bench, unsigned int rounds);

/*
 * Prints one line; ratio = ours / theirs.  goal > 0: the ratio must be at most that;
 * goal < 0: theirs / ours must be at least -goal; 0: only told.
 */
void bench_report(struct bench *bench, const char *what, uint64_t ours_ns,
	const char *against, uint64_t theirs_ns, double goal);

__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *fmt, ...);
/* Ends the program with the error's message when rc < 0. */
void bench_check(int rc, sandcell_error *err, const char *what);

sandcell_session *bench_session(
	struct bench *bench, const char *image, const char *preload);
void bench_close(sandcell_session *session);
/* Runs code, which has to succeed. */
void bench_run(sandcell_session *session, const char *code);
/* Runs a program to its end, its output thrown away; must exit with 0. */
void bench_spawn(const char *const *argv);

/* A raw stream to a program in a session's container, beside the runner. */
sc_stream *bench_raw(
	struct bench *bench, const sandcell_session *session, const char *const *argv);
/* Sends len bytes, and waits until the same number has come back. */
void bench_raw_echo(sc_stream *stream, const char *data, size_t len);
/* Reads to the end: bytes of the framed stream. */
uint64_t bench_raw_drain(sc_stream *stream);

void bench_open(struct bench *bench);
void bench_execute(struct bench *bench);
void bench_output(struct bench *bench);
void bench_reset(struct bench *bench);
void bench_cli(struct bench *bench);

#endif
