/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * canon [--count|--nest|--marks|--sched] FILE
 *
 * Prints a trace in a form in which the .json and the .pftrace of one recording are equal, so that
 * diff can compare them. Events of a thread come in the order of the file; what has no thread in one
 * of the formats (counters, asynchronous slices, instants of processes) is printed per process and
 * sorted. What only one format can say is left out (categories of arrows, units) or said in the way
 * of the poorer one (pointers and large unsigned numbers are strings).
 *
 *	--count   how many of each kind and name
 *	--sched   switches and wakings, and nothing else
 *	--nest    whether ENDs have BEGINs, and how many slices stay open
 *	--marks   how many events a program made: not what the recorder put there by itself (where a
 *	          thread was blocked, too), ended for want of an END, or says again in a later file
 *
 * Lines are kept in blocks and sorted through pointers to them: about 100 bytes an event.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/reader.h"
#include "base/hash.h"

enum {
	FIRST_BLOCK = 4 << 10,
	LARGEST_BLOCK = 1 << 20,
	LINE_MAX_BYTES = 128 << 10, /* of the longest event there can be */
};

struct block {
	struct block *next;
	size_t used;
	size_t size;
	char bytes[];
};

struct lines {
	struct block *first;
	struct block *last;
};

struct sorted {
	const struct name *name; /* of a counter, else NULL */
	uint64_t ts_ns;
	uint64_t order;
	const char *line;
};

/* A thread; or, with tid 0, what a process or the machine has beside its threads. */
struct owner {
	UT_hash_handle hh;
	struct {
		uint32_t pid;
		uint32_t tid;
	} key;
	const struct name *name;
	const struct name *labels;
	struct lines lines;
	struct sorted *sorted;
	size_t n_sorted;
	size_t capacity;
	uint64_t depth;
	bool unnested;
	bool *blocked; /* of the slices that are open, outermost first: is it one of --offcpu */
	size_t n_open;
	size_t open_capacity;
};

struct count {
	UT_hash_handle hh;
	uint64_t n;
	char key[];
};

enum mode {
	MODE_LINES,
	MODE_COUNT,
	MODE_NEST,
	MODE_MARKS,
	MODE_SCHED,
};

struct canon {
	enum mode mode;
	struct names *names;
	struct owner *owners;
	struct count *counts;
	uint64_t order;
	uint64_t marks;
	size_t length;
	char line[LINE_MAX_BYTES];
};

static void *must(void *memory)
{
	if (memory)
		return memory;
	fputs("canon: out of memory\n", stderr);
	exit(1);
}

/* --- lines ------------------------------------------------------------------------------------- */

static char *lines_add(struct lines *lines, const char *text, size_t length)
{
	struct block *block = lines->last;
	char *at;

	if (!block || block->size - block->used < length + 1) {
		size_t size = block ? block->size * 2 : FIRST_BLOCK;

		size = size > LARGEST_BLOCK ? LARGEST_BLOCK : size;
		size = size < length + 1 ? length + 1 : size;
		block = must(malloc(sizeof(*block) + size));
		*block = (struct block){ .size = size };
		if (lines->last)
			lines->last->next = block;
		else
			lines->first = block;
		lines->last = block;
	}
	at = block->bytes + block->used;
	memcpy(at, text, length);
	at[length] = '\0';
	block->used += length + 1;
	return at;
}

static void lines_print(const struct lines *lines)
{
	const struct block *block;
	size_t at;

	for (block = lines->first; block; block = block->next) {
		for (at = 0; at < block->used; at += strlen(block->bytes + at) + 1)
			puts(block->bytes + at);
	}
}

static void lines_free(struct lines *lines)
{
	while (lines->first) {
		struct block *next = lines->first->next;

		free(lines->first);
		lines->first = next;
	}
}

static void say(struct canon *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct canon *c, const char *format, ...)
{
	size_t space = sizeof(c->line) - c->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(c->line + c->length, space, format, args);
	va_end(args);
	if (n > 0)
		c->length += (size_t)n < space ? (size_t)n : space - 1;
}

/* --- owners ------------------------------------------------------------------------------------ */

static struct owner *owner_get(struct canon *c, uint32_t pid, uint32_t tid)
{
	struct owner *owner, wanted = { .key = { pid, tid } };

