/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aligns the clocks of several traces.
 *
 * Traces of one boot share the monotonic clock, so nothing has to be done. Traces of different
 * hosts have wall clocks, which are as good as whoever sets them. And programs that work together
 * (the ranks of a training job) report their steps: when all of them have begun batch 7 of epoch 2,
 * these moments cannot be further apart than a batch usually lasts. If the wall clocks say that
 * they are, the wall clocks are wrong, and the median of the differences over all common steps is
 * used instead.
 *
 * All offsets are relative to one trace, the reference. Times of foreign files may be any numbers,
 * so every addition is checked for overflow.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/merge.h"
#include "base/hash.h"

#define REALTIME_FROM \
	1000000000000000000ull /* ns: times above are since 1970, those below since a boot */
#define DAY_NS		     86400000000000ll
#define LIMIT_OF_ONE_STEP_NS 1000000000ull
#define LEAST_LIMIT_NS	     1000000ull

enum {
	MAX_STEPS = 1 << 17, /* of one trace; more add nothing to a median */
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
	/* Perfetto has a track for each series: the sample of the epoch comes first. */
	bool has_epoch;
	uint64_t epoch;
	uint64_t epoch_ts_ns;
	uint32_t epoch_pid;
};

/* --- steps ------------------------------------------------------------------------------------- */

static void steps_add(struct steps *s, uint64_t epoch, uint64_t batch, uint64_t ts_ns)
{
	const struct step_key key = { epoch, batch };
	struct step *step;

	HASH_FIND(hh, s->table, &key, sizeof(key), step);
	if (step) { /* of several processes, the first to reach the step counts */
		if (ts_ns < step->ts_ns)
			step->ts_ns = ts_ns;
		return;
	}
	if (HASH_COUNT(s->table) >= MAX_STEPS)
		return;
	step = hash_add_new(hh, s->table, key, key);
	if (step)
		step->ts_ns = ts_ns;
}

static void steps_free(struct steps *s)
{
	hash_clear(hh, s->table, step);
}

static bool name_equals(const struct name *name, const char *text)
{
	return name && !strcmp(name->text, text);
}

static uint64_t step_number(const struct arg *arg)
{
	if (arg->type != ARG_DOUBLE)
		return arg->u;
	return arg->d >= 0 && arg->d < 0x1p64 ? (uint64_t)arg->d : UINT64_MAX;
}

static int read_step(void *context, const struct event *e)
{
	struct steps *s = context;

	if (e->kind != EVENT_COUNTER || !e->name || strncmp(e->name->text, "step", 4))
		return 0;
	if (e->n_args == 2 && name_equals(e->name, "step") &&
	    name_equals(e->args[0].key, "epoch") && name_equals(e->args[1].key, "batch")) {
		steps_add(s, step_number(&e->args[0]), step_number(&e->args[1]), e->ts_ns);
	} else if (e->n_args == 1 && name_equals(e->name, "step epoch")) {
		s->has_epoch = true;
		s->epoch = step_number(&e->args[0]);
		s->epoch_ts_ns = e->ts_ns;
		s->epoch_pid = e->pid;
	} else if (e->n_args == 1 && name_equals(e->name, "step batch") && s->has_epoch &&
		   s->epoch_ts_ns == e->ts_ns && s->epoch_pid == e->pid) {
		steps_add(s, s->epoch, step_number(&e->args[0]), e->ts_ns);
	}
	return 0;
}

static int compare_ns(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The distance of two times, at most INT64_MAX. */
static int64_t distance_ns(int64_t a, int64_t b)
{
	int64_t by;

	return __builtin_sub_overflow(a > b ? a : b, a > b ? b : a, &by) ? INT64_MAX : by;
}

/* Sorts the values. */
static int64_t median_ns(int64_t *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_ns);
	return values[n / 2];
}

/* The differences between a trace and the reference at their common steps. */
struct agreement {
	size_t n;
	int64_t offset_ns; /* the median: added to its times, it gives those of the reference */
	int64_t *differences;
};

