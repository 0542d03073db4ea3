/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding batches from before the recording. Threads of a process that was recorded before have
 * batches already, and do not announce them again. They are found in the memory of the marked
 * files, whose data contain the batches.
 *
 * The owner word of a batch is the thread pointer of its thread. Which thread that is follows from
 * the list of robust mutexes: the C library keeps it in the thread's descriptor, near the thread
 * pointer, and the kernel reveals its address.
 */
#include "capture/batch/batch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "proftrace.skel.h"

/*
 * The largest distance between a thread's list of robust mutexes and its thread pointer; the C
 * library has both in the thread's descriptor. Descriptors of two threads are a stack apart.
 */
#define DESCRIPTOR 4096

/*
 * A process may have 65,530 mappings of a marked file, and as many threads as its user may have. To look through all
 * threads for each mapping would take hours. A step is a system call, or so many comparisons of an owner with a thread:
 * about one microsecond. A process with a thousand threads and a hundred marked files needs 113,000.
 */
#define MOST_STEPS	    (1 << 20)
#define COMPARISONS_IN_STEP 512
#define STEPS_OF_READ	    8 /* another thread reads the memory */

/* A live thread, and the address of its descriptor. */
struct live_thread {
	uint64_t descriptor;
	uint32_t tid;
};

struct batch_search {
	struct capture *c;
	struct batch_process *process;
	bool listed;
	bool uncertain; /* some threads have an unknown descriptor, or are not in the list */
	struct live_thread *threads;
	uint32_t n, capacity;
};

/* Makes `n` steps, if so many are left for the process that is being attached to. */
static bool search_may_step(const struct batch_search *f, unsigned n)
{
	struct batches *b = f->c->batches;

	if (n > MOST_STEPS - b->find_steps)
		return false;
	b->find_steps += n;
	return true;
}

static void add_live_thread(struct batch_search *f, uint32_t tid, uint64_t descriptor)
{
	if (array_reserve(f->threads, f->n, f->capacity, 64))
		f->threads[f->n++] = (struct live_thread){ descriptor, tid };
	else
		f->uncertain = true;
}

/*
 * The address of the list of robust mutexes. 0: the C library has not set one; negative: the thread
 * has exited.
 */
static int64_t read_robust_list(uint32_t tid)
{
	uint64_t head = 0;
	size_t size;

	if (syscall(SYS_get_robust_list, tid, &head, &size))
		return errno == ESRCH ? -1 : 0;
	return (int64_t)head;
}

bool batch_thread_has_exited(uint32_t tid)
{
	return read_robust_list(tid) < 0;
}

static void list_live_threads(struct batch_search *f)
{
	const struct broker_target target = { (pid_t)f->process->pid, 0 };
	int directory = broker_open(f->c->broker, BROKER_TASKS, &target, 0, 0, NULL);
	DIR *tasks = directory < 0 ? NULL : fdopendir(directory);
	struct dirent *entry;

	f->listed = true;
	f->uncertain = !tasks;
	if (!tasks) {
		if (directory >= 0)
			close(directory);
		return;
	}
	while ((entry = readdir(tasks))) {
		uint32_t tid;
		int64_t descriptor;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (!search_may_step(f, 1)) {
			f->uncertain = true;
			break;
		}
		tid = strtoul(entry->d_name, NULL, 10);
		descriptor = read_robust_list(tid);
		if (descriptor > 0)
			add_live_thread(f, tid, (uint64_t)descriptor);
	}
	/*
	 * A thread that is just starting has no list yet and has made no marks; one that is exiting
	 * has none any more and makes no marks. If no thread has one, the C library does not set
	 * it, and the owners are unknown.
	 */
	f->uncertain |= !f->n;
	closedir(tasks);
}

/*
 * The number of the thread that owns the batch. 0: no live thread does, and a new owner will
 * announce it. *ret_uncertain: or a thread with an unknown descriptor does.
 */
static uint32_t find_batch_owner(struct batch_search *f, const struct batch_head *head,
				 bool *ret_uncertain)
{
	if (!f->listed)
		list_live_threads(f);
	*ret_uncertain = f->uncertain;
	if (!search_may_step(f, f->n / COMPARISONS_IN_STEP)) {
		*ret_uncertain = true;
		return 0;
	}
	for (size_t i = 0; i < f->n; i++) {
		if (f->threads[i].descriptor - head->owner + DESCRIPTOR < 2 * DESCRIPTOR)
			return f->threads[i].tid;
	}
	return 0;
}

/* The site at which the file's batches are handed over. */
static unsigned find_flush_site(const struct capture *c, const struct file *file)
{
	for (unsigned i = 0; i < file->n_sites; i++) {
		if (c->sites[file->first_site + i].kind == RECORD_FLUSH)
			return file->first_site + i;
	}
	return UINT32_MAX;
}

/*
 * Publishes a batch, or the owner words of a file, to the kernel, which also adds and removes some. False: the table is
 * full.
 */
