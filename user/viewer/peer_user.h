/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose process is at the other end of a TCP connection over the loopback interface. */
#ifndef PROFTRACE_VIEWER_PEER_USER_H
#define PROFTRACE_VIEWER_PEER_USER_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The user who made the socket `peer` that is connected to `port` of 127.0.0.1. The kernel answers for exactly this
 * connection; the user cannot choose the answer. Returns 0; -ENOTCONN if there is only a socket that listens;
 * another negative errno if there is none, or the kernel has no sock_diag(7).
 */
int peer_user(const struct sockaddr_in *peer, uint16_t port, uid_t *ret_uid);

#endif