static int compare_steps(const struct steps *reference, const struct steps *other,
			 struct agreement *a)
{
	const struct step *step;
	struct step *found;

	*a = (struct agreement){ 0 };
	a->differences = calloc(HASH_COUNT(other->table) + 1, sizeof(*a->differences));
	if (!a->differences)
		return -ENOMEM;
	for (step = other->table; step; step = step->hh.next) {
		HASH_FIND(hh, reference->table, &step->key, sizeof(step->key), found);
		/* Times that far apart were not times. */
		if (found &&
		    !__builtin_sub_overflow(found->ts_ns, step->ts_ns, &a->differences[a->n]))
			a->n++;
	}
	if (a->n)
		a->offset_ns = median_ns(a->differences, a->n);
	return 0;
}

/* How long a step usually lasts, which is how far apart the same step of two programs can be. */
static uint64_t usual_step_ns(const struct steps *s)
{
	size_t n = HASH_COUNT(s->table), i = 0;
	int64_t *times = calloc(n + 1, sizeof(*times));
	const struct step *step;
	uint64_t usual = LIMIT_OF_ONE_STEP_NS;

	if (times && n > 1) {
		for (step = s->table; step; step = step->hh.next)
			times[i++] = (int64_t)step->ts_ns;
		qsort(times, n, sizeof(*times), compare_ns);
		for (i = 0; i + 1 < n; i++)
			times[i] = distance_ns(times[i + 1], times[i]);
		usual = (uint64_t)median_ns(times, n - 1);
	}
	free(times);
	return usual > LEAST_LIMIT_NS ? usual : LEAST_LIMIT_NS;
}

/* --- clocks ------------------------------------------------------------------------------------ */

enum clock_use {
	CLOCK_UNKNOWN,
	CLOCK_USED,
	CLOCK_UNUSABLE, /* its values are impossible */
};

/* The time of the wall clock at the trace's time 0. */
static enum clock_use realtime_at_zero(const struct source *source, int64_t *ret_ns)
{
	const struct clock_reading *clock = &source->origin.clock;

	*ret_ns = 0;
	if (clock->monotonic && clock->realtime)
		return __builtin_sub_overflow(clock->realtime, clock->monotonic, ret_ns)
			       ? CLOCK_UNUSABLE
			       : CLOCK_USED;
	/* Other programs may write times since 1970 directly. */
	return !clock->monotonic && source->first_ns >= REALTIME_FROM ? CLOCK_USED : CLOCK_UNKNOWN;
}

