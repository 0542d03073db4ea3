/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits a condition into words. */
#include "reports/select/condition_lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reports/select/condition_program.h"

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void lex_wrong(struct condition_token *t, unsigned end, const char *why)
{
	t->kind = TOKEN_WRONG;
	t->end = end;
	strcpy(t->text, why);
}

static void lex_string(const char *text, struct condition_token *t)
{
	char quote = text[t->column];
	unsigned i = t->column + 1;

	t->kind = TOKEN_STRING;
	for (; text[i] && text[i] != quote; i++) {
		/* A backslash protects the quote and itself; it is kept before others, for patterns. */
		if (text[i] == '\\' && (text[i + 1] == quote || text[i + 1] == '\\'))
			i++;
		t->text[t->length++] = text[i];
	}
	t->text[t->length] = '\0';
	t->end = i + 1;
	if (!text[i])
		lex_wrong(t, t->column + 1, "this string is not closed");
}

/* Units of times are in nanoseconds. */
static const struct {
	const char *unit;
	enum condition_token_kind kind;
	long double factor;
} units[] = {
	{ "", TOKEN_NUMBER, 1 },	 { "ns", TOKEN_TIME, 1 },
	{ "us", TOKEN_TIME, 1e3L },	 { "ms", TOKEN_TIME, 1e6L },
	{ "s", TOKEN_TIME, 1e9L },	 { "m", TOKEN_TIME, 60e9L },
	{ "K", TOKEN_NUMBER, 1e3L },	 { "k", TOKEN_NUMBER, 1e3L },
	{ "M", TOKEN_NUMBER, 1e6L },	 { "G", TOKEN_NUMBER, 1e9L },
	{ "Ki", TOKEN_NUMBER, 1 << 10 }, { "Mi", TOKEN_NUMBER, 1 << 20 },
	{ "Gi", TOKEN_NUMBER, 1 << 30 },
};

static void lex_number(const char *text, struct condition_token *t)
{
	unsigned at = t->column + (text[t->column] == '-'), unit, i;
	bool hex = text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X');
	char digits[64];

	unit = at + (hex ? 2 + (unsigned)strspn(text + at + 2, "0123456789abcdefABCDEF")
			 : (unsigned)strspn(text + at, "0123456789."));
	for (t->end = unit; is_word_char(text[t->end]); t->end++)
		;
	if (unit - t->column >= sizeof(digits)) {
		lex_wrong(t, unit, "this number is too long");
		return;
	}
	memcpy(digits, text + t->column, unit - t->column);
	digits[unit - t->column] = '\0';
	if (strchr(digits, '.') != strrchr(digits, '.')) {
		lex_wrong(t, unit, "this is not a number");
		return;
	}
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].unit) == t->end - unit &&
		    !strncmp(units[i].unit, text + unit, t->end - unit)) {
			t->kind = units[i].kind;
			t->number = strtold(digits, NULL) * units[i].factor;
			return;
		}
	}
	t->column = unit;
	lex_wrong(t, t->end, "not a unit; units are ns, us, ms, s, m, and K, M, G, Ki, Mi, Gi");
}

/* arg.kind, arg["any key"] and words without a dot. */
static void lex_word(const char *text, struct condition_token *t)
{
	unsigned i = t->column;

	t->kind = TOKEN_WORD;
	while (is_word_char(text[i]) || (text[i] == '.' && is_word_char(text[i + 1])))
		t->text[t->length++] = text[i++];
	t->text[t->length] = '\0';
	t->end = i;
}

static void lex_sign(const char *text, struct condition_token *t)
{
	static const struct {
		const char *sign;
		enum condition_token_kind kind;
		enum condition_compare compare;
	} signs[] = {
		{ "&&", TOKEN_AND, 0 },
		{ "||", TOKEN_OR, 0 },
		{ "==", TOKEN_COMPARE, COMPARE_EQUAL },
		{ "!=", TOKEN_COMPARE, COMPARE_UNEQUAL },
		{ "<=", TOKEN_COMPARE, COMPARE_LESS_EQUAL },
		{ ">=", TOKEN_COMPARE, COMPARE_GREATER_EQUAL },
		{ "=~", TOKEN_COMPARE, COMPARE_REGEX },
		{ "!~", TOKEN_COMPARE, COMPARE_NOT_REGEX },
		{ "=*", TOKEN_COMPARE, COMPARE_GLOB },
		{ "!*", TOKEN_COMPARE, COMPARE_NOT_GLOB },
		{ "<", TOKEN_COMPARE, COMPARE_LESS },
		{ ">", TOKEN_COMPARE, COMPARE_GREATER },
		{ "!", TOKEN_NOT, 0 },
		{ "(", TOKEN_OPEN, 0 },
		{ ")", TOKEN_CLOSE, 0 },
	};

	for (unsigned i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t length = strlen(signs[i].sign);

		if (strncmp(text + t->column, signs[i].sign, length))
			continue;
		t->kind = signs[i].kind;
		t->compare = signs[i].compare;
		t->end = t->column + (unsigned)length;
		return;
	}
	lex_wrong(t, t->column + 1,
		  text[t->column] == '=' ? "write == to compare"
		  : text[t->column] == '&' || text[t->column] == '|'
			  ? "write && for and, || for or"
			  : "not part of the language of conditions");
}

void condition_lex(const char *text, unsigned at, struct condition_token *t)
{
	while (isspace((unsigned char)text[at]))
		at++;
	t->column = t->end = at;
	t->length = 0;
	t->text[0] = '\0';
	if (!text[at])
		t->kind = TOKEN_END;
	else if (text[at] == '"' || text[at] == '\'')
		lex_string(text, t);
	else if (isdigit((unsigned char)text[at]) ||
		 (text[at] == '-' && isdigit((unsigned char)text[at + 1])))
		lex_number(text, t);
	else if (is_word_char(text[at]))
		lex_word(text, t);
	else
		lex_sign(text, t);
}
