/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/function_exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/x86_instruction.h"

/* One part of a function, and what has been found in it. */
struct walk {
	const struct function_part *parts;
	unsigned n_parts;
	const struct function_part *part;
	uint8_t *bytes;
	uint8_t *begins; /* of each byte, whether an instruction begins with it */
	struct function_exits *found;
};

static const char not_followed[] = "its instructions cannot be followed";
static const char no_entry[] = "it begins with an instruction that no probe can stand on";
static const char no_exit[] = "it ends with an instruction that no probe can stand on";

/* Part `i` of the function has this address in it, not counting the function's very beginning. */
static bool goes_within(const struct walk *w, uint64_t to)
{
	unsigned i;

	for (i = 0; i < w->n_parts; i++) {
		if (to - w->parts[i].vaddr < w->parts[i].size)
			return to != w->parts[0].vaddr;
	}
	return false;
}

static const char *add(struct walk *w, const struct function_exit *exit)
{
	if (w->found->n == FUNCTION_MAX_EXITS)
		return "it has too many exits";
	w->found->exits[w->found->n++] = *exit;
	return NULL;
}

/* A jump to somewhere else leaves the function. */
static const char *add_jump(struct walk *w, uint64_t from, uint64_t to, uint8_t exit,
			    uint8_t condition)
{
	struct function_exit e = { .vaddr = from, .exit = exit, .condition = condition, .to = to };

	return goes_within(w, to) ? NULL : add(w, &e);
}

/* --- x86-64 -------------------------------------------------------------------------------------- */

static const char *take_x86(struct walk *w, uint64_t at, const struct x86_instruction *x)
{
	uint64_t vaddr = w->part->vaddr + at,
		 to = vaddr + x->length + (uint64_t)(int64_t)x->distance;
	struct function_exit e = { .vaddr = vaddr };

	switch (x->flow) {
	case X86_RETURN:
		e.exit = CALL_RETURN;
		return x->probe == X86_PROBE ? add(w, &e) : no_exit;
	case X86_INDIRECT:
		/* notrack: by a table of the function's own, which leads to no other function */
		if (x->probe != X86_PROBE)
			return NULL;
		e.exit = CALL_INDIRECT;
		e.target = x->target;
		return add(w, &e);
	case X86_JUMP:
		if (x->probe != X86_PROBE)
			return goes_within(w, to) ? NULL : no_exit;
		return add_jump(w, vaddr, to, CALL_JUMP, 0);
	case X86_BRANCH:
		if (x->probe != X86_PROBE)
			return goes_within(w, to) ? NULL : no_exit;
		return add_jump(w, vaddr, to, CALL_BRANCH, x->condition);
	case X86_LOOP:
		return goes_within(w, to) || to == w->parts[0].vaddr ? NULL : not_followed;
	}
	return NULL;
}

static const char *walk_x86(struct walk *w)
{
	struct x86_instruction x;
	const char *why = NULL;
	uint64_t at, to, size = w->part->size;

	for (at = 0; at < size && !why; at += x.length) {
		if (!x86_decode(w->bytes + at, size - at, &x))
			return not_followed;
		w->begins[at] = 1;
		why = take_x86(w, at, &x);
	}
	/* Once more, now that it is known where each begins. */
	for (at = 0; at < size && !why; at += x.length) {
		if (!x86_decode(w->bytes + at, size - at, &x))
			return not_followed;
		if (x.flow != X86_JUMP && x.flow != X86_BRANCH && x.flow != X86_LOOP)
			continue;
		to = at + x.length + (uint64_t)(int64_t)x.distance;
		if (to < size && !w->begins[to])
			why = not_followed;
	}
	return why;
}

/* Of some kernels, a program is ruined by what they make of such a nop. */
static bool is_nop5(const uint8_t *bytes, const struct x86_instruction *x)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };

	return x->length == sizeof(nop5) && !memcmp(bytes, nop5, sizeof(nop5));
}

/* A probe that does not stand at the very beginning must not stand where the function comes again. */
static const char *check_moved(const struct walk *w, uint64_t entry)
{
	struct x86_instruction x;
	uint64_t at, to, size = w->part->size;

	for (at = 0; at < size; at += x.length) {
		if (!x86_decode(w->bytes + at, size - at, &x))
			return not_followed;
		if (x.flow == X86_INDIRECT)
			return no_entry;
		if (x.flow != X86_JUMP && x.flow != X86_BRANCH && x.flow != X86_LOOP)
			continue;
		to = at + x.length + (uint64_t)(int64_t)x.distance;
		if (to && to <= entry)
			return no_entry;
	}
	return NULL;
}

