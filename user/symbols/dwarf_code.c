/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which function, and which others inlined in it, an address belongs to.
 *
 * libdw finds the unit of an address by .debug_aranges, which clang and rustc do not write, and then
 * goes through all of the unit for every address. So the ranges of the units are sorted here once, and
 * those of the functions of a unit when the first address in it is asked for.
 *
 * Entries may say that the next one is any behind them, and all may have the same ranges: a file of a
 * few KB can stand for more of both than anybody can look at. So what is looked at is counted, and what
 * is too much is left out: then a function is as the symbol table has it.
 */
#include "symbols/code_file.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/ranges.h"

enum {
	MAX_DEPTH = 64, /* of entries within entries */
	MAX_UNITS = RANGES_MAX,
	/* Entries and ranges: of all units of a file, once; of a function, for each address. */
#ifdef SMALL_WINDOWS
	MAX_INDEXED = 1 << 14,
	MAX_INNER = 1 << 10,
#else
	MAX_INDEXED = 1 << 26,
	MAX_INNER = 1 << 20,
#endif
};

struct unit {
	Dwarf_Die die;
	bool indexed;
	struct ranges functions;
};

struct dwarf_code {
	Dwarf *dwarf;
	struct unit *units;
	size_t n_units, size;
	struct ranges ranges;
	unsigned left; /* of MAX_INDEXED */
};

static bool spend(unsigned *left)
{
	return *left && --*left;
}

static void add_die(struct ranges *r, Dwarf_Die *die, size_t index, unsigned *left)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (spend(left) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		/* What the linker left out begins at 0 (or at the end, and is empty). */
		if (low)
			ranges_add(r, low, high, index, 0);
	}
}

static bool add_unit(struct dwarf_code *code, const Dwarf_Die *die)
{
	if (code->n_units == code->size) {
		size_t size = code->size ? 2 * code->size : 64;
		struct unit *units = reallocarray(code->units, size, sizeof(*units));

		if (!units)
			return false;
		code->units = units;
		code->size = size;
	}
	code->units[code->n_units] = (struct unit){ .die = *die };
	add_die(&code->ranges, &code->units[code->n_units].die, code->n_units, &code->left);
	code->n_units++;
	return true;
}

struct dwarf_code *dwarf_code_new(Dwarf *dwarf)
{
	struct dwarf_code *code = calloc(1, sizeof(*code));
	Dwarf_CU *unit = NULL;
	Dwarf_Half version;
	Dwarf_Die die;
	uint8_t type;

	if (!code)
		return NULL;
	code->dwarf = dwarf;
	code->left = MAX_INDEXED;
	while (code->n_units < MAX_UNITS &&
	       !dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, NULL)) {
		/* Of split debug information (.dwo) what is left here: lines, and not what is in them. */
		if ((type == DW_UT_compile || type == DW_UT_skeleton) && !add_unit(code, &die))
			break;
	}
	ranges_sort(&code->ranges);
	return code;
}

void dwarf_code_free(struct dwarf_code *code)
{
	size_t i;

	if (!code)
		return;
	for (i = 0; i < code->n_units; i++)
		ranges_free(&code->units[i].functions);
	free(code->units);
	ranges_free(&code->ranges);
	free(code);
}

/* Functions stand in namespaces, in classes, and, of some languages, in functions. */
static void add_functions(struct ranges *r, Dwarf_Die *parent, unsigned depth, unsigned *left)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			add_die(r, &die, dwarf_dieoffset(&die), left);
		if (dwarf_haschildren(&die) > 0)
			add_functions(r, &die, depth + 1, left);
	} while (spend(left) && !dwarf_siblingof(&die, &die));
}

static bool find_function(struct dwarf_code *code, struct unit *unit, Dwarf_Addr address,
			  Dwarf_Die *ret)
{
	const struct range *r;

	if (!unit->indexed) {
		unit->indexed = true;
		add_functions(&unit->functions, &unit->die, 0, &code->left);
		ranges_sort(&unit->functions);
	}
	r = ranges_find(&unit->functions, address);
	return r && dwarf_offdie(code->dwarf, r->index, ret);
}

/* --- inlined ----------------------------------------------------------------------------------- */

static bool has_address(Dwarf_Die *die, Dwarf_Addr address, unsigned *left)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (spend(left) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (address >= low && address < high)
			return true;
	}
	return false;
}

/* The entry within this one that the address lies in: of code, not of something declared there. */
static bool find_inner(const Dwarf_Die *outer, Dwarf_Addr address, Dwarf_Die *ret, unsigned *left)
{
	Dwarf_Die die;

	if (dwarf_child((Dwarf_Die *)outer, &die))
		return false;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			if (has_address(&die, address, left)) {
				*ret = die;
				return true;
			}
		}
	} while (spend(left) && !dwarf_siblingof(&die, &die));
	return false;
}

/* All that were inlined there, the outermost first. */
static unsigned find_inlined(const Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die *inlined,
			     unsigned max)
{
	Dwarf_Die at = *function;
	unsigned n = 0, depth, left = MAX_INNER;

	for (depth = 0; depth < 4 * MAX_DEPTH && find_inner(&at, address, &at, &left); depth++) {
		if (dwarf_tag(&at) == DW_TAG_inlined_subroutine && n < max)
			inlined[n++] = at;
	}
	return n;
}

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		Dwarf_Attribute attribute;
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));

		if (name && name[0])
			return name;
	}
	return NULL;
}

struct place {
	const char *file;
	int line;
};

static struct place place_of(Dwarf_Die *unit, Dwarf_Addr address)
{
	struct place place = { NULL, 0 };
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);

	if (!line)
		return place;
	place.file = dwarf_linesrc(line, NULL, NULL);
	dwarf_lineno(line, &place.line);
	return place;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &number))
		return 0;
	return number;
}

/* Where what was inlined was called from. */
static struct place call_of(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	struct place place = { NULL, 0 };
	Dwarf_Word file = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n;

	if (!dwarf_getsrcfiles(unit, &files, &n) && file < n)
		place.file = dwarf_filesrc(files, file, NULL, NULL);
	place.line = (int)number_of(inlined, DW_AT_call_line);
	return place;
}

bool dwarf_code_lines(struct dwarf_code *code, uint64_t address, const char *symbol,
		      struct answer *answer)
{
	const struct range *r = ranges_find(&code->ranges, address);
	struct unit *unit = r ? &code->units[r->index] : NULL;
	Dwarf_Die function, inlined[SYMBOL_MAX_LINES];
	struct place place;
	const char *name;
	unsigned n;

	if (!unit)
		return false;
	place = place_of(&unit->die, address);
	if (!find_function(code, unit, address, &function)) {
		if (!symbol)
			return false;
		answer_line(answer, symbol, place.file, place.line);
		return true;
	}
	n = find_inlined(&function, address, inlined, SYMBOL_MAX_LINES);
	while (n > 0) {
		name = name_of(&inlined[--n]);
		answer_line(answer, name ? name : "(inlined)", place.file, place.line);
		place = call_of(&unit->die, &inlined[n]);
	}
	name = name_of(&function);
	if (!name)
		name = symbol ? symbol : "(no name)";
	answer_line(answer, name, place.file, place.line);
	return true;
}
