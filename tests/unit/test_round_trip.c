/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is written is what is read: random programs go through a timeline into both formats, are read
 * back, and must be the same facts as far as both can say them. What is converted, there and back
 * again, stays what it was. PROFTRACE_SEED repeats one round, which a failure names.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/rewrite.h"
#include "handlers/sink.h"

#define ROUNDS	8
#define EVENTS	3000
#define N_NAMES 24
#define THREADS 4
#define DEPTH	12
#define START	5000000123ull

/* --- facts as lines ---------------------------------------------------------------------------- */

/* What something is called at the end. */
struct called {
	uint32_t pid, tid;
	char *name;
};

struct lines {
	struct handler handler;
	char **all;
	size_t n, room;
	struct called *called;
	size_t n_called;
	size_t length;
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
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 1024;
		l->all = realloc(l->all, l->room * sizeof(*l->all));
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

static void say_rest(struct lines *l, const struct fact *f)
{
	unsigned i;

	say(l, " %s [%s]", text_of(f->name), text_of(f->category));
	for (i = 0; i < f->n_args; i++) {
		say(l, " %s=", text_of(f->args[i].key));
		say_value(l, &f->args[i]);
	}
	keep(l);
}

static void take_counter(struct lines *l, const struct fact *f)
{
	unsigned i;

	for (i = 0; i < f->n_args; i++) {
		const struct name *key = f->tracks[i]->key;

		start(l, f, "COUNTER", false);
		say(l, " %s%s%s ", text_of(f->name), key ? " " : "", key ? key->text : "");
		say_value(l, &f->args[i]);
		if (f->memory)
			say(l, " address %" PRIx64 " size %" PRIu64, f->memory->address,
			    f->memory->size);
		keep(l);
	}
}

static int take_fact(struct handler *handler, const struct fact *f)
{
	static const char *const scopes[] = { "instant", "instant of process", "instant of all" };
	struct lines *l = (struct lines *)handler;

	switch (f->kind) {
	case FACT_PROCESS:
		call(l, f->process->pid, 0, f->process->name);
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
		say_rest(l, f);
		break;
	case FACT_COUNTER:
		take_counter(l, f);
		break;
	case FACT_ASYNC_BEGIN:
		start(l, f, "ASYNC BEGIN", false);
		say(l, " #%" PRIx64, f->id);
		say_rest(l, f);
		break;
	case FACT_ASYNC_END:
		start(l, f, "ASYNC END", false);
		say(l, " #%" PRIx64 " since %" PRIu64 " %d", f->id, f->begin_ns,
		    (int)f->end_reason);
		say_rest(l, f);
		break;
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		start(l, f, f->kind == FACT_FLOW_OUT ? "OUT" : "IN", true);
		say(l, " #%" PRIx64, f->id);
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

static struct lines *lines_new(void)
{
	static const struct handler_ops ops = { .name = "lines", .fact = take_fact };
	struct lines *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->handler.ops = &ops;
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

/* --- reading ----------------------------------------------------------------------------------- */

struct reading {
	struct names *names;
	struct account account;
	struct timeline *timeline;
	uint64_t last_ns;
};

static int take_event(void *context, const struct event *e)
{
	struct reading *r = context;

	if (e->ts_ns > r->last_ns)
		r->last_ns = e->ts_ns;
	return timeline_event(r->timeline, e);
}

static struct lines *read_back(const char *path)
{
	struct reading r = { .names = names_new(0) };
	struct lines *l = lines_new();
	struct trace_origin origin = { 0 };
	const struct reader_sink sink = { take_event, &r, r.names, &r.account, &origin, NULL };
	struct reader_error why = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	r.timeline = timeline_new(r.names, &r.account, 0);
	assert_int_equal(timeline_add_handler(r.timeline, &l->handler), 0);
	assert_true(fd >= 0);
	assert_int_equal(trace_read(fd, &sink, &why), 0);
	assert_string_equal(why.message, "");
	assert_false(why.truncated);
	assert_int_equal(why.skipped, 0);
	assert_int_equal(account_lost(&r.account), 0);
	assert_true(origin.has_account);
	close(fd);
	timeline_finish(r.timeline, r.last_ns);
	lines_finish(l);
	timeline_free(r.timeline);
	names_free(r.names);
	return l;
}

/* As `proftrace convert` does. */
static void convert(const char *from, const char *to)
{
	static struct rewrite rewrite;
	struct reader_error why = { 0 };
	struct failure f = { 0 };
	struct source source;

	assert_int_equal(rewrite_init(&rewrite, &f), 0);
	assert_int_equal(rewrite_output(&rewrite, to, &f), 0);
	assert_int_equal(source_open(&source, from, &f), 0);
	assert_int_equal(source_look(&source, &f), 0);
	assert_int_equal(rewrite_begin(&rewrite, &source.origin, source.first_ns, &f), 0);
	assert_int_equal(source_read(&source,
				     &(struct reader_sink){
					     (int (*)(void *, const struct event *))rewrite_event,
					     &rewrite, rewrite.names, &rewrite.account,
					     &source.origin, rewrite.callstacks },
				     &why, &f),
			 0);
	rewrite_source_end(&rewrite, &source.origin, &why);
	assert_int_equal(rewrite_end(&rewrite, &f), 0);
	rewrite_free(&rewrite);
	source_close(&source);
}

/* --- writing ----------------------------------------------------------------------------------- */

struct program {
	uint64_t seed, now;
	struct names *names;
	const struct name *name[N_NAMES];
	const struct name *category[N_NAMES];
	struct account account;
	struct timeline *timeline;
	struct {
		unsigned depth;
		bool ended[DEPTH + 1];
	} threads[3][THREADS];
	struct {
		uint32_t pid;
		uint64_t id;
		const struct name *name;
	} asyncs[16];
	bool levels; /* as the kernel tells them: then ENDs may be missing */
	struct arg args[6];
	char texts[6][256 * 6 + 1];
};

static uint32_t pick(struct program *p, uint32_t below)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 7;
	p->seed ^= p->seed << 17;
	return (uint32_t)((p->seed * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static uint64_t any_number(struct program *p)
{
	static const uint64_t odd[] = {
		0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, 1ull << 53, (1ull << 53) + 1
	};
	uint64_t n = (uint64_t)pick(p, 1u << 31) << 33 ^ pick(p, 1u << 31);

	return pick(p, 3) ? n >> pick(p, 63) : odd[pick(p, 7)];
}

static double any_double(struct program *p)
{
	static const double odd[] = { 0.0,   -0.0,   0.1,
				      1e300, 5e-324, -1.5,
				      2.0,   1e21,   123456789012345678.0 };
	uint64_t bits = (uint64_t)pick(p, 1u << 31) << 33 ^ pick(p, 1u << 31);
	double d;

	if (pick(p, 2))
		return odd[pick(p, 9)];
	memcpy(&d, &bits, sizeof(d));
	return d;
}

static size_t any_bytes(struct program *p, char *out, size_t most)
{
	static const char *const pieces[] = { "a",
					      "\"",
					      "\\",
					      "\n",
					      "\033[31m",
					      "\xff",
					      "\xc3\xa9",
					      "\xe2\x82\xac",
					      "\xf0\x9f\x98\x80",
					      "/",
					      " ",
					      "%s",
					      "\xc2\x9b",
					      "0",
					      ",",
					      "\xed\xa0\x80",
					      "<b>",
					      "\x7f" };
	size_t n = 0, wanted = pick(p, (uint32_t)most);

	while (n < wanted) {
		const char *piece = pieces[pick(p, sizeof(pieces) / sizeof(pieces[0]))];

		if (n + strlen(piece) > most)
			break;
		memcpy(out + n, piece, strlen(piece));
		n += strlen(piece);
	}
	return n;
}

static const struct name *any_name(struct program *p)
{
	return p->name[pick(p, N_NAMES)];
}

/* A few of all types; no key twice. */
static unsigned any_args(struct program *p)
{
	unsigned i, n = pick(p, 3) ? 0 : pick(p, 6), first = pick(p, N_NAMES);

	for (i = 0; i < n; i++) {
		struct arg *arg = &p->args[i];
		bool changed = false;
		char bytes[256];

		*arg = (struct arg){ .type = (enum arg_type)(ARG_INT + pick(p, ARG_NULL)) };
		arg->key = p->name[(first + i) % N_NAMES];
		arg->u = any_number(p);
		if (arg->type == ARG_DOUBLE)
			arg->d = any_double(p);
		if (arg->type == ARG_BOOL)
			arg->u &= 1;
		if (arg->type != ARG_STRING)
			continue;
		arg->length = (uint32_t)text_clean(p->texts[i], sizeof(p->texts[i]), bytes,
						   any_bytes(p, bytes, sizeof(bytes)), &changed);
		arg->s = p->texts[i];
	}
	return n;
}

static void put(struct program *p, struct event e)
{
	e.ts_ns = p->now;
	if (e.n_args)
		e.args = p->args;
	assert_int_equal(timeline_event(p->timeline, &e), 0);
}

static void slice(struct program *p, struct event e, unsigned process, unsigned thread)
{
	unsigned *depth = &p->threads[process][thread].depth;

	if (pick(p, 2) && *depth < DEPTH) {
		e.kind = EVENT_BEGIN;
		e.level = p->levels ? (int)*depth : -1;
		++*depth;
		put(p, e);
		return;
	}
	if (!*depth)
		return;
	--*depth;
	/* Without its END it is told by the next mark at its level or above. */
	if (p->levels && !pick(p, 20))
		return;
	e.kind = EVENT_END;
	e.level = p->levels ? (int)*depth : -1;
	e.name = e.category = NULL;
	put(p, e);
}

static void counter(struct program *p, struct event e)
{
	static const enum arg_type types[] = { ARG_INT, ARG_UINT, ARG_DOUBLE };
	unsigned i, which = pick(p, 8);

	/* A counter has the same series always, and the same unit. */
	e.kind = EVENT_COUNTER;
	e.name = p->name[which];
	e.category = NULL;
	e.unit = which % 3 ? NULL : p->name[which + 1];
	e.n_args = which % 2 ? 1 : 3;
	if (!pick(p, 6)) {
		e.pid = e.tid = 0;
		e.sampled = true;
	}
	for (i = 0; i < e.n_args; i++) {
		p->args[i] = (struct arg){ .type = types[pick(p, 3)],
					   .key = which % 2 ? NULL : p->name[10 + i],
					   .u = any_number(p) };
		if (p->args[i].type == ARG_DOUBLE)
			p->args[i].d = any_double(p);
	}
	put(p, e);
}

static void asynchronous(struct program *p, struct event e)
{
	unsigned i = pick(p, 16);

	if (p->asyncs[i].pid) {
		e.kind = EVENT_ASYNC_END;
		e.pid = e.tid = p->asyncs[i].pid;
		e.id = p->asyncs[i].id;
		e.name = p->asyncs[i].name;
		e.category = NULL;
		p->asyncs[i].pid = 0;
		put(p, e);
		return;
	}
	e.kind = EVENT_ASYNC_BEGIN;
	e.category = NULL;
	e.id = any_number(p);
	p->asyncs[i].pid = e.pid;
	p->asyncs[i].id = e.id;
	p->asyncs[i].name = e.name;
	put(p, e);
}

/* Memory of a few pools, at a few addresses. */
static void memory(struct program *p, struct event e)
{
	e.kind = pick(p, 2) ? EVENT_ALLOC : EVENT_FREE;
	e.name = p->name[12 + pick(p, 3)];
	e.category = NULL;
	e.id = 4096 + 16 * pick(p, 64);
	e.size = e.kind == EVENT_ALLOC ? any_number(p) >> 20 : 0;
	e.n_args = 0;
	put(p, e);
}

static void frame(struct program *p, struct event e)
{
	e.kind = pick(p, 2) ? EVENT_ASYNC_BEGIN : EVENT_ASYNC_END;
	e.object = OBJECT_FRAME;
	e.name = p->name[15 + pick(p, 2)];
	e.category = NULL;
	e.id = pick(p, 4);
	e.n_args = 0;
	put(p, e);
}

static void told(struct program *p, struct event e)
{
	static const enum event_kind kinds[] = { EVENT_THREAD_NAME, EVENT_PROCESS_NAME, EVENT_COMM,
						 EVENT_FORK, EVENT_STEP };

	e.kind = kinds[pick(p, 5)];
	e.n_args = 0;
	e.category = NULL;
	if (e.kind == EVENT_STEP) {
		e.id = pick(p, 10);
		e.size = pick(p, 100);
		e.name = NULL;
	}
	if (e.kind == EVENT_FORK) {
		e.id = e.pid;
		e.tid += THREADS;
		e.level = -1;
	}
	put(p, e);
}

/* A thread or a process ends, or executes another program: what was open on it is no more. */
static void end(struct program *p, struct event e, unsigned process, unsigned thread)
{
	unsigned i;

	e.n_args = 0;
	e.level = -1;
	e.category = NULL;
	e.kind = pick(p, 3) ? EVENT_THREAD_EXIT : pick(p, 2) ? EVENT_PROCESS_EXIT : EVENT_EXEC;
	put(p, e);
	if (e.kind == EVENT_THREAD_EXIT) {
		p->threads[process][thread].depth = 0;
		return;
	}
	memset(p->threads[process], 0, sizeof(p->threads[process]));
	for (i = 0; i < 16; i++) {
		if (p->asyncs[i].pid == e.pid)
			p->asyncs[i].pid = 0;
	}
}

static void step(struct program *p)
{
	unsigned process = pick(p, 3), thread = pick(p, THREADS), what = pick(p, 1000);
	struct event e = { .pid = 100 * (process + 1), .level = -1, .name = any_name(p) };

	p->now += pick(p, 4) ? pick(p, 100) : pick(p, 1000000);
	e.tid = e.pid + thread;
	e.level = p->levels ? (int)p->threads[process][thread].depth : -1;
	e.category = pick(p, 2) ? p->category[pick(p, N_NAMES)] : NULL;
	e.n_args = any_args(p);
	if (what < 500) {
		slice(p, e, process, thread);
	} else if (what < 650) {
		e.kind = EVENT_INSTANT;
		e.scope = (enum event_scope)pick(p, 3);
		put(p, e);
	} else if (what < 770) {
		counter(p, e);
	} else if (what < 870) {
		asynchronous(p, e);
	} else if (what < 940) {
		e.kind = pick(p, 2) ? EVENT_FLOW_OUT : EVENT_FLOW_IN;
		e.id = any_number(p);
		e.n_args = 0;
		e.name = e.category = NULL;
		put(p, e);
	} else if (what < 960) {
		e.kind = EVENT_LOST;
		e.size = 1 + pick(p, 1000000);
		e.n_args = 0;
		e.name = e.category = NULL;
		put(p, e);
	} else if (what < 975) {
		memory(p, e);
	} else if (what < 983) {
		frame(p, e);
	} else if (what < 994) {
		told(p, e);
	} else {
		end(p, e, process, thread);
	}
}

/* Several are separated by commas, and none of them is empty. */
static const struct name *any_category(struct program *p, char *bytes, size_t n)
{
	char *comma;

	bytes[n < 100 ? n : 100] = '\0';
	while ((comma = strchr(bytes, ',')))
		*comma = '+';
	n = strlen(bytes);
	if (pick(p, 2))
		n += (size_t)sprintf(bytes + n, ",%u", pick(p, 10));
	return names_intern(p->names, bytes, n, 128);
}

static void program_init(struct program *p, uint64_t seed)
{
	char bytes[200];
	unsigned i;

	memset(p, 0, sizeof(*p));
	p->seed = seed * 0x9e3779b97f4a7c15ull + 1;
	p->now = START;
	p->levels = seed & 1;
	p->names = names_new(0);
	for (i = 0; i < N_NAMES; i++) {
		size_t n = (size_t)snprintf(bytes, sizeof(bytes), "%c%u", 'a' + (int)i, i);

		n += any_bytes(p, bytes + n, pick(p, 8) ? 16 : sizeof(bytes) - n);
		p->name[i] = names_intern(p->names, bytes, n, 128);
		p->category[i] = any_category(p, bytes, n);
	}
	p->timeline = timeline_new(p->names, &p->account, 0);
}

#define N_OUTPUTS 3
static const char *const outputs[N_OUTPUTS] = { "t.pftrace", "t.json", "t.json.gz" };

static void open_outputs(struct program *p, const char *directory, struct handler **handlers)
{
	struct trace_info info = {
		.start_ns = START,
		.clock = { START, START + 1000, 1700000000000000000 },
		.version = "1",
		.kernel_release = "6.1.0",
		.kernel_version = "#1",
		.machine = "x86_64",
		.sysname = "Linux",
		.trace_uuid = { 1, 2 },
		.host = "node7",
		.boot_id = "0b1c2d3e-0000-4000-8000-123456789abc",
	};
	struct sink *sink;
	char path[64];
	unsigned i;

	for (i = 0; i < N_OUTPUTS; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, outputs[i]);
		assert_int_equal(sink_open(path, i == 2 ? SINK_GZIP : SINK_PLAIN, &sink), 0);
		handlers[i] = i ? chrome_json_handler_new(sink, &info)
				: perfetto_handler_new(sink, &info);
		assert_non_null(handlers[i]);
		assert_int_equal(timeline_add_handler(p->timeline, handlers[i]), 0);
	}
}

/* Runs it into all outputs of the directory. Returns what was written. */
static struct lines *run_program(uint64_t seed, const char *directory)
{
	static struct program p;
	struct handler *handlers[N_OUTPUTS];
	struct lines *l = lines_new();
	unsigned i;

	program_init(&p, seed);
	open_outputs(&p, directory, handlers);
	assert_int_equal(timeline_add_handler(p.timeline, &l->handler), 0);
	for (i = 0; i < EVENTS; i++)
		step(&p);
	timeline_finish(p.timeline, p.now);
	p.account.orderly = true;
	for (i = 0; i < N_OUTPUTS; i++) {
		assert_int_equal(handlers[i]->error, 0);
		assert_int_equal(handlers[i]->ops->close(handlers[i], &p.account), 0);
		handlers[i]->ops->free(handlers[i]);
	}
	timeline_free(p.timeline);
	names_free(p.names);
	lines_finish(l);
	assert_true(l->n > EVENTS / 2);
	return l;
}

static void must_hold(const char *path, const struct lines *written, const char *what)
{
	struct lines *read = read_back(path);

	lines_equal(written, read, what);
	lines_free(read);
}

static void one_round(uint64_t seed)
{
	static const char *const steps[] = { "t.pftrace", "1.json", "2.pftrace", "3.json.gz",
					     "4.pftrace" };
	char directory[] = "/tmp/round-trip-XXXXXX", path[64], next[64];
	struct lines *written;
	unsigned i;

	print_message("PROFTRACE_SEED=%" PRIu64 "\n", seed);
	assert_non_null(mkdtemp(directory));
	written = run_program(seed, directory);
	for (i = 0; i < N_OUTPUTS; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, outputs[i]);
		must_hold(path, written, outputs[i]);
	}
	for (i = 0; i + 1 < sizeof(steps) / sizeof(steps[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, steps[i]);
		snprintf(next, sizeof(next), "%s/%s", directory, steps[i + 1]);
		convert(path, next);
		must_hold(next, written, steps[i + 1]);
		unlink(path);
	}
	unlink(next);
	for (i = 1; i < N_OUTPUTS; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, outputs[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(directory), 0);
	lines_free(written);
}

static void what_is_written_is_read(void **state)
{
	const char *one = getenv("PROFTRACE_SEED");
	/* Where an allocation of no bytes outlived its process in the file. */
	static const uint64_t found[] = { 84, 104 };
	uint64_t seed;

	(void)state;
	if (one) {
		one_round(strtoull(one, NULL, 10));
		return;
	}
	for (seed = 1; seed <= ROUNDS; seed++)
		one_round(seed);
	for (seed = 0; seed < sizeof(found) / sizeof(found[0]); seed++)
		one_round(found[seed]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_written_is_read) };

	return cmocka_run_group_tests_name("round trip", tests, NULL, NULL);
}
