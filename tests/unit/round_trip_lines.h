/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts as lines of text, to be sorted and compared, as far as both formats can say them. */
#ifndef ROUND_TRIP_LINES_H
#define ROUND_TRIP_LINES_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timeline/consumer.h"
#include "timeline/callstack.h"
#include "timeline/fact.h"

/* What something is called at the end. */
struct called {
	uint32_t pid, tid;
	char *name;
};

struct lines {
	struct consumer consumer;
	char **all;
	size_t n, capacity;
	struct called *called;
	size_t n_called;
	size_t length;
	bool samples; /* the format has them */
	char text[1 << 16];
};

static void say(struct lines *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct lines *l, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(l->text + l->length, sizeof(l->text) - l->length, format, args);
	va_end(args);
	assert_true(n >= 0 && (size_t)n < sizeof(l->text) - l->length);
	l->length += (size_t)n;
}

static void keep(struct lines *l)
{
	if (l->n == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 1024;
		l->all = realloc(l->all, l->capacity * sizeof(*l->all));
		assert_non_null(l->all);
	}
	l->all[l->n] = strdup(l->text);
	assert_non_null(l->all[l->n++]);
}

/* In the way of the poorer format, as tests/tools/canon has them. */
static void say_value(struct lines *l, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_INT:
		say(l, "%" PRId64, arg->i);
		break;
	case ARG_UINT:
		say(l, arg->u > INT64_MAX ? "'%" PRIu64 "'" : "%" PRIu64, arg->u);
		break;
	case ARG_DOUBLE:
		if (isnan(arg->d))
			say(l, "'NaN'");
		else if (isinf(arg->d))
			say(l, "'%sInfinity'", arg->d < 0 ? "-" : "");
		else
			say(l, "d%.17g", arg->d);
		break;
	case ARG_STRING:
		assert_int_equal(strlen(arg->s), arg->length);
		say(l, "'%s'", arg->s);
		break;
	case ARG_BOOL:
		say(l, arg->u ? "true" : "false");
		break;
	case ARG_POINTER:
		say(l, "'0x%" PRIx64 "'", arg->u);
		break;
	case ARG_NULL:
		say(l, "'(null)'");
		break;
	}
}

static const char *text_of(const struct name *name)
{
	return name ? name->text : "-";
}

static void call(struct lines *l, uint32_t pid, uint32_t tid, const struct name *name)
{
	size_t i;

	if (!name)
		return;
	for (i = 0; i < l->n_called; i++) {
		if (l->called[i].pid == pid && l->called[i].tid == tid)
			break;
	}
	if (i == l->n_called) {
		l->called = realloc(l->called, ++l->n_called * sizeof(*l->called));
		assert_non_null(l->called);
		l->called[i] = (struct called){ .pid = pid, .tid = tid };
	}
	free(l->called[i].name);
	l->called[i].name = strdup(name->text);
}

/* "TIME PID/TID KIND", with the thread only where both formats have it. */
static void start(struct lines *l, const struct fact *f, const char *kind, bool of_thread)
{
	l->length = 0;
	say(l, "%020" PRIu64 " %u/%u %s", f->ts_ns, f->process ? f->process->pid : 0,
	    of_thread && f->thread ? f->thread->tid : 0, kind);
}

/* Innermost first. Of a function both formats know its name, and whether it is the kernel's. */
static void say_stack(struct lines *l, const struct callstack *callstack)
{
	const char *between = " in ";

	for (; callstack; callstack = callstack->caller, between = "<") {
		const struct code_mapping *mapping = callstack->frame->mapping;

		say(l, "%s%s%s", between, text_of(code_frame_function(callstack->frame)),
		    mapping && mapping->kind == CODE_KERNEL ? "@kernel" : "");
	}
}

static void say_rest(struct lines *l, const struct fact *f)
{
	unsigned i;

	say(l, " %s [%s]", text_of(f->name), text_of(f->category));
	if (f->kind == FACT_BEGIN || f->kind == FACT_INSTANT)
		say_stack(l, f->callstack);
	for (i = 0; i < f->n_args; i++) {
		say(l, " %s=", text_of(f->args[i].key));
		say_value(l, &f->args[i]);
	}
	keep(l);
}

/* What was counted of a thread: with a mark as it is written, by itself as it is read. */
static void say_counted(struct lines *l, const struct fact *f, const struct name *counter,
			uint64_t value)
{
	start(l, f, "COUNTED", true);
	say(l, " %s %" PRIu64, counter->text, value);
	keep(l);
}

static void take_counted(struct lines *l, const struct fact *f)
{
	unsigned i;

	for (i = 0; i < f->n_counters; i++) {
		if (f->counters[i] != EVENT_NO_VALUE)
			say_counted(l, f, f->counter_tracks[i]->name, f->counters[i]);
	}
}

