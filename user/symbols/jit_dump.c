/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a jitdump file (jit-PID.dump), in which V8 (node --perf-prof), agents of the JVM and others record what they
 * generate, for perf: a header, then records with the code itself. Only the names of functions are used here, and the times
 * at which they were generated, since an address is used again when its code has been dropped.
 */
#include "symbols/jit_dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/symbols.h"

enum {
	DUMP_MAGIC = 0x4a695444,
	DUMP_CODE_LOAD = 0,
	DUMP_ARCH_TIMES =
		1, /* a flag: times are the processor's counter, which is not the clock of samples */
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

struct dump_lists {
	FILE *names, *entries;
	uint32_t n;
	bool has_times;
};

/* `length`: what has been read of the record. */
static void add_dump_code(struct dump_lists *out, struct dump_record *r, size_t length)
{
	const size_t begin = offsetof(struct dump_record, name);
	struct jit_entry entry = {
		.start = r->address,
		.from_ns = out->has_times ? r->time : 0,
		.name = (uint32_t)ftell(out->names),
		.order = out->n,
	};
	size_t n;

	if (length > r->size)
		length = r->size;
	if (r->id != DUMP_CODE_LOAD || length <= begin || !r->name[0] || !r->code_size ||
	    r->code_size > UINT64_MAX - r->address)
		return;
	entry.end = r->address + r->code_size;
	n = strnlen(r->name, length - begin);
	/* As in a perf map, in which a name ends with its line. */
	for (size_t i = 0; i < n; i++) {
		if (r->name[i] == '\n')
			r->name[i] = ' ';
	}
	fprintf(out->names, "%.*s%c", (int)n, r->name, 0);
	fwrite(&entry, sizeof(entry), 1, out->entries);
	out->n++;
}

static void read_dump_records(struct dump_lists *out, int fd, uint64_t size)
{
	struct dump_header header;
	struct dump_record record;
	uint64_t offset;
	ssize_t n;

	if (read_dump(fd, &header, sizeof(header), 0) != sizeof(header))
		return;
	out->has_times = !(header.flags & DUMP_ARCH_TIMES);
	offset = header.size;
	for (unsigned i = 0; i < DUMP_RECORDS && offset < size && out->n < JIT_MAX_ENTRIES &&
			     ftell(out->names) < JIT_MAX_BYTES;
	     i++) {
		n = read_dump(fd, &record, sizeof(record), offset);
		/* The last record may not be complete yet. */
		if (n < (ssize_t)offsetof(struct dump_record, pid) || record.size < 16 ||
		    record.size > size - offset)
			return;
		add_dump_code(out, &record, (size_t)n);
		offset += record.size;
	}
}

/* An open_memstream() has its buffer even if it has failed. */
static bool close_dump_list(FILE *list)
{
	bool good = list && !ferror(list);

	return (!list || !fclose(list)) && good;
}

int jit_dump_read(int fd, uint64_t size, char **ret_text, struct jit_entry **ret_entries,
		  size_t *ret_n)
{
	char *text = NULL, *entries = NULL;
	size_t text_length, entries_length;
	struct dump_lists out = {
		.names = open_memstream(&text, &text_length),
		.entries = open_memstream(&entries, &entries_length),
	};
	bool good;

	if (out.names && out.entries)
		read_dump_records(&out, fd, size);
	good = close_dump_list(out.names);
	good = close_dump_list(out.entries) && good;
	if (!good) {
		free(text);
		free(entries);
		return -ENOMEM;
	}
	*ret_text = text;
	*ret_entries = (struct jit_entry *)entries;
	*ret_n = out.n;
	return 0;
}
