/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dictionary of a profile. Its tables are repeated fields of one message, so that an item is put behind the others
 * whatever table it belongs to. Names are known by their ids, as frames, mappings and stacks are.
 */
#include "otlp/profile_dictionary.h"

#include <string.h>

enum {
	LONGEST = 512, /* bytes of a string */
	KNOWN = UINT32_MAX,
};

/* --- items ------------------------------------------------------------------------------------- */

static bool find_item(const struct profile_dictionary *d, const struct profile_key *key,
		      int32_t *ret_number)
{
	struct profile_entry *entry;

	HASH_FIND(hh, d->by_key, key, sizeof(*key), entry);
	if (entry)
		*ret_number = entry->number;
	return entry != NULL;
}

/* Space for an item, whose head is written. NULL: it does not fit. */
static uint8_t *add_item(struct profile_dictionary *d, const struct profile_key *key, size_t size,
			 int32_t *ret_number)
{
	struct profile_entry *entry = &d->entries[d->n_entries];
	uint8_t *out;

	if (d->full || d->n_entries == PROFILE_ENTRIES || d->size + size + 16 > sizeof(d->bytes)) {
		d->full = true;
		return NULL;
	}
	entry->key = *key;
	entry->number = d->n[key->table];
	HASH_ADD(hh, d->by_key, key, sizeof(entry->key), entry);
	if (!hash_added(hh, entry)) {
		d->full = true;
		return NULL;
	}
	d->n_entries++;
	*ret_number = d->n[key->table]++;
	d->bytes[d->size++] = (uint8_t)(key->table << 3 | 2);
	d->size += otlp_put_varint(d->bytes + d->size, size);
	out = d->bytes + d->size;
	d->size += size;
	return out;
}

static int32_t add_message(struct profile_dictionary *d, const struct profile_key *key,
			   const ProtobufCMessage *message)
{
	int32_t number = 0;
	uint8_t *out = add_item(d, key, protobuf_c_message_get_packed_size(message), &number);

	if (out)
		protobuf_c_message_pack(message, out);
	return number;
}

static int32_t add_string(struct profile_dictionary *d, const struct profile_key *key,
			  const char *text)
{
	size_t size = text_fit(text, strlen(text), LONGEST);
	int32_t number = 0;
	uint8_t *out = add_item(d, key, size, &number);

	if (out)
		memcpy(out, text, size);
	return number;
}

static int32_t name_string(struct profile_dictionary *d, const struct name *name)
{
	const struct profile_key key = { PROFILE_STRINGS, name ? name->id : 0, 0, 0 };
	int32_t number;

	if (!name || !*name->text)
		return 0;
	return find_item(d, &key, &number) ? number : add_string(d, &key, name->text);
}

static int32_t text_attribute(struct profile_dictionary *d, enum profile_string attribute,
			      uint32_t which, const char *text)
{
	const struct profile_key key = { PROFILE_ATTRIBUTES, attribute, which, 0 };
	Otlp__KeyValueAndUnit pair = OTLP__KEY_VALUE_AND_UNIT__INIT;
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
	int32_t number;

	if (find_item(d, &key, &number))
		return number;
	pair.key_strindex = (int32_t)attribute;
	pair.value = &value;
	value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value.string_value = (char *)text;
	return add_message(d, &key, &pair.base);
}

/* --- frames ------------------------------------------------------------------------------------ */

static int32_t mapping_number(struct profile_dictionary *d, const struct code_mapping *m)
{
	const struct profile_key key = { PROFILE_MAPPINGS, m ? m->id : 0, 0, 0 };
	Otlp__Mapping mapping = OTLP__MAPPING__INIT;
	int32_t number, build_id = 0;

	if (!m)
		return 0;
	if (find_item(d, &key, &number))
		return number;
	mapping.memory_start = m->start;
	mapping.memory_limit = m->end;
	mapping.file_offset = m->offset;
	mapping.filename_strindex = name_string(d, m->path);
	if (m->build_id)
		build_id = text_attribute(d, PROFILE_STRING_BUILD_ID, m->build_id->id,
					  m->build_id->text);
	mapping.n_attribute_indices = build_id != 0;
	mapping.attribute_indices = &build_id;
	return add_message(d, &key, &mapping.base);
}

static int32_t function_number(struct profile_dictionary *d, const struct code_line *line)
{
	const struct profile_key key = { PROFILE_FUNCTIONS, line->function ? line->function->id : 0,
					 line->file ? line->file->id + 1 : 0,
					 line->function != NULL };
	Otlp__Function function = OTLP__FUNCTION__INIT;
	int32_t number;

	if (find_item(d, &key, &number))
		return number;
	function.name_strindex = name_string(d, line->function);
	function.filename_strindex = name_string(d, line->file);
	return add_message(d, &key, &function.base);
}

/* Where it was in memory, which is where the first mapping of the file was. */
static uint64_t frame_address(const struct code_frame *frame)
{
	const struct code_mapping *m = frame->mapping;

	if (!m || m->kind == CODE_KERNEL || m->kind == CODE_JIT)
		return frame->rel_pc;
	if (m->kind == CODE_PYTHON)
		return 0;
	return frame->rel_pc - m->load_bias - m->offset + m->start;
}

