/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets with descriptors between two processes of ours, over SOCK_SEQPACKET. */
#ifndef PROFTRACE_BASE_MESSAGE_H
#define PROFTRACE_BASE_MESSAGE_H

#include <stddef.h>

#define MESSAGE_KERNEL_FDS 253 /* that the kernel allows in one packet */

/*
 * All return negative errno on failure: -EPIPE if the peer has closed the socket, -EMSGSIZE if a
 * packet is larger than the buffer. Descriptors for which there is no space are closed.
 */

/* A packet of two parts, the second of which may be empty. Returns 0. */
int message_send(int socket, const void *head, size_t head_size, const void *body, size_t body_size,
		 const int *fds, unsigned n_fds);
/*
 * Returns 0. *ret_size: bytes received, at most `size`. *n_fds: capacity of `fds`, then the number
 * received.
 */
int message_receive(int socket, void *buffer, size_t size, size_t *ret_size, int *fds,
		    unsigned *n_fds);
/* The same with two buffers: bytes that do not fit into `head` go into `body`. */
int message_receive_parts(int socket, void *head, size_t head_size, void *body, size_t body_size,
			  size_t *ret_size, int *fds, unsigned *n_fds);

#endif
