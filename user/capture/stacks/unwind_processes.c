/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which code each process has mapped, in the kernel's maps: for each range, the pages of its file.
 */
#include "capture/stacks/unwind_internal.h"

#include <stdlib.h>
#include <string.h>

static struct unwind_ranges_of *owner_find(const struct unwind *u, uint32_t pid)
{
	struct unwind_ranges_of *o;

	HASH_FIND(hh, u->owners, &pid, sizeof(pid), o);
	return o;
}

/* --- slots --------------------------------------------------------------------------------------- */

/* The slot of a process, or a free one for it; NULL: all are taken. */
static struct unwind_process *slot_find(const struct unwind *u, uint32_t pid)
{
	struct unwind_process *free_one = NULL, *p;

	for (uint32_t i = 0; i < UNWIND_PROCESSES_ON; i++) {
		p = &u->processes[(UNWIND_PROCESS_PLACE(pid) + i) & (UNWIND_PROCESSES - 1)];
		if (p->tgid == pid)
			return p;
		if (!p->tgid && !free_one)
			free_one = p;
	}
	return free_one;
}

uint32_t unwind_execs(const struct unwind *u, uint32_t pid)
{
	const struct unwind_ranges_of *o = owner_find(u, pid);

	return o ? __atomic_load_n(&u->processes[o->slot].execs, __ATOMIC_ACQUIRE) : 0;
}

/* --- pieces of the map of ranges ----------------------------------------------------------------- */

/* Returns the number of its first range, or 0: there is no space. */
static uint32_t piece_allocate(struct unwind *u, uint32_t piece)
{
	uint32_t size = UNWIND_SMALLEST_PIECE << piece, first = u->n_ranges;

	if (u->n_unused[piece])
		return u->unused[piece][--u->n_unused[piece]];
	if (first + size > UNWIND_RANGES)
		return 0;
	u->n_ranges += size;
	return first;
}

static void piece_free(struct unwind *u, uint32_t first, uint32_t piece)
{
	uint32_t n = u->n_unused[piece], *grown;

	/* Whoever walks by these ranges now is told. */
	__atomic_store_n(&u->ranges[first].base, 0, __ATOMIC_SEQ_CST);
	grown = realloc(u->unused[piece], (n + 1) * sizeof(*grown));
	if (!grown)
		return;
	grown[n] = first;
	u->unused[piece] = grown;
	u->n_unused[piece]++;
}

static uint32_t piece_for(uint32_t n)
{
	uint32_t piece = 0;

	while ((uint32_t)UNWIND_SMALLEST_PIECE << piece < n)
		piece++;
	return piece;
}

/* --- ranges -------------------------------------------------------------------------------------- */

/* Where the file's address 0 would be, from the segment that the mapping is of. */
static uint64_t code_bias(const struct unwind_code *code)
{
	const struct elf_file *elf = code->file ? code->file->elf : NULL;

	for (unsigned i = 0; elf && i < elf->n_segments; i++) {
		const struct elf_segment *g = &elf->segments[i];
		uint64_t begin = g->offset & ~(g->align > 1 ? g->align - 1 : 0);

		if (g->type == PT_LOAD && g->flags & PF_X && code->offset >= begin &&
		    code->offset < g->offset + g->filesz)
			return code->start - (code->offset + g->vaddr - g->offset);
	}
	return code->start - code->offset;
}

/* The pages last: without them, nobody uses the rest. */
static void range_set_table(struct unwind_range *range, const struct unwind_file *file)
{
	struct unwind_range like = { .table = (uint16_t)file->state };
	uint64_t word;

	if (file->state == UNWIND_TABLE_THERE) {
		like.first_page = file->first_page;
		like.pages = (uint16_t)file->n_pages;
	}
	memcpy(&word, &like.first_page, sizeof(word));
	__atomic_store_n((uint64_t *)&range->first_page, word, __ATOMIC_RELEASE);
}

static void range_set(struct unwind *u, struct unwind_range *range, const struct unwind_code *code,
		      struct unwind_file **ret_file)
{
	struct unwind_file *file = NULL;

