/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entries of .eh_frame and .debug_frame: one for each function (FDE), which refers to one that
 * it shares with others (CIE). unwind_rows.h has the interface.
 */
#include "symbols/unwind_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENCODING_OMITTED = 0xff,
	ENCODING_INDIRECT = 0x80,
	ENCODING_FORMAT = 0x0f,
	ENCODING_RELATIVE = 0x70,
	ENCODING_TO_ITSELF = 0x10,
	/*
	 * Instructions of a shared entry run again for each function, so they must not be many.
	 * Compilers emit about five bytes.
	 */
	MAX_COMMON_PROGRAM = 256,
};

/* --- values -------------------------------------------------------------------------------------- */

uint64_t cfi_read_uleb128(struct cfi_cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->failed = true;
	return 0;
}

int64_t cfi_read_sleb128(struct cfi_cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			value |= ~0ull << (shift + 7);
		return (int64_t)value;
	}
	c->failed = true;
	return 0;
}

struct cfi_cursor cfi_read_block(struct cfi_cursor *c)
{
	uint64_t size = cfi_read_uleb128(c);
	struct cfi_cursor block = { c->at, c->at, c->failed };

	if (size > (uint64_t)(c->end - c->at)) {
		c->failed = true;
		size = 0;
	}
	block.end += size;
	c->at += size;
	return block;
}

static uint64_t sign_extend(uint64_t value, unsigned bits)
{
	const uint64_t sign = 1ull << (bits - 1);

	return (value ^ sign) - sign;
}

static uint64_t read_value(struct cfi_cursor *c, uint8_t format)
{
	switch (format) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return cfi_read_fixed(c, 8);
	case 0x01:
		return cfi_read_uleb128(c);
	case 0x02:
		return cfi_read_fixed(c, 2);
	case 0x03:
		return cfi_read_fixed(c, 4);
	case 0x09:
		return (uint64_t)cfi_read_sleb128(c);
	case 0x0a:
		return sign_extend(cfi_read_fixed(c, 2), 16);
	case 0x0b:
		return sign_extend(cfi_read_fixed(c, 4), 32);
	default:
		c->failed = true;
		return 0;
	}
}

uint64_t cfi_read_encoded(const struct cfi_section *section, struct cfi_cursor *c, uint8_t encoding)
{
	uint64_t from = section->vaddr + (uint64_t)(c->at - section->bytes), value;

	if (encoding == ENCODING_OMITTED)
		return 0;
	value = read_value(c, encoding & ENCODING_FORMAT);
	if (encoding & ENCODING_INDIRECT || !value)
		return 0;
	if ((encoding & ENCODING_RELATIVE) == ENCODING_TO_ITSELF)
		return value + from;
	c->failed |= (encoding & ENCODING_RELATIVE) != 0;
	return value;
}

/* --- entries ------------------------------------------------------------------------------------- */

struct cfi_entry {
	struct cfi_cursor body; /* behind the identifier */
	size_t common;		/* offset of the shared entry */
	bool is_common;
	size_t next; /* offset of the next entry */
};

/* False: the section ends here. */
static bool cfi_read_entry(const struct cfi_section *s, size_t offset, struct cfi_entry *ret)
{
	struct cfi_cursor c = { s->bytes + offset, s->bytes + s->size, false };
	uint64_t length = cfi_read_fixed(&c, 4), id;
	bool is_long = length == UINT32_MAX;
	const uint8_t *id_at;

	if (is_long)
		length = cfi_read_fixed(&c, 8);
	if (c.failed || !length || length > (uint64_t)(c.end - c.at))
		return false;
	c.end = c.at + length;
	ret->next = (size_t)(c.end - s->bytes);
	id_at = c.at;
	id = cfi_read_fixed(&c, is_long ? 8 : 4);
	ret->body = c;
	if (s->is_debug) {
		ret->is_common = id == (is_long ? UINT64_MAX : UINT32_MAX);
		ret->common = id < s->size ? (size_t)id : s->size;
	} else {
		size_t at = (size_t)(id_at - s->bytes);

		ret->is_common = !id;
		ret->common = id <= at ? at - (size_t)id : s->size;
	}
	return !c.failed;
}

/* Returns whether the augmentation is known. */
static bool cfi_read_augmentation(const struct cfi_section *s, const char *text,
				  struct cfi_cursor *c, struct cfi_common *ret)
{
	struct cfi_cursor data;

