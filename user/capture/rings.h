/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the ring buffers of records. There is one, or there are several for different CPUs
 * (bpf/buffers.h), which are read as if they were one: a record of something that happened earlier
 * is emitted first. A single buffer is in this order already.
 *
 * A thread that moves from one CPU to another has its records in two buffers, and what one thread
 * does may be a reaction to another. So the records are merged by time, and a record is emitted
 * only when no earlier one can come any more. Three properties of ring buffers matter:
 *
 * - Space is reserved in order: a record further back has reserved its space later.
 * - A record blocks the reader from the moment when it has reserved its space until its thread has
 *   filled it in. That may be long, if the thread loses its CPU meanwhile. So even if nothing more
 *   can be read, earlier records may exist.
 * - The time of a record may be taken before or after the reservation. It is before for most
 *   kinds, such as END, and after for BEGIN and a few others. So a buffer is nearly sorted by
 *   time, but not completely.
 *
 * Each buffer has a time `known_ns`: all records that had reserved their space before then have
 * been seen. The later of two times counts:
 *
 * - The clock is read, and then the position of the producer. Once the buffer has been read up to
 *   this position, all records that had reserved their space by that time have been seen, even if
 *   there were none.
 * - A record has been seen whose time was taken before its reservation. All records behind it
 *   reserved their space later than that.
 *
 * The watermark is the least of these times over all buffers. Records up to the watermark are
 * emitted, sorted by time. This is correct: let X have happened before Y, so that the record of X
 * was complete before the time of Y was taken. That is so for two actions of one thread, on
 * whichever CPUs, and for a reaction of another thread. If Y is emitted, its time is not after the
 * watermark. X had reserved its space before that time, so X has been seen. The time of X is before
 * that of Y, so X was emitted first.
 *
 * A record may come late: its thread took the time, lost its CPU and reserved the space later. It
 * is emitted at once. As shown above, nothing that was emitted before depended on it.
 *
 * Only times and positions are copied. The records stay in the buffers until they are emitted. So
 * when the recorder is slow, the kernel finds the buffers full and counts the losses.
 */
#ifndef PROFTRACE_CAPTURE_RINGS_H
#define PROFTRACE_CAPTURE_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rings;

/* Handles a record. A value other than 0 means that no more are wanted for now. */
typedef int (*rings_handler)(void *context, void *record, size_t size);

/* `size`: bytes of each buffer. The descriptors are borrowed. */
int rings_open(const int *fds, unsigned n, size_t size, rings_handler take, void *context,
	       struct rings **ret_rings);
void rings_close(struct rings *rings);

/*
 * Emits records that are complete and certain. Returns 0 if those were all that were there when it
 * began, or with one buffer, all up to an incomplete record; -EAGAIN, or the value of `take`, if
 * there may be more. `budget`: how many records are read at most, if there are several buffers.
 */
int rings_drain(struct rings *rings, unsigned budget);
/*
 * All records that were written before this time, and whose own time is before, have been emitted.
 */
uint64_t rings_known_ns(const struct rings *rings);
/* Nothing more is written: everything left may be emitted. */
void rings_end(struct rings *rings);

#endif
