/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples and call stacks come back from a Perfetto file as they went into it, twice over. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/sink.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

/* A line for each sample and each event with a stack, and then their frames. */
struct heard {
	struct consumer consumer;
	struct names *names;
	struct callstacks *stacks;
	struct account account;
	struct timeline *timeline;
	unsigned n;
	const struct callstack *stack[16];
	char lines[16][128];
	char text[8192];
};

static int take(struct consumer *consumer, const struct fact *fact)
{
	struct heard *h = (struct heard *)consumer;
	const struct sample *s = fact->sample;

	if (fact->kind != FACT_SAMPLE && !fact->callstack)
		return 0;
	assert_true(h->n < 16);
	h->stack[h->n] = fact->callstack;
	if (s)
		snprintf(h->lines[h->n++], 128,
			 "sample %llu %u/%u cpu %u mode %d period %llu in %s",
			 (unsigned long long)fact->ts_ns, fact->process->pid, fact->thread->tid,
			 s->cpu, s->mode, (unsigned long long)s->period_ns,
			 s->n_slices ? s->slices[s->n_slices - 1]->text : "-");
	else
		snprintf(h->lines[h->n++], 128, "%s %s", fact->kind == FACT_BEGIN ? "B" : "i",
			 fact->name->text);
	return 0;
}

static const struct consumer_ops ops = { .fact = take };

static void add(struct heard *h, const char *format, ...)
{
	size_t used = strlen(h->text);
	va_list args;

	va_start(args, format);
	vsnprintf(h->text + used, sizeof(h->text) - used, format, args);
	va_end(args);
}

/* When all is known. */
static void print(struct heard *h)
{
	const struct callstack *c;
	uint32_t k;
	unsigned i;

	for (i = 0; i < h->n; i++) {
		add(h, "%s\n", h->lines[i]);
		for (c = h->stack[i]; c; c = c->caller) {
			const struct code_mapping *m = c->frame->mapping;

			add(h, "  %llx", (unsigned long long)c->frame->rel_pc);
			if (m)
				add(h, " %s %s kind %d", m->path->text,
				    m->build_id ? m->build_id->text : "-", m->kind);
			for (k = 0; k < c->frame->n_lines; k++)
				add(h, " %s %s:%u", c->frame->lines[k].function->text,
				    c->frame->lines[k].file ? c->frame->lines[k].file->text : "-",
				    c->frame->lines[k].line);
			add(h, "\n");
		}
	}
}

static struct heard *heard_new(void)
{
	struct heard *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->consumer.ops = &ops;
	h->names = names_new(0);
	h->stacks = callstacks_new(h->names, 0);
	h->timeline = timeline_new(h->names, &h->account, 1);
	assert_int_equal(timeline_add_consumer(h->timeline, &h->consumer), 0);
	return h;
}

static void heard_free(struct heard *h)
{
	timeline_free(h->timeline);
	callstacks_free(h->stacks);
	names_free(h->names);
	free(h);
}

static const struct name *nm(struct heard *h, const char *text)
{
	return names_intern_string(h->names, text);
}

static struct consumer *output(struct heard *h, const char *path)
{
	const struct trace_info info = { .trace_uuid = { 1, 2 }, .version = "test" };
	struct consumer *consumer;
	struct sink *sink;

	assert_int_equal(sink_open(path, SINK_PLAIN, &sink), 0);
	consumer = perfetto_writer_new(sink, &info);
	assert_non_null(consumer);
	assert_int_equal(timeline_add_consumer(h->timeline, consumer), 0);
	return consumer;
}

static void put(struct heard *h, struct event e)
{
	e.level = -1;
	e.pid = 10;
	if (!e.tid)
		e.tid = 11;
	assert_int_equal(timeline_event(h->timeline, &e), 0);
}

static void put_sample(struct heard *h, uint64_t ts_ns, uint32_t tid, uint64_t period_ns,
		       const struct callstack *callstack)
{
	put(h, (struct event){
		       .kind = EVENT_SAMPLE,
		       .ts_ns = ts_ns,
		       .tid = tid,
		       .callstack = callstack,
		       .sample = { .period_ns = period_ns, .cpu = 2, .mode = SAMPLE_KERNEL } });
}