	HASH_FIND(hh, c->owners, &wanted.key, sizeof(wanted.key), owner);
	if (owner)
		return owner;
	owner = must(calloc(1, sizeof(*owner)));
	owner->key = wanted.key;
	HASH_ADD(hh, c->owners, key, sizeof(owner->key), owner);
	return owner;
}

static void keep_sorted(struct canon *c, struct owner *owner, uint64_t ts_ns,
			const struct name *counter)
{
	struct sorted *s;

	if (owner->n_sorted == owner->capacity) {
		owner->capacity = owner->capacity ? owner->capacity * 2 : 64;
		owner->sorted =
			must(realloc(owner->sorted, owner->capacity * sizeof(*owner->sorted)));
	}
	s = &owner->sorted[owner->n_sorted++];
	*s = (struct sorted){ .name = counter, .ts_ns = ts_ns, .order = c->order++ };
	s->line = lines_add(&owner->lines, c->line, c->length);
}

static int compare_sorted(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int order;

	if (!x->name != !y->name)
		return x->name ? 1 : -1;
	order = x->name && x->name != y->name ? strcmp(x->name->text, y->name->text) : 0;
	if (order)
		return order;
	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	order = x->name ? 0 : strcmp(x->line, y->line);
	if (order)
		return order;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_owners(const struct owner *a, const struct owner *b)
{
	if (a->key.pid != b->key.pid)
		return a->key.pid < b->key.pid ? -1 : 1;
	return a->key.tid < b->key.tid ? -1 : a->key.tid > b->key.tid;
}

/* --- values ------------------------------------------------------------------------------------ */

static void say_value(struct canon *c, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_INT:
		say(c, "n:%" PRId64, arg->i);
		break;
	case ARG_UINT:
		say(c, arg->u > INT64_MAX ? "s:\"%" PRIu64 "\"" : "n:%" PRIu64, arg->u);
		break;
	case ARG_DOUBLE:
		if (isnan(arg->d))
			say(c, "s:\"NaN\"");
		else if (isinf(arg->d))
			say(c, "s:\"%sInfinity\"", arg->d < 0 ? "-" : "");
		else
			say(c, "d:%.17g", arg->d);
		break;
	case ARG_STRING:
		say(c, "s:\"%s\"", arg->s);
		break;
	case ARG_BOOL:
		say(c, "b:%s", arg->u ? "true" : "false");
		break;
	case ARG_POINTER:
		say(c, "s:\"0x%" PRIx64 "\"", arg->u);
		break;
	case ARG_NULL:
		say(c, "s:\"(null)\"");
		break;
	}
}

static void say_args(struct canon *c, const struct event *e)
{
	unsigned i;

	for (i = 0; i < e->n_args; i++) {
		say(c, " %s=", e->args[i].key ? e->args[i].key->text : "value");
		say_value(c, &e->args[i]);
	}
}

static const char *text_of(const struct name *name)
{
	return name ? name->text : "-";
}

static const char *kind_name(enum event_kind kind)
{
	static const char *const names[] = {
		[EVENT_BEGIN] = "BEGIN",
		[EVENT_END] = "END",
		[EVENT_INSTANT] = "INSTANT",
		[EVENT_COUNTER] = "COUNTER",
		[EVENT_ASYNC_BEGIN] = "ASYNC_BEGIN",
		[EVENT_ASYNC_END] = "ASYNC_END",
		[EVENT_FLOW_OUT] = "FLOW_OUT",
		[EVENT_FLOW_IN] = "FLOW_IN",
		[EVENT_SLICE_AT] = "SLICE_AT",
		[EVENT_INSTANT_AT] = "INSTANT_AT",
		[EVENT_PROCESS_NAME] = "PROCESS_NAME",
		[EVENT_PROCESS_LABELS] = "PROCESS_LABELS",
		[EVENT_THREAD_NAME] = "THREAD_NAME",
		[EVENT_LOST] = "LOST",
		[EVENT_CLOCK] = "CLOCK",
	};

	return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "OTHER";
}

/* --- events ------------------------------------------------------------------------------------ */

/* Perfetto has a track of its own for each series, called "NAME KEY". */
static void counter_name(const struct event *e, const struct arg *arg, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s", text_of(e->name), arg->key ? " " : "",
		 arg->key ? arg->key->text : "");
}

