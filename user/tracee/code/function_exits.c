/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows the control flow of a function from a queue of addresses. Each instruction is decoded once, and its bytes
 * are marked; an instruction that begins within another one ends the analysis.
 */
#include "tracee/code/function_exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tracee/code/function_walk.h"

const char walk_not_followed[] = "its instructions cannot be followed";
static const char no_entry[] = "a probe cannot be put on its first instruction";
static const char no_exit[] = "a probe cannot be put on one of its last instructions";
static const char runs_past_end[] = "it runs into the code behind it";
static const char unreached_code[] =
	"the target of one of its jumps is unknown, so not all of its code is known";

/* How an instruction affects the following one. */
struct walk_step {
	unsigned length;
	bool on;      /* control flow reaches the next one */
	bool may_end; /* it may be the last one, since it may not return */
	bool is_nop;
};

int walk_part(const struct walk *w, uint64_t vaddr)
{
	for (unsigned i = 0; i < w->n_parts; i++) {
		if (vaddr - w->parts[i].vaddr < w->parts[i].size)
			return (int)i;
	}
	return -1;
}

const char *walk_queue(struct walk *w, uint64_t vaddr)
{
	int part = walk_part(w, vaddr);
	uint8_t *walk_mark_bytes;

	if (part < 0)
		return NULL;
	walk_mark_bytes = &w->map[part].marks[vaddr - w->parts[part].vaddr];
	if (*walk_mark_bytes & WALK_INSIDE)
		return walk_not_followed;
	if (*walk_mark_bytes)
		return NULL;
	if (!array_reserve(w->todo, w->n_todo, w->todo_capacity, 64))
		return "its instructions cannot be read";
	*walk_mark_bytes = WALK_QUEUED;
	w->todo[w->n_todo++] = vaddr;
	return NULL;
}

static const char *walk_add_exit(struct walk *w, const struct function_exit *exit)
{
	if (w->found->n == FUNCTION_MAX_EXITS)
		return "it has too many exits";
	w->found->exits[w->found->n++] = *exit;
	return NULL;
}

/* A jump to the first instruction is a tail call of the function itself. */
static bool walk_jump_leaves(const struct walk *w, uint64_t to)
{
	return walk_part(w, to) < 0 || to == w->parts[0].vaddr;
}

static const char *walk_follow_jump(struct walk *w, uint64_t from, uint64_t to, uint8_t exit,
				    uint8_t condition)
{
	struct function_exit e = { .vaddr = from, .exit = exit, .condition = condition, .to = to };

	return walk_jump_leaves(w, to) ? walk_add_exit(w, &e) : walk_queue(w, to);
}

/* --- x86-64 -------------------------------------------------------------------------------------- */

static const char *walk_flow_x86(struct walk *w, uint64_t vaddr, const struct x86_instruction *x)
{
	uint64_t to = vaddr + x->length + (uint64_t)(int64_t)x->distance;
	struct function_exit e = { .vaddr = vaddr };

	switch (x->flow) {
	case X86_RETURN:
		e.exit = CALL_RETURN;
		return x->probe == X86_PROBE ? walk_add_exit(w, &e) : no_exit;
	case X86_INDIRECT:
		/* notrack: the jump uses a table and stays within the function */
		if (x->probe != X86_PROBE)
			return NULL;
		e.exit = CALL_INDIRECT;
		e.target = x->target;
		return walk_add_exit(w, &e);
	case X86_JUMP:
	case X86_BRANCH:
		if (x->probe != X86_PROBE && walk_jump_leaves(w, to))
			return no_exit;
		return walk_follow_jump(w, vaddr, to, x->flow == X86_JUMP ? CALL_JUMP : CALL_BRANCH,
					x->condition);
	case X86_LOOP:
		return walk_part(w, to) < 0 ? walk_not_followed : walk_queue(w, to);
	case X86_CALL:
		/* A call within the function only gets the return address as a value. */
		return x->direct && !walk_jump_leaves(w, to) ? walk_not_followed : NULL;
	}
	return NULL;
}

