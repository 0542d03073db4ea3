/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recursive-descent parser for the operands that gcc and clang write into notes of USDT probes. Each function
 * advances the cursor behind what it accepted, and those that return a string return NULL or the reason why the
 * argument cannot be read. Operands that the BPF program could not evaluate are refused here.
 */
#include "tracee/usdt_args.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"

/* The rest of one operand: untrusted bytes, not NUL-terminated. */
struct cursor {
	const char *at, *end;
};

static const char unknown_operand[] = "its operand has an unknown form";
static const char in_fpu[] = "it is in a floating-point register, which BPF programs cannot read";
static const char other_segment[] =
	"it is in thread-local or other memory that is addressed by a segment";

static bool usdt_args_at(const struct cursor *c, char wanted)
{
	return c->at < c->end && *c->at == wanted;
}

static bool usdt_args_accept(struct cursor *c, char wanted)
{
	if (!usdt_args_at(c, wanted))
		return false;
	c->at++;
	return true;
}

static void usdt_args_skip_spaces(struct cursor *c)
{
	while (usdt_args_accept(c, ' '))
		;
}

static bool usdt_args_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* Copies the name of a register or a symbol. Returns its length, 0 if there is none or it is too long. */
static size_t usdt_args_word(struct cursor *c, char *out, size_t size)
{
	size_t n = 0;

	while (c->at + n < c->end && usdt_args_is_word(c->at[n]))
		n++;
	if (n >= size)
		return 0;
	memcpy(out, c->at, n);
	out[n] = '\0';
	c->at += n;
	return n;
}

/* A decimal or hexadecimal number with an optional sign. */
static bool usdt_args_number(struct cursor *c, int64_t *ret)
{
	struct cursor at = *c;
	bool negative = usdt_args_accept(&at, '-'), any = false;
	unsigned base = 10;
	uint64_t value = 0;

	if (!negative)
		usdt_args_accept(&at, '+');
	if (at.end - at.at > 2 && at.at[0] == '0' && (at.at[1] | 32) == 'x') {
		base = 16;
		at.at += 2;
	}
	for (; at.at < at.end && isxdigit((unsigned char)*at.at); at.at++) {
		unsigned digit = isdigit((unsigned char)*at.at)
					 ? (unsigned)(*at.at - '0')
					 : (unsigned)(*at.at | 32) - 'a' + 10;

		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
		any = true;
	}
	if (!any)
		return false;
	*ret = (int64_t)(negative ? -value : value);
	*c = at;
	return true;
}

/* --- x86-64 ------------------------------------------------------------------------------------ */

struct x86_name {
	const char *names[5]; /* of 64, 32, 16, 8 bits; of bits 8 to 15 */
};

/* In the order of their numbers in instructions. */
static const struct x86_name x86_names[] = {
	{ { "rax", "eax", "ax", "al", "ah" } }, { { "rcx", "ecx", "cx", "cl", "ch" } },
	{ { "rdx", "edx", "dx", "dl", "dh" } }, { { "rbx", "ebx", "bx", "bl", "bh" } },
	{ { "rsp", "esp", "sp", "spl" } },	{ { "rbp", "ebp", "bp", "bpl" } },
	{ { "rsi", "esi", "si", "sil" } },	{ { "rdi", "edi", "di", "dil" } },
};

/* Sets the number of the register, and the shift for bits 8 to 15 of a register. */
static bool x86_register(const char *name, uint8_t *ret_number, uint8_t *ret_shift)
{
	char *end;
	unsigned long number;

	*ret_shift = 0;
	for (unsigned i = 0; i < sizeof(x86_names) / sizeof(x86_names[0]); i++) {
		for (unsigned j = 0; j < 5; j++) {
			if (!x86_names[i].names[j] || strcmp(x86_names[i].names[j], name))
				continue;
			*ret_number = (uint8_t)i;
			*ret_shift = j == 4 ? 8 : 0;
			return true;
		}
	}
	if (name[0] != 'r' || !isdigit((unsigned char)name[1]))
		return false;
	number = strtoul(name + 1, &end, 10);
	if (number < 8 || number > 15 || (*end && (!strchr("dwbl", *end) || end[1])))
		return false;
	*ret_number = (uint8_t)number;
	return true;
}

static bool x86_is_vector(const char *name)
{
	return !strncmp(name, "xmm", 3) || !strncmp(name, "ymm", 3) || !strncmp(name, "zmm", 3) ||
	       !strncmp(name, "st", 2) || !strncmp(name, "mm", 2);
}

/* %name. `memory`: within parentheses, where only registers of 64 bits are valid. */
static const char *x86_parse_register(struct cursor *c, bool memory, uint8_t *ret_number,
				      uint8_t *ret_shift)
{
	char name[8];

	if (!usdt_args_accept(c, '%') || !usdt_args_word(c, name, sizeof(name)))
		return unknown_operand;
	if (x86_register(name, ret_number, ret_shift))
		return memory && name[0] != 'r' ? unknown_operand : NULL;
	return !memory && x86_is_vector(name) ? in_fpu : unknown_operand;
}

