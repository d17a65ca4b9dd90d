/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_ADDRESS_H
#define SC_ENGINE_ADDRESS_H

/*
 * Where an engine is, in the notation of DOCKER_HOST: unix:///path, tcp://host:port,
 * ssh://user@host:port.  Pure: reads text, touches nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

enum sc_scheme { SC_SCHEME_UNIX, SC_SCHEME_TCP, SC_SCHEME_SSH };

struct sc_address {
	enum sc_scheme scheme;
	char *text;    /* canonical form */
	char *path;    /* unix: of the socket; ssh: of the socket there, or NULL */
	char *user;    /* ssh; NULL: the client's choice */
	char *host;    /* tcp, ssh; an IPv6 address without brackets */
	uint16_t port; /* tcp: 2375, or 2376 with TLS, when none was given; ssh: 0 */
	bool tls;      /* https:// said so */
};

#define sc_autoaddress SANDCELL_CLEANUP(sc_address_clear) struct sc_address

/* SANDCELL_E_INVAL with the reason; address is empty then. */
int sc_address_parse(
	const char *text, struct sc_address *address, sandcell_error **err_out);
void sc_address_clear(struct sc_address *address);

#endif