static void take_counter(struct lines *l, const struct fact *f)
{
	unsigned i;

	for (i = 0; i < f->n_args; i++) {
		const struct name *key = f->tracks[i]->key;

		if (f->tracks[i]->is_counted) {
			say_counted(l, f, f->name, f->args[i].u);
			continue;
		}
		start(l, f, "COUNTER", false);
		say(l, " %s%s%s ", text_of(f->name), key ? " " : "", key ? key->text : "");
		say_value(l, &f->args[i]);
		if (f->memory)
			say(l, " address %" PRIx64 " size %" PRIu64, f->memory->address,
			    f->memory->size);
		keep(l);
	}
}

/* By the id, or by the names of the tracks and the lane on them. */
static void say_lane(struct lines *l, const struct fact *f)
{
	const struct track *track = f->tracks[0];

	if (!track->is_given) {
		say(l, " #%" PRIx64, f->id);
		return;
	}
	say(l, " lane %u of %s", track->lane, track->path ? track->path->text : "its name");
	for (; track; track = track->parent)
		say(l, " in %s", track->name->text);
}

static int take_fact(struct consumer *consumer, const struct fact *f)
{
	static const char *const scopes[] = { "instant", "instant of process", "instant of all" };
	struct lines *l = (struct lines *)consumer;

	if (f->kind == FACT_SAMPLE && !l->samples)
		return 0;
	take_counted(l, f);
	switch (f->kind) {
	case FACT_PROCESS:
		call(l, f->process->pid, 0, f->process->name);
		break;
	case FACT_LABELS:
		call(l, f->process->pid, UINT32_MAX, f->process->labels);
		break;
	case FACT_THREAD:
		call(l, f->process->pid, f->thread->tid, f->thread->name);
		break;
	case FACT_BEGIN:
		start(l, f, "BEGIN", true);
		say_rest(l, f);
		break;
	case FACT_END:
		start(l, f, "END", true);
		say(l, " since %" PRIu64 " self %" PRIu64 " %d", f->begin_ns, f->self_ns,
		    (int)f->end_reason);
		say_rest(l, f);
		break;
	case FACT_INSTANT:
		start(l, f, scopes[f->scope], f->scope == SCOPE_THREAD);
		if (f->scope == SCOPE_GLOBAL) {
			l->length = 0;
			say(l, "%020" PRIu64 " instant of all", f->ts_ns);
		}
		if (f->tracks)
			say_lane(l, f);
		say_rest(l, f);
		break;
	case FACT_COUNTER:
		take_counter(l, f);
		break;
	case FACT_ASYNC_BEGIN:
		start(l, f, "ASYNC BEGIN", false);
		say_lane(l, f);
		if (f->tracks[0]->is_given)
			say(l, " until %" PRIu64 " arrow %" PRIu64, f->end_ns, f->flow);
		say_rest(l, f);
		break;
	case FACT_ASYNC_END:
		start(l, f, "ASYNC END", false);
		say_lane(l, f);
		say(l, " since %" PRIu64 " %d", f->begin_ns, (int)f->end_reason);
		say_rest(l, f);
		break;
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		start(l, f, f->kind == FACT_FLOW_OUT ? "OUT" : "IN", true);
		say(l, " #%" PRIx64, f->id);
		keep(l);
		break;
	case FACT_SAMPLE:
		start(l, f, "SAMPLE", true);
		say(l, " cpu %u %s", f->sample->cpu,
		    f->sample->mode == SAMPLE_KERNEL ? "kernel" : "user");
		say_stack(l, f->callstack);
		keep(l);
		break;
	case FACT_LOST:
		start(l, f, "LOST", true);
		say(l, " %" PRIu64, f->count);
		keep(l);
		break;
	default:
		break;
	}
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct lines *lines_new(bool samples)
{
	static const struct consumer_ops ops = { .fact = take_fact };
	struct lines *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->consumer.ops = &ops;
	l->samples = samples;
	return l;
}

static void lines_finish(struct lines *l)
{
	size_t i;

	for (i = 0; i < l->n_called; i++) {
		l->length = 0;
		say(l, "%u/%u is called %s", l->called[i].pid, l->called[i].tid, l->called[i].name);
		keep(l);
		free(l->called[i].name);
	}
	free(l->called);
	l->called = NULL;
	qsort(l->all, l->n, sizeof(*l->all), compare_lines);
}

static void lines_free(struct lines *l)
{
	while (l->n)
		free(l->all[--l->n]);
	free(l->all);
	free(l);
}

/* Shows the first few lines that only one of them has. */
static void lines_equal(const struct lines *a, const struct lines *b, const char *what)
{
	size_t i = 0, j = 0;
	unsigned shown = 0;

	while (shown < 10 && (i < a->n || j < b->n)) {
		int order = i == a->n ? 1 : j == b->n ? -1 : strcmp(a->all[i], b->all[j]);

		if (order)
			print_error("%s: only %s: %.300s\n", what, order < 0 ? "written" : "read",
				    order < 0 ? a->all[i] : b->all[j]);
		shown += order != 0;
		i += order <= 0;
		j += order >= 0;
	}
	assert_int_equal(shown, 0);
}

#endif
