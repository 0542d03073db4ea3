/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An instruction consists of prefixes, an opcode of one of several maps, and, depending on the opcode, a ModRM byte
 * with an optional SIB byte and displacement, and an immediate value. The maps are those of Intel's manual (volume 2,
 * appendix A).
 */
#include "tracee/code/x86_instruction.h"

#include <stdbool.h>
#include <string.h>

/*
 * What follows an opcode:
 *	.	nothing
 *	b w z	an immediate value of 8, 16, 32 bits; z is 16 bits after the prefix 66
 *	v	the same as z, or 64 bits with REX.W
 *	o	an address of 64 bits
 *	e	w and b
 *	j J	a jump of 8, of 32 bits
 *	m i I	ModRM; ModRM and b; ModRM and z
 *	0	ModRM with 0 in its field reg
 *	3 7	ModRM, and if its reg is 0 or 1 (test), b (3) or z (7)
 *	4 5	ModRM, whose reg selects inc, dec, and (5) call, jmp, push
 *	p	a prefix
 *	space	refused
 */
static const char one_byte[256 + 1] = "mmmmbz  mmmmbz  " /* 00 */
				      "mmmmbz  mmmmbz  "
				      "mmmmbzp mmmmbzp " /* 20 */
				      "mmmmbzp mmmmbzp "
				      "                " /* 40 */
				      "................"
				      "   mppppzIbi    " /* 60 */
				      "jjjjjjjjjjjjjjjj"
				      "iI immmmmmmmmmm0" /* 80 */
				      ".......... ....."
				      "oooo....bz......" /* a0 */
				      "bbbbbbbbvvvvvvvv"
				      "iiw.  iIe.  .   " /* c0 */
				      "mmmm   .mmmmmmmm"
				      "jjjj    JJ j    " /* e0 */
				      "p pp..37..  ..45";

/* After the byte 0f. */
static const char two_bytes[256 + 1] = " m m .     . m. " /* 00 */
				       "mmmmmmmmmmmmmmmm"
				       "        mmmmmmmm" /* 20 */
				       " . .            "
				       "mmmmmmmmmmmmmmmm" /* 40 */
				       "mmmmmmmmmmmmmmmm"
				       "mmmmmmmmmmmmmmmm" /* 60 */
				       "iiiimmm.    mmmm"
				       "JJJJJJJJJJJJJJJJ" /* 80 */
				       "mmmmmmmmmmmmmmmm"
				       "...mim  .. mimmm" /* a0 */
				       "mmmmmmmmmmimmmmm"
				       "mmimiiim........" /* c0 */
				       "mmmmmmmmmmmmmmmm"
				       "mmmmmmmmmmmmmmmm" /* e0 */
				       "mmmmmmmmmmmmmmmm";

enum map {
	ONE_BYTE,
	TWO_BYTES,
	MAP_38,
	MAP_3A
};

struct decoder {
	const uint8_t *bytes;
	size_t n; /* available bytes */
	size_t at;
	bool word, address, segment, other_prefix; /* 66; 67; 64 or 65; f0, f2, f3 */
	bool lock, hint;			   /* f0; 26, 2e, 36, 3e */
	uint8_t rex;
	bool vector; /* VEX or EVEX */
	enum map map;
	uint8_t opcode;
	uint8_t modrm;
	struct usdt_arg *operand;
};

/* Returns 0 beyond the end; x86_decode() then refuses the instruction by its length. */
static uint8_t x86_read_byte(struct decoder *d)
{
	uint8_t byte = d->at < d->n ? d->bytes[d->at] : 0;

	d->at++;
	return byte;
}

static int32_t x86_read_signed(struct decoder *d, unsigned size)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value |= (uint32_t)x86_read_byte(d) << (8 * i);
	return size == 1 ? (int8_t)value : (int32_t)value;
}

static void x86_decode_prefixes(struct decoder *d)
{
	while (d->at < d->n) {
		uint8_t byte = d->bytes[d->at];

		if (one_byte[byte] != 'p')
			break;
		d->word |= byte == 0x66;
		d->address |= byte == 0x67;
		d->segment |= byte == 0x64 || byte == 0x65;
		d->other_prefix |= byte >= 0xf0;
		d->lock |= byte == 0xf0;
		d->hint |= byte < 0x40;
		d->at++;
	}
	if (d->at < d->n && (d->bytes[d->at] & 0xf0) == 0x40)
		d->rex = x86_read_byte(d);
}

