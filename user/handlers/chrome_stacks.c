/* SPDX-License-Identifier: BSD-2-Clause */
#include "handlers/chrome_stacks.h"

#include <inttypes.h>
#include <stdio.h>

/* A function, or a place that has no name. */
struct place {
	const struct code_frame *frame;
	const struct name *function;
};

/* What was inlined there is among them, as in the other format. Innermost first: returns how many. */
static unsigned collect(const struct callstack *callstack, struct place *places, bool *ret_more)
{
	unsigned n = 0;
	uint32_t i;

	for (; callstack; callstack = callstack->caller) {
		const struct code_frame *frame = callstack->frame;

		for (i = 0; i < (frame->n_lines ? frame->n_lines : 1); i++) {
			if (n == CHROME_STACK_NAMES) {
				*ret_more = true;
				return n;
			}
			places[n].frame = frame;
			places[n++].function = frame->n_lines ? frame->lines[i].function : NULL;
		}
	}
	return n;
}

/* The file without its directories. */
static const char *file_of(const struct code_mapping *mapping)
{
	const char *slash;

	if (!mapping || !mapping->path)
		return "";
	slash = strrchr(mapping->path->text, '/');
	return slash && slash[1] ? slash + 1 : mapping->path->text;
}

static void put_text(struct json_writer *j, const char *text, size_t length)
{
	json_put_text(j, text, length, LIMIT_NAME);
	if (text_fit(text, length, LIMIT_NAME) < length)
		json_put(j, TEXT_CUT_MARK);
}

static void put_place(struct json_writer *j, const struct place *place)
{
	const char *file = file_of(place->frame->mapping);
	char address[24];

	json_room(j);
	*j->at++ = '"';
	if (place->function) {
		put_text(j, place->function->text, place->function->length);
	} else {
		put_text(j, file, strlen(file));
		snprintf(address, sizeof(address), "+0x%" PRIx64, place->frame->rel_pc);
		put_text(j, address, strlen(address));
	}
	if (place->frame->mapping && place->frame->mapping->kind == CODE_KERNEL)
		json_put(j, CHROME_KERNEL_MARK);
	*j->at++ = '"';
}

void chrome_put_stack(struct json_writer *j, const struct callstack *callstack)
{
	struct place places[CHROME_STACK_NAMES];
	bool more = false;
	unsigned n;

	if (!callstack)
		return;
	n = collect(callstack, places, &more);
	json_key_text(j, "stack");
	*j->at++ = '[';
	if (more)
		json_put(j, "\"(more)\",");
	while (n-- > 0) {
		put_place(j, &places[n]);
		if (n)
			*j->at++ = ',';
	}
	*j->at++ = ']';
}