	if (code->file || code->is_vdso)
		file = unwind_file_get(u, code->file);
	*ret_file = file;
	*range = (struct unwind_range){
		.start = code->start,
		.end = code->end,
		.table = code->is_jit ? UNWIND_TABLE_JIT : UNWIND_TABLE_NONE,
	};
	if (!file)
		return;
	range->base = code_bias(code) + file->base;
	range_set_table(range, file);
	unwind_file_request(u, file);
}

static struct unwind_ranges_of *owner_new(struct unwind *u, uint32_t pid)
{
	struct unwind_process *slot = slot_find(u, pid);
	struct unwind_ranges_of *o = slot ? calloc(1, sizeof(*o)) : NULL;

	if (!o)
		return NULL;
	o->pid = pid;
	o->slot = (uint32_t)(slot - u->processes);
	*slot = (struct unwind_process){ .tgid = 0 };
	HASH_ADD(hh, u->owners, pid, sizeof(o->pid), o);
	return o;
}

/* A reader that finds the new `first` finds the new `n`, and one that mixes numbers refuses them. */
static void owner_publish(struct unwind *u, const struct unwind_ranges_of *o, uint32_t execs,
			  uint32_t python)
{
	struct unwind_process *slot = &u->processes[o->slot];

	__atomic_store_n(&slot->n, o->n, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->first, o->first, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->number, u->ranges[o->first].base, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->python, python, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->execs_seen, execs, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->tgid, o->pid, __ATOMIC_RELEASE);
}

static void owner_free(struct unwind *u, struct unwind_ranges_of *o)
{
	__atomic_store_n(&u->processes[o->slot].tgid, 0, __ATOMIC_RELEASE);
	if (o->first)
		piece_free(u, o->first, o->piece);
	HASH_DEL(u->owners, o);
	free(o->files);
	free(o);
}

void unwind_set_process(struct unwind *u, uint32_t pid, uint32_t execs,
			const struct unwind_code *code, unsigned n, uint32_t python)
{
	struct unwind_ranges_of *o = owner_find(u, pid);
	uint32_t piece, first, old_first, old_piece;
	struct unwind_file **files;

	if (n > UNWIND_RANGES_MOST)
		n = UNWIND_RANGES_MOST;
	/* vsyscall, which is in the kernel's half, and which the kernel's search could not compare */
	while (n && code[n - 1].end >> 63)
		n--;
	piece = piece_for(n + 1);
	files = calloc(n + 1, sizeof(*files));
	if (!o)
		o = owner_new(u, pid);
	first = o && files ? piece_allocate(u, piece) : 0;
	if (!first) {
		free(files);
		/* Its slot, which says nothing of it yet, is free for another process. */
		if (o && !o->first)
			owner_free(u, o);
		return;
	}
	u->ranges[first] = (struct unwind_range){ .base = ++u->number };
	for (uint32_t i = 0; i < n; i++)
		range_set(u, &u->ranges[first + 1 + i], &code[i], &files[i]);
	old_first = o->first;
	old_piece = o->piece;
	free(o->files);
	o->files = files;
	o->first = first;
	o->piece = piece;
	o->n = n;
	owner_publish(u, o, execs, python);
	if (old_first)
		piece_free(u, old_first, old_piece);
}

void unwind_forget_process(struct unwind *u, uint32_t pid)
{
	struct unwind_ranges_of *o = owner_find(u, pid);

	if (o)
		owner_free(u, o);
}

void unwind_processes_update(struct unwind *u, const struct unwind_file *file)
{
	struct unwind_ranges_of *o, *next;

	HASH_ITER (hh, u->owners, o, next) {
		for (uint32_t i = 0; i < o->n; i++) {
			if (o->files[i] == file)
				range_set_table(&u->ranges[o->first + 1 + i], file);
		}
	}
}

void unwind_processes_free(struct unwind *u)
{
	struct unwind_ranges_of *o, *next;

	HASH_ITER (hh, u->owners, o, next)
		owner_free(u, o);
	for (unsigned i = 0; i < UNWIND_PIECES; i++)
		free(u->unused[i]);
}
