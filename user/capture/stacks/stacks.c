/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings of each process, and call stacks from addresses in them. A process is
 * scanned when it is attached to, when it loads libraries, and again if an address is in none of
 * its known mappings.
 */
#include "capture/stacks/internal.h"

#include "capture/stacks/python.h"
#include "capture/stacks/unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stack.h"
#include "symbols/symbols.h"
#include "tracee/maps.h"

#define RECENT_CODE 1024	 /* cached frames for each process; a power of two */
#define MAX_CODE    65536	 /* mappings of one process */
#define RESCAN_NS   100000000ull /* until a process is scanned again after an unknown address */

/*
 * The longest wait between two scans is the longer of this and a multiple of what a scan costs,
 * since new code may be mapped at any time.
 */
#define RESCAN_LATEST_NS 1000000000ull
#define RESCAN_COSTS	 100

/* All scans together may take this much at once, and then one part in so many of the time. */
#define RESCANS_AT_ONCE_NS 250000000
#define RESCANS_SHARE	   20

/* An executable mapping. */
struct code {
	uint64_t start, end, offset;
	const struct file *file;	    /* NULL: in no opened file */
	const struct code_mapping *mapping; /* NULL: too many */
};

struct stack_process {
	uint32_t pid;
	struct code *code; /* sorted by address */
	unsigned n, capacity;
	uint64_t next_scan_ns, wait_ns; /* next scan not before; current wait */
	bool changed;			/* the last scan found a change */
	struct python_process *python;	/* NULL: no interpreter, or not a supported one */
	struct {
		uint64_t address; /* 0: none */
		const struct code_frame *frame;
	} recent[RECENT_CODE];
	UT_hash_handle hh;
};

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
	free(s->files);
	stacks_names_free(s);
	free(s);
}

static struct stack_process *stack_process_find(struct stacks *s, uint32_t pid)
{
	struct stack_process *p;

	HASH_FIND(hh, s->processes, &pid, sizeof(pid), p);
	return p;
}

static struct stack_process *stack_process_get(struct stacks *s, uint32_t pid)
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
	unsigned i;

	if (!elf || !elf->build_id_size)
		return NULL;
	for (i = 0; i < elf->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", elf->build_id[i]);
	return names_intern_string(s->names, text);
}

/* The difference between a file's addresses and offsets, from the PT_LOAD segment of the offset. */
static uint64_t elf_load_bias(const struct elf_file *elf, uint64_t offset)
{
	unsigned i;

	for (i = 0; elf && i < elf->n_segments; i++) {
		const struct elf_segment *g = &elf->segments[i];
		/* Whole pages are mapped, so the segment begins with its first page. */
		uint64_t begin = g->offset & ~(g->align > 1 ? g->align - 1 : 0);

		if (g->type == PT_LOAD && g->flags & PF_X && offset >= begin &&
		    offset < g->offset + g->filesz)
			return g->vaddr - g->offset;
	}
	return 0;
}

/* Memory without a file contains JIT code of the process, or is the kernel's vdso. */
static const struct name *code_mapping_path(struct stacks *s, const struct mapping *m, bool other)
{
	char path[MAPS_MAX_PATH + 64];

	if (!m->inode && m->path[0] != '[')
		snprintf(path, sizeof(path), "[jit %u]", s->scanned->pid);
	else
		snprintf(path, MAPS_MAX_PATH, "%s", m->path);
	maps_unescape(path);
	if (other)
		snprintf(path + strlen(path), 64, " (inode %" PRIu64 ")", m->inode);
	return names_intern_string(s->names, path);
}

/*
 * Remembers the file of a mapping. False: the mapping has no build id and is of another file with
 * the same path.
 */
static bool mapping_is_of_file(struct stacks *s, const struct code_mapping *mapping,
			       const struct file *file)
{
	uint32_t capacity = s->files_capacity ? s->files_capacity : 64;
	const struct file **grown;

	while (capacity <= mapping->id)
		capacity *= 2;
	if (capacity != s->files_capacity) {
		grown = realloc(s->files, capacity * sizeof(*grown));
		if (!grown)
			return true;
		memset(grown + s->files_capacity, 0,
		       (capacity - s->files_capacity) * sizeof(*grown));
		s->files = grown;
		s->files_capacity = capacity;
	}
	if (!s->files[mapping->id])
		s->files[mapping->id] = file;
	return mapping->build_id || !file || s->files[mapping->id] == file;
}

const struct file *stacks_file(const struct stacks *s, const struct code_mapping *mapping)
{
	return mapping->id < s->files_capacity ? s->files[mapping->id] : NULL;
}

