/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/unwind_table.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER_SIZE = 12, /* of .eh_frame_hdr, in the one form that linkers emit */
	MAX_CALL_SITES = 65536,

	ENCODING_OMITTED = 0xff,
	ENCODING_INDIRECT = 0x80,
	ENCODING_FORMAT = 0x0f,
	ENCODING_RELATIVE = 0x70,
	ENCODING_TO_ITSELF = 0x10,
};

/* Bytes that cannot change while the program is executed, one after the other. */
struct cursor {
	const struct elf_file *elf;
	uint64_t vaddr;
	uint64_t have; /* of buffer, those from `first` on */
	uint64_t first;
	uint8_t buffer[256];
	bool failed;
};

static void start_at(struct cursor *c, const struct elf_file *elf, uint64_t vaddr)
{
	c->elf = elf;
	c->vaddr = vaddr;
	c->have = 0;
	c->first = 0;
	c->failed = false;
}

static uint8_t take(struct cursor *c)
{
	size_t n;

	if (c->vaddr - c->first >= c->have) {
		for (n = sizeof(c->buffer); n && elf_file_bytes(c->elf, c->vaddr, c->buffer, n);)
			n /= 2;
		c->first = c->vaddr;
		c->have = n;
	}
	if (!c->have) {
		c->failed = true;
		return 0;
	}
	return c->buffer[c->vaddr++ - c->first];
}

static uint64_t take_fixed(struct cursor *c, unsigned size)
{
	uint64_t value = 0;
	unsigned i;

	for (i = 0; i < size; i++)
		value |= (uint64_t)take(c) << (8 * i);
	return value;
}

static uint64_t take_leb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift;
	uint8_t byte;

	for (shift = 0; shift < 64; shift += 7) {
		byte = take(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->failed = true;
	return 0;
}

/* 0 for what is of no use: addresses that are kept elsewhere. */
static uint64_t take_encoded(struct cursor *c, uint8_t encoding)
{
	uint64_t from = c->vaddr, value;

	if (encoding == ENCODING_OMITTED)
		return 0;
	switch (encoding & ENCODING_FORMAT) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = take_fixed(c, 8);
		break;
	case 0x01:
		value = take_leb(c);
		break;
	case 0x03:
		value = take_fixed(c, 4);
		break;
	case 0x0b:
		value = (uint64_t)(int64_t)(int32_t)take_fixed(c, 4);
		break;
	default:
		c->failed = true;
		return 0;
	}
	if (encoding & ENCODING_INDIRECT || !value)
		return 0;
	if ((encoding & ENCODING_RELATIVE) == ENCODING_TO_ITSELF)
		return value + from;
	c->failed |= (encoding & ENCODING_RELATIVE) != 0;
	return value;
}

/* --- which code ---------------------------------------------------------------------------------- */

void unwind_table_open(struct unwind_table *t, const struct elf_file *elf)
{
	static const uint8_t form[] = { 1, 0x1b, 0x03, 0x3b };
	uint8_t header[HEADER_SIZE];
	Elf64_Shdr section;

	memset(t, 0, sizeof(*t));
	if (elf_file_section(elf, SHT_PROGBITS, ".eh_frame_hdr", &section) ||
	    section.sh_size < sizeof(header) ||
	    elf_file_bytes(elf, section.sh_addr, header, sizeof(header)) ||
	    memcmp(header, form, sizeof(form)))
		return;
	memcpy(&t->n, header + 8, 4);
	if (t->n > (section.sh_size - sizeof(header)) / 8)
		t->n = (uint32_t)((section.sh_size - sizeof(header)) / 8);
	t->vaddr = section.sh_addr;
}

/* Of the list: the address of the code, and of what is said of it. */
static int read_entry(const struct unwind_table *t, const struct elf_file *elf, uint32_t i,
		      uint64_t *code, uint64_t *said)
{
	int32_t entry[2];

	if (elf_file_bytes(elf, t->vaddr + HEADER_SIZE + 8ull * i, entry, sizeof(entry)))
		return -EINVAL;
	*code = t->vaddr + (uint64_t)(int64_t)entry[0];
	*said = t->vaddr + (uint64_t)(int64_t)entry[1];
	return 0;
}

