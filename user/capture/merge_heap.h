/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A heap for merging streams that are sorted by time: the stream with the earliest event is on top.
 */
#ifndef PROFTRACE_CAPTURE_MERGE_HEAP_H
#define PROFTRACE_CAPTURE_MERGE_HEAP_H

#include <stdint.h>

/* The first member of whatever is merged. */
struct merge_head {
	uint64_t next_ns; /* the time of its first event */
};

/* Restores the heap after entry `i` has become later or was replaced. */
void merge_sift_down(struct merge_head **heap, unsigned i, unsigned n);
/* Makes a heap of entries in any order. */
void merge_heapify(struct merge_head **heap, unsigned n);
/* The time up to which the stream on top has the earliest events, at most `bound`. */
uint64_t merge_bound(struct merge_head *const *heap, unsigned n, uint64_t bound);

#endif