/* The part in parentheses of (base,index,scale), each optional, or %rip. */
static const char *x86_parse_memory(struct cursor *c, struct usdt_arg *arg)
{
	const char *why = NULL;
	int64_t scale = 1;
	uint8_t shift;

	arg->reg = arg->index = USDT_NO_REGISTER;
	if (c->end - c->at >= 5 && !memcmp(c->at, "%rip)", 5)) {
		c->at += 5;
		arg->form = USDT_RELATIVE;
		return NULL;
	}
	if (!usdt_args_at(c, ','))
		why = x86_parse_register(c, true, &arg->reg, &shift);
	if (!why && usdt_args_accept(c, ',')) {
		if (!usdt_args_at(c, ','))
			why = x86_parse_register(c, true, &arg->index, &shift);
		if (!why && usdt_args_accept(c, ',') &&
		    (!usdt_args_number(c, &scale) ||
		     (scale != 1 && scale != 2 && scale != 4 && scale != 8)))
			why = unknown_operand;
	}
	if (!why && !usdt_args_accept(c, ')'))
		why = unknown_operand;
	arg->scale = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
	return why;
}

/* A sum such as 8, name, 8+name, name+8, name+8-4 with at most one name. */
static const char *x86_parse_displacement(struct cursor *c, struct usdt_argument *a)
{
	bool first = true;

	while (c->at < c->end && *c->at != '(') {
		int64_t number;

		if (usdt_args_number(c, &number)) {
			a->arg.offset = (int64_t)((uint64_t)a->arg.offset + (uint64_t)number);
		} else {
			if (!first && !usdt_args_accept(c, '+'))
				return unknown_operand;
			if (a->symbol[0] || c->at == c->end || isdigit((unsigned char)*c->at) ||
			    !usdt_args_word(c, a->symbol, sizeof(a->symbol)))
				return unknown_operand;
		}
		first = false;
		if (c->at < c->end && *c->at != '+' && *c->at != '-' && *c->at != '(')
			return unknown_operand;
	}
	return first ? unknown_operand : NULL;
}

static const char *x86_parse_constant(struct cursor *c, struct usdt_argument *a)
{
	const char *why = x86_parse_displacement(c, a);

	a->arg.form = a->symbol[0] ? USDT_ADDRESS : USDT_CONSTANT;
	return why;
}

static const char *x86_parse_operand(struct cursor *c, struct usdt_argument *a)
{
	const char *why = NULL;

	if (usdt_args_accept(c, '$'))
		return x86_parse_constant(c, a);
	if (usdt_args_at(c, '%')) {
		if (memchr(c->at, ':', (size_t)(c->end - c->at)))
			return other_segment;
		a->arg.form = USDT_REGISTER;
		return x86_parse_register(c, false, &a->arg.reg, &a->arg.scale);
	}
	a->arg.form = USDT_MEMORY;
	if (!usdt_args_at(c, '('))
		why = x86_parse_displacement(c, a);
	if (!why && usdt_args_accept(c, '('))
		why = x86_parse_memory(c, &a->arg);
	else if (!why && a->symbol[0])
		a->arg.form = USDT_RELATIVE; /* the same in a program that is not relocated */
	else if (!why)
		a->arg.reg = a->arg.index = USDT_NO_REGISTER;
	/* %rip is the address of the next instruction, which the note does not have. */
	if (!why && a->arg.form == USDT_RELATIVE && !a->symbol[0])
		why = "it is relative to an unknown instruction";
	if (!why && a->arg.form == USDT_MEMORY && a->symbol[0])
		why = "it is an element of an array that is named by a symbol";
	return why;
}

/* --- arm64 ------------------------------------------------------------------------------------- */

static bool arm64_register(const char *name, uint8_t *ret_number)
{
	unsigned long number;
	char *end;

	if (!strcmp(name, "sp") || !strcmp(name, "wsp")) {
		*ret_number = 31;
		return true;
	}
	if (!strcmp(name, "xzr") || !strcmp(name, "wzr")) {
		*ret_number = USDT_NO_REGISTER;
		return true;
	}
	if (!strcmp(name, "fp") || !strcmp(name, "lr")) {
		*ret_number = name[0] == 'f' ? 29 : 30;
		return true;
	}
	if ((name[0] != 'x' && name[0] != 'w') || !isdigit((unsigned char)name[1]))
		return false;
	number = strtoul(name + 1, &end, 10);
	if (*end || number > 30)
		return false;
	*ret_number = (uint8_t)number;
	return true;
}

static bool arm64_is_vector(const char *name)
{
	return strchr("bhsdqv", name[0]) && isdigit((unsigned char)name[1]);
}

