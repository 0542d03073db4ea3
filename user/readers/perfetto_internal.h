/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of the Perfetto reader share: perfetto.c takes the file apart into packets and keeps
 * what packets of a sequence say to each other, perfetto_clocks.c brings all times to one clock,
 * perfetto_tracks.c knows whose a track is, perfetto_stacks.c reads samples and call stacks,
 * perfetto_fast.c and perfetto_unpack.c unpack packets, perfetto_events.c and perfetto_counters.c turn
 * TrackEvents into events, perfetto_left_out.c counts what is none.
 */
#ifndef PROFTRACE_READERS_PERFETTO_INTERNAL_H
#define PROFTRACE_READERS_PERFETTO_INTERNAL_H

#include "perfetto_trace.pb-c.h"
#include "readers/draft.h"
#include "timeline/hash.h"

typedef Perfetto__Protos__TracePacket Packet;
typedef Perfetto__Protos__TrackEvent TrackEvent;
typedef Perfetto__Protos__DebugAnnotation Annotation;

/* Limits of what a file may make the reader remember. */
enum {
	MAX_SEQUENCES = 1 << 14,
	MAX_TRACKS = 1 << 18,
	MAX_INTERNED = 1 << 20,	       /* over all sequences */
	MAX_INTERNED_BYTES = 64 << 20, /* of strings kept as they are */
	MAX_EXTRA_COUNTERS = 8,	       /* as in Perfetto's own loader */
	MAX_OPEN_ON_LANE = 512,	       /* slices open on one track that is no thread's */
	MAX_OPEN_ON_LANES = 1 << 20,   /* over all such tracks */
	SEQUENCE_CLOCKS = 4,	       /* clocks of a sequence's own, of 64 possible */
	BUILTIN_CLOCKS = 64,
	MAX_SCHED_CPUS = 1024,
	MAX_SCHED_TASKS = 1 << 18,
	MAX_SCHED_EVENTS = 1 << 20, /* held back to be put in order */
	RECENT = 256,		    /* a power of two */
	FAST_LIST = 32,
};

enum intern_kind {
	INTERN_CATEGORY = 1,
	INTERN_NAME,
	INTERN_KEY,
	INTERN_STRING,
	INTERN_FUNCTION,
	INTERN_PATH,
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
		const void *object;	 /* of all from INTERN_FUNCTION on */
	};
	uint32_t length;
	char bytes[]; /* INTERN_STRING */
};

/* A clock only its sequence knows. */
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
	bool valid; /* interned data and defaults may be used */
	uint32_t clock_id;
	bool has_track;
	uint64_t track_uuid;
	uint64_t thread_uuid; /* of the last thread it described, 0: none */
	uint64_t period_ns;   /* of its samples; 0: not known */
	unsigned n_counters;
	unsigned n_double_counters;
	uint64_t counters[MAX_EXTRA_COUNTERS];
	uint64_t double_counters[MAX_EXTRA_COUNTERS];
	uint8_t order[MAX_EXTRA_COUNTERS]; /* of `counters`: the one with the lowest uuid first */
	struct sequence_clock clocks[SEQUENCE_CLOCKS];
	struct interned *interned;
	struct interned *recent[RECENT]; /* found lately, by iid and kind */
};

enum place_kind {
	PLACE_LANE, /* a track of its own */
	PLACE_THREAD,
	PLACE_PROCESS,
	PLACE_COUNTER,
};

/* A slice open on a lane: its END in the file has neither name nor id. */
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
	/* Of a counter: by its kind it grows with what its thread does; our own files say the opposite. */
	bool is_counted;
	bool is_sampled;
	uint32_t pid;
	uint32_t tid;
	const struct name *name;
	const struct name *unit;
	int64_t multiplier;
	int64_t sum; /* of an incremental counter */
	double double_sum;
	unsigned n_open;
	unsigned room;
	struct lane_slice *open;
};

/* What has no place here, as it is told. */
enum left_out {
	LEFT_PACKETS,
	LEFT_KERNEL, /* switches that make no sense, and all that is neither a switch nor a waking */
	LEFT_STATES,
	LEFT_ARROWS, /* their ends, on tracks that are no thread's */
	LEFT_STACKS, /* of what has none: ends, slices on lanes */
	LEFT_ARGS,   /* without a name or a value, or of a counter */
	LEFT_FIELDS, /* events that have more than is known here */
	LEFT_KINDS,
};

/* A task that is no thread with a track: whose it is. */
struct sched_process;
struct sched_read;

struct perfetto {
	const struct reader_sink *sink;
	struct reader_error *error;
	struct draft *draft;
	struct sequence *sequences;
	struct sequence *recent_sequences[RECENT]; /* by id */
	struct place *places;
	struct place *recent[RECENT]; /* found lately, by uuid */
	size_t n_interned;
	size_t interned_bytes;
	size_t n_open_on_lanes;
	uint64_t left_out[LEFT_KINDS];
	uint64_t next_id; /* for slices on lanes to which the file gives none */
	bool own;	  /* it begins with what proftrace says of itself */
	bool snapshot_seen;
	bool continued;		  /* the samples at hand are repeated from an earlier file */
	bool bundles_held;	  /* events of CPUs, until what comes is none */
	struct sched_read *sched; /* NULL: nothing of the scheduler so far */
	uint32_t primary_clock;
	uint64_t clocks[BUILTIN_CLOCKS];
	bool clock_known[BUILTIN_CLOCKS];
};

