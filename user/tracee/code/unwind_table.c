/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .eh_frame_hdr is a list of functions sorted by address. Each entry leads to an FDE of .eh_frame, which has the range
 * of the function, and this to a CIE, which has how the addresses in FDEs are encoded.
 */
#include "tracee/code/unwind_table.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER_SIZE = 12, /* of .eh_frame_hdr, in the only form that linkers emit */
	MAX_CALL_SITES = 65536,

	ENCODING_OMITTED = 0xff,
	ENCODING_INDIRECT = 0x80,
	ENCODING_FORMAT = 0x0f,
	ENCODING_RELATIVE = 0x70,
	ENCODING_TO_ITSELF = 0x10,
};

/* Reads bytes of segments that are not writable. `failed` is sticky, so callers check it once at the end. */
struct eh_cursor {
	const struct elf_file *elf;
	uint64_t vaddr;
	uint64_t have; /* bytes in the buffer, from address `first` on */
	uint64_t first;
	uint8_t buffer[256];
	bool failed;
};

static void eh_start(struct eh_cursor *c, const struct elf_file *elf, uint64_t vaddr)
{
	c->elf = elf;
	c->vaddr = vaddr;
	c->have = 0;
	c->first = 0;
	c->failed = false;
}

static uint8_t eh_read_byte(struct eh_cursor *c)
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

static uint64_t eh_read_fixed(struct eh_cursor *c, unsigned size)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)eh_read_byte(c) << (8 * i);
	return value;
}

static uint64_t eh_read_uleb128(struct eh_cursor *c)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		byte = eh_read_byte(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->failed = true;
	return 0;
}

/* Returns 0 for an omitted or an indirect address, which nobody here needs. */
static uint64_t eh_read_encoded(struct eh_cursor *c, uint8_t encoding)
{
	uint64_t from = c->vaddr, value;

	if (encoding == ENCODING_OMITTED)
		return 0;
	switch (encoding & ENCODING_FORMAT) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = eh_read_fixed(c, 8);
		break;
	case 0x01:
		value = eh_read_uleb128(c);
		break;
	case 0x03:
		value = eh_read_fixed(c, 4);
		break;
	case 0x0b:
		value = (uint64_t)(int64_t)(int32_t)eh_read_fixed(c, 4);
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

/* --- functions ----------------------------------------------------------------------------------- */

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

/* An entry of the list: the address of the code and of its FDE. */
static int eh_read_entry(const struct unwind_table *t, const struct elf_file *elf, uint32_t i,
			 uint64_t *code, uint64_t *fde)
{
	int32_t entry[2];

	if (elf_file_bytes(elf, t->vaddr + HEADER_SIZE + 8ull * i, entry, sizeof(entry)))
		return -EINVAL;
	*code = t->vaddr + (uint64_t)(int64_t)entry[0];
	*fde = t->vaddr + (uint64_t)(int64_t)entry[1];
	return 0;
}

/* Reads the encodings of the addresses in FDEs from the CIE. */
static int eh_read_cie(const struct elf_file *elf, uint64_t vaddr, uint8_t *code, uint8_t *lsda,
		       bool *augmented)
{
	char augmentation[8] = "";
	struct eh_cursor c;
	uint8_t version;
	unsigned i;

	*code = 0;
	*lsda = ENCODING_OMITTED;
	eh_start(&c, elf, vaddr);
	eh_read_fixed(&c, 4);
	if (eh_read_fixed(&c, 4))
		return -EINVAL;
	version = eh_read_byte(&c);
	if (version != 1 && version != 3)
		return -EINVAL;
	for (i = 0; i < sizeof(augmentation); i++) {
		augmentation[i] = (char)eh_read_byte(&c);
		if (!augmentation[i])
			break;
	}
	if (i == sizeof(augmentation) || (augmentation[0] && augmentation[0] != 'z'))
		return -EINVAL;
	eh_read_uleb128(&c);
	eh_read_uleb128(&c);
	if (version == 1)
		eh_read_byte(&c);
	else
		eh_read_uleb128(&c);
	*augmented = augmentation[0] == 'z';
	if (*augmented)
		eh_read_uleb128(&c);
	for (i = 1; *augmented && augmentation[i]; i++) {
		if (augmentation[i] == 'R')
			*code = eh_read_byte(&c);
		else if (augmentation[i] == 'L')
			*lsda = eh_read_byte(&c);
		else if (augmentation[i] == 'P')
			eh_read_encoded(&c, eh_read_byte(&c));
		else if (augmentation[i] != 'S' && augmentation[i] != 'B')
			return -EINVAL;
	}
	return c.failed ? -EINVAL : 0;
}

static int eh_read_fde(const struct elf_file *elf, uint64_t vaddr, struct unwind_range *ret)
{
	uint8_t code, lsda;
	bool augmented;
	struct eh_cursor c;
	uint64_t common;
	uint32_t length;

	eh_start(&c, elf, vaddr);
	length = (uint32_t)eh_read_fixed(&c, 4);
	common = eh_read_fixed(&c, 4);
	if (c.failed || !common || length == UINT32_MAX ||
	    eh_read_cie(elf, vaddr + 4 - common, &code, &lsda, &augmented))
		return -EINVAL;
	ret->vaddr = eh_read_encoded(&c, code);
	ret->size = eh_read_encoded(&c, code & ENCODING_FORMAT);
	ret->lsda = 0;
	if (augmented) {
		eh_read_uleb128(&c);
		ret->lsda = eh_read_encoded(&c, lsda);
	}
	return c.failed ? -EINVAL : 0;
}

int unwind_table_find(const struct unwind_table *t, const struct elf_file *elf, uint64_t vaddr,
		      struct unwind_range *ret)
{
	uint32_t low = 0, high = t->n;
	uint64_t code, fde;
	int error;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (eh_read_entry(t, elf, middle, &code, &fde))
			return -EINVAL;
		if (code <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	error = eh_read_entry(t, elf, low - 1, &code, &fde);
	error = error ?: eh_read_fde(elf, fde, ret);
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
	struct eh_cursor c;
	uint8_t encoding;

	if (!range->lsda)
		return 0;
	eh_start(&c, elf, range->lsda);
	encoding = eh_read_byte(&c);
	if (encoding != ENCODING_OMITTED)
		base = eh_read_encoded(&c, encoding);
	if (eh_read_byte(&c) != ENCODING_OMITTED)
		eh_read_uleb128(&c);
	encoding = eh_read_byte(&c);
	end = eh_read_uleb128(&c);
	if (c.failed || end > UINT64_MAX - c.vaddr || encoding & ~ENCODING_FORMAT)
		return -EINVAL;
	end += c.vaddr;
	for (i = 0; c.vaddr < end; i++) {
		eh_read_encoded(&c, encoding);
		eh_read_encoded(&c, encoding);
		pad = eh_read_encoded(&c, encoding);
		eh_read_uleb128(&c);
		if (c.failed || i == MAX_CALL_SITES || found == n)
			return -EINVAL;
		if (pad && (!found || pads[found - 1] != base + pad))
			pads[found++] = base + pad;
	}
	return (int)found;
}
