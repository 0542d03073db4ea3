/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables by which a function of x86-64 jumps within itself, as compilers make them of a switch:
 *
 *	cmp $N,%eax; ja default; lea TABLE(%rip),%rdx; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax
 *	cmp $N,%eax; ja default; jmp *TABLE(,%rax,8)
 *
 * whose parts compilers move about: the address is often kept in a register from long before. So every
 * address of constant data that the function makes is looked at: a table of such distances is none by
 * accident, for each has to lead into this very function, which is a tiny part of what 32 bits can say.
 * As many entries are taken as the comparison before the jump says, else those up to the first that does
 * not lead to an instruction of the function. Too few do no harm: what they leave out is found missing.
 */
#include "target/function_walk.h"

#include <string.h>

enum {
	WINDOW = 32, /* instructions before a jump that belong to it */
	CHUNK = 64,  /* entries that are read at once */
};

static void add_base(struct walk *w, uint64_t vaddr, uint8_t reg)
{
	unsigned i;

	/* Not what stands between the instructions: that would have to be told from them. */
	if (walk_part(w, vaddr) >= 0)
		return;
	for (i = 0; i < w->n_bases; i++) {
		if (w->bases[i].vaddr == vaddr && w->bases[i].reg == reg)
			return;
	}
	/* What is left out then is found missing, if it is a table. */
	if (w->n_bases < WALK_MAX_BASES)
		w->bases[w->n_bases++] = (struct walk_base){ .vaddr = vaddr, .reg = reg };
}

/* TABLE(,%rax,8): where the table lies, or 0. */
static uint64_t absolute_table(const struct x86_instruction *x)
{
	const struct usdt_arg *a = &x->target;

	if (a->form != USDT_MEMORY || a->reg != USDT_NO_REGISTER || a->index == USDT_NO_REGISTER ||
	    a->scale != 3)
		return 0;
	return (uint64_t)a->offset;
}

void jump_tables_note(struct walk *w, uint64_t vaddr, const struct x86_instruction *x)
{
	if (x->use == X86_LEA && x->target.form == USDT_RELATIVE)
		add_base(w, vaddr + (uint64_t)x->target.offset, x->reg);
	if ((x->use == X86_LOAD || x->flow == X86_INDIRECT) && absolute_table(x))
		add_base(w, absolute_table(x), USDT_NO_REGISTER);
	/* By way of one address in memory: that of another function. */
	if (x->flow != X86_INDIRECT || x->target.form == USDT_RELATIVE)
		return;
	if (w->n_jumps < WALK_MAX_JUMPS)
		w->jumps[w->n_jumps++] = (struct walk_jump){ .vaddr = vaddr };
	w->unknown = true;
}

/* --- how many entries ---------------------------------------------------------------------------- */

/* What the instructions before a jump say. */
struct window {
	uint64_t base; /* 0: they do not say */
	uint8_t reg;   /* that the table's address is in */
	int condition; /* of the nearest branch; -1: there is none yet */
	uint32_t n;
};

/* The instruction before that at `at`, if it goes on there. */
static bool step_back(const struct walk *w, unsigned part, uint64_t *at, struct x86_instruction *x)
{
	uint64_t from;

	for (from = *at; from > 0 && *at - from < X86_LONGEST;) {
		from--;
		if (!(w->map[part].marks[from] & WALK_BEGINS))
			continue;
		if (!x86_decode(w->map[part].bytes + from, *at - from, x) ||
		    from + x->length != *at)
			return false;
		*at = from;
		return x->flow == X86_ON || x->flow == X86_BRANCH || x->flow == X86_CALL;
	}
	return false;
}

/* Going backwards. False: it has all been said. */
static bool look_back(struct window *v, uint64_t vaddr, const struct x86_instruction *x)
{
	if (x->flow == X86_BRANCH && v->condition < 0)
		v->condition = x->condition;
	if (v->condition < 0) {
		if (x->use == X86_LOAD && absolute_table(x) && !v->base)
			v->base = absolute_table(x);
		if (x->use == X86_LOAD && x->target.form == USDT_MEMORY && x->target.scale == 2 &&
		    v->reg == USDT_NO_REGISTER)
			v->reg = x->target.reg;
	}
	if (x->use == X86_LEA && x->target.form == USDT_RELATIVE && !v->base && x->reg == v->reg)
		v->base = vaddr + (uint64_t)x->target.offset;
	if (x->use != X86_COMPARE || v->condition < 0)
		return true;
	/* jbe, ja: up to it; jb, jae: up to the one before it. */
	if (v->condition == 6 || v->condition == 7)
		v->n = x->value < WALK_MAX_ENTRIES ? x->value + 1 : 0;
	else if (v->condition == 2 || v->condition == 3)
		v->n = x->value <= WALK_MAX_ENTRIES ? x->value : 0;
	return false;
}

