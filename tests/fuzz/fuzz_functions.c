/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as what -f looks at; the first byte says as what: an ELF file with symbols and functions,
 * one function's instructions, or the option's value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/probes/function_request.h"
#include "tracee/debug_symbols.h"
#include "tracee/code/function_exits.h"
#include "tracee/code/x86_instruction.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void walk(const struct elf_file *elf, const struct unwind_table *unwind,
		 const struct elf_function *function)
{
	static struct function_exits found;
	const struct function_part part = { function->vaddr, function->size };
	unsigned i;

	if (function_exits_find(elf, unwind, &part, 1, true, &found))
		return;
	check(found.entry - part.vaddr < part.size);
	for (i = 0; i < found.n; i++) {
		check(found.exits[i].vaddr - part.vaddr < part.size);
		check(found.exits[i].exit >= CALL_RETURN && found.exits[i].exit <= CALL_INDIRECT);
		check(found.exits[i].target.reg <= USDT_NO_REGISTER);
	}
}

static void file(const uint8_t *data, size_t size)
{
	struct elf_functions all = { 0 };
	struct unwind_table unwind;
	struct elf_file *elf;
	struct failure f;
	unsigned i;
	char own[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC), packed;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!elf_file_open(fd, &elf, &f)) {
		if (elf_file_own_name(elf, own, sizeof(own)))
			check(memchr(own, '\0', sizeof(own)) != NULL);
		elf_file_is_program(elf);
		check(!elf_functions_add(&all, elf));
		elf_functions_sort(&all);
		unwind_table_open(&unwind, elf);
		for (i = 0; i < all.n && i < 16; i++) {
			check(strlen(all.list[i].name) < ELF_MAX_FUNCTION_NAME);
			walk(elf, &unwind, &all.list[i]);
		}
		elf_functions_free(&all);
		packed = debug_symbols_unpack(elf);
		if (packed >= 0)
			close(packed);
		elf_file_free(elf);
	}
	close(fd);
}

static void instructions(const uint8_t *data, size_t size)
{
	struct x86_instruction x;
	size_t at = 0;

	while (at < size) {
		unsigned n = x86_decode(data + at, size - at, &x);

		check(n <= X86_MAX_LENGTH && n <= size - at && (!n || n == x.length));
		check(!n ||
		      (x.target.reg <= USDT_NO_REGISTER && x.target.index <= USDT_NO_REGISTER));
		at += n ? n : 1;
	}
}

static void request(const uint8_t *data, size_t size)
{
	static struct function_request r;
	char *text = strndup((const char *)data, size);

	if (text && !function_request_parse(text, &r)) {
		check(r.n_args <= MAX_ARGS && *r.name);
		check(strlen(r.name) < FUNCTION_MAX_TEXT);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > 1 << 16)
		return 0;
	switch (data[0] % 3) {
	case 0:
		instructions(data + 1, size - 1);
		break;
	case 1:
		request(data + 1, size - 1);
		break;
	default:
		file(data + 1, size - 1);
	}
	return 0;
}