static const char *walk_step_x86(struct walk *w, unsigned part, uint64_t at, struct walk_step *ret)
{
	uint64_t vaddr = w->parts[part].vaddr + at;
	struct x86_instruction x;

	if (!x86_decode(w->map[part].bytes + at, w->parts[part].size - at, &x))
		return walk_not_followed;
	jump_tables_add_instruction(w, vaddr, &x);
	*ret = (struct walk_step){
		.length = x.length,
		.on = x.flow == X86_ON || x.flow == X86_BRANCH || x.flow == X86_LOOP ||
		      x.flow == X86_CALL,
		.may_end = x.flow == X86_CALL,
		.is_nop = x.use == X86_NOP,
	};
	return walk_flow_x86(w, vaddr, &x);
}

/* Some kernels corrupt the program when they optimise a probe on such a nop. */
static bool x86_is_nop5(const uint8_t *bytes, const struct x86_instruction *x)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };

	return x->length == sizeof(nop5) && !memcmp(bytes, nop5, sizeof(nop5));
}

enum {
	ENDBR64_SIZE = 4,
};

/*
 * Whether a push follows endbr64, as in most functions that are compiled with -fcf-protection. The kernel emulates a
 * push, but single-steps endbr64: a hit costs 700 ns or 9 us (6.18 in a virtual machine).
 */
static bool x86_push_follows_endbr64(const uint8_t *bytes, uint64_t size)
{
	static const uint8_t endbr64[ENDBR64_SIZE] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (size < ENDBR64_SIZE + 2 || memcmp(bytes, endbr64, ENDBR64_SIZE))
		return false;
	bytes += ENDBR64_SIZE;
	return (bytes[bytes[0] == 0x41] & 0xf8) == 0x50; /* 41: of the registers r8 to r15 */
}

/* A probe behind the first instruction must not be hit again by a jump within the function. */
static const char *entry_check_jumps(const struct walk *w, uint64_t entry)
{
	uint64_t begin = w->parts[0].vaddr, at, to;
	struct x86_instruction x;

	if (w->unknown)
		return no_entry;
	for (unsigned part = 0; part < w->n_parts; part++) {
		for (at = 0; at < w->parts[part].size; at++) {
			if (!(w->map[part].marks[at] & WALK_BEGINS))
				continue;
			if (!x86_decode(w->map[part].bytes + at, w->parts[part].size - at, &x))
				return walk_not_followed;
			if (x.flow != X86_JUMP && x.flow != X86_BRANCH && x.flow != X86_LOOP)
				continue;
			to = w->parts[part].vaddr + at + x.length + (uint64_t)(int64_t)x.distance;
			if (to - begin <= entry && to != begin)
				return no_entry;
		}
	}
	return NULL;
}

static const char *entry_find_x86(struct walk *w, unsigned rules)
{
	uint64_t at = 0, size = w->parts[0].size;
	const uint8_t *bytes = w->map[0].bytes;
	struct x86_instruction x;

	while (at < size && x86_decode(bytes + at, size - at, &x)) {
		if (x.probe == X86_NO_PROBE)
			return no_entry;
		if (x.probe == X86_PROBE &&
		    !(rules & PROVER_SKIPS_NOP5 && x86_is_nop5(bytes + at, &x)))
			break;
		at += x.length;
	}
	if (at >= size || !(w->map[0].marks[at] & WALK_BEGINS))
		return no_entry;
	/* As of __fentry__(), with -pg -mfentry. */
	if (rules & PROVER_NO_CALLS && x.flow == X86_CALL)
		return "it begins with a call, which kernels execute wrongly for shadow stacks";
	if (x86_push_follows_endbr64(bytes + at, size - at) &&
	    !entry_check_jumps(w, at + ENDBR64_SIZE))
		at += ENDBR64_SIZE;
	w->found->entry = w->parts[0].vaddr + at;
	return at ? entry_check_jumps(w, at) : NULL;
}

/*
 * The number of unreached bytes at `at` that cannot contain an exit: padding, or dead code of the compiler. 0: they
 * may contain one.
 */
