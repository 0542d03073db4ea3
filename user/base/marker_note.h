/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ELF note of a marker stub, as include/proftrace.h emits it. The recorder finds the markers of a file by these
 * notes (tracee/markers.c), and the broker checks in them that a probe site is one (privilege/broker/proof.c).
 *
 * Each kind of marker of each domain has one small function in assembly, the stub, which the markers call. The stub
 * contains the probe sites: a nop of one byte for a breakpoint, and on x86-64 behind it a nop of ten bytes that
 * kernels with optimised uprobes replace by a call. The owner of the note is "proftrace"; distances are relative to
 * the field that has them, so that the note needs no relocation.
 */
#ifndef PROFTRACE_BASE_MARKER_NOTE_H
#define PROFTRACE_BASE_MARKER_NOTE_H

#include <stdint.h>

enum {
	MARKER_NOTE_VERSION = 1,    /* type of the note */
	MARKER_NOTE_NO_SITE = 0xff, /* in optimised_nop */
	MARKER_NOTE_STEADY =
		2, /* in flags: there is a steady nop (include/proftrace.h, section 4) */
	MARKER_NOTE_READ_STRINGS =
		4, /* in flags of the flush site: there is a stub of RECORD_READ_STRINGS */
};

struct marker_note {
	uint64_t stub;	    /* its address minus the address of this field; wraps around */
	uint64_t semaphore; /* the same */
	uint16_t kind;
	uint8_t breakpoint_nop; /* offset in the stub */
	uint8_t optimised_nop;	/* the same, or MARKER_NOTE_NO_SITE */
	uint32_t flags;
	/*
	 * Then the name of the domain with its NUL. In the note of the flush site, then the distance of the list of
	 * batches (64 bits), and the version of their contents (32 bits), 1 if it is missing.
	 */
};

/* The domain of the marks of domains that are made at run time: these are the first of their categories. */
#define MARKER_RUNTIME_DOMAIN "(run time)"

_Static_assert(sizeof(struct marker_note) == 24, "no padding");

/* The instructions of a stub from the breakpoint nop to the return. */
#define MARKER_STUB_X86	  0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3
#define MARKER_STUB_ARM64 0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6

/* With MARKER_NOTE_STEADY in the flags, a steady nop precedes them. */
#define MARKER_NOP_X86	 0x90
#define MARKER_NOP_ARM64 0x1f, 0x20, 0x03, 0xd5

#endif
