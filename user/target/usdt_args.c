/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/usdt_args.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

/* One operand: bytes of a foreign file, not NUL-terminated. */
struct cursor {
	const char *at, *end;
};

static const char not_understood[] = "its place is not understood";
static const char in_fpu[] = "it is in a floating-point register, which the kernel does not show";
static const char other_segment[] = "it is in memory of a segment, such as that of the thread";

static bool next_is(const struct cursor *c, char wanted)
{
	return c->at < c->end && *c->at == wanted;
}

static bool take(struct cursor *c, char wanted)
{
	if (!next_is(c, wanted))
		return false;
	c->at++;
	return true;
}

static void skip_spaces(struct cursor *c)
{
	while (take(c, ' '))
		;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* A register's or a symbol's name: its length. */
static size_t take_word(struct cursor *c, char *out, size_t size)
{
	size_t n = 0;

	while (c->at + n < c->end && is_word(c->at[n]))
		n++;
	if (n >= size)
		return 0;
	memcpy(out, c->at, n);
	out[n] = '\0';
	c->at += n;
	return n;
}

/* With or without a sign, decimal or hexadecimal. */
static bool take_number(struct cursor *c, int64_t *ret)
{
	struct cursor at = *c;
	bool negative = take(&at, '-'), any = false;
	unsigned base = 10;
	uint64_t value = 0;

	if (!negative)
		take(&at, '+');
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

/* In the order of the instructions' numbers. */
static const struct x86_name x86_names[] = {
	{ { "rax", "eax", "ax", "al", "ah" } }, { { "rcx", "ecx", "cx", "cl", "ch" } },
	{ { "rdx", "edx", "dx", "dl", "dh" } }, { { "rbx", "ebx", "bx", "bl", "bh" } },
	{ { "rsp", "esp", "sp", "spl" } },	{ { "rbp", "ebp", "bp", "bpl" } },
	{ { "rsi", "esi", "si", "sil" } },	{ { "rdi", "edi", "di", "dil" } },
};

/* Sets the register and, for those that are the upper half of another, the shift. */
static bool x86_register(const char *name, uint8_t *ret_number, uint8_t *ret_shift)
{
	unsigned i, j;
	char *end;
	unsigned long number;

	*ret_shift = 0;
	for (i = 0; i < sizeof(x86_names) / sizeof(x86_names[0]); i++) {
		for (j = 0; j < 5; j++) {
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

static bool is_vector(const char *name)
{
	return !strncmp(name, "xmm", 3) || !strncmp(name, "ymm", 3) || !strncmp(name, "zmm", 3) ||
	       !strncmp(name, "st", 2) || !strncmp(name, "mm", 2);
}

/* %name. `memory`: inside of parentheses, where only whole addresses make sense. */
static const char *x86_take_register(struct cursor *c, bool memory, uint8_t *ret_number,
				     uint8_t *ret_shift)
{
	char name[8];

	if (!take(c, '%') || !take_word(c, name, sizeof(name)))
		return not_understood;
	if (x86_register(name, ret_number, ret_shift))
		return memory && name[0] != 'r' ? not_understood : NULL;
	return !memory && is_vector(name) ? in_fpu : not_understood;
}

/* (base,index,scale): each may be missing. A base of %rip makes it relative. */
static const char *x86_take_parentheses(struct cursor *c, struct usdt_arg *arg)
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
	if (!next_is(c, ','))
		why = x86_take_register(c, true, &arg->reg, &shift);
	if (!why && take(c, ',')) {
		if (!next_is(c, ','))
			why = x86_take_register(c, true, &arg->index, &shift);
		if (!why && take(c, ',') &&
		    (!take_number(c, &scale) ||
		     (scale != 1 && scale != 2 && scale != 4 && scale != 8)))
			why = not_understood;
	}
	if (!why && !take(c, ')'))
		why = not_understood;
	arg->scale = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
	return why;
}

/* 8, name, 8+name, name+8, name+8-4: at most one name. */
static const char *take_sum(struct cursor *c, struct usdt_argument *a)
{
	bool first = true;

	while (c->at < c->end && *c->at != '(') {
		int64_t number;

		if (take_number(c, &number)) {
			a->arg.offset = (int64_t)((uint64_t)a->arg.offset + (uint64_t)number);
		} else {
			if (!first && !take(c, '+'))
				return not_understood;
			if (a->symbol[0] || c->at == c->end || isdigit((unsigned char)*c->at) ||
			    !take_word(c, a->symbol, sizeof(a->symbol)))
				return not_understood;
		}
		first = false;
		if (c->at < c->end && *c->at != '+' && *c->at != '-' && *c->at != '(')
			return not_understood;
	}
	return first ? not_understood : NULL;
}

static const char *x86_constant(struct cursor *c, struct usdt_argument *a)
{
	const char *why = take_sum(c, a);

	a->arg.form = a->symbol[0] ? USDT_ADDRESS : USDT_CONSTANT;
	return why;
}

static const char *x86_operand(struct cursor *c, struct usdt_argument *a)
{
	const char *why = NULL;

	if (take(c, '$'))
		return x86_constant(c, a);
	if (next_is(c, '%')) {
		if (memchr(c->at, ':', (size_t)(c->end - c->at)))
			return other_segment;
		a->arg.form = USDT_REGISTER;
		return x86_take_register(c, false, &a->arg.reg, &a->arg.scale);
	}
	a->arg.form = USDT_MEMORY;
	if (!next_is(c, '('))
		why = take_sum(c, a);
	if (!why && take(c, '('))
		why = x86_take_parentheses(c, &a->arg);
	else if (!why && a->symbol[0])
		a->arg.form = USDT_RELATIVE; /* in a program that is not moved: the same distance */
	else if (!why)
		a->arg.reg = a->arg.index = USDT_NO_REGISTER;
	/* Counted from the instruction behind the site, of which the note does not say where it is. */
	if (!why && a->arg.form == USDT_RELATIVE && !a->symbol[0])
		why = "it is relative to an instruction that is not known";
	if (!why && a->arg.form == USDT_MEMORY && a->symbol[0])
		why = "it is an element of an array, by its symbol";
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

static bool is_arm64_vector(const char *name)
{
	return strchr("bhsdqv", name[0]) && isdigit((unsigned char)name[1]);
}

/* Behind the base: an offset, or an index that may be shifted. */
static const char *arm64_take_offset(struct cursor *c, struct usdt_arg *arg)
{
	char word[8];
	int64_t shift, offset;

	skip_spaces(c);
	take(c, '#');
	if (take_number(c, &offset)) {
		arg->offset = offset;
		return NULL;
	}
	if (!take_word(c, word, sizeof(word)) || word[0] != 'x' ||
	    !arm64_register(word, &arg->index))
		return not_understood;
	if (!take(c, ','))
		return NULL;
	skip_spaces(c);
	if (!take_word(c, word, sizeof(word)) || strcmp(word, "lsl"))
		return not_understood;
	skip_spaces(c);
	take(c, '#');
	if (!take_number(c, &shift) || shift < 0 || shift > 4)
		return not_understood;
	arg->scale = (uint8_t)shift;
	return NULL;
}

static const char *arm64_operand(struct cursor *c, struct usdt_argument *a)
{
	const char *why = NULL;
	int64_t constant;
	char name[8];

	if (take(c, '[')) {
		a->arg.form = USDT_MEMORY;
		a->arg.index = USDT_NO_REGISTER;
		if (!take_word(c, name, sizeof(name)) || name[0] == 'w' ||
		    !arm64_register(name, &a->arg.reg))
			return not_understood;
		if (take(c, ','))
			why = arm64_take_offset(c, &a->arg);
		return why ? why : take(c, ']') ? NULL : not_understood;
	}
	take(c, '#');
	if (take_number(c, &constant)) {
		a->arg.form = USDT_CONSTANT;
		a->arg.offset = constant;
		return NULL;
	}
	a->arg.form = USDT_REGISTER;
	if (!take_word(c, name, sizeof(name)))
		return not_understood;
	if (arm64_register(name, &a->arg.reg))
		return NULL;
	return is_arm64_vector(name) ? in_fpu : not_understood;
}

/* ----------------------------------------------------------------------------------------------- */

static bool take_size(struct cursor *c, struct usdt_arg *arg, bool *ret_float)
{
	const char *at = memchr(c->at, '@', (size_t)(c->end - c->at));
	struct cursor size = { c->at, at };
	int64_t bytes;

	*ret_float = false;
	arg->bits = 64;
	/* The oldest notes have none; and what is behind a symbol's name may be no size either. */
	if (!at)
		return true;
	if (!take_number(&size, &bytes))
		return false;
	*ret_float = take(&size, 'f');
	arg->is_signed = bytes < 0;
	bytes = bytes < 0 ? -bytes : bytes;
	if (size.at != size.end || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return false;
	arg->bits = (uint8_t)(8 * bytes);
	c->at = at + 1;
	return true;
}

static void set_type(struct usdt_arg *arg, bool is_float)
{
	if (!is_float) {
		arg->type = arg->is_signed ? VALUE_INT : VALUE_UINT;
		return;
	}
	arg->is_signed = 0;
	arg->type = arg->bits == 64 ? VALUE_DOUBLE : arg->bits == 32 ? VALUE_FLOAT : VALUE_NONE;
}

static void parse_one(uint16_t machine, struct cursor c, struct usdt_argument *a)
{
	bool is_float;

	memset(a, 0, sizeof(*a));
	a->arg.index = USDT_NO_REGISTER;
	if (!take_size(&c, &a->arg, &is_float)) {
		a->arg.type = VALUE_NONE;
		a->unreadable = not_understood;
	} else {
		set_type(&a->arg, is_float);
		a->unreadable = machine == EM_X86_64	? x86_operand(&c, a)
				: machine == EM_AARCH64 ? arm64_operand(&c, a)
							: not_understood;
		if (!a->unreadable && (c.at != c.end || a->arg.type == VALUE_NONE))
			a->unreadable = not_understood;
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
		parse_one(machine, (struct cursor){ text, end }, &args[n++]);
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