static unsigned dead_bytes_x86(const struct walk *w, unsigned part, uint64_t at)
{
	const uint8_t *bytes = w->map[part].bytes + at;
	struct x86_instruction x;
	uint64_t to;

	if (bytes[0] == 0 || bytes[0] == 0xcc)
		return 1;
	if (!x86_decode(bytes, w->parts[part].size - at, &x))
		return 0;
	to = w->parts[part].vaddr + at + x.length + (uint64_t)(int64_t)x.distance;
	switch (x.flow) {
	case X86_RETURN:
	case X86_INDIRECT:
		return 0;
	case X86_JUMP:
	case X86_BRANCH:
	case X86_LOOP:
		return walk_jump_leaves(w, to) ? 0 : x.length;
	}
	return x.length;
}

/* --- arm64 --------------------------------------------------------------------------------------- */

static int64_t arm64_signed_field(uint32_t word, unsigned from, unsigned bits)
{
	return (int64_t)((uint64_t)word << (64 - from - bits)) >> (64 - bits);
}

/* b.cond, cbz, cbnz, tbz, tbnz */
static bool arm64_is_branch(uint32_t word, int64_t *distance)
{
	if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		*distance = arm64_signed_field(word, 5, 19) * 4;
	else if ((word & 0x7e000000) == 0x36000000)
		*distance = arm64_signed_field(word, 5, 14) * 4;
	else
		return false;
	return true;
}

