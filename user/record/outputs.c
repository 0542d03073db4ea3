/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a recording: which files a NAME of -o means, opening, rotating, closing and deleting them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/capture.h"
#include "record/quota.h"
#include "record/record.h"

/* One file of a NAME. */
struct form {
	const char *suffix;
	const char *format_name;
	enum sink_format format;
	struct consumer *(*make)(struct sink *, const struct trace_info *);
};

/* The files of a NAME: one, or two if it has no ending. */
static unsigned output_forms(const struct recording *r, const char *name, struct form ret_forms[2])
{
	const struct form perfetto = { "", "Perfetto",
				       r->options->compress ? SINK_BUNDLES : SINK_PLAIN,
				       perfetto_writer_new };
	const struct form json = { "", "Chrome JSON", SINK_PLAIN, chrome_writer_new };

	ret_forms[0] = perfetto;
	if (text_ends_with(name, ".pftrace") || !strcmp(name, "-"))
		return 1;
	if (text_ends_with(name, ".json") || text_ends_with(name, ".json.gz")) {
		ret_forms[0] = json;
		ret_forms[0].format = text_ends_with(name, ".gz") ? SINK_GZIP : SINK_PLAIN;
		return 1;
	}
	ret_forms[0].suffix = ".pftrace";
	ret_forms[1] = json;
	ret_forms[1].suffix = ".json";
	return 2;
}

/*
 * proftrace-<command>-<pid> of the first target; if there may be none yet, of what its name must match, with the number
 * of the recorder.
 */
static void default_name(const struct recording *r, char *out, size_t size)
{
	char comm[64] = "unknown", *at;
	pid_t pid = r->command.pid;

	if (r->options->command) {
		const char *base = strrchr(r->options->command[0], '/');

		snprintf(comm, sizeof(comm), "%s", base ? base + 1 : r->options->command[0]);
	} else if (!r->options->n_pids) {
		const char *name = r->options->n_names ? r->options->names[0] : "selected";
		const char *base = strrchr(name, '/');

		pid = getpid();
		snprintf(comm, sizeof(comm), "%s", base ? base + 1 : name);
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
	/* The process chooses its name; it must not choose the directory. */
	for (at = comm; *at; at++) {
		if (strchr("/*?[]{}\\", *at) || (unsigned char)*at <= ' ' ||
		    (unsigned char)*at >= 0x7f)
			*at = '_';
	}
	snprintf(out, size, "proftrace-%s-%d", comm, (int)pid);
}

static unsigned output_option_count(const struct recording *r)
{
	return r->options->n_outputs ? r->options->n_outputs : 1;
}

static const char *output_option_name(const struct recording *r, unsigned i)
{
	return r->options->n_outputs ? r->options->outputs[i] : r->default_name;
}

/* --- before anything is attached --------------------------------------------------------------- */

static int prepare_names(struct recording *r, struct failure *f)
{
	pid_t pid = r->options->command	 ? r->command.pid
		    : r->options->n_pids ? r->options->pids[0]
					 : getpid();
	const struct trace_origin *o = &r->origin;

	r->output_names = output_names_new(o->rank[0] ? o->rank : "0", o->host, pid);
	return r->output_names ? 0 : failure_set(f, -ENOMEM, "cannot start", "", NULL);
}

static bool output_is_special_file(const char *path)
{
	struct stat st;

	return !strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode));
}

static int output_cannot_write(struct failure *f, int error, const char *path)
{
	failure_set(f, error, "cannot write", path, sink_refusal(error));
	failure_hint(f, "-o NAME writes elsewhere");
	return error;
}

/* Opens a file and discards it, to fail before anything is attached. */
static int output_probe_file(const char *name, const struct form *form, struct failure *f)
{
	const struct output_fields none = { 0 };
	struct output_names *names = output_names_new("0", "host", 1);
	struct sink *sink;
	char path[PATH_MAX], *text;
	int error = -ENOMEM;

	text = names ? output_name_next(names, name, &form->suffix, 1, 1, &none) : NULL;
	output_names_free(names);
	if (!text)
		return failure_set(f, error, "cannot write", name, NULL);
	snprintf(path, sizeof(path), "%s%s", text, form->suffix);
	free(text);
	if (output_is_special_file(path)) {
		failure_set(f, -ESPIPE, "cannot write several files to", path,
			    "each file needs its own name");
		failure_hint(f, "-o NAME writes them to files");
		return -ESPIPE;
	}
	error = sink_open(path, form->format, &sink);
	if (error)
		return output_cannot_write(f, error, path);
	sink_free(sink);
	return 0;
}

