/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/rings.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "capture/merge_heap.h"
#include "clock.h"
#include "event.h"

/*
 * The clocks of two CPUs, and the kernel's quick way to read one and ours, differ by less than this; and
 * a processor that reads memory ahead of its turn does so by less.
 */
#define CLOCKS_APART_NS 10000

/* Where a record is, and when it happened. */
struct place {
	uint64_t ts;
	uint64_t at; /* as the buffer counts, which never goes back */
};

/*
 * The kernel puts every page of a mapping in place at once, 64 MiB twice, which takes as long as to verify
 * our programs: so of the data only as much is mapped as has been reached, by so many bytes.
 */
#define WINDOW (1u << 20)

struct ring {
	struct merge_head head;
	int fd; /* the caller's */
	uint64_t *consumer, *producer;
	char *data;	/* twice, one after the other, so that no record is in two pieces */
	size_t mapped;	/* of the data, from its beginning */
	uint64_t seen;	/* read up to here */
	uint64_t until; /* it reached this far at `look_ns` or later */
	uint64_t look_ns;
	uint64_t known_ns;
	struct place *places; /* seen and not handed on, by time */
	size_t begin, end, room;
};

struct rings {
	rings_take take;
	void *context;
	size_t page, size;
	int error; /* of mapping more of one */
	bool ended;
	uint64_t known_ns; /* up to here all has been handed on */
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
	/* Room for all of it. */
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

int rings_open(const int *fds, unsigned n, size_t size, rings_take take, void *context,
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
	unsigned i;

	if (!r)
		return;
	for (i = 0; i < r->n; i++) {
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

/* --- looking ------------------------------------------------------------------------------------- */

/* Whether the time in it was taken before it got its room: as bpf/ has it. */
static bool is_timed_before(unsigned kind)
{
	return kind != RECORD_BEGIN &&
	       (kind < RECORD_FORK || kind == RECORD_SWITCH || kind == RECORD_WAKING ||
		kind == RECORD_SAMPLE || kind == RECORD_BLOCKED || kind == RECORD_LOST ||
		kind == RECORD_BATCH);
}

static bool make_room(struct ring *ring)
{
	size_t n = ring->end - ring->begin, room = ring->room ? 2 * ring->room : 1024;
	struct place *grown;

	if (ring->begin > ring->room / 2) {
		memmove(ring->places, ring->places + ring->begin, n * sizeof(*ring->places));
		ring->begin = 0;
		ring->end = n;
		return true;
	}
	grown = realloc(ring->places, room * sizeof(*grown));
	if (!grown)
		return false;
	ring->places = grown;
	ring->room = room;
	return true;
}

/* Those of the same time stay in the order in which they came. */
static bool put(struct ring *ring, struct place p)
{
	size_t i;

	/* Late, as what tells of losses is. */
	if (ring->begin && ring->begin < ring->end && p.ts < ring->places[ring->begin].ts) {
		ring->places[--ring->begin] = p;
		return true;
	}
	if (ring->end == ring->room && !make_room(ring))
		return false;
	for (i = ring->end++; i > ring->begin && ring->places[i - 1].ts > p.ts; i--)
		ring->places[i] = ring->places[i - 1];
	ring->places[i] = p;
	return true;
}

/* What is at this place. */
struct found {
	struct record *record; /* NULL: it was given up, or is none */
	uint32_t bytes;
	uint32_t takes; /* with all that belongs to it */
};

/* Maps on, up to `end` of the data at least. */
static bool map_until(struct rings *r, struct ring *ring, size_t end)
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

/* False: it is not complete, or cannot be read. */
static bool find(struct rings *r, struct ring *ring, uint64_t at, struct found *found)
{
	size_t from = at & (r->size - 1);
	uint32_t *header = (uint32_t *)(ring->data + from), length;

	if (from + BPF_RINGBUF_HDR_SZ > ring->mapped &&
	    !map_until(r, ring, from + BPF_RINGBUF_HDR_SZ))
		return false;
	length = __atomic_load_n(header, __ATOMIC_ACQUIRE);
	if (length & BPF_RINGBUF_BUSY_BIT)
		return false;
	found->bytes = length & ~BPF_RINGBUF_DISCARD_BIT;
	found->takes = (found->bytes + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
	if (from + found->takes > ring->mapped && !map_until(r, ring, from + found->takes))
		return false;
	found->record = NULL;
	if (!(length & BPF_RINGBUF_DISCARD_BIT) && found->bytes >= sizeof(*found->record))
		found->record = (struct record *)((char *)header + BPF_RINGBUF_HDR_SZ);
	return true;
}

/* The clock first: what has room by then is before what is read after it. */
static void look_how_far(struct ring *ring, uint64_t now_ns)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (ring->seen < ring->until)
		return;
	ring->until = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	ring->look_ns = now_ns - CLOCKS_APART_NS;
}

/* Reads on, up to where it reached, or something is not complete. */
static void look_at(struct rings *r, struct ring *ring, unsigned budget)
{
	struct found found;

	while (ring->seen < ring->until && budget--) {
		const struct record *record;

		if (!find(r, ring, ring->seen, &found))
			return;
		record = found.record;
		if (record) {
			if (!put(ring, (struct place){ record->ts, ring->seen }))
				return;
			if (is_timed_before(record->kind) && record->ts > ring->known_ns)
				ring->known_ns = record->ts;
		}
		ring->seen += found.takes;
	}
	if (ring->seen >= ring->until && ring->look_ns > ring->known_ns)
		ring->known_ns = ring->look_ns;
}

static uint64_t watermark(const struct rings *r)
{
	uint64_t known_ns = UINT64_MAX;
	unsigned i;

	for (i = 0; i < r->n && !r->ended; i++) {
		if (r->rings[i].known_ns < known_ns)
			known_ns = r->rings[i].known_ns;
	}
	return known_ns;
}

/*
 * One that is ahead of the others is not read on while much of it waits for these, so that little has to
 * be remembered; the one that they all wait for always is.
 */
static void look(struct rings *r, unsigned budget)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), known_ns = watermark(r);
	unsigned i, share = budget / r->n;

	for (i = 0; i < r->n; i++) {
		struct ring *ring = &r->rings[i];

		look_how_far(ring, now_ns);
		if (ring->end - ring->begin < budget || ring->known_ns <= known_ns)
			look_at(r, ring, share ? share : 1);
	}
}

/* --- handing on ---------------------------------------------------------------------------------- */

static int hand_on(struct rings *r, struct ring *ring, uint64_t bound)
{
	int error = 0;

	while (!error && ring->begin < ring->end && ring->head.next_ns <= bound) {
		struct found found;

		find(r, ring, ring->places[ring->begin].at, &found);
		ring->begin++;
		if (ring->begin < ring->end)
			ring->head.next_ns = ring->places[ring->begin].ts;
		error = r->take(r->context, found.record, found.bytes);
	}
	return error;
}

static int merge(struct rings *r, uint64_t known_ns)
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