/* ret, retaa, retab */
static bool arm64_is_return(uint32_t word)
{
	return (word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff;
}

/* br, braa, brab */
static bool arm64_is_indirect(uint32_t word)
{
	return (word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfefff800) == 0xd61f0800;
}

static const char *walk_branch_arm64(struct walk *w, uint64_t to)
{
	/* A conditional branch out of the function leads to its rarely executed part, never to another function. */
	if (walk_part(w, to) < 0 && !w->found->elsewhere)
		w->found->elsewhere = to;
	return walk_queue(w, to);
}

static const char *walk_flow_arm64(struct walk *w, uint64_t vaddr, uint32_t word,
				   struct walk_step *ret)
{
	struct function_exit e = { .vaddr = vaddr };
	int64_t distance;

	if (arm64_is_branch(word, &distance))
		return walk_branch_arm64(w, vaddr + (uint64_t)distance);
	/* A call within the function only gets the return address as a value. */
	if ((word & 0xfc000000) == 0x94000000 &&
	    !walk_jump_leaves(w, vaddr + (uint64_t)arm64_signed_field(word, 0, 26) * 4))
		return walk_not_followed;
	/* bl, blr, blraa, svc */
	ret->may_end = (word & 0xfc000000) == 0x94000000 || (word & 0xfefff000) == 0xd63f0000 ||
		       (word & 0xffe0001f) == 0xd4000001;
	ret->is_nop = word == 0xd503201f;
	ret->on = false;
	if (arm64_is_return(word)) {
		e.exit = CALL_RETURN;
		return walk_add_exit(w, &e);
	}
	if ((word & 0xfffffc1f) == 0xd61f0000) {
		w->unknown = true;
		e.exit = CALL_INDIRECT;
		e.target = (struct usdt_arg){
			.form = USDT_REGISTER,
			.reg = (uint8_t)(word >> 5 & 31),
			.index = USDT_NO_REGISTER,
			.bits = 64,
		};
		return walk_add_exit(w, &e);
	}
	/* braa, brab: the BPF program cannot authenticate the pointer */
	if (arm64_is_indirect(word))
		return walk_not_followed;
	if ((word & 0xfc000000) == 0x14000000)
		return walk_follow_jump(w, vaddr,
					vaddr + (uint64_t)arm64_signed_field(word, 0, 26) * 4,
					CALL_JUMP, 0);
	/* brk and udf */
	ret->on = (word & 0xffe0001f) != 0xd4200000 && word > 0xffff;
	return NULL;
}

static const char *walk_step_arm64(struct walk *w, unsigned part, uint64_t at,
				   struct walk_step *ret)
{
	uint32_t word;

	if (w->parts[part].vaddr % 4 || at % 4 || w->parts[part].size - at < 4)
		return walk_not_followed;
	memcpy(&word, w->map[part].bytes + at, 4);
	*ret = (struct walk_step){ .length = 4, .on = true };
	return walk_flow_arm64(w, w->parts[part].vaddr + at, word, ret);
}

static unsigned dead_bytes_arm64(const struct walk *w, unsigned part, uint64_t at)
{
	uint64_t vaddr = w->parts[part].vaddr + at;
	int64_t distance;
	uint32_t word;

	if (at % 4 || w->parts[part].size - at < 4)
		return 1;
	memcpy(&word, w->map[part].bytes + at, 4);
	if (arm64_is_return(word) || arm64_is_indirect(word))
		return 0;
	if ((word & 0xfc000000) == 0x14000000)
		distance = arm64_signed_field(word, 0, 26) * 4;
	else if (!arm64_is_branch(word, &distance))
		return 4;
	return walk_jump_leaves(w, vaddr + (uint64_t)distance) ? 0 : 4;
}

/* --- the walk ------------------------------------------------------------------------------------ */

static const char *walk_mark_bytes(struct walk *w, unsigned part, uint64_t at, unsigned length)
{
	uint8_t *marks = w->map[part].marks + at;

	for (unsigned i = 0; i < length; i++) {
		if (marks[i] & (WALK_BEGINS | WALK_INSIDE) || (i && marks[i]))
			return walk_not_followed;
		marks[i] = i ? WALK_INSIDE : WALK_BEGINS;
	}
	return NULL;
}

/* Follows instructions from one address until one does not reach the next. */
static const char *walk_follow_from(struct walk *w, uint64_t vaddr)
{
	unsigned part = (unsigned)walk_part(w, vaddr);
	uint64_t at = vaddr - w->parts[part].vaddr;
	struct walk_step walk_step = { .on = true };
	bool may_end = false;
	const char *why;

	for (; walk_step.on; at += walk_step.length) {
		if (at >= w->parts[part].size)
			return may_end ? NULL : runs_past_end;
		if (w->map[part].marks[at] & WALK_BEGINS)
			return NULL;
		why = w->elf->machine == EM_X86_64 ? walk_step_x86(w, part, at, &walk_step)
						   : walk_step_arm64(w, part, at, &walk_step);
		if (!why)
			why = walk_mark_bytes(w, part, at, walk_step.length);
		if (why)
			return why;
		may_end = walk_step.may_end || (may_end && walk_step.is_nop);
	}
	return NULL;
}

const char *walk_follow(struct walk *w)
{
	const char *why = NULL;

	while (w->n_todo && !why)
		why = walk_follow_from(w, w->todo[--w->n_todo]);
	return why;
}

/* How many bytes to skip, 0 at bytes that may contain an exit. */
static unsigned dead_bytes_skip(const struct walk *w, unsigned part, uint64_t at)
{
	const uint8_t *marks = w->map[part].marks + at;
	unsigned n;

	if (marks[0] & (WALK_BEGINS | WALK_INSIDE))
		return 1;
	n = w->elf->machine == EM_X86_64 ? dead_bytes_x86(w, part, at)
					 : dead_bytes_arm64(w, part, at);
	for (unsigned i = 0; i < n; i++) {
		if (marks[i] & (WALK_BEGINS | WALK_INSIDE))
			return 0;
	}
	return n;
}

bool walk_has_unreached(struct walk *w)
{
	unsigned n;

	for (; w->rest_part < w->n_parts; w->rest_part++, w->rest_at = 0) {
		while (w->rest_at < w->parts[w->rest_part].size) {
			n = dead_bytes_skip(w, w->rest_part, w->rest_at);
			if (!n)
				return true;
			w->rest_at += n;
		}
	}
	return false;
}

/* Queues the landing pads, where the function continues after an exception. */
static const char *walk_queue_landing_pads(struct walk *w, const struct unwind_table *unwind)
{
	const char *why = NULL;
	int n;

	for (unsigned part = 0; part < w->n_parts; part++) {
		struct unwind_range range;

		n = unwind_table_find(unwind, w->elf, w->parts[part].vaddr, &range);
		if (!n)
			n = unwind_landing_pads(w->elf, &range, w->pads, WALK_MAX_PADS);
		w->unknown |= n == -EINVAL;
		for (int i = 0; i < n && !why; i++) {
			if (walk_part(w, w->pads[i]) < 0)
				w->found->elsewhere = w->pads[i];
			else
				why = walk_queue(w, w->pads[i]);
		}
	}
	return why;
}

static const char *walk_read_part(struct walk *w, unsigned i)
{
	uint64_t offset, size = w->parts[i].size;

	if (!size)
		return "its symbol does not say how long it is";
	if (size > FUNCTION_MAX_SIZE)
		return "it is too long";
	if (elf_file_range(w->elf, w->parts[i].vaddr, size, ELF_EXECUTABLE, &offset))
		return "it is outside the code of the file";
	w->map[i].bytes = malloc(size);
	w->map[i].marks = calloc(1, size);
	if (!w->map[i].bytes || !w->map[i].marks ||
	    elf_file_read(w->elf, offset, w->map[i].bytes, size))
		return "its instructions cannot be read";
	return NULL;
}

static int compare_exits(const void *a, const void *b)
{
	const struct function_exit *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static const char *walk_function(struct walk *w, const struct unwind_table *unwind)
{
	const char *why = walk_queue(w, w->parts[0].vaddr);

	if (!why)
		why = walk_follow(w);
	if (!why)
		why = walk_queue_landing_pads(w, unwind);
	if (!why)
		why = walk_follow(w);
	if (!why)
		why = jump_tables_follow(w);
	if (!why && w->unknown && walk_has_unreached(w))
		why = unreached_code;
	return why;
}

const char *function_exits_find(const struct elf_file *elf, const struct unwind_table *unwind,
				const struct function_part *parts, unsigned n_parts, unsigned rules,
				struct function_exits *ret)
{
	struct walk *w = calloc(1, sizeof(*w));
	const char *why = w ? NULL : "its instructions cannot be read";

	ret->n = 0;
	ret->entry = parts[0].vaddr;
	ret->elsewhere = 0;
	if (!w)
		return why;
	w->elf = elf;
	w->parts = parts;
	w->n_parts = n_parts;
	w->found = ret;
	for (unsigned i = 0; i < n_parts && !why; i++)
		why = walk_read_part(w, i);
	if (!why)
		why = walk_function(w, unwind);
	if (!why && elf->machine == EM_X86_64)
		why = entry_find_x86(w, rules);
	if (ret->n)
		qsort(ret->exits, ret->n, sizeof(ret->exits[0]), compare_exits);
	for (unsigned i = 0; i < n_parts; i++) {
		free(w->map[i].bytes);
		free(w->map[i].marks);
	}
	free(w->todo);
	free(w);
	return why;
}

int function_next_return(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret_vaddr)
{
	struct x86_instruction x = { .flow = X86_ON };
	uint8_t bytes[64] = { 0 };
	uint64_t offset;
	uint32_t word;
	size_t n;

	/* Reads up to the end of the segment. */
	for (n = sizeof(bytes); n && elf_file_range(elf, vaddr, n, ELF_EXECUTABLE, &offset); n--)
		;
	if (!n || elf_file_read(elf, offset, bytes, n))
		return -ENOENT;
	for (size_t at = 0; at < n && (x.flow == X86_ON || x.flow == X86_CALL); at += x.length) {
		x.length = 4;
		if (elf->machine == EM_X86_64) {
			if (!x86_decode(bytes + at, n - at, &x))
				return -ENOENT;
		} else if (at + 4 <= n) {
			memcpy(&word, bytes + at, 4);
			x.flow = word == 0xd65f03c0 ? X86_RETURN : X86_ON;
		}
		*ret_vaddr = vaddr + at;
	}
	return x.flow == X86_RETURN ? 0 : -ENOENT;
}
