// SPDX-License-Identifier: BSD-2-Clause
/*
 * A definition is a packet of its own, written just before the first event that needs it. The table is bounded:
 * names beyond INTERN_MAX_ID, or for which there was no memory, are written in full into each event, which takes
 * more space and loses nothing.
 */
#include "formats/perfetto/write_intern.h"

#include <stdlib.h>
#include <string.h>

#include "formats/perfetto/writer.h"
#include "timeline/fact.h"

static struct intern_entry *intern_grow(struct interned *interned, uint32_t id)
{
	uint32_t size = interned->size ? interned->size : 256;
	struct intern_entry *entries;

	if (id >= INTERN_MAX_ID)
		return NULL;
	while (size <= id)
		size *= 2;
	entries = realloc(interned->entries, size * sizeof(*entries));
	if (!entries)
		return NULL;
	memset(entries + interned->size, 0, (size - interned->size) * sizeof(*entries));
	interned->entries = entries;
	interned->size = size;
	return &entries[id];
}

static struct intern_entry *intern_entry(struct sequence *s, const struct name *name)
{
	if (name->id < s->interned.size)
		return &s->interned.entries[name->id];
	return intern_grow(&s->interned, name->id);
}

void perfetto_intern_clear(struct interned *interned)
{
	struct id_set *const sets[] = { &interned->mappings, &interned->frames,
					&interned->callstacks };

	if (interned->entries)
		memset(interned->entries, 0, interned->size * sizeof(*interned->entries));
	for (unsigned i = 0; i < 3; i++) {
		if (sets[i]->bits)
			memset(sets[i]->bits, 0, sets[i]->size);
	}
}

void perfetto_intern_free(struct interned *interned)
{
	free(interned->entries);
	free(interned->mappings.bits);
	free(interned->frames.bits);
	free(interned->callstacks.bits);
}

int perfetto_write_interned(struct perfetto *p, const struct sequence *s,
			    Perfetto__Protos__InternedData *data)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	packet.interned_data = data;
	PUT_FIELD(packet, sequence_flags, PERFETTO_NEEDS);
	p->n_definitions++;
	return perfetto_write_to(p, s->id, &packet);
}

/* Cuts to the limit and adds the NUL that the generated code needs. */
static void intern_copy_text(char out[LIMIT_NAME + 1], const char *text, size_t length)
{
	length = text_fit(text, length, LIMIT_NAME);
	memcpy(out, text, length);
	out[length] = '\0';
}

static int intern_define_name(struct perfetto *p, const struct sequence *s, const struct name *name)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__EventName event = PERFETTO__PROTOS__EVENT_NAME__INIT;
	Perfetto__Protos__EventName *list[] = { &event };
	char text[LIMIT_NAME + 1];

	intern_copy_text(text, name->text, name->length);
	PUT_FIELD(event, iid, name->id);
	event.name = text;
	PUT_LIST(data, event_names, 1, list);
	return perfetto_write_interned(p, s, &data);
}

static int intern_define_key(struct perfetto *p, const struct sequence *s, const struct name *name)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__DebugAnnotationName key = PERFETTO__PROTOS__DEBUG_ANNOTATION_NAME__INIT;
	Perfetto__Protos__DebugAnnotationName *list[] = { &key };
	char text[LIMIT_NAME + 1];

	intern_copy_text(text, name->text, name->length);
	PUT_FIELD(key, iid, name->id);
	key.name = text;
	PUT_LIST(data, debug_annotation_names, 1, list);
	return perfetto_write_interned(p, s, &data);
}

static int intern_define_category(struct perfetto *p, const struct sequence *s, uint64_t iid,
				  const char *category, size_t length)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__EventCategory event = PERFETTO__PROTOS__EVENT_CATEGORY__INIT;
	Perfetto__Protos__EventCategory *list[] = { &event };
	char text[LIMIT_NAME + 1];

	intern_copy_text(text, category, length);
	PUT_FIELD(event, iid, iid);
	event.name = text;
	PUT_LIST(data, event_categories, 1, list);
	return perfetto_write_interned(p, s, &data);
}

uint64_t perfetto_define(struct perfetto *p, struct sequence *s, const struct name *name,
			 enum intern_kind kind)
{
	struct intern_entry *entry = intern_entry(s, name);

	if (!entry)
		return 0;
	if (!(entry->defined & kind)) {
		if ((kind == INTERN_NAME ? intern_define_name(p, s, name)
					 : intern_define_key(p, s, name)) < 0)
			return 0;
		entry->defined |= kind;
	}
	return name->id;
}

/* Returns how many categories the list names, or negative errno. */
static int intern_define_categories(struct perfetto *p, const struct sequence *s,
				    const struct name *list)
{
	const char *at = list->text, *end = list->text + list->length;
	int parts = 0;

	while (at < end) {
		const char *comma = memchr(at, ',', end - at);
		const char *stop = comma && parts < INTERN_MAX_PARTS - 1 ? comma : end;

		if (stop > at) {
			uint64_t part = parts++;
			int r = intern_define_category(p, s, list->id | part << INTERN_PART_SHIFT,
						       at, stop - at);

			if (r < 0)
				return r;
		}
		at = stop + 1;
	}
	return parts;
}

unsigned perfetto_define_category(struct perfetto *p, struct sequence *s,
				  const struct name *category)
{
	struct intern_entry *entry = intern_entry(s, category);

	if (!entry)
		return 0;
	if (!entry->parts) {
		int parts = intern_define_categories(p, s, category);

		if (parts < 0)
			return 0;
		entry->parts = parts;
	}
	return entry->parts;
}
