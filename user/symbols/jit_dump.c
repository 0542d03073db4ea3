/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a jitdump file (jit-PID.dump), in which V8 (node --perf-prof), agents of the JVM and others record what they
 * generate, for perf: a header, then records with the code itself. Only the names of functions are used here. They become
 * the lines of a perf map, so that both are searched in the same way.
 */
#include "symbols/jit_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/symbols.h"

enum {
	DUMP_MAGIC = 0x4a695444,
	DUMP_CODE_LOAD = 0,
	DUMP_RECORDS = 2 * JIT_MAX_ENTRIES, /* others than names are read, too */
	DUMP_NAME = 512,		    /* bytes; the rest is cut */
};

struct dump_header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

struct dump_record {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, code_size, index;
	char name[DUMP_NAME];
};

static ssize_t read_dump(int fd, void *buffer, size_t size, uint64_t offset)
{
	return TEMP_FAILURE_RETRY(pread(fd, buffer, size, (off_t)offset));
}

bool jit_dump_is(int fd)
{
	struct dump_header header;

	return read_dump(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       header.magic == DUMP_MAGIC;
}

/* `length`: what has been read of the record. */
static void write_dump_line(FILE *out, struct dump_record *r, size_t length)
{
	const size_t begin = offsetof(struct dump_record, name);
	size_t n;

	if (length > r->size)
		length = r->size;
	if (r->id != DUMP_CODE_LOAD || length <= begin)
		return;
	n = strnlen(r->name, length - begin);
	for (size_t i = 0; i < n; i++) {
		if (r->name[i] == '\n')
			r->name[i] = ' ';
	}
	fprintf(out, "%" PRIx64 " %" PRIx64 " %.*s\n", r->address, r->code_size, (int)n, r->name);
}

static void write_dump_lines(FILE *out, int fd, uint64_t size)
{
	struct dump_header header;
	struct dump_record record;
	uint64_t offset;
	ssize_t n;

	if (read_dump(fd, &header, sizeof(header), 0) != sizeof(header))
		return;
	offset = header.size;
	for (unsigned i = 0; i < DUMP_RECORDS && offset < size && ftell(out) < JIT_MAX_BYTES; i++) {
		n = read_dump(fd, &record, sizeof(record), offset);
		/* The last record may not be complete yet. */
		if (n < (ssize_t)offsetof(struct dump_record, time) || record.size < 16 ||
		    record.size > size - offset)
			return;
		write_dump_line(out, &record, (size_t)n);
		offset += record.size;
	}
}

int jit_dump_read(int fd, uint64_t size, char **ret_text, size_t *ret_length)
{
	FILE *out = open_memstream(ret_text, ret_length);
	bool failed;

	if (!out)
		return -ENOMEM;
	write_dump_lines(out, fd, size);
	failed = ferror(out);
	if (!fclose(out) && !failed)
		return 0;
	free(*ret_text);
	*ret_text = NULL;
	return -ENOMEM;
}
