/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the functions of one ELF file that `record -f` can record, and why it cannot the others. */
#include "cmd/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "target/debug_symbols.h"
#include "target/function_exits.h"

#define MAX_TEXT 1024

/* `names`: all of one address. */
static void print_function(const struct elf_file *elf, const struct unwind_table *unwind,
			   const struct elf_function *names, unsigned n,
			   struct function_exits *exits)
{
	struct function_part part = { names[0].vaddr, 0 };
	char text[MAX_TEXT];
	const char *why;
	unsigned i;

	for (i = 0; i < n; i++) {
		if (names[i].size > part.size)
			part.size = names[i].size;
	}
	symbol_demangle(names[0].name, text, sizeof(text));
	failure_clean(text);
	why = names[0].resolver ? "it only chooses which function has this name"
				: function_exits_find(elf, unwind, &part, 1, true, exits);
	if (why)
		printf("  function %s: cannot be recorded: %s\n", text, why);
	else
		printf("  function %s\n", text);
}

static void print_all(const struct elf_file *elf, const struct elf_functions *all,
		      struct function_exits *exits)
{
	struct unwind_table unwind;
	unsigned i, n;

	unwind_table_open(&unwind, elf);
	for (i = 0; i < all->n; i += n) {
		for (n = 1; i + n < all->n && all->list[i + n].vaddr == all->list[i].vaddr;)
			n++;
		/* Part of another function, and what is none. */
		if (!elf_function_cold(all->list[i].name) && strcmp(all->list[i].name, "_start"))
			print_function(elf, &unwind, &all->list[i], n, exits);
	}
}

int list_functions(struct list *list, int fd, const char *path, struct failure *f)
{
	struct function_exits *exits = malloc(sizeof(*exits));
	struct elf_functions all = { 0 };
	struct elf_file *elf = NULL;
	struct failure why;
	char shown[256];
	int error = exits ? elf_file_open(fd, &elf, &why)
			  : failure_set(&why, -ENOMEM, "cannot read file", "", NULL);

	if (!error) {
		error = elf_functions_add(&all, elf);
		if (!error)
			error = debug_symbols_add(&all, elf);
		if (error)
			failure_set(&why, error, "cannot read file", "", NULL);
	}
	if (!error) {
		elf_functions_sort(&all);
		snprintf(shown, sizeof(shown), "%s", path);
		failure_clean(shown);
		printf("%s: %u function symbol%s%s\n", shown, all.n, all.n == 1 ? "" : "s",
		       all.cut ? " (more than the limit for one file)" : "");
		print_all(elf, &all, exits);
		list->n_probes += all.n;
	}
	elf_functions_free(&all);
	elf_file_free(elf);
	free(exits);
	return error ? failure_set(f, error, why.what, path, why.reason) : 0;
}
