/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory pools: every PROF_ALLOC and PROF_FREE becomes a sample of the bytes that are live in the
 * pool. Live allocations are kept by address, so that a free knows its size and its pool. Within a
 * scope (scopes.c) a pool is another one than outside, and has the name "scope:pool".
 */
#include "timeline/state.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

int pools_init(struct timeline *t)
{
	t->allocation_anchor.key.process = UINT64_MAX;
	HASH_ADD(hh, t->allocations, key, sizeof(t->allocation_anchor.key), &t->allocation_anchor);
	return hash_added(hh, &t->allocation_anchor) ? 0 : -1;
}

static const struct name *pool_full_name(struct timeline *t, const struct pool_key *key)
{
	char text[2048];

	if (!key->scope || key->scope->length + key->name->length + 2 > sizeof(text))
		return key->name;
	memcpy(text, key->scope->text, key->scope->length);
	text[key->scope->length] = ':';
	memcpy(text + key->scope->length + 1, key->name->text, key->name->length);
	return names_intern(t->names, text, key->scope->length + 1 + key->name->length,
			    sizeof(text));
}

static struct pool *pool_get(struct timeline *t, const struct mark *m, const struct name *scope)
{
	struct pool_key key = { .scope = scope, .name = m->name };
	struct process_state *p = m->process;
	struct counter *counter;
	struct pool *pool;

	HASH_FIND(hh, p->pools, &key, sizeof(key), pool);
	if (pool)
		return pool;
	counter = counter_get(t, m, pool_full_name(t, &key), NULL, t->bytes);
	if (!counter)
		return NULL;
	pool = hash_add_new(hh, p->pools, key, key);
	if (!pool)
		return NULL;
	pool->category = m->event->category;
	pool->counter = counter;
	counter->of_pool = true;
	return pool;
}

static void emit_pool_sample(struct timeline *t, struct process_state *p, struct pool *pool,
			     int64_t live, struct memory *memory, struct fact *fact)
{
	const struct track *track = &pool->counter->pub;
	const struct arg value = { .type = ARG_INT, .i = live };

	/* Numbers from a file may be anything: the difference must not overflow. */
	memory->growth = (int64_t)((uint64_t)live - (uint64_t)pool->reported);
	pool->reported = live;
	if (live && !pool->is_listed) {
		pool->is_listed = true;
		DL_APPEND(p->listed_pools, pool);
	}
	fact->kind = FACT_COUNTER;
	fact->name = track->name;
	fact->category = pool->category;
	fact->tracks = &track;
	fact->memory = memory;
	fact->args = &value;
	fact->n_args = 1;
	counter_keep(pool->counter, &value, fact);
	emit_fact(t, fact);
}

/* A file says how much was live, because allocations may be older than the file. */
static int64_t pool_live_bytes(const struct pool *pool, const struct mark *m)
{
	const struct event *e = m->event;

	return e->n_args == 1 && e->args[0].type == ARG_INT ? e->args[0].i : (int64_t)pool->live;
}

static void emit_pool_change(struct timeline *t, const struct mark *m, struct pool *pool,
			     enum memory_change change, uint64_t address, uint64_t size)
{
	struct memory memory = { .change = change,
				 .address = address,
				 .size = size,
				 .tid = m->thread ? m->thread->key.tid : 0 };
	struct fact fact = fact_from_mark(m, FACT_COUNTER);

	emit_pool_sample(t, m->process, pool, pool_live_bytes(pool, m), &memory, &fact);
}

static struct allocation *allocation_find(const struct timeline *t, const struct mark *m,
					  uint64_t address)
{
	struct number_key key = { .process = m->process->pub.uuid, .number = address };
	struct allocation *a;

	HASH_FIND(hh, t->allocations, &key, sizeof(key), a);
	return a;
}

static struct allocation *allocation_new(struct timeline *t, const struct mark *m)
{
	struct allocation *a = t->spare_allocations;

