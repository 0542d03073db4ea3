/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading ring buffers and merging their records by time: rings.h proves that the order is right.
 * libbpf's own reader does not merge several buffers.
 */
#include "capture/rings.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "capture/merge_heap.h"
#include "base/clock.h"
#include "bpf/event.h"

/*
 * The bound for three errors: the difference between two CPUs' clocks, the difference between the
 * kernel's fast clock and ours, and the time by which a processor reads memory early.
 */
#define CLOCKS_APART_NS 10000

/* The position and the time of a record. */
struct ring_place {
	uint64_t ts;
	uint64_t at; /* position in the buffer, which only grows */
};

/*
 * The kernel populates a mapping at once. For a buffer of 64 MiB, whose data are mapped twice, that
 * takes as long as verifying all programs. So the data are mapped in steps of this size, when they
 * are reached.
 */
#define WINDOW (1u << 20)

struct ring {
	struct merge_head head;
	int fd; /* borrowed */
	uint64_t *consumer, *producer;
	char *data;	/* mapped twice in a row, so that no record is split */
	size_t mapped;	/* bytes of the data, from the beginning */
	uint64_t seen;	/* position up to which it has been read */
	uint64_t until; /* position of the producer at `until_ns` or later */
	uint64_t until_ns;
	uint64_t known_ns;
	struct ring_place *places; /* seen but not emitted, sorted by time */
	size_t begin, end;
	uint32_t capacity;
};

struct rings {
	rings_handler take;
	void *context;
	size_t page, size;
	int error; /* from mapping more data */
	bool ended;
	uint64_t known_ns; /* everything up to here has been emitted */
	unsigned n;
	struct merge_head *heap[MAX_BUFFERS];
	struct ring rings[MAX_BUFFERS];
};

static int ring_map(struct ring *ring, int fd, size_t page, size_t size)
{
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	ring->consumer = p;
	/* Reserves address space for all data. */
	p = mmap(NULL, page + 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (p == MAP_FAILED)
		return -errno;
	ring->producer = p;
	if (mmap(p, page, PROT_READ, MAP_SHARED | MAP_FIXED, fd, page) == MAP_FAILED)
		return -errno;
	ring->fd = fd;
	ring->data = (char *)p + page;
	ring->seen = ring->until = *ring->consumer;
	return 0;
}

int rings_open(const int *fds, unsigned n, size_t size, rings_handler take, void *context,
	       struct rings **ret_rings)
{
	struct rings *r;
	int error = 0;

	if (!n || n > MAX_BUFFERS || size & (size - 1))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->take = take;
	r->context = context;
	r->page = sysconf(_SC_PAGESIZE);
	r->size = size;
	for (r->n = 0; !error && r->n < n; r->n++)
		error = ring_map(&r->rings[r->n], fds[r->n], r->page, size);
	if (error) {
		rings_close(r);
		return error;
	}
	*ret_rings = r;
	return 0;
}

void rings_close(struct rings *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n; i++) {
		if (r->rings[i].consumer)
			munmap(r->rings[i].consumer, r->page);
		if (r->rings[i].producer)
			munmap(r->rings[i].producer, r->page + 2 * r->size);
		free(r->rings[i].places);
	}
	free(r);
}

void rings_end(struct rings *r)
{
	r->ended = true;
}

/*
 * --- reading
 * --------------------------------------------------------------------------------------
 */

/* Whether bpf/ takes the time of such a record before it reserves space. */
static bool time_precedes_reserve(unsigned kind)
{
	return kind != RECORD_BEGIN &&
	       (kind < RECORD_FORK || kind == RECORD_SWITCH || kind == RECORD_WAKING ||
		kind == RECORD_WAIT || kind == RECORD_SYSCALL || kind == RECORD_SAMPLE ||
		kind == RECORD_BLOCKED || kind == RECORD_LOST || kind == RECORD_BATCH);
}

static bool ring_reserve_place(struct ring *ring)
{
	size_t n = ring->end - ring->begin;

	if (ring->begin > ring->capacity / 2) {
		memmove(ring->places, ring->places + ring->begin, n * sizeof(*ring->places));
		ring->begin = 0;
		ring->end = n;
		return true;
	}
	return array_grow(&ring->places, &ring->capacity, 1024, sizeof(*ring->places));
}

