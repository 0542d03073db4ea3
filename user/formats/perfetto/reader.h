/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the Perfetto reader and the functions that its files call from one another:
 *
 *	reader.c		the file, its packets, and the state of sequences
 *	read_wire.c		checks of untrusted bytes
 *	read_fast.c, read_unpack.c	decoding of packets, by hand and by the generated code
 *	read_clocks.c		conversion of times to one clock
 *	read_tracks.c		the process and the thread of a track
 *	read_events.c, read_counters.c	TrackEvents
 *	read_sched.c		context switches and wakings
 *	read_stacks.c		samples and call stacks
 *	read_left_out.c		counts of what events cannot represent
 */
#ifndef PROFTRACE_FORMATS_PERFETTO_READER_H
#define PROFTRACE_FORMATS_PERFETTO_READER_H

#include "base/hash.h"
#include "formats/draft.h"
#include "timeline/fact.h"
#include "perfetto_trace.pb-c.h"

typedef Perfetto__Protos__TracePacket Packet;
typedef Perfetto__Protos__TrackEvent TrackEvent;
typedef Perfetto__Protos__DebugAnnotation Annotation;

/* Limits of the memory that a file can make the reader use. */
enum {
	MAX_SEQUENCES = 1 << 14,
	MAX_TRACKS = 1 << 19,
	MAX_INTERNED = 1 << 20,	       /* over all sequences */
	MAX_INTERNED_BYTES = 64 << 20, /* of interned strings */
	MAX_EXTRA_COUNTERS = 8,	       /* as in Perfetto's loader */
	MAX_OPEN_ON_LANE = 512,	     /* open slices of one track that does not belong to a thread */
	MAX_OPEN_ON_LANES = 1 << 20, /* over all such tracks */
	SEQUENCE_CLOCKS = 4,	     /* clocks that are kept of one sequence, of 64 possible ones */
	BUILTIN_CLOCKS = 64,
	MAX_SCHED_CPUS = 1024,
	MAX_SCHED_TASKS = 1 << 18,
	MAX_SCHED_EVENTS = 1 << 20, /* queued to be sorted */
	RECENT = 256,		    /* a power of two */
	FAST_LIST = 32,
};

_Static_assert((int)MAX_TRACKS > (int)LIMIT_PROCESSES + (int)LIMIT_THREADS + (int)LIMIT_TRACKS,
	       "all tracks that one of our own files has at once can be read");

enum intern_kind {
	INTERN_CATEGORY = 1,
	INTERN_NAME,
	INTERN_KEY,
	INTERN_STRING,
	INTERN_FUNCTION,
	INTERN_PATH,
	INTERN_SOURCE,
	INTERN_BUILD_ID,
	INTERN_MAPPING,
	INTERN_FRAME,
	INTERN_CALLSTACK,
};

struct intern_key {
	uint64_t iid;
	uint64_t kind;
};

struct interned {
	UT_hash_handle hh;
	struct intern_key key;
	union {
		const struct name *name; /* of the first three */
		const void *object;	 /* of INTERN_FUNCTION and those after it */
	};
	uint32_t length;
	char bytes[]; /* INTERN_STRING */
};

/* A clock of one sequence. */
struct sequence_clock {
	uint32_t id; /* 0: free */
	bool is_incremental;
	uint64_t multiplier;
	uint64_t last;	 /* ns on this clock */
	uint64_t offset; /* to monotonic, modulo 2^64 */
};

struct sequence {
	UT_hash_handle hh;
	uint32_t id;
	bool valid; /* no packet is missing since the state was cleared */
	uint32_t clock_id;
	bool has_track;
	uint64_t track_uuid;
	uint64_t thread_uuid; /* of the last thread that it described, 0: none */
	uint64_t period_ns;   /* of its samples; 0: unknown */
	unsigned n_counters;
	unsigned n_double_counters;
	uint64_t counters[MAX_EXTRA_COUNTERS];
	uint64_t double_counters[MAX_EXTRA_COUNTERS];
	uint8_t order[MAX_EXTRA_COUNTERS]; /* indices of `counters`, sorted by uuid */
	struct sequence_clock
		clocks[SEQUENCE_CLOCKS]; /* the first one is that of clock_id, if it is known */
	struct interned *interned;
	struct interned *recent[RECENT]; /* a cache, by iid and kind */
};

enum place_kind {
	PLACE_LANE, /* a track of its own */
	PLACE_THREAD,
	PLACE_PROCESS,
	PLACE_COUNTER,
};

