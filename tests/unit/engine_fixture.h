/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

/* A scripted engine, and the library connected to it. */

#include "fake_unit.h"

static fake_engine *fake;
static sandcell_engine *engine;

static inline void begin(void)
{
	fake = fake_start();
	engine = open_engine(fake);
}

static inline void begin_podman(void)
{
	static const fake_rule podman = {.on = "GET /_ping",
		.headers = "Api-Version: 1.41\r\nLibpod-Api-Version: 4.3.1\r\n",
		.body = "OK"};

	fake = fake_start();
	fake_on(fake, &podman);
	engine = open_engine(fake);
}

static inline void end(void)
{
	sc_engine_free(engine);
	fake_stop(fake);
}

#endif
