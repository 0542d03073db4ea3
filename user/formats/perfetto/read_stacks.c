/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples and call stacks. Packets of a sequence define mappings, frames and call stacks by number. The symbols of frames
 * may follow at the end of the file, by file and address.
 */
#include <stdio.h>
#include <string.h>

#include "formats/perfetto/reader.h"

enum {
	MAX_PATH = 4096,
	MAX_FUNCTION = 4096,
	MAX_BUILD_ID = 64,
	MODE_KERNEL = 1,
};

typedef Perfetto__Protos__InternedData Data;
typedef Perfetto__Protos__InternedString String;

static const void *interned_object(struct sequence *s, enum intern_kind kind, uint64_t iid)
{
	const struct interned *interned = perfetto_interned(s, kind, iid);

	return interned ? interned->object : NULL;
}

/* --- definitions ------------------------------------------------------------------------------- */

static int stacks_intern_names(struct perfetto *p, struct sequence *s, enum intern_kind kind,
			       String *const *list, size_t n, size_t limit)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		const char *text = list[i]->str.data ? (const char *)list[i]->str.data : "";

		error = perfetto_intern_object(
			p, s, kind, list[i]->iid,
			names_intern(p->sink->names, text, list[i]->str.len, limit));
	}
	return error;
}

/* The build id in hexadecimal. */
static const struct name *build_id_name(struct perfetto *p, const ProtobufCBinaryData *id)
{
	char hex[2 * MAX_BUILD_ID + 1];

	if (!id->data || !id->len)
		return NULL;
	for (size_t i = 0; i < id->len && i < MAX_BUILD_ID; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->data[i]);
	return names_intern_string(p->sink->names, hex);
}

static int stacks_intern_build_ids(struct perfetto *p, struct sequence *s, const Data *data)
{
	int error = 0;

	for (size_t i = 0; i < data->n_build_ids && !error; i++) {
		const struct name *name = build_id_name(p, &data->build_ids[i]->str);

		if (name)
			error = perfetto_intern_object(p, s, INTERN_BUILD_ID,
						       data->build_ids[i]->iid, name);
	}
	return error;
}

/* The mapping of a path. Writers put a slash before every path, also before "[kernel]". */
static const struct code_mapping *stacks_mapping(struct perfetto *p, const char *path,
						 const struct name *build_id,
						 const struct code_mapping *rest)
{
	struct code_mapping like = *rest;

	if (path[0] == '/' && path[1] == '[')
		path++;
	like.kind = CODE_NATIVE;
	if (!strncmp(path, "[jit ", 5))
		like.kind = CODE_JIT;
	if (!strcmp(path, "[python]"))
		like.kind = CODE_PYTHON;
	if (!strcmp(path, "/kernel") || !strncmp(path, "[kernel", 7)) {
		like.kind = CODE_KERNEL;
		path = "[kernel]";
	}
	like.path = names_intern(p->sink->names, path, strlen(path), MAX_PATH);
	like.build_id = build_id;
	return callstacks_mapping(p->sink->callstacks, &like);
}

static const struct code_mapping *stacks_read_mapping(struct perfetto *p, struct sequence *s,
						      const Perfetto__Protos__Mapping *m)
{
	const struct code_mapping rest = {
		.start = m->start,
		.end = m->end,
		.offset = m->exact_offset,
		.load_bias = m->load_bias,
	};
	char path[MAX_PATH + 2] = "";
	size_t i, length = 0;

	for (i = 0; i < m->n_path_string_ids && length < MAX_PATH; i++) {
		const struct name *part = interned_object(s, INTERN_PATH, m->path_string_ids[i]);
		bool whole = part && part->text[0] == '/' && !length;

		if (part)
			length += (size_t)snprintf(path + length, sizeof(path) - length, "%s%s",
						   whole ? "" : "/", part->text);
	}
	return stacks_mapping(p, path, interned_object(s, INTERN_BUILD_ID, m->build_id), &rest);
}

static const struct code_frame *stacks_read_frame(struct perfetto *p, struct sequence *s,
						  const Perfetto__Protos__Frame *f)
{
	struct callstacks *store = p->sink->callstacks;
	const struct code_mapping *mapping = NULL;
	const struct code_frame *frame;
	struct code_line line = { .line = f->line_number };

	if (f->has_mapping_id)
		mapping = interned_object(s, INTERN_MAPPING, f->mapping_id);
	if (f->has_function_name_id)
		line.function = interned_object(s, INTERN_FUNCTION, f->function_name_id);
	if (f->has_source_path_id)
		line.file = interned_object(s, INTERN_SOURCE, f->source_path_id);
	if (!line.file)
		return callstacks_frame(store, mapping, f->rel_pc, line.function);
	if (mapping && mapping->kind == CODE_PYTHON)
		return callstacks_line_frame(store, mapping, f->rel_pc, &line);
	frame = callstacks_frame(store, mapping, f->rel_pc, NULL);
	callstacks_name(store, frame, &line, 1);
	return frame;
}

