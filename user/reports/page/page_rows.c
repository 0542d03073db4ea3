/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads, lanes, processes, counters and names. What the facts point to is borrowed, so it is copied here once. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "reports/page/page_internal.h"

struct page_process *page_process_of(struct page *page, const struct process *process)
{
	struct page_process *p;

	if (!process)
		return NULL;
	HASH_FIND(hh, page->processes, &process->uuid, sizeof(process->uuid), p);
	if (!p && HASH_COUNT(page->processes) < 2 * PAGE_ROWS)
		p = hash_add_new(hh, page->processes, uuid, process->uuid);
	if (!p)
		return NULL;
	p->pid = process->pid;
	p->trace = page->trace;
	p->name = process->name;
	return p;
}

static struct page_row *page_row_find(struct page *page, uint64_t uuid, bool *ret_new)
{
	struct page_row *row;

	*ret_new = false;
	HASH_FIND(hh, page->rows, &uuid, sizeof(uuid), row);
	if (row)
		return row;
	if (page->n_rows == PAGE_ROWS ||
	    !array_reserve(page->row_list, page->n_rows, page->rows_capacity, 16))
		return NULL;
	row = hash_add_new(hh, page->rows, uuid, uuid);
	if (!row)
		return NULL;
	row->index = page->n_rows;
	row->trace = page->trace;
	page->row_list[page->n_rows++] = row;
	*ret_new = true;
	return row;
}

struct page_row *page_thread_row(struct page *page, const struct thread *thread)
{
	struct page_row *row = page->recent_row;
	bool is_new;

	if (row && row->uuid == thread->uuid)
		return row;
	row = page_row_find(page, thread->uuid, &is_new);
	if (!row) {
		page->rows_left_out++;
		return NULL;
	}
	if (is_new) {
		row->tid = thread->tid;
		row->name = thread->name;
		row->process = page_process_of(page, thread->process);
	}
	page->recent_row = row;
	return row;
}

/* A thread may be renamed. One without marks has no row. */
void page_name_thread(struct page *page, const struct thread *thread)
{
	struct page_row *row;

	HASH_FIND(hh, page->rows, &thread->uuid, sizeof(thread->uuid), row);
	if (row)
		row->name = thread->name;
}

struct page_row *page_lane_row(struct page *page, const struct track *track)
{
	bool is_new;
	struct page_row *row = page_row_find(page, track->uuid, &is_new);

	if (!row) {
		page->rows_left_out++;
		return NULL;
	}
	if (is_new) {
		row->is_lane = true;
		row->lane = track->lane;
		row->name = track->name;
		row->process = page_process_of(page, track->process);
	}
	return row;
}

struct page_row *page_process_row(struct page *page, const struct process *process)
{
	bool is_new;
	struct page_row *row = page_row_find(page, process ? process->uuid : 0, &is_new);

	if (row && is_new) {
		row->is_lane = true;
		row->process = page_process_of(page, process);
	}
	return row;
}

struct page_counter *page_counter_of(struct page *page, const struct track *track)
{
	struct page_counter *c = page->recent_counter;

	if (c && c->uuid == track->uuid)
		return c;
	HASH_FIND(hh, page->counters, &track->uuid, sizeof(track->uuid), c);
	if (!c && page->n_counters < PAGE_COUNTERS &&
	    (!track->is_counted || page->n_rates < PAGE_RATES))
		c = hash_add_new(hh, page->counters, uuid, track->uuid);
	if (!c) {
		page->counters_left_out++;
		return NULL;
	}
	if (!c->name) {
		c->index = page->n_counters++;
		c->name = track->name;
		c->key = track->key;
		c->unit = track->unit;
		c->is_rate = track->is_counted;
		page->n_rates += c->is_rate;
		c->tid = track->thread ? track->thread->tid : 0;
		c->process = page_process_of(page, track->process);
	}
	page->recent_counter = c;
	return c;
}

/* --- names --------------------------------------------------------------------------------------- */

