/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making entries for reports from rows of the tables: with names, and minus what was there at the
 * last reset. The kernel goes on adding meanwhile, so the newest mark may be missing from an entry.
 */
#include "capture/tables/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proftrace.skel.h"

/* A long double holds 64-bit integers and doubles without loss. */
static long double arg_to_long_double(const struct arg *value)
{
	return value->type == ARG_INT	   ? (long double)value->i
	       : value->type == ARG_DOUBLE ? (long double)value->d
					   : (long double)value->u;
}

static void widen_range(struct table_entry *e, const struct arg *min, const struct arg *max)
{
	if (!e->min.type || arg_to_long_double(min) < arg_to_long_double(&e->min))
		e->min = *min;
	if (!e->max.type || arg_to_long_double(max) > arg_to_long_double(&e->max))
		e->max = *max;
}

static uint64_t add_ns_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void table_entry_add(struct table_entry *to, const struct table_entry *from)
{
	if (from->count && (!to->count || from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->count += from->count;
	to->total_ns = add_ns_saturated(to->total_ns, from->total_ns);
	to->self_ns = add_ns_saturated(to->self_ns, from->self_ns);
	to->sum_ns = add_ns_saturated(to->sum_ns, from->sum_ns);
	histogram_merge(&to->histogram, &from->histogram);
	to->numbers += from->numbers;
	to->sum += from->sum;
	if (from->min.type)
		widen_range(to, &from->min, &from->max);
	if (from->last_ns >= to->last_ns) {
		to->last_ns = from->last_ns;
		to->last = from->last;
	}
}

/* The marker of a row: its name, its keys and its categories. */
static const struct marker *table_row_marker(struct capture *c, const struct table_row *row)
{
	bool dynamic = row->what & TABLE_DYNAMIC;
	const struct record head = {
		.site = row->site,
		.name = dynamic ? NAME_NONE : (int32_t)row->id,
		/* the number of keys that are needed */
		.types = row->keys ? (row->what & TABLE_SERIES) + 1 : 0,
	};

	return marker_of(c, &head, row->keys, dynamic ? NAME_NONE : row->categories);
}

const struct name *table_row_name(struct capture *c, const struct table_row *row,
				  const struct table_page *page)
{
	const struct name *name;
	size_t length = row->length <= MAX_NAME ? row->length : MAX_NAME;

	if (row->site >= c->n_sites)
		return NULL;
	if (c->sites[row->site].kind == RECORD_STEP)
		return names_intern_string(c->options.names, "step");
	if (row->what & TABLE_DYNAMIC)
		return names_intern(c->options.names, page->name,
				    row->what & TABLE_CUT
					    ? whole_characters_length(page->name, length)
					    : length,
				    MAX_NAME);
	name = table_row_marker(c, row)->name;
	return name ? name : names_intern_string(c->options.names, "(unreadable)");
}

static const struct name *table_row_series(struct capture *c, const struct table_row *row)
{
	unsigned which = row->what & TABLE_SERIES;

	if (c->sites[row->site].kind == RECORD_STEP)
		return names_intern_string(c->options.names, which ? "batch" : "epoch");
	return row->keys && which < MAX_ARGS ? table_row_marker(c, row)->keys[which] : NULL;
}

static const struct name *table_row_category(struct capture *c, const struct table_row *row,
					     const struct table_page *page)
{
	if (!(row->what & TABLE_DYNAMIC))
		return table_row_marker(c, row)->category;
	return join_categories(c, c->sites[row->site].category, page->more,
			       row->more_length <= MAX_NAME ? row->more_length : MAX_NAME);
}

static enum table_part table_row_part(const struct capture *c, const struct table_row *row)
{
	switch (c->sites[row->site].kind) {
	case RECORD_BEGIN:
		return TABLE_SLICES;
	case RECORD_COUNTER:
	case RECORD_STEP:
		return TABLE_COUNTERS;
	case RECORD_INSTANT:
		return TABLE_INSTANTS;
	}
	return TABLE_CLASS(row->what) == TABLE_FRAME ? TABLE_FRAMES : TABLE_ASYNC_SLICES;
}

/* Whether the row may have ENDs without a BEGIN. */
static bool table_row_is_async(const struct capture *c, const struct table_row *row)
{
	enum table_part part = table_row_part(c, row);

	return part == TABLE_ASYNC_SLICES || part == TABLE_FRAMES;
}

static bool make_table_key(struct capture *c, const struct table_thread *t,
			   const struct table_row *row, const struct table_page *page,
			   struct table_key *key)
{
	memset(key, 0, sizeof(*key));
	if (row->site >= c->n_sites)
		return false;
	key->part = table_row_part(c, row);
	key->category = table_row_category(c, row, page);
	if (key->part == TABLE_COUNTERS)
		key->series = table_row_series(c, row);
	key->name = table_row_name(c, row, page);
	key->pid = c->options.owner_of ? c->options.owner_of(c->options.context, t->tgid) : t->tgid;
	key->tid = c->options.owner_of ? 0 : t->tid;
	return true;
}

static void read_row_times(struct capture *c, const struct table_row *row,
			   const struct table_page *page, const struct table_before *before,
			   struct table_entry *e)
{
	const struct table_times *now = &row->times;

	e->total_ns = now->total;
	e->self_ns = now->self;
	e->sum_ns = now->sum;
	if (before) {
		e->total_ns -= before->row.times.total;
		e->self_ns -= before->row.times.self;
		e->sum_ns -= before->row.times.sum;
	}
	if (row->resets == c->shared->table_resets) {
		e->min_ns = now->min;
		e->max_ns = now->max;
	}
	for (unsigned i = 0; i < TABLE_BUCKETS; i++) {
		uint32_t n = page->buckets[i] - (before ? before->page.buckets[i] : 0);

		if (n)
			histogram_add(&e->histogram, i, n);
	}
}

static long double sum_of_doubles(const struct table_page *page, const struct table_before *before)
{
	long double sum = 0;

	/*
	 * From the greatest to the smallest, since each digit is small compared with the one before
	 * it, or corrects it.
	 */
	for (int i = TABLE_DIGITS - 1; i >= 0; i--) {
		int64_t digit = page->digits[i] - (before ? before->page.digits[i] : 0);

		if (digit)
			sum += ldexpl((long double)digit, 32 * i - TABLE_ONE);
	}
	return sum;
}

/* A number of 128 bits with the sign of the high half. */
static long double sum_of_integers(const struct table_numbers *n, const struct table_before *before)
{
	unsigned __int128 sum = (unsigned __int128)n->sum_high << 64 | n->sum_low;

	if (before)
		sum -= (unsigned __int128)before->row.numbers.sum_high << 64 |
		       before->row.numbers.sum_low;
	return (long double)(__int128)sum;
}

static struct arg make_number_arg(unsigned type, uint64_t bits)
{
	struct arg arg = { .type = type == VALUE_INT	  ? ARG_INT
				   : type == VALUE_DOUBLE ? ARG_DOUBLE
							  : ARG_UINT };

	arg.u = bits;
	return arg;
}

static void read_row_numbers(struct capture *c, const struct table_row *row,
			     const struct table_page *page, const struct table_before *before,
			     struct table_entry *e)
{
	const struct table_numbers *n = &row->numbers;

	e->numbers = e->count - (n->nans - (before ? before->row.numbers.nans : 0));
	e->last = make_number_arg(n->last_type, n->last);
	e->last_ns = n->last_ts;
	e->sum = sum_of_doubles(page, before) + sum_of_integers(n, before);
	if (row->resets != c->shared->table_resets)
		return;
	if (n->seen & 1 << VALUE_INT) {
		struct arg min = make_number_arg(VALUE_INT, n->int_min);
		struct arg max = make_number_arg(VALUE_INT, n->int_max);

		widen_range(e, &min, &max);
	}
	if (n->seen & 1 << VALUE_UINT) {
		struct arg min = make_number_arg(VALUE_UINT, n->uint_min);
		struct arg max = make_number_arg(VALUE_UINT, n->uint_max);

		widen_range(e, &min, &max);
	}
	if (n->seen & 1 << VALUE_DOUBLE) {
		struct arg min = make_number_arg(VALUE_DOUBLE, double_of_order(n->double_min));
		struct arg max = make_number_arg(VALUE_DOUBLE, double_of_order(n->double_max));

		widen_range(e, &min, &max);
	}
	if (n->infinities & 1)
		e->sum += (long double)INFINITY;
	if (n->infinities & 2)
		e->sum -= (long double)INFINITY;
}

static uint64_t row_unmatched(const struct table_row *row, const struct table_before *before)
{
	return row->times.unmatched - (before ? before->row.times.unmatched : 0);
}

typedef void each_entry(void *context, const struct table_entry *entry);

/* Emits what is in a row: no entry, one, or two. */
static void emit_table_entries(struct capture *c, const struct table_row *row,
			       const struct table_page *page, const struct table_before *before,
			       struct table_entry *e, each_entry *each, void *context)
{
	bool asyncs = e->key.part == TABLE_ASYNC_SLICES || e->key.part == TABLE_FRAMES;
	uint64_t unmatched = asyncs ? row_unmatched(row, before) : 0;

	e->count = row->count - (before ? before->row.count : 0);
	if (e->count && (asyncs || e->key.part == TABLE_SLICES))
		read_row_times(c, row, page, before, e);
	else if (e->count && e->key.part == TABLE_COUNTERS)
		read_row_numbers(c, row, page, before, e);
	if (e->count)
		each(context, e);
	histogram_free(&e->histogram);
	/* An END without a BEGIN becomes an instant, as in a trace. */
	if (unmatched) {
		struct table_entry instant = { .key = e->key, .count = unmatched };

		instant.key.part = TABLE_INSTANTS;
		each(context, &instant);
	}
}

bool table_row_is_used(const struct table_row *row)
{
	return __atomic_load_n(&row->owner, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&row->target, __ATOMIC_ACQUIRE);
}

static const struct name *table_thread_name(struct capture *c, const struct table_thread *t)
{
	if (t->name_length && t->name_length <= MAX_NAME)
		return names_intern(c->options.names, t->name, t->name_length, MAX_NAME);
	return names_intern(c->options.names, t->comm, strnlen(t->comm, COMM_SIZE), MAX_NAME);
}

static void emit_row(struct capture *c, const struct table_thread *t, uint32_t index,
		     each_entry *each, void *context)
{
	struct tables *tables = c->tables;
	const struct table_row *row = &tables->rows[index];
	struct table_entry e = { 0 };

	if (!make_table_key(c, t, row, &tables->pages[index], &e.key))
		return;
	/* The kernel aggregates all marks with categories. */
	if (c->options.n_domains &&
	    !selection_includes_category(c, c->sites[row->site].category, e.key.category))
		return;
	e.thread = table_thread_name(c, t);
	emit_table_entries(c, row, &tables->pages[index], tables->before[index], &e, each, context);
}

static void emit_other_rows(struct capture *c, each_entry *each, void *context)
{
	static const enum table_part parts[] = {
		[TABLE_OTHER_SLICES] = TABLE_SLICES,
		[TABLE_OTHER_ASYNCS] = TABLE_ASYNC_SLICES,
		[TABLE_OTHER_INSTANTS] = TABLE_INSTANTS,
		[TABLE_OTHER_COUNTERS] = TABLE_COUNTERS,
	};
	struct tables *tables = c->tables;

	for (uint32_t i = TABLE_OTHER_SLICES; i <= TABLE_OTHER_COUNTERS; i++) {
		struct table_entry e = { .key.part = parts[i] };

		emit_table_entries(c, &tables->rows[i], &tables->pages[i], tables->before[i], &e,
				   each, context);
	}
}

void capture_table(struct capture *c, void (*each)(void *context, const struct table_entry *entry),
		   void *context)
{
	struct tables *tables = c->tables;
	struct table_entry *entry;

	for (uint32_t i = TABLE_FIRST_ROW; i < tables->n_rows; i++) {
		const struct table_row *row = &tables->rows[i];

		if (!table_row_is_used(row) || row->owner > TABLE_THREADS)
			continue;
		emit_row(c, &tables->threads[row->owner - 1], i, each, context);
	}
	for (entry = tables->kept; entry; entry = entry->hh.next)
		each(context, entry);
	emit_other_rows(c, each, context);
}

static void keep_table_entry(void *context, const struct table_entry *from)
{
	struct capture *c = context;
	struct tables *tables = c->tables;
	struct table_key key = from->key;
	struct table_entry *to;

	if (!c->options.per_thread && !c->options.owner_of)
		key.pid = key.tid = 0;
	HASH_FIND(hh, tables->kept, &key, sizeof(key), to);
	if (!to && HASH_COUNT(tables->kept) >= MAX_KEPT) {
		/*
		 * Processes and threads are merged then, and if there are too many names, those as
		 * well.
		 */
		key.pid = key.tid = 0;
		HASH_FIND(hh, tables->kept, &key, sizeof(key), to);
		if (!to && HASH_COUNT(tables->kept) >= 2 * MAX_KEPT) {
			key.category = key.name = key.series = NULL;
			tables->nameless += from->count;
			HASH_FIND(hh, tables->kept, &key, sizeof(key), to);
		}
	}
	if (!to) {
		to = hash_add_new(hh, tables->kept, key, key);
		if (!to)
			return;
		if (key.tid)
			to->thread = from->thread;
	}
	table_entry_add(to, from);
}

void table_row_keep(struct capture *c, const struct table_thread *t, uint32_t index)
{
	const struct table_row *row = &c->tables->rows[index];

	/* Two names that share a row appear as one of them. */
	emit_row(c, t, index, keep_table_entry, c);
	if (row->site < c->n_sites && table_row_is_async(c, row))
		c->tables->unmatched += row->times.unmatched;
}

/* Unmatched ENDs are not part of `count`. */
static bool row_has_counts(const struct table_row *row)
{
	return row->count || row->times.unmatched;
}

void capture_table_reset(struct capture *c)
{
	struct tables *tables = c->tables;

	capture_table_tick(c);
	/* The kernel starts min and max again with the next mark of each row. */
	__atomic_add_fetch(&c->shared->table_resets, 1, __ATOMIC_ACQ_REL);
	hash_clear(hh, tables->kept, entry, histogram_free(&entry->histogram));
	for (uint32_t i = 0; i < tables->n_rows; i++) {
		struct table_before *before = tables->before[i];

		/* A row that was saved before is saved again, whatever it contains now. */
		if (i >= TABLE_FIRST_ROW ? !table_row_is_used(&tables->rows[i])
					 : !before && !row_has_counts(&tables->rows[i]))
			continue;
		if (!before)
			before = tables->before[i] = malloc(sizeof(*before));
		if (!before)
			continue;
		before->row = tables->rows[i];
		before->page = tables->pages[i];
	}
}

static void count_open_at_end(void *context, const struct thread *thread, const struct name *name,
			      uint64_t begin_ns)
{
	(void)thread, (void)name, (void)begin_ns;
	++*(uint64_t *)context;
}

/* Exact once the recording has stopped. */
void tables_account(struct capture *c, struct account *a)
{
	struct tables *tables = c->tables;
	struct tables_sums sums;

	tables_sums(c, &sums);
	a->marked += sums.marked;
	a->written += sums.marks;
	a->unfinished += sums.unfinished;
	a->lost[LOST_LIMIT] += sums.limit;
	a->lost[LOST_MALFORMED] += sums.malformed;
	for (uint32_t i = TABLE_OTHER_SLICES; i < TABLE_FIRST_ROW; i++)
		a->other_names += tables->rows[i].count;
	a->other_names += tables->nameless;
	if (!c->stopped)
		return;
	a->async_unmatched += tables->unmatched + tables->rows[TABLE_OTHER_ASYNCS].times.unmatched;
	for (uint32_t i = TABLE_FIRST_ROW; i < tables->n_rows; i++) {
		const struct table_row *row = &tables->rows[i];

		if (!table_row_is_used(row) || row->site >= c->n_sites)
			continue;
		if (table_row_is_async(c, row))
			a->async_unmatched += row->times.unmatched;
	}
	capture_table_open(c, count_open_at_end, &a->open_at_end);
}
