/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the facts of a run. This runs for every event of every trace, so rows and threads are
 * found in small caches first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reports/diff/diff_internal.h"
#include "reports/table/stats_rows.h"

enum {
	FINE_BITS = 7, /* log2 of the buckets of a group, which covers one power of two */
	FINE_GROUP = 1 << FINE_BITS,
};

/* --- histograms -------------------------------------------------------------------------------- */

static unsigned fine_bucket(uint64_t value)
{
	unsigned shift;

	if (value < FINE_GROUP)
		return (unsigned)value;
	shift = 63 - FINE_BITS - (unsigned)__builtin_clzll(value);
	return (shift << FINE_BITS) + (unsigned)(value >> shift);
}

static double fine_least(unsigned bucket)
{
	unsigned shift = bucket >> FINE_BITS;

	if (shift < 2)
		return bucket;
	return ldexp(FINE_GROUP + bucket % FINE_GROUP, (int)shift - 1);
}

static bool fine_grow(struct diff *d, struct diff_histogram *h, unsigned group)
{
	unsigned first = h->n && h->first < group ? h->first : group;
	unsigned end = h->n && h->first + h->n > group ? h->first + h->n : group + 1u;
	uint32_t *grown = NULL;

	d->groups += end - first - h->n;
	if (d->groups <= DIFF_MAX_GROUPS)
		grown = calloc((size_t)(end - first) * FINE_GROUP, sizeof(*grown));
	if (!grown) {
		d->groups -= end - first - h->n;
		d->failed = true;
		return false;
	}
	if (h->n)
		memcpy(grown + (size_t)(h->first - first) * FINE_GROUP, h->counts,
		       (size_t)h->n * FINE_GROUP * sizeof(*grown));
	free(h->counts);
	*h = (struct diff_histogram){ grown, (uint8_t)first, (uint8_t)(end - first) };
	return true;
}

static void fine_add(struct diff *d, struct diff_histogram *h, unsigned bucket, uint32_t n)
{
	unsigned group = bucket >> FINE_BITS;

	if ((group < h->first || group - h->first >= h->n) && !fine_grow(d, h, group))
		return;
	bucket -= h->first * FINE_GROUP;
	if (__builtin_add_overflow(h->counts[bucket], n, &h->counts[bucket]))
		h->counts[bucket] = UINT32_MAX;
}

double diff_percentile(const struct diff_histogram *h, double share)
{
	double total = 0, rank;
	unsigned i, n = h->n * FINE_GROUP;

	for (i = 0; i < n; i++)
		total += h->counts[i];
	rank = share * total;
	for (i = 0; i < n; i++) {
		unsigned bucket = h->first * FINE_GROUP + i;
		double least = fine_least(bucket);

		if (h->counts[i] && rank <= h->counts[i])
			return least + (fine_least(bucket + 1) - least) * rank / h->counts[i];
		rank -= h->counts[i];
	}
	return NAN;
}

/* --- sums -------------------------------------------------------------------------------------- */

void diff_sums_merge(struct diff *d, struct diff_sums *to, const struct diff_sums *from)
{
	to->count += from->count;
	to->total += from->total;
	to->self += from->self;
	to->running += from->running;
	to->runnable += from->runnable;
	to->blocked += from->blocked;
	to->states += from->states;
	to->value += from->value;
	for (unsigned i = 0; i < DIFF_COUNTERS; i++) {
		to->counted[i] += from->counted[i];
		to->with_counter[i] += from->with_counter[i];
	}
	for (unsigned i = 0; i < from->histogram.n * FINE_GROUP; i++) {
		if (from->histogram.counts[i])
			fine_add(d, &to->histogram, from->histogram.first * FINE_GROUP + i,
				 from->histogram.counts[i]);
	}
}

void diff_sums_free(struct diff *d, struct diff_sums *sums)
{
	d->groups -= sums->histogram.n;
	free(sums->histogram.counts);
	*sums = (struct diff_sums){ 0 };
}

