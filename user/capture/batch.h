/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batch mode: threads write their marks into batches of their own, in their own memory, and hand them
 * over when they are full (include/proftrace.h, section 4). This puts what comes in batches back into
 * the order in which it happened, together with what the kernel tells, and hands it to decode.c as the
 * records that exact mode has.
 *
 *	batch.c		what comes from the ring buffer
 *	batch_streams.c	the batches that there are, and whose they are
 *	batch_take.c	which events of a batch have not been seen yet, from wherever
 *	batch_read.c	batches that have not been handed over, read in the program's memory
 *	batch_find.c	batches that were there before the recording
 *	batch_room.c	processes whose threads may have batches
 *	batch_merge.c	all streams by time, up to a moment of which everything is known
 *	batch_event.c	what stands in one event
 *	batch_mark.c	from there to the event that the timeline takes
 *	batch_nesting.h	levels of slices: here, what bpf/marks.bpf.c does in exact mode
 *	batch_clock.c	from the processor's counter to CLOCK_MONOTONIC
 *
 * The moment of which everything is known: up to which the ring buffer has been read (capture/rings.h says
 * why that is not the moment at which nothing more is to be had from it); then the batches in memory are
 * read. Whatever happened before that moment is in one of these; what was handed over while they were
 * read is missing, which shows, and waits for the next round. So nothing is handed on later than a round
 * or two after it happened, while its thread lives, however long that thread is silent.
 */
#ifndef PROFTRACE_CAPTURE_BATCH_H
#define PROFTRACE_CAPTURE_BATCH_H

#include "capture/internal.h"
#include "capture/merge_heap.h"
#include "rare.h"

/* One moment by both clocks. */
struct batch_moment {
	uint64_t ticks;
	uint64_t ns;
};

#define BATCH_KNOWN_BITS 10

#define BATCH_MOMENTS 1024 /* kept: events that come later than so many rounds are placed roughly */

/* Between two moments that follow on one another. */
struct batch_pace {
	uint64_t from_ticks, to_ticks, from_ns;
	uint64_t rate; /* ns of a tick, as a fraction of 2^32 */
};

struct batch_clock {
	struct batch_moment moments[BATCH_MOMENTS];
	uint64_t n;		/* ever taken */
	struct batch_pace pace; /* between the two in question */
	uint64_t
		error_ns; /* the largest distance of a moment from where those around it place it */
};

/* NULL when events can be placed in time by the processor's counter, else why not. */
const char *batch_clock_missing(void);
/* This moment by both clocks; *ret_width: ticks that the reading took, which may have been anywhere in. */
struct batch_moment batch_clock_read(uint64_t *ret_width);
/* The counter. */
uint64_t batch_clock_now(void);
/* What the counter was, or will be, then; roughly: the rate is the latest one. */
uint64_t batch_clock_ticks(const struct batch_clock *clock, uint64_t ns);
/* Takes a moment. */
void batch_clock_look(struct batch_clock *clock);
/* What does not lie where the one before did. */
uint64_t batch_clock_look_up(struct batch_clock *clock, uint64_t ticks);

static inline bool batch_pace_has(const struct batch_pace *pace, uint64_t ticks)
{
	return ticks >= pace->from_ticks && ticks <= pace->to_ticks;
}

static inline uint64_t batch_pace_ns(const struct batch_pace *pace, uint64_t ticks)
{
	const uint64_t since = ticks - pace->from_ticks;

	/* A recorder that was stopped for a while has a pace of some seconds. */
	return pace->from_ns + (uint64_t)((unsigned __int128)since * pace->rate >> 32);
}

static inline uint64_t batch_clock_ns(struct batch_clock *clock, uint64_t ticks)
{
	if (rare(!batch_pace_has(&clock->pace, ticks)))
		return batch_clock_look_up(clock, ticks);
	return batch_pace_ns(&clock->pace, ticks);
}

/* What is open on a thread; as struct thread_state of bpf/state.h. */
struct batch_thread {
	uint32_t pid, tid; /* the key */
	struct batch_process *process;
	struct batch_thread *next, **place; /* of the process */
	struct batch_stream *streams;
	unsigned n_streams;
	uint32_t depth;
	uint32_t too_deep;
	uint64_t recorded, left_out;
	bool lost; /* something: an END that finds nothing may be that of a lost BEGIN */
	uint64_t token[MAX_NESTING];
	UT_hash_handle hh;
};

struct batch_process {
	uint32_t pid;
	int memory; /* /proc/PID/mem; -1: not open; -2: cannot be opened */
	bool paused, stopped;
	struct batch_thread *threads;
	struct batch_stream *streams; /* of its threads, and of those that have ended */
	uint64_t from_ns;	      /* what happened before is not recorded */
	unsigned walked;	      /* batches that were looked at as it was attached to */
	UT_hash_handle hh;
};

