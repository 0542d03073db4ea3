/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list of byte sequences that wait for a socket, and for how long the peer has read nothing. That
 * time is added up from attempts to send: when the recorder itself was stopped between two of them,
 * the peer is not to blame, so an interval counts as STALLED_AT_ONCE_NS at most.
 */
#include "base/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * The longest time between two attempts that counts: in a longer one the recorder did something
 * else, or was stopped.
 */
#define STALLED_AT_ONCE_NS 500000000ull

struct outbox_part {
	struct outbox_part *next;
	uint64_t events;
	size_t done, size;
	char bytes[];
};

/* Returns how many bytes were sent; -EAGAIN: the socket is full; or another negative errno. */
static ssize_t outbox_send_bytes(int socket, const void *bytes, size_t size)
{
	ssize_t n = TEMP_FAILURE_RETRY(send(socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL));

	return n < 0 ? -errno : n;
}

static void outbox_drop_first(struct outbox *o)
{
	struct outbox_part *part = o->first;

	o->bytes -= part->size - part->done;
	o->events -= part->events;
	o->first = part->next;
	if (!o->first)
		o->last = NULL;
	free(part);
}

static void outbox_update_stall(struct outbox *o, size_t taken)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), since_ns = now_ns - o->tried_ns;

	if (taken)
		o->stalled_ns = 0;
	else
		o->stalled_ns += since_ns < STALLED_AT_ONCE_NS ? since_ns : STALLED_AT_ONCE_NS;
	o->tried_ns = now_ns;
}

int outbox_send(struct outbox *o, int socket)
{
	size_t taken = 0;
	ssize_t n = 0;

	if (!o->first)
		return 0;
	while (o->first && n >= 0) {
		struct outbox_part *part = o->first;

		n = outbox_send_bytes(socket, part->bytes + part->done, part->size - part->done);
		if (n < 0)
			break;
		taken += n;
		part->done += n;
		o->bytes -= n;
		if (part->done == part->size)
			outbox_drop_first(o);
	}
	outbox_update_stall(o, taken);
	return n < 0 ? (int)n : 0;
}

static int outbox_keep(struct outbox *o, const void *bytes, size_t size, uint64_t events)
{
	struct outbox_part *part = malloc(sizeof(*part) + size);

	if (!part)
		return -ENOMEM;
	*part = (struct outbox_part){ .events = events, .size = size };
	memcpy(part->bytes, bytes, size);
	if (o->last)
		o->last->next = part;
	else
		o->first = part;
	o->last = part;
	o->bytes += size;
	o->events += events;
	return 0;
}

int outbox_put(struct outbox *o, int socket, const void *bytes, size_t size, uint64_t events)
{
	int error = outbox_send(o, socket);
	size_t done = 0;

	if (error && error != -EAGAIN)
		return error;
	while (!error && done < size) {
		ssize_t n = outbox_send_bytes(socket, (const char *)bytes + done, size - done);

		if (n == -EAGAIN) {
			o->tried_ns = clock_ns(CLOCK_MONOTONIC);
			o->stalled_ns = 0;
			break;
		}
		if (n < 0)
			return (int)n;
		done += n;
	}
	return done < size ? outbox_keep(o, (const char *)bytes + done, size - done, events) : 0;
}

void outbox_clear(struct outbox *o)
{
	while (o->first)
		outbox_drop_first(o);
	*o = (struct outbox){ 0 };
}
