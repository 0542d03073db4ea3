/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches: copied out of the program's memory as they are, or read there. The input is a row of steps,
 * each a byte that says what comes, two of its length, and so many bytes: a batch, a thread's end, a
 * round (with what is in memory then), a pause, a look for batches that are there already.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/batch/batch.h"

#define MEMORY 1000 /* no such descriptor: what is read there is the input */

static int peek(void *out, size_t size, uint64_t at);
#define target_memory_read(memory, at, out, size) ((void)(memory), peek(out, size, at))
#define broker_open(broker, what, target, start, end, failure) \
	((void)(broker), (void)(target), MEMORY)
/* Processes with the threads that inputs speak of. */
static struct dirent *next_task(unsigned *number);
static unsigned next_number;
#define fdopendir(fd) ((void)(fd), &next_number)
#define DIR	      unsigned
#define readdir	      next_task
#define dirfd(tasks)  MEMORY
#define closedir(tasks)
/* Where their descriptors are. */
#define syscall(number, tid, head, size) (*(head) = (tid)*65536ull, *(size) = 24, 0)
#define close(fd)			 ((void)(fd))
#include "capture/batch/find_existing.c"
#include "capture/batch/read_memory.c"
#undef target_memory_read
#undef broker_open
#undef close
#undef fdopendir
#undef DIR
#undef readdir
#undef dirfd
#undef closedir
#undef syscall

#include "timeline/timeline.h"

#define KINDS 20 /* a site of each that a batch may have, and some that it may not */
#define STUB  64 /* bytes from one stub to the next */
#define FIRST 0x1000
#define FLUSH \
	0x800 /* the stub that hands over, whose place in memory an input says to be 0, or elsewhere */
#define PLACE (1ull << 32)

static uint64_t memory[BATCH_MAX / 8];
static size_t memory_size;
static uint64_t code; /* where the code begins in the file of the fuzzer itself */

static void must(bool condition)
{
	if (!condition)
		abort();
}

static struct dirent *next_task(unsigned *number)
{
	static struct dirent task;

	*number = (*number + 1) % 5;
	snprintf(task.d_name, sizeof(task.d_name), "%u", *number);
	return *number ? &task : NULL;
}

/* The process's memory begins at PLACE. */
static int peek(void *out, size_t size, uint64_t at)
{
	if (at < PLACE || at - PLACE > memory_size || size > memory_size - (at - PLACE))
		return -EIO;
	memcpy(out, (const char *)memory + (at - PLACE), size);
	return 0;
}

static int take_event(void *context, const struct event *event)
{
	unsigned i;

	must(event->n_args <= EVENT_MAX_ARGS);
	for (i = 0; i < event->n_args; i++) {
		const struct arg *arg = &event->args[i];

		/* Where a string is said to be, there is one. */
		must(arg->type != ARG_STRING || strlen(arg->s) == arg->length);
		must(!arg->key || strlen(arg->key->text) == arg->key->length);
	}
	must(!event->name || strlen(event->name->text) == event->name->length);
	return timeline_event(context, event);
}

/* Small numbers become times of now and stubs that are there, which no fuzzer would guess. */
static void help(uint64_t *events, size_t n)
{
	const uint64_t now = batch_clock_now();
	size_t at = 0;

	while (at + BATCH_EVENT_HEAD <= n) {
		size_t words = BATCH_EVENT_WORDS(events + at);

		if (events[at] && events[at] < 65536)
			events[at] += now - 32768;
		if ((events[at + 1] & 0xffffffff) < KINDS)
			events[at + 1] = (events[at + 1] & ~0xffffffffull) |
					 (FIRST - FLUSH + STUB * (events[at + 1] & 0xffffffff));
		at += words >= BATCH_EVENT_HEAD ? words : BATCH_EVENT_HEAD;
	}
}

static void batch(struct capture *c, const uint8_t *data, size_t size)
{
	struct {
		struct record_batch r;
		uint64_t events[(BATCH_MAX - sizeof(struct batch_head)) / 8];
	} in;
	struct record_batch *copy;
	size_t most = sizeof(in.r) - offsetof(struct record_batch, batch) + sizeof(in.events), n;

	if (size < 4)
		return;
	memset(&in, 0, sizeof(in));
	in.r.head.kind = RECORD_BATCH;
	in.r.head.ts = monotonic_now();
	in.r.head.tgid = 1 + data[0] % 2;
	in.r.head.tid = 1 + data[0] / 2 % 4;
	in.r.head.site = data[1] % (KINDS + 2);
	in.r.ops.a = PLACE + 8 * (data[2] % 64);
	in.r.ops.b = data[3] % 5;
	data += 4;
	size = size - 4 < most ? size - 4 : most;
	memcpy(&in.r.batch, data, size);
	/* Which the kernel's side sees to. */
	in.r.batch.used = BATCH_USED(&in.r.batch);
	if (in.r.batch.used < sizeof(in.r.batch))
		in.r.batch.used = sizeof(in.r.batch);
	n = size > sizeof(in.r.batch) ? (size - sizeof(in.r.batch)) / 8 : 0;
	help(in.events, n);
	copy = malloc(sizeof(in.r) + 8 * n);
	memcpy(copy, &in, sizeof(in.r) + 8 * n);
	batches_add_record(c, &copy->head, sizeof(in.r) + 8 * n);
	free(copy);
}

