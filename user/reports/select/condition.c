/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses a condition and checks its types:
 *
 *	any        = all { "||" all }
 *	all        = one { "&&" one }
 *	one        = "!" one | "(" any ")" | test
 *	test       = "in" "(" string ")" | "has" "(" field ")" | operand compare operand
 *	operand    = field | string | number | time
 *	field      = word | "arg" "." key | "counter" "." key, where a key may be ("any text")
 *
 * Every error names the column where it was noticed and what would be right there.
 */
#include "reports/select/condition.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "reports/select/condition_lex.h"
#include "reports/select/condition_program.h"

struct condition_parser {
	const char *text;
	struct condition *condition;
	struct condition_error *error;
	struct condition_token token; /* the next one */
	unsigned depth;
	bool failed;
};

static void __attribute__((format(printf, 4, 5)))
parser_fail(struct condition_parser *p, unsigned column, unsigned end, const char *format, ...)
{
	va_list args;

	if (p->failed)
		return;
	p->failed = true;
	p->error->column = column;
	p->error->length = end > column ? end - column : 1;
	va_start(args, format);
	vsnprintf(p->error->message, sizeof(p->error->message), format, args);
	va_end(args);
}

static void parser_next(struct condition_parser *p)
{
	condition_lex(p->text, p->token.end, &p->token);
	if (p->token.kind == TOKEN_WRONG)
		parser_fail(p, p->token.column, p->token.end, "%s", p->token.text);
}

static void parser_expect(struct condition_parser *p, enum condition_token_kind kind,
			  const char *what)
{
	if (p->failed)
		return;
	if (p->token.kind != kind)
		parser_fail(p, p->token.column, p->token.end, "%s is expected here", what);
	else
		parser_next(p);
}

static unsigned parser_emit(struct condition_parser *p, unsigned op, unsigned target)
{
	struct condition *c = p->condition;

	if (c->n_steps == sizeof(c->steps) / sizeof(c->steps[0])) {
		parser_fail(p, p->token.column, p->token.end, "the condition is too long");
		return 0;
	}
	c->steps[c->n_steps] = (struct condition_step){ .op = op, .target = target };
	return c->n_steps++;
}

/* --- operands ---------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	enum condition_field field;
	enum condition_type type;
} fields[] = {
	{ "name", FIELD_NAME, TYPE_STRING },	   { "category", FIELD_CATEGORY, TYPE_STRING },
	{ "domain", FIELD_CATEGORY, TYPE_STRING }, { "kind", FIELD_KIND, TYPE_STRING },
	{ "dur", FIELD_DURATION, TYPE_TIME },	   { "duration", FIELD_DURATION, TYPE_TIME },
	{ "start", FIELD_START, TYPE_TIME },	   { "self", FIELD_SELF, TYPE_TIME },
	{ "running", FIELD_RUNNING, TYPE_TIME },   { "runnable", FIELD_RUNNABLE, TYPE_TIME },
	{ "blocked", FIELD_BLOCKED, TYPE_TIME },   { "thread", FIELD_THREAD, TYPE_STRING },
	{ "tid", FIELD_TID, TYPE_NUMBER },	   { "process", FIELD_PROCESS, TYPE_STRING },
	{ "pid", FIELD_PID, TYPE_NUMBER },	   { "value", FIELD_VALUE, TYPE_NUMBER },
};

static int find_or_add_key(char **keys, unsigned *n, const char *key)
{
	for (unsigned i = 0; i < *n; i++) {
		if (!strcmp(keys[i], key))
			return (int)i;
	}
	if (*n == CONDITION_MAX_KEYS)
		return -1;
	keys[*n] = strdup(key);
	return keys[*n] ? (int)(*n)++ : -1;
}

int condition_add_key(struct condition *c, const char *key)
{
	return find_or_add_key(c->keys, &c->n_keys, key);
}

/* "arg.kind", or arg("any text"), where the word has no dot. */
static bool parse_keyed_field(struct condition_parser *p, struct condition_operand *o)
{
	bool is_arg = !strncmp(p->token.text, "arg", 3);
	const char *dot = strchr(p->token.text, '.');
	struct condition *c = p->condition;
	char key[LIMIT_NAME];
	int number;

	if (dot) {
		snprintf(key, sizeof(key), "%.*s", LIMIT_NAME - 1, dot + 1);
	} else {
		parser_next(p);
		parser_expect(p, TOKEN_OPEN, "( or a . with a key");
		if (p->failed)
			return false;
		snprintf(key, sizeof(key), "%.*s", LIMIT_NAME - 1, p->token.text);
		if (p->token.kind != TOKEN_STRING)
			parser_fail(p, p->token.column, p->token.end,
				    "a key in quotes is expected here");
		else
			parser_next(p);
		if (!p->failed && p->token.kind != TOKEN_CLOSE)
			parser_fail(p, p->token.column, p->token.end, ") is expected here");
	}
	o->field = is_arg ? FIELD_ARG : FIELD_COUNTER;
	o->type = is_arg ? TYPE_ANY : TYPE_NUMBER;
	o->end = p->token.end;
	number = is_arg ? condition_add_key(c, key)
			: find_or_add_key(c->counters, &c->n_counters, key);
	if (number < 0)
		parser_fail(p, o->column, o->end, "more than %d different keys",
			    CONDITION_MAX_KEYS);
	o->key = (unsigned)number;
	return !p->failed;
}