static int stacks_intern_frames(struct perfetto *p, struct sequence *s, const Data *data)
{
	int error = 0;

	for (size_t i = 0; i < data->n_mappings && !error; i++) {
		const Perfetto__Protos__Mapping *m = data->mappings[i];

		if (!interned_object(s, INTERN_MAPPING, m->iid))
			error = perfetto_intern_object(p, s, INTERN_MAPPING, m->iid,
						       stacks_read_mapping(p, s, m));
	}
	for (size_t i = 0; i < data->n_frames && !error; i++) {
		const Perfetto__Protos__Frame *f = data->frames[i];

		if (!interned_object(s, INTERN_FRAME, f->iid))
			error = perfetto_intern_object(p, s, INTERN_FRAME, f->iid,
						       stacks_read_frame(p, s, f));
	}
	return error;
}

static int stacks_intern_callstack(struct perfetto *p, struct sequence *s,
				   const Perfetto__Protos__Callstack *c)
{
	const struct callstack *stack = NULL;

	if (interned_object(s, INTERN_CALLSTACK, c->iid))
		return 0;
	for (size_t i = 0; i < c->n_frame_ids && i < CALLSTACKS_MAX_DEPTH; i++) {
		const struct code_frame *frame = interned_object(s, INTERN_FRAME, c->frame_ids[i]);

		if (frame)
			stack = callstacks_push(p->sink->callstacks, stack, frame);
	}
	return stack ? perfetto_intern_object(p, s, INTERN_CALLSTACK, c->iid, stack) : 0;
}

int perfetto_stack_data(struct perfetto *p, struct sequence *s, const Data *data)
{
	int error;

	if (!p->sink->callstacks)
		return 0;
	error = stacks_intern_names(p, s, INTERN_FUNCTION, data->function_names,
				    data->n_function_names, MAX_FUNCTION);
	if (!error)
		error = stacks_intern_names(p, s, INTERN_PATH, data->mapping_paths,
					    data->n_mapping_paths, MAX_PATH);
	if (!error)
		error = stacks_intern_names(p, s, INTERN_SOURCE, data->source_paths,
					    data->n_source_paths, MAX_PATH);
	error = error ?: stacks_intern_build_ids(p, s, data);
	error = error ?: stacks_intern_frames(p, s, data);
	for (size_t i = 0; i < data->n_callstacks && !error; i++)
		error = stacks_intern_callstack(p, s, data->callstacks[i]);
	return error;
}

const struct callstack *perfetto_callstack_of(struct sequence *s, uint64_t iid)
{
	return interned_object(s, INTERN_CALLSTACK, iid);
}

/* --- samples ----------------------------------------------------------------------------------- */

void perfetto_sample_default(struct sequence *s, const Perfetto__Protos__PerfSampleDefaults *d)
{
	s->period_ns = 0;
	if (d->timebase && d->timebase->frequency)
		s->period_ns = 1000000000 / d->timebase->frequency;
}

int perfetto_sample(struct perfetto *p, struct sequence *s, const Packet *packet)
{
	const Perfetto__Protos__PerfSample *sample = packet->perf_sample;
	struct draft *draft = p->draft;
	uint64_t ts_ns;

	if (!p->sink->callstacks)
		return 0;
	if (!s->valid || !sample->has_tid || !perfetto_time(p, s, packet, &ts_ns)) {
		p->sink->account->stacks_lost++;
		return 0;
	}
	draft_event(draft, EVENT_SAMPLE, ts_ns, sample->pid, sample->tid);
	draft->event.callstack = perfetto_callstack_of(s, sample->callstack_iid);
	draft->event.sample = (struct event_sample){
		.period_ns = s->period_ns,
		.cpu = (uint16_t)sample->cpu,
		.mode = sample->cpu_mode == MODE_KERNEL ? SAMPLE_KERNEL : SAMPLE_USER,
	};
	return draft_send_bare(draft);
}

/* --- symbols of frames ------------------------------------------------------------------------- */

static const struct name *symbol_text_name(struct perfetto *p, const char *text)
{
	return text ? names_intern(p->sink->names, text, strlen(text), MAX_FUNCTION) : NULL;
}

/* A frame that had a name from the beginning has its inlined functions and its lines here, too. */
static void symbols_read_lines(struct perfetto *p, const struct code_mapping *mapping,
			       const Perfetto__Protos__AddressSymbols *symbols)
{
	struct callstacks *store = p->sink->callstacks;
	struct code_line lines[CALLSTACKS_MAX_LINES];
	const struct code_frame *named;
	unsigned n = 0;

	for (size_t i = 0; i < symbols->n_lines && n < CALLSTACKS_MAX_LINES; i++) {
		const Perfetto__Protos__SymbolLine *line = symbols->lines[i];

		lines[n++] = (struct code_line){
			.function = symbol_text_name(p, line->function_name),
			.file = symbol_text_name(p, line->source_file_name),
			.line = line->line_number,
		};
	}
	named = n ? callstacks_find_frame(store, mapping, symbols->address, lines[0].function)
		  : NULL;
	if (named)
		callstacks_name(store, named, lines, n);
	callstacks_name(store, callstacks_frame(store, mapping, symbols->address, NULL), lines, n);
}

void perfetto_module(struct perfetto *p, const Perfetto__Protos__ModuleSymbols *module)
{
	const struct code_mapping none = { 0 }, *mapping;

	if (!p->sink->callstacks)
		return;
	mapping = stacks_mapping(p, module->path ? module->path : "",
				 build_id_name(p, &module->build_id), &none);
	for (size_t i = 0; mapping && i < module->n_address_symbols; i++)
		symbols_read_lines(p, mapping, module->address_symbols[i]);
}
