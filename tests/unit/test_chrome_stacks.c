/* SPDX-License-Identifier: BSD-2-Clause */
/* Call stacks of events in Chrome JSON: what is written, and what is read again. */
#include "output_fixture.h"

#include <sys/mman.h>

#include "formats/chrome/writer.h"
#include "formats/reader.h"

struct stacks {
	struct world w;
	struct callstacks *store;
	const struct code_frame *asked; /* that the latest question was about */
	unsigned questions;
};

static void name_stack(void *context, const struct callstack *callstack)
{
	struct stacks *s = context;
	struct code_line line = { .function = n(&s->w, "asked") };

	s->questions++;
	if (callstack->frame == s->asked)
		callstacks_name(s->store, s->asked, &line, 1);
}

static void begin(struct stacks *s)
{
	world_open(&s->w, SINK_PLAIN, false);
	s->store = callstacks_new(s->w.names, 0);
	s->questions = 0;
	s->asked = NULL;
	s->w.consumer->ops->free(s->w.consumer);
	assert_int_equal(sink_open(s->w.path, SINK_PLAIN, &s->w.sink), 0);
	s->w.info.name_stack = name_stack;
	s->w.info.name_context = s;
	s->w.consumer = chrome_writer_new(s->w.sink, &s->w.info);
	assert_non_null(s->w.consumer);
}

static void end(struct stacks *s)
{
	callstacks_free(s->store);
	world_free(&s->w);
}

static void give_with(struct stacks *s, enum fact_kind kind, const struct callstack *callstack)
{
	fact(&s->w, kind, START_NS + 10, "work");
	s->w.fact.callstack = callstack;
	give(&s->w);
}

/* --- read again -------------------------------------------------------------------------------- */

struct heard_stacks {
	char text[1 << 16]; /* a line for each event with a stack */
	unsigned n_args;    /* of all events */
};

static int hear_event(void *context, const struct event *event)
{
	struct heard_stacks *h = context;
	const struct callstack *c = event->callstack;
	unsigned i;

	h->n_args += event->n_args;
	if (!c)
		return 0;
	snprintf(h->text + strlen(h->text), 32, "%u:", c->depth);
	for (i = 0; c && i < 4; i++, c = c->caller) {
		strncat(h->text, " ", 2);
		strncat(h->text, code_frame_function(c->frame)->text, 2048);
	}
	strncat(h->text, "\n", 2);
	return 0;
}

/* Innermost first, up to four functions. */
static void read_again(const char *bytes, size_t size, bool wanted, struct heard_stacks *h)
{
	struct names *names = names_new(0);
	struct callstacks *store = callstacks_new(names, 0);
	struct account account = { 0 };
	const struct reader_sink sink = { hear_event, h,    names,
					  &account,   NULL, wanted ? store : NULL };
	struct reader_error why = { 0 };
	int fd = memfd_create("trace", MFD_CLOEXEC);

	memset(h, 0, sizeof(*h));
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(trace_read(fd, &sink, &why), 0);
	close(fd);
	callstacks_free(store);
	names_free(names);
}

/* --- tests ------------------------------------------------------------------------------------- */

static void names_of_all_kinds(void **state)
{
	static struct heard_stacks heard;
	struct stacks s;
	struct code_mapping file = { .kind = CODE_NATIVE };
	const struct code_mapping *in_file;
	const struct code_frame *outer, *nameless, *inner;
	const struct callstack *stack;

	(void)state;
	begin(&s);
	file.path = n(&s.w, "/usr/lib/libsum.so");
	in_file = callstacks_mapping(s.store, &file);
	outer = callstacks_frame(s.store, NULL, 1, n(&s.w, "main \"quoted\""));
	nameless = callstacks_frame(s.store, in_file, 0x1f40, NULL);
	inner = s.asked = callstacks_frame(s.store, in_file, 0x20, NULL);
	stack = callstacks_push(s.store, NULL, outer);
	stack = callstacks_push(s.store, stack, nameless);
	stack = callstacks_push(s.store, stack, inner);
	give_with(&s, FACT_BEGIN, stack);
	give_with(&s, FACT_INSTANT, stack->caller->caller);
	give_with(&s, FACT_BEGIN, NULL);
	finish(&s.w);
	assert_int_equal(s.questions, 2);
	assert_non_null(strstr(s.w.bytes, "\"args\":{\"stack\":[\"main \\\"quoted\\\"\","
					  "\"libsum.so+0x1f40\",\"asked\"]}"));
	read_again(s.w.bytes, s.w.size, true, &heard);
	assert_string_equal(heard.text, "3: asked libsum.so+0x1f40 main \"quoted\"\n"
					"1: main \"quoted\"\n");
	read_again(s.w.bytes, s.w.size, false, &heard);
	assert_string_equal(heard.text, "");
	end(&s);
}

