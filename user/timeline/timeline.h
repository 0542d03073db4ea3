/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timeline turns events into facts. It knows meaning: processes and threads and their names,
 * which END closes which BEGIN, what is a slice's own time, on which lane an asynchronous slice runs,
 * how much memory of a pool is live, which step the program is in.
 */
#ifndef PROFTRACE_TIMELINE_TIMELINE_H
#define PROFTRACE_TIMELINE_TIMELINE_H

#include "timeline/account.h"
#include "timeline/fact.h"

struct handler; /* handlers/handler.h */
struct timeline;

/*
 * names: borrowed. account: borrowed, `written`, lost[] and the slices' fields are added to.
 * uuid_base: the tracks' uuids start above it, so that traces can be joined.
 */
struct timeline *timeline_new(struct names *names, struct account *account, uint64_t uuid_base);
void timeline_free(struct timeline *timeline);

/*
 * What the values are that BEGINs and ENDs carry (struct event, `counters`), at most
 * EVENT_MAX_COUNTERS, before the first of them. ENDs then say in their args what was counted in their
 * slice, and, where both cycles and instructions are counted, `ipc`.
 */
void timeline_count(struct timeline *timeline, const struct name *const *counters, unsigned n);
/*
 * Where they take turns on the hardware (struct event, `counter_enabled`): `shares` are the names of
 * arguments that say in how much of a slice each was counted. Values are then estimates for all of it.
 */
void timeline_take_turns(struct timeline *timeline, const struct name *const *shares);
/* In how much of the time that was recorded the counter was counted, 0 to 1; NAN: there was none. */
double timeline_share(const struct timeline *timeline, unsigned counter);

/*
 * Threads' switches and wakings come among the events from now on: ENDs then say in their args what
 * their thread did meanwhile. Before the first event.
 */
void timeline_states(struct timeline *timeline);

/*
 * From now on, what processes begin need not be recorded even though nothing is lost: whoever records
 * pauses them. (Those that pause themselves say so: EVENT_PAUSE.)
 */
void timeline_has_gaps(struct timeline *timeline);
/* The same, for a schedule: what is left out is unscheduled and not paused. Before the first event. */
void timeline_scheduled(struct timeline *timeline);

/* Handlers see every fact in the order they were added. Borrowed until timeline_free(). */
int timeline_add_handler(struct timeline *timeline, struct handler *handler);

/* The handler is told nothing any more; it stays the caller's. */
void timeline_remove_handler(struct timeline *timeline, struct handler *handler);

/*
 * Tells one handler what holds now, so that a file which begins here is complete by itself: processes,
 * threads, tracks with the latest value of each counter, and what is open, outermost first, as it
 * began, at its own time, with the argument `continued`. Whatever the file says from then on follows
 * from that. Call it before timeline_add_handler(). Returns the handler's error.
 */
int timeline_replay(struct timeline *timeline, struct handler *handler);

/*
 * Whether marks that become facts count as written, which is so at first, or as unrecorded: while
 * no file is open.
 */
void timeline_set_recorded(struct timeline *timeline, bool recorded);

/* An instant that the recorder itself puts there, no mark of anybody's. */
void timeline_note(struct timeline *timeline, const struct name *name, uint64_t ts_ns,
		   const struct arg *args, unsigned n_args);

/* The latest PROF_STEP of any process; false: none so far. */
bool timeline_step(const struct timeline *timeline, uint64_t *ret_epoch, uint64_t *ret_batch);

/*
 * Takes one event. Returns 0, or once the error (negative errno) a handler has just stopped with;
 * the others go on. From where none is left every mark counts as LOST_OUTPUT. Events of one thread
 * must come in the order they happened; those of different threads may be a little out of order.
 */
int timeline_event(struct timeline *timeline, const struct event *event);

/* Whether a process of that number lives. */
bool timeline_has_process(const struct timeline *timeline, uint32_t pid);

unsigned timeline_open_asyncs(const struct timeline *timeline); /* frames among them */

/* The capture is over: counts and reports what is still open. `ts_ns`: its last moment. */
int timeline_finish(struct timeline *timeline, uint64_t ts_ns);

/*
 * Calls each for every slice still open after timeline_finish(): for the summary. Asynchronous ones
 * belong to no thread: the thread they are given has tid 0 and no name.
 */
void timeline_open_slices(const struct timeline *timeline,
			  void (*each)(void *context, const struct thread *thread,
				       const struct name *name, uint64_t begin_ns),
			  void *context);

#endif
