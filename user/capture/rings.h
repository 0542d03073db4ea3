/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring buffer of records; or several, each of some CPUs (bpf/buffers.h), read as if they were one:
 * what happened before something else is handed on before it. One alone is in that order as it is.
 *
 * A thread that moves from one CPU to another has its records in two buffers, and what one thread does
 * may be the answer to what another did. So the records are merged by their times, and one is handed
 * on only when nothing earlier can come any more. What there is to know about that:
 *
 *  - A buffer gives room in turn: what is further back got its room later.
 *  - A record is not complete, and stops whoever reads, from the moment it has its room until its
 *    thread has filled it in; which may be long, when that thread has to give its CPU away meanwhile.
 *    So that nothing more can be read does not say that nothing was there before.
 *  - Times are taken on both sides of that moment. Most before it (an END is timed as it arrives), of
 *    a BEGIN and a few others after it. So a buffer is nearly in the order of its times, and not quite.
 *
 * Each buffer has a time `known_ns`: everything in it that had got its room before then has been seen.
 * There are two ways to learn of it, and the later time counts:
 *
 *  - The clock is read, and then how far the buffer reaches. Once it has been read up to there, all
 *    that had its room by that time has been seen, also where the buffer was empty.
 *  - A record is seen whose time was taken before it got its room. What comes behind it got its room
 *    later still.
 *
 * What is not later than the least of these times, the watermark, is handed on, sorted by time. Let X
 * have happened before Y: it was complete before the time of Y was taken, as is so of what a thread
 * does one after the other, on whichever CPUs, and of what one does because of another. If Y is
 * handed on, its time is not after the watermark; X had its room before that time, so X has been seen;
 * and its time is before that of Y, so it was handed on before.
 *
 * A record may come late: its thread took the time, then lost its CPU, then got its room. It is handed
 * on at once. What is behind the watermark already did not wait for it, as shown above.
 *
 * All that is copied is times and places. The records stay where they are until they are handed on, so
 * that the kernel counts what finds no room, however long something has to wait.
 */
#ifndef PROFTRACE_CAPTURE_RINGS_H
#define PROFTRACE_CAPTURE_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rings;

/* Not 0: that one is taken, and no more are wanted now. */
typedef int (*rings_take)(void *context, void *record, size_t size);

/* `size`: of each, in bytes. The descriptors are borrowed. */
int rings_open(const int *fds, unsigned n, size_t size, rings_take take, void *context,
	       struct rings **ret_rings);
void rings_close(struct rings *rings);

/*
 * Hands on what is complete and certain. 0: that was all that had been there at its beginning, or, of
 * one buffer, all up to a record that is not complete; -EAGAIN, or what `take` returned: more may be
 * had. `budget`: of several, so many records are looked at, at most.
 */
int rings_drain(struct rings *rings, unsigned budget);
/* Whatever was written before this moment, by its own time as well, has been handed on. */
uint64_t rings_known_ns(const struct rings *rings);
/* Nothing more is written: from now on all there is may be handed on. */
void rings_end(struct rings *rings);

#endif