bool outputs_are_packed(const struct recording *r)
{
	struct form forms[2];
	bool packed = r->options->compress;

	for (unsigned i = 0; !packed && i < r->options->n_outputs; i++) {
		output_forms(r, r->options->outputs[i], forms);
		packed = forms[0].format != SINK_PLAIN;
	}
	return packed;
}

int outputs_prepare(struct recording *r, struct failure *f)
{
	struct form forms[2];
	unsigned n;
	int error;

	if (!r->options->n_outputs)
		default_name(r, r->default_name, sizeof(r->default_name));
	error = prepare_names(r, f);
	if (error || !r->many_files)
		return error;
	for (unsigned i = 0; i < output_option_count(r); i++) {
		n = output_forms(r, output_option_name(r, i), forms);
		for (unsigned k = 0; k < n; k++) {
			error = output_probe_file(output_option_name(r, i), &forms[k], f);
			if (error)
				return error;
		}
	}
	if (!r->options->quota)
		return 0;
	return quota_open(output_option_name(r, 0), r->options->quota, &r->quota, f);
}

/* --- opening ----------------------------------------------------------------------------------- */

static void output_drop(struct recording *r, struct output *o)
{
	if (o->consumer) {
		timeline_remove_consumer(r->writer, o->consumer);
		o->consumer->ops->free(o->consumer);
	} else {
		sink_free(o->sink);
	}
	free(o->path);
	*o = (struct output){ 0 };
}

static int output_add(struct recording *r, const char *text, unsigned name, const struct form *form,
		      const struct trace_info *info, struct failure *f)
{
	struct output *o = &r->outputs[r->n_outputs];
	int error;

	*o = (struct output){ .format = form->format_name, .name = name };
	if (asprintf(&o->path, "%s%s", text, form->suffix) < 0) {
		o->path = NULL;
		return failure_set(f, -ENOMEM, "cannot write", text, NULL);
	}
	error = r->started_ns ? sink_open_later(o->path, form->format, &o->sink)
			      : sink_open(o->path, form->format, &o->sink);
	if (error) {
		output_cannot_write(f, error, o->path);
		o->sink = NULL;
		output_drop(r, o);
		return error;
	}
	sink_set_cancel(o->sink, recording_should_give_up, r);
	o->consumer = form->make(o->sink, info);
	if (!o->consumer) {
		failure_set(f, -ENOMEM, "cannot write", o->path, NULL);
		output_drop(r, o);
		return -ENOMEM;
	}
	r->n_outputs++;
	/* An error while writing is handled like any later one. */
	timeline_replay(r->writer, o->consumer);
	return timeline_add_consumer(r->writer, o->consumer);
}

static int outputs_open_name(struct recording *r, unsigned i, const struct trace_info *info,
			     const struct output_fields *fields, struct failure *f)
{
	const char *suffixes[2];
	struct form forms[2];
	unsigned k, n = output_forms(r, output_option_name(r, i), forms);
	int error = 0;
	char *text;

	for (k = 0; k < n; k++)
		suffixes[k] = forms[k].suffix;
	text = strcmp(output_option_name(r, i), "-")
		       ? output_name_next(r->output_names, output_option_name(r, i), suffixes, n,
					  r->sets, fields)
		       : strdup("-");
	if (!text)
		return failure_set(f, -ENOMEM, "cannot write", output_option_name(r, i), NULL);
	for (k = 0; k < n; k++) {
		int failed = output_add(r, text, i, &forms[k], info, f);

		if (failed)
			error = failed;
		/* At the start every file must open. Later, some files are better than none. */
		if (failed && !r->started_ns)
			break;
		if (failed) {
			status_clear(r);
			failure_print(f, stderr);
			r->output_failed = true;
		}
	}
	free(text);
	return error;
}

/* Marks that are still in the ring buffers belong to the next files. */
static struct account account_so_far(const struct recording *r)
{
	struct account account = recording_account(r);

	account.marked = account.written + account_lost(&account) + account.paused +
			 account.unscheduled + account.switched_off + account.unrecorded +
			 account.left_out;
	account.orderly = true;
	return account;
}

static void output_resolve_stack(void *context, const struct callstack *callstack)
{
	struct recording *r = context;

	capture_name_stack(r->capture, callstack);
}

