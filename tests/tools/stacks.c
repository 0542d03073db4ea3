/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks [--lines | --times] FILE
 *
 * The call stacks of a trace, one a line, functions from the outermost to the innermost, what was inlined
 * among them; where a function has no name, its file stands for it:
 *
 *	sample TID user|kernel SLICE main;work;sum
 *	at TID NAME main;work			of an event that has a stack
 *
 * SLICE is the innermost one that was open, or -. With --lines a function whose line is known is work:LINE. With --times
 * there is one line "NS TID" for each sample and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeline/consumer.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

struct line {
	char *head;
	const struct callstack *callstack;
};

struct stacks {
	struct consumer consumer;
	struct timeline *timeline;
	struct line *lines;
	size_t n, capacity;
};

static bool with_lines, only_times;

static void *must(void *made)
{
	if (made)
		return made;
	fputs("stacks: out of memory\n", stderr);
	exit(1);
}

static const char *text_of(const struct name *name)
{
	return name ? name->text : "-";
}

/* The names of functions come last in the file: lines are printed at its end. */
static int take_fact(struct consumer *consumer, const struct fact *fact)
{
	struct stacks *s = (struct stacks *)consumer;
	const struct sample *sample = fact->sample;
	struct line *line;
	int n;

	if (fact->kind != FACT_SAMPLE && !fact->callstack)
		return 0;
	if (only_times) {
		if (sample)
			printf("%" PRIu64 " %" PRIu32 "\n", fact->ts_ns, fact->thread->tid);
		return 0;
	}
	if (s->n == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 1024;
		s->lines = must(realloc(s->lines, s->capacity * sizeof(*s->lines)));
	}
	line = &s->lines[s->n++];
	line->callstack = fact->callstack;
	if (sample)
		n = asprintf(&line->head, "sample %" PRIu32 " %s %s", fact->thread->tid,
			     sample->mode == SAMPLE_KERNEL ? "kernel" : "user",
			     sample->n_slices ? text_of(sample->slices[sample->n_slices - 1])
					      : "-");
	else
		n = asprintf(&line->head, "at %" PRIu32 " %s", fact->thread ? fact->thread->tid : 0,
			     text_of(fact->name));
	must(n < 0 ? NULL : line->head);
	return 0;
}

static void print_frame(const struct code_frame *frame, const char *before)
{
	uint32_t i;

	for (i = frame->n_lines; i-- > 0; before = ";") {
		printf("%s%s", before, text_of(frame->lines[i].function));
		if (with_lines && frame->lines[i].line)
			printf(":%" PRIu32, frame->lines[i].line);
	}
	if (!frame->n_lines)
		printf("%s[%s]", before, frame->mapping ? text_of(frame->mapping->path) : "");
}

static void print_line(const struct line *line)
{
	const struct callstack *frames[CALLSTACKS_MAX_DEPTH], *c;
	uint32_t n = 0;

	printf("%s ", line->head);
	for (c = line->callstack; c && n < CALLSTACKS_MAX_DEPTH; c = c->caller)
		frames[n++] = c;
	for (const char *before = ""; n > 0; before = ";")
		print_frame(frames[--n]->frame, before);
	putchar('\n');
}

static int take_event(void *context, const struct event *event)
{
	struct stacks *s = context;

	return timeline_event(s->timeline, event);
}

int main(int argc, char **argv)
{
	static const struct consumer_ops ops = { .fact = take_fact };
	struct stacks s = { .consumer.ops = &ops };
	struct names *names = must(names_new(0));
	struct account account = { 0 };
	struct callstacks *callstacks = must(callstacks_new(names, 0));
	const struct reader_sink sink = { take_event, &s, names, &account, NULL, callstacks };
	struct reader_error why = { 0 };
	int fd, error;
	size_t i;

	with_lines = argc == 3 && !strcmp(argv[1], "--lines");
	only_times = argc == 3 && !strcmp(argv[1], "--times");
	fd = argc == 2 + with_lines + only_times ? open(argv[argc - 1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		fputs("usage: stacks FILE\n", stderr);
		return 2;
	}
	s.timeline = must(timeline_new(names, &account, 1));
	if (timeline_add_consumer(s.timeline, &s.consumer))
		must(NULL);
	error = trace_read(fd, &sink, &why);
	close(fd);
	if (error)
		fprintf(stderr, "stacks: %s: at byte %" PRIu64 ": %s\n", argv[1], why.offset,
			why.message[0] ? why.message : strerror(-error));
	for (i = 0; i < s.n; i++) {
		print_line(&s.lines[i]);
		free(s.lines[i].head);
	}
	free(s.lines);
	timeline_free(s.timeline);
	callstacks_free(callstacks);
	names_free(names);
	return error || fflush(stdout) ? 1 : 0;
}
