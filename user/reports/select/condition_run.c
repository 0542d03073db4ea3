/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates conditions. This runs for every slice, instant and sample of a counter of a trace. */
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "reports/select/condition_program.h"

/* A value of the subject. */
struct condition_value {
	enum {
		VALUE_NONE,
		VALUE_NUMBER, /* times are numbers of nanoseconds */
		VALUE_NAME,
		VALUE_TEXT,
	} kind;
	long double number;
	const struct name *name;
	const char *text;
	uint32_t length;
};

/* --- patterns ---------------------------------------------------------------------------------- */

static bool pattern_matches_part(struct condition_test *test, const char *text, uint32_t length)
{
	const struct condition_operand *right = &test->right;
	regmatch_t whole = { .rm_so = 0, .rm_eo = (regoff_t)length };
	struct glob_stars stars;
	char part[LIMIT_NAME + 1];

	switch (test->compare) {
	case COMPARE_REGEX:
	case COMPARE_NOT_REGEX:
		return !regexec(&test->regex, text, 1, &whole, REG_STARTEND);
	case COMPARE_GLOB:
	case COMPARE_NOT_GLOB:
	case COMPARE_IN:
		if (text[length]) { /* one of several categories */
			if (length > LIMIT_NAME)
				return false;
			memcpy(part, text, length);
			part[length] = '\0';
			text = part;
		}
		return glob_matches(right->text, right->length, text, &stars);
	default:
		return length == right->length && !memcmp(text, right->text, length);
	}
}

bool condition_pattern_matches(struct condition_test *test, const char *text, uint32_t length)
{
	const char *end = text + length, *comma;

	/* Several categories are separated by commas; one of them has to match. */
	while (test->left.field == FIELD_CATEGORY &&
	       (comma = memchr(text, ',', (size_t)(end - text)))) {
		if (pattern_matches_part(test, text, (uint32_t)(comma - text)))
			return true;
		text = comma + 1;
	}
	return pattern_matches_part(test, text, (uint32_t)(end - text));
}

/* Facts come by the million but have few different names: each is matched once. */
static bool name_matches_pattern(struct condition_test *test, const struct name *name)
{
	struct condition_memory *m = &test->memory;

	if (name->id >= m->n_names) {
		uint32_t n = 2 * name->id + 64;
		uint8_t *grown = realloc(m->names, n);

		if (!grown)
			return condition_pattern_matches(test, name->text, name->length);
		memset(grown + m->n_names, 0, n - m->n_names);
		m->names = grown;
		m->n_names = n;
	}
	if (!m->names[name->id])
		m->names[name->id] =
			condition_pattern_matches(test, name->text, name->length) ? 2 : 1;
	return m->names[name->id] == 2;
}

