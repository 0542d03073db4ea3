/* SPDX-License-Identifier: BSD-2-Clause */
/* Code objects of CPython: the name of the function, its file, and the line of an instruction. */
#include "capture/stacks/python_layout.h"

#include <stdlib.h>
#include <string.h>

struct reading {
	const struct python_layout *layout;
	python_read_fn read;
	void *context;
};

/* --- text -------------------------------------------------------------------------------------- */

/* Fields of the state of a text; all of them are the same from 3.11 to 3.13. */
#define TEXT_KIND(state) ((state) >> 2 & 7) /* bytes of a character: 1, 2 or 4 */
#define TEXT_COMPACT	 (1u << 5)
#define TEXT_ASCII	 (1u << 6)
#define MAX_TEXT_READ	 (4 * PYTHON_MAX_PATH)

static size_t put_utf8(char *out, uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (code >> 18 & 7));
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* Characters of `kind` bytes; what does not fit is cut between two of them. */
static void text_to_utf8(const uint8_t *from, size_t length, unsigned kind, char *out, size_t size)
{
	size_t i, n = 0;

	for (i = 0; i < length && n + 4 < size; i++) {
		uint32_t code = 0;

		memcpy(&code, from + i * kind, kind);
		/* A name ends at a NUL everywhere else; what is no character is made visible by the interning. */
		if (!code)
			break;
		n += put_utf8(out + n, code);
	}
	out[n] = '\0';
}

/* Reads a text of at most `size` - 1 bytes; the rest is cut. */
static bool text_read(const struct reading *r, uint64_t address, char *out, size_t size)
{
	const struct python_layout *l = r->layout;
	uint8_t bytes[MAX_TEXT_READ];
	uint32_t state;
	uint64_t length;
	unsigned kind;

	if (!r->read(r->context, address + l->text_length, &length, sizeof(length)) ||
	    !r->read(r->context, address + l->text_state, &state, sizeof(state)))
		return false;
	kind = TEXT_KIND(state);
	if (!(state & TEXT_COMPACT) || (kind != 1 && kind != 2 && kind != 4) || !length)
		return false;
	if (length > (size - 1) || length > MAX_TEXT_READ / 4)
		length = size - 1 < MAX_TEXT_READ / 4 ? size - 1 : MAX_TEXT_READ / 4;
	address += state & TEXT_ASCII ? l->text_ascii : l->text_wide;
	if (!r->read(r->context, address, bytes, length * kind))
		return false;
	text_to_utf8(bytes, length, kind, out, size);
	return true;
}

/* --- code objects ------------------------------------------------------------------------------ */

static bool table_read(const struct reading *r, uint64_t address, struct python_code *code)
{
	const struct python_layout *l = r->layout;
	uint64_t size;

	if (!r->read(r->context, address + l->bytes_size, &size, sizeof(size)))
		return false;
	if (!size || size > PYTHON_MAX_TABLE)
		return true;
	code->table = malloc(size);
	if (!code->table)
		return true;
	code->table_size = size;
	return r->read(r->context, address + l->bytes_data, code->table, size);
}

static bool code_read_members(const struct reading *r, uint64_t address, uint32_t check,
			      struct python_code *ret)
{
	const struct python_layout *l = r->layout;
	uint64_t identity[2], file;
	int32_t first;

	if (!r->read(r->context, address + l->setup.identity, identity, sizeof(identity)) ||
	    python_check(identity[0], identity[1]) != check ||
	    !r->read(r->context, address + l->filename, &file, sizeof(file)) ||
	    !r->read(r->context, address + l->first_line, &first, sizeof(first)))
		return false;
	ret->first_line = first > 0 ? (uint32_t)first : 0;
	return text_read(r, identity[0], ret->function, sizeof(ret->function)) &&
	       text_read(r, file, ret->file, sizeof(ret->file)) && table_read(r, identity[1], ret);
}

bool python_code_read(const struct python_layout *layout, uint64_t address, uint32_t check,
		      python_read_fn read, void *context, struct python_code *ret)
{
	const struct reading r = { layout, read, context };

	memset(ret, 0, sizeof(*ret));
	if (code_read_members(&r, address, check, ret))
		return true;
	free(ret->table);
	memset(ret, 0, sizeof(*ret));
	return false;
}

/* --- lines ------------------------------------------------------------------------------------- */

/*
 * The table (Objects/locations.md of CPython) has an entry for each run of instructions: a byte with a code and the
 * number of instructions, and then bytes whose highest bit is 0.
 */
#define LOCATION_BEGINS	  0x80
#define LOCATION_CODE(b)  ((b) >> 3 & 15)
#define LOCATION_UNITS(b) (((b)&7) + 1)

enum {
	LOCATION_ONE_LINE = 10, /* 10 to 12: so many lines on */
	LOCATION_NO_COLUMN = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
	UNIT_BYTES = 2,
};

/* Six bits a byte, the lowest first; the lowest bit of all is the sign. */
static int64_t location_read_signed(const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;
	unsigned shift = 0;

	while (at < end && shift < 36) {
		value |= (uint64_t)(*at & 0x3f) << shift;
		shift += 6;
		if (!(*at++ & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* How many lines on the entry is. */
static int64_t location_lines(const uint8_t *at, const uint8_t *end)
{
	unsigned code = LOCATION_CODE(*at);

	switch (code) {
	case LOCATION_NONE:
		return 0;
	case LOCATION_NO_COLUMN:
	case LOCATION_LONG:
		return location_read_signed(at + 1, end);
	default:
		return code < LOCATION_ONE_LINE ? 0 : code - LOCATION_ONE_LINE;
	}
}

uint32_t python_code_line(const uint8_t *table, size_t size, uint32_t first_line, int32_t offset)
{
	const uint8_t *at = table, *end = size ? table + size : table;
	int64_t line = first_line, left = offset / UNIT_BYTES;

	if (offset < 0)
		return first_line;
	while (at < end && *at & LOCATION_BEGINS) {
		line += location_lines(at, end);
		left -= LOCATION_UNITS(*at);
		if (left < 0)
			return LOCATION_CODE(*at) == LOCATION_NONE || line <= 0 || line > INT32_MAX
				       ? 0
				       : (uint32_t)line;
		for (at++; at < end && !(*at & LOCATION_BEGINS); at++)
			;
	}
	return 0;
}
