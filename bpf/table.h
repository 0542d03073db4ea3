/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tables in which the kernel adds up what was marked (--stats-only, top), where no event leaves
 * it. Both sides include this file; user/capture reads the tables by mmap.
 *
 *	threads	 one for each thread that marks: what is open on it, where its rows begin
 *	rows	 one for each name on each thread: found by hash, so that nobody else writes to it
 *	pages	 of each row, by the same number, what takes more room: histogram or sum, name
 *	asyncs	 asynchronous slices that are open, of all threads and processes
 *
 * A row belongs to its thread alone, so adding to it takes no lock and nothing atomic. When the thread
 * has ended the recorder takes what is in its rows and gives them back. Where there is no room for a
 * row, the marks go to rows (other) that all share.
 */
#ifndef PROFTRACE_BPF_TABLE_H
#define PROFTRACE_BPF_TABLE_H

#include "event.h"

enum {
#ifdef SMALL_WINDOWS
	TABLE_THREADS = 8, /* fuzzers have all of them looked through for each input */
	TABLE_BUNDLES = 8,
#else
	TABLE_THREADS = 4096,  /* a power of two, as all of these */
	TABLE_BUNDLES = 16384, /* of asyncs, past the near ones */
#endif
	TABLE_NEAR =
		128, /* bundles of asyncs that are tried first: what is used of them is 8 KiB */
	TABLE_BUNDLE = 4,
	TABLE_ASYNCS = (TABLE_NEAR + TABLE_BUNDLES) * TABLE_BUNDLE,
	TABLE_LEAST_ROWS = 1024,
	TABLE_MOST_ROWS = 65536,
	TABLE_PROBES = 16,   /* so many places for each key */
	TABLE_CHAINS = 16,   /* of the rows of a thread */
	TABLE_BUCKETS = 944, /* as handlers/histogram.h has them, up to 146 years */
	TABLE_BUCKET_BITS = 4,
	TABLE_DIGITS = 72,
	TABLE_ONE = 1074, /* the bit of a sum that stands for 1 */
};

/* Numbers of rows. */
enum {
	TABLE_NO_ROW = 0,
	TABLE_OTHER_SLICES,
	TABLE_OTHER_ASYNCS,
	TABLE_OTHER_INSTANTS,
	TABLE_OTHER_COUNTERS,
	TABLE_FIRST_ROW = 8, /* from here on by hash */
};

/* The low bits of `what`: which of the pairs of a counter it is. */
#define TABLE_SERIES	    15
#define TABLE_DYNAMIC	    16 /* the name is no constant of its file: `id` is its hash */
#define TABLE_CUT	    32 /* its bytes are not all */
#define TABLE_OBJECT(class) ((class) << 8)
#define TABLE_FRAME	    3 /* the class of frames: what begins first ends first */
#define TABLE_CLASS(what)   ((what) >> 8 & 15)

enum table_thread_state {
	TABLE_THREAD_FREE,
	TABLE_THREAD_LIVE,
	TABLE_THREAD_OVER, /* the recorder takes it over */
};

struct table_level {
	__u64 begin;
	__u64 children; /* time in the slices directly inside */
	__u32 row;	/* 0: not recorded */
	__u32 pad;
};

struct table_thread {
	__u32 owner; /* its own number + 1: what its rows are marked with */
	__u32 state;
	__u32 tgid;
	__u32 tid;
	__u32 depth;
	__u32 name_length;
	__u64 marked;	  /* marks of it, as the account counts them for others */
	__u64 marks;	  /* that were added up */
	__u64 unfinished; /* slices without an END of their own */
	__u64 limit;	  /* BEGINs of asynchronous slices for which there was no room */
	__u64 malformed;  /* counters without a number */
	__u32 chains[TABLE_CHAINS];

	/* The key of the mark at hand. */
	__u64 id;
	__u64 text; /* a hash of category and name */
	__u32 site;
	__u32 what;
	__u32 kind;
	__u32 category;
	__u32 length; /* of `bytes` */
	__s32 keys;
	__u32 more_length; /* of `more` */
	__u64 categories;  /* where they are, 0: there are none */
	__s32 categories_distance;
	__u32 pad2;
	__u32 outermost; /* of the levels that are dropped; here the verifier does not follow it */
	__u32 pad;
	__u64 values[MAX_ARGS];
	__u64 bytes[MAX_NAME / 8 + 1]; /* of the name */
	__u64 more[MAX_NAME / 8 + 1];  /* of categories */

	char comm[COMM_SIZE];
	char name[MAX_NAME + 8]; /* that the program gave it */
	struct table_level levels[MAX_NESTING];
};

/* What was counted while it was not reset. */
struct table_times {
	__u64 total; /* what is nested in a slice of the same name counts once */
	__u64 self;
	__u64 sum; /* of all durations */
	__u64 min;
	__u64 max;
	__u64 unmatched; /* asynchronous ENDs without a BEGIN */
};

/* Each type of number by itself: the kernel does not compare doubles with integers. */
struct table_numbers {
	__s64 int_min, int_max;
	__u64 uint_min, uint_max;
	__u64 double_min, double_max; /* order_of_double() */
	__u64 sum_low, sum_high;      /* of all integers, as one of 128 bits */
	__u64 nans;
	__u64 last;
	__u64 last_ts;
	__u8 last_type;
	__u8 seen;	 /* a bit for each type that is in the ranges above */
	__u8 infinities; /* 1: plus, 2: minus is in the sum of doubles */
	__u8 pad[5];
};

struct table_row {
	__u32 owner;  /* 0: free */
	__u32 target; /* the row that is added to: this one, or another of the same name. Set last */
	__u64 id;     /* static: made of distances from the site, the low half that of the name */
	__u32 site;
	__u32 what;
	__u64 text;
	__u32 next;	   /* of its chain */
	__u32 open;	   /* slices of this row that are open */
	__u32 resets;	   /* how often all had been reset when min and max were begun */
	__u32 length;	   /* of its name's bytes */
	__u32 more_length; /* of its categories' */
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
 * A sum of doubles is exact: digit i stands for 2^(32 * i - TABLE_ONE).
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

/* Of a slice that is open, what only who reads the table wants to know. */
struct table_async {
	__u32 tgid;
	__u32 site;
	__s32 name; /* its distance */
	__u32 what;
};

/* A few that are looked through. Two lines of the cache: an END looks at the first. */
struct table_bundle {
	__u64 keys[TABLE_BUNDLE]; /* a hash of process, id, category and name; 0: free */
	__u64 begins[TABLE_BUNDLE];
	struct table_async asyncs[TABLE_BUNDLE];
};

/* A double as an unsigned number of the same order; and back. */
static inline __u64 order_of_double(__u64 bits)
{
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static inline __u64 double_of_order(__u64 order)
{
	return order >> 63 ? order & ~(1ull << 63) : ~order;
}

#endif
