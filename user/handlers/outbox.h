/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is to go to another process over a socket, and has not gone yet, since it takes it slower than it
 * comes. Nothing here waits.
 */
#ifndef PROFTRACE_HANDLERS_OUTBOX_H
#define PROFTRACE_HANDLERS_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

struct outbox_part;

/* Begins as all zeros. */
struct outbox {
	struct outbox_part *first, *last;
	size_t bytes;	     /* that wait */
	uint64_t events;     /* that they are of */
	uint64_t tried_ns;   /* when the last attempt was made to send some */
	uint64_t stalled_ns; /* for so long nothing has been taken */
};

/* Sends it behind what waits, as far as it goes; the rest waits. Returns 0 or negative errno. */
int outbox_put(struct outbox *o, int socket, const void *bytes, size_t size, uint64_t events);

/* Sends what goes. Returns 0: nothing waits any more; -EAGAIN: some does; or another negative errno. */
int outbox_send(struct outbox *o, int socket);

void outbox_clear(struct outbox *o);

#endif
