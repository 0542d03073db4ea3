/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tables in which the kernel aggregates marks (--stats-only, top). No event leaves the kernel
 * in this mode. Both sides include this file; user/capture reads the tables by mmap.
 *
 *	threads	 one for each marking thread: its open slices, and the beginnings of its rows' lists
 *	rows	 one for each name on each thread, in a hash table
 *	pages	 one for each row, by the same number, with its larger parts: histogram or sum, name
 *	asyncs	 the open asynchronous slices of all threads and processes
 *
 * A row belongs to one thread, so updating it needs neither a lock nor an atomic operation. When
 * the thread has exited, the recorder adds up its rows and frees them. If there is no free row, the
 * marks are added to the rows "(other)", which all threads share.
 */
#ifndef PROFTRACE_BPF_TABLE_H
#define PROFTRACE_BPF_TABLE_H

#include "bpf/event.h"

enum {
#ifdef SMALL_WINDOWS
	TABLE_THREADS = 8, /* fuzzers search all of them for each input */
	TABLE_BUNDLES = 8,
#else
	TABLE_THREADS = 4096,  /* a power of two, as all of these */
	TABLE_BUNDLES = 16384, /* of asyncs, beyond the near ones */
#endif
	TABLE_NEAR = 128, /* bundles of asyncs that are tried first: their used parts take 8 KiB */
	TABLE_BUNDLE = 4,
	TABLE_ASYNCS = (TABLE_NEAR + TABLE_BUNDLES) * TABLE_BUNDLE,
	TABLE_LEAST_ROWS = 1024,
	TABLE_MOST_ROWS = 65536,
	TABLE_PROBES = 16,   /* slots searched for each key */
	TABLE_CHAINS = 16,   /* hash chains of a thread's rows */
	TABLE_BUCKETS = 944, /* as in base/histogram.h, up to 146 years */
	TABLE_BUCKET_BITS = 4,
	TABLE_DIGITS = 72,
	TABLE_ONE = 1074, /* the bit of a sum that has the value 1 */
};

/* Numbers of the rows that all threads share. */
enum {
	TABLE_NO_ROW = 0,
	TABLE_OTHER_SLICES,
	TABLE_OTHER_ASYNCS,
	TABLE_OTHER_INSTANTS,
	TABLE_OTHER_COUNTERS,
	TABLE_FIRST_ROW = 8, /* hashed rows begin here */
};

/* The low bits of `what`: the series of a counter. */
#define TABLE_SERIES	    15
#define TABLE_DYNAMIC	    16 /* the name is not a constant in the file: `id` is its hash */
#define TABLE_CUT	    32 /* the name was cut */
#define TABLE_OBJECT(class) ((class) << 8)
#define TABLE_FRAME	    META_CLASS_FRAME /* class of frames: the one that begins first ends first */
#define TABLE_CLASS(what)   ((what) >> 8 & 15)

enum table_thread_state {
	TABLE_THREAD_FREE,
	TABLE_THREAD_LIVE,
	TABLE_THREAD_OVER, /* exited; the recorder has to free it */
};

struct table_level {
	__u64 begin;
	__u64 children; /* time in the slices directly inside this one */
	__u32 row;	/* 0: not recorded */
	__u32 pad;
};

struct table_thread {
	__u32 owner; /* number of the slot + 1; also the owner of its rows */
	__u32 state;
	__u32 tgid;
	__u32 tid;
	__u32 depth;
	__u32 name_length;
	__u64 marked;	  /* marks of the thread, as in ACCOUNT_MARKS */
	__u64 marks;	  /* marks that were aggregated */
	__u64 unfinished; /* slices without an END of their own */
	__u64 limit;	  /* BEGINs of asynchronous slices that were lost, table full */
	__u64 malformed;  /* counters without a number */
	__u32 chains[TABLE_CHAINS];