#define BATCH_STOPS_WITHIN_NS 2000000000ull
#define STREAM_SITES	      64

/* The events of one thread in one batch, in the order of their times. */
struct batch_stream {
	struct merge_head head; /* when its first event was */
	uint64_t key[2];	/* process id, address of the batch */
	/* NULL: it has ended. The batch stays, and may become another's. */
	struct batch_thread *thread;
	uint32_t owner; /* that thread as the batch says, which changes before anything else does */
	const struct file *file;
	uint64_t flush; /* where the flush site of the file is in the process's memory */
	uint64_t
		place_of_file; /* of its sites, and where they are: the same for all such streams */
	/* What has been seen of it, in bytes and in events; and of that, what was handed over. */
	uint64_t taken, events;
	uint64_t handed, handed_events;
	/* Everything up to here is known; before the first event, up to when it became the thread's. */
	uint64_t last_ticks, since_ns;
	/* Since when something of it is missing that must be in the ring buffer, if anywhere. */
	uint64_t missing_ns, missing_base;
	uint64_t lost; /* events that are missing before the first one that waits */
	bool unsorted;
	unsigned searches; /* for where an event begins, that this batch may cost yet */
	/* Of a batch that its thread has left, with events that are not complete: a bit for each word
	 * at which one was that has been seen. */
	uint64_t *seen;
	uint64_t found; /* in memory, as the recording began: what came before is not of it */
	bool was_there; /* then; what was handed over until it had begun is not of it either */
	bool ended;	/* its thread has: all that was in it has come */
	bool over;	/* nothing more comes: goes when it is empty */
	/* Events that wait, as they were in the batch. */
	uint64_t *words;
	size_t begin, end, room; /* in words */
	size_t gap;		 /* where in them some are missing; SIZE_MAX: nowhere */
	struct {
		uint32_t stub;
		uint32_t site; /* + 1 */
	} sites[STREAM_SITES];
	struct batch_stream *next, **place; /* all there are */
	struct batch_stream *next_of_thread, **place_of_thread;
	struct batch_stream *next_of_process, **place_of_process;
	bool stale; /* in the heap: its first event there is another by now, a later one */
	bool known; /* in the table */
	UT_hash_handle hh;
};

/* Not so marks that went past all batches, whose stream has the number of their thread as its address. */
static inline bool batch_stream_in_memory(const struct batch_stream *s)
{
	return s->key[1] > UINT32_MAX;
}

struct batches {
	struct batch_clock clock;
	struct batch_stream *streams, *table;
	struct merge_head **heap;
	unsigned n_streams, heap_room;
	struct batch_thread *threads;
	struct batch_process *processes;
	struct batch_room *rooms;
	unsigned n_rooms; /* that are made */
	uint64_t room_ns; /* when one was made or undone */
	bool paused;	  /* all processes that have not spoken since */
	bool finding;	  /* a process is being attached to, of which nothing is recorded yet */
	uint64_t since_ns, until_ns; /* what happens before or later is not recorded */

	/* What the kernel told, by time, each behind a word that says how many bytes it takes. */
	uint64_t *told, told_last_ns;
	size_t told_begin, told_end, told_room;
	size_t waiting;	     /* words in all streams */
	size_t enough;	     /* when so many wait, a round is due */
	bool urgent;	     /* something that others wait for has been told */
	uint64_t round_ns;   /* when the last round was */
	uint64_t took_ns;    /* and how long it took */
	uint64_t known_ns;   /* up to here everything is known, and has been handed on */
	uint64_t drained_ns; /* what was written before it has been taken from the ring buffer */

	/* The account. */
	uint64_t marked;
	uint64_t
		overlap; /* marks that the kernel counts as lost, and which were seen in memory before */
	uint64_t slots[ACCOUNT_SLOTS];
	uint64_t unreadable; /* events that were said to be there and were not, or made no sense */
	uint64_t unfollowed; /* batches of which marks may be missing: there is no room for more */
	uint64_t clock_errors;

	struct known_mark *known[1 << BATCH_KNOWN_BITS]; /* batch_mark.c */
	uint64_t memory[BATCH_MAX / 8];			 /* one batch, as read */
	struct {
		struct record_full record;
		char bytes[MAX_ARGS * MAX_STRING + 2 * MAX_NAME + 8];
	} record;
};

/* Where an event stands in words: at least so many, and how many there are. */
#define BATCH_EVENT_HEAD	 3
#define BATCH_EVENT_WORDS(event) ((event)[2] >> 56)

