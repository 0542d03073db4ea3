/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An outbox holds what has to go to another process of ours over a socket and has not gone yet, because that process
 * reads slower than facts come. Nothing in it waits.
 */
#ifndef PROFTRACE_BASE_OUTBOX_H
#define PROFTRACE_BASE_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

struct outbox_part;

/* All zero at the beginning. */
struct outbox {
	struct outbox_part *first, *last;
	size_t bytes;	     /* of the parts that wait */
	uint64_t events;     /* in the parts that wait */
	uint64_t tried_ns;   /* the time of the last attempt to send */
	uint64_t stalled_ns; /* how long the peer has not read anything */
};

/*
 * Sends the bytes after those that wait, as far as the socket accepts them; the rest waits. Returns
 * 0 or negative errno.
 */
int outbox_put(struct outbox *o, int socket, const void *bytes, size_t size, uint64_t events);

/*
 * Sends what the socket accepts. Returns 0: nothing waits any more; -EAGAIN: something does; or
 * another negative errno.
 */
int outbox_send(struct outbox *o, int socket);

void outbox_clear(struct outbox *o);

#endif