/* VEX: c5 and one byte, c4 and two. EVEX: 62 and three. False: an undefined encoding. */
static bool x86_decode_vex(struct decoder *d, uint8_t first)
{
	unsigned map = 1;
	uint8_t byte;

	d->vector = true;
	if (d->word || d->other_prefix || d->rex)
		return false;
	byte = x86_read_byte(d);
	if (first == 0xc4) {
		map = byte & 0x1f;
		x86_read_byte(d);
	} else if (first == 0x62) {
		map = byte & 0x0f;
		if (!(x86_read_byte(d) & 4))
			return false;
		x86_read_byte(d);
	}
	d->opcode = x86_read_byte(d);
	/* Maps 5 and 6 exist in EVEX only, for 16-bit numbers, and have no immediate values. */
	if (first == 0x62 && (map == 5 || map == 6))
		map = MAP_38;
	d->map = map;
	return map >= TWO_BYTES && map <= MAP_3A;
}

static bool x86_decode_opcode(struct decoder *d)
{
	uint8_t byte = x86_read_byte(d);

	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return x86_decode_vex(d, byte);
	d->map = ONE_BYTE;
	if (byte == 0x0f) {
		d->map = TWO_BYTES;
		byte = x86_read_byte(d);
		if (byte == 0x38 || byte == 0x3a) {
			d->map = byte == 0x38 ? MAP_38 : MAP_3A;
			byte = x86_read_byte(d);
		}
	}
	d->opcode = byte;
	return true;
}

/* Decodes the operand of ModRM with SIB and displacement. */
static void x86_decode_modrm(struct decoder *d)
{
	struct usdt_arg *a = d->operand;
	unsigned mod, rm;

	d->modrm = x86_read_byte(d);
	mod = d->modrm >> 6;
	rm = d->modrm & 7;
	a->bits = 64;
	a->index = USDT_NO_REGISTER;
	a->form = USDT_MEMORY;
	a->reg = (uint8_t)(rm | (d->rex & 1) << 3);
	if (mod == 3) {
		a->form = USDT_REGISTER;
		return;
	}
	if (rm == 4) {
		uint8_t sib = x86_read_byte(d);
		uint8_t index = (uint8_t)((sib >> 3 & 7) | (d->rex & 2) << 2);

		a->reg = (uint8_t)((sib & 7) | (d->rex & 1) << 3);
		if (index != 4) {
			a->index = index;
			a->scale = sib >> 6;
		}
		if ((sib & 7) == 5 && mod == 0) {
			a->reg = USDT_NO_REGISTER;
			a->offset = x86_read_signed(d, 4);
		}
	} else if (rm == 5 && mod == 0) {
		a->form = USDT_RELATIVE;
		a->offset = x86_read_signed(d, 4);
	}
	if (mod)
		a->offset = x86_read_signed(d, mod == 1 ? 1 : 4);
	/* Operands with segments or 32-bit addresses are not evaluated. */
	if (d->segment || d->address)
		a->form = USDT_UNREADABLE;
}

static char x86_opcode_form(const struct decoder *d)
{
	switch (d->map) {
	case ONE_BYTE:
		return one_byte[d->opcode];
	case TWO_BYTES:
		/* vzeroupper has no ModRM; all others have, even those with the opcodes of jumps. */
		if (d->vector)
			return d->opcode == 0x77 ? '.' : two_bytes[d->opcode] == 'i' ? 'i' : 'm';
		return two_bytes[d->opcode];
	case MAP_38:
		return 'm';
	case MAP_3A:
		return 'i';
	}
	return ' ';
}

static bool x86_decode_rest(struct decoder *d, struct x86_instruction *x)
{
	unsigned z = d->word && !(d->rex & 8) ? 2 : 4, reg;
	char what = x86_opcode_form(d);

	if (what && strchr("miI03745", what))
		x86_decode_modrm(d);
	reg = d->modrm >> 3 & 7;
	switch (what) {
	case '.':
	case 'm':
		return true;
	case '0':
		return reg == 0;
	case 'b':
	case 'i':
		x->value = x86_read_byte(d);
		return true;
	case 'w':
		d->at += 2;
		return true;
	case 'e':
		d->at += 3;
		return true;
	case 'z':
	case 'I':
		x->value = (uint32_t)x86_read_signed(d, z);
		x->distance = (int32_t)x->value;
		return true;
	case 'v':
		d->at += d->rex & 8 ? 8 : z;
		return true;
	case 'o':
		d->at += d->address ? 4 : 8;
		return true;
	case '3':
		d->at += reg < 2 ? 1 : 0;
		return true;
	case '7':
		d->at += reg < 2 ? z : 0;
		return true;
	case '4':
		return reg < 2;
	case '5':
		return reg != 3 && reg != 5 && reg != 7;
	case 'j':
	case 'J':
		x->distance = x86_read_signed(d, what == 'j' ? 1 : 4);
		return true;
	}
	return false;
}

