/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interning: a sequence contains the text of a name once, and its events refer to it by number. The number is the
 * id of the name, so that nothing has to be searched; the table only says which ids the sequence has defined.
 */
#ifndef PROFTRACE_FORMATS_PERFETTO_WRITE_INTERN_H
#define PROFTRACE_FORMATS_PERFETTO_WRITE_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/names.h"

struct perfetto;
struct sequence;

enum {
	/* A list of categories "a,b,c" is defined as several; the third has the number id | 2 << 24. */
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
	struct id_set mappings, frames, callstacks; /* write_stacks.c */
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

/* How many categories the list has; 0: it is not defined. */
static inline unsigned perfetto_defined_parts(const struct interned *interned,
					      const struct name *category)
{
	return category->id < interned->size ? interned->entries[category->id].parts : 0;
}

/* Called by perfetto_intern() and perfetto_intern_category() for what is not defined yet. */
uint64_t perfetto_define(struct perfetto *p, struct sequence *s, const struct name *name,
			 enum intern_kind kind);
unsigned perfetto_define_category(struct perfetto *p, struct sequence *s,
				  const struct name *category);

/* Forgets all definitions, as a reader does where packets of the sequence are missing. */
void perfetto_intern_clear(struct interned *interned);
void perfetto_intern_free(struct interned *interned);

#endif
