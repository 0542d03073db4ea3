/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jump tables of x86-64, which compilers emit for a switch:
 *
 *	cmp $N,%eax; ja default; lea TABLE(%rip),%rdx; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax
 *	cmp $N,%eax; ja default; jmp *TABLE(,%rax,8)
 *
 * Compilers move these instructions; the address of the table is often loaded long before the jump. So every address
 * of constant data in the function is a candidate. Other data hardly ever looks like a table of distances, because
 * each distance has to lead into this function, which is a tiny part of the range of 32 bits.
 *
 * The comparison before the jump gives the number of entries. Without it, entries are read up to the first that does
 * not lead to an instruction of the function. Reading too few of them is safe: the code that they miss stays
 * unreached, and the function is refused.
 */
#include "tracee/code/function_walk.h"

#include <string.h>

enum {
	WINDOW = 32, /* instructions before a jump that are examined */
	CHUNK = 64,  /* entries that are read at once */
};

static void table_add_base(struct walk *w, uint64_t vaddr, uint8_t reg)
{
	/* A table between the instructions could not be distinguished from them. */
	if (walk_part(w, vaddr) >= 0)
		return;
	for (unsigned i = 0; i < w->n_bases; i++) {
		if (w->bases[i].vaddr == vaddr && w->bases[i].reg == reg)
			return;
	}
	/* If a table is left out here, the code that it leads to stays unreached. */
	if (w->n_bases < WALK_MAX_BASES)
		w->bases[w->n_bases++] = (struct walk_base){ .vaddr = vaddr, .reg = reg };
}

/* The address of the table in TABLE(,%rax,8), or 0. */
static uint64_t table_absolute_base(const struct x86_instruction *x)
{
	const struct usdt_arg *a = &x->target;

	if (a->form != USDT_MEMORY || a->reg != USDT_NO_REGISTER || a->index == USDT_NO_REGISTER ||
	    a->scale != 3)
		return 0;
	return (uint64_t)a->offset;
}

void jump_tables_add_instruction(struct walk *w, uint64_t vaddr, const struct x86_instruction *x)
{
	if (x->use == X86_LEA && x->target.form == USDT_RELATIVE)
		table_add_base(w, vaddr + (uint64_t)x->target.offset, x->reg);
	if ((x->use == X86_LOAD || x->flow == X86_INDIRECT) && table_absolute_base(x))
		table_add_base(w, table_absolute_base(x), USDT_NO_REGISTER);
	/* A jump by one pointer in memory calls another function. */
	if (x->flow != X86_INDIRECT || x->target.form == USDT_RELATIVE)
		return;
	if (w->n_jumps < WALK_MAX_JUMPS)
		w->jumps[w->n_jumps++] = (struct walk_jump){ .vaddr = vaddr };
	w->unknown = true;
}

/* --- number of entries --------------------------------------------------------------------------- */

/* What the instructions before a jump show. */
struct window {
	uint64_t base; /* 0: unknown */
	uint8_t reg;   /* that has the address of the table */
	int condition; /* of the nearest branch; -1: none yet */
	uint32_t n;
};

