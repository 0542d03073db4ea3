/* SPDX-License-Identifier: BSD-2-Clause */
/* Several streams in the order of time become one: the stream with the earliest event is on top. */
#ifndef PROFTRACE_CAPTURE_MERGE_HEAP_H
#define PROFTRACE_CAPTURE_MERGE_HEAP_H

#include <stdint.h>

/* The first member of whatever is merged. */
struct merge_head {
	uint64_t next_ns; /* the time of its first event */
};

/* After `i` alone has become later, or has been put there. */
void merge_sift_down(struct merge_head **heap, unsigned i, unsigned n);
/* Of heads in any order. */
void merge_heapify(struct merge_head **heap, unsigned n);
/* Up to when the one on top goes on without another being earlier; `bound` at most. */
uint64_t merge_bound(struct merge_head *const *heap, unsigned n, uint64_t bound);

#endif
