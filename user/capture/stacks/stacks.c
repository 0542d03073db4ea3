/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings of each process. A process is scanned when it is attached to, when it loads
 * libraries, and again if an address is in none of its known mappings (frames.c).
 */
#include "base/array.h"
#include "capture/stacks/internal.h"

#include "capture/stacks/mapped_files.h"
#include "capture/stacks/python.h"
#include "capture/stacks/unwind.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/stacks/stack.h"
#include "symbols/symbols.h"
#include "tracee/maps.h"

#define MAX_CODE 65536 /* mappings of one process */

struct stacks *stacks_new(struct broker *broker, struct callstacks *store, struct names *names,
			  uint64_t period_ns)
{
	const struct code_mapping kernel = {
		.path = names_intern_string(names, "[kernel]"),
		.kind = CODE_KERNEL,
	};
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->broker = broker;
	s->store = store;
	s->names = names;
	s->period_ns = period_ns;
	s->credit_ns = RESCANS_AT_ONCE_NS;
	s->credit_at_ns = monotonic_now();
	s->mapped = mapped_files_new(store, names);
	if (!s->mapped) {
		free(s);
		return NULL;
	}
	s->kernel = callstacks_mapping(store, &kernel);
	stacks_open_kernel(s);
	return s;
}

int stacks_open_tables(struct stacks *s, const struct broker_loaded *loaded)
{
	int error = loaded->has_unwind ? unwind_new(loaded, &s->unwind) : 0;

	if (error || !s->unwind)
		return error;
	s->python = python_new(unwind_python(s->unwind), s->store, s->names);
	return s->python ? 0 : -ENOMEM;
}

int stacks_begin_tables(struct stacks *s)
{
	return s->unwind ? unwind_begin(s->unwind) : -ENOENT;
}

void stacks_receive_tables(struct stacks *s, uint64_t until_ns)
{
	if (s->unwind)
		unwind_receive(s->unwind, until_ns);
}

void stacks_expect_file(struct stacks *s, const struct file *file)
{
	if (s->unwind)
		unwind_expect(s->unwind, file);
}

void stacks_wait_for_tables(struct stacks *s, uint64_t limit_ns)
{
	if (s->unwind)
		unwind_wait(s->unwind, monotonic_now() + limit_ns);
}

static void stack_process_free(struct stacks *s, struct stack_process *p)
{
	HASH_DEL(s->processes, p);
	if (s->unwind)
		unwind_forget_process(s->unwind, p->pid);
	python_process_free(p->python);
	free(p->code);
	free(p);
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	hash_each (s->processes, p)
		stack_process_free(s, p);
	python_free(s->python);
	unwind_free(s->unwind);
	free(s->list);
	mark_stacks_free(s);
	mapped_files_free(s->mapped);
	stacks_names_free(s);
	free(s);
}

static struct stack_process *stack_process_find(struct stacks *s, uint32_t pid)
{
	struct stack_process *p;

	HASH_FIND(hh, s->processes, &pid, sizeof(pid), p);
	return p;
}

struct stack_process *stack_process_get(struct stacks *s, uint32_t pid)
{
	struct stack_process *p = stack_process_find(s, pid);

	return p ? p : hash_add_new(hh, s->processes, pid, pid);
}

/* --- what is mapped ------------------------------------------------------------------------------ */

void stacks_scan_begin(struct stacks *s, uint32_t pid)
{
	s->scanned = stack_process_get(s, pid);
	s->scanned_execs = s->unwind ? unwind_execs(s->unwind, pid) : 0;
	s->jit_seen = NULL;
	s->n = 0;
}

