/* SPDX-License-Identifier: BSD-2-Clause */
/* `list -f`: prints the functions of one ELF file, and why `record -f` cannot record some of them. */
#include "base/text.h"
#include "cmd/list/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/library/library.h"
#include "symbols/symbols.h"
#include "tracee/debug_symbols.h"
#include "tracee/code/file_functions.h"

#define MAX_TEXT 1024

/* `names` are all names of one address. */
static void list_print_function(struct file_functions *all, const struct elf_function *names,
				unsigned n)
{
	char text[MAX_TEXT];
	const char *why;

	symbol_demangle(names[0].name, text, sizeof(text));
	why = names[0].resolver ? "it only selects the function that has this name"
				: file_functions_exits(all, names, n, true);
	if (why)
		print_visible(stdout, "  function %s: cannot be recorded: %s\n", text, why);
	else
		print_visible(stdout, "  function %s\n", text);
}

static void list_print_functions(struct file_functions *functions)
{
	const struct elf_functions *all = &functions->all;
	unsigned n;

	for (unsigned i = 0; i < all->n; i += n) {
		for (n = 1; i + n < all->n && all->list[i + n].vaddr == all->list[i].vaddr;)
			n++;
		/* Leaves out second parts of functions, and _start, which never returns. */
		if (!elf_function_cold_suffix(all->list[i].name) &&
		    strcmp(all->list[i].name, "_start"))
			list_print_function(functions, &all->list[i], n);
	}
}

static int list_read_functions(struct list *list, const struct elf_file *elf, const char *path)
{
	struct file_functions *functions = malloc(sizeof(*functions));
	int debug = debug_symbols_open(elf), error;
	unsigned n;

	error = functions ? file_functions_open(functions, elf, debug) : -ENOMEM;
	if (!error) {
		n = functions->all.n;
		print_visible(stdout, "%s: %u function symbol%s%s\n", path, n, n == 1 ? "" : "s",
			      functions->all.cut ? " (beyond the limit for one file)" : "");
		list_print_functions(functions);
		list->n_probes += n;
		file_functions_close(functions);
	}
	if (debug >= 0)
		close(debug);
	free(functions);
	return error;
}

int list_functions(struct list *list, int fd, const char *path, struct failure *f)
{
	struct elf_file *elf = NULL;
	struct failure why;
	int error = library_load(&library_lzma, f);

	if (error)
		return error;
	error = elf_file_open(fd, &elf, &why);
	if (!error) {
		error = list_read_functions(list, elf, path);
		if (error)
			failure_set(&why, error, "cannot read file", "", NULL);
	}
	elf_file_free(elf);
	return error ? failure_set(f, error, why.what, path, why.reason) : 0;
}