/* Decodes the instruction before `at`, if control flow reaches `at` from it. */
static bool jump_previous(const struct walk *w, unsigned part, uint64_t *at,
			  struct x86_instruction *x)
{
	for (uint64_t from = *at; from > 0 && *at - from < X86_MAX_LENGTH;) {
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

/* Examines one instruction, going backwards. False: nothing more is needed. */
static bool jump_examine_previous(struct window *v, uint64_t vaddr, const struct x86_instruction *x)
{
	if (x->flow == X86_BRANCH && v->condition < 0)
		v->condition = x->condition;
	if (v->condition < 0) {
		if (x->use == X86_LOAD && table_absolute_base(x) && !v->base)
			v->base = table_absolute_base(x);
		if (x->use == X86_LOAD && x->target.form == USDT_MEMORY && x->target.scale == 2 &&
		    v->reg == USDT_NO_REGISTER)
			v->reg = x->target.reg;
	}
	if (x->use == X86_LEA && x->target.form == USDT_RELATIVE && !v->base && x->reg == v->reg)
		v->base = vaddr + (uint64_t)x->target.offset;
	if (x->use != X86_COMPARE || v->condition < 0)
		return true;
	/* jbe, ja: the value is the last index; jb, jae: the number of entries. */
	if (v->condition == 6 || v->condition == 7)
		v->n = x->value < WALK_MAX_ENTRIES ? x->value + 1 : 0;
	else if (v->condition == 2 || v->condition == 3)
		v->n = x->value <= WALK_MAX_ENTRIES ? x->value : 0;
	return false;
}

static void jump_find_table(const struct walk *w, struct walk_jump *jump)
{
	struct window v = { .reg = USDT_NO_REGISTER, .condition = -1 };
	int part = walk_part(w, jump->vaddr);
	struct x86_instruction x;
	uint64_t at;

	if (part < 0)
		return;
	at = jump->vaddr - w->parts[part].vaddr;
	if (!x86_decode(w->map[part].bytes + at, w->parts[part].size - at, &x))
		return;
	v.base = table_absolute_base(&x);
	for (unsigned i = 0; i < WINDOW && jump_previous(w, (unsigned)part, &at, &x); i++) {
		if (!jump_examine_previous(&v, w->parts[part].vaddr + at, &x))
			break;
	}
	jump->base = v.base;
	jump->reg = v.reg;
	jump->n = v.n;
}

/* Several jumps may use one table: the largest number counts. */
static void table_count_entries(const struct walk_jump *jump, struct walk_base *b)
{
	bool uses = jump->base ? b->vaddr == jump->base
			       : b->reg == jump->reg && jump->reg != USDT_NO_REGISTER;

	if (uses && jump->n > b->n)
		b->n = jump->n;
}

/* Combines new jumps with all tables, and new tables with all jumps. */
static void tables_count_entries(struct walk *w, unsigned *n_jumps, unsigned *n_bases)
{
	for (unsigned i = *n_jumps; i < w->n_jumps; i++)
		jump_find_table(w, &w->jumps[i]);
	for (unsigned i = 0; i < w->n_jumps; i++) {
		for (unsigned j = i < *n_jumps ? *n_bases : 0; j < w->n_bases; j++)
			table_count_entries(&w->jumps[i], &w->bases[j]);
	}
	*n_jumps = w->n_jumps;
	*n_bases = w->n_bases;
}

/* --- the entries --------------------------------------------------------------------------------- */

/* Reads entries from `i` on and converts them to addresses. Returns how many there are. */
static unsigned table_read_entries(const struct walk *w, const struct walk_base *b, uint64_t i,
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

static bool table_is_other_base(const struct walk *w, const struct walk_base *of, uint64_t vaddr)
{
	for (unsigned i = 0; i < w->n_bases; i++) {
		if (w->bases[i].vaddr == vaddr && vaddr != of->vaddr)
			return true;
	}
	return false;
}

/* Follows one entry. False: it is not one, so the table has ended. */
static bool table_follow_entry(struct walk *w, uint64_t to, bool counted, const char **ret_why)
{
	int part = walk_part(w, to);
	uint64_t offset;

	if (part < 0) {
		/* An entry of a known table may lead to the rarely executed part. */
		if (counted && !w->found->elsewhere &&
		    !elf_file_offset(w->elf, to, ELF_EXECUTABLE, &offset))
			w->found->elsewhere = to;
		return counted;
	}
	if (w->map[part].marks[to - w->parts[part].vaddr] & WALK_INSIDE)
		return false;
	*ret_why = walk_queue(w, to);
	if (!*ret_why)
		*ret_why = walk_follow(w);
	return !*ret_why;
}

/* Returns the number of entries that were followed. */
static uint64_t table_follow(struct walk *w, const struct walk_base *b, unsigned size,
			     const char **ret_why)
{
	uint64_t to[CHUNK], i, most = b->n ? b->n : WALK_MAX_ENTRIES;
	unsigned n = 0, j = 0;

	for (i = 0; i < most && w->n_entries < WALK_MAX_ENTRIES; i++) {
		if (j == n) {
			n = table_read_entries(w, b, i, size, to);
			j = 0;
			if (!n)
				break;
		}
		/* Data whose first entry leads out of the function is not a table. */
		if ((!i && walk_part(w, to[0]) < 0 && (!b->n || size == 4)) ||
		    (i && !b->n && table_is_other_base(w, b, b->vaddr + i * size)) ||
		    !table_follow_entry(w, to[j++], b->n, ret_why))
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
		tables_count_entries(w, &n_jumps, &n_bases);
		/* Tables of a known length come first, since others end where these begin. */
		b = NULL;
		for (i = 0; i < w->n_bases; i++) {
			if (!w->bases[i].done && (!b || (!b->n && w->bases[i].n)))
				b = &w->bases[i];
		}
		if (!b || (!b->n && !walk_has_unreached(w)))
			break;
		b->done = true;
		if (b->reg == USDT_NO_REGISTER || !table_follow(w, b, 4, &why)) {
			if (!why)
				table_follow(w, b, 8, &why);
		}
	}
	return why;
}