	ret->is_augmented = text[0] == 'z';
	if (!ret->is_augmented)
		return !text[0];
	data = cfi_read_block(c);
	while (*++text) {
		if (*text == 'R')
			ret->encoding = (uint8_t)cfi_read_fixed(&data, 1);
		else if (*text == 'L')
			cfi_read_fixed(&data, 1);
		else if (*text == 'P')
			cfi_read_encoded(s, &data, (uint8_t)cfi_read_fixed(&data, 1));
		else if (*text == 'S')
			ret->is_signal = true;
		else if (*text == 'B' || *text == 'G')
			continue; /* arm64: with which key return addresses are signed; tagged stacks */
		else
			break;
	}
	return !*text && !data.failed;
}

static bool cfi_read_common_body(const struct cfi_section *s, struct cfi_cursor c,
				 struct cfi_common *ret)
{
	unsigned version = (unsigned)cfi_read_fixed(&c, 1);
	const char *text = (const char *)c.at;
	const uint8_t *end = memchr(c.at, '\0', (size_t)(c.end - c.at));

	if (!end || (version != 1 && version != 3 && version != 4))
		return false;
	c.at = end + 1;
	if (version == 4 && cfi_read_fixed(&c, 2) != sizeof(uint64_t))
		return false;
	ret->code_align = cfi_read_uleb128(&c);
	ret->data_align = cfi_read_sleb128(&c);
	if ((version == 1 ? cfi_read_fixed(&c, 1) : cfi_read_uleb128(&c)) !=
	    (s->is_arm64 ? DWARF_X30 : DWARF_RETURN))
		return false;
	if (!cfi_read_augmentation(s, text, &c, ret))
		return false;
	ret->program = c;
	return !c.failed && c.end - c.at <= MAX_COMMON_PROGRAM;
}

static void cfi_read_common(const struct cfi_section *s, size_t offset, struct cfi_common *ret)
{
	struct cfi_entry entry;

	if (ret->offset == offset + 1)
		return;
	*ret = (struct cfi_common){ .offset = offset + 1 };
	ret->is_usable = offset < s->size && cfi_read_entry(s, offset, &entry) && entry.is_common &&
			 cfi_read_common_body(s, entry.body, ret);
}

static bool cfi_read_function(const struct cfi_section *s, struct cfi_entry *entry,
			      struct cfi_common *common, uint64_t *ret_start, uint64_t *ret_end)
{
	struct cfi_cursor *c = &entry->body;
	uint64_t size;

	cfi_read_common(s, entry->common, common);
	if (!common->is_usable)
		return false;
	*ret_start = cfi_read_encoded(s, c, common->encoding);
	size = read_value(c, common->encoding & ENCODING_FORMAT);
	*ret_end = *ret_start + size;
	if (common->is_augmented)
		cfi_read_block(c);
	return !c->failed && size && *ret_end > *ret_start;
}

bool cfi_function_program(const struct cfi_section *section, const struct cfi_function *function,
			  struct cfi_common *common, struct cfi_cursor *ret_program)
{
	struct cfi_entry entry;
	uint64_t start, end;

	if (!cfi_read_entry(section, function->offset, &entry) ||
	    !cfi_read_function(section, &entry, common, &start, &end))
		return false;
	*ret_program = entry.body;
	return true;
}

static bool add_function(struct cfi_function **list, size_t *n, const struct cfi_function *function)
{
	struct cfi_function *grown;

	/* Doubled whenever it is full. */
	if (!(*n & (*n - 1))) {
		grown = realloc(*list, (*n ? 2 * *n : 1) * sizeof(**list));
		if (!grown)
			return false;
		*list = grown;
	}
	(*list)[(*n)++] = *function;
	return true;
}

int64_t cfi_list_functions(const struct cfi_section *section, uint64_t low, uint64_t high,
			   struct cfi_function **ret)
{
	struct cfi_common common = { .offset = 0 };
	struct cfi_function f = { .offset = 0 }, *list = NULL;
	struct cfi_entry entry;
	size_t n = 0;

	for (; f.offset < section->size && cfi_read_entry(section, f.offset, &entry);
	     f.offset = entry.next) {
		if (entry.is_common ||
		    !cfi_read_function(section, &entry, &common, &f.start, &f.end) ||
		    f.start < low || f.end > high)
			continue;
		if (n == UNWIND_MAX_FUNCTIONS || !add_function(&list, &n, &f)) {
			free(list);
			return n == UNWIND_MAX_FUNCTIONS ? -E2BIG : -ENOMEM;
		}
	}
	*ret = list;
	return (int64_t)n;
}