static struct page_kind *page_kind_find(struct page *page, const struct name *category,
					const struct name *name)
{
	struct page_kind_key key;
	struct page_kind *kind;

	memset(&key, 0, sizeof(key));
	key.category = category;
	key.name = name;
	HASH_FIND(hh, page->kinds, &key, sizeof(key), kind);
	if (kind)
		return kind;
	if (page->n_kinds == PAGE_KINDS ||
	    !array_reserve(page->kind_list, page->n_kinds, page->kinds_capacity, 64))
		return page->n_kinds ? page->kind_list[0] : NULL;
	kind = hash_add_new(hh, page->kinds, key, key);
	if (!kind)
		return NULL;
	kind->index = page->n_kinds;
	page->kind_list[page->n_kinds++] = kind;
	return kind;
}

struct page_kind *page_kind_of(struct page *page, const struct name *category,
			       const struct name *name)
{
	struct page_kind **recent =
		&page->recent_kinds[((name ? name->id : 0) ^ (category ? category->id << 5 : 0)) &
				    1023];

	if (!*recent || (*recent)->key.name != name || (*recent)->key.category != category) {
		struct page_kind *kind = page_kind_find(page, category, name);

		if (!kind)
			return NULL;
		*recent = kind;
	}
	return *recent;
}

void page_kind_instance(struct page *page, struct page_kind *kind,
			const struct page_instance *instance)
{
	unsigned i = kind->n_longest;
	uint64_t at;

	kind->count++;
	kind->total_ns += instance->duration_ns;
	if (i < PAGE_LONGEST ||
	    instance->duration_ns > kind->longest[PAGE_LONGEST - 1].duration_ns) {
		if (i == PAGE_LONGEST)
			i--;
		else
			kind->n_longest++;
		for (; i && kind->longest[i - 1].duration_ns < instance->duration_ns; i--)
			kind->longest[i] = kind->longest[i - 1];
		kind->longest[i] = *instance;
	}
	if (kind->n_seen < PAGE_SEEN) {
		if (array_reserve(kind->seen, kind->n_seen, kind->seen_capacity, 4))
			kind->seen[kind->n_seen++] = *instance;
		return;
	}
	at = number_next_random(&page->random) % kind->count;
	if (at < PAGE_SEEN)
		kind->seen[at] = *instance;
}

/* As JSON in the page, where a '<' takes six bytes. */
static size_t used_text_size(const struct name *name)
{
	size_t size = 8;
	const char *at;

	for (at = name ? name->text : ""; *at; at++)
		size += *at == '<' ? 6 : *at == '"' || *at == '\\' ? 2 : 1;
	return size;
}

uint32_t page_use_kind(struct page *page, struct page_kind *kind)
{
	size_t size;

	if (kind->used)
		return kind->used - 1;
	size = used_text_size(kind->key.category) + used_text_size(kind->key.name);
	if (page->used_bytes + size > PAGE_NAME_BYTES && kind->index) {
		page->names_left_out++;
		return page_use_kind(page, page->kind_list[0]);
	}
	if (!array_reserve(page->used, page->n_used, page->used_capacity, 64))
		return 0;
	page->used[page->n_used++] = kind->index;
	page->used_bytes += size;
	kind->used = page->n_used;
	return kind->used - 1;
}

uint32_t page_use_name(struct page *page, const struct name *category, const struct name *name)
{
	struct page_kind *kind = page_kind_of(page, category, name);

	return kind ? page_use_kind(page, kind) : 0;
}

void page_forget_used(struct page *page)
{
	for (uint32_t i = 0; i < page->n_used; i++)
		page->kind_list[page->used[i]]->used = 0;
	page->n_used = 0;
	page->used_bytes = 0;
	page->names_left_out = 0;
}

/* --- the end ------------------------------------------------------------------------------------- */

static void page_row_clear(struct page_row *row)
{
	for (unsigned i = 0; i < PAGE_LEVELS; i++) {
		page_grid_free(&row->levels[i]);
		if (row->open[i])
			free(row->open[i]->text);
		free(row->open[i]);
	}
	page_grid_free(&row->instants);
	page_grid_free(&row->states);
}

void page_rows_free(struct page *page)
{
	hash_clear(hh, page->rows, row, page_row_clear(row));
	hash_clear(hh, page->counters, counter, page_grid_free(&counter->values));
	hash_clear(hh, page->kinds, kind, free(kind->seen));
	hash_clear(hh, page->processes, process);
	free(page->row_list);
	free(page->kind_list);
	free(page->used);
	free(page->first_of);
}