/* A TrackEvent packet, unpacked without the generated code. */
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
	bool bad; /* it is for the generated code */
	size_t used;
	char text[16384];
};

/* perfetto_unpack.c: memory for one packet, which is given back at once */
struct block;
struct arena {
	struct block *blocks;
	size_t total;
};

void *perfetto_arena_alloc(void *arena, size_t size);
void perfetto_arena_ignore(void *arena, void *bytes);
void perfetto_arena_clear(struct arena *arena, bool all); /* else a first block is kept */
/* Unpacks a bundle into memory of its own, which grows with what is really in it. INPUT_PADDING is behind. */
int perfetto_unpack_bundle(const ProtobufCBinaryData *bundle, uint8_t **ret_bytes,
			   size_t *ret_size);

/* perfetto_fast.c */
void fast_packet_init(struct fast_packet *fast);
/*
 * NULL: it is for the generated code. Valid until the next one. INPUT_PADDING bytes behind the packet
 * may be read, whatever they are.
 */
const Packet *fast_packet(struct fast_packet *fast, const uint8_t *bytes, size_t size);

/* perfetto.c */
const struct name *perfetto_name(struct perfetto *p, const char *text);
/* Keeps what a number stands for, unless it stands for something already or `object` is NULL. */
int perfetto_intern_object(struct perfetto *p, struct sequence *s, enum intern_kind kind,
			   uint64_t iid, const void *object);
/* NULL: it stands for nothing. */
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

/* perfetto_clocks.c */
int perfetto_snapshot(struct perfetto *p, struct sequence *s,
		      const Perfetto__Protos__ClockSnapshot *snapshot);
/* False: there is no time, or none that can be told from the clocks the file knows. */
bool perfetto_find_time(struct perfetto *p, struct sequence *s, const Packet *packet,
			uint64_t *ret_ns);

/* Nearly always by the one clock of its sequence's own that a sequence has. */
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

/* The same of CLOCK_BOOTTIME. */
bool perfetto_boottime(const struct perfetto *p, uint64_t ns, uint64_t *ret_ns);

/* perfetto_sched.c: events of CPUs, one bundle for each of them, are put in order and sent together */
int perfetto_bundle(struct perfetto *p, const Perfetto__Protos__FtraceEventBundle *bundle);
int perfetto_bundles_end(struct perfetto *p);
void perfetto_task(struct perfetto *p, uint32_t tid, uint32_t pid);
void perfetto_bundles_free(struct perfetto *p);

/* perfetto_stacks.c */
int perfetto_stack_data(struct perfetto *p, struct sequence *s,
			const Perfetto__Protos__InternedData *data);
const struct callstack *perfetto_callstack_of(struct sequence *s, uint64_t iid);
void perfetto_sample_default(struct sequence *s, const Perfetto__Protos__PerfSampleDefaults *d);
int perfetto_sample(struct perfetto *p, struct sequence *s, const Packet *packet);
void perfetto_module(struct perfetto *p, const Perfetto__Protos__ModuleSymbols *module);

/* perfetto_tracks.c */
int perfetto_track(struct perfetto *p, struct sequence *s,
		   const Perfetto__Protos__TrackDescriptor *track);
int perfetto_process_tree(struct perfetto *p, const Perfetto__Protos__ProcessTree *tree);
/* NULL: there are too many. A track never described is a lane of the whole machine. */
struct place *perfetto_find_place(struct perfetto *p, uint64_t uuid);
void perfetto_places_free(struct perfetto *p);

static inline struct place *perfetto_place(struct perfetto *p, uint64_t uuid)
{
	struct place *place = p->recent[uuid & (RECENT - 1)];

	if (place && place->uuid == uuid && (place->has_owner || !place->parent))
		return place;
	return perfetto_find_place(p, uuid);
}

/* perfetto_left_out.c */
void perfetto_see_left_out(struct perfetto *p, const Packet *packet);
void perfetto_tell_left_out(const struct perfetto *p, struct reader_error *ret_error);

/* perfetto_counters.c */
int perfetto_counter(struct perfetto *p, struct sequence *s, const TrackEvent *event,
		     struct place *place, uint64_t ts_ns);
int perfetto_extra_counters(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			    uint64_t ts_ns);

/* perfetto_events.c */
const struct name *perfetto_joined_categories(struct perfetto *p, struct sequence *s,
					      const TrackEvent *event);
int perfetto_event(struct perfetto *p, struct sequence *s, const TrackEvent *event, uint64_t ts_ns);

#endif
