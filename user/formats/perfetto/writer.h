/* SPDX-License-Identifier: BSD-2-Clause */
/* The Perfetto trace writer: its state and the functions that its files call from one another. See writer.c. */
#ifndef PROFTRACE_FORMATS_PERFETTO_WRITER_H
#define PROFTRACE_FORMATS_PERFETTO_WRITER_H

#include "timeline/origin.h"
#include "formats/perfetto/write_intern.h"
#include "formats/sink.h"
#include "perfetto_trace.pb-c.h"

/* Sets a field of a message of the generated code: an optional one, or a list with its length. */
#define PUT_FIELD(message, field, value)  ((message).has_##field = true, (message).field = (value))
#define PUT_LIST(message, field, n, list) ((message).n_##field = (n), (message).field = (list))

enum {
	PERFETTO_SHARED =
		1, /* the sequence of events without a thread, and of threads that have none */
	PERFETTO_THREADS = 124, /* sequences of threads: their ids still take one byte */
	PERFETTO_STACKS = 126,	/* the sequence of samples of call stacks */
	/* Later sequences of threads have two bytes. Our reader has space for as many. */
	PERFETTO_LAST_SEQUENCE = (1 << 14) - 1,
	PERFETTO_HINTS = 1024,
	PERFETTO_CLOCK_OWN = 64, /* the first incremental clock of each sequence */
	PERFETTO_CLOCK_LAST = 127,
	PERFETTO_CLOCK_REALTIME = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME,
	PERFETTO_CLOCK_MONOTONIC = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC,
	PERFETTO_CLOCK_BOOTTIME = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME,
	PERFETTO_CLEARED =
		PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED,
	PERFETTO_NEEDS =
		PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE,
};

/*
 * The state that later packets of a sequence refer to: interned names, the time of the previous event, the default
 * track and its counters.
 */
struct sequence {
	uint32_t id;	     /* 0: not begun */
	uint32_t clock_id;   /* of its timestamps */
	uint64_t track_uuid; /* of its thread; 0: none */
	uint64_t last_ns;    /* of the previous event */
	uint64_t used;	     /* value of perfetto.turn at its last use */
	unsigned n_counters; /* defaults, in the order in which values are written */
	uint64_t counters[EVENT_MAX_COUNTERS];
	uint8_t order[EVENT_MAX_COUNTERS]; /* the index in fact.counters of each of these */
	struct interned interned;
};

struct perfetto {
	struct consumer consumer;
	struct sink *sink;
	uint64_t packets; /* written so far */
	struct sequence shared;
	struct sequence stacks; /* begun with the first sample */
	uint64_t period_ns;	/* of the samples, as written last */
	Perfetto__Protos__PerfTimebase timebase;
	struct id_set frames; /* of all sequences, whose symbols are written at the end */
	const struct code_frame **used;
	uint32_t n_used, used_capacity;
	struct sequence threads[PERFETTO_THREADS];
	uint64_t owners[PERFETTO_THREADS];	/* the uuids of their threads, 0: none */
	struct sequence *hints[PERFETTO_HINTS]; /* by uuid: a cache of perfetto_sequence() */
	uint32_t last_id;			/* the highest id of a sequence so far */
	uint64_t n_definitions;			/* of all sequences */
	unsigned oldest;			/* the next one to examine for reuse */
	uint64_t turn;				/* number of cache misses */
	uint64_t global_uuid; /* of the track for instants that belong to no process */
	bool global_declared;
	struct clock_reading last_clock; /* of the last snapshot */
	bool has_boot_offset;		 /* a snapshot had both clocks */
	int64_t boot_offset;	      /* from CLOCK_MONOTONIC to CLOCK_BOOTTIME, by the last one */
	struct perfetto_sched *sched; /* NULL: no scheduling event and no process yet */
};

/* write_packets.c: each returns the error of the sink. */
int perfetto_write(struct perfetto *p, Perfetto__Protos__TracePacket *packet);
int perfetto_write_to(struct perfetto *p, uint32_t sequence, Perfetto__Protos__TracePacket *packet);
int perfetto_write_start(struct perfetto *p, const struct trace_info *info);
int perfetto_write_clock(struct perfetto *p, const struct clock_reading *clock);
int perfetto_write_process(struct perfetto *p, const struct process *process);
int perfetto_write_thread(struct perfetto *p, const struct thread *thread);
int perfetto_write_track(struct perfetto *p, const struct track *track);
int perfetto_write_global_track(struct perfetto *p);
int perfetto_write_lost(struct perfetto *p, const struct fact *fact, uint64_t track_uuid);
int perfetto_write_stats(struct perfetto *p, const struct account *account);

