/* SPDX-License-Identifier: MIT */
/* cat, head, tail, file, stat: what is in it. */
#include "session/policy/tables.h"

#define FOLLOWS "it never ends; read the file again instead"

static const struct sc_opt cat_opts[] = {
	SC_FLAG('A', "show-all"),
	SC_FLAG('b', "number-nonblank"),
	SC_FLAG('e', NULL),
	SC_FLAG('E', "show-ends"),
	SC_FLAG('n', "number"),
	SC_FLAG('s', "squeeze-blank"),
	SC_FLAG('t', NULL),
	SC_FLAG('T', "show-tabs"),
	SC_FLAG('u', NULL),
	SC_FLAG('v', "show-nonprinting"),
	SC_HELP,
};

const struct sc_spec sc_spec_cat = {.name = "cat", SC_OPTS(cat_opts)};

static const struct sc_opt head_opts[] = {
	SC_VALUE('c', "bytes"),
	SC_VALUE('n', "lines"),
	SC_FLAG('q', "quiet"),
	SC_FLAG(0, "silent"),
	SC_FLAG('v', "verbose"),
	SC_FLAG('z', "zero-terminated"),
	SC_HELP,
};

const struct sc_spec sc_spec_head = {
	.name = "head",
	SC_OPTS(head_opts),
	.flags = SC_SPEC_DIGITS,
};

static const struct sc_opt tail_opts[] = {
	SC_VALUE('c', "bytes"),
	SC_VALUE('n', "lines"),
	SC_FLAG('q', "quiet"),
	SC_FLAG(0, "silent"),
	SC_FLAG('v', "verbose"),
	SC_FLAG('z', "zero-terminated"),
	SC_REFUSE('f', "follow", FOLLOWS),
	SC_REFUSE('F', NULL, FOLLOWS),
	SC_REFUSE(0, "max-unchanged-stats", FOLLOWS),
	SC_REFUSE(0, "pid", FOLLOWS),
	SC_REFUSE(0, "retry", FOLLOWS),
	SC_REFUSE('s', "sleep-interval", FOLLOWS),
	SC_HELP,
};

const struct sc_spec sc_spec_tail = {
	.name = "tail",
	SC_OPTS(tail_opts),
	.flags = SC_SPEC_DIGITS,
};

static const struct sc_opt file_opts[] = {
	SC_FLAG('b', "brief"),
	SC_VALUE('e', "exclude"),
	SC_VALUE(0, "exclude-quiet"),
	SC_VALUE('F', "separator"),
	SC_FLAG('i', "mime"),
	SC_FLAG(0, "apple"),
	SC_FLAG(0, "extension"),
	SC_FLAG(0, "mime-type"),
	SC_FLAG(0, "mime-encoding"),
	SC_FLAG('k', "keep-going"),
	SC_FLAG('L', "dereference"),
	SC_FLAG('h', "no-dereference"),
	SC_FLAG('n', "no-buffer"),
	SC_FLAG('N', "no-pad"),
	SC_FLAG('0', "print0"),
	SC_FLAG('r', "raw"),
	SC_FLAG('v', "version"),
	SC_FLAG(0, "help"),
	SC_REFUSE('m', "magic-file", SC_READS),
	SC_REFUSE('z', "uncompress", SC_RUNS),
	SC_REFUSE('Z', "uncompress-noreport", SC_RUNS),
	SC_REFUSE('c', "checking-printout", "it debugs magic files"),
	SC_REFUSE('f', "files-from", SC_READS),
	SC_REFUSE('l', "list", "it debugs magic files"),
	SC_REFUSE('p', "preserve-date", "it sets the times of a file"),
	SC_REFUSE('P', "parameter", "it lifts limits of the parser"),
	SC_REFUSE('s', "special-files", "it reads devices"),
	SC_REFUSE('S', "no-sandbox", "it lifts a protection"),
	SC_REFUSE('C', "compile", SC_WRITES),
	SC_REFUSE('d', "debug", "it debugs magic files"),
};

const struct sc_spec sc_spec_file = {.name = "file", SC_OPTS(file_opts)};

static const struct sc_opt stat_opts[] = {
	SC_FLAG('L', "dereference"),
	SC_FLAG('f', "file-system"),
	SC_VALUE(0, "cached"),
	SC_VALUE('c', "format"),
	SC_VALUE(0, "printf"),
	SC_FLAG('t', "terse"),
	SC_HELP,
};

const struct sc_spec sc_spec_stat = {.name = "stat", SC_OPTS(stat_opts)};