static void thread_ends(struct capture *c, const uint8_t *data, size_t size)
{
	struct record_plain r = { .head = { .kind = RECORD_EXIT, .ts = monotonic_now() } };

	if (!size)
		return;
	r.head.tgid = 1 + data[0] % 2;
	r.head.tid = 1 + data[0] / 2 % 4;
	r.ops.a = data[0] & 128;
	batches_add_record(c, &r.head, sizeof(r));
}

/* What is there: where the first batch is, that batch, and whatever comes behind. */
static void remember(const uint8_t *data, size_t size)
{
	const size_t head = 1 + sizeof(struct batch_head) / 8;

	memory_size = size < sizeof(memory) ? size : sizeof(memory);
	memcpy(memory, data, memory_size);
	if (memory_size / 8 > head)
		help(memory + head, memory_size / 8 - head);
}

static void step(struct capture *c, unsigned what, const uint8_t *data, size_t size)
{
	switch (what % 8) {
	case 4:
		thread_ends(c, data, size);
		break;
	case 5:
		remember(data, size);
		c->batches->drained_ns = monotonic_now();
		batches_merge(c, true);
		break;
	case 6:
		batches_pause(c, 0, size & 1);
		break;
	case 7:
		remember(data, size);
		batches_find_existing(c, 1 + size % 2, c->sites[0].file, PLACE, code);
		break;
	default:
		batch(c, data, size);
	}
	memory_size = 0;
}

/* With stubs that nobody calls. */
static void make_file(struct file *file, struct marker_site *stubs)
{
	unsigned i;

	if (elf_file_open(open("/proc/self/exe", O_RDONLY), &file->elf, NULL))
		abort();
	for (i = 0; i < file->elf->n_segments; i++) {
		const struct elf_segment *s = &file->elf->segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X))
			continue;
		/* Its batches are where its memory begins. */
		code = s->offset;
		file->batch_slots = s->vaddr;
	}
	for (i = 0; i < KINDS; i++)
		stubs[i].stub = FIRST + STUB * i;
	file->sites.sites = stubs;
	file->sites.n = KINDS;
	file->n_sites = KINDS;
	file->flush_stub = FLUSH;
}

/* Every mark is in just one place. */
static void check(const struct capture *c, const struct account *account)
{
	const struct batches *b = c->batches;
	uint64_t elsewhere = 0;
	unsigned i;

	for (i = 0; i < ACCOUNT_SLOTS; i++)
		elsewhere += b->slots[i];
	must(b->waiting == 0);
	must(b->marked == c->decoded.marks + elsewhere);
	must(c->decoded.marks == account->written + account_lost(account) + account->paused +
					 c->decoded.malformed + c->selection.left_out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file file;
	static struct marker_site stubs[KINDS];
	static struct site sites[KINDS];
	struct account account = { 0 };
	struct capture *c = calloc(1, sizeof(*c));
	struct names *names = names_new(0);
	struct timeline *timeline = timeline_new(names, &account, 0);
	unsigned i;

	if (!file.elf)
		make_file(&file, stubs);
	for (i = 0; i < KINDS; i++) {
		sites[i] = (struct site){ .file = &file, .kind = i % 12, .vaddr = stubs[i].stub };
		sites[i].batches = i % 12 >= RECORD_BEGIN && i % 12 <= RECORD_FREE;
		sites[i].category = names_intern_string(names, "fuzz");
		sites[i].plain_token = 1;
		sites[i].only_categories = i >= 16;
	}
	c->options.event = take_event;
	c->options.context = timeline;
	c->options.names = names;
	c->sites = sites;
	c->n_sites = KINDS;
	c->shared = calloc(1, sizeof(*c->shared));
	must(!batches_new(c->shared, &c->batches));
	/* Inputs are taken faster than the events in them are old. */
	c->batches->since_ns = 0;
	while (size > 3) {
		size_t n = data[1] | (size_t)data[2] << 8;

		n = n < size - 3 ? n : size - 3;
		step(c, data[0], data + 3, n);
		data += 3 + n;
		size -= 3 + n;
	}
	batches_stop(c);
	timeline_finish(timeline);
	check(c, &account);
	batches_free(c->batches);
	selection_free(c);
	markers_free(c);
	timeline_free(timeline);
	names_free(names);
	free(c->shared);
	free(c);
	return 0;
}