/* Records with the same time stay in the order in which they came. */
static bool ring_insert_place(struct ring *ring, struct ring_place p)
{
	size_t i;

	/* A late record, such as a report of losses. */
	if (ring->begin && ring->begin < ring->end && p.ts < ring->places[ring->begin].ts) {
		ring->places[--ring->begin] = p;
		return true;
	}
	if (ring->end == ring->capacity && !ring_reserve_place(ring))
		return false;
	for (i = ring->end++; i > ring->begin && ring->places[i - 1].ts > p.ts; i--)
		ring->places[i] = ring->places[i - 1];
	ring->places[i] = p;
	return true;
}

/* The record at a position. */
struct found_record {
	struct record *record; /* NULL: discarded or too short */
	uint32_t bytes;
	uint32_t total_bytes; /* size with header and padding */
};

/* Maps the data up to `end` at least. */
static bool ring_map_until(struct rings *r, struct ring *ring, size_t end)
{
	size_t from = ring->mapped, until = (end + WINDOW - 1) & ~(size_t)(WINDOW - 1);

	if (until > 2 * r->size)
		until = 2 * r->size;
	if (end > until) {
		r->error = -EPROTO;
		return false;
	}
	if (mmap(ring->data + from, until - from, PROT_READ, MAP_SHARED | MAP_FIXED, ring->fd,
		 2 * r->page + from) == MAP_FAILED) {
		r->error = -errno;
		return false;
	}
	ring->mapped = until;
	return true;
}

/* False: the record is not complete, or cannot be read. */
static bool ring_read_header(struct rings *r, struct ring *ring, uint64_t at,
			     struct found_record *found)
{
	size_t from = at & (r->size - 1);
	uint32_t *header = (uint32_t *)(ring->data + from), length;

	if (from + BPF_RINGBUF_HDR_SZ > ring->mapped &&
	    !ring_map_until(r, ring, from + BPF_RINGBUF_HDR_SZ))
		return false;
	length = __atomic_load_n(header, __ATOMIC_ACQUIRE);
	if (length & BPF_RINGBUF_BUSY_BIT)
		return false;
	found->bytes = length & ~BPF_RINGBUF_DISCARD_BIT;
	found->total_bytes = (found->bytes + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
	if (from + found->total_bytes > ring->mapped &&
	    !ring_map_until(r, ring, from + found->total_bytes))
		return false;
	found->record = NULL;
	if (!(length & BPF_RINGBUF_DISCARD_BIT) && found->bytes >= sizeof(*found->record))
		found->record = (struct record *)((char *)header + BPF_RINGBUF_HDR_SZ);
	return true;
}

/* The clock is read first: what has space by that time is before the position read after it. */
static void ring_read_producer(struct ring *ring, uint64_t now_ns)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (ring->seen < ring->until)
		return;
	ring->until = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	ring->until_ns = now_ns - CLOCKS_APART_NS;
}

/* Reads up to the position of the producer, or to a record that is not complete. */
static void ring_scan(struct rings *r, struct ring *ring, unsigned budget)
{
	struct found_record found;

	while (ring->seen < ring->until && budget--) {
		const struct record *record;

		if (!ring_read_header(r, ring, ring->seen, &found))
			return;
		record = found.record;
		if (record) {
			if (!ring_insert_place(ring, (struct ring_place){ record->ts, ring->seen }))
				return;
			if (time_precedes_reserve(record->kind) && record->ts > ring->known_ns)
				ring->known_ns = record->ts;
		}
		ring->seen += found.total_bytes;
	}
	if (ring->seen >= ring->until && ring->until_ns > ring->known_ns)
		ring->known_ns = ring->until_ns;
}

static uint64_t rings_watermark(const struct rings *r)
{
	uint64_t known_ns = UINT64_MAX;

	for (unsigned i = 0; i < r->n && !r->ended; i++) {
		if (r->rings[i].known_ns < known_ns)
			known_ns = r->rings[i].known_ns;
	}
	return known_ns;
}