/* What follows the base register: an offset, or an index register with an optional shift. */
static const char *arm64_parse_offset(struct cursor *c, struct usdt_arg *arg)
{
	char word[8];
	int64_t shift, offset;

	usdt_args_skip_spaces(c);
	usdt_args_accept(c, '#');
	if (usdt_args_number(c, &offset)) {
		arg->offset = offset;
		return NULL;
	}
	if (!usdt_args_word(c, word, sizeof(word)) || word[0] != 'x' ||
	    !arm64_register(word, &arg->index))
		return unknown_operand;
	if (!usdt_args_accept(c, ','))
		return NULL;
	usdt_args_skip_spaces(c);
	if (!usdt_args_word(c, word, sizeof(word)) || strcmp(word, "lsl"))
		return unknown_operand;
	usdt_args_skip_spaces(c);
	usdt_args_accept(c, '#');
	if (!usdt_args_number(c, &shift) || shift < 0 || shift > 4)
		return unknown_operand;
	arg->scale = (uint8_t)shift;
	return NULL;
}

static const char *arm64_parse_operand(struct cursor *c, struct usdt_argument *a)
{
	const char *why = NULL;
	int64_t constant;
	char name[8];

	if (usdt_args_accept(c, '[')) {
		a->arg.form = USDT_MEMORY;
		a->arg.index = USDT_NO_REGISTER;
		if (!usdt_args_word(c, name, sizeof(name)) || name[0] == 'w' ||
		    !arm64_register(name, &a->arg.reg))
			return unknown_operand;
		if (usdt_args_accept(c, ','))
			why = arm64_parse_offset(c, &a->arg);
		return why ? why : usdt_args_accept(c, ']') ? NULL : unknown_operand;
	}
	usdt_args_accept(c, '#');
	if (usdt_args_number(c, &constant)) {
		a->arg.form = USDT_CONSTANT;
		a->arg.offset = constant;
		return NULL;
	}
	a->arg.form = USDT_REGISTER;
	if (!usdt_args_word(c, name, sizeof(name)))
		return unknown_operand;
	if (arm64_register(name, &a->arg.reg))
		return NULL;
	return arm64_is_vector(name) ? in_fpu : unknown_operand;
}

/* --- arguments --------------------------------------------------------------------------------- */

static bool usdt_args_size(struct cursor *c, struct usdt_arg *arg, bool *ret_float)
{
	const char *at = memchr(c->at, '@', (size_t)(c->end - c->at));
	struct cursor size = { c->at, at };
	int64_t bytes;

	*ret_float = false;
	arg->bits = 64;
	/* The oldest notes have no sizes. */
	if (!at)
		return true;
	if (!usdt_args_number(&size, &bytes))
		return false;
	*ret_float = usdt_args_accept(&size, 'f');
	arg->is_signed = bytes < 0;
	bytes = bytes < 0 ? -bytes : bytes;
	if (size.at != size.end || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return false;
	arg->bits = (uint8_t)(8 * bytes);
	c->at = at + 1;
	return true;
}

static void usdt_arg_set_type(struct usdt_arg *arg, bool is_float)
{
	if (!is_float) {
		arg->type = arg->is_signed ? VALUE_INT : VALUE_UINT;
		return;
	}
	arg->is_signed = 0;
	arg->type = arg->bits == 64 ? VALUE_DOUBLE : arg->bits == 32 ? VALUE_FLOAT : VALUE_NONE;
}

static void usdt_arg_parse(uint16_t machine, struct cursor c, struct usdt_argument *a)
{
	bool is_float;

	memset(a, 0, sizeof(*a));
	a->arg.index = USDT_NO_REGISTER;
	if (!usdt_args_size(&c, &a->arg, &is_float)) {
		a->arg.type = VALUE_NONE;
		a->unreadable = unknown_operand;
	} else {
		usdt_arg_set_type(&a->arg, is_float);
		a->unreadable = machine == EM_X86_64	? x86_parse_operand(&c, a)
				: machine == EM_AARCH64 ? arm64_parse_operand(&c, a)
							: unknown_operand;
		if (!a->unreadable && (c.at != c.end || a->arg.type == VALUE_NONE))
			a->unreadable = unknown_operand;
	}
	if (a->unreadable) {
		a->arg.form = USDT_UNREADABLE;
		a->symbol[0] = '\0';
	}
}

unsigned usdt_args_parse(uint16_t machine, const char *text,
			 struct usdt_argument args[USDT_MAX_ARGS])
{
	unsigned n = 0, depth;
	const char *end;

	for (; n < USDT_MAX_ARGS; text = end) {
		while (*text == ' ')
			text++;
		if (!*text)
			break;
		depth = 0;
		for (end = text; *end && (*end != ' ' || depth); end++) {
			depth += *end == '[' || *end == '(';
			depth -= depth && (*end == ']' || *end == ')');
		}
		usdt_arg_parse(machine, (struct cursor){ text, end }, &args[n++]);
	}
	return n;
}

const char *usdt_arg_type(const struct usdt_arg *arg)
{
	static const char *const types[][4] = {
		{ "u8", "u16", "u32", "u64" },
		{ "i8", "i16", "i32", "i64" },
	};

	switch (arg->type) {
	case VALUE_DOUBLE:
		return "f64";
	case VALUE_FLOAT:
		return "f32";
	case VALUE_INT:
	case VALUE_UINT:
		return types[arg->is_signed][arg->bits == 8    ? 0
					     : arg->bits == 16 ? 1
					     : arg->bits == 32 ? 2
							       : 3];
	}
	return "?";
}
