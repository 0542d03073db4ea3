/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered mode (--mode batch). Threads write their marks into buffers in their own memory, called
 * batches, and hand them over when they are full (include/proftrace.h, section 4). This folder puts
 * the events of all batches and the kernel's own records back into the order in which they
 * happened, and passes them on as the records that exact mode has.
 *
 *	batch.c		batches and kernel records from the ring buffer
 *	streams.c	all batches, and the threads and processes that own them
 *	new_events.c	which events of a batch have not been seen yet
 *	losses.c	what was seen of batches that were lost
 *	read_memory.c	reads batches that have not been handed over, in the program's memory
 *	find_existing.c	finds batches from before the recording
 *	merge.c		merges all streams by time
 *	parse_event.c	parses one event
 *	emit_marks.c	makes events of the timeline from parsed events
 *	counters.c	computes the counters of marks from their times
 *	nesting.h	follows the levels of slices, as bpf/marks/marks.bpf.c does in exact mode
 *	clock.c		converts the processor's counter to CLOCK_MONOTONIC
 *
 * A batch and its thread make a stream: a sequence of bytes and events. Each batch says how many
 * bytes and events were in it before, so each event has a position in its stream. The same event
 * may be seen several times: in the program's memory, then in the batch that is handed over, and
 * once more when the thread exits. Its position shows that it is known already. A gap between
 * positions shows lost events.
 *
 * The streams are merged in rounds, up to a moment of which everything is known. The ring buffer is
 * first read up to some moment (capture/rings.h explains which), then the batches in memory are
 * read. Everything that happened before that moment is in one or the other. A batch that is handed
 * over in between shows as a gap at the end of its stream, and the merge waits for it until the
 * next round. So an event is emitted at most a round or two after it happened while its thread
 * lives, even if the thread is silent for a long time.
 */
#ifndef PROFTRACE_CAPTURE_BATCH_BATCH_H
#define PROFTRACE_CAPTURE_BATCH_BATCH_H

#include <sys/queue.h>

#include "capture/internal.h"
#include "tracee/memory/target_memory.h"
#include "capture/merge_heap.h"
#include "base/rare.h"

/* One moment by both clocks. */
struct batch_moment {
	uint64_t ticks;
	uint64_t ns;
};

#define BATCH_KNOWN_BITS 10

/* kept; events that come later than this many rounds are placed roughly */
#define BATCH_MOMENTS 1024

/* The rate between two consecutive moments. */
struct batch_pace {
	uint64_t from_ticks, to_ticks, from_ns;
	uint64_t rate; /* ns per tick, times 2^32 */
};

struct batch_clock {
	struct batch_moment moments[BATCH_MOMENTS];
	uint64_t n;		/* number of moments ever taken */
	struct batch_pace pace; /* between the two moments that were used last */
	uint64_t error_ns;	/* largest distance of a moment from its interpolated place */
};

/* Returns NULL if the processor's counter can be used as a clock, else the reason why not. */
const char *batch_clock_unusable(void);
/* Reads both clocks. *ret_width: ticks that the reading took; the moment is anywhere within. */
struct batch_moment batch_clock_read(uint64_t *ret_width);
/* Reads the processor's counter. */
uint64_t batch_clock_now(void);
/*
 * The approximate value of the counter at a time, which may be in the future. It uses the latest
 * rate.
 */
uint64_t batch_clock_ticks(const struct batch_clock *clock, uint64_t ns);
/* Adds a moment. */
void batch_clock_sample(struct batch_clock *clock);
/* Converts ticks that are not within the last used pace. */
uint64_t batch_clock_convert(struct batch_clock *clock, uint64_t ticks);

static inline bool batch_pace_has(const struct batch_pace *pace, uint64_t ticks)
{
	return ticks >= pace->from_ticks && ticks <= pace->to_ticks;
}

static inline uint64_t batch_pace_ns(const struct batch_pace *pace, uint64_t ticks)
{
	const uint64_t since = ticks - pace->from_ticks;

	/* 128 bits, because the recorder may be stopped for seconds between two moments. */
	return pace->from_ns + (uint64_t)((unsigned __int128)since * pace->rate >> 32);
}

static inline uint64_t batch_clock_ns(struct batch_clock *clock, uint64_t ticks)
{
	if (rare(!batch_pace_has(&clock->pace, ticks)))
		return batch_clock_convert(clock, ticks);
	return batch_pace_ns(&clock->pace, ticks);
}

LIST_HEAD(batch_stream_list, batch_stream);

/*
 * The nesting of a thread, like struct thread_state in bpf/state.h. Under --mode auto some domains of a thread may be in
 * exact mode, or all of them for a time: their marks are among the records of the kernel, and are applied here as well.
 * In one thread a mark in a batch and one in the kernel are never in the wrong order: the kernel takes the time after
 * it was entered, and entering and leaving it take longer than the two clocks differ.
 */
