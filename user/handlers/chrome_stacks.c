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

static char *put_text(char *at, const char *text, size_t length)
{
	at = json_text(at, text, length, LIMIT_NAME);
	if (text_fit(text, length, LIMIT_NAME) < length)
		at = json_literal(at, TEXT_CUT_MARK);
	return at;
}

static char *put_place(struct json_writer *j, char *at, const struct place *place)
{
	const char *file = file_of(place->frame->mapping);
	char address[24];

	at = json_room(j, at);
	*at++ = '"';
	if (place->function) {
		at = put_text(at, place->function->text, place->function->length);
	} else {
		at = put_text(at, file, strlen(file));
		snprintf(address, sizeof(address), "+0x%" PRIx64, place->frame->rel_pc);
		at = put_text(at, address, strlen(address));
	}
	if (place->frame->mapping && place->frame->mapping->kind == CODE_KERNEL)
		at = json_literal(at, CHROME_KERNEL_MARK);
	*at++ = '"';
	return at;
}

char *chrome_put_stack(struct json_writer *j, char *at, const struct callstack *callstack)
{
	struct place places[CHROME_STACK_NAMES];
	bool more = false;
	unsigned n = collect(callstack, places, &more);

	at = json_key_text(j, at, "stack");
	*at++ = '[';
	if (more)
		at = json_literal(at, "\"(more)\",");
	while (n-- > 0) {
		at = put_place(j, at, &places[n]);
		if (n)
			*at++ = ',';
	}
	*at++ = ']';
	return at;
}
