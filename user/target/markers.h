/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The marker sites of an ELF file, as include/proftrace.h leaves them.
 *
 * Every kind of marker of every domain is one small function in assembly, the stub, that the markers
 * call. Beside it lies a note of owner "proftrace" that says where the stub's doors are (a door is a
 * nop that the kernel can put a probe on) and where the switch is that the tracer raises. All
 * distances in it are relative to the field that holds them, so a note needs no relocation and is
 * found from PT_NOTE alone, in stripped files too:
 *
 *	s64 stub, minus the address of this field
 *	s64 switch, minus the address of this field
 *	u16 kind, u8 slow door in the stub, u8 fast door in the stub (255 = none), u32 flags
 *	name of the domain, NUL-terminated; empty for the control sites
 *	of the flush site, then: s64 list of batches, minus the address of this field;
 *		u32 version of what is in these, 1 without this field
 *
 * A note is a claim by a file nobody vouches for, and a breakpoint in the middle of an instruction
 * kills the traced program. So a site counts only when the bytes in the file at its door are exactly
 * those of a door; everything else is refused, and counted by reason.
 */
#ifndef PROFTRACE_TARGET_MARKERS_H
#define PROFTRACE_TARGET_MARKERS_H

#include "target/elf_file.h"

enum {
	MARKERS_ABI = 1, /* type of the note */
	MARKERS_CAN_BATCH = 1,
	MARKERS_MAX_SITES = 4096,
	MARKERS_MAX_NOTES = 4 * MARKERS_MAX_SITES, /* looked at, good or not, in one file */
	MARKERS_MAX_DESC = 65536,
	MARKERS_MAX_DOMAIN = 128,
};

struct marker_site {
	uint64_t vaddr;	      /* of the slow door */
	uint64_t stub;	      /* the address of the function that it is in */
	uint64_t list;	      /* flush: the address of the list of batches, 0 = none */
	uint64_t offset;      /* the same in the file */
	uint64_t fast_offset; /* 0 = no fast door */
	uint64_t
		switch_offset; /* 16 bits: of the exact switch, or of kind batch the batch switch */
	uint16_t kind;	       /* enum record_kind of bpf/event.h, below 64 */
	uint32_t flags;	       /* MARKERS_CAN_BATCH */
	uint32_t layout;       /* flush: the version of what is in batches */
	char domain[MARKERS_MAX_DOMAIN + 1]; /* bytes as found; empty: a control site */
};

enum marker_refusal {
	MARKER_NEWER,
	MARKER_MALFORMED,
	MARKER_UNKNOWN_KIND,
	MARKER_NO_CODE,
	MARKER_WRONG_BYTES,
	MARKER_NO_SWITCH,
	MARKER_CONFLICT,
	MARKER_TOO_MANY,
	MARKER_REFUSALS,
};

struct marker_sites {
	unsigned n;
	struct marker_site *sites; /* in the order of the notes */
	unsigned duplicates;	   /* notes that repeat another: some linkers write them twice */
	unsigned refused;	   /* notes left out, for whatever reason */
	unsigned refused_for[MARKER_REFUSALS];
};

/*
 * Finds the sites. No markers is not an error: n is 0. Fails when memory runs out or the file
 * cannot be read at all.
 */
int markers_find(struct elf_file *elf, struct marker_sites *ret, struct failure *f);
void marker_sites_free(struct marker_sites *sites);

/* "begin", "thread_name"; NULL for a kind that is not known. */
const char *marker_kind_name(unsigned kind);
/* Why sites were refused, to be read after their number. */
const char *marker_refusal_reason(enum marker_refusal refusal);

#endif