/* "blocked_in.futex" */
static bool parse_reason_field(struct condition_parser *p, struct condition_operand *o)
{
	enum wait_reason reason;

	if (strncmp(p->token.text, "blocked_in.", 11) ||
	    !wait_reason_parse(p->token.text + 11, &reason))
		return false;
	o->field = FIELD_BLOCKED_IN;
	o->type = TYPE_TIME;
	o->key = reason;
	parser_next(p);
	return true;
}

static void parse_field(struct condition_parser *p, struct condition_operand *o)
{
	const char *word = p->token.text;

	if (!strncmp(word, "arg.", 4) || !strcmp(word, "arg") || !strncmp(word, "counter.", 8) ||
	    !strcmp(word, "counter")) {
		if (parse_keyed_field(p, o))
			parser_next(p);
		return;
	}
	if (parse_reason_field(p, o))
		return;
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(fields[i].word, word))
			continue;
		o->field = fields[i].field;
		o->type = fields[i].type;
		p->condition->uses_start |= o->field == FIELD_START;
		parser_next(p);
		return;
	}
	parser_fail(p, p->token.column, p->token.end,
		    "'%.40s' is not a field; strings need quotes, arguments are arg.KEY", word);
}

static void parse_operand(struct condition_parser *p, struct condition_operand *o)
{
	const struct condition_token *t = &p->token;

	*o = (struct condition_operand){ .column = t->column, .end = t->end };
	if (p->failed)
		return;
	switch (t->kind) {
	case TOKEN_WORD:
		parse_field(p, o);
		return;
	case TOKEN_STRING:
		o->type = TYPE_STRING;
		o->length = t->length;
		o->text = strdup(t->text);
		if (!o->text)
			parser_fail(p, t->column, t->end, "out of memory");
		break;
	case TOKEN_NUMBER:
	case TOKEN_TIME:
		o->type = t->kind == TOKEN_TIME ? TYPE_TIME : TYPE_NUMBER;
		o->number = t->number;
		break;
	default:
		parser_fail(p, t->column, t->end,
			    t->kind == TOKEN_END
				    ? "the condition ends where a value is expected"
				    : "a field, a string, a number or a time is expected "
				      "here");
		return;
	}
	parser_next(p);
}

/* --- tests ------------------------------------------------------------------------------------- */

static const char *type_name(enum condition_type type)
{
	static const char *const names[] = { "a string", "a number", "a time", "an argument" };

	return names[type];
}

/* Counters and arguments may be times; a number without a unit is never one of ours. */
static bool types_agree(const struct condition_operand *a, const struct condition_operand *b)
{
	if (a->type == b->type || a->type == TYPE_ANY || b->type == TYPE_ANY)
		return true;
	if (a->type == TYPE_STRING || b->type == TYPE_STRING)
		return false;
	return a->field == FIELD_COUNTER || b->field == FIELD_COUNTER || a->field == FIELD_VALUE ||
	       b->field == FIELD_VALUE;
}