struct batch_thread {
	uint32_t pid, tid; /* the key */
	struct batch_process *process;
	LIST_ENTRY(batch_thread) of_process;
	struct batch_stream_list streams;
	unsigned n_streams;
	uint32_t depth;
	uint32_t too_deep;
	uint64_t recorded, left_out;
	bool lost; /* events were lost: an END without a BEGIN may belong to a lost one */
	uint64_t token[MAX_NESTING];
	/* counters.c: the latest values of its counters, when they were read, and whether they are valid: b->bases */
	uint64_t base[MAX_COUNTERS], base_ns, bases;
	bool has_cpu;
	/* counters.c: the next of these records in the queue, NULL: there is none; valid in this round */
	const struct record *next_base;
	size_t next_base_size;
	uint64_t next_base_round;
	UT_hash_handle hh;
};

struct batch_process {
	uint32_t pid;
	struct target_memory *memory; /* NULL: not open */
	bool is_unreadable;	      /* its memory cannot be opened */
	bool paused, stopped;
	bool tables_missing; /* there was no space for some in batches_found */
	LIST_HEAD(, batch_thread) threads;
	struct batch_stream_list streams; /* of its threads, and of those that have exited */
	uint64_t from_ns;		  /* earlier events are not recorded */
	UT_hash_handle hh;
};

#define QUEUE_BEFORE_SHIFT    32
#define QUEUE_SIZE(word)      ((word) & ((1ull << QUEUE_BEFORE_SHIFT) - 1))
#define BATCH_STOPS_WITHIN_NS 2000000000ull
#define STREAM_SITES	      64

/* The events of one thread in one batch, sorted by time. */
struct batch_stream {
	struct merge_head head; /* time of the first event */
	uint64_t key[2];	/* process number, address of the batch */
	/* NULL: the thread has exited. The batch still exists and may get another owner. */
	struct batch_thread *thread;
	/* turn of the batch when this thread got it; it changes before anything else */
	uint32_t turn;
	const struct file *file;
	uint64_t flush;		/* address of the file's flush site in the process */
	uint64_t file_and_base; /* identifies file and load address, to find known marks */
	/*
	 * The position up to which the stream has been seen, in bytes and in events; then the same
	 * for what was handed over.
	 */
	uint64_t seen_to, events;
	uint64_t handed, handed_events;
	/* Everything up to here is known; before the first event, when the thread got the batch. */
	uint64_t last_ticks, since_ns;
	/*
	 * When part of the stream was first missed. It can only be in the ring buffer. The position of the batch that
	 * was in the memory then, in bytes (UINT64_MAX: unknown) and in events, and the time of its first event.
	 */
	uint64_t missing_ns, missing_base, missing_events, missing_ticks;
	uint64_t lost; /* number of lost events before the gap */
	/* losses.c: batch_loss_thread() of its owner, 0: no record has told; and when the stream was begun */
	uint64_t loss_thread, begun_ns;
	bool unread; /* the process held the lock of its memory at the last look */
	bool unsorted;
	unsigned searches; /* searches for the beginning of an event that are left for this batch */
	/*
	 * For a batch that its thread has abandoned with incomplete events: a bit for each word
	 * where an event began that has been seen.
	 */
	uint64_t *seen;
	/* position when it was found as the recording began; earlier events are not recorded */
	uint64_t found;
	/* it was found; what was handed over before the process was recorded is missing */
	bool was_there;
	bool ended;	/* the thread has exited: all of its events have come */
	bool lost_exit; /* the thread has exited while it was recorded; see batches_find_exited() */
	bool over;	/* nothing more comes; freed when it is empty */
	/* The events that wait, as they were in the batch. */
	uint64_t *words;
	size_t begin, end, capacity; /* in words */
	size_t gap;		     /* events are missing before this index; SIZE_MAX: none */
	struct {
		uint32_t stub;
		uint32_t site; /* number + 1 */
	} sites[STREAM_SITES];
	LIST_ENTRY(batch_stream) of_all, of_thread, of_process;
	bool in_process; /* of_process is in a list */
	bool stale; /* its key in the heap is out of date: the first event is now a later one */
	bool known; /* in the hash table */
	UT_hash_handle hh;
};

/* In the address of a stream of events without a batch. No program has memory there, and one may have it anywhere below. */
#define STREAM_ALONE (1ull << 63)

static inline bool batch_stream_in_memory(const struct batch_stream *s)
{
	return !(s->key[1] & STREAM_ALONE);
}

