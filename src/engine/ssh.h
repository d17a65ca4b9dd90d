/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_SSH_H
#define SC_ENGINE_SSH_H

/*
 * A connection to an engine on another machine: the ssh program, and behind it `docker
 * system dial-stdio` (or podman's), talking over a socket pair.  It never asks anything:
 * keys and known hosts must be in place.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/child.h"
#include "engine/address.h"

struct sc_ssh {
	int fd;		 /* ours */
	int other_fd;	 /* the program's, until it runs; or a socket that will accept it */
	int words;	 /* what ssh writes to its stderr */
	char folder[32]; /* of the socket that will accept it; "" none */
	struct sc_child child;
	struct sc_ssh *next; /* in the owner's list */
};

/* Connected, and running. */
int sc_ssh_open(const struct sc_address *address, uint32_t connect_ms,
	struct sc_ssh **ssh_out, sandcell_error **err_out);

/*
 * For libcurl, which insists on connecting by itself (7.88 even when it is told that the
 * socket is connected): ssh->fd is a socket to be connected to target, and once it is,
 * sc_ssh_run() puts the program behind it.
 */
int sc_ssh_prepare(struct sc_ssh **ssh_out, struct sockaddr_un *target);
int sc_ssh_run(struct sc_ssh *ssh, const struct sc_address *address, uint32_t connect_ms,
	sandcell_error **err_out);

/* Appends what ssh complained about so far: the reason why the connection ended. */
void sc_ssh_complaint(const struct sc_ssh *ssh, sc_buf *text);
/* Closes, ends the program, frees; NULL is fine. */
void sc_ssh_close(struct sc_ssh *ssh);

#endif
