/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call stacks from addresses: each address becomes a frame of the mapping that it is in. CPython's frames
 * replace those of the interpreter's loop, and those of the kernel come last.
 */
#include "base/array.h"
#include "capture/stacks/internal.h"

#include "capture/stacks/python.h"
#include "capture/stacks/unwind.h"

#include <stddef.h>

#include "bpf/stacks/stack.h"

/*
 * Until a process is scanned again after an unknown address. Code that is mapped right after a scan runs without names as
 * long, so this is short where the last scan has found something new; the share below is the limit of what scans cost.
 */
#define RESCAN_NS 10000000ull

/*
 * The longest wait between two scans is the longer of this and a multiple of what a scan costs,
 * since new code may be mapped at any time.
 */
#define RESCAN_LATEST_NS 1000000000ull
#define RESCAN_COSTS	 100

#define HOLD_FUNCTION 8 /* bytes of _dl_debug_state(), at least */

#define RESCANS_SHARE 20 /* all scans together take one part in so many of the time */

/* --- from addresses to frames -------------------------------------------------------------------- */

static const struct code *find_code(const struct stack_process *p, uint64_t address)
{
	size_t at = array_count_before(p->n, i, p->code[i].end <= address);

	return at < p->n && p->code[at].start <= address ? &p->code[at] : NULL;
}

/*
 * Scans a process again because of an unknown address, in a stack or where a stack would go on. Something was mapped since, or the address
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

static const struct code_frame *new_code_frame(struct stacks *s, const struct stack_process *p,
					       const struct code *code, uint64_t address)
{
	const uint32_t before = callstacks_frames(s->store);
	const struct code_frame *frame;
	uint64_t offset;

	if (!code || !code->mapping) {
		frame = callstacks_frame(s->store, NULL, address, NULL);
		/* Each address once. */
		s->unmapped += code && callstacks_frames(s->store) != before;
		return frame;
	}
	if (code->mapping->kind == CODE_JIT && p->has_jit_dump)
		address = jit_slot_address(s, address, p->at_ns);
	if (code->mapping->kind == CODE_JIT) {
		jit_set_frames(s, code->mapping);
		return callstacks_frame(s->store, code->mapping, address, NULL);
	}
	offset = address - code->start + code->offset;
	return callstacks_frame(
		s->store, code->mapping,
		offset + stacks_load_bias(code->file ? code->file->elf : NULL, offset), NULL);
}

static const struct code_frame *get_code_frame(struct capture *c, struct stack_process *p,
					       uint64_t address)
{
	unsigned place = (address ^ address >> 12) & (RECENT_CODE - 1);
	const struct code_frame *frame;
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
		return new_code_frame(c->stacks, p, code, address);
	frame = new_code_frame(c->stacks, p, code, address);
	/* At another time this is another frame. */
	if (p->has_jit_dump && frame->mapping && frame->mapping->kind == CODE_JIT)
		return frame;
	p->recent[place].address = address;
	p->recent[place].frame = frame;
	return frame;
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
	e->n = 0;
	e->ends[0] = 0;
	for (unsigned i = 0; i < stack->n_python; i++) {
		if (stack->python[2 * i + 1] & PYTHON_FRAME_ENTRY || i + 1 == stack->n_python)
			e->ends[++e->n] = i + 1;
	}
}

static const struct callstack *push_python_entry(struct stacks *s, struct python_process *python,
						 const struct callstack *caller,
						 const struct program_stack *stack,
						 const struct python_entries *e, unsigned entry)
{
	for (unsigned i = e->ends[entry + 1]; i > e->ends[entry]; i--)
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

/*
 * The stack may have ended at a file whose table is not there yet. A program has libraries with a million rows that it hardly
 * runs, so those that stacks lack come first.
 */
static void hurry_last_table(struct stacks *s, const struct stack_process *p,
			     const struct program_stack *stack)
{
	const struct code *code = find_code(p, stack_address(stack, stack->n - 1));

	if (code && code->file)
		unwind_hurry(s->unwind, code->file);
}

const struct callstack *stacks_push(struct capture *c, uint32_t pid,
				    const struct program_stack *stack)
{
	struct stack_process *p = stack_process_get(c->stacks, pid);
	const struct callstack *pushed = NULL;
	unsigned n = stack->n;

	if (p)
		p->at_ns = stack->at_ns;
	if (p && stack->is_unmapped)
		rescan_code(c, p);
	if (p && n && !stack->is_whole && c->stacks->unwind)
		hurry_last_table(c->stacks, p, stack);
	if (p && p->python && stack->n_python)
		return push_mixed_frames(c, p, stack);
	while (p && n--)
		pushed = callstacks_push(c->stacks->store, pushed,
					 get_code_frame(c, p, stack_address(stack, n)));
	return pushed;
}

static const struct callstack *push_kernel_frames(struct stacks *s, const struct callstack *stack,
						  const __u64 *addresses, unsigned n,
						  bool is_caller)
{
	while (n--)
		stack = callstacks_push(s->store, stack,
					callstacks_frame(s->store, s->kernel,
							 addresses[n] - (n > 0 || is_caller),
							 NULL));
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
		.is_unmapped = STACK_END(r->head.types) == STACK_NO_MAPPING,
		.python = (const uint64_t *)r->addresses + kernel + n,
		.n_python = n_python,
		.at_ns = r->head.ts,
	};
	return true;
}

/*
 * A thread that opens a library is held in a function of the dynamic linker that does nothing: all time there is ours, and
 * the stack ends where it is called.
 */
static void leave_out_hold_frame(struct capture *c, uint32_t pid, struct program_stack *stack)
{
	const struct stack_process *p = stack_process_get(c->stacks, pid);
	const struct code *code = p && stack->n ? find_code(p, stack->addresses[0]) : NULL;
	uint64_t hold = code && code->file ? code->file->linker_function : 0;

	if (!hold || stack->addresses[0] - code->start + code->offset - hold >= HOLD_FUNCTION)
		return;
	stack->addresses++;
	stack->n--;
	stack->is_caller = true;
}

bool decode_stack(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	const struct record_stack *stack = (const struct record_stack *)r;
	struct program_stack program;
	struct stacks *s = c->stacks;
	unsigned kernel, left_out;

	if (!s || size < offsetof(struct record_stack, addresses) || stack->ops.a > STACK_FRAMES)
		return false;
	kernel = (unsigned)stack->ops.a;
	if (!stacks_parse(stack, size, kernel, &program))
		return false;
	s->cut += kernel == STACK_FRAMES;
	if (r->kind == RECORD_BLOCKED)
		program.at_ns -= (uint64_t)(uint32_t)r->name << 32 | r->site;
	stacks_set_end(e, r->types);
	leave_out_hold_frame(c, r->tgid, &program);
	e->callstack = stacks_push(c, r->tgid, &program);
	left_out = kernel_frames_of_tracing(c, stack->addresses, kernel);
	e->callstack = push_kernel_frames(s, e->callstack, stack->addresses + left_out,
					  kernel - left_out, left_out > 0);
	if (r->kind == RECORD_BLOCKED) {
		e->kind = EVENT_BLOCKED;
		e->size = (uint64_t)(uint32_t)r->name << 32 | r->site;
		return true;
	}
	e->kind = EVENT_SAMPLE;
	e->sample = (struct event_sample){
		.period_ns = s->period_ns,
		.cpu = (uint16_t)r->site,
		.mode = r->level && !(kernel && left_out == kernel) ? SAMPLE_KERNEL : SAMPLE_USER,
	};
	return true;
}