struct batches {
	struct batch_clock clock;
	struct batch_stream_list streams;
	struct batch_stream *table;
	struct merge_head **heap;
	unsigned n_streams, heap_capacity;
	struct batch_thread *threads;
	struct batch_process *processes;
	bool paused;  /* the default for processes that have not paused or resumed themselves */
	bool finding; /* a process is being attached to, but not recorded yet */
	unsigned find_steps;	     /* that find_existing.c has made in it */
	uint64_t since_ns, until_ns; /* events before or after are not recorded */

	/*
	 * The queue of kernel records, sorted by time. Each follows a word with its size in bytes and, above that, the
	 * number of words of the record before it.
	 */
	uint64_t *queue, queue_last_words;
	size_t queue_begin, queue_end, queue_capacity;
	size_t waiting; /* words in all streams and the queue */
	size_t enough;	/* a round is due when this many words wait */
	bool urgent;	/* a record is waiting whose consequences somebody waits for */
	uint64_t rounds;
	bool ending;		/* nothing more comes, or what is known is wanted at once */
	uint64_t round_ns;	/* when the last round began */
	uint64_t round_took_ns; /* how long it took */
	uint64_t known_ns;	/* everything up to here is known and has been emitted */
	uint64_t drained_ns;	/* everything written before has been read from the ring buffer */

	/*
	 * counters.c: incremented when bases were lost; until when any may have been; what the kernel said of that at
	 * the last look
	 */
	uint64_t bases, base_lost_ns, base_noted_ns;

	/* Accounting. */
	uint64_t marked;
	uint64_t
		/* marks that the kernel counts as lost, but that were seen in memory before */
		overlap;
	struct batch_loss *losses; /* shared with the kernel */
	uint64_t losses_secret;
	uint64_t slots[ACCOUNT_SLOTS];
	uint64_t unreadable; /* events that were announced but are missing or malformed */
	uint64_t strings;    /* marks whose strings the kernel has read */
	uint64_t unfollowed; /* batches whose marks may be missing, because a table was full */

	struct known_mark *known[1 << BATCH_KNOWN_BITS]; /* emit_marks.c */
	uint64_t memory[BATCH_MAX / 8];			 /* one batch, as read */
	struct {
		struct record_full record;
		char bytes[MAX_ARGS * MAX_STRING + 2 * MAX_NAME + 8];
	} record;
};

#define BATCH_EVENT_WORDS_MOST 255

/* A parsed event. The values and the bytes of strings stay where they are. */
struct batch_event {
	uint64_t meta, a, b, name_length;
	uint8_t a_at, b_at, keys_at; /* index of the word; 0: there is none */
	uint32_t stub;		     /* low half of its address */
	int32_t name, keys;	     /* distances from there */
	unsigned n;		     /* number of arguments */
	const uint64_t *values;
	const char *bytes;
	size_t n_bytes;
};

/* `shared`: where the kernel counts. */
int batches_new(struct proftrace_bpf__bss *shared, struct batches **ret_batches);
void batches_free(struct batches *b);

/* Adds a record from the ring buffer. */
void batches_add_record(struct capture *c, const struct record *r, size_t size);
/*
 * Runs a round if it is due, or if `now`: emits everything that is known to be complete. The ring
 * buffer must have been drained before.
 */
void batches_merge(struct capture *c, bool now);
/*
 * Finds threads that have exited without a record of that, while they are still recorded: their last batch was lost.
 * Called when the kernel has lost such records.
 */
void batches_find_exited(struct batches *b);
/* Ends the recording: emits everything that happened before. */
void batches_stop(struct capture *c);
void batches_pause(struct capture *c, pid_t pid, bool pause); /* `pid` 0: all processes */
/* Until it ends, scans find the batches that the process has had from before. Nothing without buffered mode. */
void batches_find(struct capture *c, bool begins);
/* Whether some were found. */
bool batches_were_there(const struct capture *c, pid_t pid);
/* Marks that the process made before this moment are not recorded. */
void batches_start_process(struct capture *c, pid_t pid, uint64_t from_ns);

/* losses.c: no number of one thread changes those of another */
/* The stream's program claims to have `n` marks that the kernel has counted as lost, and that were seen all the same. */
void batch_losses_seen(struct batches *b, const struct batch_stream *s, uint64_t n);
/* The loss of `n` marks of the stream was reported. Returns how many of them the kernel has counted. */
uint64_t batch_losses_reported(struct batches *b, const struct batch_stream *s, uint64_t n);
/* The thread has exited, at that time. */
void batch_losses_forget(struct batches *b, uint32_t tid, uint64_t at_ns);