		error = hand_on(r, ring, merge_bound(r->heap, n, known_ns));
		if (ring->begin == ring->end)
			r->heap[0] = r->heap[--n];
		if (n)
			merge_sift_down(r->heap, 0, n);
	}
	return error;
}

/* The kernel may write over what has been handed on. Returns whether something is left. */
static bool release(struct ring *ring)
{
	uint64_t at = ring->seen;
	size_t i;

	for (i = ring->begin; i < ring->end; i++) {
		if (ring->places[i].at < at)
			at = ring->places[i].at;
	}
	__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
	return at < ring->until;
}

/* Whoever writes looks at how far it has been read: it is said once for so many records. */
#define RELEASE_EACH 64

/* One alone: as it comes, and as long as more comes. */
static int drain_one(struct rings *r, struct ring *ring)
{
	uint64_t reaches;
	struct found found;
	unsigned n = 0;
	int error = 0;

	look_how_far(ring, clock_ns(CLOCK_MONOTONIC));
	reaches = ring->until;
	while (!error && ring->seen < reaches && find(r, ring, ring->seen, &found)) {
		ring->seen += found.takes;
		if (found.record)
			error = r->take(r->context, found.record, found.bytes);
		if (++n % RELEASE_EACH == 0)
			__atomic_store_n(ring->consumer, ring->seen, __ATOMIC_RELEASE);
		if (ring->seen == reaches)
			reaches = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	}
	__atomic_store_n(ring->consumer, ring->seen, __ATOMIC_RELEASE);
	if (ring->seen >= ring->until)
		r->known_ns = ring->look_ns;
	return error ? error : r->error;
}

int rings_drain(struct rings *r, unsigned budget)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), known_ns;
	bool left = false;
	unsigned i;
	int error;

	if (r->error)
		return r->error;
	if (r->n == 1)
		return drain_one(r, &r->rings[0]);
	look(r, budget);
	known_ns = watermark(r);
	error = merge(r, known_ns);
	if (!error)
		r->known_ns = known_ns < now_ns ? known_ns : now_ns;
	error = error ? error : r->error;
	for (i = 0; i < r->n; i++)
		left |= release(&r->rings[i]);
	return error ? error : left ? -EAGAIN : 0;
}

uint64_t rings_known_ns(const struct rings *r)
{
	return r->known_ns;
}