static void check_test_types(struct condition_parser *p, const struct condition_test *test)
{
	const struct condition_operand *a = &test->left, *b = &test->right;
	bool is_order = test->compare >= COMPARE_LESS && test->compare <= COMPARE_GREATER_EQUAL;
	bool is_pattern = test->compare >= COMPARE_REGEX && test->compare <= COMPARE_NOT_GLOB;

	if (!a->field)
		parser_fail(p, a->column, a->end, "the left side is a field, such as name or dur");
	else if (is_pattern && (b->field || b->type != TYPE_STRING))
		parser_fail(p, b->column, b->end, "a pattern is a string in quotes");
	else if (is_pattern && a->type != TYPE_STRING && a->type != TYPE_ANY)
		parser_fail(p, a->column, a->end, "only strings match a pattern, and this is %s",
			    type_name(a->type));
	else if (!types_agree(a, b) && a->type == TYPE_TIME && b->type == TYPE_NUMBER)
		parser_fail(p, b->column, b->end, "a time needs a unit: ns, us, ms, s or m");
	else if (!types_agree(a, b))
		parser_fail(p, b->column, b->end, "%s is compared with %s", type_name(a->type),
			    type_name(b->type));
	else if (is_order && (a->type == TYPE_STRING || b->type == TYPE_STRING))
		parser_fail(p, a->type == TYPE_STRING ? a->column : b->column,
			    a->type == TYPE_STRING ? a->end : b->end,
			    "strings are equal or not; they have no order");
}

static void compile_pattern(struct condition_parser *p, struct condition_test *test)
{
	const struct condition_operand *right = &test->right;
	char reason[96];
	const char *refusal;
	unsigned stars = 0, i;
	int error;

	if (test->compare == COMPARE_GLOB || test->compare == COMPARE_NOT_GLOB ||
	    test->compare == COMPARE_IN) {
		for (i = 0; i < right->length; i++)
			stars += right->text[i] == '*';
		if (stars > GLOB_MAX_STARS)
			parser_fail(p, right->column, right->end, "a glob has at most %d stars",
				    GLOB_MAX_STARS);
		return;
	}
	if (test->compare != COMPARE_REGEX && test->compare != COMPARE_NOT_REGEX)
		return;
	refusal = condition_regex_refusal(right->text);
	if (refusal) {
		parser_fail(p, right->column, right->end, "%s", refusal);
		return;
	}
	error = regcomp(&test->regex, right->text, REG_EXTENDED);
	if (error) {
		regerror(error, &test->regex, reason, sizeof(reason));
		parser_fail(p, right->column, right->end, "not a regular expression: %s", reason);
		return;
	}
	test->has_regex = true;
	test->memory.recent = calloc(CONDITION_RECENT, sizeof(*test->memory.recent));
}

static struct condition_test *parser_add_test(struct condition_parser *p)
{
	struct condition *c = p->condition;

	if (c->n_tests == CONDITION_MAX_TESTS) {
		parser_fail(p, p->token.column, p->token.end, "more than %d comparisons",
			    CONDITION_MAX_TESTS);
		return NULL;
	}
	parser_emit(p, STEP_TEST, c->n_tests);
	return &c->tests[c->n_tests++];
}

static void parse_in(struct condition_parser *p)
{
	struct condition_test *test = parser_add_test(p);
	struct condition *c = p->condition;

	parser_next(p);
	parser_expect(p, TOKEN_OPEN, "(");
	if (!test || p->failed)
		return;
	test->compare = COMPARE_IN;
	if (p->token.kind != TOKEN_STRING)
		parser_fail(p, p->token.column, p->token.end,
			    "the name of a slice in quotes is expected here");
	parse_operand(p, &test->right);
	if (p->failed)
		return;
	if (c->n_ins == CONDITION_MAX_INS) {
		parser_fail(p, test->right.column, test->right.end, "more than %d in(...)",
			    CONDITION_MAX_INS);
		return;
	}
	compile_pattern(p, test);
	test->left.key = c->n_ins;
	c->ins[c->n_ins++] = (unsigned)(test - c->tests);
	parser_expect(p, TOKEN_CLOSE, ")");
}

static void parse_has(struct condition_parser *p)
{
	struct condition_test *test = parser_add_test(p);

	parser_next(p);
	parser_expect(p, TOKEN_OPEN, "(");
	if (!test || p->failed)
		return;
	test->compare = COMPARE_HAS;
	if (p->token.kind != TOKEN_WORD)
		parser_fail(p, p->token.column, p->token.end,
			    "a field such as arg.KEY is expected here");
	else
		parse_operand(p, &test->left);
	parser_expect(p, TOKEN_CLOSE, ")");
}

static void parse_test(struct condition_parser *p)
{
	struct condition_test *test;

	if (p->token.kind == TOKEN_WORD && !strcmp(p->token.text, "in")) {
		parse_in(p);
		return;
	}
	if (p->token.kind == TOKEN_WORD && !strcmp(p->token.text, "has")) {
		parse_has(p);
		return;
	}
	test = parser_add_test(p);
	if (!test)
		return;
	parse_operand(p, &test->left);
	if (p->failed)
		return;
	if (p->token.kind != TOKEN_COMPARE) {
		parser_fail(p, p->token.column, p->token.end,
			    "a comparison is expected here: == != < <= > >= =~ !~ =* !*");
		return;
	}
	test->compare = p->token.compare;
	parser_next(p);
	parse_operand(p, &test->right);
	if (!p->failed)
		check_test_types(p, test);
	if (!p->failed)
		compile_pattern(p, test);
}