/* --- rows -------------------------------------------------------------------------------------- */

static struct diff_row *diff_row_add(struct diff *d, const struct diff_key *key)
{
	struct diff_row *row = NULL;

	if (HASH_CNT(hh, d->rows) < DIFF_MAX_NAMES)
		row = calloc(1, sizeof(*row));
	else
		d->rows_left_out++;
	if (!row)
		return NULL;
	row->key = *key;
	row->blocks = calloc(DIFF_BLOCKS, sizeof(*row->blocks));
	if (row->blocks)
		HASH_ADD(hh, d->rows, key, sizeof(*key), row);
	if (row->blocks && hash_added(hh, row))
		return row;
	d->failed = true;
	free(row->blocks);
	free(row);
	return NULL;
}

struct diff_row *diff_row_get(struct diff *d, enum diff_kind kind, const struct name *category,
			      const struct name *name)
{
	unsigned i =
		(name ? name->id : 0) ^ (category ? category->id : 0) << 5 ^ (unsigned)kind << 9;
	struct diff_row **recent = &d->recent[i & (DIFF_RECENT - 1)], *row = *recent;
	struct diff_key key;

	if (row && row->key.name == name && row->key.category == category && row->key.kind == kind)
		return row;
	key = (struct diff_key){ category, name, kind };
	HASH_FIND(hh, d->rows, &key, sizeof(key), row);
	if (!row)
		row = diff_row_add(d, &key);
	*recent = row;
	return row;
}

/* --- blocks of time ---------------------------------------------------------------------------- */

/* There are too many blocks: each two become one, and blocks are twice as long from now on. */
static void diff_halve_blocks(struct diff *d)
{
	struct diff_row *row;

	for (row = d->rows; row; row = row->hh.next) {
		for (unsigned i = 0; i < DIFF_BLOCKS / 2; i++) {
			struct diff_sums pair = row->blocks[2 * i];

			row->blocks[2 * i] = (struct diff_sums){ 0 };
			diff_sums_merge(d, &pair, &row->blocks[2 * i + 1]);
			diff_sums_free(d, &row->blocks[2 * i + 1]);
			row->blocks[i] = pair;
		}
	}
	d->block_ns *= 2;
}

/* The block of a time. Times before the first one, of other threads, belong to the first block. */
static unsigned diff_block_of(struct diff *d, uint64_t ts_ns)
{
	if (!d->first_ns)
		d->first_ns = ts_ns;
	if (ts_ns > d->last_ns)
		d->last_ns = ts_ns;
	if (!d->in_blocks || ts_ns < d->first_ns)
		return 0;
	while ((ts_ns - d->first_ns) / d->block_ns >= DIFF_BLOCKS)
		diff_halve_blocks(d);
	return (unsigned)((ts_ns - d->first_ns) / d->block_ns);
}

/* --- facts ------------------------------------------------------------------------------------- */

static struct diff_thread *diff_thread_get(struct diff *d, uint64_t uuid)
{
	struct diff_thread **recent = &d->recent_threads[uuid & (DIFF_RECENT_THREADS - 1)];
	struct diff_thread *thread = *recent;

	if (thread && thread->uuid == uuid)
		return thread;
	HASH_FIND(hh, d->threads, &uuid, sizeof(uuid), thread);
	if (!thread)
		thread = hash_add_new(hh, d->threads, uuid, uuid);
	*recent = thread;
	return thread;
}

static void diff_thread_free(struct diff *d, struct diff_thread *thread)
{
	HASH_DEL(d->threads, thread);
	d->recent_threads[thread->uuid & (DIFF_RECENT_THREADS - 1)] = NULL;
	free(thread->frames);
	free(thread);
}

void diff_threads_forget(struct diff *d)
{
	hash_each (d->threads, thread)
		diff_thread_free(d, thread);
}

static void diff_thread_exit(struct diff *d, const struct thread *thread)
{
	struct diff_thread *own = NULL;

	if (thread)
		HASH_FIND(hh, d->threads, &thread->uuid, sizeof(thread->uuid), own);
	if (own)
		diff_thread_free(d, own);
}

