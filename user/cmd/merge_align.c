/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the clocks of several traces stand to each other.
 *
 * Traces of one boot share the monotonic clock. Those of different hosts have their wall clocks, which
 * are as good as whoever sets them. And programs that work together say in what step they are: when
 * all have begun batch 7 of epoch 2 they cannot be further apart than a batch lasts. If the wall clocks
 * say that they are, the wall clocks are wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/merge.h"
#include "timeline/hash.h"

#define REALTIME_FROM \
	1000000000000000000ull /* ns: times above are since 1970, those below since a boot */
#define DAY_NS		     86400000000000ll
#define LIMIT_OF_ONE_STEP_NS 1000000000ull
#define LEAST_LIMIT_NS	     1000000ull

enum {
	MAX_STEPS = 1 << 17, /* of one trace, more tell nothing new */
};

struct step_key {
	uint64_t epoch;
	uint64_t batch;
};

struct step {
	UT_hash_handle hh;
	struct step_key key;
	uint64_t ts_ns;
};

struct steps {
	struct step *table;
	/* Perfetto has a track for each series: the epoch comes first. */
	bool has_epoch;
	uint64_t epoch;
	uint64_t epoch_ts_ns;
	uint32_t epoch_pid;
};

/* --- steps ------------------------------------------------------------------------------------- */

static void add_step(struct steps *s, uint64_t epoch, uint64_t batch, uint64_t ts_ns)
{
	const struct step_key key = { epoch, batch };
	struct step *step;

	HASH_FIND(hh, s->table, &key, sizeof(key), step);
	if (step) { /* of several processes: the first one */
		if (ts_ns < step->ts_ns)
			step->ts_ns = ts_ns;
		return;
	}
	if (HASH_COUNT(s->table) >= MAX_STEPS)
		return;
	step = calloc(1, sizeof(*step));
	if (!step)
		return;
	step->key = key;
	step->ts_ns = ts_ns;
	HASH_ADD(hh, s->table, key, sizeof(step->key), step);
	if (!hash_added(hh, step))
		free(step);
}

static void steps_free(struct steps *s)
{
	struct step *step, *next;

	HASH_ITER (hh, s->table, step, next) {
		HASH_DEL(s->table, step);
		free(step);
	}
}

static bool is_called(const struct name *name, const char *text)
{
	return name && !strcmp(name->text, text);
}

static uint64_t number(const struct arg *arg)
{
	if (arg->type != ARG_DOUBLE)
		return arg->u;
	return arg->d >= 0 && arg->d < 0x1p64 ? (uint64_t)arg->d : UINT64_MAX;
}

static int take_step(void *context, const struct event *e)
{
	struct steps *s = context;

	if (e->kind != EVENT_COUNTER || !e->name || strncmp(e->name->text, "step", 4))
		return 0;
	if (e->n_args == 2 && is_called(e->name, "step") && is_called(e->args[0].key, "epoch") &&
	    is_called(e->args[1].key, "batch")) {
		add_step(s, number(&e->args[0]), number(&e->args[1]), e->ts_ns);
	} else if (e->n_args == 1 && is_called(e->name, "step epoch")) {
		s->has_epoch = true;
		s->epoch = number(&e->args[0]);
		s->epoch_ts_ns = e->ts_ns;
		s->epoch_pid = e->pid;
	} else if (e->n_args == 1 && is_called(e->name, "step batch") && s->has_epoch &&
		   s->epoch_ts_ns == e->ts_ns && s->epoch_pid == e->pid) {
		add_step(s, s->epoch, number(&e->args[0]), e->ts_ns);
	}
	return 0;
}

