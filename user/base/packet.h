/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets between two processes of ours over SOCK_SEQPACKET, each with one descriptor or none. */
#ifndef PROFTRACE_BASE_PACKET_H
#define PROFTRACE_BASE_PACKET_H

#include <stddef.h>

/*
 * Receives a packet and the descriptor that came with it (-1: none). Returns the packet's size, or
 * negative errno: -EPIPE if the peer has closed the socket, -EMSGSIZE if the packet is larger.
 */
int packet_receive(int socket, void *packet, size_t size, int *ret_fd);
/* `fd`: -1: none. Returns 0 or negative errno. */
int packet_send(int socket, const void *packet, size_t size, int fd);

#endif