static void add_counter(struct canon *c, const struct event *e)
{
	struct owner *process = owner_get(c, e->pid, 0);
	char name[4096];
	unsigned i;

	for (i = 0; i < e->n_args; i++) {
		counter_name(e, &e->args[i], name, sizeof(name));
		c->length = 0;
		say(c, "%" PRIu32 " COUNTER %" PRIu64 " %s ", e->pid, e->ts_ns, name);
		say_value(c, &e->args[i]);
		if (e->of_thread)
			say(c, " thread %" PRIu32, e->tid);
		if (e->kind != EVENT_COUNTER && e->kind != EVENT_MEMORY_RESET)
			say(c, " address 0x%" PRIx64 " size %" PRIu64 " thread %" PRIu32, e->id,
			    e->size, e->tid);
		keep_sorted(c, process, e->ts_ns, names_intern_string(c->names, name));
	}
}

static void add_line(struct canon *c, const struct event *e)
{
	bool is_async = e->kind == EVENT_ASYNC_BEGIN || e->kind == EVENT_ASYNC_END;
	bool is_flow = e->kind == EVENT_FLOW_OUT || e->kind == EVENT_FLOW_IN;
	bool is_given = e->kind == EVENT_SLICE_AT || e->kind == EVENT_INSTANT_AT;
	bool of_process =
		is_async || is_given || (e->kind == EVENT_INSTANT && e->scope != SCOPE_THREAD);
	uint32_t pid = e->kind == EVENT_INSTANT && e->scope == SCOPE_GLOBAL ? 0 : e->pid;
	uint32_t tid = of_process ? 0 : e->tid;
	struct owner *owner = owner_get(c, pid, tid);

	c->length = 0;
	say(c, "%" PRIu32 " %" PRIu32 " %s %" PRIu64, pid, tid, kind_name(e->kind), e->ts_ns);
	if (!is_flow && e->kind != EVENT_LOST)
		say(c, " %s %s", text_of(e->name), text_of(e->category));
	if (is_flow || is_async)
		say(c, " id=0x%" PRIx64, e->id);
	if (is_given)
		say(c, " until=%" PRIu64 " on=\"%s\"", e->given.end,
		    e->given.track ? e->given.track->text : "");
	if (e->kind == EVENT_LOST)
		say(c, " count=%" PRIu64, e->size);
	say_args(c, e);
	if (tid)
		lines_add(&owner->lines, c->line, c->length);
	else
		keep_sorted(c, owner, e->ts_ns, NULL);
}

static void add_name(struct canon *c, const struct event *e)
{
	owner_get(c, e->pid, e->kind == EVENT_THREAD_NAME ? e->tid : 0)->name = e->name;
}

static void count(struct canon *c, const char *kind, const char *name)
{
	char key[4096];
	struct count *found;
	int n = snprintf(key, sizeof(key), "%s %s", kind, name);
	size_t length = n < 0 ? 0 : (size_t)n < sizeof(key) ? (size_t)n : sizeof(key) - 1;

	HASH_FIND(hh, c->counts, key, length, found);
	if (!found) {
		found = must(calloc(1, sizeof(*found) + length + 1));
		memcpy(found->key, key, length);
		HASH_ADD_KEYPTR(hh, c->counts, found->key, length, found);
	}
	found->n++;
}

/* Those of memory pools say what made them so. */
static bool is_sample(const struct event *e)
{
	return e->kind == EVENT_COUNTER || e->kind == EVENT_ALLOC || e->kind == EVENT_FREE ||
	       e->kind == EVENT_MEMORY_RESET;
}

static void count_event(struct canon *c, const struct event *e)
{
	char name[4096];
	unsigned i;

	if (!is_sample(e)) {
		count(c, kind_name(e->kind), text_of(e->name));
		return;
	}
	for (i = 0; i < e->n_args; i++) {
		counter_name(e, &e->args[i], name, sizeof(name));
		count(c, "COUNTER", name);
	}
}

static void nest(struct canon *c, const struct event *e)
{
	struct owner *thread = owner_get(c, e->pid, e->tid);

	if (e->kind == EVENT_BEGIN) {
		thread->depth++;
	} else if (thread->depth) {
		thread->depth--;
	} else if (!thread->unnested) {
		thread->unnested = true;
		c->length = 0;
		say(c, "%" PRIu32 " %" PRIu32 ": END without BEGIN at %" PRIu64, e->pid, e->tid,
		    e->ts_ns);
		lines_add(&thread->lines, c->line, c->length);
	}
}