static void add_edge(struct diff *d, struct diff_row *parent, struct diff_row *child,
		     uint64_t duration)
{
	const struct diff_edge_key key = { parent, child };
	struct diff_edge *edge;

	HASH_FIND(hh, d->edges, &key, sizeof(key), edge);
	if (!edge && HASH_CNT(hh, d->edges) == DIFF_MAX_EDGES)
		return;
	if (!edge)
		edge = hash_add_new(hh, d->edges, key, key);
	if (!edge)
		return;
	edge->total[d->is_b] += duration;
	edge->count[d->is_b]++;
}

static void add_duration(struct diff *d, struct diff_sums *sums, uint64_t duration)
{
	sums->count++;
	sums->total += duration;
	fine_add(d, &sums->histogram, fine_bucket(duration), 1);
}

static int diff_counter_index(struct diff *d, const struct name *name)
{
	unsigned i;

	for (i = 0; i < d->n_counters; i++) {
		if (d->counters[i] == name)
			return (int)i;
	}
	if (i == DIFF_COUNTERS)
		return -1;
	d->counters[d->n_counters++] = name;
	return (int)i;
}

static void add_slice_counters(struct diff *d, struct diff_sums *sums, const struct fact *fact)
{
	int k;

	for (unsigned i = 0; i < fact->n_counters; i++) {
		k = diff_counter_index(d, fact->counter_tracks[i]->name);
		if (k < 0 || fact->counter_deltas[i] == EVENT_NO_VALUE)
			continue;
		sums->counted[k] += fact->counter_deltas[i];
		sums->with_counter[k]++;
	}
}

static void add_to_flame(struct diff *d, const struct diff_thread *thread, uint64_t self_ns)
{
	unsigned i, n = thread->n_frames < 64 ? thread->n_frames : 64;

	for (i = 0; i < n; i++)
		d->stack[i] = (struct flame_frame){ thread->frames[i].name, FLAME_NATIVE };
	flame_add_side(d->flame, d->stack, n, self_ns, d->is_b);
}

static void diff_begin_slice(struct diff *d, const struct fact *fact)
{
	struct diff_thread *thread = diff_thread_get(d, fact->thread->uuid);

	if (!thread || !array_reserve(thread->frames, thread->n_frames, thread->capacity, 8)) {
		d->failed = true;
		return;
	}
	thread->frames[thread->n_frames++] = (struct diff_frame){
		.row = diff_row_get(d, DIFF_SLICE, fact->category, fact->name),
		.name = fact->name,
	};
}

static void diff_end_slice(struct diff *d, const struct fact *fact)
{
	struct diff_thread *thread = diff_thread_get(d, fact->thread->uuid);
	uint64_t duration = fact->ts_ns - fact->begin_ns;
	struct diff_row *row, *parent;
	struct diff_sums *sums;

	if (!thread || !thread->n_frames)
		return;
	if (d->flame && fact->end_reason == END_NORMAL)
		add_to_flame(d, thread, fact->self_ns);
	row = thread->frames[--thread->n_frames].row;
	if (!row || fact->end_reason != END_NORMAL)
		return;
	sums = &row->blocks[diff_block_of(d, fact->ts_ns)];
	add_duration(d, sums, duration);
	sums->self += fact->self_ns;
	if (fact->states && !fact->states->unknown) {
		sums->running += fact->states->running;
		sums->runnable += fact->states->runnable;
		sums->blocked += fact->states->blocked;
		sums->states++;
	}
	if (fact->n_counters && fact->counter_deltas)
		add_slice_counters(d, sums, fact);
	parent = thread->n_frames ? thread->frames[thread->n_frames - 1].row : NULL;
	if (parent)
		add_edge(d, parent, row, duration);
}