	/* The key of the current mark, and scratch memory for it. */
	__u64 id;
	__u64 text; /* a hash of category and name */
	__u32 site;
	__u32 what;
	__u32 kind;
	__u32 category;
	__u32 length; /* of `bytes` */
	__s32 keys;
	__u32 more_length; /* of `more` */
	__u64 categories;  /* address; 0: none */
	__s32 categories_distance;
	__u32 pad2;
	/* outermost of the dropped levels; in memory, so that the verifier does not follow it */
	__u32 outermost;
	__u32 pad;
	__u64 values[MAX_ARGS];
	__u64 bytes[MAX_NAME / 8 + 1]; /* of the name */
	__u64 more[MAX_NAME / 8 + 1];  /* of categories */

	char comm[COMM_SIZE];
	char name[MAX_NAME + 8]; /* given by the program */
	struct table_level levels[MAX_NESTING];
};

/*
 * The sums for slices. A reset does not clear them: the recorder subtracts what was there before.
 */
struct table_times {
	__u64 total; /* slices nested in one of the same name count once */
	__u64 self;
	__u64 sum; /* of all durations */
	__u64 min;
	__u64 max;
	__u64 unmatched; /* asynchronous ENDs without a BEGIN */
};

/*
 * The statistics of a counter. Each type of number has its own range, since the kernel cannot
 * compare doubles with integers.
 */
struct table_numbers {
	__s64 int_min, int_max;
	__u64 uint_min, uint_max;
	__u64 double_min, double_max; /* order_of_double() */
	__u64 sum_low, sum_high;      /* sum of all integers, 128 bits */
	__u64 nans;
	__u64 last;
	__u64 last_ts;
	__u8 last_type;
	__u8 seen;	 /* a bit for each type that has a range above */
	__u8 infinities; /* the sum of doubles contains 1: +inf, 2: -inf */
	__u8 pad[5];
};

struct table_row {
	__u32 owner;  /* 0: free */
	__u32 target; /* the row to add to: this one or another with the same name. Set last */
	/* static name: distances from the site, with that of the name in the low half */
	__u64 id;
	__u32 site;
	__u32 what;
	__u64 text;
	__u32 next;	   /* of its hash chain */
	__u32 open;	   /* open slices of this row */
	__u32 resets;	   /* number of resets when min and max were begun */
	__u32 length;	   /* of the name, in bytes */
	__u32 more_length; /* of the categories, in bytes */
	__s32 keys;	   /* of a counter */
	__s32 categories;
	__u32 pad;
	__u64 count;
	union {
		struct table_times times;
		struct table_numbers numbers;
	};
};

/*
 * The larger part of a row. The sum of doubles is exact: digit i has the value 2^(32 * i -
 * TABLE_ONE).
 */
struct table_page {
	union {
		__u32 buckets[TABLE_BUCKETS];
		__s64 digits[TABLE_DIGITS];
	};
	char name[MAX_NAME];
	char more[MAX_NAME];
	char pad[64];
};

#define TABLE_ASYNC_BUSY   1
#define TABLE_NEAR_OF(key) ((__u32)(key) & (TABLE_NEAR - 1))

/* What only the reader of the table needs of an open asynchronous slice. */
struct table_async {
	__u32 tgid;
	__u32 site;
	__s32 name; /* distance from the site */
	__u32 what;
};

/*
 * A few slots that are searched linearly. They fill two cache lines, and an END looks at the second
 * one only for a slice with its key.
 */
struct table_bundle {
	__u64 keys[TABLE_BUNDLE]; /* hash of process, id, category and name; 0: free */
	__u64 begins[TABLE_BUNDLE];
	struct table_async asyncs[TABLE_BUNDLE];
};

/* Maps a double to an unsigned number of the same order, and back. */
static inline __u64 order_of_double(__u64 bits)
{
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static inline __u64 double_of_order(__u64 order)
{
	return order >> 63 ? order & ~(1ull << 63) : ~order;
}

#endif
