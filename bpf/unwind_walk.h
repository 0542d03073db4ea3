/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks the stack of a program by tables (bpf/unwind.h), and by frame pointers where there is no
 * table, as in generated code.
 *
 * A walk never guesses. Without a rule for an instruction, and where memory cannot be read, it ends
 * and the record says why. A caller's frame is always above the frame of its callee, so what a
 * malformed table leads to ends as well. A frame pointer only counts if it leads into code.
 *
 * Callee-saved registers are read when a rule needs them and not at each frame, which is seldom.
 *
 * Each function here is global: a verifier checks it once, and not again for each frame. Then no
 * kernel needs anything for the loop over the frames but the loop.
 */
#ifndef PROFTRACE_BPF_UNWIND_WALK_H
#define PROFTRACE_BPF_UNWIND_WALK_H

#include "registers.h"
#include "state.h"
#include "unwind.h"

/* Set by the broker before the programs are loaded: the maps below have their sizes. */
const volatile bool has_unwind = false;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_rows_value);
} unwind_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_page);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_range);
} unwind_ranges SEC(".maps");

/* A perf event's program may only use hash tables whose memory is allocated beforehand. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

/* The state of a walk. */
struct unwind_walk {
	__u64 registers[16];		 /* as copy_registers() numbers them */
	__u64 saved_at[UNWIND_FOLLOWED]; /* where in memory it is; 0: in `registers` */
	__u64 pc;
	__u64 number; /* of the process's ranges: struct unwind_range */
	__u32 known;  /* a bit for each register */
	__u32 first, n_ranges;
	__u32 exact;		 /* pc is not a return address */
	struct unwind_rule rule; /* for pc */
	__u32 end;		 /* why there is no rule: enum stack_end */
	__u32 types;		 /* of the record */
	__u32 at, n;		 /* frames are written from `at` on, and `n` are */
};

/* What a program needs to make a record with a stack. */
struct stack_work {
	struct unwind_walk walk;
	struct record_stack record;
};

#if defined(__TARGET_ARCH_x86)

#define REGISTER_BX   3
#define REGISTER_SP   4
#define REGISTER_BP   5
#define FOLLOWED_BITS (1u << REGISTER_BX | 1u << REGISTER_SP | 1u << REGISTER_BP)
#define CODE_64_BIT   0x33 /* the code segment of programs that are not 32-bit */

/* A frame that is larger is not one: stacks have 8 MB, unless somebody needs more. */
#define LARGEST_FRAME (1ull << 30)

/* The registers in struct sigcontext, and where that is above the stack pointer. */
#define SIGNAL_REGISTERS	17
#define SIGNAL_REGISTERS_OFFSET 40

static __always_inline struct unwind_range *unwind_range_at(__u32 number)
{
	return bpf_map_lookup_elem(&unwind_ranges, &number);
}

