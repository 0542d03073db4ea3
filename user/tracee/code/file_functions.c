/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function is analysed twice if it has a second part: the first analysis finds jumps that leave the first part, and
 * these lead to the second.
 */
#include "tracee/code/file_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tracee/debug_symbols.h"
#include "tracee/markers.h"
#include "tracee/usdt.h"

static int offset_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * The sites of markers, and of probes with a semaphore. A function has no semaphore, and once it has a link there, the
 * kernel refuses the semaphore to everybody else, who cannot record the file then.
 */
static int probe_sites_find(struct file_functions *f, const struct elf_file *elf)
{
	struct marker_sites markers = { 0 };
	struct usdt_probes probes = { 0 };
	int error = markers_find(elf, &markers, NULL);
	unsigned i;

	error = error ?: usdt_find(elf, &probes, NULL);
	if (!error)
		f->probe_sites = calloc(2 * markers.n + probes.n_probes + 1, sizeof(uint64_t));
	if (!error && !f->probe_sites)
		error = -ENOMEM;
	for (i = 0; i < markers.n && !error; i++) {
		f->probe_sites[f->n_probe_sites++] = markers.sites[i].offset;
		f->probe_sites[f->n_probe_sites++] = markers.sites[i].steady_offset;
	}
	for (i = 0; i < probes.n_probes && !error; i++) {
		if (probes.probes[i].semaphore_offset)
			f->probe_sites[f->n_probe_sites++] = probes.probes[i].offset;
	}
	if (!error)
		qsort(f->probe_sites, f->n_probe_sites, sizeof(uint64_t), offset_compare);
	marker_sites_free(&markers);
	usdt_free(&probes);
	return error;
}

static bool entry_is_probe_site(const struct file_functions *f)
{
	uint64_t offset;

	return !elf_file_offset(f->elf, f->exits.entry, ELF_EXECUTABLE, &offset) &&
	       bsearch(&offset, f->probe_sites, f->n_probe_sites, sizeof(offset), offset_compare);
}

int file_functions_open(struct file_functions *f, const struct elf_file *elf, int debug_fd)
{
	int error;

	memset(f, 0, sizeof(*f));
	f->elf = elf;
	error = elf_functions_add(&f->all, elf);
	error = error ?: debug_symbols_add(&f->all, elf, debug_fd);
	error = error ?: probe_sites_find(f, elf);
	if (error) {
		file_functions_close(f);
		return error;
	}
	elf_functions_sort(&f->all);
	unwind_table_open(&f->unwind, elf);
	return 0;
}

void file_functions_close(struct file_functions *f)
{
	elf_functions_free(&f->all);
	free(f->probe_sites);
}

/* The number of symbols whose address is at most `vaddr`. */
static unsigned symbols_up_to(const struct file_functions *f, uint64_t vaddr)
{
	return (unsigned)array_count_before(f->all.n, i, f->all.list[i].vaddr <= vaddr);
}

const struct elf_function *file_functions_at(const struct file_functions *f, uint64_t vaddr,
					     unsigned *ret_n)
{
	unsigned end = symbols_up_to(f, vaddr), first = end;

	while (first && f->all.list[first - 1].vaddr == vaddr)
		first--;
	*ret_n = end - first;
	return first < end ? &f->all.list[first] : NULL;
}

/* The symbol that contains `vaddr`. */
static const struct elf_function *symbol_containing(const struct file_functions *f, uint64_t vaddr)
{
	unsigned n = symbols_up_to(f, vaddr);

	if (!n || vaddr - f->all.list[n - 1].vaddr >= f->all.list[n - 1].size)
		return NULL;
	return &f->all.list[n - 1];
}

/* The code at `vaddr`, if its symbol is NAME.cold of one of these names. */
static bool cold_part_at(const struct file_functions *f, uint64_t vaddr,
			 const struct elf_function *names, unsigned n, struct function_part *ret)
{
	const struct elf_function *at = vaddr ? symbol_containing(f, vaddr) : NULL;
	const char *cold = at ? elf_function_cold_suffix(at->name) : NULL;

	for (unsigned j = 0; cold && j < n; j++) {
		if (strncmp(at->name, names[j].name, (size_t)(cold - at->name)) ||
		    names[j].name[cold - at->name])
			continue;
		*ret = (struct function_part){ at->vaddr, at->size };
		return true;
	}
	return false;
}

/* Finds the second part: the target of an exit, or of a table or an exception. */
static bool cold_part_find(const struct file_functions *f, const struct elf_function *names,
			   unsigned n, struct function_part *ret)
{
	uint64_t vaddr = f->exits.elsewhere;
	struct unwind_range range;

	if (cold_part_at(f, vaddr, names, n, ret))
		return true;
	for (unsigned i = 0; i < f->exits.n; i++) {
		if (cold_part_at(f, f->exits.exits[i].to, names, n, ret))
			return true;
	}
	/* Without a symbol, the unwind table still has the range of the code. */
	if (!vaddr || symbol_containing(f, vaddr) ||
	    unwind_table_find(&f->unwind, f->elf, vaddr, &range))
		return false;
	*ret = (struct function_part){ range.vaddr, range.size };
	return true;
}

const char *file_functions_exits(struct file_functions *f, const struct elf_function *names,
				 unsigned n, unsigned rules)
{
	const char *why;

	f->parts[0] = (struct function_part){ names[0].vaddr, 0 };
	f->n_parts = 1;
	for (unsigned i = 0; i < n; i++) {
		if (names[i].size > f->parts[0].size)
			f->parts[0].size = names[i].size;
	}
	why = function_exits_find(f->elf, &f->unwind, f->parts, 1, rules, &f->exits);
	if (!why && cold_part_find(f, names, n, &f->parts[1])) {
		f->n_parts = 2;
		why = function_exits_find(f->elf, &f->unwind, f->parts, 2, rules, &f->exits);
	}
	if (!why && f->exits.elsewhere)
		why = "it continues in code that belongs to no known function";
	if (!why && entry_is_probe_site(f))
		why = "a probe with a semaphore is on its first instruction";
	return why;
}
