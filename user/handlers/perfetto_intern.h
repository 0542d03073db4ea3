/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interning: a name stands in a sequence once, events refer to it by number. The number is the name's
 * own id, so that no table has to be searched; what is kept is which ids were defined already.
 */
#ifndef PROFTRACE_HANDLERS_PERFETTO_INTERN_H
#define PROFTRACE_HANDLERS_PERFETTO_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/names.h"

struct perfetto;
struct sequence;

enum {
	/* A category that is a list "a,b,c" becomes several; the third has the number id + 2 << 24. */
	INTERN_PART_SHIFT = 24,
	INTERN_MAX_PARTS = 64, /* a list of MAX_NAME bytes has no more */
	INTERN_MAX_ID = 1 << 18,
};

struct intern_entry {
	uint8_t defined; /* bits: enum intern_kind */
	uint8_t parts;	 /* of the list of categories; 0: not defined yet */
};

struct id_set {
	uint8_t *bits;
	uint32_t size; /* bytes */
};

struct interned {
	struct intern_entry *entries;
	uint32_t size;
	struct id_set mappings, frames, callstacks; /* perfetto_stacks.c */
};

enum intern_kind {
	INTERN_NAME = 1,
	INTERN_KEY = 2,
};

static inline bool perfetto_is_defined(const struct interned *interned, const struct name *name,
				       enum intern_kind kind)
{
	return name->id < interned->size && interned->entries[name->id].defined & kind;
}

/* Of how many categories the name is a list; 0: they are not defined. */
static inline unsigned perfetto_defined_parts(const struct interned *interned,
					      const struct name *category)
{
	return category->id < interned->size ? interned->entries[category->id].parts : 0;
}

/* What perfetto_intern() and perfetto_intern_category() of perfetto_internal.h have not found defined. */
uint64_t perfetto_define(struct perfetto *p, struct sequence *s, const struct name *name,
			 enum intern_kind kind);
unsigned perfetto_define_category(struct perfetto *p, struct sequence *s,
				  const struct name *category);

/* Forgets what was defined: a reader that missed a part of the trace has forgotten it too. */
void perfetto_intern_clear(struct interned *interned);
void perfetto_intern_free(struct interned *interned);

#endif
