/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as names of code: which of its parsers they go to, the first byte says. What libdw reads is
 * read by a process that may die of it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/symbols.h"
#include "symbols/wire.h"
#include "timeline/callstack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int bytes_fd(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		fchmod(fd, 0600);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

static void read_jit_map(const uint8_t *data, size_t size)
{
	uint64_t wanted[3] = { 0 }; /* an address and times */
	struct jit_map *map;
	const char *name;

	if (jit_map_read(bytes_fd(data, size), getuid(), &map))
		return;
	memcpy(wanted, data + size - (size < sizeof(wanted) ? size : sizeof(wanted)),
	       size < sizeof(wanted) ? size : sizeof(wanted));
	name = jit_map_find(map, wanted[0], wanted[1], wanted[2]);
	if (name && (!name[0] || strlen(name) > size))
		abort();
	jit_map_free(map);
}

static void read_kernel_symbols(const uint8_t *data, size_t size)
{
	struct kernel_symbols *k;
	const char *name, *module;
	uint64_t address = 0;

	if (kernel_symbols_read(bytes_fd(data, size), &k))
		return;
	memcpy(&address, data, size < 8 ? size : 8);
	name = kernel_symbols_find(k, address, &module);
	if (name && (!name[0] || strlen(name) > size || (module && strlen(module) > size)))
		abort();
	kernel_symbols_free(k);
}

static void demangle(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), out[300];
	size_t length;

	memcpy(name, data, size);
	name[size] = '\0';
	length = symbol_demangle(name, out, sizeof(out));
	if (length != strlen(out) || length >= sizeof(out))
		abort();
	free(name);
}

static void read_answer(const uint8_t *data, size_t size)
{
	struct names *names = names_new(0);
	struct code_line lines[SYMBOL_MAX_LINES];
	int n = symbol_lines((const char *)data, size, names, lines, SYMBOL_MAX_LINES);
	int i;

	for (i = 0; i < n; i++) {
		if (!lines[i].function->length)
			abort();
	}
	names_free(names);
}

static void find_debug_file(const uint8_t *data, size_t size)
{
	struct symbol_file_request wanted = { .is_alternate = 0 };
	char path[256];
	unsigned i;

	memcpy(&wanted, data, size < sizeof(wanted) ? size : sizeof(wanted));
	wanted.link[sizeof(wanted.link) - 1] = '\0';
	for (i = 0; i <= SYMBOL_MAX_CANDIDATES; i++) {
		if (debug_path(&wanted, "/opt/app", i, path, sizeof(path)) && strstr(path, "/../"))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const uint8_t *, size_t) = {
		read_jit_map, read_kernel_symbols, demangle, read_answer, find_debug_file,
	};

	if (size)
		parsers[data[0] % 5](data + 1, size - 1);
	return 0;
}