/* With names of frames that are known before the frames are written, or after them. */
static void write_all(struct heard *h, bool early)
{
	const struct code_mapping program = { .path = nm(h, "/usr/bin/program"),
					      .build_id = nm(h, "00ff10"),
					      .start = 0x1000,
					      .end = 0x2000 };
	const struct code_mapping plain = { .path = nm(h, "/lib/plain.so") };
	const struct code_mapping jit = { .path = nm(h, "[jit 10]"), .kind = CODE_JIT };
	const struct code_mapping vdso = { .path = nm(h, "[vdso]") };
	const struct code_mapping kernel = { .path = nm(h, "[kernel]"), .kind = CODE_KERNEL };
	struct callstacks *s = h->stacks;
	const struct code_frame *f[] = {
		callstacks_frame(s, callstacks_mapping(s, &program), 0x1234, NULL),
		callstacks_frame(s, callstacks_mapping(s, &plain), 0x20, NULL),
		callstacks_frame(s, callstacks_mapping(s, &jit), 0x7f0000000000, nm(h, "made")),
		callstacks_frame(s, callstacks_mapping(s, &vdso), 5, NULL),
		callstacks_frame(s, callstacks_mapping(s, &kernel), 0xffffffff81000042, NULL),
		callstacks_frame(s, NULL, 77, NULL),
	};
	const struct code_line lines[] = {
		{ nm(h, "inlined<int>"), nm(h, "/src/a.h"), 12 },
		{ nm(h, "outer"), nm(h, "/src/a.c"), 34 },
	};
	const struct code_line bare = { nm(h, "sys_read"), NULL, 0 };
	const struct callstack *c[6] = { NULL };
	unsigned i;

	for (i = 0; i < 6; i++)
		c[i] = callstacks_push(s, i ? c[i - 1] : NULL, f[i]);
	if (early)
		callstacks_name(s, f[0], lines, 2);
	put(h,
	    (struct event){
		    .kind = EVENT_BEGIN, .ts_ns = 100, .name = nm(h, "work"), .callstack = c[1] });
	put_sample(h, 200, 11, 1001001, c[5]);
	put_sample(h, 150, 12, 1001001, c[2]);
	put_sample(h, 300, 11, 1001001, NULL);
	put(h, (struct event){ .kind = EVENT_INSTANT,
			       .ts_ns = 310,
			       .name = nm(h, "here"),
			       .callstack = c[5] });
	put_sample(h, 320, 11, 10000000, c[0]);
	put(h, (struct event){ .kind = EVENT_END, .ts_ns = 400 });
	put_sample(h, 500, 11, 10000000, c[4]);
	callstacks_name(s, f[0], lines, 2);
	callstacks_name(s, f[4], &bare, 1);
}

static void close_output(struct heard *h, struct consumer *consumer)
{
	assert_int_equal(consumer->error, 0);
	h->account.orderly = true;
	assert_int_equal(consumer->ops->close(consumer, &h->account), 0);
	consumer->ops->free(consumer);
}

static int pass_on(void *context, const struct event *event)
{
	struct heard *h = context;

	return timeline_event(h->timeline, event);
}

static struct heard *read_back(const char *path, const char *copy)
{
	struct heard *h = heard_new();
	const struct reader_sink sink = { pass_on, h, h->names, &h->account, NULL, h->stacks };
	struct consumer *consumer = copy ? output(h, copy) : NULL;
	struct reader_error why = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(trace_read(fd, &sink, &why), 0);
	assert_false(why.truncated);
	assert_int_equal(why.skipped, 0);
	assert_int_equal(h->account.stacks_lost, 0);
	close(fd);
	if (consumer)
		close_output(h, consumer);
	print(h);
	return h;
}

static void go_round(bool early)
{
	char directory[] = "/tmp/stacks-XXXXXX", one[64], two[64];
	struct heard *h = heard_new(), *first, *second;
	struct consumer *consumer;

	assert_non_null(mkdtemp(directory));
	snprintf(one, sizeof(one), "%s/one.pftrace", directory);
	snprintf(two, sizeof(two), "%s/two.pftrace", directory);
	consumer = output(h, one);
	write_all(h, early);
	close_output(h, consumer);
	print(h);
	first = read_back(one, two);
	assert_string_equal(first->text, h->text);
	second = read_back(two, NULL);
	assert_string_equal(second->text, h->text);
	assert_non_null(strstr(h->text, "inlined<int> /src/a.h:12 outer /src/a.c:34"));
	assert_non_null(strstr(h->text, "sample 150 10/12 cpu 2 mode 1 period 1001001 in -"));
	assert_non_null(strstr(h->text, "period 10000000 in work"));
	assert_int_equal(h->account.stacks, 7);
	heard_free(second);
	heard_free(first);
	heard_free(h);
	unlink(one);
	unlink(two);
	rmdir(directory);
}

static void test_round_trip(void **state)
{
	(void)state;
	go_round(false);
	go_round(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
