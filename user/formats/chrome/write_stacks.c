/* SPDX-License-Identifier: BSD-2-Clause */
/* Call stacks in Chrome JSON: see writer.h for why they are an argument. */
#include "formats/chrome/writer.h"

#include <inttypes.h>
#include <stdio.h>

/* A function, which may have been inlined into the frame, or an address without a symbol. */
struct stack_entry {
	const struct code_frame *frame;
	const struct name *function;
};

/* Lists the functions, innermost first, with inlined ones as in the Perfetto trace. Returns how many there are. */
static unsigned stack_collect_entries(const struct callstack *callstack,
				      struct stack_entry *entries, bool *ret_more)
{
	unsigned n = 0;

	for (; callstack; callstack = callstack->caller) {
		const struct code_frame *frame = callstack->frame;

		for (uint32_t i = 0; i < (frame->n_lines ? frame->n_lines : 1); i++) {
			if (n == CHROME_STACK_NAMES) {
				*ret_more = true;
				return n;
			}
			entries[n].frame = frame;
			entries[n++].function = frame->n_lines ? frame->lines[i].function : NULL;
		}
	}
	return n;
}

/* The name of the file without its directories. */
static const char *mapping_file_name(const struct code_mapping *mapping)
{
	const char *slash;

	if (!mapping || !mapping->path)
		return "";
	slash = strrchr(mapping->path->text, '/');
	return slash && slash[1] ? slash + 1 : mapping->path->text;
}

static char *stack_put_text(char *at, const char *text, size_t length)
{
	at = json_text(at, text, length, LIMIT_NAME);
	if (text_fit(text, length, LIMIT_NAME) < length)
		at = json_literal(at, TEXT_CUT_MARK);
	return at;
}

static char *stack_put_entry(struct json_writer *j, char *at, const struct stack_entry *stack_entry)
{
	const char *file = mapping_file_name(stack_entry->frame->mapping);
	char address[24];

	at = json_reserve(j, at);
	*at++ = '"';
	if (stack_entry->function) {
		at = stack_put_text(at, stack_entry->function->text, stack_entry->function->length);
	} else {
		at = stack_put_text(at, file, strlen(file));
		snprintf(address, sizeof(address), "+0x%" PRIx64, stack_entry->frame->rel_pc);
		at = stack_put_text(at, address, strlen(address));
	}
	if (stack_entry->frame->mapping && stack_entry->frame->mapping->kind == CODE_KERNEL)
		at = json_literal(at, CHROME_KERNEL_MARK);
	*at++ = '"';
	return at;
}

char *chrome_put_stack(struct json_writer *j, char *at, const struct callstack *callstack)
{
	struct stack_entry entries[CHROME_STACK_NAMES];
	bool more = false;
	unsigned n = stack_collect_entries(callstack, entries, &more);

	at = json_key_text(j, at, "stack");
	*at++ = '[';
	if (more)
		at = json_literal(at, "\"(more)\",");
	while (n-- > 0) {
		at = stack_put_entry(j, at, &entries[n]);
		if (n)
			*at++ = ',';
	}
	*at++ = ']';
	return at;
}
