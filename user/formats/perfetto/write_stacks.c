// SPDX-License-Identifier: BSD-2-Clause
/*
 * Samples, and the call stacks of samples and of events.
 *
 * A call stack is a list of frames, and a frame is an address in a mapping. Each of these is defined in a sequence
 * before its first use, with the id that it has in struct callstacks. The symbols of a frame may be known only at
 * the end of the recording; they are written then, by file, and loaders join them with the frames.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/perfetto/write_packet.h"
#include "timeline/fact.h"

enum {
	MODE_KERNEL = 1,
	MODE_USER = 2,
	COUNTER_CPU_CLOCK = 1,
	FRAME_INTERPRETED = 3,

	SIZE_SAMPLE = 128,
	MAX_IDS = 1 << 20,
	SYMBOLS_IN_PACKET = 256, /* frames */
	MAX_PATH = 4096,
};

/* --- sets of ids ------------------------------------------------------------------------------- */

/* Returns 1 if the id is new, 0 if it was in the set, or negative errno. */
static int id_set_add(struct id_set *set, uint32_t id)
{
	uint32_t size = set->size ? set->size : 64;
	uint8_t *bits;

	if (id >= MAX_IDS)
		return -E2BIG;
	while (size <= id / 8)
		size *= 2;
	if (size != set->size) {
		bits = realloc(set->bits, size);
		if (!bits)
			return -ENOMEM;
		memset(bits + set->size, 0, size - set->size);
		set->bits = bits;
		set->size = size;
	}
	if (set->bits[id / 8] & 1 << id % 8)
		return 0;
	set->bits[id / 8] |= (uint8_t)(1 << id % 8);
	return 1;
}

static void id_set_remove(struct id_set *set, uint32_t id)
{
	set->bits[id / 8] &= (uint8_t) ~(1 << id % 8);
}

/* --- definitions ------------------------------------------------------------------------------- */

static size_t build_id_bytes(const struct name *hex, uint8_t *out, size_t size)
{
	size_t n;

	for (n = 0; hex && n < size && 2 * n + 1 < hex->length; n++) {
		unsigned byte;

		if (sscanf(hex->text + 2 * n, "%2x", &byte) != 1)
			break;
		out[n] = (uint8_t)byte;
	}
	return n;
}

/* Perfetto's loader recognises the mapping of the kernel by this path. */
static const char *code_mapping_path(const struct code_mapping *mapping)
{
	if (mapping->kind == CODE_KERNEL)
		return "/kernel";
	return mapping->path ? mapping->path->text : "";
}

static int stacks_define_mapping(struct perfetto *p, const struct sequence *s,
				 const struct code_mapping *mapping)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Mapping m = PERFETTO__PROTOS__MAPPING__INIT, *mappings[] = { &m };
	Perfetto__Protos__InternedString path = PERFETTO__PROTOS__INTERNED_STRING__INIT, id = path;
	Perfetto__Protos__InternedString *paths[] = { &path }, *ids[] = { &id };
	uint64_t path_ids[] = { mapping->id };
	uint8_t bytes[64];

	path.has_str = true;
	PUT_FIELD(path, iid, mapping->id);
	path.str.data = (uint8_t *)code_mapping_path(mapping);
	path.str.len = strnlen(code_mapping_path(mapping), MAX_PATH);
	id.has_str = true;
	PUT_FIELD(id, iid, mapping->id);
	id.str.data = bytes;
	id.str.len = build_id_bytes(mapping->build_id, bytes, sizeof(bytes));
	m.has_iid = m.has_build_id = true;
	m.iid = m.build_id = mapping->id;
	PUT_FIELD(m, start, mapping->start);
	PUT_FIELD(m, end, mapping->end);
	PUT_FIELD(m, load_bias, mapping->load_bias);
	PUT_FIELD(m, exact_offset, mapping->offset);
	PUT_LIST(m, path_string_ids, 1, path_ids);
	data.n_mapping_paths = data.n_build_ids = data.n_mappings = 1;
	data.mapping_paths = paths;
	data.build_ids = ids;
	data.mappings = mappings;
	return perfetto_write_interned(p, s, &data);
}

/* Remembers a frame for perfetto_write_symbols(). */
static void stacks_remember_frame(struct perfetto *p, const struct code_frame *frame)
{
	if (frame->mapping && id_set_add(&p->frames, frame->id) > 0 &&
	    array_reserve(p->used, p->n_used, p->used_capacity, 256))
		p->used[p->n_used++] = frame;
}