/* --- what joins them --------------------------------------------------------------------------- */

static void parse_any(struct condition_parser *p);

static void parse_one(struct condition_parser *p)
{
	if (p->failed)
		return;
	if (p->depth == CONDITION_MAX_DEPTH) {
		parser_fail(p, p->token.column, p->token.end, "nested deeper than %d",
			    CONDITION_MAX_DEPTH);
		return;
	}
	p->depth++;
	if (p->token.kind == TOKEN_NOT) {
		parser_next(p);
		parse_one(p);
		parser_emit(p, STEP_NOT, 0);
	} else if (p->token.kind == TOKEN_OPEN) {
		parser_next(p);
		parse_any(p);
		parser_expect(p, TOKEN_CLOSE, ")");
	} else {
		parse_test(p);
	}
	p->depth--;
}

/*
 * Parses a chain of && or ||. Each jump goes behind the next member, where the jump of that one
 * follows with the same truth.
 */
static void parse_chain(struct condition_parser *p, enum condition_token_kind sign, unsigned jump,
			void (*member)(struct condition_parser *p))
{
	member(p);
	while (!p->failed && p->token.kind == sign) {
		unsigned at = parser_emit(p, jump, 0);

		parser_next(p);
		member(p);
		p->condition->steps[at].target = p->condition->n_steps;
	}
}

static void parse_all(struct condition_parser *p)
{
	parse_chain(p, TOKEN_AND, STEP_JUMP_FALSE, parse_one);
}

static void parse_any(struct condition_parser *p)
{
	parse_chain(p, TOKEN_OR, STEP_JUMP_TRUE, parse_all);
}

/* --- the condition ----------------------------------------------------------------------------- */

struct condition *condition_new(void)
{
	struct condition *c = calloc(1, sizeof(*c));

	if (c)
		c->tests = calloc(CONDITION_MAX_TESTS, sizeof(*c->tests));
	if (c && c->tests)
		return c;
	free(c);
	return NULL;
}

struct condition *condition_compile(const char *text, struct condition_error *error)
{
	struct condition_parser *p = calloc(1, sizeof(*p));
	struct condition *c = condition_new();
	bool failed = true;

	*error = (struct condition_error){ .message = "out of memory" };
	if (p && c) {
		p->text = text;
		p->condition = c;
		p->error = error;
		if (strlen(text) > CONDITION_MAX_TEXT)
			parser_fail(p, CONDITION_MAX_TEXT, CONDITION_MAX_TEXT + 1,
				    "a condition has at most %d characters", CONDITION_MAX_TEXT);
		else
			parser_next(p);
		parse_any(p);
		if (!p->failed && p->token.kind != TOKEN_END)
			parser_fail(p, p->token.column, p->token.end, "&& or || is expected here");
		failed = p->failed;
	}
	free(p);
	if (!failed)
		return c;
	condition_free(c);
	return NULL;
}

void condition_free(struct condition *c)
{
	for (unsigned i = 0; c && i < c->n_tests; i++) {
		struct condition_test *test = &c->tests[i];

		free(test->left.text);
		free(test->right.text);
		free(test->memory.names);
		free(test->memory.recent);
		if (test->has_regex)
			regfree(&test->regex);
	}
	for (unsigned i = 0; c && i < CONDITION_MAX_KEYS; i++) {
		free(c->keys[i]);
		free(c->counters[i]);
	}
	if (c)
		free(c->tests);
	free(c);
}

void condition_bind(struct condition *c, struct names *names)
{
	for (unsigned i = 0; i < c->n_keys; i++)
		c->key_names[i] = names_intern_string(names, c->keys[i]);
	for (unsigned i = 0; i < c->n_counters; i++)
		c->counter_names[i] = names_intern_string(names, c->counters[i]);
	for (unsigned i = 0; i < c->n_tests; i++) {
		free(c->tests[i].memory.names);
		c->tests[i].memory.names = NULL;
		c->tests[i].memory.n_names = 0;
	}
}

unsigned condition_keys(const struct condition *c)
{
	return c->n_keys;
}

const struct name *condition_key(const struct condition *c, unsigned i)
{
	return c->key_names[i];
}

bool condition_uses_start(const struct condition *c)
{
	return c->uses_start;
}