/* An open slice of a lane, whose END has neither name nor id. */
struct lane_slice {
	uint64_t id;
	const struct name *name;
	const struct name *category;
};

struct place {
	UT_hash_handle hh;
	uint64_t uuid;
	uint64_t parent;
	enum place_kind kind;
	bool is_incremental;
	bool has_owner; /* pid and tid were looked up */
	/* Counters: a builtin type that never decreases; and marked as sampled in our own files. */
	bool is_counted;
	bool is_sampled;
	bool is_given; /* a lane in our own files: its slices have times of their own */
	uint32_t pid;
	uint32_t tid;
	const struct name *name;
	const struct name *path; /* of a lane that is_given, once it is known */
	const struct name *unit;
	int64_t multiplier;
	int64_t sum; /* of an incremental counter */
	double double_sum;
	unsigned n_open;
	unsigned capacity;
	struct lane_slice *open;
};

/* Kinds of data that events cannot represent, as they are reported. */
enum left_out {
	LEFT_PACKETS,
	LEFT_KERNEL, /* malformed switches, and ftrace events other than switches and wakings */
	LEFT_STATES,
	LEFT_ARROWS, /* flows on tracks that do not belong to a thread */
	LEFT_STACKS, /* of ends and of slices on lanes */
	LEFT_ARGS,   /* without a name or a value, or of a counter */
	LEFT_FIELDS, /* events with unknown fields */
	LEFT_KINDS,
};

/* The process of a task that is not a thread with a track. */
struct sched_process;
struct sched_read;

struct perfetto {
	const struct reader_sink *sink;
	struct reader_error *error;
	struct draft *draft;
	struct sequence *sequences;
	struct sequence *recent_sequences[RECENT]; /* by id */
	struct place *places;
	struct place *recent[RECENT]; /* a cache, by uuid */
	size_t n_interned;
	size_t interned_bytes;
	size_t n_open_on_lanes;
	uint64_t left_out[LEFT_KINDS];
	uint64_t packets, packets_said; /* read; written, as the file says at its end */
	uint64_t next_id;		/* for slices on lanes without an id */
	/* A slice with times of its own that waits for its END, which is the next event; NULL: none. */
	const struct place *given_place;
	struct event given;
	bool own; /* the file begins with metadata of proftrace */
	bool snapshot_seen;
	bool continued;		  /* the current samples are repeated from an earlier file */
	bool bundles_held;	  /* events of bundles are queued until another packet follows */
	struct sched_read *sched; /* NULL: no scheduling events so far */
	uint32_t primary_clock;
	uint64_t clocks[BUILTIN_CLOCKS];
	bool clock_known[BUILTIN_CLOCKS];
};

/* A TrackEvent packet that was decoded without the generated code. */
struct fast_packet {
	Packet packet;
	TrackEvent event;
	Annotation annotations[FAST_LIST];
	Annotation *list[FAST_LIST];
	uint64_t categories[FAST_LIST];
	int64_t extra_values[FAST_LIST];
	uint64_t extra_tracks[FAST_LIST];
	uint64_t flows[FAST_LIST];
	uint64_t terminating_flows[FAST_LIST];
	bool bad; /* the generated code has to decode it */
	size_t used;
	char text[16384];
};

/* read_unpack.c: memory for one packet, which is freed as a whole */
struct block;
struct arena {
	struct block *blocks;
	size_t total;
};

void *perfetto_arena_alloc(void *arena, size_t size);
void perfetto_arena_ignore(void *arena, void *bytes);
void perfetto_arena_clear(struct arena *arena, bool all); /* else keeps the first block */
/* Decompresses a bundle into a buffer that grows with its contents and has INPUT_PADDING bytes behind them. */
int perfetto_unpack_bundle(const ProtobufCBinaryData *bundle, uint8_t **ret_bytes,
			   size_t *ret_size);

/* read_fast.c */
void fast_packet_init(struct fast_packet *fast);
/*
 * Decodes a packet, valid until the next call. NULL: the generated code has to decode it. Up to INPUT_PADDING bytes
 * behind the packet may be read, with any values.
 */
const Packet *fast_packet_read(struct fast_packet *fast, const uint8_t *bytes, size_t size);

/* reader.c */
const struct name *perfetto_name(struct perfetto *p, const char *text);
/* Defines an interned id, unless it is defined already or `object` is NULL. */
int perfetto_intern_object(struct perfetto *p, struct sequence *s, enum intern_kind kind,
			   uint64_t iid, const void *object);
/* NULL: the id is not defined. */
const struct interned *perfetto_find_interned(struct sequence *s, enum intern_kind kind,
					      uint64_t iid);

