/* SPDX-License-Identifier: MIT */
#ifndef TLS_FRONT_H
#define TLS_FRONT_H

/*
 * TLS on a port of this machine in front of a Unix socket, as dockerd --tlsverify serves
 * it: with a certificate of its own authority, and for clients with one of that authority
 * only.
 */

#include <stdbool.h>

typedef struct tls_front tls_front;

/* plain: no TLS, just the port. */
tls_front *tls_front_start(const char *socket_path, bool plain);
void tls_front_stop(tls_front *front);
int tls_front_port(const tls_front *front);
/* Has ca.pem, cert.pem and key.pem of a client; other_ca.pem signed nothing of these. */
const char *tls_front_folder(const tls_front *front);

#endif