	if (t->n_allocations >= t->limits.allocations)
		return NULL;
	if (a)
		t->spare_allocations = a->next;
	else
		a = malloc(sizeof(*a));
	if (!a)
		return NULL;
	memset(a, 0, sizeof(*a));
	a->key.process = m->process->pub.uuid;
	a->key.number = m->event->id;
	HASH_ADD(hh, t->allocations, key, sizeof(a->key), a);
	if (!hash_added(hh, a)) {
		free(a);
		return NULL;
	}
	DL_PREPEND(m->process->allocations, a);
	t->n_allocations++;
	return a;
}

static void allocation_drop(struct timeline *t, struct process_state *p, struct allocation *a)
{
	a->pool->live -= a->size;
	HASH_DEL(t->allocations, a);
	DL_DELETE(p->allocations, a);
	t->n_allocations--;
	a->next = t->spare_allocations;
	t->spare_allocations = a;
}

/* The program may say any size. The sum is limited to what every output can represent. */
static void allocation_fill(struct allocation *a, struct pool *pool, const struct mark *m)
{
	uint64_t size = m->event->size, most = INT64_MAX - pool->live;

	a->pool = pool;
	a->size = size < most ? size : most;
	a->tid = m->thread ? m->thread->key.tid : 0;
	a->mover = 0;
	a->slice = m->thread && m->thread->n_slices
			   ? m->thread->slices[m->thread->n_slices - 1].name
			   : NULL;
	pool->live += a->size;
}

/*
 * The same address is allocated again: the free of the older allocation was lost, or there was no
 * mark for it.
 */
static void replace_allocation(struct timeline *t, const struct mark *m, const struct allocation *a,
			       const struct pool *pool)
{
	struct memory memory = { .change = MEMORY_FREE,
				 .address = m->event->id,
				 .size = a->size,
				 .tid = m->thread ? m->thread->key.tid : 0 };
	struct fact fact = fact_from_mark(m, FACT_COUNTER);

	a->pool->live -= a->size;
	if (a->pool != pool)
		emit_pool_sample(t, m->process, a->pool, (int64_t)a->pool->live, &memory, &fact);
}

/*
 * PROF_REALLOC marks a free before and an allocation after. Only the latter says what became of the memory: if there
 * is no new address, the old one is still allocated. Meanwhile another thread may have got that address, if it has
 * become free; then the allocation there belongs to nobody who moves it.
 */
static void begin_move(struct timeline *t, const struct mark *m)
{
	struct allocation *a = m->event->id ? allocation_find(t, m, m->event->id) : NULL;

	m->thread->moving = m->event->id;
	if (a)
		a->mover = m->thread->key.tid;
	else if (m->event->id)
		t->account->frees_unknown++;
}

static void finish_move(struct timeline *t, const struct mark *m)
{
	uint64_t address = m->thread->moving, size;
	struct allocation *a = allocation_find(t, m, address);
	struct pool *pool;

	m->thread->moving = 0;
	if (!a || a->mover != m->thread->key.tid)
		return;
	a->mover = 0;
	if (!m->event->id && m->event->size)
		return;
	pool = a->pool;
	size = a->size;
	allocation_drop(t, m->process, a);
	emit_pool_change(t, m, pool, MEMORY_FREE, address, size);
}

/* Address 0 is an allocation that failed, or free(NULL). */
int pool_alloc(struct timeline *t, const struct mark *m)
{
	struct pool *pool = pool_get(t, m, memory_scope(m->thread));
	struct allocation *a = NULL;

	if (!pool)
		return LOST_LIMIT;
	if (m->thread && m->thread->moving)
		finish_move(t, m);
	if (m->event->id) {
		a = allocation_find(t, m, m->event->id);
		if (a)
			replace_allocation(t, m, a, pool);
		else
			a = allocation_new(t, m);
		if (a)
			allocation_fill(a, pool, m);
		else
			t->account->allocs_not_followed++;
	}
	emit_pool_change(t, m, pool, MEMORY_ALLOC, m->event->id, a ? a->size : 0);
	return MARK_WRITTEN;
}