#define META_NAME_DYNAMIC (1ull << 32)
#define META_HAS_STRINGS  (1ull << 33)
#define META_IN_REGISTERS (1ull << 34)
#define META_CATEGORIES	  (1ull << 35)

/* What an event says. The values and the bytes of strings are where it is. */
struct batch_event {
	uint64_t meta, a, b, name_length;
	uint8_t a_at, b_at, keys_at; /* in words; 0: not there */
	uint32_t stub;		     /* the low half of its address */
	int32_t name, keys;	     /* from there */
	unsigned n;		     /* of pairs */
	const uint64_t *values;
	const char *bytes;
	size_t n_bytes;
};

int batches_new(struct batches **ret_batches);
void batches_free(struct batches *b);

/* A record from the ring buffer. */
void batches_take(struct capture *c, const struct record *r, size_t size);
/* Hands on what is complete, if it is time for it or `now`; the ring buffer has been drained before. */
void batches_round(struct capture *c, bool now);
/* The end: all that happened before is handed on. */
void batches_stop(struct capture *c);
void batches_pause(struct capture *c, bool pause);
/* Marks that process made before this moment are not recorded. */
void batches_from_now(struct capture *c, pid_t pid);

/* batch_streams.c */
struct batch_process *batch_process_of(struct batches *b, uint32_t pid);
struct batch_thread *batch_thread_of(struct batches *b, uint32_t pid, uint32_t tid);
struct batch_stream *batch_stream_of(struct batches *b, uint32_t pid, uint64_t address);
/* Becomes the thread's, and its process's as well, where it is not yet. */
void batch_stream_give(struct batch_stream *s, struct batch_thread *t);
/* Nothing more comes for it: what comes from its address is another's. */
void batch_stream_forget(struct batches *b, struct batch_stream *s);
/* What was to be handed over before this batch has not come, and will not. */
void batch_stream_lost(struct batches *b, struct batch_stream *s, const struct batch_head *head);
void batch_stream_free(struct batches *b, struct batch_stream *s);
/* NULL: there is one already, or no memory. */
struct batch_stream *batch_stream_new(struct batches *b, struct batch_thread *t, uint64_t address,
				      const struct file *file, const struct batch_head *head);
void batch_thread_over(struct batches *b, uint32_t pid, uint32_t tid);
void batch_process_over(struct batches *b, uint32_t pid);
/* Its memory is another's from here on: what comes now is of new streams. */
void batch_process_renewed(struct batches *b, uint32_t pid);

/*
 * batch_take.c: takes the events of this batch that are new; `handed`: handed over, so that what is
 * lacking is lost. `events` has room for `bytes`.
 */
void batch_stream_take(struct capture *c, struct batch_stream *s, const struct batch_head *head,
		       const uint64_t *events, size_t bytes, bool handed);

/*
 * batch_read.c: takes what is in the program's memory. Returns the moment up to which everything is
 * known, ns.
 */
uint64_t batches_read(struct capture *c);
/* Its memory, to be read; negative: it cannot be. */
int batch_process_memory(struct capture *c, struct batch_process *p);

/*
 * batch_find.c: takes up the batches that threads of the process already have, since it was recorded
 * before: nobody will tell of these. `start` and `offset` are of the mapping of the file's code.
 */
void batches_find(struct capture *c, uint32_t pid, const struct file *file, uint64_t start,
		  uint64_t offset);

/* batch_room.c */
/* A mark came by itself; or a thread may not be asked for what a batch takes. */
void batch_room_wanted(struct capture *c, const struct record_batch *r);
/* The file has been found in the process, before it goes on. */
void batch_room_now(struct capture *c, pid_t pid, const struct file *file);
void batch_rooms_round(struct capture *c);
/* It executes another program: in a moment, while a thread of it waits, or has done so. */
void batch_rooms_exec(struct capture *c, pid_t pid, uint64_t ns);
void batch_rooms_over(struct capture *c, pid_t pid);
/* The end: all are undone; or whoever made them is gone. */
void batch_rooms_free(struct capture *c);
void batch_rooms_forget(struct batches *b);

/*
 * batch_event.c: `event` has as many words as it says, BATCH_EVENT_HEAD at least. False: that are too
 * few for what else it says; then what stands behind its head is nothing.
 */
bool batch_event_read(const uint64_t *event, struct batch_event *ret);

/* batch_mark.c: the first event of a stream, which happened at `ns` */
void batch_event_take(struct capture *c, struct batch_stream *s, const uint64_t *event,
		      uint64_t ns);
void batch_marks_free(struct batches *b);

/* decode.c */
void decode_take(struct capture *c, const struct record *r, size_t size);

#endif
