/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timeline turns events into facts.
 *
 * Events (event.h) say what happened: a mark at a time on a thread, a fork, a context switch. Facts
 * (fact.h) say what it means: a slice that began and ended, the part of it that was its own, the
 * lane on which an asynchronous slice runs, the bytes that are live in a memory pool, the training
 * step the program is in. Facts go to consumers (consumer.h), which are trace writers, reports and
 * plug-ins.
 *
 * This is the header to include from outside, with those that it includes. It calls base/ and
 * nothing else; it does not know who its consumers are.
 */
#ifndef PROFTRACE_TIMELINE_TIMELINE_H
#define PROFTRACE_TIMELINE_TIMELINE_H

#include "timeline/account.h"
#include "timeline/fact.h"

struct consumer; /* timeline/consumer.h */
struct timeline;

/*
 * names: borrowed. account: borrowed; the timeline adds to `written`, lost[] and the fields of
 * slices. uuid_base: the uuids of tracks are above it, so that traces can be merged.
 */
struct timeline *timeline_new(struct names *names, struct account *account, uint64_t uuid_base);
void timeline_free(struct timeline *timeline);

/*
 * Names the counters whose values BEGINs and ENDs carry (struct event, `counters`), at most
 * EVENT_MAX_COUNTERS, before the first of them. The facts of ENDs then have as arguments what was
 * counted in their slice and, where both cycles and instructions are counted, `ipc`.
 */
void timeline_count(struct timeline *timeline, const struct name *const *counters, unsigned n);
/*
 * The counters are multiplexed: they take turns on the hardware (struct event, `counter_enabled`).
 * `shares` are names of arguments that say in which share of a slice each of them was running.
 * Values are then estimates for all of the slice.
 */
void timeline_multiplex(struct timeline *timeline, const struct name *const *shares);
/*
 * In which share of the recorded time the counter was running, 0 to 1; NAN: no time was recorded.
 */
double timeline_share(const struct timeline *timeline, unsigned counter);

/*
 * Context switches and wakings come among the events. The facts of ENDs then have as arguments how
 * long their thread was running, runnable and blocked meanwhile. Before the first event.
 */
void timeline_states(struct timeline *timeline);
/* They also have why it was blocked, and there is a fact for each time. Only with timeline_states(). */
void timeline_wait_reasons(struct timeline *timeline);

/*
 * From now on a missing BEGIN is no sign of a loss, because the recorder pauses processes.
 * (Processes that pause themselves say so with EVENT_PAUSE.)
 */
void timeline_has_gaps(struct timeline *timeline);
/*
 * When the recording starts: slices with times of their own that begin before are cut, as those are
 * whose begin was not recorded. Without it they may begin at any time.
 */
void timeline_starts_at(struct timeline *timeline, uint64_t start_ns);
/*
 * The same for a schedule: what is left out counts as unscheduled and not as paused. Before the
 * first event.
 */
void timeline_scheduled(struct timeline *timeline);

/*
 * Consumers get every fact, in the order in which they were added. Borrowed until timeline_free().
 */
int timeline_add_consumer(struct timeline *timeline, struct consumer *consumer);

/* The consumer gets no more facts; it stays the caller's. */
void timeline_remove_consumer(struct timeline *timeline, struct consumer *consumer);

/*
 * Gives one consumer the present state, so that a file that begins here is complete by itself:
 * processes, threads, tracks with the latest value of each counter, and the open slices, outermost
 * first, as they began, at their own time, with the argument `continued`. Everything that the file
 * says later follows from that. Call it before timeline_add_consumer(). Returns the consumer's
 * error.
 */
int timeline_replay(struct timeline *timeline, struct consumer *consumer);

/*
 * Whether marks that become facts count as written (the default) or as unrecorded, while no file is
 * open.
 */
void timeline_set_recorded(struct timeline *timeline, bool recorded);

/* Emits an instant of the recorder itself; it is not a mark. */
void timeline_note(struct timeline *timeline, const struct name *name, uint64_t ts_ns,
		   const struct arg *args, unsigned n_args);

/* The latest PROF_STEP of any process; false: there was none so far. */
bool timeline_step(const struct timeline *timeline, uint64_t *ret_epoch, uint64_t *ret_batch);

/*
 * Processes one event. Returns 0, or once the error (negative errno) with which a consumer has just
 * stopped; the others go on. When none is left, every mark counts as LOST_OUTPUT. Events of one
 * thread must come in the order in which they happened; those of different threads may be a little
 * out of order.
 */
int timeline_event(struct timeline *timeline, const struct event *event);

/* Whether a process with this PID is alive. */
bool timeline_has_process(const struct timeline *timeline, uint32_t pid);

unsigned timeline_open_asyncs(const struct timeline *timeline); /* frames among them */

/* The capture is over: counts what is still open. */
void timeline_finish(struct timeline *timeline);

/*
 * Calls each for every slice that is still open after timeline_finish(), for the summary.
 * Asynchronous slices belong to no thread: the thread they are given has tid 0 and no name.
 */
void timeline_open_slices(const struct timeline *timeline,
			  void (*each)(void *context, const struct thread *thread,
				       const struct name *name, uint64_t begin_ns),
			  void *context);

#endif
