/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text as a condition: it is refused with a place within the text, or it gives the same answer
 * twice for the same slice.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/select/condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_error(const struct condition_error *error, size_t length)
{
	must(error->message[0] && memchr(error->message, '\0', sizeof(error->message)));
	must(error->column <= length && error->length > 0);
	must(error->column + error->length <= length + 1);
}

static void evaluate(struct condition *condition, struct names *names)
{
	const struct arg args[] = {
		{ .key = names_intern_string(names, "kind"),
		  .type = ARG_STRING,
		  .length = 4,
		  .s = "cold" },
		{ .key = names_intern_string(names, "n"), .type = ARG_INT, .i = -5 },
		{ .key = names_intern_string(names, "share"), .type = ARG_DOUBLE, .d = 0.25 },
	};
	const struct process process = { .pid = 10, .name = names_intern_string(names, "server") };
	const struct thread thread = { .tid = 11, .process = &process };
	const struct fact fact = {
		.kind = FACT_END,
		.ts_ns = 5000000,
		.begin_ns = 1000000,
		.self_ns = 1000,
		.process = &process,
		.thread = &thread,
		.name = names_intern_string(names, "request"),
		.category = names_intern_string(names, "net,io"),
		.args = args,
		.n_args = 3,
	};
	struct condition_subject subject = {
		.kind = CONDITION_SLICE,
		.fact = &fact,
		.start_ns = 1000,
		.has_duration = true,
		.duration_ns = 4000000,
	};
	bool matches;

	condition_bind(condition, names);
	subject.in = condition_in(condition, fact.name);
	matches = condition_matches(condition, &subject);
	must(matches == condition_matches(condition, &subject));
	condition_bind(condition, names);
	must(matches == condition_matches(condition, &subject));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct condition_error error;
	char *text = strndup((const char *)data, size);
	struct condition *condition = condition_compile(text, &error);
	struct names *names = names_new(0);

	if (condition)
		evaluate(condition, names);
	else
		check_error(&error, strlen(text));
	condition_free(condition);
	names_free(names);
	free(text);
	return 0;
}
