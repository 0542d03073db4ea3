/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of the markers in an ELF file, from its section .debug_proftrace (include/proftrace.h, Names). Nothing
 * but `list` needs them: a recorded mark brings its own. Files that were compiled with an older header, or stripped
 * by llvm-strip, do not have the section.
 */
#ifndef PROFTRACE_TRACEE_MARKER_NAMES_H
#define PROFTRACE_TRACEE_MARKER_NAMES_H

#include "tracee/markers.h"

enum {
	MARKER_NAMES_MAX = 16384, /* entries read from one file */
	MARKER_NAMES_TEXT = 128,  /* bytes of a name that are kept */
};

struct marker_name {
	char domain[MARKERS_MAX_DOMAIN + 1];
	uint16_t kind;			  /* both of its site */
	char text[MARKER_NAMES_TEXT + 1]; /* bytes as found */
};

struct marker_names {
	unsigned n;
	struct marker_name
		*names;	    /* each once, in the order of marker_domain_compare(), kind and text */
	unsigned malformed; /* entries without a site or a name */
	bool cut;	    /* there are more */
};

/* Finds the names of the markers that call these sites. Returns 0 or -ENOMEM. */
int marker_names_find(const struct elf_file *elf, const struct marker_sites *sites,
		      struct marker_names *ret);
void marker_names_free(struct marker_names *names);

/* By name, the control sites last. */
int marker_domain_compare(const char *a, const char *b);

#endif