static const struct code_mapping *add_code_mapping(struct stacks *s, const struct mapping *m,
						   const struct file *file)
{
	const struct elf_file *elf = file ? file->elf : NULL;
	struct code_mapping like = {
		.path = code_mapping_path(s, m, false),
		.build_id = format_build_id(s, elf),
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.load_bias = elf_load_bias(elf, m->offset),
		.kind = m->inode || m->path[0] == '[' ? CODE_NATIVE : CODE_JIT,
	};
	const struct code_mapping *mapping = callstacks_mapping(s->store, &like);

	if (mapping && !mapping_is_of_file(s, mapping, file)) {
		like.path = code_mapping_path(s, m, true);
		mapping = callstacks_mapping(s->store, &like);
		if (mapping)
			mapping_is_of_file(s, mapping, file);
	}
	/* All JIT code of a process is one mapping here, although it may be in very many pieces. */
	if (mapping && mapping->kind == CODE_JIT && mapping != s->jit_seen) {
		s->jit_seen = mapping;
		stacks_add_jit(s, mapping, s->scanned->pid);
	}
	return mapping;
}

void stacks_scan_mapping(struct stacks *s, const struct mapping *m, const struct file *file)
{
	unsigned capacity = s->capacity ? 2 * s->capacity : 64;
	struct code *grown;

	if (!s->scanned || s->n >= MAX_CODE)
		return;
	if (s->n == s->capacity) {
		grown = realloc(s->list, capacity * sizeof(*grown));
		if (!grown)
			return;
		s->list = grown;
		s->capacity = capacity;
	}
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
	unsigned i;

	for (i = 0; s->python && i < p->n; i++) {
		const struct code *code = &p->code[i];

		if (!code->file || !code->file->elf)
			continue;
		if (p->python &&
		    python_process_is(p->python, code->file, code->start, code->offset))
			return;
		if (!found)
			found = python_process_new(s->python, s->broker, p->pid, code->file,
						   code->start, code->offset);
	}
	python_process_free(p->python);
	p->python = found;
}

