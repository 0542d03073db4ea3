/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches that threads had before the recording began, since their process was recorded before. Nobody
 * tells of these: they are found in the lists that each file has in its process's memory.
 */
#include "capture/batch.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "proftrace.skel.h"
#include "target/task_number.h"

/* Batches and threads that are looked at for one process, which says itself how many there are. */
#define MOST_WALKED (1 << 18)

/*
 * A thread that is alive. In a pid namespace of its own a process knows its threads by other numbers than
 * the kernel's programs and we do.
 */
struct thread_number {
	uint32_t within, tid;
};

struct finding {
	struct capture *c;
	struct batch_process *process;
	bool looked;
	bool uncertain;	 /* there are threads whose number is not known */
	uint32_t within; /* the process's own */
	struct thread_number *numbers;
	size_t n, room;
};

static void add_number(struct finding *f, uint32_t within, uint32_t tid)
{
	struct thread_number *grown = f->numbers;
	size_t room = f->room ? f->room : 64;

	if (f->n == f->room) {
		room *= f->room ? 2 : 1;
		grown = reallocarray(grown, room, sizeof(*grown));
		if (!grown) {
			f->uncertain = true;
			return;
		}
		f->numbers = grown;
		f->room = room;
	}
	f->numbers[f->n++] = (struct thread_number){ within, tid };
	if (tid == f->process->pid)
		f->within = within;
}

/* 0: not known; negative: it has ended. */
static long number_within(int tasks, const char *name)
{
	int task = openat(tasks, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long within;

	if (task < 0)
		return -1;
	within = task_number_within(task);
	close(task);
	return within;
}

static void look_at_threads(struct finding *f, bool elsewhere)
{
	const struct broker_target target = { (pid_t)f->process->pid, 0 };
	int directory = broker_open(f->c->broker, BROKER_TASKS, &target, 0, 0, NULL);
	DIR *tasks = directory < 0 ? NULL : fdopendir(directory);
	struct dirent *entry;

	f->looked = true;
	f->uncertain = !tasks;
	if (!tasks) {
		if (directory >= 0)
			close(directory);
		return;
	}
	while ((entry = readdir(tasks))) {
		uint32_t tid;
		long within;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		tid = strtoul(entry->d_name, NULL, 10);
		within = elsewhere ? number_within(dirfd(tasks), entry->d_name) : tid;
		if (within > 0)
			add_number(f, (uint32_t)within, tid);
		else if (!within)
			f->uncertain = true;
		f->process->walked++;
	}
	closedir(tasks);
}

/*
 * Whose batch it is, 0: nobody's that lives, and who inherits it will say so. *ret_uncertain: or of
 * somebody we do not know.
 */
static uint32_t owner_of(struct finding *f, const struct batch_head *head, bool *ret_uncertain)
{
	size_t i;

	if (!f->looked)
		look_at_threads(f, head->pid != f->process->pid);
	*ret_uncertain = f->uncertain;
	if (head->pid != f->within)
		return 0;
	for (i = 0; i < f->n; i++) {
		if (f->numbers[i].within == head->tid)
			return f->numbers[i].tid;
	}
	return 0;
}

/* So that the kernel's side knows of it when the thread ends. False: there is no room. */
static bool tell_kernel(struct capture *c, uint32_t pid, uint32_t tid, uint64_t address)
{
	unsigned most = c->loaded.can_loop ? BATCHES_FOUND_ON : BATCHES_FOUND_ON_SHORT, i;

	for (i = 0; i < most; i++) {
		unsigned place = (BATCH_FOUND_PLACE(tid) + i) % BATCHES_FOUND;
		struct batch_found *found = &c->shared->batches_found[place];

		if (__atomic_load_n(&found->pid_tgid, __ATOMIC_ACQUIRE))
			continue;
		__atomic_store_n(&found->address, address, __ATOMIC_RELAXED);
		__atomic_store_n(&found->pid_tgid, (uint64_t)pid << 32 | tid, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

/* False: marks of it may be missed. */
static bool take_found(struct finding *f, const struct file *file, uint64_t address,
		       const struct batch_head *head)
{
	struct batches *b = f->c->batches;
	uint32_t pid = f->process->pid, tid;
	struct batch_stream *s;
	struct batch_thread *t;
	bool uncertain;

	/* Empty since a fork: the threads that it was of are the parent's. */
	if (head->version != BATCH_VERSION || !head->pid || batch_stream_of(b, pid, address))
		return true;
	tid = owner_of(f, head, &uncertain);
	if (!tid)
		return !uncertain;
	t = batch_thread_of(b, pid, tid);
	s = t ? batch_stream_new(b, t, address, file, head) : NULL;
	if (!s)
		return false;
	s->found = head->base;
	s->was_there = true;
	return tell_kernel(f->c, pid, tid, address);
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
	struct finding f = { .c = c, .process = batch_process_of(c->batches, pid) };
	int memory = f.process ? batch_process_memory(c, f.process) : -1;
	uint64_t bias, address = 0;
	struct batch_head head;

	if (memory < 0 || !file->batch_list || !find_bias(file, start, offset, &bias) ||
	    pread(memory, &address, sizeof(address), (off_t)(bias + file->batch_list)) !=
		    sizeof(address))
		return;
	/* One that has been taken up before: the file is mapped more than once, or the list is a circle. */
	for (; address && !batch_stream_of(c->batches, pid, address); f.process->walked++) {
		if (f.process->walked >= MOST_WALKED) {
			c->batches->unfollowed++;
			break;
		}
		if (pread(memory, &head, sizeof(head), (off_t)address) != sizeof(head))
			break;
		c->batches->unfollowed += !take_found(&f, file, address, &head);
		address = head.next;
	}
	free(f.numbers);
}