static void look_at_jump(const struct walk *w, struct walk_jump *jump)
{
	struct window v = { .reg = USDT_NO_REGISTER, .condition = -1 };
	int part = walk_part(w, jump->vaddr);
	struct x86_instruction x;
	uint64_t at;
	unsigned i;

	if (part < 0)
		return;
	at = jump->vaddr - w->parts[part].vaddr;
	if (!x86_decode(w->map[part].bytes + at, w->parts[part].size - at, &x))
		return;
	v.base = absolute_table(&x);
	for (i = 0; i < WINDOW && step_back(w, (unsigned)part, &at, &x); i++) {
		if (!look_back(&v, w->parts[part].vaddr + at, &x))
			break;
	}
	jump->base = v.base;
	jump->reg = v.reg;
	jump->n = v.n;
}

/* Of an address that several jumps may use, the most that one of them says. */
static void count_entries(const struct walk_jump *jump, struct walk_base *b)
{
	bool uses = jump->base ? b->vaddr == jump->base
			       : b->reg == jump->reg && jump->reg != USDT_NO_REGISTER;

	if (uses && jump->n > b->n)
		b->n = jump->n;
}

/* Those that are new, each with all of the others. */
static void count_all(struct walk *w, unsigned *n_jumps, unsigned *n_bases)
{
	unsigned i, j;

	for (i = *n_jumps; i < w->n_jumps; i++)
		look_at_jump(w, &w->jumps[i]);
	for (i = 0; i < w->n_jumps; i++) {
		for (j = i < *n_jumps ? *n_bases : 0; j < w->n_bases; j++)
			count_entries(&w->jumps[i], &w->bases[j]);
	}
	*n_jumps = w->n_jumps;
	*n_bases = w->n_bases;
}

/* --- the entries --------------------------------------------------------------------------------- */

/* Reads some of them, as many as there are, as addresses. */
static unsigned read_entries(const struct walk *w, const struct walk_base *b, uint64_t i,
			     unsigned size, uint64_t to[CHUNK])
{
	uint8_t bytes[CHUNK * 8];
	unsigned n = CHUNK, j;

	while (n && elf_file_bytes(w->elf, b->vaddr + i * size, bytes, (size_t)n * size))
		n /= 2;
	for (j = 0; j < n; j++) {
		int32_t distance;

		if (size == 8) {
			memcpy(&to[j], bytes + (size_t)8 * j, 8);
			continue;
		}
		memcpy(&distance, bytes + (size_t)4 * j, 4);
		to[j] = b->vaddr + (uint64_t)(int64_t)distance;
	}
	return n;
}

static bool is_other_base(const struct walk *w, const struct walk_base *of, uint64_t vaddr)
{
	unsigned i;

	for (i = 0; i < w->n_bases; i++) {
		if (w->bases[i].vaddr == vaddr && vaddr != of->vaddr)
			return true;
	}
	return false;
}

/* An entry. False: the table is over. */
static bool take_entry(struct walk *w, uint64_t to, bool counted, const char **ret_why)
{
	int part = walk_part(w, to);
	uint64_t offset;

	if (part < 0) {
		/* What is hardly ever executed lies elsewhere. */
		if (counted && !w->found->elsewhere &&
		    !elf_file_offset(w->elf, to, ELF_EXECUTABLE, &offset))
			w->found->elsewhere = to;
		return counted;
	}
	if (w->map[part].marks[to - w->parts[part].vaddr] & WALK_INSIDE)
		return false;
	*ret_why = walk_reach(w, to);
	if (!*ret_why)
		*ret_why = walk_follow(w);
	return !*ret_why;
}

/* Returns the number of entries that were taken. */
static uint64_t follow_table(struct walk *w, const struct walk_base *b, unsigned size,
			     const char **ret_why)
{
	uint64_t to[CHUNK], i, most = b->n ? b->n : WALK_MAX_ENTRIES;
	unsigned n = 0, j = 0;

	for (i = 0; i < most && w->n_entries < WALK_MAX_ENTRIES; i++) {
		if (j == n) {
			n = read_entries(w, b, i, size, to);
			j = 0;
			if (!n)
				break;
		}
		/* One whose first entry leads elsewhere is none. */
		if ((!i && walk_part(w, to[0]) < 0 && (!b->n || size == 4)) ||
		    (i && !b->n && is_other_base(w, b, b->vaddr + i * size)) ||
		    !take_entry(w, to[j++], b->n, ret_why))
			break;
		w->n_entries++;
	}
	return i;
}

const char *jump_tables_follow(struct walk *w)
{
	unsigned i, n_jumps = 0, n_bases = 0;
	const char *why = NULL;
	struct walk_base *b;

	while (!why && w->n_jumps) {
		count_all(w, &n_jumps, &n_bases);
		/* Those whose length is known first: they tell what the others cannot be. */
		b = NULL;
		for (i = 0; i < w->n_bases; i++) {
			if (!w->bases[i].done && (!b || (!b->n && w->bases[i].n)))
				b = &w->bases[i];
		}
		if (!b || (!b->n && !walk_has_rest(w)))
			break;
		b->done = true;
		if (b->reg == USDT_NO_REGISTER || !follow_table(w, b, 4, &why)) {
			if (!why)
				follow_table(w, b, 8, &why);
		}
	}
	return why;
}