static void diff_end_async(struct diff *d, const struct fact *fact)
{
	struct diff_row *row = diff_row_get(d, fact->is_frame ? DIFF_FRAME : DIFF_ASYNC,
					    fact->category, fact->name);

	if (row && fact->end_reason == END_NORMAL)
		add_duration(d, &row->blocks[diff_block_of(d, fact->ts_ns)],
			     fact->ts_ns - fact->begin_ns);
}

/* The series of a counter have a name of two parts, which some formats and saved tables write as one. */
static const struct name *diff_counter_name(struct diff *d, const struct track *track)
{
	char text[LIMIT_NAME + LIMIT_KEY + 2];

	if (!track->key || !track->name)
		return track->name;
	if (d->series_name != track->name || d->series_key != track->key) {
		snprintf(text, sizeof(text), "%s %s", track->name->text, track->key->text);
		d->series_name = track->name;
		d->series_key = track->key;
		d->series = names_intern_string(d->names, text);
	}
	return d->series;
}

static void diff_sample_counter(struct diff *d, const struct fact *fact)
{
	if (fact->continued || (fact->n_args && fact->tracks[0]->is_counted))
		return;
	for (unsigned i = 0; i < fact->n_args; i++) {
		struct diff_row *row = diff_row_get(d, DIFF_COUNTER, fact->category,
						    diff_counter_name(d, fact->tracks[i]));
		double value = (double)stats_number(&fact->args[i]);
		struct diff_sums *sums;

		if (!row || !isfinite(value))
			continue;
		sums = &row->blocks[diff_block_of(d, fact->ts_ns)];
		sums->count++;
		sums->value += value;
	}
}

/* The program of a run is that of the first process with a mark: shells that start it have none. */
static void diff_name_program(struct diff_run *run, const struct process *process, bool has_mark)
{
	if (!process || (run->has_program ? run->process_pid != process->pid : !has_mark))
		return;
	run->has_program = true;
	run->process_pid = process->pid;
	/* It gets another name when it executes a program. */
	if (process->name)
		snprintf(run->process, sizeof(run->process), "%.60s", process->name->text);
}

static int diff_fact(struct consumer *consumer, const struct fact *fact)
{
	struct diff *d = (struct diff *)consumer;
	struct diff_run *run = &d->runs[d->n_runs];
	struct diff_row *row;

	if (fact_is_change_of_mode(fact))
		return 0;
	if (!run->has_program && (fact->kind == FACT_BEGIN || fact->kind == FACT_ASYNC_END ||
				  fact->kind == FACT_INSTANT))
		diff_name_program(run, fact->process, true);
	switch (fact->kind) {
	case FACT_BEGIN:
		diff_begin_slice(d, fact);
		break;
	case FACT_END:
		diff_end_slice(d, fact);
		break;
	case FACT_ASYNC_END:
		diff_end_async(d, fact);
		break;
	case FACT_INSTANT:
		row = diff_row_get(d, DIFF_INSTANT, fact->category, fact->name);
		if (row)
			row->blocks[diff_block_of(d, fact->ts_ns)].count++;
		break;
	case FACT_COUNTER:
		diff_sample_counter(d, fact);
		break;
	case FACT_PROCESS:
		diff_name_program(run, fact->process, false);
		break;
	case FACT_SAMPLE:
		return d->samples[d->is_b]->ops->fact(d->samples[d->is_b], fact);
	case FACT_EXIT:
		diff_thread_exit(d, fact->thread);
		break;
	default:
		break;
	}
	return d->failed ? -ENOMEM : 0;
}

static int diff_flush(struct consumer *consumer)
{
	(void)consumer;
	return 0;
}

static int diff_close(struct consumer *consumer, const struct account *account)
{
	(void)consumer, (void)account;
	return 0;
}

/* The consumer is a part of the comparison, which diff_free() frees. */
static void diff_release(struct consumer *consumer)
{
	(void)consumer;
}

const struct consumer_ops diff_ops = {
	.fact = diff_fact,
	.flush = diff_flush,
	.close = diff_close,
	.free = diff_release,
};
