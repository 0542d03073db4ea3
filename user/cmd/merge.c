/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace merge`: several traces on one timeline.
 *
 * They are read one after the other, not side by side: neither format wants its events in the order
 * of time, the loaders of both sort, and so nothing has to be held in memory, however large the files
 * are and however little of an order is in them.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/cmd.h"
#include "cmd/merge.h"
#include "cmd/merge_sched.h"
#include "cmd/record.h"
#include "cmd/usage.h"
#include "target/invoker.h"

static const char doc[] =
	"Put several traces on one timeline: ranks, hosts, other people's Chrome JSON.\v"
	"Processes and threads of different files stay different, and are labelled by rank, host "
	"or "
	"file. Traces of one boot share a clock; others are aligned by their wall clocks and, "
	"where "
	"these cannot be right, by the PROF_STEPs that they have in common.\n\n"
	"Examples:\n"
	"  proftrace merge -o all rank0.pftrace rank1.pftrace rank2.pftrace\n"
	"  proftrace merge -o both train.pftrace torch.json --offset torch.json=-2ms\n";

enum {
	OPTION_ALIGN = 256,
	OPTION_OFFSET,
	OPTION_JOIN_FLOWS,
	OPTION_COMPRESS,
	MAX_OFFSETS = 1024,
	FILE_SHIFT = 50, /* of ids: programs use smaller ones */
};

static const struct argp_option options[] = {
	{ "output", 'o', "OUT", 0, "What to write (repeatable)", 0 },
	{ "align", OPTION_ALIGN, "HOW", 0,
	  "auto, step, realtime, monotonic or none: how the clocks are brought together (auto)",
	  0 },
	{ "offset", OPTION_OFFSET, "FILE=TIME", 0,
	  "Then move the events of FILE by TIME, which may be negative (repeatable)", 0 },
	{ "join-flows", OPTION_JOIN_FLOWS, NULL, 0,
	  "Arrows lead from file to file where their ids are the same", 0 },
	{ "compress", OPTION_COMPRESS, NULL, 0, "Perfetto files about a fifth as large", 0 },
	{ "quiet", 'q', NULL, 0, "Say nothing on standard error but errors", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

struct offset {
	const char *file;
	size_t length;
	int64_t ns;
	bool used;
};

struct merge {
	const char *outputs[REWRITE_MAX_OUTPUTS];
	unsigned n_outputs;
	struct offset offsets[MAX_OFFSETS];
	unsigned n_offsets;
	enum align align;
	bool join_flows;
	bool compress;
	bool quiet;
	char **paths;
	unsigned n_parts;
	struct part *parts;
	unsigned *order;
	unsigned at; /* the part that is being read */
	struct owners *owners;
	int64_t shift_ns;		 /* of all, since some are from before the clock's zero */
	uint64_t before_zero, after_end; /* events whose time no format has */
	struct merge_sched *sched;
	uint64_t twice, elsewhere; /* switches and wakings that are left out, and why */
	struct rewrite rewrite;
};

/* --- one event --------------------------------------------------------------------------------- */

static uint64_t moved(struct merge *m, uint64_t ts_ns)
{
	int64_t offset = m->parts[m->at].offset_ns, ns;

	if (!offset)
		return ts_ns;
	if (__builtin_add_overflow(ts_ns, offset, &ns)) {
		m->after_end++;
		return INT64_MAX;
	}
	if (ns < 0) {
		m->before_zero++;
		return 0;
	}
	return (uint64_t)ns;
}

static struct clock_reading shifted(const struct merge *m, struct clock_reading clock)
{
	clock.monotonic += (uint64_t)m->shift_ns;
	if (clock.boottime)
		clock.boottime += (uint64_t)m->shift_ns;
	return clock;
}

/* Repeated at the begin of a recording's second file, third, ..., so that each can stand alone. */
static bool is_repeated(const struct event *event)
{
	unsigned i;

	if (event->kind != EVENT_BEGIN && event->kind != EVENT_ASYNC_BEGIN)
		return event->continued;
	for (i = 0; i < event->n_args; i++) {
		const struct arg *arg = &event->args[i];

		if (arg->type == ARG_BOOL && arg->key && !strcmp(arg->key->text, "continued"))
			return arg->u != 0;
	}
	return false;
}

/* The CPUs of another machine would have the numbers of the first one's. */
static int take_sched(struct merge *m, const struct event *event)
{
	const struct part *part = &m->parts[m->at];
	bool is_gap = event->kind == EVENT_SCHED_GAP;
	struct event e = *event;

	e.ts_ns = moved(m, e.ts_ns);
	if (!part->is_reference && !part->same_boot) {
		m->elsewhere += !is_gap;
		return 0;
	}
	if (!merge_sched_takes(m->sched, part->recording, &e)) {
		m->twice += !is_gap;
		return 0;
	}
	owners_find(m->owners, &e.pid, &e.tid);
	owners_find(m->owners, &e.sched.pid, &e.sched.tid);
	return rewrite_event(&m->rewrite, &e);
}

static int take(void *context, const struct event *event)
{
	struct merge *m = context;
	bool is_flow = event->kind == EVENT_FLOW_OUT || event->kind == EVENT_FLOW_IN;
	bool is_async = event->kind == EVENT_ASYNC_BEGIN || event->kind == EVENT_ASYNC_END;
	struct event e = *event;

	if (e.kind >= EVENT_SWITCH && e.kind <= EVENT_SCHED_GAP)
		return take_sched(m, event);
	/* The clocks of the merge are those of one trace. */
	if (e.kind == EVENT_CLOCK && !m->parts[m->at].is_reference)
		return 0;
	if (e.kind == EVENT_CLOCK)
		e.clock = shifted(m, e.clock);
	if (m->parts[m->at].goes_on && is_repeated(event)) {
		m->rewrite.account.marked--;
		return 0;
	}
	if (e.ts_ns)
		e.ts_ns = moved(m, e.ts_ns);
	/* Programs count their ids from one: the same ones mean something else in another file. */
	if (is_async || (is_flow && !m->join_flows))
		e.id ^= (uint64_t)m->parts[m->at].recording << FILE_SHIFT;
	owners_map(m->owners, &e);
	return rewrite_event(&m->rewrite, &e);
}

static int take_name(void *context, const struct event *event)
{
	struct merge *m = context;

	m->rewrite.account.marked += event->kind == EVENT_THREAD_NAME;
	return rewrite_event(&m->rewrite, event);
}

/* --- all of them ------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* By rank; else by host, where there are several; else by file. */
static void choose_labels(struct merge *m)
{
	bool several_hosts = false;
	unsigned i;

	for (i = 1; i < m->n_parts; i++)
		several_hosts |=
			strcmp(m->parts[i].source.origin.host, m->parts[0].source.origin.host) != 0;
	for (i = 0; i < m->n_parts; i++) {
		struct part *part = &m->parts[i];
		const struct trace_origin *o = &part->source.origin;
		const char *base = base_name(m->parts[part->recording].source.path);

		if (o->rank[0])
			snprintf(part->label, sizeof(part->label), "rank %s", o->rank);
		else if (several_hosts && o->host[0])
			snprintf(part->label, sizeof(part->label), "%s", o->host);
		else
			snprintf(part->label, sizeof(part->label), "%s",
				 strcmp(base, "-") ? base : "standard input");
	}
}

/* The files of one recording count on in their identities. NULL: it is the last of them. */
static struct part *next_file(const struct merge *m, const struct part *part)
{
	const uint64_t *uuid = part->source.origin.trace_uuid;
	unsigned i;

	for (i = 0; i < m->n_parts && uuid[0]; i++) {
		const uint64_t *other = m->parts[i].source.origin.trace_uuid;

		if (other[0] == uuid[0] && other[1] == uuid[1] + 1 && !m->parts[i].goes_on)
			return &m->parts[i];
	}
	return NULL;
}

/* When it began to tell of the CPUs of the reference's machine; 0: never. */
static uint64_t sched_began(const struct part *part)
{
	if (!part->source.switch_ns || (!part->is_reference && !part->same_boot))
		return 0;
	return part->source.switch_ns + (uint64_t)part->offset_ns;
}

/* Of `n` beginnings of recordings. Those that tell of CPUs come in the order in which they began. */
static void sort_by_sched(const struct merge *m, unsigned *heads, unsigned n)
{
	unsigned i, k, head;

	for (i = 0; i < n; i++) {
		for (k = i + 1; k < n; k++) {
			uint64_t first = sched_began(&m->parts[heads[i]]);
			uint64_t other = sched_began(&m->parts[heads[k]]);

			if (!first || !other || first <= other)
				continue;
			head = heads[i];
			heads[i] = heads[k];
			heads[k] = head;
		}
	}
}

/* Files of a recording are read one after the other, whatever the order they were given in. */
static int choose_order(struct merge *m, struct failure *f)
{
	unsigned *heads = calloc(m->n_parts, sizeof(*heads));
	unsigned i, n_heads = 0, n = 0;

	m->order = calloc(m->n_parts, sizeof(*m->order));
	m->sched = merge_sched_new();
	if (!m->order || !m->sched || !heads) {
		free(heads);
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	}
	for (i = 0; i < m->n_parts; i++) {
		struct part *next = next_file(m, &m->parts[i]);

		m->parts[i].next = next;
		if (next)
			next->goes_on = true;
	}
	for (i = 0; i < m->n_parts; i++) {
		if (!m->parts[i].goes_on)
			heads[n_heads++] = i;
	}
	sort_by_sched(m, heads, n_heads);
	for (i = 0; i < n_heads; i++) {
		for (struct part *part = &m->parts[heads[i]]; part; part = part->next) {
			part->recording = heads[i];
			m->order[n++] = (unsigned)(part - m->parts);
		}
	}
	free(heads);
	return 0;
}

static bool matches(const struct offset *offset, const char *path)
{
	const char *base = base_name(path);

	return (strlen(path) == offset->length && !strncmp(path, offset->file, offset->length)) ||
	       (strlen(base) == offset->length && !strncmp(base, offset->file, offset->length));
}

static int apply_offsets(struct merge *m, struct failure *f)
{
	char file[256];
	unsigned i, k;

	for (k = 0; k < m->n_offsets; k++) {
		struct offset *offset = &m->offsets[k];

		for (i = 0; i < m->n_parts; i++) {
			if (!matches(offset, m->parts[i].source.path))
				continue;
			offset->used = true;
			if (__builtin_add_overflow(m->parts[i].moved_ns, offset->ns,
						   &m->parts[i].moved_ns))
				return failure_set(f, -ERANGE, "cannot move",
						   m->parts[i].source.path, NULL);
		}
		if (!offset->used) {
			snprintf(file, sizeof(file), "%.*s", (int)offset->length, offset->file);
			return failure_set(f, -ENOENT, "cannot move", file,
					   "it is none of the traces to be merged");
		}
	}
	return 0;
}

/* What all have in common is said of the merge as well. */
static struct trace_origin common_origin(const struct merge *m)
{
	struct trace_origin origin = { 0 };
	const struct part *part;

	for (part = m->parts; part < m->parts + m->n_parts; part++) {
		if (part->is_reference)
			origin = part->source.origin;
	}
	for (part = m->parts; part < m->parts + m->n_parts; part++) {
		const struct trace_origin *o = &part->source.origin;

		if (strcmp(o->host, origin.host))
			origin.host[0] = '\0';
		if (strcmp(o->boot_id, origin.boot_id))
			origin.boot_id[0] = '\0';
		if (strcmp(o->rank, origin.rank))
			origin.rank[0] = '\0';
	}
	memset(origin.trace_uuid, 0, sizeof(origin.trace_uuid)); /* a trace of its own */
	return origin;
}

static int open_all(struct merge *m, struct failure *f)
{
	struct rlimit files;
	unsigned i;
	int error = 0;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	for (i = 0; i < m->n_parts && !error; i++) {
		error = source_open(&m->parts[i].source, m->paths[i], f);
		if (!error)
			error = source_look(&m->parts[i].source, f);
	}
	return error;
}

static int read_all(struct merge *m, struct failure *f)
{
	struct reader_sink sink = {
		take, m, m->rewrite.names, &m->rewrite.account, NULL, m->rewrite.callstacks
	};
	unsigned i;
	int error = 0;

	m->owners = owners_new(m->rewrite.names, false);
	if (!m->owners)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	for (i = 0; i < m->n_parts && !error; i++) {
		struct part *part = &m->parts[m->order[i]];

		m->at = m->order[i];
		sink.origin = &part->source.origin;
		owners_begin(m->owners, part);
		error = rewrite_source(&m->rewrite, &part->source, &sink, &part->end, f);
		if (!error)
			error = owners_end(m->owners, take_name, m);
		rewrite_source_end(&m->rewrite, &part->source.origin, &part->end);
	}
	return error;
}

static int merge(struct merge *m, struct failure *f)
{
	struct trace_origin origin;
	uint64_t first_ns;
	unsigned i;
	int error = rewrite_init(&m->rewrite, f);

	m->rewrite.compress = m->compress;
	for (i = 0; !error && i < m->n_outputs; i++)
		error = rewrite_output(&m->rewrite, m->outputs[i], f);
	if (!error)
		error = open_all(m, f);
	if (!error)
		error = apply_offsets(m, f);
	if (!error)
		error = merge_align(m->parts, m->n_parts, m->align, f);
	if (error)
		return error;
	error = choose_order(m, f);
	if (error)
		return error;
	choose_labels(m);
	origin = common_origin(m);
	error = merge_first(m->parts, m->n_parts, &m->shift_ns, &first_ns, f);
	if (error)
		return error;
	if (origin.clock.monotonic)
		origin.clock = shifted(m, origin.clock);
	error = rewrite_begin(&m->rewrite, &origin, first_ns, f);
	if (!error)
		error = read_all(m, f);
	if (!error || m->rewrite.all_failed)
		error = rewrite_end(&m->rewrite, f);
	return error;
}

/* Both formats of one recording have its identity: `merge -o all slow.*` is easily typed. */
static void tell_twice(const struct merge *m, unsigned last)
{
	const struct source *source = &m->parts[last].source;
	const uint64_t *uuid = source->origin.trace_uuid;
	unsigned i;

	for (i = 0; i < last && (uuid[0] || uuid[1]); i++) {
		const struct source *other = &m->parts[i].source;

		if (memcmp(other->origin.trace_uuid, uuid, sizeof(other->origin.trace_uuid)))
			continue;
		fprintf(stderr,
			"proftrace: '%s': the same recording as '%s', so it is there twice\n",
			source->path, other->path);
		fputs("hint: one of the files of a recording tells all of it\n", stderr);
		return;
	}
}

static void tell(const struct merge *m)
{
	unsigned i;

	for (i = 0; i < m->n_parts; i++) {
		const struct part *part = &m->parts[i];

		rewrite_source_notes(&part->source, &part->end);
		tell_twice(m, i);
		fprintf(stderr, "%s (%s): %+.9f s, %s\n", part->source.path, part->label,
			(double)(part->offset_ns - m->shift_ns) / 1e9, part->how);
	}
	if (m->shift_ns)
		fprintf(stderr,
			"all of them: %+.9f s, since some are from before the clock's zero\n",
			(double)m->shift_ns / 1e9);
	rewrite_summary(&m->rewrite);
	if (m->twice)
		fprintf(stderr,
			"%12" PRIu64 "  switches and wakings that another file tells of, too\n",
			m->twice);
	if (m->elsewhere)
		fprintf(stderr,
			"%12" PRIu64 "  switches and wakings of other machines are left out\n",
			m->elsewhere);
	if (m->before_zero)
		fprintf(stderr, "%12" PRIu64 "  events before the clock's zero: at zero now\n",
			m->before_zero);
	if (m->after_end)
		fprintf(stderr,
			"%12" PRIu64 "  events later than any clock shows: at its end now\n",
			m->after_end);
}

/* --- options ----------------------------------------------------------------------------------- */

static void add_offset(struct merge *m, const char *arg, struct argp_state *state)
{
	const char *sign = strrchr(arg, '=');
	struct offset *offset = &m->offsets[m->n_offsets];

	if (m->n_offsets == MAX_OFFSETS)
		usage_error(state, "too many offsets");
	if (!sign || sign == arg)
		usage_error(state, "'%s' is not FILE=TIME", arg);
	*offset = (struct offset){ .file = arg, .length = (size_t)(sign - arg) };
	if (!parse_offset(sign + 1, &offset->ns))
		usage_error(state, "'%s' is no time", sign + 1);
	m->n_offsets++;
}

static void parse_align(struct merge *m, const char *arg, struct argp_state *state)
{
	static const char *const names[] = { "auto", "step", "realtime", "monotonic", "none" };
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(arg, names[i])) {
			m->align = (enum align)i;
			return;
		}
	}
	usage_error(state, "'%s' is none of auto, step, realtime, monotonic and none", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge *m = state->input;

	switch (key) {
	case 'o':
		if (m->n_outputs == REWRITE_MAX_OUTPUTS)
			usage_error(state, "too many outputs");
		m->outputs[m->n_outputs++] = arg;
		return 0;
	case OPTION_ALIGN:
		parse_align(m, arg, state);
		return 0;
	case OPTION_OFFSET:
		add_offset(m, arg, state);
		return 0;
	case OPTION_JOIN_FLOWS:
		m->join_flows = true;
		return 0;
	case OPTION_COMPRESS:
		m->compress = true;
		return 0;
	case 'q':
		m->quiet = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARGS:
		m->paths = state->argv + state->next;
		m->n_parts = (unsigned)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which traces?");
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!m->n_outputs)
			usage_error(state, "-o OUT says what to write");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = { options, parse, "-o OUT TRACE...", doc, NULL, NULL, NULL };
const struct usage usage_merge = { .argp = &argp, .size = sizeof(struct merge) };

int cmd_merge(int argc, char **argv)
{
	struct merge *m = calloc(1, sizeof(*m));
	struct failure f = { 0 };
	unsigned i;
	int error = -ENOMEM;

	if (!m)
		return STATUS_FAILED;
	usage_parse(&usage_merge, argc, argv, m);
	m->parts = calloc(m->n_parts, sizeof(*m->parts));
	if (m->parts)
		error = invoker_become(&f);
	if (!error)
		error = merge(m, &f);
	if (rewrite_any_written(&m->rewrite) && !m->quiet)
		tell(m);
	if (error)
		failure_print(&f, stderr);
	for (i = 0; m->parts && i < m->n_parts; i++)
		source_close(&m->parts[i].source);
	owners_free(m->owners);
	rewrite_free(&m->rewrite);
	free(m->order);
	free(m->sched);
	free(m->parts);
	free(m);
	return error ? STATUS_FAILED : STATUS_DONE;
}
