/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A binary heap of pointers to stream heads. The stream on top is updated in place, which is the
 * only operation that a merge needs besides building the heap.
 */
#include "capture/merge_heap.h"

void merge_sift_down(struct merge_head **heap, unsigned i, unsigned n)
{
	struct merge_head *s = heap[i];

	for (;;) {
		unsigned child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n && heap[child + 1]->next_ns < heap[child]->next_ns)
			child++;
		if (heap[child]->next_ns >= s->next_ns)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = s;
}

void merge_heapify(struct merge_head **heap, unsigned n)
{
	for (unsigned i = n / 2; i-- > 0;)
		merge_sift_down(heap, i, n);
}

uint64_t merge_bound(struct merge_head *const *heap, unsigned n, uint64_t bound)
{
	for (unsigned i = 1; i < n && i < 3; i++) {
		if (heap[i]->next_ns < bound)
			bound = heap[i]->next_ns;
	}
	return bound;
}