static int steps_read(struct steps *s, struct part *part, struct failure *f)
{
	struct reader_error end = { 0 };
	struct account account = { 0 };
	const struct reader_sink sink = { take_step, s, names_new(0), &account, NULL, NULL };
	int error;

	if (!sink.names)
		return failure_set(f, -ENOMEM, "cannot read", part->source.path, NULL);
	error = source_read(&part->source, &sink, &end, f);
	names_free(sink.names);
	return error;
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* How far apart. What is further than can be told is as far as can be told. */
static int64_t distance(int64_t a, int64_t b)
{
	int64_t by;

	return __builtin_sub_overflow(a > b ? a : b, a > b ? b : a, &by) ? INT64_MAX : by;
}

/* Sorts. */
static int64_t median(int64_t *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

/* What the common steps say of one trace. */
struct agreement {
	size_t n;
	int64_t offset_ns; /* from its clock to that of the reference */
	int64_t *differences;
};

static int agree(const struct steps *reference, const struct steps *other, struct agreement *a)
{
	const struct step *step;
	struct step *found;

	*a = (struct agreement){ 0 };
	a->differences = calloc(HASH_COUNT(other->table) + 1, sizeof(*a->differences));
	if (!a->differences)
		return -ENOMEM;
	for (step = other->table; step; step = step->hh.next) {
		HASH_FIND(hh, reference->table, &step->key, sizeof(step->key), found);
		/* Times that are that far apart were no times. */
		if (found &&
		    !__builtin_sub_overflow(found->ts_ns, step->ts_ns, &a->differences[a->n]))
			a->n++;
	}
	if (a->n)
		a->offset_ns = median(a->differences, a->n);
	return 0;
}

/* How far apart the same step of two programs can be: as long as a step usually lasts. */
static uint64_t usual_step(const struct steps *s)
{
	size_t n = HASH_COUNT(s->table), i = 0;
	int64_t *times = calloc(n + 1, sizeof(*times));
	const struct step *step;
	uint64_t usual = LIMIT_OF_ONE_STEP_NS;

	if (times && n > 1) {
		for (step = s->table; step; step = step->hh.next)
			times[i++] = (int64_t)step->ts_ns;
		qsort(times, n, sizeof(*times), compare);
		for (i = 0; i + 1 < n; i++)
			times[i] = distance(times[i + 1], times[i]);
		usual = (uint64_t)median(times, n - 1);
	}
	free(times);
	return usual > LEAST_LIMIT_NS ? usual : LEAST_LIMIT_NS;
}

/* --- clocks ------------------------------------------------------------------------------------ */

enum clock_use {
	CLOCK_UNKNOWN,
	CLOCK_USED,
	CLOCK_UNUSABLE, /* what it showed cannot have been */
};

/* What the wall clock showed at the trace's time 0. */
static enum clock_use realtime_at_zero(const struct source *source, int64_t *ret_ns)
{
	const struct clock_reading *clock = &source->origin.clock;

	*ret_ns = 0;
	if (clock->monotonic && clock->realtime)
		return __builtin_sub_overflow(clock->realtime, clock->monotonic, ret_ns)
			       ? CLOCK_UNUSABLE
			       : CLOCK_USED;
	/* Others write times since 1970 as they are. */
	return !clock->monotonic && source->first_ns >= REALTIME_FROM ? CLOCK_USED : CLOCK_UNKNOWN;
}

/* The trace's first mark must have a time then, too. */
static enum clock_use by_realtime(const struct part *reference, const struct part *part,
				  int64_t *ret_offset)
{
	int64_t ours, theirs, offset, first; /* unsigned and signed: all of it is tried in full */
	enum clock_use one = realtime_at_zero(&reference->source, &ours);
	enum clock_use other = realtime_at_zero(&part->source, &theirs);

	if (one == CLOCK_UNUSABLE || other == CLOCK_UNUSABLE)
		return CLOCK_UNUSABLE;
	if (one == CLOCK_UNKNOWN || other == CLOCK_UNKNOWN)
		return CLOCK_UNKNOWN;
	if (__builtin_sub_overflow(theirs, ours, &offset) ||
	    __builtin_add_overflow(part->source.first_ns, offset, &first))
		return CLOCK_UNUSABLE;
	*ret_offset = offset;
	return CLOCK_USED;
}

static bool same_boot(const struct part *a, const struct part *b)
{
	const char *boot = a->source.origin.boot_id;

	return *boot && !strcmp(boot, b->source.origin.boot_id);
}

static void format_ns(char *out, size_t size, int64_t ns)
{
	double value = fabs((double)ns);

	if (value < 1e3)
		snprintf(out, size, "%.0f ns", value);
	else if (value < 1e6)
		snprintf(out, size, "%.1f us", value / 1e3);
	else if (value < 1e9)
		snprintf(out, size, "%.3f ms", value / 1e6);
	else
		snprintf(out, size, "%.6f s", value / 1e9);
}

/* What remains of the differences once the trace is moved. */
static void tell_residual(struct part *part, struct agreement *a)
{
	size_t i, length = strlen(part->how);
	char usual[32], most[32];

	for (i = 0; i < a->n; i++)
		a->differences[i] = distance(a->differences[i], part->offset_ns);
	format_ns(usual, sizeof(usual), median(a->differences, a->n));
	format_ns(most, sizeof(most), a->differences[a->n - 1]);
	snprintf(part->how + length, sizeof(part->how) - length,
		 ", residual %s over %zu common steps, at most %s", usual, a->n, most);
}

/* Without a look at the steps. */
int align_by_clocks(const struct part *reference, struct part *part, enum align align,
		    struct failure *f)
{
	bool own = part->source.origin.version[0] != '\0';
	int64_t offset = 0;
	enum clock_use realtime = by_realtime(reference, part, &offset);

	part->same_boot = same_boot(reference, part);
	if (align == ALIGN_NONE) {
		snprintf(part->how, sizeof(part->how), "not aligned");
	} else if (align == ALIGN_MONOTONIC) {
		snprintf(part->how, sizeof(part->how), "by the monotonic clock, as asked for");
	} else if (part->same_boot && align != ALIGN_REALTIME) {
		snprintf(part->how, sizeof(part->how), "same boot, same clock");
	} else if (realtime == CLOCK_USED) {
		part->offset_ns = offset;
		snprintf(part->how, sizeof(part->how), "by the realtime clocks");
	} else if (align == ALIGN_REALTIME) {
		failure_set(f, -EINVAL, "cannot align", part->source.path,
			    realtime == CLOCK_UNUSABLE
				    ? "what the realtime clocks show cannot have been"
				    : "it has no realtime clock in common with the others");
		failure_hint(f, "--align step, or --offset FILE=TIME");
		return -EINVAL;
	} else if (realtime == CLOCK_UNUSABLE) {
		snprintf(part->how, sizeof(part->how),
			 "what the realtime clocks show cannot have been: times as they are");
	} else {
		snprintf(part->how, sizeof(part->how),
			 own ? "no clock in common: times as they are"
			     : "no clock known: taken as the monotonic clock of the others");
	}
	return 0;
}

static int by_steps(const struct steps *reference, struct part *part, enum align align,
		    struct failure *f)
{
	uint64_t apart, limit = usual_step(reference);
	struct steps steps = { 0 };
	struct agreement a = { 0 };
	int error = steps_read(&steps, part, f);
	char text[32];

	if (!error && agree(reference, &steps, &a))
		error = failure_set(f, -ENOMEM, "cannot align", part->source.path, NULL);
	if (!error && !a.n && align == ALIGN_STEP) {
		error = failure_set(f, -EINVAL, "cannot align", part->source.path,
				    "it has no step in common with the first trace");
		failure_hint(f,
			     "PROF_STEP(epoch, batch) makes them; --align realtime goes without");
	}
	if (!error && a.n) {
		apart = (uint64_t)distance(a.offset_ns, part->offset_ns);
		if (align == ALIGN_STEP || apart > limit) {
			format_ns(text, sizeof(text), (int64_t)apart);
			snprintf(part->how, sizeof(part->how), "by common steps (clocks: %s off)",
				 text);
			part->offset_ns = a.offset_ns;
		}
		tell_residual(part, &a);
	}
	free(a.differences);
	steps_free(&steps);
	return error;
}

static bool wants_steps(const struct part *part, enum align align)
{
	if (part->is_reference)
		return false;
	/* Other people's traces have none. */
	return align == ALIGN_STEP ||
	       (align == ALIGN_AUTO && !part->same_boot && part->source.origin.version[0]);
}

/* The first whose clocks are known, so that the others can be brought to them. */
static struct part *choose_reference(struct part *parts, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (parts[i].source.origin.version[0] && parts[i].source.origin.clock.monotonic)
			return &parts[i];
	}
	return &parts[0];
}

int merge_align(struct part *parts, unsigned n, enum align align, struct failure *f)
{
	struct part *reference = choose_reference(parts, n);
	struct steps steps = { 0 };
	bool have_steps = false;
	unsigned i;
	int error = 0;

	reference->is_reference = reference->same_boot = true;
	snprintf(reference->how, sizeof(reference->how), "the others are moved to its clock");
	for (i = 0; i < n && !error; i++) {
		if (!parts[i].is_reference)
			error = align_by_clocks(reference, &parts[i], align, f);
	}
	for (i = 0; i < n && !error; i++) {
		if (!wants_steps(&parts[i], align))
			continue;
		if (!have_steps)
			error = steps_read(&steps, reference, f);
		have_steps = true;
		if (!error)
			error = by_steps(&steps, &parts[i], align, f);
	}
	steps_free(&steps);
	for (i = 0; i < n && !error; i++) {
		if (__builtin_add_overflow(parts[i].offset_ns, parts[i].moved_ns,
					   &parts[i].offset_ns))
			error = failure_set(f, -ERANGE, "cannot move", parts[i].source.path, NULL);
	}
	return error;
}

/* The time of a part's first mark in the merge. False: it has none, or none that a clock can show. */
static bool first_of(const struct part *part, int64_t *ret_ns)
{
	return part->source.first_ns &&
	       !__builtin_add_overflow(part->source.first_ns, part->offset_ns, ret_ns);
}

static int move_all(struct part *parts, unsigned n, int64_t by_ns, struct failure *f)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (__builtin_add_overflow(parts[i].offset_ns, by_ns, &parts[i].offset_ns))
			return failure_set(f, -ERANGE, "cannot move", parts[i].source.path, NULL);
	}
	return 0;
}

int merge_first(struct part *parts, unsigned n, int64_t *ret_shift_ns, uint64_t *ret_first_ns,
		struct failure *f)
{
	int64_t first = INT64_MAX, ns;
	int error = 0;
	unsigned i;

	*ret_shift_ns = 0;
	*ret_first_ns = 0;
	for (i = 0; i < n && !error; i++) {
		/*
		 * The first mark of a file need not be its earliest. That counts where it may be before
		 * the clock's zero: then all of the file is read for it.
		 */
		if (parts[i].offset_ns < 0 && first_of(&parts[i], &ns) && ns < DAY_NS)
			error = source_find_first(&parts[i].source, f);
		if (first_of(&parts[i], &ns) && ns < first)
			first = ns;
	}
	if (error || first == INT64_MAX)
		return error;
	if (first < 0) {
		if (__builtin_sub_overflow(DAY_NS, first, ret_shift_ns))
			return failure_set(f, -ERANGE, "cannot put them on one timeline", "", NULL);
		error = move_all(parts, n, *ret_shift_ns, f);
	}
	*ret_first_ns = (uint64_t)(first + *ret_shift_ns);
	return error;
}
