/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads' slots in the tables. A thread allocates a slot at its first mark, from a ring that
 * is filled here. When it has exited, its rows are added up here, and its slot and rows are freed.
 * So the tables suffice for any number of threads one after the other.
 */
#include "capture/tables/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proftrace.skel.h"

static int map_table(struct tables *tables, const struct broker_loaded *loaded,
		     enum broker_table which, size_t size, void **ret)
{
	size_t page = sysconf(_SC_PAGESIZE);

	size = (size + page - 1) & ~(page - 1);
	*ret = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, loaded->tables[which], 0);
	if (*ret == MAP_FAILED) {
		*ret = NULL;
		return -errno;
	}
	tables->sizes[which] = size;
	return 0;
}

int tables_open(struct capture *c)
{
	const size_t n_rows = TABLE_FIRST_ROW + c->options.table_rows;
	struct tables *t = calloc(1, sizeof(*t));
	int error;

	if (!t)
		return -ENOMEM;
	c->tables = t;
	t->n_rows = n_rows;
	t->before = calloc(n_rows, sizeof(*t->before));
	if (!t->before)
		return -ENOMEM;
	error = map_table(t, &c->loaded, BROKER_TABLE_THREADS, TABLE_THREADS * sizeof(*t->threads),
			  (void **)&t->threads);
	if (!error)
		error = map_table(t, &c->loaded, BROKER_TABLE_ROWS, n_rows * sizeof(*t->rows),
				  (void **)&t->rows);
	if (!error)
		error = map_table(t, &c->loaded, BROKER_TABLE_PAGES, n_rows * sizeof(*t->pages),
				  (void **)&t->pages);
	if (!error)
		error = map_table(t, &c->loaded, BROKER_TABLE_ASYNCS,
				  TABLE_ASYNCS / TABLE_BUNDLE * sizeof(*t->asyncs),
				  (void **)&t->asyncs);
	if (error)
		return error;
	/* Min and max of the shared rows have not been started yet. */
	c->shared->table_resets = 1;
	for (uint32_t i = 0; i < TABLE_THREADS; i++)
		c->shared->table_free[i] = i;
	__atomic_store_n(&c->shared->table_free_tail, TABLE_THREADS, __ATOMIC_RELEASE);
	return 0;
}

static void unmap_table(void *table, size_t size)
{
	if (table)
		munmap(table, size);
}

void tables_close(struct capture *c)
{
	struct tables *t = c->tables;

	if (!t)
		return;
	for (uint32_t i = 0; t->before && i < t->n_rows; i++)
		free(t->before[i]);
	free(t->before);
	hash_clear(hh, t->kept, entry, histogram_free(&entry->histogram));
	unmap_table(t->threads, t->sizes[BROKER_TABLE_THREADS]);
	unmap_table(t->rows, t->sizes[BROKER_TABLE_ROWS]);
	unmap_table(t->pages, t->sizes[BROKER_TABLE_PAGES]);
	unmap_table(t->asyncs, t->sizes[BROKER_TABLE_ASYNCS]);
	for (uint32_t i = 0; i < BROKER_TABLES; i++)
		close(c->loaded.tables[i]);
	free(t);
	c->tables = NULL;
}

/* Clears the row, and only then marks it as free. */
static void free_table_row(struct tables *t, uint32_t index)
{
	struct table_row *row = &t->rows[index];
	uint32_t owner = row->owner;

	free(t->before[index]);
	t->before[index] = NULL;
	memset(&t->pages[index], 0, sizeof(t->pages[index]));
	memset(row, 0, sizeof(*row));
	row->owner = owner;
	__atomic_store_n(&row->owner, 0, __ATOMIC_RELEASE);
}

static void reclaim_table_thread(struct capture *c, uint32_t place)
{
	struct tables *t = c->tables;
	struct table_thread *thread = &t->threads[place];
	uint32_t tail = c->shared->table_free_tail, chain, i;

	t->marked += thread->marked;
	t->marks += thread->marks;
	t->unfinished += thread->unfinished;
	for (i = 0; i < thread->depth && i < MAX_NESTING; i++)
		t->unfinished += thread->levels[i].row != TABLE_NO_ROW;
	t->limit += thread->limit;
	t->malformed += thread->malformed;
	for (chain = 0; chain < TABLE_CHAINS; chain++) {
		uint32_t index = thread->chains[chain];

		for (i = 0; index && index < t->n_rows && i < t->n_rows; i++) {
			uint32_t next = t->rows[index].next;

			table_row_keep(c, thread, index);
			free_table_row(t, index);
			index = next;
		}
	}
	memset(thread, 0, sizeof(*thread));
	c->shared->table_free[tail % TABLE_THREADS] = place;
	__atomic_store_n(&c->shared->table_free_tail, tail + 1, __ATOMIC_RELEASE);
}