int outputs_begin(struct recording *r, const struct output_fields *fields, struct failure *f)
{
	struct output_fields step = { 0 };
	struct trace_info info = r->info;
	int error = 0;

	if (!fields) {
		step.has_step = timeline_step(r->timeline, &step.epoch, &step.batch);
		fields = &step;
	}
	r->fields = *fields;
	r->sets++;
	/* The files of one recording are different traces with one clock. */
	info.trace_uuid[1] += r->sets - 1;
	info.clock = r->last_clock;
	info.counter_step_ns = r->options->counter_interval_ns ? 0 : COUNTER_STEP_NS;
	info.name_stack = r->callstacks ? output_resolve_stack : NULL;
	info.name_context = r;
	r->begun = account_so_far(r);
	r->begun_marks = r->accounting.written;
	for (unsigned i = 0; i < output_option_count(r); i++) {
		int failed = outputs_open_name(r, i, &info, fields, f);

		error = failed ? failed : error;
		if (failed && !r->started_ns)
			break;
	}
	if (error && (!r->started_ns || !r->n_outputs)) {
		while (r->n_outputs)
			output_drop(r, &r->outputs[--r->n_outputs]);
		return error;
	}
	timeline_set_recorded(r->writer, true);
	return 0;
}

/* --- while they are open ----------------------------------------------------------------------- */

/* The recording goes on while one output can be written, but its exit status is 1. */
static void outputs_count_failures(struct recording *r)
{
	unsigned i, failed = 0;

	for (i = 0; i < r->n_outputs; i++)
		failed += r->outputs[i].consumer->error != 0;
	r->output_failed |= failed > 0;
	r->all_outputs_failed = failed > 0 && failed == r->n_outputs;
}

/* The recording goes on, and what lies under another name is this recording's file. */
static void output_find_displaced(struct recording *r, struct output *o)
{
	struct failure f = { 0 };
	const char *path;
	char *copy;

	if (o->displaced || !sink_displaced_failure(o->sink, o->path, &f))
		return;
	status_clear(r);
	failure_print(&f, stderr);
	o->displaced = r->output_displaced = true;
	sink_displaced(o->sink, &path);
	copy = strdup(path);
	if (!copy)
		return;
	free(o->path);
	o->path = copy;
}

void outputs_flush(struct recording *r)
{
	for (unsigned i = 0; i < r->n_outputs; i++) {
		struct consumer *h = r->outputs[i].consumer;

		if (!h->error)
			h->error = h->ops->flush(h);
		output_find_displaced(r, &r->outputs[i]);
	}
	outputs_count_failures(r);
}

uint64_t outputs_bytes(const struct recording *r)
{
	uint64_t sum = r->files_bytes;

	for (unsigned i = 0; i < r->n_outputs; i++)
		sum += sink_size(r->outputs[i].sink);
	return sum;
}

/* --- closing ----------------------------------------------------------------------------------- */

/* In one directory, which another one may replace meanwhile. */
static int output_open_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	free(directory);
	return fd;
}

/* Deletes only a file that this recording wrote: another file may have the name by now. */
static void outputs_delete_file(struct recording *r, unsigned i)
{
	struct written_file *file = &r->files[i];
	const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
	int directory = file->known ? output_open_directory(file->path) : -1;
	struct stat st;

	if (directory >= 0 && !fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_dev == file->device && st.st_ino == file->inode)
		unlinkat(directory, name, 0);
	if (directory >= 0)
		close(directory);
	r->files_deleted++;
	free(file->path);
	memmove(file, file + 1, (--r->n_files - i) * sizeof(*file));
}

/* Deletes the files of the oldest sets of a name. */
static void outputs_delete_older(struct recording *r, unsigned name)
{
	uint64_t sets = 0, set = 0;
	unsigned i = r->n_files;

	while (i-- > 0) {
		const struct written_file *file = &r->files[i];

		if (file->name != name)
			continue;
		sets += file->set != set;
		set = file->set;
		if (sets > r->options->keep)
			outputs_delete_file(r, i);
	}
}

static void outputs_forget_file(void *context, dev_t device, ino_t inode)
{
	struct recording *r = context;

	for (unsigned i = 0; i < r->n_files; i++) {
		struct written_file *file = &r->files[i];

		if (file->device != device || file->inode != inode)
			continue;
		output_name_forget(r->output_names, file->path);
		free(file->path);
		memmove(file, file + 1, (--r->n_files - i) * sizeof(*file));
		return;
	}
}