/* write_sequence.c */
/* Finds or assigns the sequence of the fact's thread, which the cache does not have. */
struct sequence *perfetto_sequence_assign(struct perfetto *p, const struct fact *fact);

static inline struct sequence **perfetto_hint(struct perfetto *p, uint64_t uuid)
{
	/* Uuids are consecutive, and those of threads are mixed with those of other tracks: hence a hash. */
	return &p->hints[(uuid * 0x9e3779b97f4a7c15ull) >> 54];
}

_Static_assert(PERFETTO_HINTS == 1 << (64 - 54), "the hash has as many bits as the cache needs");

/* The sequence of a thread, or of events without a thread. NULL: the cache does not have it. */
static inline struct sequence *perfetto_sequence_cached(struct perfetto *p,
							const struct thread *thread)
{
	struct sequence *s;

	if (!thread || !thread->uuid)
		return &p->shared;
	s = *perfetto_hint(p, thread->uuid);
	if (s->track_uuid != thread->uuid)
		return NULL;
	s->used = p->turn;
	return s;
}

static inline struct sequence *perfetto_sequence(struct perfetto *p, const struct fact *fact)
{
	struct sequence *s = perfetto_sequence_cached(p, fact->thread);

	return s ? s : perfetto_sequence_assign(p, fact);
}

int perfetto_sequence_begin(struct perfetto *p, struct sequence *s);
/* Resets all but the clock of the sequence, because packets are missing. */
int perfetto_sequence_drop(struct perfetto *p, struct sequence *s);
/* Makes the counters of the fact the default counters of the sequence. */
int perfetto_sequence_set_counters(struct perfetto *p, struct sequence *s, const struct fact *fact);
void perfetto_sequence_release(struct perfetto *p, const struct thread *thread);
void perfetto_sequences_free(struct perfetto *p);

/* write_ordinary.c: the frequent events. */
int perfetto_write_slice(struct perfetto *p, const struct fact *fact);
int perfetto_write_instant(struct perfetto *p, const struct fact *fact, uint64_t track_uuid);
int perfetto_write_counters(struct perfetto *p, const struct fact *fact);

/* write_event.c */
int perfetto_write_async(struct perfetto *p, const struct fact *fact);
int perfetto_write_wait(struct perfetto *p, const struct fact *fact);
int perfetto_write_flow(struct perfetto *p, const struct fact *fact, uint64_t track_uuid);
int perfetto_write_reading(struct perfetto *p, const struct fact *fact);

/* write_intern.c */
/*
 * The interned id of a name or a key, which is defined first if necessary. 0: the name is NULL, or has to be written
 * in full, since its id is beyond the table.
 */
static inline uint64_t perfetto_intern(struct perfetto *p, struct sequence *s,
				       const struct name *name, enum intern_kind kind)
{
	if (!name)
		return 0;
	if (perfetto_is_defined(&s->interned, name, kind))
		return name->id;
	return perfetto_define(p, s, name, kind);
}

/* The same for categories: how many there are, or 0. */
static inline unsigned perfetto_intern_category(struct perfetto *p, struct sequence *s,
						const struct name *category)
{
	unsigned parts = category ? perfetto_defined_parts(&s->interned, category) : 0;

	return parts || !category ? parts : perfetto_define_category(p, s, category);
}

int perfetto_write_interned(struct perfetto *p, const struct sequence *s,
			    Perfetto__Protos__InternedData *data);

/* write_stacks.c */
/* The interned id of a call stack, which is defined first if necessary. 0: it cannot be defined. */
uint64_t perfetto_callstack(struct perfetto *p, struct sequence *s,
			    const struct callstack *callstack);
int perfetto_write_sample(struct perfetto *p, const struct fact *fact);
/* Fills in the defaults of the sequence of samples. */
void perfetto_sample_defaults(struct perfetto *p, Perfetto__Protos__PerfSampleDefaults *defaults);
/* At the end: the symbols of all frames. */
int perfetto_write_symbols(struct perfetto *p);

/* write_sched.c */
int perfetto_write_sched(struct perfetto *p, const struct fact *fact);
int perfetto_write_sched_gap(struct perfetto *p, const struct fact *fact);
int perfetto_sched_describe(struct perfetto *p, const struct process *process);
int perfetto_sched_flush(struct perfetto *p); /* writes the pending bundles to the sink */
void perfetto_sched_free(struct perfetto *p);

#endif
