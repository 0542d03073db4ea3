/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets between two processes of ours over SOCK_SEQPACKET, each with one descriptor or none. */
#ifndef PROFTRACE_BASE_PACKET_H
#define PROFTRACE_BASE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Waits for a packet, or the end of the peer, for at most *left_ns, from which it takes the time that passed. Once
 * `give_up` (may be NULL) returns true, no more than half a second is left: a peer that works replies in that time.
 * Returns 0 or negative errno: -ETIMEDOUT, or -ECANCELED if the time was over because of `give_up`.
 */
int packet_wait(int socket, uint64_t *left_ns, bool (*give_up)(void *context), void *context);
/*
 * Receives a packet and the descriptor that came with it (-1: none). Returns the packet's size, or
 * negative errno: -EPIPE if the peer has closed the socket, -EMSGSIZE if the packet is larger.
 */
int packet_receive(int socket, void *packet, size_t size, int *ret_fd);
/* `fd`: -1: none. Returns 0 or negative errno. */
int packet_send(int socket, const void *packet, size_t size, int fd);

#endif
