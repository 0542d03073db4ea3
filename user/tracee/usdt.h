/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Existing USDT probes of an ELF file (sys/sdt.h, DTrace): the notes of its section .note.stapsdt. The addresses in
 * them are those at link time. If prelink moved the file later, the address of the section .stapsdt.base shows by how
 * much.
 */
#ifndef PROFTRACE_TRACEE_USDT_H
#define PROFTRACE_TRACEE_USDT_H

#include "tracee/elf_file.h"
#include "tracee/notes.h"

enum {
	USDT_MAX_PROBES = 65536,
};

/* The strings are untrusted bytes, NUL-terminated, and valid as long as struct usdt_probes. */
struct usdt_probe {
	const char *provider;
	const char *name;
	const char *arguments;
	uint64_t vaddr;
	uint64_t offset;	   /* 0 = not in the code of the file */
	uint64_t semaphore_offset; /* 0 = none */
};

struct usdt_probes {
	unsigned n_probes;
	struct usdt_probe *probes;
	unsigned malformed; /* notes that are malformed; the walk ends at one whose size is wrong */
	bool cut;	    /* there are more probes than the limits allow */
	struct notes notes;
};

/* A file without probes is not an error. */
int usdt_find(const struct elf_file *elf, struct usdt_probes *ret, struct failure *f);
void usdt_free(struct usdt_probes *probes);

#endif