static bool process_has_exited(const struct tables *t, uint32_t pid, uint64_t begin_ns)
{
	for (unsigned i = 0; i < t->n_exited; i++) {
		if (t->exited[i].pid == pid && t->exited[i].ts_ns >= begin_ns)
			return true;
	}
	return false;
}

/* Drops the asynchronous slices of exited processes, which nobody can end any more. */
static void drop_exited_asyncs(struct capture *c)
{
	struct tables *t = c->tables;

	for (uint32_t i = 0; i < TABLE_ASYNCS; i++) {
		struct table_bundle *b = &t->asyncs[i / TABLE_BUNDLE];
		uint32_t at = i % TABLE_BUNDLE;
		__u64 key = __atomic_load_n(&b->keys[at], __ATOMIC_ACQUIRE);

		if (key <= TABLE_ASYNC_BUSY ||
		    !process_has_exited(t, b->asyncs[at].tgid, b->begins[at]) ||
		    !__atomic_compare_exchange_n(&b->keys[at], &key, 0, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		t->unfinished++;
		if (i >= TABLE_NEAR * TABLE_BUNDLE)
			__atomic_fetch_sub(&c->shared->asyncs_spilled[TABLE_NEAR_OF(key)], 1,
					   __ATOMIC_RELAXED);
	}
	t->n_exited = 0;
}

void tables_process_exited(struct capture *c, uint32_t pid, uint64_t ts_ns)
{
	struct tables *t = c->tables;

	if (!t)
		return;
	if (t->n_exited == MAX_EXITED)
		drop_exited_asyncs(c);
	t->exited[t->n_exited++] = (struct exited_process){ pid, ts_ns };
}

void capture_table_tick(struct capture *c)
{
	struct tables *t = c->tables;
	uint32_t head = __atomic_load_n(&c->shared->table_free_head, __ATOMIC_ACQUIRE), i;

	/* The first slots are allocated in order. */
	t->n_threads = head < TABLE_THREADS && head > t->n_threads ? head
		       : head >= TABLE_THREADS			   ? TABLE_THREADS
								   : t->n_threads;
	for (i = 0; i < t->n_threads; i++) {
		if (__atomic_load_n(&t->threads[i].state, __ATOMIC_ACQUIRE) == TABLE_THREAD_OVER)
			reclaim_table_thread(c, i);
	}
	if (t->n_exited)
		drop_exited_asyncs(c);
}

void tables_sums(const struct capture *c, struct tables_sums *sums)
{
	const struct tables *t = c->tables;

	*sums = (struct tables_sums){ t->marked, t->marks, t->unfinished, t->limit, t->malformed };
	for (uint32_t i = 0; i < TABLE_THREADS; i++) {
		const struct table_thread *thread = &t->threads[i];

		sums->marked += thread->marked;
		sums->marks += thread->marks;
		sums->unfinished += thread->unfinished;
		sums->limit += thread->limit;
		sums->malformed += thread->malformed;
	}
}

void capture_table_open(struct capture *c,
			void (*each)(void *context, const struct thread *thread,
				     const struct name *name, uint64_t begin_ns),
			void *context)
{
	struct tables *t = c->tables;

	for (uint32_t i = 0; i < TABLE_THREADS; i++) {
		const struct table_thread *from = &t->threads[i];
		const struct process process = { .pid = from->tgid };
		const struct thread thread = { .tid = from->tid, .process = &process };

		for (uint32_t level = 0; level < from->depth && level < MAX_NESTING; level++) {
			const struct table_level *l = &from->levels[level];

			if (l->row && l->row < t->n_rows)
				each(context, &thread,
				     table_row_name(c, &t->rows[l->row], &t->pages[l->row]),
				     l->begin);
		}
	}
	for (uint32_t i = 0; i < TABLE_ASYNCS; i++) {
		const struct table_bundle *b = &t->asyncs[i / TABLE_BUNDLE];
		const struct table_async *a = &b->asyncs[i % TABLE_BUNDLE];
		const struct table_row row = { .id = (uint32_t)a->name,
					       .site = a->site,
					       .what = a->what };
		const struct process process = { .pid = a->tgid };
		const struct thread none = { .process = &process };

		if (b->keys[i % TABLE_BUNDLE] > TABLE_ASYNC_BUSY)
			each(context, &none,
			     a->what & TABLE_DYNAMIC ? NULL : table_row_name(c, &row, NULL),
			     b->begins[i % TABLE_BUNDLE]);
	}
}
