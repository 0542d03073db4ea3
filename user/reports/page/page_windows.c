/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses what the second reading keeps in full detail: what is around the slowest instances and the median one of the
 * names that were asked for or, if there are none, of those that take the most time.
 */
#include <errno.h>
#include <stdlib.h>

#include "reports/page/page_internal.h"
#include "reports/slowest/slowest_internal.h"

enum {
	CHOSEN_NAMES = 4, /* if no one asks for any */
};

static void window_add(struct page *page, const struct page_kind *kind,
		       const struct page_instance *i, bool is_median)
{
	struct page_detail *d = &page->detail;
	uint64_t around = i->duration_ns / 4 + 2000;

	if (d->n_windows == PAGE_WINDOWS)
		return;
	d->windows[d->n_windows++] = (struct page_window){
		.trace = i->trace,
		.begin_ns = i->begin_ns > around ? i->begin_ns - around : 0,
		.end_ns = i->begin_ns + i->duration_ns + around,
	};
	if (page->n_shown < PAGE_WINDOWS)
		page->shown[page->n_shown++] =
			(struct page_shown){ .kind = page_use_kind(page, (struct page_kind *)kind),
					     .instance = *i,
					     .is_median = is_median };
}

static int compare_instances(const void *left, const void *right)
{
	const struct page_instance *a = left, *b = right;

	if (a->duration_ns != b->duration_ns)
		return a->duration_ns < b->duration_ns ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static struct slow_identity identity_of(const struct page *page, const struct page_kind *kind,
					const struct page_instance *i)
{
	return (struct slow_identity){
		.duration_ns = i->duration_ns,
		.begin_ns =
			i->begin_ns + (i->trace < page->n_traces ? page->first_of[i->trace] : 0),
		.track = page->row_list[i->row]->uuid,
		.name = kind->key.name,
		.category = kind->key.category,
	};
}

/* Compares them, too. */
static int compare_kind(struct page *page, const struct page_kind *kind)
{
	const struct slowest_options options = { .name = kind->key.name->text,
						 .n = kind->n_longest };
	struct slow_identity identities[PAGE_LONGEST + 1];

	if (page->row_list[kind->longest[0].row]->is_lane)
		return 0; /* only slices of threads are compared */
	page->slowest[page->n_slowest] = slowest_new(&options);
	if (!page->slowest[page->n_slowest])
		return -ENOMEM;
	identities[0] = identity_of(page, kind, &kind->seen[(kind->n_seen - 1) / 2]);
	for (unsigned i = 0; i < kind->n_longest; i++)
		identities[i + 1] = identity_of(page, kind, &kind->longest[i]);
	return slowest_choose(page->slowest[page->n_slowest++], identities, kind->n_longest + 1,
			      kind->count);
}

static void windows_of_kind(struct page *page, struct page_kind *kind)
{
	qsort(kind->seen, kind->n_seen, sizeof(*kind->seen), compare_instances);
	if (kind->n_seen)
		window_add(page, kind, &kind->seen[(kind->n_seen - 1) / 2], true);
	for (unsigned i = 0; i < kind->n_longest; i++)
		window_add(page, kind, &kind->longest[i], false);
}

/* Those of which there are several: a slice that lasts from the beginning to the end shows nothing. */
static struct page_kind *next_largest(struct page *page, const struct page_kind *after)
{
	struct page_kind *best = NULL;

	for (uint32_t i = 0; i < page->n_kinds; i++) {
		struct page_kind *kind = page->kind_list[i];

		if (kind->count < 2 || kind == after || !kind->n_seen || !kind->key.name)
			continue;
		if (after && (kind->total_ns > after->total_ns ||
			      (kind->total_ns == after->total_ns && kind->index < after->index)))
			continue;
		if (!best || kind->total_ns > best->total_ns)
			best = kind;
	}
	return best;
}

static int compare_windows(const void *left, const void *right)
{
	const struct page_window *a = left, *b = right;

	if (a->trace != b->trace)
		return a->trace < b->trace ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static void join_windows(struct page_detail *d)
{
	unsigned i, n = 0;

	qsort(d->windows, d->n_windows, sizeof(*d->windows), compare_windows);
	for (i = 1; i < d->n_windows; i++) {
		struct page_window *last = &d->windows[n], *w = &d->windows[i];

		if (w->trace != last->trace || w->begin_ns > last->end_ns)
			d->windows[++n] = *w;
		else if (w->end_ns > last->end_ns)
			last->end_ns = w->end_ns;
	}
	d->n_windows = d->n_windows ? n + 1 : 0;
}

/* The instances that --slowest compares. */
static void windows_of_slowest(struct page *page, const struct slowest *slowest)
{
	for (unsigned i = 0; i < slowest->n_instances; i++) {
		const struct slow_identity *identity = &slowest->instances[i].identity;
		struct page_kind *kind = page_kind_of(page, identity->category, identity->name);
		struct page_row *row;
		struct page_instance instance;

		HASH_FIND(hh, page->rows, &identity->track, sizeof(identity->track), row);
		if (!row || !kind || row->trace >= page->n_traces)
			continue;
		instance = (struct page_instance){
			.trace = row->trace,
			.row = row->index,
			.begin_ns = identity->begin_ns - page->first_of[row->trace],
			.duration_ns = identity->duration_ns,
		};
		window_add(page, kind, &instance, i == 0);
	}
}

int page_choose_windows(struct page *page)
{
	struct page_kind *kind = NULL;
	int error = 0;

	page->detail.n_windows = 0;
	for (unsigned i = 0; i < page->options.n_slowest; i++)
		windows_of_slowest(page, (const struct slowest *)page->slowest[i]);
	for (unsigned i = 0; i < CHOSEN_NAMES && !page->options.n_slowest && !error; i++) {
		kind = next_largest(page, kind);
		if (!kind)
			break;
		windows_of_kind(page, kind);
		error = compare_kind(page, kind);
	}
	join_windows(&page->detail);
	return error;
}