static void what_is_inlined(void **state)
{
	static struct heard_stacks heard;
	struct stacks s;
	struct code_line lines[2];
	const struct code_frame *frame;

	(void)state;
	begin(&s);
	lines[0] = (struct code_line){ .function = n(&s.w, "within") };
	lines[1] = (struct code_line){ .function = n(&s.w, "around") };
	frame = callstacks_frame(s.store, NULL, 1, NULL);
	callstacks_name(s.store, frame, lines, 2);
	give_with(&s, FACT_BEGIN, callstacks_push(s.store, NULL, frame));
	finish(&s.w);
	read_again(s.w.bytes, s.w.size, true, &heard);
	assert_string_equal(heard.text, "2: within around\n");
	end(&s);
}

static void deep_ones_and_long_names(void **state)
{
	static struct heard_stacks heard;
	static char name[8000], expected[9000];
	struct stacks s;
	const struct callstack *stack = NULL;
	unsigned i;

	(void)state;
	begin(&s);
	memset(name, 'x', sizeof(name) - 1);
	for (i = 0; i < CHROME_STACK_NAMES + 10; i++)
		stack = callstacks_push(
			s.store, stack,
			callstacks_frame(
				s.store, NULL, i,
				names_intern(s.w.names, name, sizeof(name) - 1, sizeof(name))));
	give_with(&s, FACT_BEGIN, stack);
	finish(&s.w);
	assert_non_null(strstr(s.w.bytes, "\"stack\":[\"(more)\",\"xxx"));
	read_again(s.w.bytes, s.w.size, true, &heard);
	name[LIMIT_NAME] = '\0';
	snprintf(expected, sizeof(expected), "%u: %s%s ", CHROME_STACK_NAMES + 1, name,
		 TEXT_CUT_MARK);
	assert_memory_equal(heard.text, expected, strlen(expected));
	end(&s);
}

/* What others call so is an argument like any other; and of ours only the list itself. */
static void of_others(void **state)
{
	static const char other[] = "[{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":1,\"name\":\"a\","
				    "\"args\":{\"stack\":[\"main\"]}}]";
	static const char ours[] = "[{\"name\":\"proftrace\",\"ph\":\"M\",\"args\":{}},"
				   "{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":1,\"name\":\"a\","
				   "\"args\":{\"stack\":\"text\","
				   "\"in\":{\"stack\":[\"deeper\"]},\"stack\":[1,null,{\"a\":["
				   "\"b\"]},[\"c\"],\"main\",true,"
				   "\"w\\u006frk\"],\"stacks\":[\"d\"],\"after\":1}}]";
	static struct heard_stacks heard;

	(void)state;
	read_again(other, sizeof(other) - 1, true, &heard);
	assert_string_equal(heard.text, "");
	assert_int_equal(heard.n_args, 1);
	read_again(ours, sizeof(ours) - 1, true, &heard);
	assert_string_equal(heard.text, "2: work main\n");
	assert_int_equal(heard.n_args, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_all_kinds),
		cmocka_unit_test(what_is_inlined),
		cmocka_unit_test(deep_ones_and_long_names),
		cmocka_unit_test(of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
