/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The marker sites of an ELF file, found by the notes of base/marker_note.h. PT_NOTE leads to them,
 * so stripped files have them as well.
 *
 * The file is untrusted, and a breakpoint in the middle of an instruction kills the traced program.
 * So a site is accepted only if the file has exactly the instructions of a marker stub there. All
 * others are refused, and counted by reason.
 */
#ifndef PROFTRACE_TRACEE_MARKERS_H
#define PROFTRACE_TRACEE_MARKERS_H

#include "tracee/elf_file.h"

enum {
	MARKERS_CAN_BATCH = 1,
	MARKERS_MAX_SITES = 4096,
	MARKERS_MAX_NOTES = 4 * MARKERS_MAX_SITES, /* examined in one file, valid or not */
	MARKERS_MAX_DESC = 65536,
	MARKERS_MAX_DOMAIN = 128,
};

struct marker_site {
	uint64_t vaddr;		   /* of the breakpoint nop */
	uint64_t stub;		   /* the address of the function that it is in */
	uint64_t list;		   /* flush: the address of the list of batches, 0 = none */
	uint64_t offset;	   /* of the breakpoint nop in the file */
	uint64_t optimised_offset; /* of the optimised nop in the file, 0 = none */
	uint64_t steady_offset;	   /* of the steady nop in the file, 0 = none */
	uint64_t
		semaphore_offset; /* of its 16 bits in the file; kind batch: of those of buffered mode */
	uint16_t kind;		  /* enum record_kind of bpf/event.h, below 64 */
	uint32_t flags;		  /* MARKERS_CAN_BATCH */
	uint32_t layout;	  /* flush: the version of the contents of batches */
	char domain[MARKERS_MAX_DOMAIN + 1]; /* bytes as found; empty: a control site */
};

enum marker_refusal {
	MARKER_NEWER,
	MARKER_MALFORMED,
	MARKER_UNKNOWN_KIND,
	MARKER_NO_CODE,
	MARKER_WRONG_BYTES,
	MARKER_NO_SEMAPHORE,
	MARKER_CONFLICT,
	MARKER_TOO_MANY,
	MARKER_REFUSALS,
};

struct marker_sites {
	unsigned n;
	struct marker_site *sites; /* in the order of the notes */
	unsigned duplicates; /* notes equal to an earlier one: some linkers write them twice */
	unsigned refused;    /* notes refused, for any reason */
	unsigned refused_for[MARKER_REFUSALS];
};

/*
 * Finds the sites; a file without markers is not an error. Fails if out of memory, or if the file
 * cannot be read.
 */
int markers_find(const struct elf_file *elf, struct marker_sites *ret, struct failure *f);
void marker_sites_free(struct marker_sites *sites);

/* "begin", "thread_name"; NULL for an unknown kind. */
const char *marker_kind_name(unsigned kind);
/* Why sites were refused; messages put the number of sites before it. */
const char *marker_refusal_reason(enum marker_refusal refusal);

#endif
