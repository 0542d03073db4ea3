/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as names of code: which of its parsers they go to, the first byte says. What libdw reads is
 * read by a process that may die of it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/packet.h"
#include "symbols/debuginfod.h"
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

/*
 * What the process sends that downloads debug files: packets behind their size, each with a descriptor of some kind. Only
 * files are accepted.
 */
static void receive_debug_files(const uint8_t *data, size_t size)
{
	static const uint8_t build_id[20];
	/* Kept for all inputs: to make and close them takes longer than most inputs do. */
	static int sockets[2], pipes[2], file = -1;
	struct debuginfod *d;
	int kinds[4], fd;
	char left[64];
	struct stat st;
	unsigned i;

	if (file < 0) {
		file = memfd_create("fuzz", MFD_CLOEXEC);
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) || pipe(pipes))
			abort();
	}
	memcpy(kinds, (const int[]){ -1, file, pipes[0], pipes[1] }, sizeof(kinds));
	d = debuginfod_on(dup(sockets[0]));
	/* Nobody reads the requests, and the socket has space for so many. */
	for (i = 0, fd = 0; d && fd != -EPIPE && i < 64 && size > 2; i++) {
		size_t n = data[0] < size - 2 ? data[0] : size - 2;

		if (packet_send(sockets[1], data + 2, n ? n : 1, kinds[data[1] & 3]))
			abort();
		data += 2 + n;
		size -= 2 + n;
		fd = debuginfod_fetch(d, build_id, sizeof(build_id));
		if (fd >= 0 && (n < 4 || fstat(fd, &st) || !S_ISREG(st.st_mode)))
			abort();
		if (fd >= 0)
			close(fd);
	}
	debuginfod_free(d);
	for (i = 0; i < 2; i++) {
		while (recv(sockets[i], left, sizeof(left), MSG_DONTWAIT) >= 0)
			;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const uint8_t *, size_t) = {
		read_jit_map, read_kernel_symbols, demangle,
		read_answer,  find_debug_file,	   receive_debug_files,
	};

	if (size)
		parsers[data[0] % 6](data + 1, size - 1);
	return 0;
}