static inline size_t intern_slot(enum intern_kind kind, uint64_t iid)
{
	return (iid * 4 + kind) & (RECENT - 1);
}

static inline const struct interned *perfetto_interned(struct sequence *s, enum intern_kind kind,
						       uint64_t iid)
{
	const struct interned *interned = s->recent[intern_slot(kind, iid)];

	if (interned && interned->key.iid == iid && interned->key.kind == kind)
		return interned;
	return perfetto_find_interned(s, kind, iid);
}

/* read_clocks.c */
/* Packets of the sequence without a clock have this one. */
void perfetto_use_clock(struct sequence *s, uint32_t id);
int perfetto_snapshot(struct perfetto *p, struct sequence *s,
		      const Perfetto__Protos__ClockSnapshot *snapshot);
/* False: the packet has no time, or one of an unknown clock. */
bool perfetto_find_time(struct perfetto *p, struct sequence *s, const Packet *packet,
			uint64_t *ret_ns);

/* The time of a packet. Nearly always it is of the first clock of its sequence. */
static inline bool perfetto_time(struct perfetto *p, struct sequence *s, const Packet *packet,
				 uint64_t *ret_ns)
{
	struct sequence_clock *clock = &s->clocks[0];

	if (!packet->has_timestamp || packet->has_timestamp_clock_id ||
	    clock->id < BUILTIN_CLOCKS || clock->id != s->clock_id)
		return perfetto_find_time(p, s, packet, ret_ns);
	clock->last =
		packet->timestamp * clock->multiplier + (clock->is_incremental ? clock->last : 0);
	*ret_ns = clock->last + clock->offset;
	return *ret_ns <= INT64_MAX;
}

/* Converts a time of CLOCK_BOOTTIME. */
bool perfetto_boottime(const struct perfetto *p, uint64_t ns, uint64_t *ret_ns);

/* read_sched.c: events of consecutive bundles are sorted and sent together */
int perfetto_bundle(struct perfetto *p, const Perfetto__Protos__FtraceEventBundle *bundle);
int perfetto_bundles_end(struct perfetto *p);
void perfetto_task(struct perfetto *p, uint32_t tid, uint32_t pid);
void perfetto_bundles_free(struct perfetto *p);

/* read_stacks.c */
int perfetto_stack_data(struct perfetto *p, struct sequence *s,
			const Perfetto__Protos__InternedData *data);
const struct callstack *perfetto_callstack_of(struct sequence *s, uint64_t iid);
void perfetto_sample_default(struct sequence *s, const Perfetto__Protos__PerfSampleDefaults *d);
int perfetto_sample(struct perfetto *p, struct sequence *s, const Packet *packet);
void perfetto_module(struct perfetto *p, const Perfetto__Protos__ModuleSymbols *module);

/* read_tracks.c */
int perfetto_track(struct perfetto *p, struct sequence *s,
		   const Perfetto__Protos__TrackDescriptor *track);
int perfetto_process_tree(struct perfetto *p, const Perfetto__Protos__ProcessTree *tree);
/* NULL: there are too many tracks. A track without a descriptor is a lane of the whole machine. */
struct place *perfetto_find_place(struct perfetto *p, uint64_t uuid);
/* The names of a lane that is_given and of those around it: "outer/inner". */
const struct name *perfetto_track_path(struct perfetto *p, struct place *place);
void perfetto_places_free(struct perfetto *p);

static inline struct place *perfetto_place(struct perfetto *p, uint64_t uuid)
{
	struct place *place = p->recent[uuid & (RECENT - 1)];

	if (place && place->uuid == uuid && (place->has_owner || !place->parent))
		return place;
	return perfetto_find_place(p, uuid);
}

/* read_left_out.c */
void perfetto_count_left_out(struct perfetto *p, const Packet *packet);
void perfetto_report_left_out(const struct perfetto *p, struct reader_error *ret_error);

/* read_counters.c */
int perfetto_counter(struct perfetto *p, struct sequence *s, const TrackEvent *event,
		     struct place *place, uint64_t ts_ns);
int perfetto_extra_counters(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			    uint64_t ts_ns);

/* read_events.c */
const struct name *perfetto_joined_categories(struct perfetto *p, struct sequence *s,
					      const TrackEvent *event);
int perfetto_event(struct perfetto *p, struct sequence *s, const TrackEvent *event, uint64_t ts_ns);
/* Counts a slice whose END has not come. */
void perfetto_drop_given(struct perfetto *p);

#endif
