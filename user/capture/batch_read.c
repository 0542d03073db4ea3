/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches that their threads have not handed over, read from outside while these go on writing. An
 * event counts once its time is there, which is written last. Should the batch be handed over
 * meanwhile, its head says so after the reading, and what was read is nothing: it comes by itself.
 */
#include "capture/batch.h"

#include <unistd.h>

#include "proftrace.skel.h"

/* Where nothing tells that it is lost: much longer than a thread waits for a CPU in the kernel. */
#define GIVEN_UP_NS 5000000000ull

static int memory_of(struct capture *c, struct batch_process *p)
{
	const struct broker_target target = { (pid_t)p->pid, 0 };

	if (p->memory != -1)
		return p->memory;
	p->memory = broker_open(c->broker, BROKER_MEMORY, &target, 0, 0, NULL);
	if (p->memory < 0)
		p->memory = -2;
	return p->memory;
}

/* False also where it is another thread's by now: what this one left in it comes through the kernel. */
static bool read_head(int memory, const struct batch_stream *s, struct batch_head *head)
{
	if (pread(memory, head, sizeof(*head), (off_t)s->key[1]) != sizeof(*head))
		return false;
	/* Being emptied: half of what is read could be there no more. What was in it comes by itself. */
	if (head->used != BATCH_USED(head) && head->stuck < BATCH_STUCK)
		return false;
	head->used = BATCH_USED(head);
	return head->version == BATCH_VERSION && head->used >= sizeof(*head) &&
	       head->tid == s->owner;
}

/* False: it has been handed over in between. */
static bool read_events(struct capture *c, struct batch_stream *s, int memory,
			const struct batch_head *head)
{
	struct batches *b = c->batches;
	uint64_t bytes = head->used - sizeof(*head);
	struct batch_head after;

	if (bytes > sizeof(b->memory) - sizeof(*head))
		bytes = sizeof(b->memory) - sizeof(*head);
	if (head->base + bytes <= s->taken && head->stuck < BATCH_STUCK)
		return true;
	if (pread(memory, b->memory, bytes, (off_t)(s->key[1] + sizeof(*head))) != (ssize_t)bytes ||
	    !read_head(memory, s, &after) || after.base != head->base)
		return false;
	batch_stream_take(c, s, head, b->memory, bytes, false);
	return true;
}

/*
 * Whether what was missing then would have come by now: what was handed over later has. That nothing is
 * to be had from the ring buffer at the moment does not say so: a thread that has reserved its place may
 * be waiting for a CPU, and holds up all behind it.
 */
static bool would_be_here(const struct batches *b, const struct batch_stream *s, uint64_t now_ns)
{
	return b->drained_ns > s->missing_ns ||
	       (b->drains > s->missing_drains + 1 && now_ns - s->missing_ns > GIVEN_UP_NS);
}

/* False: something of before `now_ns` is missing, and may be in the ring buffer. */
static bool read_stream(struct capture *c, struct batch_stream *s, uint64_t now_ns)
{
	struct batches *b = c->batches;
	int memory = memory_of(c, s->thread->process);
	struct batch_head head = { 0 };
	bool readable = memory >= 0 && read_head(memory, s, &head);

	if (readable && head.base <= s->handed && read_events(c, s, memory, &head)) {
		s->missing_ns = 0;
		return true;
	}
	if (s->missing_ns && !would_be_here(b, s, now_ns))
		return false;
	/* It has come, or could not be read for a moment only. */
	if (!s->missing_ns ||
	    (readable && (s->handed >= s->missing_base || s->missing_base == UINT64_MAX))) {
		/* Not when the round began: it may have been handed over since. */
		s->missing_ns = monotonic_now();
		s->missing_drains = b->drains;
		s->missing_base = readable ? head.base : UINT64_MAX;
		return false;
	}
	s->missing_ns = 0;
	/* The memory is gone, and its last batch has come or never will. */
	if (!readable) {
		head.base = s->taken;
		head.events = s->events;
		batch_stream_lost(b, s, &head);
		return true;
	}
	batch_stream_lost(b, s, &head);
	return read_events(c, s, memory, &head);
}

uint64_t batches_read(struct capture *c, uint64_t now_ns)
{
	struct batches *b = c->batches;
	uint64_t known_ns = now_ns;
	struct batch_stream *s;

	for (s = b->streams; s; s = s->next) {
		uint64_t ns;

		/* Over, or marks that went past all batches. */
		if (s->over || s->ended || !s->thread || s->key[1] <= UINT32_MAX ||
		    read_stream(c, s, now_ns))
			continue;
		ns = batch_clock_ns(&b->clock, s->last_ticks);
		if (ns < known_ns)
			known_ns = ns;
	}
	return known_ns > b->known_ns ? known_ns : b->known_ns;
}

#define MOST_FOUND 65536

/* So that the kernel's side knows of it when the thread ends. */
static void tell_kernel(struct capture *c, uint32_t pid, uint32_t tid, uint64_t address)
{
	unsigned i;

	for (i = 0; i < BATCHES_FOUND_ON; i++) {
		struct batch_found *found = &c->shared->batches_found[(tid + i) % BATCHES_FOUND];

		if (found->pid_tgid)
			continue;
		found->address = address;
		__atomic_store_n(&found->pid_tgid, (uint64_t)pid << 32 | tid, __ATOMIC_RELEASE);
		return;
	}
}

/* How far the file's addresses are from those in memory. */
static bool find_bias(const struct file *file, uint64_t start, uint64_t offset, uint64_t *ret_bias)
{
	unsigned i;

	for (i = 0; i < file->elf->n_segments; i++) {
		const struct elf_segment *s = &file->elf->segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X) || offset + 4096 <= s->offset ||
		    offset >= s->offset + s->filesz)
			continue;
		*ret_bias = start - offset + s->offset - s->vaddr;
		return true;
	}
	return false;
}

void batches_find(struct capture *c, uint32_t pid, const struct file *file, uint64_t start,
		  uint64_t offset)
{
	struct batch_process *p = batch_process_of(c->batches, pid);
	int memory = p ? memory_of(c, p) : -1;
	uint64_t bias, address = 0;
	unsigned n;

	if (memory < 0 || !file->batch_list || !find_bias(file, start, offset, &bias) ||
	    pread(memory, &address, sizeof(address), (off_t)(bias + file->batch_list)) !=
		    sizeof(address))
		return;
	for (n = 0; address && n < MOST_FOUND; n++) {
		struct batch_stream *s;
		struct batch_thread *t;
		struct batch_head head;

		if (pread(memory, &head, sizeof(head), (off_t)address) != sizeof(head))
			return;
		/* Threads have other numbers in a namespace of their own: those are told by the kernel. */
		t = head.version == BATCH_VERSION && head.pid == pid
			    ? batch_thread_of(c->batches, pid, head.tid)
			    : NULL;
		s = t ? batch_stream_new(c->batches, t, address, file, &head) : NULL;
		if (s) {
			s->found = head.base;
			tell_kernel(c, pid, head.tid, address);
		}
		address = head.next;
	}
}