/* A step is one mark; its batch is a counter of its own in one of the formats. */
static bool is_batch(const struct event *e)
{
	char name[4096];

	counter_name(e, &e->args[0], name, sizeof(name));
	return !strcmp(name, "step batch");
}

static bool has_arg(const struct event *e, const char *key)
{
	unsigned i;

	for (i = 0; i < e->n_args; i++) {
		if (e->args[i].key && !strcmp(e->args[i].key->text, key))
			return true;
	}
	return false;
}

/* The recorder makes slices as well, which an END does not tell from others: it belongs to the innermost. */
static bool is_blocked(struct canon *c, const struct event *e)
{
	struct owner *thread = owner_get(c, e->pid, e->tid);

	if (e->kind == EVENT_END)
		return thread->n_open && thread->blocked[--thread->n_open];
	if (thread->n_open == thread->open_capacity) {
		thread->open_capacity = thread->open_capacity ? thread->open_capacity * 2 : 64;
		thread->blocked =
			must(realloc(thread->blocked, thread->open_capacity * sizeof(bool)));
	}
	thread->blocked[thread->n_open] =
		!strcmp(text_of(e->name), "blocked") && !strcmp(text_of(e->category), "offcpu");
	return thread->blocked[thread->n_open++];
}

static bool is_mark(struct canon *c, const struct event *e)
{
	switch (e->kind) {
	case EVENT_BEGIN:
		return !is_blocked(c, e) && !has_arg(e, "continued");
	case EVENT_ASYNC_BEGIN:
		return !has_arg(e, "continued");
	case EVENT_END:
		return !is_blocked(c, e) && e->end_reason == END_NORMAL;
	case EVENT_ASYNC_END:
		return e->end_reason == END_NORMAL;
	case EVENT_INSTANT:
		/* Nobody marked that. */
		if (e->name && !strcmp(e->name->text, "marker started twice"))
			return false;
		return e->category || e->scope != SCOPE_GLOBAL;
	case EVENT_COUNTER:
		return !e->continued && !e->of_thread && e->n_args && !is_batch(e);
	case EVENT_ALLOC:
	case EVENT_FREE:
		return !e->continued;
	case EVENT_FLOW_OUT:
	case EVENT_FLOW_IN:
	case EVENT_SLICE_AT:
	case EVENT_INSTANT_AT:
		return true;
	default:
		return false;
	}
}

/* switch TIME CPU LEAVES STATE COMES NAME; waking TIME CPU WOKEN WAKER TARGET [interrupt] */
static void add_sched(struct canon *c, const struct event *e)
{
	const struct event_sched *s = &e->sched;

	c->length = 0;
	if (e->kind == EVENT_SWITCH)
		say(c, "switch %" PRIu64 " %u %" PRIu32 " %u %" PRIu32 " %s", e->ts_ns, s->cpu,
		    e->tid, s->state, s->tid, e->name ? e->name->text : "");
	else if (e->kind == EVENT_WAKING)
		say(c, "waking %" PRIu64 " %u %" PRIu32 " %" PRIu32 " %u%s", e->ts_ns, s->cpu,
		    e->tid, s->tid, s->target_cpu, s->interrupt ? " interrupt" : "");
	else
		say(c, "gap %" PRIu64 " %u", e->ts_ns, s->cpu);
	keep_sorted(c, owner_get(c, 0, 0), e->ts_ns, NULL);
}

static bool is_sched(const struct event *e)
{
	return e->kind == EVENT_SWITCH || e->kind == EVENT_WAKING || e->kind == EVENT_SCHED_GAP;
}

static int take(void *context, const struct event *e)
{
	struct canon *c = context;

	if ((c->mode == MODE_SCHED) != is_sched(e))
		return 0;
	if (is_sched(e))
		add_sched(c, e);
	else if (c->mode == MODE_MARKS)
		c->marks += is_mark(c, e);
	else if (c->mode == MODE_COUNT)
		count_event(c, e);
	else if (c->mode == MODE_NEST && (e->kind == EVENT_BEGIN || e->kind == EVENT_END))
		nest(c, e);
	else if (c->mode == MODE_NEST)
		return 0;
	else if (e->kind == EVENT_THREAD_NAME || e->kind == EVENT_PROCESS_NAME)
		add_name(c, e);
	else if (e->kind == EVENT_PROCESS_LABELS)
		owner_get(c, e->pid, 0)->labels = e->name;
	else if (is_sample(e))
		add_counter(c, e);
	else if (e->kind != EVENT_CLOCK)
		add_line(c, e);
	return 0;
}