/* The range of the process that contains the address; NULL: none. */
static __always_inline struct unwind_range *find_range(const struct unwind_walk *w, __u64 address)
{
	__u32 low = 0, high = w->n_ranges, middle;
	struct unwind_range *range;
	int i;

	for (i = 0; i < UNWIND_RANGES_STEPS; i++) {
		if (low >= high)
			break;
		middle = (low + high) / 2;
		range = unwind_range_at(w->first + 1 + middle);
		if (!range)
			return NULL;
		if (range->end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= w->n_ranges)
		return NULL;
	range = unwind_range_at(w->first + 1 + low);
	return range && range->start <= address && address < range->end ? range : NULL;
}

static __always_inline __u32 unwind_row_at(__u32 number)
{
	__u32 key = number / UNWIND_ROWS_EACH;
	struct unwind_rows_value *value = bpf_map_lookup_elem(&unwind_rows, &key);

	return value ? value->rows[number % UNWIND_ROWS_EACH] : 0;
}

/* The rule of the last row of the page that begins at the place or before it. */
static __always_inline __u32 find_rule(const struct unwind_page *page, __u32 place)
{
	__u32 first = page->first, low = 0, high = page->n, middle;
	int i;

	for (i = 0; i < UNWIND_ROWS_STEPS; i++) {
		if (low >= high)
			break;
		middle = (low + high) / 2;
		if (UNWIND_ROW_PLACE(unwind_row_at(first + middle)) <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? UNWIND_ROW_RULE(unwind_row_at(first + low - 1)) : 0;
}

/* Why the code of a range has no rules. */
static __always_inline __u32 no_table(const struct unwind_range *range)
{
	switch (range->table) {
	case UNWIND_TABLE_PENDING:
		return STACK_TABLE_PENDING;
	case UNWIND_TABLE_REFUSED:
		return STACK_TABLE_REFUSED;
	case UNWIND_TABLE_THERE:
		return STACK_NOT_DESCRIBED;
	default:
		return STACK_NO_TABLE;
	}
}

/* Finds the rule for the current frame. */
__noinline int unwind_find(struct unwind_walk *w)
{
	__u32 number, rule_number;
	struct unwind_range *range;
	struct unwind_page *page;
	struct unwind_rule *rule;
	__u64 pc, distance;

	if (!w)
		return 0;
	pc = w->pc - !w->exact;
	w->rule.cfa = UNWIND_NONE;
	w->end = STACK_NO_MAPPING;
	range = find_range(w, pc);
	if (!range)
		return 0;
	w->end = no_table(range);
	distance = pc - range->base;
	if (distance >> UNWIND_PAGE_BITS >= range->pages)
		return 0;
	number = range->first_page + (distance >> UNWIND_PAGE_BITS);
	page = bpf_map_lookup_elem(&unwind_pages, &number);
	if (!page)
		return 0;
	rule_number = find_rule(page, distance & ((1u << UNWIND_PAGE_BITS) - 1));
	rule = bpf_map_lookup_elem(&unwind_rules, &rule_number);
	if (rule)
		w->rule = *rule;
	return 0;
}

static __always_inline int end_walk(struct unwind_walk *w, __u32 end)
{
	w->types |= end;
	return 1;
}

static __always_inline bool read_word(__u64 address, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

/* Reads the register from memory if it is there. Returns STACK_WHOLE or why it is not known. */
static __always_inline __u32 fetch_register(struct unwind_walk *w, __u32 reg)
{
	__u64 *at = reg == REGISTER_BP ? &w->saved_at[UNWIND_RBP] : &w->saved_at[UNWIND_RBX];

	if (!(w->known >> (reg & 15) & 1))
		return STACK_REGISTER_LOST;
	if ((reg != REGISTER_BP && reg != REGISTER_BX) || !*at)
		return STACK_WHOLE;
	if (!read_word(*at, &w->registers[reg & 15]))
		return STACK_UNREADABLE;
	*at = 0;
	return STACK_WHOLE;
}

static __always_inline void set_saved(struct unwind_walk *w, __u32 reg, __u32 i, __u64 cfa)
{
	switch (w->rule.saved[i]) {
	case UNWIND_SAME:
		break;
	case UNWIND_AT_CFA:
		w->saved_at[i] = cfa + w->rule.at[i];
		w->known |= 1u << reg;
		break;
	case UNWIND_AT_FRAME:
		/* The rules for which this is used have fetched the frame pointer already. */
		if (w->known >> REGISTER_BP & 1 && !w->saved_at[UNWIND_RBP]) {
			w->saved_at[i] = w->registers[REGISTER_BP] + w->rule.at[i];
			w->known |= 1u << reg;
			break;
		}
		/* fallthrough */
	default:
		w->known &= ~(1u << reg);
	}
}

/* Goes on to the caller, whose stack pointer was `cfa`. */
static __always_inline int enter_caller(struct unwind_walk *w, __u64 cfa, __u64 pc)
{
	w->registers[REGISTER_SP] = cfa;
	w->known &= FOLLOWED_BITS;
	w->exact = 0;
	w->pc = pc;
	/* The first function of a thread has no caller, and some write a 0 for it. */
	return pc ? 0 : end_walk(w, STACK_WHOLE);
}

static __always_inline bool frame_is_above(const struct unwind_walk *w, __u64 cfa)
{
	__u64 sp = w->registers[REGISTER_SP];

	return cfa > sp && cfa - sp <= LARGEST_FRAME;
}

/* Applies a rule that says where the frame of the caller is. */
__noinline int unwind_by_rule(struct unwind_walk *w)
{
	__u32 reg, end;
	__u64 cfa, pc;

	if (!w)
		return 1;
	reg = w->rule.reg & 15;
	end = fetch_register(w, reg);
	if (end)
		return end_walk(w, end);
	cfa = w->registers[reg] + w->rule.offset;
	if (w->rule.cfa == UNWIND_DEREF) {
		if (!read_word(cfa, &cfa))
			return end_walk(w, STACK_UNREADABLE);
		cfa += w->rule.second;
	} else if (w->rule.cfa == UNWIND_PLT && (__s32)(w->pc & 15) >= w->rule.second) {
		cfa += sizeof(__u64);
	}
	if (!frame_is_above(w, cfa))
		return end_walk(w, STACK_NOT_MONOTONIC);
	if (!read_word(cfa - sizeof(__u64), &pc))
		return end_walk(w, STACK_UNREADABLE);
	/* The frame pointer comes last, since the other may be relative to it. */
	set_saved(w, REGISTER_BX, UNWIND_RBX, cfa);
	set_saved(w, REGISTER_BP, UNWIND_RBP, cfa);
	w->types |= STACK_BY_TABLES;
	return enter_caller(w, cfa, pc);
}

/* Restores all registers as they were when the signal came. */
__noinline int unwind_by_signal(struct unwind_walk *w)
{
	__u64 saved[SIGNAL_REGISTERS];
	int i;

	if (!w)
		return 1;
	if (bpf_probe_read_user(saved, sizeof(saved),
				(void *)(w->registers[REGISTER_SP] + SIGNAL_REGISTERS_OFFSET)))
		return end_walk(w, STACK_UNREADABLE);
	for (i = 0; i < 8; i++)
		w->registers[8 + i] = saved[i];
	w->registers[7] = saved[8];
	w->registers[6] = saved[9];
	w->registers[REGISTER_BP] = saved[10];
	w->registers[REGISTER_BX] = saved[11];
	w->registers[2] = saved[12];
	w->registers[0] = saved[13];
	w->registers[1] = saved[14];
	w->registers[REGISTER_SP] = saved[15];
	w->pc = saved[16];
	w->saved_at[UNWIND_RBP] = 0;
	w->saved_at[UNWIND_RBX] = 0;
	w->known = 0xffff;
	w->exact = 1;
	return 0;
}

/*
 * Without a rule: by the frame pointer, if it leads to a frame above this one and from there into
 * code. The outermost function of a process finds 0 in it.
 */
__noinline int unwind_by_frame_pointer(struct unwind_walk *w)
{
	__u64 frame[2], fp;

	if (!w)
		return 1;
	if (fetch_register(w, REGISTER_BP))
		return end_walk(w, w->end);
	fp = w->registers[REGISTER_BP];
	if (!fp && w->n > 1) {
		w->types |= STACK_BY_FRAME_POINTERS;
		return end_walk(w, STACK_WHOLE);
	}
	if (fp & 7 || !frame_is_above(w, fp + sizeof(frame)) ||
	    bpf_probe_read_user(frame, sizeof(frame), (void *)fp) ||
	    (frame[1] && !find_range(w, frame[1] - 1)))
		return end_walk(w, w->end);
	w->registers[REGISTER_BP] = frame[0];
	w->known &= ~(1u << REGISTER_BX);
	w->types |= STACK_BY_FRAME_POINTERS;
	return enter_caller(w, fp + sizeof(frame), frame[1]);
}

/* Writes down the current frame and goes on to its caller. Returns whether the walk has ended. */
static __always_inline int unwind_frame(struct stack_work *s)
{
	struct unwind_walk *w = &s->walk;

	if (w->n >= STACK_FRAMES)
		return end_walk(w, STACK_TOO_DEEP);
	s->record.addresses[(w->at + w->n) & (2 * STACK_FRAMES + 1)] = w->pc;
	w->n++;
	unwind_find(w);
	switch (w->rule.cfa) {
	case UNWIND_NONE:
		return unwind_by_frame_pointer(w);
	case UNWIND_REGISTER:
	case UNWIND_DEREF:
	case UNWIND_PLT:
		return unwind_by_rule(w);
	case UNWIND_SIGNAL:
		return unwind_by_signal(w);
	case UNWIND_END:
		w->types |= STACK_BY_TABLES;
		return end_walk(w, STACK_WHOLE);
	default:
		return end_walk(w, STACK_UNSUPPORTED);
	}
}

/*
 * Walks the stack whose registers are in the walk. False: the mappings of the process are not
 * known.
 */
__noinline int unwind_stack(struct stack_work *s, __u32 tgid)
{
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &tgid);
	struct unwind_range *first;
	int i;

	if (!s || !process)
		return 0;
	first = unwind_range_at(process->first);
	s->walk.first = process->first;
	s->walk.n_ranges = process->n;
	s->walk.number = process->number;
	if (!first || first->base != s->walk.number)
		return 0;
	for (i = 0; i <= STACK_FRAMES; i++) {
		if (unwind_frame(s))
			break;
	}
	first = unwind_range_at(s->walk.first);
	if (!first || *(volatile __u64 *)&first->base != s->walk.number) {
		s->walk.types = STACK_CHANGED;
		s->walk.n = s->walk.n ? 1 : 0;
	}
	return 1;
}

/* `user`: the registers of a thread in its program. */
static __always_inline void unwind_begin(struct stack_work *s, struct pt_regs *user, __u32 at)
{
	struct unwind_walk *w = &s->walk;

	copy_registers(w->registers, user);
	w->pc = user->ip;
	w->saved_at[UNWIND_RBP] = 0;
	w->saved_at[UNWIND_RBX] = 0;
	w->known = 0xffff;
	w->exact = 1;
	w->types = 0;
	w->at = at;
	w->n = 0;
}

/*
 * Writes the stack of a program behind `at` addresses of the kernel. False: it cannot be walked by
 * tables, because the process is not known yet, or is a 32-bit one.
 */
static __always_inline bool walk_by_tables(struct stack_work *s, struct pt_regs *user, __u32 tgid,
					   __u32 at)
{
	if (!has_unwind || user->cs != CODE_64_BIT)
		return false;
	unwind_begin(s, user, at);
	return unwind_stack(s, tgid);
}

#else

static __always_inline bool walk_by_tables(struct stack_work *s, struct pt_regs *user, __u32 tgid,
					   __u32 at)
{
	return false;
}

#endif

/* The number of addresses in a stack. */
static __always_inline __u32 count_addresses(long bytes)
{
	return bytes > 0 ? (__u32)bytes / sizeof(__u64) & STACK_FRAMES : 0;
}

/*
 * Writes the stack of a program behind `at` addresses of the kernel: by tables, or, if the process
 * is not known yet, by frame pointers alone. Returns the number of frames.
 */
static __always_inline __u32 walk_program(void *ctx, struct stack_work *s, struct pt_regs *user,
					  __u32 tgid, __u32 at)
{
	if (walk_by_tables(s, user, tgid, at)) {
		s->record.head.types = s->walk.types;
		return s->walk.n & STACK_FRAMES;
	}
	s->record.head.types = has_unwind ? STACK_NO_PROCESS : STACK_FRAME_POINTERS;
	return count_addresses(bpf_get_stack(ctx, &s->record.addresses[at & STACK_FRAMES],
					     STACK_BYTES, BPF_F_USER_STACK));
}

#endif
