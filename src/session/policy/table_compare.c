/* SPDX-License-Identifier: MIT */
/* diff, cmp, md5sum, sha256sum, shasum: are they the same. */
#include "session/policy/tables.h"

#define CHECKS "it reads files that are named in a file"

static const struct sc_opt diff_opts[] = {
	SC_FLAG(0, "normal"),
	SC_FLAG('q', "brief"),
	SC_FLAG('s', "report-identical-files"),
	SC_FLAG('c', NULL),
	SC_VALUE('C', NULL),
	SC_MAYBE(0, "context"),
	SC_FLAG('u', NULL),
	SC_VALUE('U', NULL),
	SC_MAYBE(0, "unified"),
	SC_FLAG('e', "ed"),
	SC_FLAG('f', "forward-ed"),
	SC_FLAG('n', "rcs"),
	SC_FLAG('y', "side-by-side"),
	SC_VALUE('W', "width"),
	SC_FLAG(0, "left-column"),
	SC_FLAG(0, "suppress-common-lines"),
	SC_FLAG('p', "show-c-function"),
	SC_VALUE('F', "show-function-line"),
	SC_VALUE('L', "label"),
	SC_FLAG('t', "expand-tabs"),
	SC_FLAG('T', "initial-tab"),
	SC_VALUE(0, "tabsize"),
	SC_FLAG(0, "suppress-blank-empty"),
	SC_FLAG('r', "recursive"),
	SC_FLAG(0, "no-dereference"),
	SC_FLAG('N', "new-file"),
	SC_FLAG('P', "unidirectional-new-file"),
	SC_FLAG(0, "ignore-file-name-case"),
	SC_FLAG(0, "no-ignore-file-name-case"),
	SC_VALUE('x', "exclude"),
	SC_VALUE('S', "starting-file"),
	SC_FLAG('i', "ignore-case"),
	SC_FLAG('E', "ignore-tab-expansion"),
	SC_FLAG('Z', "ignore-trailing-space"),
	SC_FLAG('b', "ignore-space-change"),
	SC_FLAG('w', "ignore-all-space"),
	SC_FLAG('B', "ignore-blank-lines"),
	SC_VALUE('I', "ignore-matching-lines"),
	SC_FLAG('a', "text"),
	SC_FLAG(0, "strip-trailing-cr"),
	SC_VALUE('D', "ifdef"),
	SC_VALUE(0, "changed-group-format"),
	SC_VALUE(0, "new-group-format"),
	SC_VALUE(0, "old-group-format"),
	SC_VALUE(0, "unchanged-group-format"),
	SC_VALUE(0, "line-format"),
	SC_VALUE(0, "new-line-format"),
	SC_VALUE(0, "old-line-format"),
	SC_VALUE(0, "unchanged-line-format"),
	SC_FLAG('d', "minimal"),
	SC_VALUE(0, "horizon-lines"),
	SC_FLAG('H', "speed-large-files"),
	SC_MAYBE(0, "color"),
	SC_VALUE(0, "palette"),
	SC_FLAG(0, "help"),
	SC_FLAG('v', "version"),
	SC_REFUSE('l', "paginate", SC_RUNS " (pr)"),
	SC_REFUSE('X', "exclude-from", SC_READS),
	SC_REFUSE(0, "from-file", SC_READS),
	SC_REFUSE(0, "to-file", SC_READS),
};

const struct sc_spec sc_spec_diff = {
	.name = "diff",
	SC_OPTS(diff_opts),
	.flags = SC_SPEC_DIGITS,
};

static const struct sc_opt cmp_opts[] = {
	SC_FLAG('b', "print-bytes"),
	SC_VALUE('i', "ignore-initial"),
	SC_FLAG('l', "verbose"),
	SC_VALUE('n', "bytes"),
	SC_FLAG('s', "quiet"),
	SC_FLAG(0, "silent"),
	SC_FLAG(0, "help"),
	SC_FLAG('v', "version"),
};

const struct sc_spec sc_spec_cmp = {.name = "cmp", SC_OPTS(cmp_opts)};

static const struct sc_opt sum_opts[] = {
	SC_FLAG('b', "binary"),
	SC_FLAG(0, "tag"),
	SC_FLAG('t', "text"),
	SC_FLAG('z', "zero"),
	SC_HELP,
	SC_REFUSE('c', "check", CHECKS),
	SC_REFUSE(0, "ignore-missing", CHECKS),
	SC_REFUSE(0, "quiet", CHECKS),
	SC_REFUSE(0, "status", CHECKS),
	SC_REFUSE(0, "strict", CHECKS),
	SC_REFUSE('w', "warn", CHECKS),
};

const struct sc_spec sc_spec_md5sum = {.name = "md5sum", SC_OPTS(sum_opts)};
const struct sc_spec sc_spec_sha256sum = {.name = "sha256sum", SC_OPTS(sum_opts)};

static const struct sc_opt shasum_opts[] = {
	SC_VALUE('a', "algorithm"),
	SC_FLAG('b', "binary"),
	SC_FLAG('t', "text"),
	SC_FLAG('U', "UNIVERSAL"),
	SC_FLAG('0', "01"),
	SC_FLAG(0, "tag"),
	SC_FLAG('h', "help"),
	SC_FLAG('v', "version"),
	SC_REFUSE('c', "check", CHECKS),
	SC_REFUSE(0, "ignore-missing", CHECKS),
	SC_REFUSE('q', "quiet", CHECKS),
	SC_REFUSE('s', "status", CHECKS),
	SC_REFUSE(0, "strict", CHECKS),
	SC_REFUSE('w', "warn", CHECKS),
};

const struct sc_spec sc_spec_shasum = {.name = "shasum", SC_OPTS(shasum_opts)};