static const char *find_entry_x86(struct walk *w, bool skip_nop5)
{
	struct x86_instruction x;
	uint64_t at = 0, size = w->part->size;

	while (at < size && x86_decode(w->bytes + at, size - at, &x)) {
		if (x.probe == X86_NO_PROBE)
			return no_entry;
		if (x.probe == X86_PROBE && !(skip_nop5 && is_nop5(w->bytes + at, &x)))
			break;
		at += x.length;
	}
	if (at >= size)
		return no_entry;
	w->found->entry = w->part->vaddr + at;
	return at ? check_moved(w, at) : NULL;
}

/* --- arm64 --------------------------------------------------------------------------------------- */

static int64_t signed_field(uint32_t word, unsigned from, unsigned bits)
{
	return (int64_t)((uint64_t)word << (64 - from - bits)) >> (64 - bits);
}

static const char *take_arm64(struct walk *w, uint64_t vaddr, uint32_t word)
{
	struct function_exit e = { .vaddr = vaddr };
	uint64_t to;

	/* ret, and its like that check a signature */
	if ((word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff) {
		e.exit = CALL_RETURN;
		return add(w, &e);
	}
	/* br */
	if ((word & 0xfffffc1f) == 0xd61f0000) {
		e.exit = CALL_INDIRECT;
		e.target = (struct usdt_arg){
			.form = USDT_REGISTER,
			.reg = (uint8_t)(word >> 5 & 31),
			.index = USDT_NO_REGISTER,
			.bits = 64,
		};
		return add(w, &e);
	}
	/* b */
	if ((word & 0xfc000000) == 0x14000000) {
		to = vaddr + (uint64_t)signed_field(word, 0, 26) * 4;
		return add_jump(w, vaddr, to, CALL_JUMP, 0);
	}
	/* braa and its like: where to is not known before it is checked */
	if ((word & 0xfefff800) == 0xd61f0800)
		return not_followed;
	return NULL;
}

static const char *walk_arm64(struct walk *w)
{
	const char *why = NULL;
	uint64_t at;
	uint32_t word;

	if (w->part->vaddr % 4 || w->part->size % 4)
		return not_followed;
	for (at = 0; at < w->part->size && !why; at += 4) {
		memcpy(&word, w->bytes + at, 4);
		why = take_arm64(w, w->part->vaddr + at, word);
	}
	return why;
}

/* --- all of it ----------------------------------------------------------------------------------- */

static const char *walk_part(const struct elf_file *elf, struct walk *w, bool skip_nop5)
{
	uint64_t offset, size = w->part->size;
	const char *why;

	if (!size)
		return "its symbol does not say how long it is";
	if (size > FUNCTION_MAX_SIZE)
		return "it is too long";
	if (elf_file_range(elf, w->part->vaddr, size, ELF_EXECUTABLE, &offset))
		return "it does not lie in the file's code";
	w->bytes = malloc(size);
	w->begins = calloc(1, size);
	if (!w->bytes || !w->begins || elf_file_read(elf, offset, w->bytes, size))
		why = "its instructions cannot be read";
	else
		why = elf->machine == EM_X86_64 ? walk_x86(w) : walk_arm64(w);
	if (!why && w->part == w->parts && elf->machine == EM_X86_64)
		why = find_entry_x86(w, skip_nop5);
	free(w->bytes);
	free(w->begins);
	return why;
}

const char *function_exits_find(const struct elf_file *elf, const struct function_part *parts,
				unsigned n_parts, bool skip_nop5, struct function_exits *ret)
{
	struct walk w = { .parts = parts, .n_parts = n_parts, .found = ret };
	const char *why = NULL;
	unsigned i;

	ret->n = 0;
	ret->entry = parts[0].vaddr;
	for (i = 0; i < n_parts && !why; i++) {
		w.part = &parts[i];
		why = walk_part(elf, &w, skip_nop5);
	}
	return why;
}

int function_next_return(const struct elf_file *elf, uint64_t vaddr, uint64_t *ret_vaddr)
{
	struct x86_instruction x = { .flow = X86_ON };
	uint8_t bytes[64] = { 0 };
	uint64_t offset;
	uint32_t word;
	size_t n, at;

	/* As much of it as there is. */
	for (n = sizeof(bytes); n && elf_file_range(elf, vaddr, n, ELF_EXECUTABLE, &offset); n--)
		;
	if (!n || elf_file_read(elf, offset, bytes, n))
		return -ENOENT;
	for (at = 0; at < n && x.flow == X86_ON; at += x.length) {
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