/* The C library allocates memory to match a regular expression, so strings that recur are remembered. */
static bool text_matches_pattern(struct condition_test *test, const char *text, uint32_t length)
{
	struct condition_recent *recent = test->memory.recent;
	uint32_t hash = 2166136261u, i;

	if (!recent || length >= CONDITION_RECENT_TEXT)
		return condition_pattern_matches(test, text, length);
	for (i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	recent += (hash ^ hash >> 16) & (CONDITION_RECENT - 1);
	if (recent->result && recent->length == length && !memcmp(recent->text, text, length))
		return recent->result == 2;
	recent->length = (uint8_t)length;
	memcpy(recent->text, text, length);
	recent->result = condition_pattern_matches(test, text, length) ? 2 : 1;
	return recent->result == 2;
}

uint32_t condition_in(struct condition *c, const struct name *name)
{
	uint32_t in = 0;

	for (unsigned i = 0; i < c->n_ins; i++) {
		if (name_matches_pattern(&c->tests[c->ins[i]], name))
			in |= 1u << i;
	}
	return in;
}

/* --- values ------------------------------------------------------------------------------------ */

static struct condition_value value_of_number(long double number)
{
	return (struct condition_value){ .kind = VALUE_NUMBER, .number = number };
}

static struct condition_value value_of_name(const struct name *name)
{
	return (struct condition_value){ .kind = name ? VALUE_NAME : VALUE_NONE, .name = name };
}

static struct condition_value value_of_arg(const struct arg *arg)
{
	switch (arg->type) {
	case ARG_INT:
		return value_of_number((long double)arg->i);
	case ARG_UINT:
	case ARG_BOOL:
	case ARG_POINTER:
		return value_of_number((long double)arg->u);
	case ARG_DOUBLE:
		return value_of_number((long double)arg->d);
	case ARG_STRING:
		return (struct condition_value){ .kind = VALUE_TEXT,
						 .text = arg->s,
						 .length = arg->length };
	default:
		return (struct condition_value){ .kind = VALUE_NONE };
	}
}

static struct condition_value find_arg_value(const struct condition *c,
					     const struct condition_subject *s, unsigned key)
{
	const struct fact *fact = s->fact;

	if (s->saved && s->saved[key].type)
		return value_of_arg(&s->saved[key]);
	for (unsigned i = 0; i < fact->n_args; i++) {
		const struct name *own = fact->args[i].key;

		/* The series of a counter may be the key of its track. */
		if (!own && s->kind == CONDITION_COUNTER)
			own = fact->tracks[i]->key;
		if (own == c->key_names[key])
			return value_of_arg(&fact->args[i]);
	}
	return (struct condition_value){ .kind = VALUE_NONE };
}

static struct condition_value find_counter_value(const struct condition *c, const struct fact *fact,
						 unsigned key)
{
	for (unsigned i = 0; fact->kind == FACT_END && fact->counter_deltas && i < fact->n_counters;
	     i++) {
		if (fact->counter_tracks[i]->name != c->counter_names[key] ||
		    fact->counter_deltas[i] == EVENT_NO_VALUE)
			continue;
		return value_of_number((long double)fact->counter_deltas[i]);
	}
	return (struct condition_value){ .kind = VALUE_NONE };
}

static struct condition_value state_value(const struct fact *fact, enum condition_field field)
{
	const struct slice_states *states = fact->kind == FACT_END ? fact->states : NULL;

	if (!states)
		return (struct condition_value){ .kind = VALUE_NONE };
	return value_of_number((long double)(field == FIELD_RUNNING    ? states->running
					     : field == FIELD_RUNNABLE ? states->runnable
								       : states->blocked));
}

/* A slice that was never blocked was so for no reason. */
static struct condition_value reason_value(const struct fact *fact, unsigned reason)
{
	const struct slice_states *states = fact->kind == FACT_END ? fact->states : NULL;

	if (!states || (!states->has_reasons && states->blocked))
		return (struct condition_value){ .kind = VALUE_NONE };
	return value_of_number((long double)states->blocked_in[reason]);
}

static struct condition_value kind_value(enum condition_kind kind)
{
	static const char *const kinds[] = { "slice", "async", "frame", "instant", "counter" };

	return (struct condition_value){ .kind = VALUE_TEXT,
					 .text = kinds[kind],
					 .length = (uint32_t)strlen(kinds[kind]) };
}

static struct condition_value owner_value(const struct fact *fact, enum condition_field field)
{
	const struct condition_value none = { .kind = VALUE_NONE };

	switch (field) {
	case FIELD_THREAD:
		return fact->thread ? value_of_name(fact->thread->name) : none;
	case FIELD_TID:
		return fact->thread ? value_of_number(fact->thread->tid) : none;
	case FIELD_PROCESS:
		return fact->process ? value_of_name(fact->process->name) : none;
	default:
		return fact->process ? value_of_number(fact->process->pid) : none;
	}
}

static struct condition_value field_value(const struct condition *c,
					  const struct condition_subject *s,
					  const struct condition_operand *o)
{
	const struct condition_value none = { .kind = VALUE_NONE };

	switch (o->field) {
	case FIELD_NAME:
		return value_of_name(s->fact->name);
	case FIELD_CATEGORY:
		return value_of_name(s->fact->category);
	case FIELD_KIND:
		return kind_value(s->kind);
	case FIELD_DURATION:
		return s->has_duration ? value_of_number((long double)s->duration_ns) : none;
	case FIELD_START:
		return value_of_number((long double)s->start_ns);
	case FIELD_SELF:
		if (s->kind != CONDITION_SLICE || !s->has_duration)
			return none;
		return value_of_number((long double)s->fact->self_ns);
	case FIELD_RUNNING:
	case FIELD_RUNNABLE:
	case FIELD_BLOCKED:
		return state_value(s->fact, o->field);
	case FIELD_BLOCKED_IN:
		return reason_value(s->fact, o->key);
	case FIELD_VALUE:
		if (s->kind != CONDITION_COUNTER || !s->fact->n_args)
			return none;
		return value_of_arg(&s->fact->args[0]);
	case FIELD_ARG:
		return find_arg_value(c, s, o->key);
	case FIELD_COUNTER:
		return find_counter_value(c, s->fact, o->key);
	case FIELD_NONE:
		return (struct condition_value){ .kind = o->text ? VALUE_TEXT : VALUE_NUMBER,
						 .number = o->number,
						 .text = o->text,
						 .length = o->length };
	default:
		return owner_value(s->fact, o->field);
	}
}

/* --- tests ------------------------------------------------------------------------------------- */

static bool numbers_compare(enum condition_compare compare, long double a, long double b)
{
	switch (compare) {
	case COMPARE_EQUAL:
		return a == b;
	case COMPARE_UNEQUAL:
		return a != b;
	case COMPARE_LESS:
		return a < b;
	case COMPARE_LESS_EQUAL:
		return a <= b;
	case COMPARE_GREATER:
		return a > b;
	default:
		return a >= b;
	}
}

static bool value_is_text(const struct condition_value *value)
{
	return value->kind == VALUE_NAME || value->kind == VALUE_TEXT;
}

static const char *value_text(const struct condition_value *value, uint32_t *ret_length)
{
	*ret_length = value->kind == VALUE_NAME ? value->name->length : value->length;
	return value->kind == VALUE_NAME ? value->name->text : value->text;
}

/* Two strings of the subject, of which neither is a pattern. */
static bool texts_compare(enum condition_compare compare, const struct condition_value *a,
			  const struct condition_value *b)
{
	uint32_t a_length, b_length;
	const char *a_text = value_text(a, &a_length), *b_text = value_text(b, &b_length);
	bool equal = a_length == b_length && !memcmp(a_text, b_text, a_length);

	return equal == (compare == COMPARE_EQUAL);
}

static bool is_negated(enum condition_compare compare)
{
	return compare == COMPARE_UNEQUAL || compare == COMPARE_NOT_REGEX ||
	       compare == COMPARE_NOT_GLOB;
}

static bool condition_test_run(const struct condition *c, struct condition_test *test,
			       const struct condition_subject *s)
{
	struct condition_value a, b;
	bool matches;

	if (test->compare == COMPARE_IN)
		return s->in >> test->left.key & 1;
	a = field_value(c, s, &test->left);
	if (a.kind == VALUE_NONE || test->compare == COMPARE_HAS)
		return a.kind != VALUE_NONE;
	if (test->right.field || !test->right.text) {
		b = field_value(c, s, &test->right);
		if (a.kind == VALUE_NUMBER && b.kind == VALUE_NUMBER)
			return numbers_compare(test->compare, a.number, b.number);
		if (value_is_text(&a) && value_is_text(&b))
			return texts_compare(test->compare, &a, &b);
		return test->compare == COMPARE_UNEQUAL && b.kind != VALUE_NONE;
	}
	/* An argument that is a number in this slice, and is compared with a string. */
	if (a.kind == VALUE_NUMBER)
		return test->compare == COMPARE_UNEQUAL;
	matches = a.kind == VALUE_NAME ? name_matches_pattern(test, a.name)
				       : text_matches_pattern(test, a.text, a.length);
	return matches != is_negated(test->compare);
}

bool condition_matches(struct condition *c, const struct condition_subject *s)
{
	bool truth = true;
	unsigned i = 0;

	while (i < c->n_steps) {
		const struct condition_step *step = &c->steps[i++];

		switch (step->op) {
		case STEP_TEST:
			truth = condition_test_run(c, &c->tests[step->target], s);
			break;
		case STEP_NOT:
			truth = !truth;
			break;
		case STEP_JUMP_FALSE:
			i = truth ? i : step->target;
			break;
		case STEP_JUMP_TRUE:
			i = truth ? step->target : i;
			break;
		}
	}
	return truth;
}
