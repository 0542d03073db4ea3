/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the comparison as JSON, with everything that is known of each slice. proftrace-report(1)
 * documents the fields; a change of the meaning of one changes SLOWEST_JSON_VERSION.
 */
#include <inttypes.h>

#include "formats/json_text.h"
#include "reports/table/stats_print.h"
#include "reports/slowest/slowest_internal.h"
#include "reports/table/stats_view.h"

enum {
	SLOWEST_JSON_VERSION = 1
};

static void json_put_counted(FILE *out, const char *key, uint64_t value)
{
	if (value == EVENT_NO_VALUE)
		fprintf(out, "\"%s\": null", key);
	else
		fprintf(out, "\"%s\": %" PRIu64, key, value);
}

static void json_put_arg(FILE *out, const struct arg *arg)
{
	char text[32];

	switch (arg->type) {
	case ARG_INT:
	case ARG_UINT:
	case ARG_DOUBLE:
		put_number(out, arg, put_json_double);
		break;
	case ARG_STRING:
		put_json_string(out, "", arg->s);
		break;
	case ARG_BOOL:
		fputs(arg->u ? "true" : "false", out);
		break;
	case ARG_POINTER:
		fwrite(text, 1, (size_t)(json_hex(text, arg->u) - text), out);
		break;
	case ARG_NULL:
		fputs("null", out);
		break;
	}
}

static void json_put_reasons(const struct slow_instance *in, FILE *out)
{
	unsigned i, n = 0;

	fputs(", \"blocked_in\": {", out);
	for (i = 0; i < WAIT_REASONS; i++) {
		if (in->states.blocked_in[i])
			fprintf(out, "%s\"%s_ns\": %" PRIu64, n++ ? ", " : "", wait_reason_text(i),
				in->states.blocked_in[i]);
	}
	fputc('}', out);
	if (!in->wait_ns)
		return;
	put_json_u64(out, "longest_wait_ns", in->wait_ns);
	put_json_string(out, ", \"longest_wait\": ", in->wait);
}

static void json_put_states(const struct slow_instance *in, FILE *out)
{
	if (!in->has_states)
		return;
	put_json_u64(out, "running_ns", in->states.running);
	put_json_u64(out, "runnable_ns", in->states.runnable);
	put_json_u64(out, "blocked_ns", in->states.blocked);
	put_json_u64(out, "unknown_ns", in->states.unknown);
	if (in->states.has_reasons)
		json_put_reasons(in, out);
}

static void json_put_slice_counters(const struct slow_instance *in, FILE *out)
{
	fputs(", \"counters\": {", out);
	for (unsigned i = 0; i < in->n_counters; i++) {
		put_json_string(out, i ? ", " : "", in->counters[i]->text);
		fputs(": {", out);
		json_put_counted(out, "total", in->deltas[i]);
		fputs(", ", out);
		json_put_counted(out, "self", in->selves[i]);
		fputc('}', out);
	}
	fputc('}', out);
}

/* Whether a later argument has the same key: that of the END replaces that of the BEGIN. */
static bool is_repeated_arg(const struct slow_instance *in, unsigned i)
{
	for (unsigned j = i + 1; j < in->n_args; j++) {
		if (in->args[j].key == in->args[i].key)
			return true;
	}
	return false;
}

static void json_put_args(const struct slow_instance *in, FILE *out)
{
	unsigned i, n = 0;

	fputs(", \"args\": {", out);
	for (i = 0; i < in->n_args; i++) {
		if (is_repeated_arg(in, i))
			continue;
		put_json_string(out, n++ ? ", " : "", in->args[i].key->text);
		fputs(": ", out);
		json_put_arg(out, &in->args[i]);
	}
	fputc('}', out);
}

/*
 * In the order of their first occurrence: each comes after the slice around it, so a flat list
 * suffices.
 */
