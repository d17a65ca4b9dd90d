/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec now = {0};

	(void)clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * SC_SEC_IN_NS + (uint64_t)now.tv_nsec;
}

uint64_t sc_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t sc_wall_now_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

sc_deadline sc_deadline_in_ms(uint64_t ms)
{
	uint64_t now = sc_now_ns();

	if (ms > (SC_NEVER - now) / SC_MS_IN_NS)
		return SC_NEVER;
	return now + ms * SC_MS_IN_NS;
}

bool sc_deadline_passed(sc_deadline deadline)
{
	return deadline != SC_NEVER && sc_now_ns() >= deadline;
}

int sc_deadline_left_ms(sc_deadline deadline)
{
	uint64_t now = sc_now_ns();
	uint64_t left = 0;

	if (deadline == SC_NEVER)
		return -1;
	if (now >= deadline)
		return 0;
	left = (deadline - now) / SC_MS_IN_NS;
	if ((deadline - now) % SC_MS_IN_NS)
		left++;
	return left > INT_MAX ? INT_MAX : (int)left;
}

void sc_pause_ms(uint64_t ms, sc_deadline deadline)
{
	sc_deadline until = sc_deadline_min(sc_deadline_in_ms(ms), deadline);
	struct timespec when = {
		.tv_sec = (time_t)(until / SC_SEC_IN_NS),
		.tv_nsec = (long)(until % SC_SEC_IN_NS),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
}