static int32_t location_number(struct profile_dictionary *d, const struct code_frame *frame)
{
	static const char *const types[] = {
		[CODE_NATIVE] = "native",
		[CODE_KERNEL] = "kernel",
		[CODE_JIT] = "native",
		[CODE_PYTHON] = "cpython",
	};
	const struct profile_key key = { PROFILE_LOCATIONS, frame->id, 0, 0 };
	Otlp__Location location = OTLP__LOCATION__INIT;
	Otlp__Line lines[CALLSTACKS_MAX_LINES], *list[CALLSTACKS_MAX_LINES];
	int32_t number, type;
	unsigned i;

	if (find_item(d, &key, &number))
		return number;
	for (i = 0; i < frame->n_lines && i < CALLSTACKS_MAX_LINES; i++) {
		otlp__line__init(&lines[i]);
		lines[i].function_index = function_number(d, &frame->lines[i]);
		lines[i].line = frame->lines[i].line;
		list[i] = &lines[i];
	}
	location.mapping_index = mapping_number(d, frame->mapping);
	location.address = frame_address(frame);
	location.n_lines = i;
	location.lines = list;
	if (frame->mapping) {
		type = text_attribute(d, PROFILE_STRING_FRAME_TYPE, frame->mapping->kind,
				      types[frame->mapping->kind]);
		location.n_attribute_indices = 1;
		location.attribute_indices = &type;
	}
	return add_message(d, &key, &location.base);
}

/* --- what samples name ------------------------------------------------------------------------- */

int32_t profile_stack(struct profile_dictionary *d, const struct callstack *callstack)
{
	const struct profile_key key = { PROFILE_STACKS, callstack ? callstack->id : 0, 0, 0 };
	int32_t frames[CALLSTACKS_MAX_DEPTH], number;
	Otlp__Stack stack = OTLP__STACK__INIT;

	if (!callstack)
		return 0;
	if (find_item(d, &key, &number))
		return number;
	stack.location_indices = frames;
	for (; callstack && stack.n_location_indices < CALLSTACKS_MAX_DEPTH;
	     callstack = callstack->caller)
		frames[stack.n_location_indices++] = location_number(d, callstack->frame);
	return add_message(d, &key, &stack.base);
}

int32_t profile_thread(struct profile_dictionary *d, uint32_t tid)
{
	const struct profile_key key = { PROFILE_ATTRIBUTES, PROFILE_STRING_THREAD, tid, 0 };
	Otlp__KeyValueAndUnit pair = OTLP__KEY_VALUE_AND_UNIT__INIT;
	Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
	int32_t number;

	if (!tid)
		return 0;
	if (find_item(d, &key, &number))
		return number;
	pair.key_strindex = PROFILE_STRING_THREAD;
	pair.value = &value;
	value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	value.int_value = tid;
	return add_message(d, &key, &pair.base);
}

int32_t profile_link(struct profile_dictionary *d, const struct otlp_context *context)
{
	struct profile_key key = { .table = PROFILE_LINKS };
	Otlp__SpanLink link = OTLP__SPAN_LINK__INIT;
	int32_t number;

	/* Three words of ids, which are random. */
	memcpy(&key.a, context->span_id, 4);
	memcpy(&key.b, context->span_id + 4, 4);
	memcpy(&key.c, context->trace_id + 12, 4);
	if (find_item(d, &key, &number))
		return number;
	link.trace_id = (ProtobufCBinaryData){ 16, (uint8_t *)context->trace_id };
	link.span_id = (ProtobufCBinaryData){ 8, (uint8_t *)context->span_id };
	return add_message(d, &key, &link.base);
}

/* --- all of it --------------------------------------------------------------------------------- */

void profile_dictionary_begin(struct profile_dictionary *d)
{
	static const char *const strings[PROFILE_STRINGS_KNOWN] = {
		[PROFILE_STRING_NONE] = "",
		[PROFILE_STRING_CPU] = "cpu",
		[PROFILE_STRING_NANOSECONDS] = "nanoseconds",
		[PROFILE_STRING_THREAD] = "thread.id",
		[PROFILE_STRING_BUILD_ID] = "process.executable.build_id.gnu",
		[PROFILE_STRING_FRAME_TYPE] = "profile.frame.type",
	};
	static const struct otlp_context none;
	Otlp__SpanLink link = OTLP__SPAN_LINK__INIT;
	unsigned i;

	HASH_CLEAR(hh, d->by_key);
	d->full = false;
	d->size = d->n_entries = 0;
	memset(d->n, 0, sizeof(d->n));
	for (i = 0; i < PROFILE_STRINGS_KNOWN; i++)
		add_string(d, &(struct profile_key){ PROFILE_STRINGS, KNOWN, i, 0 }, strings[i]);
	link.trace_id = (ProtobufCBinaryData){ 16, (uint8_t *)none.trace_id };
	link.span_id = (ProtobufCBinaryData){ 8, (uint8_t *)none.span_id };
	add_message(d, &(struct profile_key){ PROFILE_LINKS, KNOWN, KNOWN, KNOWN }, &link.base);
	for (i = 1; i < PROFILE_TABLES; i++) {
		/* The others begin with an empty message. */
		if (!d->n[i])
			add_string(d, &(struct profile_key){ i, KNOWN, KNOWN, KNOWN }, "");
	}
}

void profile_dictionary_free(struct profile_dictionary *d)
{
	HASH_CLEAR(hh, d->by_key);
}