int pool_free(struct timeline *t, const struct mark *m)
{
	struct allocation *a = m->event->id ? allocation_find(t, m, m->event->id) : NULL;
	uint64_t size = a ? a->size : 0;
	struct pool *pool;

	if (!a && m->event->left_out)
		return MARK_LEFT_OUT;
	/* Where the process is not recorded, the allocation that follows will not come. */
	if (m->event->size == FREE_MOVES && m->thread && !m->event->left_out) {
		begin_move(t, m);
		return MARK_WRITTEN;
	}
	pool = a ? a->pool : pool_get(t, m, NULL);
	if (!pool)
		return LOST_LIMIT;
	if (a)
		allocation_drop(t, m->process, a);
	else if (m->event->id)
		t->account->frees_unknown++;
	emit_pool_change(t, m, pool, MEMORY_FREE, m->event->id, size);
	return MARK_WRITTEN;
}

static void forget_allocations(struct timeline *t, struct process_state *p)
{
	while (p->allocations)
		allocation_drop(t, p, p->allocations);
}

void pools_off(struct timeline *t, struct process_state *p, const struct name *domain)
{
	struct allocation *a, *next;

	DL_FOREACH_SAFE(p->allocations, a, next)
	{
		if (is_of_domain(a->pool->category, domain))
			allocation_drop(t, p, a);
	}
}

static void emit_leak(struct timeline *t, const struct process_state *p, const struct allocation *a,
		      uint64_t ts_ns)
{
	const struct memory memory = { .change = MEMORY_RESET,
				       .address = a->key.number,
				       .size = a->size,
				       .tid = a->tid,
				       .slice = a->slice };

	emit_fact(t, &(struct fact){ .kind = FACT_LEAK,
				     .ts_ns = ts_ns,
				     .process = public_process(p),
				     .name = a->pool->counter->pub.name,
				     .category = a->pool->category,
				     .memory = &memory });
}

static void emit_pool_reset(struct timeline *t, struct process_state *p, struct pool *pool,
			    uint64_t ts_ns)
{
	struct memory memory = { .change = MEMORY_RESET, .size = (uint64_t)pool->reported };
	struct fact fact = { .ts_ns = ts_ns, .process = public_process(p) };

	emit_pool_sample(t, p, pool, 0, &memory, &fact);
}

/*
 * The process has ended, or its program by exec: what is still allocated was never freed. A file
 * gets at least one sample that says so, even for allocations of no bytes, since otherwise its
 * reader would keep them.
 */
void pools_reset(struct timeline *t, struct process_state *p, uint64_t ts_ns)
{
	struct pool *of_nothing = p->allocations ? p->allocations->pool : NULL;
	struct allocation *a;

	for (a = p->allocations; a; a = a->next)
		emit_leak(t, p, a, ts_ns);
	forget_allocations(t, p);
	while (p->listed_pools) {
		struct pool *pool = p->listed_pools;

		DL_DELETE(p->listed_pools, pool);
		pool->is_listed = false;
		if (!pool->reported)
			continue;
		of_nothing = NULL;
		emit_pool_reset(t, p, pool, ts_ns);
	}
	if (of_nothing)
		emit_pool_reset(t, p, of_nothing, ts_ns);
}

void pools_release(struct timeline *t, struct process_state *p)
{
	forget_allocations(t, p);
	p->listed_pools = NULL;
	hash_clear(hh, p->pools, pool);
}

void pools_free(struct timeline *t)
{
	while (t->spare_allocations) {
		struct allocation *a = t->spare_allocations;

		t->spare_allocations = a->next;
		free(a);
	}
	if (t->allocations)
		HASH_DEL(t->allocations, &t->allocation_anchor);
}