/* Sets the control flow. False: a jump with a prefix that processors handle differently or ignore. */
static bool x86_find_flow(const struct decoder *d, struct x86_instruction *x)
{
	uint8_t c = d->opcode;

	if (d->vector)
		return true;
	if (d->map == TWO_BYTES && (c & 0xf0) == 0x80) {
		x->flow = X86_BRANCH;
		x->condition = c & 15;
	}
	if (d->map == ONE_BYTE) {
		if ((c & 0xf0) == 0x70) {
			x->flow = X86_BRANCH;
			x->condition = c & 15;
		} else if (c == 0xc2 || c == 0xc3) {
			x->flow = X86_RETURN;
		} else if (c == 0xe9 || c == 0xeb) {
			x->flow = X86_JUMP;
		} else if (c >= 0xe0 && c <= 0xe3) {
			x->flow = X86_LOOP;
		} else if (c == 0xff && (d->modrm >> 3 & 7) == 4) {
			x->flow = X86_INDIRECT;
		} else if (c == 0xe8 || (c == 0xff && (d->modrm >> 3 & 7) == 2)) {
			x->flow = X86_CALL;
			x->direct = c == 0xe8;
		} else if (c == 0xf4) {
			x->flow = X86_STOP;
		} else if (c == 0xc7 && d->modrm == 0xf8) {
			x->flow = X86_LOOP; /* xbegin: there if the transaction fails */
		}
	}
	/* ud2, ud1, ud0; a system call may not return. */
	if (d->map == TWO_BYTES && (c == 0x0b || c == 0xb9 || c == 0xff))
		x->flow = X86_STOP;
	if (d->map == TWO_BYTES && c == 0x05)
		x->flow = X86_CALL;
	if (x->flow == X86_CALL || x->flow == X86_STOP)
		return true;
	if (x->flow == X86_BRANCH || x->flow == X86_JUMP)
		return !d->word && !d->rex && !d->segment;
	return x->flow == X86_ON || !d->word;
}

static void x86_find_use(const struct decoder *d, struct x86_instruction *x)
{
	uint8_t c = d->opcode;

	if (!d->vector && ((d->map == TWO_BYTES && c == 0x1f) ||
			   (d->map == ONE_BYTE && c == 0x90 && !(d->rex & 1))))
		x->use = X86_NOP;
	if (d->vector || d->map != ONE_BYTE)
		return;
	x->reg = (uint8_t)((d->modrm >> 3 & 7) | (d->rex & 4) << 1);
	if (c == 0x8d)
		x->use = X86_LEA;
	else if (c == 0x63 || c == 0x8b)
		x->use = X86_LOAD;
	else if (c == 0x2d || c == 0x3c || c == 0x3d ||
		 (c >= 0x80 && c <= 0x83 && (d->modrm >> 3 & 5) == 5))
		x->use = X86_COMPARE;
	/* An immediate value of one byte is sign-extended. */
	if (c == 0x83)
		x->value = (uint32_t)(int32_t)(int8_t)x->value;
}

/* According to arch/x86/kernel/uprobes.c. */
static enum x86_probe x86_find_probe(const struct decoder *d)
{
	uint8_t c = d->opcode;
	bool nop = (d->map == TWO_BYTES && c == 0x1f) || (d->map == ONE_BYTE && c == 0x90);

	if (d->vector || d->lock)
		return X86_NO_PROBE_SKIP;
	if (d->hint || (nop && d->map == ONE_BYTE && (d->word || d->rex)))
		return nop && !d->rex ? X86_NO_PROBE_SKIP : X86_NO_PROBE;
	/* Repeated string instructions; pushf, which would save the flag of a single step; system calls below. */
	if (d->map == ONE_BYTE &&
	    (c == 0x9c || (d->other_prefix && ((c & 0xfc) == 0xa4 || (c >= 0xaa && c <= 0xaf)))))
		return X86_NO_PROBE;
	if (d->map == TWO_BYTES && c == 0x05)
		return X86_NO_PROBE;
	return X86_PROBE;
}

unsigned x86_decode(const uint8_t *bytes, size_t n, struct x86_instruction *ret)
{
	struct x86_instruction x = { .flow = X86_ON };
	struct decoder d = { .bytes = bytes, .n = n, .operand = &x.target };

	x86_decode_prefixes(&d);
	if (!x86_decode_opcode(&d) || !x86_decode_rest(&d, &x) || !x86_find_flow(&d, &x))
		return 0;
	if (d.at > n || d.at > X86_MAX_LENGTH)
		return 0;
	/* add %al,(%rax): two zero bytes are padding. */
	if (bytes[0] == 0 && bytes[1] == 0)
		return 0;
	if (x.target.form == USDT_RELATIVE)
		x.target.offset += (int64_t)d.at;
	x86_find_use(&d, &x);
	x.length = (uint8_t)d.at;
	x.probe = x86_find_probe(&d);
	*ret = x;
	return x.length;
}