/* --- what is printed --------------------------------------------------------------------------- */

static void print_lines(struct canon *c)
{
	struct owner *owner;
	size_t i;

	for (owner = c->owners; owner; owner = owner->hh.next) {
		if (owner->key.tid)
			lines_print(&owner->lines);
		if (owner->n_sorted)
			qsort(owner->sorted, owner->n_sorted, sizeof(*owner->sorted),
			      compare_sorted);
		for (i = 0; i < owner->n_sorted; i++)
			puts(owner->sorted[i].line);
	}
	for (owner = c->owners; owner; owner = owner->hh.next) {
		if (owner->name && owner->key.tid)
			printf("thread %" PRIu32 " %" PRIu32 " %s\n", owner->key.pid,
			       owner->key.tid, owner->name->text);
		else if (owner->name)
			printf("process %" PRIu32 " %s\n", owner->key.pid, owner->name->text);
		if (owner->labels)
			printf("labels %" PRIu32 " %s\n", owner->key.pid, owner->labels->text);
	}
}

static int print_nest(struct canon *c)
{
	struct owner *owner;
	uint64_t open = 0;

	for (owner = c->owners; owner; owner = owner->hh.next) {
		if (owner->unnested) {
			lines_print(&owner->lines);
			return 1;
		}
		open += owner->depth;
	}
	printf("ok, %" PRIu64 " open\n", open);
	return 0;
}

static int compare_counts(const struct count *a, const struct count *b)
{
	return strcmp(a->key, b->key);
}

static int print(struct canon *c)
{
	struct count *one;

	HASH_SORT(c->owners, compare_owners);
	HASH_SORT(c->counts, compare_counts);
	if (c->mode == MODE_NEST)
		return print_nest(c);
	if (c->mode == MODE_MARKS)
		printf("%" PRIu64 "\n", c->marks);
	for (one = c->counts; one; one = one->hh.next)
		printf("%s %" PRIu64 "\n", one->key, one->n);
	print_lines(c);
	return 0;
}

static void canon_free(struct canon *c)
{
	hash_each (c->owners, owner) {
		HASH_DEL(c->owners, owner);
		lines_free(&owner->lines);
		free(owner->sorted);
		free(owner->blocked);
		free(owner);
	}
	hash_clear(hh, c->counts, one);
	names_free(c->names);
	free(c);
}

static int read_file(struct canon *c, const char *path)
{
	struct account account = { 0 };
	const struct reader_sink sink = { take, c, c->names, &account, NULL, NULL };
	struct reader_error why = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 ? -errno : trace_read(fd, &sink, &why);

	if (error)
		fprintf(stderr, "canon: %s: at byte %" PRIu64 ": %s\n", path, why.offset,
			why.message[0] ? why.message : strerror(-error));
	if (!error && why.truncated)
		fprintf(stderr, "canon: %s: truncated at byte %" PRIu64 "\n", path, why.offset);
	if (account_lost(&account))
		fprintf(stderr, "canon: %s: %" PRIu64 " events make no sense\n", path,
			account_lost(&account));
	if (fd >= 0)
		close(fd);
	return error;
}

int main(int argc, char **argv)
{
	struct canon *c = must(calloc(1, sizeof(*c)));
	int status = 1;

	if (argc == 3 && !strcmp(argv[1], "--count"))
		c->mode = MODE_COUNT;
	else if (argc == 3 && !strcmp(argv[1], "--nest"))
		c->mode = MODE_NEST;
	else if (argc == 3 && !strcmp(argv[1], "--marks"))
		c->mode = MODE_MARKS;
	else if (argc == 3 && !strcmp(argv[1], "--sched"))
		c->mode = MODE_SCHED;
	else if (argc != 2 || argv[1][0] == '-') {
		fputs("usage: canon [--count|--nest|--marks|--sched] FILE\n", stderr);
		return 2;
	}
	c->names = must(names_new(0));
	if (!read_file(c, argv[argc - 1]))
		status = print(c);
	canon_free(c);
	return fflush(stdout) ? 1 : status;
}
