/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the Perfetto output share. */
#ifndef PROFTRACE_HANDLERS_PERFETTO_INTERNAL_H
#define PROFTRACE_HANDLERS_PERFETTO_INTERNAL_H

#include "handlers/handler.h"
#include "handlers/perfetto_intern.h"
#include "handlers/sink.h"
#include "perfetto_trace.pb-c.h"

enum {
	PERFETTO_SHARED =
		1, /* the sequence of what no thread says, or one that has none of its own */
	PERFETTO_THREADS = 124, /* sequences of threads: their ids still take one byte */
	PERFETTO_STACKS = 126,	/* the sequence of samples of call stacks */
	PERFETTO_HINTS = 1024,
	PERFETTO_CLOCK_OWN = 64, /* of each sequence: counts from its last event */
	PERFETTO_CLOCK_REALTIME = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME,
	PERFETTO_CLOCK_MONOTONIC = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC,
	PERFETTO_CLOCK_BOOTTIME = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME,
	PERFETTO_CLEARED =
		PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED,
	PERFETTO_NEEDS =
		PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE,
};

/*
 * Packets of a sequence follow on one another: names that were defined in it, the time of the event
 * before, the thread whose track is meant where none is named.
 */
struct sequence {
	uint32_t id;	     /* 0: not begun */
	uint64_t track_uuid; /* of its thread, 0: none */
	uint64_t last_ns;    /* of the event before */
	uint64_t used;	     /* perfetto.turn as it was last looked for */
	unsigned n_counters; /* of its thread, in the order of their values */
	uint64_t counters[EVENT_MAX_COUNTERS];
	uint8_t order[EVENT_MAX_COUNTERS]; /* which of a fact's counters each of these is */
	struct interned interned;
};

struct perfetto {
	struct handler handler;
	struct sink *sink;
	struct sequence shared;
	struct sequence stacks; /* begun with the first sample */
	uint64_t period_ns;	/* that a sample stands for, as was said last */
	Perfetto__Protos__PerfTimebase timebase;
	struct id_set frames; /* of all sequences, to be named at the end */
	const struct code_frame **used;
	uint32_t n_used, used_room;
	struct sequence threads[PERFETTO_THREADS];
	uint64_t owners[PERFETTO_THREADS];	/* the uuids of their threads, 0: none */
	struct sequence *hints[PERFETTO_HINTS]; /* by uuid: what may be its thread's sequence */
	unsigned oldest;      /* where to look for one that is not needed any more */
	uint64_t turn;	      /* goes up each time that a sequence is looked for in vain */
	uint64_t global_uuid; /* of the track for instants that belong to no process */
	bool global_declared;
	struct clock_reading last_clock; /* of the last snapshot */
	bool has_boot_offset;		 /* a snapshot told both clocks */
	int64_t boot_offset;	      /* from CLOCK_MONOTONIC to CLOCK_BOOTTIME, by the last one */
	struct perfetto_sched *sched; /* NULL: nothing was told of any CPU or process */
};

/* perfetto_packets.c: the rare ones. Each returns the sink's error. */
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

/* perfetto_sequence.c */
/* For a thread that has not the one that its hint says. */
struct sequence *perfetto_sequence_look(struct perfetto *p, const struct thread *thread);

static inline struct sequence **perfetto_hint(struct perfetto *p, uint64_t uuid)
{
	/* Uuids are counted up, and tracks of other kinds lie between those of threads. */
	return &p->hints[(uuid * 0x9e3779b97f4a7c15ull) >> 54];
}

_Static_assert(PERFETTO_HINTS == 1 << (64 - 54), "see above");

/* Whose sequence an event belongs to; thread NULL: nobody's. Returns NULL where it has to be looked for. */
static inline struct sequence *perfetto_sequence_known(struct perfetto *p,
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

static inline struct sequence *perfetto_sequence(struct perfetto *p, const struct thread *thread)
{
	struct sequence *s = perfetto_sequence_known(p, thread);

	return s ? s : perfetto_sequence_look(p, thread);
}

/* From here on nothing that was said earlier in the sequence counts. `dropped`: since packets are missing. */
int perfetto_sequence_begin(struct perfetto *p, struct sequence *s, bool dropped);
/* The values of which counters the events carry. */
int perfetto_sequence_count(struct perfetto *p, struct sequence *s, const struct fact *fact);
void perfetto_sequence_gone(struct perfetto *p, const struct thread *thread);
void perfetto_sequences_free(struct perfetto *p);

/* perfetto_ordinary.c: those that come in millions. */
int perfetto_write_slice(struct perfetto *p, const struct fact *fact);
int perfetto_write_instant(struct perfetto *p, const struct fact *fact, uint64_t track_uuid);
int perfetto_write_counters(struct perfetto *p, const struct fact *fact);

/* perfetto_event.c */
int perfetto_write_async(struct perfetto *p, const struct fact *fact);
int perfetto_write_flow(struct perfetto *p, const struct fact *fact, uint64_t track_uuid);
int perfetto_write_reading(struct perfetto *p, const struct fact *fact);

/* perfetto_intern.c */
/*
 * The number for a name or an annotation's name, defined in the trace if it was not yet. 0: the name
 * is NULL or is to be written in full, since its id is beyond the table.
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

/* perfetto_stacks.c */
/* The number of a call stack, defined in the sequence if it was not yet; 0: there is no room for it. */
uint64_t perfetto_callstack(struct perfetto *p, struct sequence *s,
			    const struct callstack *callstack);
int perfetto_write_sample(struct perfetto *p, const struct fact *fact);
/* Beside what else a sequence of samples begins with. */
void perfetto_sample_defaults(struct perfetto *p, Perfetto__Protos__PerfSampleDefaults *defaults);
/* At the end: what all the frames are called. */
int perfetto_write_symbols(struct perfetto *p);

/* perfetto_sched.c */
int perfetto_write_sched(struct perfetto *p, const struct fact *fact);
int perfetto_write_sched_gap(struct perfetto *p, const struct fact *fact);
int perfetto_sched_describe(struct perfetto *p, const struct process *process);
int perfetto_sched_flush(struct perfetto *p); /* what was handed over is in the sink */
void perfetto_sched_free(struct perfetto *p);

#endif
