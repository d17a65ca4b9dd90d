/* SPDX-License-Identifier: MIT */
#ifndef SC_BASE_CLOCK_H
#define SC_BASE_CLOCK_H

/*
 * Deadlines.  Inside the library every wait ends at a point of the monotonic clock, in
 * nanoseconds; SC_NEVER waits for ever.  Durations exist at the public interface only,
 * where they are turned into a deadline once, so that retries do not add up.
 */

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t sc_deadline;

#define SC_NEVER     UINT64_MAX
#define SC_MS_IN_NS  UINT64_C(1000000)
#define SC_SEC_IN_NS UINT64_C(1000000000)

uint64_t sc_now_ns(void);      /* monotonic */
uint64_t sc_wall_now_ns(void); /* since 1970; for labels and engine events only */
sc_deadline sc_deadline_in_ms(uint64_t ms);
bool sc_deadline_passed(sc_deadline deadline);
/* What is left, rounded up, as poll(2) wants it: -1 for SC_NEVER, 0 when it has passed. */
int sc_deadline_left_ms(sc_deadline deadline);
/* Sleeps at most ms, and not past the deadline.  For polling an engine, never for locks. */
void sc_pause_ms(uint64_t ms, sc_deadline deadline);

static inline sc_deadline sc_deadline_min(sc_deadline a, sc_deadline b)
{
	return a < b ? a : b;
}

#endif