/*
 * Reads all buffers. A buffer that is ahead of the others is not read further while many of its
 * records wait for them, which limits the memory. The buffer that is furthest behind is always
 * read.
 */
static void rings_scan(struct rings *r, unsigned budget)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), known_ns = rings_watermark(r);
	unsigned i, share = budget / r->n;

	for (i = 0; i < r->n; i++) {
		struct ring *ring = &r->rings[i];

		ring_read_producer(ring, now_ns);
		if (ring->end - ring->begin < budget || ring->known_ns <= known_ns)
			ring_scan(r, ring, share ? share : 1);
	}
}

/*
 * --- emitting
 * -------------------------------------------------------------------------------------
 */

static int ring_emit_until(struct rings *r, struct ring *ring, uint64_t bound)
{
	int error = 0;

	while (!error && ring->begin < ring->end && ring->head.next_ns <= bound) {
		struct found_record found;

		ring_read_header(r, ring, ring->places[ring->begin].at, &found);
		ring->begin++;
		if (ring->begin < ring->end)
			ring->head.next_ns = ring->places[ring->begin].ts;
		error = r->take(r->context, found.record, found.bytes);
	}
	return error;
}

static int rings_merge(struct rings *r, uint64_t known_ns)
{
	unsigned i, n = 0;
	int error = 0;

	for (i = 0; i < r->n; i++) {
		struct ring *ring = &r->rings[i];

		if (ring->begin == ring->end)
			continue;
		ring->head.next_ns = ring->places[ring->begin].ts;
		r->heap[n++] = &ring->head;
	}
	merge_heapify(r->heap, n);
	while (!error && n && r->heap[0]->next_ns <= known_ns) {
		struct ring *ring = (struct ring *)r->heap[0];

		error = ring_emit_until(r, ring, merge_bound(r->heap, n, known_ns));
		if (ring->begin == ring->end)
			r->heap[0] = r->heap[--n];
		if (n)
			merge_sift_down(r->heap, 0, n);
	}
	return error;
}

/* Lets the kernel overwrite what has been emitted. Returns whether something is left. */
static bool ring_release(struct ring *ring)
{
	uint64_t at = ring->seen;

	for (size_t i = ring->begin; i < ring->end; i++) {
		if (ring->places[i].at < at)
			at = ring->places[i].at;
	}
	__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
	return at < ring->until;
}

/* The kernel checks the consumer's position: it is updated once for this many records. */
#define RELEASE_EACH 64

/* Drains a buffer that is the only one, without sorting, as long as more comes. */
static int ring_drain_alone(struct rings *r, struct ring *ring)
{
	uint64_t reaches;
	struct found_record found;
	unsigned n = 0;
	int error = 0;

	ring_read_producer(ring, clock_ns(CLOCK_MONOTONIC));
	reaches = ring->until;
	while (!error && ring->seen < reaches && ring_read_header(r, ring, ring->seen, &found)) {
		ring->seen += found.total_bytes;
		if (found.record)
			error = r->take(r->context, found.record, found.bytes);
		if (++n % RELEASE_EACH == 0)
			__atomic_store_n(ring->consumer, ring->seen, __ATOMIC_RELEASE);
		if (ring->seen == reaches)
			reaches = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	}
	__atomic_store_n(ring->consumer, ring->seen, __ATOMIC_RELEASE);
	if (ring->seen >= ring->until)
		r->known_ns = ring->until_ns;
	return error ? error : r->error;
}

int rings_drain(struct rings *r, unsigned budget)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), known_ns;
	bool left = false;
	int error;

	if (r->error)
		return r->error;
	if (r->n == 1)
		return ring_drain_alone(r, &r->rings[0]);
	rings_scan(r, budget);
	known_ns = rings_watermark(r);
	error = rings_merge(r, known_ns);
	if (!error)
		r->known_ns = known_ns < now_ns ? known_ns : now_ns;
	error = error ? error : r->error;
	for (unsigned i = 0; i < r->n; i++)
		left |= ring_release(&r->rings[i]);
	return error ? error : left ? -EAGAIN : 0;
}

uint64_t rings_known_ns(const struct rings *r)
{
	return r->known_ns;
}