/* The trace's first mark must also have a valid time then. */
static enum clock_use realtime_offset(const struct part *reference, const struct part *part,
				      int64_t *ret_offset)
{
	int64_t ours, theirs, offset, first;
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

static bool is_same_boot(const struct part *a, const struct part *b)
{
	const char *boot = a->source.origin.boot_id;

	return *boot && !strcmp(boot, b->source.origin.boot_id);
}

static void format_offset(char *out, size_t size, int64_t ns)
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

/* Appends to `how` what remains of the differences after the alignment. */
static void append_residual(struct part *part, struct agreement *a)
{
	size_t i, length = strlen(part->how);
	char usual[32], most[32];

	for (i = 0; i < a->n; i++)
		a->differences[i] = distance_ns(a->differences[i], part->offset_ns);
	format_offset(usual, sizeof(usual), median_ns(a->differences, a->n));
	format_offset(most, sizeof(most), a->differences[a->n - 1]);
	snprintf(part->how + length, sizeof(part->how) - length,
		 ", residual %s over %zu common steps, at most %s", usual, a->n, most);
}

/* Aligns by clocks only. */
int align_by_clocks(const struct part *reference, struct part *part, enum align align,
		    struct failure *f)
{
	bool own = part->source.origin.version[0] != '\0';
	int64_t offset = 0;
	enum clock_use realtime = realtime_offset(reference, part, &offset);

	part->same_boot = is_same_boot(reference, part);
	if (align == ALIGN_NONE) {
		snprintf(part->how, sizeof(part->how), "not aligned");
	} else if (align == ALIGN_MONOTONIC) {
		snprintf(part->how, sizeof(part->how), "by the monotonic clock, as requested");
	} else if (part->same_boot && align != ALIGN_REALTIME) {
		snprintf(part->how, sizeof(part->how), "same boot, same clock");
	} else if (realtime == CLOCK_USED) {
		part->offset_ns = offset;
		part->by_realtime = true;
		snprintf(part->how, sizeof(part->how), "by the realtime clocks");
	} else if (align == ALIGN_REALTIME) {
		failure_set(f, -EINVAL, "cannot align", part->source.path,
			    realtime == CLOCK_UNUSABLE
				    ? "the realtime clocks are invalid"
				    : "it has no realtime clock in common with the others");
		failure_hint(f, "--align step, or --offset FILE=TIME");
		return -EINVAL;
	} else if (realtime == CLOCK_UNUSABLE) {
		snprintf(part->how, sizeof(part->how),
			 "the realtime clocks are invalid: times are unchanged");
	} else {
		snprintf(part->how, sizeof(part->how),
			 own ? "no clock in common: times are unchanged"
			     : "no clock known: assumed to be the monotonic clock of the others");
	}
	return 0;
}

static int align_by_steps(const struct steps *reference, struct part *part, enum align align,
			  struct failure *f)
{
	uint64_t apart, limit = usual_step_ns(reference);
	struct steps steps = { 0 };
	struct agreement a = { 0 };
	int error = source_read_events(&part->source, read_step, &steps, f);
	char text[32];

	if (!error && compare_steps(reference, &steps, &a))
		error = failure_set(f, -ENOMEM, "cannot align", part->source.path, NULL);
	if (!error && !a.n && align == ALIGN_STEP) {
		error = failure_set(f, -EINVAL, "cannot align", part->source.path,
				    "it has no step in common with the first trace");
		failure_hint(f,
			     "PROF_STEP(epoch, batch) records steps; --align realtime needs none");
	}
	if (!error && a.n) {
		apart = (uint64_t)distance_ns(a.offset_ns, part->offset_ns);
		if (align == ALIGN_STEP || apart > limit) {
			format_offset(text, sizeof(text), (int64_t)apart);
			snprintf(part->how, sizeof(part->how), "by common steps (clocks: %s off)",
				 text);
			part->offset_ns = a.offset_ns;
			part->by_realtime = false;
		}
		append_residual(part, &a);
	}
	free(a.differences);
	steps_free(&steps);
	return error;
}

static bool part_needs_steps(const struct part *part, enum align align)
{
	if (part->is_reference)
		return false;
	/* Traces of other programs have no steps. */
	return align == ALIGN_STEP ||
	       (align == ALIGN_AUTO && !part->same_boot && part->source.origin.version[0]);
}

/* Chooses the first trace whose clocks are known as the reference. */
static struct part *choose_reference(struct part *parts, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (parts[i].source.origin.version[0] && parts[i].source.origin.clock.monotonic)
			return &parts[i];
	}
	return &parts[0];
}

/* What the recorder wrote, or UINT64_MAX. A file may contain anything. */
static uint64_t clock_error_ns(const struct part *part)
{
	const char *text = part->source.origin.clock_error;
	size_t length = strlen(text);

	return length && length < 19 && strspn(text, "0123456789") == length
		       ? strtoull(text, NULL, 10)
		       : UINT64_MAX;
}

/* How far apart the wall clocks of two machines may be, as far as their kernels knew. */
static void part_find_pair_error(const struct part *reference, struct part *part)
{
	const uint64_t of_reference = clock_error_ns(reference), own = clock_error_ns(part);
	bool known = part->by_realtime && own != UINT64_MAX && of_reference != UINT64_MAX;

	part->pair_error_ns = known ? own + of_reference : UINT64_MAX;
}

/*
 * The bound of the wall clock's error that the merged trace inherits from this one, and what is said of the bound
 * between the two. Common steps are no bound: their residual is what is known.
 */