/* The line of an interpreted frame is known from the beginning, and is part of the frame. */
static void frame_put_source(const struct code_frame *frame, Perfetto__Protos__Frame *f,
			     Perfetto__Protos__InternedString *source,
			     Perfetto__Protos__InternedData *data,
			     Perfetto__Protos__InternedString **sources)
{
	const struct code_line *line = frame->n_lines ? &frame->lines[0] : NULL;

	PUT_FIELD(*f, kind, FRAME_INTERPRETED);
	if (!line || !line->file)
		return;
	PUT_FIELD(*source, iid, frame->id);
	source->has_str = true;
	source->str.data = (uint8_t *)line->file->text;
	source->str.len = text_fit(line->file->text, line->file->length, MAX_PATH);
	PUT_LIST(*data, source_paths, 1, sources);
	PUT_FIELD(*f, source_path_id, frame->id);
	if (line->line)
		PUT_FIELD(*f, line_number, line->line);
}

static int stacks_define_frame(struct perfetto *p, struct sequence *s,
			       const struct code_frame *frame)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Frame f = PERFETTO__PROTOS__FRAME__INIT, *frames[] = { &f };
	Perfetto__Protos__InternedString name = PERFETTO__PROTOS__INTERNED_STRING__INIT;
	Perfetto__Protos__InternedString source = name, *names[] = { &name },
					 *sources[] = { &source };
	const struct code_mapping *mapping = frame->mapping;
	const struct name *function = code_frame_function(frame);
	int r = mapping ? id_set_add(&s->interned.mappings, mapping->id) : 0;

	if (r > 0)
		r = stacks_define_mapping(p, s, mapping);
	if (r < 0)
		return r;
	PUT_FIELD(f, iid, frame->id);
	PUT_FIELD(f, rel_pc, frame->rel_pc);
	f.has_mapping_id = mapping != NULL;
	f.mapping_id = mapping ? mapping->id : 0;
	if (function) {
		f.has_function_name_id = name.has_iid = name.has_str = true;
		f.function_name_id = name.iid = frame->id;
		name.str.data = (uint8_t *)function->text;
		name.str.len = text_fit(function->text, function->length, LIMIT_NAME);
		PUT_LIST(data, function_names, 1, names);
	}
	PUT_LIST(data, frames, 1, frames);
	if (mapping && mapping->kind == CODE_PYTHON)
		frame_put_source(frame, &f, &source, &data, sources);
	else
		stacks_remember_frame(p, frame);
	return perfetto_write_interned(p, s, &data);
}

static int stacks_define_callstack(struct perfetto *p, struct sequence *s,
				   const struct callstack *callstack)
{
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__Callstack c = PERFETTO__PROTOS__CALLSTACK__INIT, *stacks[] = { &c };
	uint64_t ids[CALLSTACKS_MAX_DEPTH];
	const struct callstack *at = callstack;
	size_t n = callstack->depth;

	for (; at && n; at = at->caller) {
		int r = id_set_add(&s->interned.frames, at->frame->id);

		if (r > 0)
			r = stacks_define_frame(p, s, at->frame);
		if (r < 0)
			return r;
		ids[--n] = at->frame->id;
	}
	PUT_FIELD(c, iid, callstack->id);
	PUT_LIST(c, frame_ids, callstack->depth, ids);
	PUT_LIST(data, callstacks, 1, stacks);
	return perfetto_write_interned(p, s, &data);
}

uint64_t perfetto_callstack(struct perfetto *p, struct sequence *s,
			    const struct callstack *callstack)
{
	int r;

	if (!callstack)
		return 0;
	r = id_set_add(&s->interned.callstacks, callstack->id);
	if (r > 0) {
		r = stacks_define_callstack(p, s, callstack);
		if (r < 0)
			id_set_remove(&s->interned.callstacks, callstack->id);
	}
	return r < 0 ? 0 : callstack->id;
}

/* --- samples ----------------------------------------------------------------------------------- */

void perfetto_sample_defaults(struct perfetto *p, Perfetto__Protos__PerfSampleDefaults *defaults)
{
	Perfetto__Protos__PerfTimebase *t = &p->timebase;

	if (!p->period_ns)
		return;
	perfetto__protos__perf_timebase__init(t);
	/* Our reader gets the period back by the same division. */
	PUT_FIELD(*t, frequency, (1000000000 + p->period_ns / 2) / p->period_ns);
	PUT_FIELD(*t, counter, COUNTER_CPU_CLOCK);
	defaults->timebase = t;
}

/* Writes the sampling period before the first sample that has it. */
static int stacks_begin_period(struct perfetto *p, const struct sample *sample)
{
	int r;

	if (p->stacks.id && p->period_ns == sample->period_ns)
		return 0;
	p->period_ns = sample->period_ns;
	p->stacks.id = PERFETTO_STACKS;
	r = perfetto_sequence_begin(p, &p->stacks);
	if (r < 0)
		p->stacks.id = 0;
	return r;
}

