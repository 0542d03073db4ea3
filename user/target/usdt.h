/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes that other people have put into an ELF file (sys/sdt.h, DTrace): the notes of section
 * .note.stapsdt. Their addresses are those of link time; a file that prelink has moved since tells by
 * how much through the address of its section .stapsdt.base.
 */
#ifndef PROFTRACE_TARGET_USDT_H
#define PROFTRACE_TARGET_USDT_H

#include "target/elf_file.h"
#include "target/notes.h"

enum {
	USDT_MAX_PROBES = 65536,
};

/* The strings are bytes as found, NUL-terminated, and live as long as the usdt_probes. */
struct usdt_probe {
	const char *provider;
	const char *name;
	const char *arguments;
	uint64_t vaddr;
	uint64_t offset;	   /* 0 = not in the file's code */
	uint64_t semaphore_offset; /* 0 = none */
};

struct usdt_probes {
	unsigned n_probes;
	struct usdt_probe *probes;
	unsigned malformed; /* notes that could not be read; the walk ends at a broken one */
	bool cut;	    /* there were more than the limits allow */
	struct notes notes;
};

/* No probes is not an error. */
int usdt_find(struct elf_file *elf, struct usdt_probes *ret, struct failure *f);
void usdt_free(struct usdt_probes *probes);

#endif