/* streams.c */
/* NULL: there is none. */
struct batch_process *batch_process_find(const struct batches *b, uint32_t pid);
struct batch_thread *batch_thread_find(const struct batches *b, uint32_t pid, uint32_t tid);
/* Creates it if necessary; NULL: no memory. */
struct batch_process *batch_process_get(struct batches *b, uint32_t pid);
struct batch_thread *batch_thread_get(struct batches *b, uint32_t pid, uint32_t tid);
struct batch_stream *batch_stream_find(struct batches *b, uint32_t pid, uint64_t address);
/* Adds a stream to the thread and, if it is in none, to its process. */
void batch_stream_assign(struct batch_stream *s, struct batch_thread *t);
/* Nothing more comes for this stream; later batches at its address belong to another. */
void batch_stream_retire(struct batches *b, struct batch_stream *s);
/* What was seen of the stream in memory was lost: nothing more is handed over. */
void batch_stream_lost_rest(struct batches *b, struct batch_stream *s);
/* Accounts for a batch before `head` that was not handed over and will not be. */
void batch_stream_skip_lost(struct batches *b, struct batch_stream *s,
			    const struct batch_head *head);
void batch_stream_free(struct batches *b, struct batch_stream *s);
/* NULL: there is one already, or no memory. */
struct batch_stream *batch_stream_new(struct batches *b, struct batch_thread *t, uint64_t address,
				      const struct file *file, const struct batch_head *head);
void batch_thread_exited(struct batches *b, uint32_t pid, uint32_t tid);
void batch_process_exited(struct batches *b, uint32_t pid);
/* The process has executed a program, or exited: later batches belong to new streams. */
void batch_process_executed(struct batches *b, uint32_t pid);

/*
 * new_events.c: adds the events of the batch that have not been seen. `handed`: the batch was
 * handed over, so missing events are lost. `events` has `bytes` bytes.
 */
void batch_stream_add(struct capture *c, struct batch_stream *s, const struct batch_head *head,
		      const uint64_t *events, size_t bytes, bool handed);

/*
 * read_memory.c: adds what is in the program's memory. Returns the time up to which everything is
 * known.
 */
uint64_t batches_read_memory(struct capture *c);
/* Opens the memory of the process. NULL: it cannot be read. */
struct target_memory *batch_process_open_memory(struct capture *c, struct batch_process *p);

/*
 * find_existing.c: adds the batches that threads of the process already have because it was
 * recorded before. `start` and `offset` are those of the mapping of the file's code.
 */
void batches_find_existing(struct capture *c, uint32_t pid, const struct file *file, uint64_t start,
			   uint64_t offset);
/*
 * Tells the kernel where the process has the owner words of the file's batches. There it finds those that nobody
 * announces, if each process has links of its own. To be called after the other one.
 */
void batches_publish_table(struct capture *c, uint32_t pid, const struct file *file, uint64_t start,
			   uint64_t offset);

bool batch_thread_has_exited(uint32_t tid);

/*
 * parse_event.c: `event` has as many words as it says, BATCH_EVENT_HEAD at least. False: it has too
 * few words for its contents; then only the fields of the head are valid.
 */
bool batch_event_parse(const uint64_t *event, struct batch_event *ret);
/*
 * Writes the event at `at` with the name that an earlier event of the batch has. Returns its words, BATCH_EVENT_WORDS_MOST
 * at most. 0: there is no such event.
 */
size_t batch_event_add_name(const uint64_t *events, size_t at, uint64_t *ret_event);

/* emit_marks.c: emits the first event of a stream, which happened at `ns`. */
void batch_event_emit(struct capture *c, struct batch_stream *s, const uint64_t *event,
		      uint64_t ns);
/*
 * Applies a mark that entered the kernel, of a domain in exact mode, to the nesting of its thread. False: it is not
 * recorded, which is accounted for. *size becomes what exact mode alone would send.
 */
bool batch_apply_record(struct capture *c, struct record *r, size_t *size);
void batch_marks_free(struct batches *b);

/* counters.c: keeps the values of a thread's counters. */
void batch_base_add(struct capture *c, const struct record *r, size_t size);
/* A record with values was lost: no thread's values up to then are certain. */
void batch_bases_lost(struct batches *b, uint64_t lost_ns);
/* Under --mode auto: before a domain is in buffered mode, and some time after the last one has been. */
void batch_bases_begin(struct capture *c);
void batch_bases_end(struct capture *c);
/* Asks the kernel for losses. Called after the memory of programs was read and before marks of it are emitted. */
void batch_bases_check(struct capture *c);
/* Whether the counters of the thread's marks at this time depend on a record that has not come yet. */
bool batch_awaits_base(struct capture *c, struct batch_thread *t, uint64_t ns);
/* Sets the counters of a BEGIN or an END of the thread. */
void batch_set_counters(struct capture *c, struct batch_thread *t, struct event *e);

/* decode.c */
void decode_and_emit(struct capture *c, const struct record *r, size_t size);

#endif
