/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An instruction is prefixes, an opcode of one of several maps, and what the opcode says that follows:
 * a ModRM byte, with a SIB byte and a displacement where it says so, and an immediate value. The maps
 * are those of Intel's manual (volume 2, appendix A).
 */
#include "target/x86_instruction.h"

#include <stdbool.h>
#include <string.h>

/*
 * What follows each opcode:
 *	.	nothing
 *	b w z	an immediate value of 8, 16, 32 bits; z is 16 bits after the prefix 66
 *	v	the same as z, or 64 bits with REX.W
 *	o	an address of 64 bits
 *	e	w and b
 *	j J	a jump of 8, of 32 bits
 *	m i I	ModRM; ModRM and b; ModRM and z
 *	0	ModRM with 0 in its field reg
 *	3 7	ModRM; where its reg is 0 or 1 (test), b (3) or z (7)
 *	4 5	ModRM, whose reg tells inc, dec; and (5) call, jmp, push
 *	p	a prefix
 * and of all others: refused.
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

/* Behind 0f. */
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
	size_t n; /* that there are: X86_LONGEST at most */
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

/* Past the end, 0 is as good as anything: all is refused then. */
static uint8_t take(struct decoder *d)
{
	uint8_t byte = d->at < d->n ? d->bytes[d->at] : 0;

	d->at++;
	return byte;
}

static int32_t take_signed(struct decoder *d, unsigned size)
{
	uint32_t value = 0;
	unsigned i;

	for (i = 0; i < size; i++)
		value |= (uint32_t)take(d) << (8 * i);
	return size == 1 ? (int8_t)value : (int32_t)value;
}

static void take_prefixes(struct decoder *d)
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
		d->rex = take(d);
}

/* VEX: c5 and one byte, c4 and two. EVEX: 62 and three. False: none that has been defined. */
static bool take_vector(struct decoder *d, uint8_t first)
{
	unsigned map = 1;
	uint8_t byte;

	d->vector = true;
	if (d->word || d->other_prefix || d->rex)
		return false;
	byte = take(d);
	if (first == 0xc4) {
		map = byte & 0x1f;
		take(d);
	} else if (first == 0x62) {
		map = byte & 0x0f;
		if (!(take(d) & 4))
			return false;
		take(d);
	}
	d->opcode = take(d);
	/* 5 and 6 are EVEX's own, for numbers of 16 bits, without immediate values. */
	if (first == 0x62 && (map == 5 || map == 6))
		map = MAP_38;
	d->map = map;
	return map >= TWO_BYTES && map <= MAP_3A;
}

static bool take_opcode(struct decoder *d)
{
	uint8_t byte = take(d);

	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return take_vector(d, byte);
	d->map = ONE_BYTE;
	if (byte == 0x0f) {
		d->map = TWO_BYTES;
		byte = take(d);
		if (byte == 0x38 || byte == 0x3a) {
			d->map = byte == 0x38 ? MAP_38 : MAP_3A;
			byte = take(d);
		}
	}
	d->opcode = byte;
	return true;
}

/* The operand of ModRM, and what belongs to it. */
static void take_modrm(struct decoder *d)
{
	struct usdt_arg *a = d->operand;
	unsigned mod, rm;

	d->modrm = take(d);
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
		uint8_t sib = take(d);
		uint8_t index = (uint8_t)((sib >> 3 & 7) | (d->rex & 2) << 2);

		a->reg = (uint8_t)((sib & 7) | (d->rex & 1) << 3);
		if (index != 4) {
			a->index = index;
			a->scale = sib >> 6;
		}
		if ((sib & 7) == 5 && mod == 0) {
			a->reg = USDT_NO_REGISTER;
			a->offset = take_signed(d, 4);
		}
	} else if (rm == 5 && mod == 0) {
		a->form = USDT_RELATIVE;
		a->offset = take_signed(d, 4);
	}
	if (mod)
		a->offset = take_signed(d, mod == 1 ? 1 : 4);
	/* Segments and short addresses are not worth following. */
	if (d->segment || d->address)
		a->form = USDT_UNREADABLE;
}

static char what_follows(const struct decoder *d)
{
	switch (d->map) {
	case ONE_BYTE:
		return one_byte[d->opcode];
	case TWO_BYTES:
		/* vzeroupper; of the others, all have ModRM, those of jumps as well. */
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

static bool take_rest(struct decoder *d, struct x86_instruction *x)
{
	unsigned z = d->word && !(d->rex & 8) ? 2 : 4, reg;
	char what = what_follows(d);

	if (what && strchr("miI03745", what))
		take_modrm(d);
	reg = d->modrm >> 3 & 7;
	switch (what) {
	case '.':
	case 'm':
		return true;
	case '0':
		return reg == 0;
	case 'b':
	case 'i':
		x->value = take(d);
		return true;
	case 'w':
		d->at += 2;
		return true;
	case 'e':
		d->at += 3;
		return true;
	case 'z':
	case 'I':
		x->value = (uint32_t)take_signed(d, z);
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
		x->distance = take_signed(d, what == 'j' ? 1 : 4);
		return true;
	}
	return false;
}

/* Where it goes. False: jumps with prefixes that processors understand differently, or that say nothing. */
static bool find_flow(const struct decoder *d, struct x86_instruction *x)
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
	/* ud2, ud1, ud0; a system call may end it all. */
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

static void find_use(const struct decoder *d, struct x86_instruction *x)
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
	/* Of one byte, the sign goes into all of them. */
	if (c == 0x83)
		x->value = (uint32_t)(int32_t)(int8_t)x->value;
}

/* As arch/x86/kernel/uprobes.c goes about it. */
static enum x86_probe find_probe(const struct decoder *d)
{
	uint8_t c = d->opcode;
	bool nop = (d->map == TWO_BYTES && c == 0x1f) || (d->map == ONE_BYTE && c == 0x90);

	if (d->vector || d->lock)
		return X86_NO_PROBE_SKIP;
	if (d->hint || (nop && d->map == ONE_BYTE && (d->word || d->rex)))
		return nop && !d->rex ? X86_NO_PROBE_SKIP : X86_NO_PROBE;
	/* What is repeated, what enters the kernel, what saves the flags of single steps. */
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

	take_prefixes(&d);
	if (!take_opcode(&d) || !take_rest(&d, &x) || !find_flow(&d, &x))
		return 0;
	if (d.at > n || d.at > X86_LONGEST)
		return 0;
	/* add %al,(%rax): zeros that stand for nothing. */
	if (bytes[0] == 0 && bytes[1] == 0)
		return 0;
	if (x.target.form == USDT_RELATIVE)
		x.target.offset += (int64_t)d.at;
	find_use(&d, &x);
	x.length = (uint8_t)d.at;
	x.probe = find_probe(&d);
	*ret = x;
	return x.length;
}
