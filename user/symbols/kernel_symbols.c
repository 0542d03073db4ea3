/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/kallsyms line by line, and keeps functions only. */
#include "base/array.h"
#include "base/kallsyms.h"
#include "symbols/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/stacks/stack.h"

enum {
	MAX_LINE = 1024, /* the kernel's names have at most 512 bytes */
	/*
	 * The last function has no successor that ends it; it is taken to be no longer than this.
	 */
	MAX_FUNCTION = 1 << 20,
};

/* Texts are offsets, since the buffer moves when it grows; 0: none. */
struct symbol {
	uint64_t address;
	uint32_t name, module;
};

struct kernel_symbols {
	struct symbol *symbols;
	uint32_t n, size;
	char *texts;
	size_t used, capacity;
	uint64_t begin;	 /* of the kernel itself; 0: not known */
	uint32_t module; /* the last one: symbols of a module come together */
	uint64_t last;	 /* the highest one that is not a module's */
};

static uint32_t kallsyms_add_text(struct kernel_symbols *k, const char *text)
{
	size_t length = strlen(text) + 1, at = k->used ? k->used : 1;
	size_t capacity = k->capacity ? k->capacity : 65536;
	char *texts;

	while (capacity < at + length)
		capacity *= 2;
	if (capacity > k->capacity) {
		texts = realloc(k->texts, capacity);
		if (!texts)
			return 0;
		k->texts = texts;
		k->capacity = capacity;
	}
	memcpy(k->texts + at, text, length);
	k->used = at + length;
	return (uint32_t)at;
}

static uint32_t kallsyms_module(struct kernel_symbols *k, const char *name)
{
	if (!k->module || strcmp(k->texts + k->module, name))
		k->module = kallsyms_add_text(k, name);
	return k->module;
}

static bool kallsyms_add_symbol(struct kernel_symbols *k, uint64_t address, const char *name,
				const char *module)
{
	if (k->n == KERNEL_MAX_SYMBOLS)
		return true;
	if (!array_reserve(k->symbols, k->n, k->size, 4096))
		return false;
	k->symbols[k->n].address = address;
	k->symbols[k->n].module = module ? kallsyms_module(k, module) : 0;
	k->symbols[k->n].name = kallsyms_add_text(k, name);
	return k->symbols[k->n++].name != 0;
}

/* Functions only. */
static bool kallsyms_add_line(struct kernel_symbols *k, char *line)
{
	struct kallsyms_function f;

	if (!kallsyms_parse(line, &f))
		return true;
	kallsyms_find_begin(&f, &k->begin);
	return kallsyms_add_symbol(k, f.address, f.name, f.module);
}

/*
 * Adds all complete lines and returns the number of their bytes. A line that does not fit into the
 * buffer counts as complete.
 */
static ssize_t kallsyms_add_lines(struct kernel_symbols *k, char *text, size_t length, bool is_full)
{
	char *at = text, *newline;

	text[length] = '\0';
	while ((newline = memchr(at, '\n', length - (size_t)(at - text)))) {
		*newline = '\0';
		if (!kallsyms_add_line(k, at))
			return -ENOMEM;
		at = newline + 1;
	}
	return at == text && is_full ? (ssize_t)length : at - text;
}

static int compare_symbol_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* As the broker moves call stacks (privilege/loader/configure.c). */
static void kallsyms_shift(struct kernel_symbols *k)
{
	for (uint32_t i = 0; i < k->n && k->begin; i++) {
		struct symbol *s = &k->symbols[i];

		s->address -= k->begin - STACK_KERNEL_BEGIN;
		if (!s->module && s->address > k->last)
			k->last = s->address;
	}
}

static int read_kallsyms(struct kernel_symbols *k, int fd)
{
	char text[64 * MAX_LINE + 1];
	size_t used = 0, total = 0;

	while (total < KERNEL_MAX_TEXT) {
		ssize_t n = read(fd, text + used, sizeof(text) - 1 - used), taken;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		total += (size_t)n;
		used += (size_t)n;
		taken = kallsyms_add_lines(k, text, used, used == sizeof(text) - 1);
		if (taken < 0)
			return (int)taken;
		used -= (size_t)taken;
		memmove(text, text + taken, used);
	}
	return k->n ? 0 : -EACCES;
}

int kernel_symbols_read(int fd, struct kernel_symbols **ret)
{
	struct kernel_symbols *k = calloc(1, sizeof(*k));
	int error = k ? read_kallsyms(k, fd) : -ENOMEM;

	if (error) {
		kernel_symbols_free(k);
		return error;
	}
	/* What is far above the kernel gets a low address. */
	kallsyms_shift(k);
	qsort(k->symbols, k->n, sizeof(*k->symbols), compare_symbol_address);
	*ret = k;
	return 0;
}

int kernel_symbols_copy(int fd, int to)
{
	struct kernel_symbols *k;
	int error = kernel_symbols_read(fd, &k);
	FILE *out = error ? NULL : fdopen(to, "w");

	if (!out)
		return error ?: -errno;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct symbol *s = &k->symbols[i];

		fprintf(out, s->module ? "%" PRIx64 " t %s\t[%s]\n" : "%" PRIx64 " t %s\n",
			s->address, k->texts + s->name, k->texts + s->module);
	}
	error = ferror(out) ? -EIO : 0;
	error = fclose(out) ? -errno : error;
	kernel_symbols_free(k);
	return error;
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	free(k->symbols);
	free(k->texts);
	free(k);
}

bool kernel_symbols_keep(const struct kernel_symbols *k, uint64_t address)
{
	return address >= STACK_KERNEL_BEGIN && address < k->last;
}

const char *kernel_symbols_find(const struct kernel_symbols *k, uint64_t address,
				const char **ret_module)
{
	size_t n = array_count_before(k->n, i, k->symbols[i].address <= address);
	const struct symbol *s;

	if (!n)
		return NULL;
	s = &k->symbols[n - 1];
	if (n == k->n && address - s->address > MAX_FUNCTION)
		return NULL;
	/* Of several names of one function, the first in the file. */
	while (s > k->symbols && s[-1].address == s->address)
		s--;
	*ret_module = s->module ? k->texts + s->module : NULL;
	return k->texts + s->name;
}