static const struct name *format_build_id(struct stacks *s, const struct elf_file *elf)
{
	char text[2 * ELF_MAX_BUILD_ID + 1];

	if (!elf || !elf->build_id_size)
		return NULL;
	for (unsigned i = 0; i < elf->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", elf->build_id[i]);
	return names_intern_string(s->names, text);
}

uint64_t stacks_load_bias(const struct elf_file *elf, uint64_t offset)
{
	for (unsigned i = 0; elf && i < elf->n_segments; i++) {
		const struct elf_segment *g = &elf->segments[i];
		/* Whole pages are mapped, so the segment begins with its first page. */
		uint64_t begin = g->offset & ~(g->align > 1 ? g->align - 1 : 0);

		if (g->type == PT_LOAD && g->flags & PF_X && offset >= begin &&
		    offset < g->offset + g->filesz)
			return g->vaddr - g->offset;
	}
	return 0;
}

/*
 * Memory without a file contains JIT code of the process, or is the kernel's vdso. A trace names code in no file by such paths as
 * "[jit 5]" and "/kernel"; a program may have files of these names in its root.
 */
static const struct name *code_mapping_path(struct stacks *s, const struct mapping *m)
{
	unsigned before = m->inode ? 0 : stacks_jits_before(s, s->scanned->pid);
	char path[MAPS_MAX_PATH + 64];
	bool is_special = m->path[0] == '/' && (m->path[1] == '[' || !strcmp(m->path, "/kernel"));

	if (!m->inode && m->path[0] != '[' && before)
		snprintf(path, sizeof(path), "[jit %u (%u)]", s->scanned->pid, before + 1);
	else if (!m->inode && m->path[0] != '[')
		snprintf(path, sizeof(path), "[jit %u]", s->scanned->pid);
	else
		snprintf(path, sizeof(path), "%s%s", m->inode && is_special ? "/." : "", m->path);
	maps_unescape(path);
	return names_intern_string(s->names, path);
}

static const struct code_mapping *add_code_mapping(struct stacks *s, const struct mapping *m,
						   const struct file *file)
{
	const struct elf_file *elf = file ? file->elf : NULL;
	struct code_mapping like = {
		.path = code_mapping_path(s, m),
		.build_id = format_build_id(s, elf),
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.load_bias = stacks_load_bias(elf, m->offset),
		.kind = m->inode || m->path[0] == '[' ? CODE_NATIVE : CODE_JIT,
	};
	const struct code_mapping *mapping =
		m->inode ? mapped_files_mapping(s->mapped, &like,
						file && file->fd >= 0 ? file : NULL)
			 : callstacks_mapping(s->store, &like);

	/* All JIT code of a process is one mapping here, although it may be in very many pieces. */
	if (mapping && mapping->kind == CODE_JIT && mapping != s->jit_seen) {
		s->jit_seen = mapping;
		stacks_add_jit(s, mapping, s->scanned->pid);
	}
	return mapping;
}

void stacks_scan_mapping(struct stacks *s, const struct mapping *m, const struct file *file)
{
	if (!s->scanned || s->n >= MAX_CODE || !array_reserve(s->list, s->n, s->capacity, 64))
		return;
	s->list[s->n++] = (struct code){
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.file = file,
		.mapping = add_code_mapping(s, m, file),
	};
}

static bool set_process_code(struct stack_process *p, const struct code *code, unsigned n)
{
	struct code *copy;

	p->changed = n != p->n || memcmp(p->code, code, n * sizeof(*code)) != 0;
	if (!p->changed)
		return true;
	copy = malloc(n * sizeof(*copy));
	if (!copy)
		return false;
	memcpy(copy, code, n * sizeof(*copy));
	free(p->code);
	p->code = copy;
	p->n = n;
	memset(p->recent, 0, sizeof(p->recent));
	return true;
}

/* The first interpreter among the mappings; a program has one. The same one is kept, with all that is known of it. */
static void find_interpreter(struct stacks *s, struct stack_process *p)
{
	struct python_process *found = NULL;

	for (unsigned i = 0; s->python && i < p->n; i++) {
		const struct code *code = &p->code[i];

		if (!code->file || !code->file->elf)
			continue;
		if (p->python &&
		    python_process_is(p->python, code->file, code->start, code->offset))
			return;
		if (!found)
			found = python_process_new(s->python, s->broker, p->pid, code->file,
						   code->start, code->offset,
						   &p->is_without_python);
	}
	python_process_free(p->python);
	p->python = found;
}

/* Tells the kernel by which tables it can walk the stacks of the process. */
static void publish_process_code(struct stacks *s, const struct stack_process *p, uint32_t execs)
{
	struct unwind_code *list = s->unwind ? calloc(p->n, sizeof(*list)) : NULL;

	for (unsigned i = 0; list && i < p->n; i++) {
		const struct code *code = &p->code[i];
		const char *path = code->mapping ? code->mapping->path->text : "";

		list[i] = (struct unwind_code){
			.start = code->start,
			.end = code->end,
			.offset = code->offset,
			.file = code->file,
			.is_jit = code->mapping && code->mapping->kind == CODE_JIT,
			.is_vdso = !code->file && !strcmp(path, CODE_VDSO),
		};
	}
	if (list)
		unwind_set_process(s->unwind, p->pid, execs, list, p->n,
				   p->python ? python_process_setup(p->python) : 0);
	free(list);
}

/*
 * The kernel lists mappings sorted by address. For an exited process it lists none; what is known
 * is kept.
 */
void stacks_scan_end(struct stacks *s, bool whole)
{
	struct stack_process *p = s->scanned;

	if (p && whole && s->n && set_process_code(p, s->list, s->n)) {
		find_interpreter(s, p);
		stacks_find_jit_dump(s, p);
		publish_process_code(s, p, s->scanned_execs);
	}
	s->scanned = NULL;
}

void stacks_fork(struct stacks *s, uint32_t pid, uint32_t parent)
{
	const struct stack_process *from = stack_process_find(s, parent);
	struct stack_process *to = stack_process_find(s, pid);

	/* A child that has been scanned is no longer a copy. */
	if (!from || !from->n || to)
		return;
	to = stack_process_get(s, pid);
	if (to && set_process_code(to, from->code, from->n)) {
		find_interpreter(s, to);
		publish_process_code(s, to, 0);
	}
}

void stacks_forget(struct stacks *s, uint32_t pid)
{
	struct stack_process *p = stack_process_find(s, pid);

	stacks_end_jit(s, pid);
	if (p)
		stack_process_free(s, p);
}

void stacks_execute(struct stacks *s, uint32_t pid)
{
	stacks_end_jit(s, pid);
}

void stacks_account(const struct stacks *s, struct account *a)
{
	struct python_counts counts;

	a->stacks_cut += s->cut;
	a->stacks_lost += s->lost;
	a->stacks_other += callstacks_refused(s->store);
	a->files_uncompared += mapped_files_uncompared(s->mapped);
	a->frames_unnamed += s->jit_refused + s->unmapped;
	if (s->unwind)
		a->tables_refused += unwind_refused(s->unwind);
	if (s->python) {
		python_count(s->python, &counts);
		a->python_frames += counts.frames;
		a->python_unreadable += counts.unreadable;
		a->python_unmatched += s->python_unmatched;
		a->python_refused += counts.refused;
	}
}