static bool publish_found(struct capture *c, uint64_t pid_tgid, uint64_t address, unsigned site)
{
	unsigned most = c->loaded.can_loop ? BATCHES_FOUND_ON : BATCHES_FOUND_ON_SHORT, i;

	if (pid_tgid == BATCH_TABLES_OF(pid_tgid >> 32))
		most = BATCH_TABLES_ON;
	for (i = 0; i < most; i++) {
		unsigned descriptor = (BATCH_FOUND_PLACE((uint32_t)pid_tgid) + i) % BATCHES_FOUND;
		struct batch_found *found = &c->shared->batches_found[descriptor];
		__u64 none = 0;

		if (!__atomic_compare_exchange_n(&found->pid_tgid, &none, BATCH_FOUND_TAKEN, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&found->address, address, __ATOMIC_RELAXED);
		__atomic_store_n(&found->site, site, __ATOMIC_RELAXED);
		__atomic_store_n(&found->pid_tgid, pid_tgid, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

/*
 * Whether these owner words have been published: a process may be scanned many times. *ret_n: how many of the process, if
 * these have not.
 */
static bool table_is_published(const struct capture *c, uint64_t tables, uint64_t address,
			       unsigned *ret_n)
{
	*ret_n = 0;
	for (unsigned i = 0; i < BATCH_TABLES_ON; i++) {
		unsigned descriptor = (BATCH_FOUND_PLACE((uint32_t)tables) + i) % BATCHES_FOUND;
		const struct batch_found *found = &c->shared->batches_found[descriptor];
		uint64_t pid_tgid = __atomic_load_n(&found->pid_tgid, __ATOMIC_ACQUIRE);
		uint64_t at = __atomic_load_n(&found->address, __ATOMIC_RELAXED);

		if (pid_tgid == tables && at == address)
			return true;
		if (!pid_tgid && !at)
			return false;
		*ret_n += pid_tgid == tables;
	}
	return false;
}

/* False: marks in it may be missed. */
static bool add_found_batch(struct batch_search *f, const struct file *file, uint64_t address,
			    const struct batch_head *head)
{
	struct batches *b = f->c->batches;
	uint32_t pid = f->process->pid, tid;
	struct batch_stream *s;
	struct batch_thread *t;
	bool uncertain;

	/* It has been found before, because the file is mapped more than once. */
	if (!BATCH_READABLE(head) || head->turn % 2 || batch_stream_find(b, pid, address))
		return true;
	tid = find_batch_owner(f, head, &uncertain);
	if (!tid)
		return !uncertain;
	t = batch_thread_get(b, pid, tid);
	s = t ? batch_stream_new(b, t, address, file, head) : NULL;
	if (!s)
		return false;
	s->found = head->base;
	s->was_there = true;
	return publish_found(f->c, (uint64_t)pid << 32 | tid, address, find_flush_site(f->c, file));
}

/* The difference between addresses in memory and in the file. */
static bool find_load_bias(const struct file *file, uint64_t start, uint64_t offset,
			   uint64_t *ret_bias)
{
	for (unsigned i = 0; i < file->elf->n_segments; i++) {
		const struct elf_segment *s = &file->elf->segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X) || offset + 4096 <= s->offset ||
		    offset >= s->offset + s->filesz)
			continue;
		*ret_bias = start - offset + s->offset - s->vaddr;
		return true;
	}
	return false;
}

void batches_find_existing(struct capture *c, uint32_t pid, const struct file *file, uint64_t start,
			   uint64_t offset)
{
	struct batch_search f = { .c = c, .process = batch_process_get(c->batches, pid) };
	struct target_memory *memory = f.process ? batch_process_open_memory(c, f.process) : NULL;
	uint64_t bias, owners[BATCH_SLOTS], address;
	struct batch_head head;
	int error;

	if (!memory || !file->batch_slots || !find_load_bias(file, start, offset, &bias))
		return;
	if (!search_may_step(&f, STEPS_OF_READ)) {
		c->batches->unfollowed++;
		return;
	}
	error = target_memory_read(memory, bias + file->batch_slots, owners, sizeof(owners));
	c->batches->unfollowed += error == -EAGAIN;
	if (error)
		return;
	/* Slots are allocated in this order. */
	for (unsigned i = 0; i < BATCH_SLOTS && owners[i]; i++) {
		address = bias + file->batch_slots + BATCH_SLOTS_FROM + (uint64_t)i * BATCH_MAX;
		error = search_may_step(&f, STEPS_OF_READ)
				? target_memory_read(memory, address, &head, sizeof(head))
				: -EAGAIN;
		if (error)
			c->batches->unfollowed += error == -EAGAIN;
		else
			c->batches->unfollowed += !add_found_batch(&f, file, address, &head);
	}
	free(f.threads);
}

void batches_publish_table(struct capture *c, uint32_t pid, const struct file *file, uint64_t start,
			   uint64_t offset)
{
	uint64_t tables = BATCH_TABLES_OF(pid), bias;
	struct batch_process *p;
	unsigned n;

	if (!c->loaded.can_loop || !file->batch_slots ||
	    !find_load_bias(file, start, offset, &bias) ||
	    table_is_published(c, tables, bias + file->batch_slots, &n))
		return;
	if (n < BATCH_TABLES &&
	    publish_found(c, tables, bias + file->batch_slots, find_flush_site(c, file)))
		return;
	/* Once, however many there are, and however often it is scanned. */
	p = batch_process_get(c->batches, pid);
	c->batches->unfollowed += !p || !p->tables_missing;
	if (p)
		p->tables_missing = true;
}