static void part_find_error(const struct part *reference, struct part *part)
{
	const uint64_t of_reference = clock_error_ns(reference);
	const size_t length = strlen(part->how);
	char most[32];

	part->error_ns = part->same_boot     ? of_reference
			 : part->by_realtime ? clock_error_ns(part)
					     : UINT64_MAX;
	if (part->by_messages && of_reference != UINT64_MAX)
		part->error_ns = of_reference + part->pair_error_ns;
	if (!part->by_realtime && !part->by_messages)
		return;
	if (part->pair_error_ns == UINT64_MAX) {
		snprintf(part->how + length, sizeof(part->how) - length,
			 ", error unknown: not both clocks were synchronised");
		return;
	}
	format_offset(most, sizeof(most), (int64_t)part->pair_error_ns);
	snprintf(part->how + length, sizeof(part->how) - length, ", error at most %s%s", most,
		 part->by_messages ? " if both clocks have the same rate" : "");
}

int merge_align(struct part *parts, unsigned n, enum align align, bool messages, struct failure *f)
{
	struct part *reference = choose_reference(parts, n);
	struct steps steps = { 0 };
	bool have_steps = false;
	int error = 0;

	reference->is_reference = reference->same_boot = true;
	snprintf(reference->how, sizeof(reference->how), "the others are aligned to its clock");
	for (unsigned i = 0; i < n && !error; i++) {
		if (!parts[i].is_reference)
			error = align_by_clocks(reference, &parts[i], align, f);
	}
	for (unsigned i = 0; i < n && !error; i++) {
		if (!part_needs_steps(&parts[i], align))
			continue;
		if (!have_steps)
			error = source_read_events(&reference->source, read_step, &steps, f);
		have_steps = true;
		/* None of the others can have a step in common with it, and need not be read. */
		if (!steps.table && align != ALIGN_STEP)
			break;
		error = error ?: align_by_steps(&steps, &parts[i], align, f);
	}
	steps_free(&steps);
	for (unsigned i = 0; i < n && !error; i++)
		part_find_pair_error(reference, &parts[i]);
	if (!error && messages && align == ALIGN_AUTO)
		error = merge_align_messages(reference, parts, n, f);
	for (unsigned i = 0; i < n && !error; i++)
		part_find_error(reference, &parts[i]);
	for (unsigned i = 0; i < n && !error; i++) {
		if (__builtin_add_overflow(parts[i].offset_ns, parts[i].moved_ns,
					   &parts[i].offset_ns))
			error = failure_set(f, -ERANGE, "cannot move", parts[i].source.path, NULL);
	}
	return error;
}

/*
 * The time of a part's first mark in the merge. False: it has no mark, or its time is out of range.
 */
static bool part_first_ns(const struct part *part, int64_t *ret_ns)
{
	return part->source.first_ns &&
	       !__builtin_add_overflow(part->source.first_ns, part->offset_ns, ret_ns);
}

static int move_all_parts(struct part *parts, unsigned n, int64_t by_ns, struct failure *f)
{
	for (unsigned i = 0; i < n; i++) {
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

	*ret_shift_ns = 0;
	*ret_first_ns = 0;
	for (unsigned i = 0; i < n && !error; i++) {
		/*
		 * The first mark of a file need not be its earliest one. That matters if it may be
		 * before the clock's zero: then the whole file is read for it.
		 */
		if (parts[i].offset_ns < 0 && part_first_ns(&parts[i], &ns) && ns < DAY_NS)
			error = source_find_first(&parts[i].source, f);
		if (part_first_ns(&parts[i], &ns) && ns < first)
			first = ns;
	}
	if (error || first == INT64_MAX)
		return error;
	if (first < 0) {
		if (__builtin_sub_overflow(DAY_NS, first, ret_shift_ns))
			return failure_set(f, -ERANGE, "cannot align the traces", "", NULL);
		error = move_all_parts(parts, n, *ret_shift_ns, f);
	}
	*ret_first_ns = (uint64_t)(first + *ret_shift_ns);
	return error;
}