static void json_put_inside(const struct slow_tree *tree, FILE *out)
{
	fputs(",\n    \"inside\": [", out);
	for (uint32_t i = 1; i < tree->n; i++) {
		const struct slow_node *node = &tree->nodes[i];

		fprintf(out, "%s\n      {\"id\": %" PRIu32 ", \"in\": %" PRIu32 ", ",
			i > 1 ? "," : "", i, node->parent);
		put_json_name(out, "\"category\": ", node->category);
		put_json_name(out, ", \"name\": ", node->name);
		put_json_u64(out, "count", node->count);
		put_json_u64(out, "total_ns", node->total_ns);
		put_json_u64(out, "self_ns", node->self_ns);
		fputc('}', out);
	}
	fputs(tree->n > 1 ? "\n    ]" : "]", out);
}

static void json_put_samples(const struct slow_instance *in, FILE *out)
{
	const struct name *functions[SLOWEST_FRAMES + 1];
	unsigned i, n = slow_functions(in, functions);

	fputs(", \"samples\": [", out);
	for (i = 0; i < n; i++) {
		fputs(i ? ", {" : "{", out);
		put_json_name(out, "\"function\": ", functions[i]);
		put_json_u64(out, "count", slow_samples_in(in, functions[i]));
		fputc('}', out);
	}
	fputc(']', out);
}

static void json_put_stacks(const struct slow_instance *in, FILE *out)
{
	char text[SLOW_TEXT_MAX];

	fputs(", \"called_from\": [", out);
	for (unsigned i = 0; i < in->n_stacks; i++) {
		slow_stack_text(&in->stacks[i], text);
		put_json_string(out, i ? ", {\"stack\": " : "{\"stack\": ", text);
		put_json_u64(out, "count", in->stacks[i].count);
		fputc('}', out);
	}
	fputc(']', out);
}

static void json_put_instance(const struct slow_instance *in, const struct stats_file *files,
			      unsigned n_files, FILE *out)
{
	put_json_name(out, "{\n    \"category\": ", in->identity.category);
	put_json_name(out, ", \"name\": ", in->identity.name);
	put_json_string(out, ", \"file\": ", in->trace < n_files ? files[in->trace].path : "");
	put_json_u64(out, "pid", in->pid);
	put_json_name(out, ", \"process\": ", in->process);
	put_json_u64(out, "tid", in->tid);
	put_json_name(out, ", \"thread\": ", in->thread);
	put_json_u64(out, "at_ns", in->offset_ns);
	put_json_u64(out, "duration_ns", in->identity.duration_ns);
	put_json_u64(out, "self_ns", in->self_ns);
	json_put_states(in, out);
	if (in->stepped) {
		fputs(", \"epoch\": ", out);
		json_put_arg(out, &in->epoch);
		fputs(", \"batch\": ", out);
		json_put_arg(out, &in->batch);
	}
	put_json_u64(out, "marks_lost", in->marks_lost);
	json_put_slice_counters(in, out);
	json_put_args(in, out);
	json_put_samples(in, out);
	json_put_stacks(in, out);
	json_put_inside(&in->tree, out);
	fputc('}', out);
}

int slowest_print_json(const struct consumer *slowest, FILE *out, const struct account *account,
		       const struct stats_file *files, unsigned n_files)
{
	const struct slowest *s = (const struct slowest *)slowest;

	fprintf(out, "{\n  \"proftrace_slowest\": %d,\n", SLOWEST_JSON_VERSION);
	stats_print_json_files(files, n_files, out);
	put_json_string(out, "  \"name\": ", s->options.name);
	put_json_u64(out, "count", s->count);
	put_json_u64(out, "median_of", s->n_seen);
	fputs(",\n  \"median\": ", out);
	if (s->n_instances)
		json_put_instance(&s->instances[0], files, n_files, out);
	else
		fputs("null", out);
	fputs(",\n  \"slowest\": [", out);
	for (unsigned i = 1; i < s->n_instances; i++) {
		fputs(i > 1 ? ",\n    " : "\n    ", out);
		json_put_instance(&s->instances[i], files, n_files, out);
	}
	fputs(s->n_instances ? "\n  ]" : "]", out);
	if (account)
		stats_print_json_diagnostics(account, out);
	fputs("\n}\n", out);
	return 0;
}