/* Tells the kernel by which tables it can walk the stacks of the process. */
static void publish_process_code(struct stacks *s, const struct stack_process *p, uint32_t execs)
{
	struct unwind_code *list = s->unwind ? calloc(p->n, sizeof(*list)) : NULL;
	unsigned i;

	for (i = 0; list && i < p->n; i++) {
		const struct code *code = &p->code[i];
		const char *path = code->mapping ? code->mapping->path->text : "";

		list[i] = (struct unwind_code){
			.start = code->start,
			.end = code->end,
			.offset = code->offset,
			.file = code->file,
			.is_jit = code->mapping && code->mapping->kind == CODE_JIT,
			.is_vdso = !code->file && !strcmp(path, "[vdso]"),
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
void stacks_scan_end(struct stacks *s)
{
	struct stack_process *p = s->scanned;

	if (p && s->n && set_process_code(p, s->list, s->n)) {
		find_interpreter(s, p);
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

	if (p)
		stack_process_free(s, p);
}

/* --- from addresses to frames -------------------------------------------------------------------- */

static const struct code *find_code(const struct stack_process *p, uint64_t address)
{
	unsigned low = 0, high = p->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (p->code[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->n && p->code[low].start <= address ? &p->code[low] : NULL;
}

/*
 * Scans a process again because of an unknown address. Something was mapped since, or the address
 * is wrong, as in code without frame pointers; then many more will be wrong. A scan that finds
 * nothing new doubles the wait, and all scans together have a limited share of the time.
 */
static void rescan_code(struct capture *c, struct stack_process *p)
{
	struct stacks *s = c->stacks;
	uint64_t now_ns = monotonic_now(), spent_ns;
	unsigned fresh = 0;

	if (now_ns < p->next_scan_ns)
		return;
	s->credit_ns += (int64_t)((now_ns - s->credit_at_ns) / RESCANS_SHARE);
	s->credit_at_ns = now_ns;
	if (s->credit_ns > RESCANS_AT_ONCE_NS)
		s->credit_ns = RESCANS_AT_ONCE_NS;
	if (s->credit_ns < 0)
		return;
	p->changed = false;
	scans_run(c, (pid_t)p->pid, &fresh, &spent_ns);
	c->late += fresh;
	s->credit_ns -= (int64_t)spent_ns;
	p->wait_ns = p->changed || !p->wait_ns ? RESCAN_NS : 2 * p->wait_ns;
	if (p->wait_ns > RESCAN_LATEST_NS + spent_ns * RESCAN_COSTS)
		p->wait_ns = RESCAN_LATEST_NS + spent_ns * RESCAN_COSTS;
	p->next_scan_ns = monotonic_now() + p->wait_ns;
}

static const struct code_frame *new_code_frame(struct stacks *s, const struct code *code,
					       uint64_t address)
{
	uint64_t offset;

	if (!code || !code->mapping)
		return callstacks_frame(s->store, NULL, address, NULL);
	if (code->mapping->kind == CODE_JIT)
		return callstacks_frame(s->store, code->mapping, address, NULL);
	offset = address - code->start + code->offset;
	return callstacks_frame(s->store, code->mapping,
				offset + elf_load_bias(code->file ? code->file->elf : NULL, offset),
				NULL);
}

static const struct code_frame *get_code_frame(struct capture *c, struct stack_process *p,
					       uint64_t address)
{
	unsigned place = (address ^ address >> 12) & (RECENT_CODE - 1);
	const struct code *code;

	if (p->recent[place].address == address && address)
		return p->recent[place].frame;
	code = find_code(p, address);
	if (!code) {
		rescan_code(c, p);
		code = find_code(p, address);
	}
	/* Not cached, since the next scan may find the address. A loop has few addresses. */
	if (!code)
		return new_code_frame(c->stacks, code, address);
	p->recent[place].address = address;
	p->recent[place].frame = new_code_frame(c->stacks, code, address);
	return p->recent[place].frame;
}

/* --- Python frames among the others ---------------------------------------------------------------- */

/*
 * Each time the interpreter's loop is entered there is one frame of it on the stack, and Python has some frames of its own
 * for it, which replace it. They are paired from the outermost on, because at the innermost end the interpreter may just
 * be entering or leaving its loop; but from the innermost on if the outer end of either is missing.
 */
struct python_entries {
	unsigned
		ends[PYTHON_FRAMES + 1]; /* entry i has the frames from ends[i] up to ends[i + 1] */
	unsigned n;
};

static void divide_python_frames(const struct program_stack *stack, struct python_entries *e)
{
	unsigned i;

	e->n = 0;
	e->ends[0] = 0;
	for (i = 0; i < stack->n_python; i++) {
		if (stack->python[2 * i + 1] & PYTHON_FRAME_ENTRY || i + 1 == stack->n_python)
			e->ends[++e->n] = i + 1;
	}
}

static const struct callstack *push_python_entry(struct stacks *s, struct python_process *python,
						 const struct callstack *caller,
						 const struct program_stack *stack,
						 const struct python_entries *e, unsigned entry)
{
	unsigned i;

	for (i = e->ends[entry + 1]; i > e->ends[entry]; i--)
		caller = callstacks_push(
			s->store, caller,
			python_frame(python, stack->python[2 * i - 2], stack->python[2 * i - 1]));
	return caller;
}

static uint64_t stack_address(const struct program_stack *stack, unsigned i)
{
	return stack->addresses[i] - (i > 0 || stack->is_caller);
}

static unsigned count_loops(const struct python_process *python, const struct program_stack *stack)
{
	unsigned i, n = 0;

	for (i = 0; i < stack->n; i++)
		n += python_is_loop(python, stack_address(stack, i));
	return n;
}

static const struct callstack *push_mixed_frames(struct capture *c, struct stack_process *p,
						 const struct program_stack *stack)
{
	bool whole = stack->is_whole && stack->n_python < PYTHON_FRAMES;
	struct python_process *python = p->python;
	const struct callstack *pushed = NULL;
	struct stacks *s = c->stacks;
	struct python_entries e;
	unsigned i, loops = count_loops(python, stack), entry;

	divide_python_frames(stack, &e);
	/* A loop without frames has just been entered, or is about to end. */
	if (loops > e.n + 1 || (loops < e.n && whole))
		s->python_unmatched++;
	/* Entries are numbered from the innermost. */
	entry = whole || loops > e.n ? e.n : loops;
	for (i = e.n; i > entry; i--)
		pushed = push_python_entry(s, python, pushed, stack, &e, i - 1);
	for (i = stack->n; i > 0; i--) {
		uint64_t address = stack_address(stack, i - 1);

		if (entry && python_is_loop(python, address) && (whole || loops <= entry))
			pushed = push_python_entry(s, python, pushed, stack, &e, --entry);
		else
			pushed = callstacks_push(s->store, pushed, get_code_frame(c, p, address));
		loops -= python_is_loop(python, address);
		/* A scan for an unknown address may have found another interpreter. */
		if (p->python != python)
			return pushed;
	}
	for (; entry; entry--)
		pushed = push_python_entry(s, python, pushed, stack, &e, entry - 1);
	return pushed;
}

const struct callstack *stacks_push(struct capture *c, uint32_t pid,
				    const struct program_stack *stack)
{
	struct stack_process *p = stack_process_get(c->stacks, pid);
	const struct callstack *pushed = NULL;
	unsigned n = stack->n;

	if (p && p->python && stack->n_python)
		return push_mixed_frames(c, p, stack);
	while (p && n--)
		pushed = callstacks_push(c->stacks->store, pushed,
					 get_code_frame(c, p, stack_address(stack, n)));
	return pushed;
}

static const struct callstack *push_kernel_frames(struct stacks *s, const struct callstack *stack,
						  const __u64 *addresses, unsigned n)
{
	while (n--)
		stack = callstacks_push(
			s->store, stack,
			callstacks_frame(s->store, s->kernel, addresses[n] - (n > 0), NULL));
	return stack;
}

void stacks_set_end(struct event *e, uint32_t types)
{
	static const enum callstack_end ends[STACK_ENDS] = {
		[STACK_WHOLE] = CALLSTACK_WHOLE,
		[STACK_TOO_DEEP] = CALLSTACK_TOO_DEEP,
		[STACK_NO_PROCESS] = CALLSTACK_UNMAPPED,
		[STACK_NO_MAPPING] = CALLSTACK_UNMAPPED,
		[STACK_NO_TABLE] = CALLSTACK_NO_TABLE,
		[STACK_TABLE_PENDING] = CALLSTACK_PENDING,
		[STACK_TABLE_REFUSED] = CALLSTACK_REFUSED,
		[STACK_NOT_DESCRIBED] = CALLSTACK_NO_TABLE,
		[STACK_UNSUPPORTED] = CALLSTACK_UNSUPPORTED,
		[STACK_REGISTER_LOST] = CALLSTACK_UNSUPPORTED,
		[STACK_UNREADABLE] = CALLSTACK_UNREADABLE,
		[STACK_NOT_MONOTONIC] = CALLSTACK_UNREADABLE,
		[STACK_CHANGED] = CALLSTACK_UNMAPPED,
		[STACK_FRAME_POINTERS] = CALLSTACK_UNKNOWN,
	};
	unsigned end = STACK_END(types);

	e->callstack_end = end < STACK_ENDS ? ends[end] : CALLSTACK_UNSUPPORTED;
	e->callstack_by_frame_pointers = types & STACK_BY_FRAME_POINTERS ||
					 end == STACK_NO_PROCESS || end == STACK_FRAME_POINTERS;
}

bool stacks_parse(const struct record_stack *r, size_t size, unsigned kernel,
		  struct program_stack *ret)
{
	uint32_t n = STACK_PROGRAM(r->ops.b), n_python = STACK_PYTHON(r->ops.b);

	if (kernel > STACK_FRAMES || n > STACK_FRAMES || n_python > PYTHON_FRAMES ||
	    size < offsetof(struct record_stack, addresses) +
			    (kernel + n + 2 * n_python) * sizeof(r->addresses[0]))
		return false;
	*ret = (struct program_stack){
		.addresses = (const uint64_t *)r->addresses + kernel,
		.n = n,
		.is_whole = STACK_END(r->head.types) == STACK_WHOLE,
		.python = (const uint64_t *)r->addresses + kernel + n,
		.n_python = n_python,
	};
	return true;
}

bool decode_stack(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	const struct record_stack *stack = (const struct record_stack *)r;
	struct program_stack program;
	struct stacks *s = c->stacks;
	unsigned kernel;

	if (!s || size < offsetof(struct record_stack, addresses) || stack->ops.a > STACK_FRAMES)
		return false;
	kernel = (unsigned)stack->ops.a;
	if (!stacks_parse(stack, size, kernel, &program))
		return false;
	s->cut += kernel == STACK_FRAMES;
	stacks_set_end(e, r->types);
	e->callstack = stacks_push(c, r->tgid, &program);
	e->callstack = push_kernel_frames(s, e->callstack, stack->addresses, kernel);
	if (r->kind == RECORD_BLOCKED) {
		e->kind = EVENT_BLOCKED;
		e->size = (uint64_t)(uint32_t)r->name << 32 | r->site;
		return true;
	}
	e->kind = EVENT_SAMPLE;
	e->sample = (struct event_sample){
		.period_ns = s->period_ns,
		.cpu = (uint16_t)r->site,
		.mode = r->level ? SAMPLE_KERNEL : SAMPLE_USER,
	};
	return true;
}

void stacks_account(const struct stacks *s, struct account *a)
{
	struct python_counts counts;

	a->stacks_cut += s->cut;
	a->stacks_lost += s->lost;
	a->stacks_other += callstacks_refused(s->store);
	if (s->python) {
		python_count(s->python, &counts);
		a->python_frames += counts.frames;
		a->python_unreadable += counts.unreadable;
		a->python_unmatched += s->python_unmatched;
	}
}