/* What many of them have in common (a CIE): how the addresses in them are written. */
static int read_common(const struct elf_file *elf, uint64_t vaddr, uint8_t *code, uint8_t *lsda,
		       bool *augmented)
{
	char said[8] = "";
	struct cursor c;
	uint8_t version;
	unsigned i;

	*code = 0;
	*lsda = ENCODING_OMITTED;
	start_at(&c, elf, vaddr);
	take_fixed(&c, 4);
	if (take_fixed(&c, 4))
		return -EINVAL;
	version = take(&c);
	if (version != 1 && version != 3)
		return -EINVAL;
	for (i = 0; i < sizeof(said); i++) {
		said[i] = (char)take(&c);
		if (!said[i])
			break;
	}
	if (i == sizeof(said) || (said[0] && said[0] != 'z'))
		return -EINVAL;
	take_leb(&c);
	take_leb(&c);
	if (version == 1)
		take(&c);
	else
		take_leb(&c);
	*augmented = said[0] == 'z';
	if (*augmented)
		take_leb(&c);
	for (i = 1; *augmented && said[i]; i++) {
		if (said[i] == 'R')
			*code = take(&c);
		else if (said[i] == 'L')
			*lsda = take(&c);
		else if (said[i] == 'P')
			take_encoded(&c, take(&c));
		else if (said[i] != 'S' && said[i] != 'B')
			return -EINVAL;
	}
	return c.failed ? -EINVAL : 0;
}

static int read_said(const struct elf_file *elf, uint64_t vaddr, struct unwind_range *ret)
{
	uint8_t code, lsda;
	bool augmented;
	struct cursor c;
	uint64_t common;
	uint32_t length;

	start_at(&c, elf, vaddr);
	length = (uint32_t)take_fixed(&c, 4);
	common = take_fixed(&c, 4);
	if (c.failed || !common || length == UINT32_MAX ||
	    read_common(elf, vaddr + 4 - common, &code, &lsda, &augmented))
		return -EINVAL;
	ret->vaddr = take_encoded(&c, code);
	ret->size = take_encoded(&c, code & ENCODING_FORMAT);
	ret->lsda = 0;
	if (augmented) {
		take_leb(&c);
		ret->lsda = take_encoded(&c, lsda);
	}
	return c.failed ? -EINVAL : 0;
}

int unwind_table_find(const struct unwind_table *t, const struct elf_file *elf, uint64_t vaddr,
		      struct unwind_range *ret)
{
	uint32_t low = 0, high = t->n;
	uint64_t code, said;
	int error;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (read_entry(t, elf, middle, &code, &said))
			return -EINVAL;
		if (code <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	error = read_entry(t, elf, low - 1, &code, &said);
	if (!error)
		error = read_said(elf, said, ret);
	if (!error && vaddr - ret->vaddr >= ret->size)
		error = -ENOENT;
	return error;
}

/* --- landing pads -------------------------------------------------------------------------------- */

int unwind_landing_pads(const struct elf_file *elf, const struct unwind_range *range,
			uint64_t *pads, unsigned n)
{
	uint64_t base = range->vaddr, end, pad;
	unsigned i, found = 0;
	struct cursor c;
	uint8_t encoding;

	if (!range->lsda)
		return 0;
	start_at(&c, elf, range->lsda);
	encoding = take(&c);
	if (encoding != ENCODING_OMITTED)
		base = take_encoded(&c, encoding);
	if (take(&c) != ENCODING_OMITTED)
		take_leb(&c);
	encoding = take(&c);
	end = take_leb(&c);
	if (c.failed || end > UINT64_MAX - c.vaddr || encoding & ~ENCODING_FORMAT)
		return -EINVAL;
	end += c.vaddr;
	for (i = 0; c.vaddr < end; i++) {
		take_encoded(&c, encoding);
		take_encoded(&c, encoding);
		pad = take_encoded(&c, encoding);
		take_leb(&c);
		if (c.failed || i == MAX_CALL_SITES || found == n)
			return -EINVAL;
		if (pad && (!found || pads[found - 1] != base + pad))
			pads[found++] = base + pad;
	}
	return (int)found;
}
