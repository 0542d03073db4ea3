/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether an instruction begins at an address, for sites that are proved by their bytes: these may also be a part of another
 * instruction, which a breakpoint would ruin. The code is decoded from the beginning of the function, which is in the sorted
 * table of .eh_frame_hdr. It has one form in practice, all numbers are at fixed places, and other forms are not read.
 */
#include "privilege/broker/server.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracee/code/x86_instruction.h"

#define FUNCTION_MOST (64 << 10) /* bytes that are decoded */
/* Of <dwarf.h>: DW_EH_PE_udata4, and DW_EH_PE_datarel | DW_EH_PE_sdata4; the low bits of a pointer of 4 bytes. */
#define COUNT_FORM  0x03
#define TABLE_FORM  0x3b
#define POINTER_LOW 0x03

struct unwind_header {
	uint8_t version, pointer_form, count_form, table_form;
	int32_t pointer;
	uint32_t n;
};

struct unwind_entry {
	int32_t code, description; /* distances from the header */
};

static bool read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX - size &&
	       pread(fd, buffer, size, (off_t)offset) == (ssize_t)size;
}

/* The last function of the table that does not begin behind the address. */
static bool table_find(int fd, const struct segment *table, uint64_t vaddr, uint64_t *ret_begin)
{
	struct unwind_header header;
	struct unwind_entry entry;
	uint32_t low = 0, high;

	if (!read_at(fd, &header, sizeof(header), table->begin) || header.version != 1 ||
	    header.count_form != COUNT_FORM || header.table_form != TABLE_FORM ||
	    (header.pointer_form & 0x07) != POINTER_LOW ||
	    header.n > (table->end - table->begin) / sizeof(entry))
		return false;
	for (high = header.n; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (!read_at(fd, &entry, sizeof(entry),
			     table->begin + sizeof(header) + (uint64_t)middle * sizeof(entry)))
			return false;
		if (table->vaddr + (uint64_t)(int64_t)entry.code <= vaddr) {
			*ret_begin = table->vaddr + (uint64_t)(int64_t)entry.code;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low > 0;
}

static bool decodes_until(const uint8_t *bytes, size_t size)
{
	struct x86_instruction x;
	size_t at = 0;

	while (at < size) {
		unsigned n = x86_decode(bytes + at, size - at, &x);

		if (!n)
			return false;
		at += n;
	}
	return at == size;
}

static bool function_has(int fd, const struct segments *segments, uint64_t begin, uint64_t vaddr)
{
	size_t size = (size_t)(vaddr - begin);
	uint64_t offset, end;
	uint8_t *bytes;
	bool has;

	if (vaddr - begin > FUNCTION_MOST || !segments_offset(segments, begin, true, &offset) ||
	    !segments_offset(segments, vaddr, true, &end) || end - offset != size)
		return false;
	bytes = malloc(size + 1);
	has = bytes && read_at(fd, bytes, size, offset) && decodes_until(bytes, size);
	free(bytes);
	return has;
}

bool instruction_begins(int elf_fd, uint64_t vaddr)
{
	struct segments segments;
	uint64_t begin = 0;

	if (!segments_read(elf_fd, &segments))
		return false;
	for (unsigned i = 0; i < segments.n; i++) {
		if (segments.list[i].type == PT_GNU_EH_FRAME)
			return table_find(elf_fd, &segments.list[i], vaddr, &begin) &&
			       function_has(elf_fd, &segments, begin, vaddr);
	}
	return false;
}
