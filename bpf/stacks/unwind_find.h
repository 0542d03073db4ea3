/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tables for walking stacks (bpf/stacks/unwind_maps.h) in the kernel, and how the rule for an instruction is found in
 * them: from the process to the range of the address, to the page, to the row.
 */
#ifndef PROFTRACE_BPF_UNWIND_FIND_H
#define PROFTRACE_BPF_UNWIND_FIND_H

#include "bpf/registers.h"
#include "bpf/state.h"
#include "bpf/stacks/unwind_maps.h"

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

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

/* The state of a walk. */
struct unwind_walk {
	__u64 registers[REGISTERS];	 /* as copy_registers() numbers them */
	__u64 saved_at[UNWIND_FOLLOWED]; /* where in memory it is; 0: in `registers` */
	__u64 pc;
	__u64 address_mask; /* the bits that an address in a program may have */
	__u64 number;	    /* of the process's ranges: struct unwind_range */
	__u32 known;	    /* a bit for each register */
	__u32 first, n_ranges;
	__u32 exact;		       /* pc is not a return address */
	struct unwind_rule rule;       /* for pc */
	__u32 end;		       /* why there is no rule: enum stack_end */
	__u32 types;		       /* of the record */
	__u32 at, n;		       /* frames are written from `at` on, and `n` are */
	__u32 python;		       /* number of a struct python_setup */
	__u64 new_code, new_code_size; /* a mapping of code that the recorder has not seen yet */
	__u64 trampoline; /* the return address of functions with return probes; 0: there are none */
	__u64 pending;	  /* the innermost struct return_instance that no frame below has */
};

/* NULL: the recorder does not know the process. */
static __always_inline struct unwind_process *unwind_process_of(__u32 tgid)
{
	struct unwind_process *p;
	__u32 slot;

	for (__u32 i = 0; i < UNWIND_PROCESSES_ON; i++) {
		slot = (UNWIND_PROCESS_PLACE(tgid) + i) & (UNWIND_PROCESSES - 1);
		p = bpf_map_lookup_elem(&unwind_processes, &slot);
		if (p && p->tgid == tgid)
			return p;
	}
	return NULL;
}

/* The process executes a program: its mappings are no longer those that the recorder has seen. */
static __always_inline void forget_mappings(__u32 tgid)
{
	struct unwind_process *p = has_unwind ? unwind_process_of(tgid) : NULL;

	if (p)
		__sync_fetch_and_add(&p->execs, 1);
}

static __always_inline struct unwind_range *unwind_range_at(__u32 number)
{
	return bpf_map_lookup_elem(&unwind_ranges, &number);
}

/*
 * Binary searches are written without branches: a verifier would follow both ways of each step. All
 * ones if a <= b, both below 2^63.
 */
static __always_inline __u64 mask_if_not_above(__u64 a, __u64 b)
{
	__u64 difference = b - a;

	barrier_var(difference); /* else clang makes a branch of it */
	return ~(__u64)((__s64)difference >> 63);
}

/* The first step of a search among `n`: the highest power of two that is not above it. */
static __always_inline __u32 first_step(__u32 n)
{
	n |= n >> 1;
	n |= n >> 2;
	n |= n >> 4;
	n |= n >> 8;
	n |= n >> 16;
	return (n >> 1) + 1;
}

/* The number of the range that contains the address; 0: none. */
__noinline __u32 unwind_find_range(struct unwind_walk *w, __u64 address)
{
	struct unwind_range *range;
	__u32 first, n, step;
	__u64 low = 0; /* so many begin at the address or before it */

	if (!w)
		return 0;
	first = w->first;
	n = w->n_ranges;
	step = first_step(n);
	for (int i = 0; i < UNWIND_RANGES_STEPS; i++) {
		if (!step)
			break;
		range = unwind_range_at(first + low + step);
		if (!range)
			return 0;
		low += step & mask_if_not_above(low + step, n) &
		       mask_if_not_above(range->start, address);
		step >>= 1;
	}
	range = unwind_range_at(first + low);
	return low && range && address < range->end ? first + low : 0;
}

/* Of so many rows from the first on, the rule of the last one that is not above the place. */
__noinline __u32 unwind_find_rule(__u32 first, __u32 n, __u32 place)
{
	struct unwind_rows_value *value;
	__u32 key, step, number;
	__u64 low = 0;

	step = first_step(n);
	for (int i = 0; i < UNWIND_ROWS_STEPS; i++) {
		if (!step)
			break;
		number = first + low + step - 1;
		key = number / UNWIND_ROWS_EACH;
		value = bpf_map_lookup_elem(&unwind_rows, &key);
		if (!value)
			return 0;
		low += step & mask_if_not_above(low + step, n) &
		       mask_if_not_above(UNWIND_ROW_PLACE(value->rows[number % UNWIND_ROWS_EACH]),
					 place);
		step >>= 1;
	}
	number = first + low - 1;
	key = number / UNWIND_ROWS_EACH;
	value = bpf_map_lookup_elem(&unwind_rows, &key);
	return low && value ? UNWIND_ROW_RULE(value->rows[number % UNWIND_ROWS_EACH]) : 0;
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
	w->rule = (struct unwind_rule){ .cfa = UNWIND_NONE };
	w->end = STACK_NO_MAPPING;
	number = unwind_find_range(w, pc);
	range = number ? unwind_range_at(number) : NULL;
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
	rule_number =
		unwind_find_rule(page->first, page->n, distance & ((1u << UNWIND_PAGE_BITS) - 1));
	rule = bpf_map_lookup_elem(&unwind_rules, &rule_number);
	if (rule)
		w->rule = *rule;
	return 0;
}

#endif
