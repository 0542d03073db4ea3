/* SPDX-License-Identifier: BSD-2-Clause */
/* The names, categories and call stacks that a TrackEvent refers to, and the arguments that only our own files have. */
#ifndef PROFTRACE_FORMATS_PERFETTO_READ_FIELDS_H
#define PROFTRACE_FORMATS_PERFETTO_READ_FIELDS_H

#include <string.h>

#include "formats/perfetto/reader.h"

static inline const struct name *interned_name(struct sequence *s, enum intern_kind kind,
					       uint64_t iid)
{
	const struct interned *interned = perfetto_interned(s, kind, iid);

	return interned ? interned->name : NULL;
}

static inline const struct name *event_name(struct perfetto *p, struct sequence *s,
					    const TrackEvent *event)
{
	if (event->name)
		return perfetto_name(p, event->name);
	return event->has_name_iid ? interned_name(s, INTERN_NAME, event->name_iid) : NULL;
}

static inline const struct callstack *event_callstack(struct sequence *s, const TrackEvent *event)
{
	return event->has_callstack_iid ? perfetto_callstack_of(s, event->callstack_iid) : NULL;
}

static inline const struct name *event_category(struct perfetto *p, struct sequence *s,
						const TrackEvent *event)
{
	if (event->n_categories || event->n_category_iids > 1)
		return perfetto_joined_categories(p, s, event);
	if (!event->n_category_iids)
		return NULL;
	return interned_name(s, INTERN_CATEGORY, event->category_iids[0]);
}

static inline const char *annotation_key_text(struct sequence *s, const Annotation *a)
{
	const struct name *key;

	if (a->name)
		return a->name;
	key = a->has_name_iid ? interned_name(s, INTERN_KEY, a->name_iid) : NULL;
	return key ? key->text : NULL;
}

/* The texts are nearly never equal, and mostly differ in the first character. */
static inline bool text_equals(const char *text, const char *other)
{
	return *text == *other && !strcmp(text, other);
}

static inline bool annotation_is_uint(struct sequence *s, const Annotation *a, const char *key)
{
	const char *text = a->has_uint_value ? annotation_key_text(s, a) : NULL;

	return text && text_equals(text, key);
}

/* The index of an argument that only our own files have; SIZE_MAX: there is none. */
static inline size_t find_own_uint(const struct perfetto *p, struct sequence *s,
				   const TrackEvent *event, const char *key)
{
	for (size_t i = 0; i < event->n_debug_annotations && p->own; i++) {
		if (annotation_is_uint(s, event->debug_annotations[i], key))
			return i;
	}
	return SIZE_MAX;
}

#endif