int perfetto_write_sample(struct perfetto *p, const struct fact *fact)
{
	const struct sample *sample = fact->sample;
	uint8_t *at, *start, *contents;
	uint64_t callstack;
	int r = stacks_begin_period(p, sample);

	if (r < 0)
		return r;
	callstack = perfetto_callstack(p, &p->stacks, fact->callstack);
	at = (uint8_t *)sink_reserve(p->sink, SIZE_SAMPLE);
	if (!at)
		return sink_error(p->sink);
	at = start = wire_open(at, TRACE_PACKET);
	at = packet_put_time(at, &p->stacks, fact->ts_ns);
	at = wire_number(at, PACKET_SEQUENCE, p->stacks.id);
	at = contents = wire_open(at, PACKET_SAMPLE);
	at = wire_number(at, SAMPLE_CPU, sample->cpu);
	at = wire_number(at, SAMPLE_PID, fact->process->pid);
	at = wire_number(at, SAMPLE_TID, fact->thread->tid);
	if (callstack)
		at = wire_number(at, SAMPLE_CALLSTACK, callstack);
	at = wire_number(at, SAMPLE_CPU_MODE,
			 sample->mode == SAMPLE_KERNEL ? MODE_KERNEL : MODE_USER);
	at = wire_close(start, wire_close(contents, at));
	sink_commit(p->sink, at - (start - 2));
	p->packets++;
	return 0;
}

/* --- symbols of frames ------------------------------------------------------------------------- */

static int compare_frames_by_file(const void *a, const void *b)
{
	const struct code_frame *x = *(const struct code_frame *const *)a;
	const struct code_frame *y = *(const struct code_frame *const *)b;

	if (x->mapping->id != y->mapping->id)
		return x->mapping->id < y->mapping->id ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void symbols_fill_lines(const struct code_frame *frame,
			       Perfetto__Protos__AddressSymbols *symbols,
			       Perfetto__Protos__SymbolLine *lines,
			       Perfetto__Protos__SymbolLine **list)
{
	perfetto__protos__address_symbols__init(symbols);
	PUT_FIELD(*symbols, address, frame->rel_pc);
	PUT_LIST(*symbols, lines, frame->n_lines, list);
	for (uint32_t i = 0; i < frame->n_lines; i++) {
		const struct code_line *line = &frame->lines[i];

		list[i] = &lines[i];
		perfetto__protos__symbol_line__init(&lines[i]);
		lines[i].function_name = line->function ? (char *)line->function->text : NULL;
		lines[i].source_file_name = line->file ? (char *)line->file->text : NULL;
		lines[i].has_line_number = line->line != 0;
		lines[i].line_number = line->line;
	}
}

/* All frames belong to one mapping. */
static int stacks_write_module(struct perfetto *p, const struct code_frame *const *frames,
			       uint32_t n)
{
	struct {
		Perfetto__Protos__AddressSymbols symbols[SYMBOLS_IN_PACKET];
		Perfetto__Protos__AddressSymbols *list[SYMBOLS_IN_PACKET];
		Perfetto__Protos__SymbolLine lines[SYMBOLS_IN_PACKET][CALLSTACKS_MAX_LINES];
		Perfetto__Protos__SymbolLine *of[SYMBOLS_IN_PACKET][CALLSTACKS_MAX_LINES];
	} *lists = malloc(sizeof(*lists));
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ModuleSymbols module = PERFETTO__PROTOS__MODULE_SYMBOLS__INIT;
	const struct code_mapping *mapping = frames[0]->mapping;
	char path[MAX_PATH + 2];
	uint8_t bytes[64];
	int r;

	if (!lists)
		return -ENOMEM;
	/* Perfetto's loader adds a slash to paths of mappings that do not begin with one. */
	snprintf(path, sizeof(path), "%s%.*s", code_mapping_path(mapping)[0] == '/' ? "" : "/",
		 MAX_PATH, code_mapping_path(mapping));
	module.path = path;
	module.has_build_id = true;
	module.build_id.data = bytes;
	module.build_id.len = build_id_bytes(mapping->build_id, bytes, sizeof(bytes));
	for (uint32_t i = 0; i < n; i++) {
		lists->list[i] = &lists->symbols[i];
		symbols_fill_lines(frames[i], &lists->symbols[i], lists->lines[i], lists->of[i]);
	}
	PUT_LIST(module, address_symbols, n, lists->list);
	packet.module_symbols = &module;
	r = perfetto_write(p, &packet);
	free(lists);
	return r;
}

int perfetto_write_symbols(struct perfetto *p)
{
	uint32_t i, n, known = 0;
	int r = 0;

	for (i = 0; i < p->n_used; i++) {
		if (p->used[i]->n_lines)
			p->used[known++] = p->used[i];
	}
	if (known)
		qsort(p->used, known, sizeof(*p->used), compare_frames_by_file);
	for (i = 0; i < known && r >= 0; i += n) {
		for (n = 1; i + n < known && n < SYMBOLS_IN_PACKET; n++) {
			if (p->used[i + n]->mapping != p->used[i]->mapping)
				break;
		}
		r = stacks_write_module(p, p->used + i, n);
	}
	p->n_used = 0;
	return r < 0 ? r : 0;
}
