/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which function an address belongs to, and which functions are inlined there.
 *
 * libdw finds the unit of an address by .debug_aranges, which clang and rustc do not write, and
 * then goes through the whole unit for every address. So the ranges of units are sorted here once,
 * and those of the functions of a unit when its first address is looked up.
 *
 * Hostile files: an entry may say that the next one is any entry behind it, and all entries may
 * share the same ranges, so a file of a few KB can stand for more of both than anyone can process.
 * So processed entries and ranges are counted, and beyond a limit the symbol table is used instead.
 */
#include "symbols/code_file.h"
#include "base/array.h"

#include <dwarf.h>
#include <stdlib.h>

enum {
	MAX_DEPTH = 64, /* of nested entries */
	MAX_UNITS = RANGES_MAX,
	/*
	 * Entries and ranges that are processed: for all units of a file, once; for a function, per
	 * address.
	 */
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
	uint32_t n_units, capacity;
	struct ranges ranges;
	unsigned left; /* of MAX_INDEXED */
};

static bool spend_lookup(unsigned *left)
{
	return *left && --*left;
}

static void add_die_ranges(struct ranges *r, Dwarf_Die *die, size_t index, unsigned *left)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (spend_lookup(left) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		/* Functions that the linker removed begin at 0 (or at the end, and are empty). */
		if (low)
			ranges_add(r, low, high, index, 0);
	}
}

static bool add_dwarf_unit(struct dwarf_code *code, const Dwarf_Die *die)
{
	if (!array_reserve(code->units, code->n_units, code->capacity, 64))
		return false;
	code->units[code->n_units] = (struct unit){ .die = *die };
	add_die_ranges(&code->ranges, &code->units[code->n_units].die, code->n_units, &code->left);
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
		/*
		 * The skeleton of split debug information (.dwo) has the lines, and no functions.
		 */
		if ((type == DW_UT_compile || type == DW_UT_skeleton) &&
		    !add_dwarf_unit(code, &die))
			break;
	}
	ranges_sort(&code->ranges);
	return code;
}

void dwarf_code_free(struct dwarf_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->n_units; i++)
		ranges_free(&code->units[i].functions);
	free(code->units);
	ranges_free(&code->ranges);
	free(code);
}

/* Functions may be inside namespaces, classes and, in some languages, functions. */
static void index_functions(struct ranges *r, Dwarf_Die *parent, unsigned depth, unsigned *left)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			add_die_ranges(r, &die, dwarf_dieoffset(&die), left);
		if (dwarf_haschildren(&die) > 0)
			index_functions(r, &die, depth + 1, left);
	} while (spend_lookup(left) && !dwarf_siblingof(&die, &die));
}

static bool find_subprogram(struct dwarf_code *code, struct unit *unit, Dwarf_Addr address,
			    Dwarf_Die *ret)
{
	const struct range *r;

	if (!unit->indexed) {
		unit->indexed = true;
		index_functions(&unit->functions, &unit->die, 0, &code->left);
		ranges_sort(&unit->functions);
	}
	r = ranges_find(&unit->functions, address);
	return r && dwarf_offdie(code->dwarf, r->index, ret);
}

/* --- inlined ----------------------------------------------------------------------------------- */

static bool die_has_address(Dwarf_Die *die, Dwarf_Addr address, unsigned *left)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (spend_lookup(left) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (address >= low && address < high)
			return true;
	}
	return false;
}

/* Finds the entry of code inside this one that contains the address. */
static bool find_inner_die(const Dwarf_Die *outer, Dwarf_Addr address, Dwarf_Die *ret,
			   unsigned *left)
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
			if (die_has_address(&die, address, left)) {
				*ret = die;
				return true;
			}
		}
	} while (spend_lookup(left) && !dwarf_siblingof(&die, &die));
	return false;
}

/* Finds all functions that were inlined there, the outermost first. */
static unsigned find_inlined_dies(const Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die *inlined,
				  unsigned max)
{
	Dwarf_Die at = *function;
	unsigned n = 0, depth, left = MAX_INNER;

	for (depth = 0; depth < 4 * MAX_DEPTH && find_inner_die(&at, address, &at, &left);
	     depth++) {
		if (dwarf_tag(&at) == DW_TAG_inlined_subroutine && n < max)
			inlined[n++] = at;
	}
	return n;
}

static const char *die_name(Dwarf_Die *die)
{
	static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
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

static struct place source_line_at(Dwarf_Die *unit, Dwarf_Addr address)
{
	struct place place = { NULL, 0 };
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);

	if (!line)
		return place;
	place.file = dwarf_linesrc(line, NULL, NULL);
	dwarf_lineno(line, &place.line);
	return place;
}

static Dwarf_Word die_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &number))
		return 0;
	return number;
}

/* The line of the call that was inlined. */
static struct place call_site_of(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	struct place place = { NULL, 0 };
	Dwarf_Word file = die_number(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n;

	if (!dwarf_getsrcfiles(unit, &files, &n) && file < n)
		place.file = dwarf_filesrc(files, file, NULL, NULL);
	place.line = (int)die_number(inlined, DW_AT_call_line);
	return place;
}

bool dwarf_code_lines(struct dwarf_code *code, uint64_t address, const char *symbol,
		      struct reply *reply)
{
	const struct range *r = ranges_find(&code->ranges, address);
	struct unit *unit = r ? &code->units[r->index] : NULL;
	Dwarf_Die function, inlined[SYMBOL_MAX_LINES];
	struct place place;
	const char *name;
	unsigned n;

	if (!unit)
		return false;
	place = source_line_at(&unit->die, address);
	if (!find_subprogram(code, unit, address, &function)) {
		if (!symbol)
			return false;
		line_reply_add(reply, symbol, place.file, place.line);
		return true;
	}
	n = find_inlined_dies(&function, address, inlined, SYMBOL_MAX_LINES);
	while (n > 0) {
		name = die_name(&inlined[--n]);
		line_reply_add(reply, name ? name : "(inlined)", place.file, place.line);
		place = call_site_of(&unit->die, &inlined[n]);
	}
	name = die_name(&function);
	if (!name)
		name = symbol ? symbol : "(no name)";
	line_reply_add(reply, name, place.file, place.line);
	return true;
}
