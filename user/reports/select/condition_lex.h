/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of conditions, for condition.c only. */
#ifndef PROFTRACE_REPORTS_SELECT_CONDITION_LEX_H
#define PROFTRACE_REPORTS_SELECT_CONDITION_LEX_H

#include "reports/select/condition.h"

enum condition_token_kind {
	TOKEN_END,
	TOKEN_WORD,   /* name, arg.kind, in */
	TOKEN_NUMBER, /* 5, 1.5K */
	TOKEN_TIME,   /* 5ms */
	TOKEN_STRING,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMPARE,
	TOKEN_WRONG,
};

struct condition_token {
	enum condition_token_kind kind;
	unsigned column, end;
	unsigned compare;   /* COMPARE: enum condition_compare */
	long double number; /* NUMBER; TIME: nanoseconds */
	/* WORD, STRING: a string without its quotes and escapes. WRONG: why, for people */
	char text[CONDITION_MAX_TEXT + 1];
	uint32_t length;
};

/* Reads the word at byte `at` of `text`, behind white space. */
void condition_lex(const char *text, unsigned at, struct condition_token *ret);

#endif
