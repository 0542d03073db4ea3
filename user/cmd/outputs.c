/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a recording: their names, their formats, and keeping them complete on disk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/record.h"

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

static int output_add(struct recording *r, const char *name, const char *suffix,
		      struct handler *(*make)(struct sink *, const struct trace_info *),
		      enum sink_format format, const char *format_name, struct failure *f)
{
	struct output *o = &r->outputs[r->n_outputs];
	int error;

	memset(o, 0, sizeof(*o));
	if (asprintf(&o->path, "%s%s", name, suffix) < 0)
		return failure_set(f, -ENOMEM, "cannot write", name, NULL);
	o->format = format_name;
	error = sink_open(o->path, format, &o->sink);
	if (error) {
		failure_set(f, error, "cannot write", o->path, NULL);
		failure_hint(f, "-o NAME writes elsewhere");
		free(o->path);
		return error;
	}
	r->n_outputs++;
	o->handler = make(o->sink, &r->info);
	if (!o->handler)
		return failure_set(f, -ENOMEM, "cannot write", o->path, NULL);
	return timeline_add_handler(r->timeline, o->handler);
}

static int outputs_of_name(struct recording *r, const char *name, struct failure *f)
{
	int error;

	if (ends_in(name, ".pftrace") || !strcmp(name, "-"))
		return output_add(r, name, "", perfetto_handler_new, SINK_PLAIN, "Perfetto", f);
	if (ends_in(name, ".json"))
		return output_add(r, name, "", chrome_json_handler_new, SINK_PLAIN, "Chrome JSON",
				  f);
	if (ends_in(name, ".json.gz"))
		return output_add(r, name, "", chrome_json_handler_new, SINK_GZIP, "Chrome JSON",
				  f);
	error = output_add(r, name, ".pftrace", perfetto_handler_new, SINK_PLAIN, "Perfetto", f);
	if (error)
		return error;
	return output_add(r, name, ".json", chrome_json_handler_new, SINK_PLAIN, "Chrome JSON", f);
}

/* proftrace-<command>-<pid> of the first target. */
static void default_name(const struct recording *r, char *out, size_t size)
{
	char comm[64] = "unknown", *at;
	pid_t pid = r->command.pid;

	if (r->options->command) {
		const char *base = strrchr(r->options->command[0], '/');

		snprintf(comm, sizeof(comm), "%s", base ? base + 1 : r->options->command[0]);
	} else {
		char path[32];
		FILE *file;

		pid = r->options->pids[0];
		snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
		file = fopen(path, "re");
		if (file) {
			if (!fgets(comm, sizeof(comm), file))
				comm[0] = '\0';
			comm[strcspn(comm, "\n")] = '\0';
			fclose(file);
		}
	}
	/* A process chooses its name: it shall not choose the directory. */
	for (at = comm; *at; at++) {
		if (*at == '/' || (unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
			*at = '_';
	}
	snprintf(out, size, "proftrace-%s-%d", comm, (int)pid);
}

int outputs_open(struct recording *r, struct failure *f)
{
	char name[128];
	unsigned i;
	int error;

	if (!r->options->n_outputs) {
		default_name(r, name, sizeof(name));
		return outputs_of_name(r, name, f);
	}
	for (i = 0; i < r->options->n_outputs; i++) {
		error = outputs_of_name(r, r->options->outputs[i], f);
		if (error)
			return error;
	}
	return 0;
}

/* The recording goes on as long as one output can be written; at the end it has failed all the same. */
static void note_failures(struct recording *r)
{
	unsigned i, failed = 0;

	for (i = 0; i < r->n_outputs; i++)
		failed += r->outputs[i].handler->error != 0;
	r->output_failed = failed > 0;
	r->all_outputs_failed = r->n_outputs && failed == r->n_outputs;
	if (!r->all_outputs_failed)
		r->flushed_marks = r->road.written;
}

void outputs_flush(struct recording *r)
{
	unsigned i;

	for (i = 0; i < r->n_outputs; i++) {
		struct handler *h = r->outputs[i].handler;

		if (!h->error)
			h->error = h->ops->flush(h);
	}
	note_failures(r);
}

void outputs_close(struct recording *r, const struct account *account)
{
	unsigned i;

	for (i = 0; i < r->n_outputs; i++) {
		struct handler *h = r->outputs[i].handler;

		if (!h->error)
			h->error = h->ops->close(h, account);
	}
	note_failures(r);
}

void outputs_free(struct recording *r)
{
	while (r->n_outputs) {
		struct output *o = &r->outputs[--r->n_outputs];

		if (o->handler)
			o->handler->ops->free(o->handler);
		free(o->path);
	}
}
