/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_FINDINGS_H
#define SANDCELL_CLI_FINDINGS_H

/* What a check found, one line or one JSON object each, and how often it was a problem. */

enum finding { FINDING_OK = 0, FINDING_WARN, FINDING_FAIL };

struct findings {
	int json;
	int count[FINDING_FAIL + 1];
};

/* advice: what to do about it; NULL: nothing. */
__attribute__((format(printf, 5, 6))) void findings_add(struct findings *findings,
	enum finding finding, const char *check, const char *advice, const char *fmt, ...);

#endif