/* The files of the latest set belong to the quota now. */
static void outputs_apply_quota(struct recording *r)
{
	unsigned i = r->n_files;
	char line[128];
	int error = 0;

	while (i-- > 0 && r->files[i].set == r->sets)
		;
	while (++i < r->n_files) {
		const struct written_file *file = &r->files[i];

		if (file->known)
			error = quota_add(r->quota, file->path, file->device, file->inode) ?: error;
	}
	error = quota_apply(r->quota, outputs_forget_file, r) ?: error;
	if (!error)
		return;
	snprintf(line, sizeof(line), "cannot save which files are within --quota: %s",
		 quota_refusal(error) ?: strerror(-error));
	recording_log(r, 0, line);
}

static void outputs_remember_file(struct recording *r, const struct output *o, bool known,
				  dev_t device, ino_t inode)
{
	struct written_file *grown = realloc(r->files, (r->n_files + 1) * sizeof(*grown)), *file;

	r->files_bytes += sink_size(o->sink);
	if (!grown)
		return;
	r->files = grown;
	file = &r->files[r->n_files];
	*file = (struct written_file){
		.path = strdup(o->path),
		.format = o->format,
		.name = o->name,
		.set = r->sets,
		.bytes = sink_size(o->sink),
		.marks = sink_marks(o->sink),
		.marks_of_set = r->accounting.written - r->begun_marks,
		.error = o->consumer->error,
		.known = known,
		.device = device,
		.inode = inode,
	};
	r->n_files += file->path != NULL;
}

static void output_close(struct recording *r, struct output *o, const struct account *account)
{
	struct consumer *h = o->consumer;
	ino_t inode = 0;
	dev_t device = 0;
	bool known = sink_identity(o->sink, &device, &inode);

	if (!h->error)
		h->error = h->ops->close(h, account);
	if (h->error) {
		sink_settle(o->sink);
		status_clear(r);
		print_visible(stderr, "proftrace: cannot write '%s': %s\n", o->path,
			      strerror(-h->error));
	}
	output_find_displaced(r, o);
	outputs_remember_file(r, o, known, device, inode);
}

int outputs_end(struct recording *r, const struct account *account)
{
	struct account now = account ? *account : account_so_far(r);
	struct account own = account_since(&now, &r->begun);
	uint64_t held = 0; /* the most marks that one of the files holds */
	bool any = r->n_outputs > 0;
	int error = 0;

	if (r->all_outputs_failed && !any) {
		/* There should have been further files, which could not be opened. */
		r->accounting.lost[LOST_OUTPUT] += r->accounting.unrecorded;
		r->accounting.unrecorded = 0;
		return -EIO;
	}
	if (any)
		capture_name_frames(r->capture);
	for (unsigned i = 0; i < r->n_outputs; i++) {
		output_close(r, &r->outputs[i], &own);
		if (sink_marks(r->outputs[i].sink) > held)
			held = sink_marks(r->outputs[i].sink);
	}
	outputs_count_failures(r);
	if (r->all_outputs_failed) {
		/* Marks that no file holds are lost, although they were counted as written. */
		r->accounting.lost[LOST_OUTPUT] += r->accounting.written - r->begun_marks - held;
		r->accounting.written = r->begun_marks + held;
		error = r->outputs[0].consumer->error;
	}
	while (r->n_outputs)
		output_drop(r, &r->outputs[--r->n_outputs]);
	timeline_set_recorded(r->writer, false);
	for (unsigned i = 0; any && r->options->keep && i < output_option_count(r); i++)
		outputs_delete_older(r, i);
	if (any && r->quota)
		outputs_apply_quota(r);
	return error;
}

void outputs_rotate(struct recording *r)
{
	struct output_fields next;
	struct failure f = { 0 };
	uint64_t largest = 0;

	for (unsigned i = 0; i < r->n_outputs; i++) {
		uint64_t size = sink_expected_size(r->outputs[i].sink);

		largest = size > largest ? size : largest;
	}
	if (largest <= r->options->max_size)
		return;
	if (outputs_end(r, NULL))
		return;
	next = r->fields;
	next.has_step = timeline_step(r->timeline, &next.epoch, &next.batch);
	if (outputs_begin(r, &next, &f)) {
		/* Each file has said why already. */
		r->all_outputs_failed = true;
	}
}

void outputs_free(struct recording *r)
{
	while (r->n_outputs)
		output_drop(r, &r->outputs[--r->n_outputs]);
	while (r->n_files)
		free(r->files[--r->n_files].path);
	free(r->files);
	quota_close(r->quota);
	output_names_free(r->output_names);
}
