/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of named pools: every PROF_ALLOC and PROF_FREE becomes a sample of the bytes that are live in
 * the pool. Which allocations are live is kept by address, so that a free knows its size and its pool.
 * Within a scope of memory a pool is another one than outside, and is called "scope:pool".
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

static const struct name *full_name(struct timeline *t, const struct pool_key *key)
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
	counter = counter_get(t, m, full_name(t, &key), NULL, t->bytes, false);
	if (!counter)
		return NULL;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->key = key;
	pool->counter = counter;
	HASH_ADD(hh, p->pools, key, sizeof(pool->key), pool);
	if (!hash_added(hh, pool)) {
		free(pool);
		return NULL;
	}
	return pool;
}

static void tell(struct timeline *t, const struct mark *m, struct pool *pool)
{
	const struct track *track = &pool->counter->pub;
	struct arg live = { .type = ARG_INT, .i = (int64_t)pool->live };
	struct fact fact = fact_of(m, FACT_COUNTER);

	fact.name = track->name;
	fact.tracks = &track;
	fact.args = &live;
	fact.n_args = 1;
	counter_keep(pool->counter, &live, &fact);
	emit(t, &fact);
}

static struct allocation *allocation_find(const struct timeline *t, const struct mark *m)
{
	struct number_key key = { .process = m->process->pub.uuid, .number = m->event->id };
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

/* A size is what the program says: the sum must stay a number that every output can hold. */
static void allocation_fill(struct allocation *a, struct pool *pool, uint64_t size)
{
	uint64_t most = INT64_MAX - pool->live;

	a->pool = pool;
	a->size = size < most ? size : most;
	pool->live += a->size;
}

/* No memory lies at address 0: an allocation that failed, or a free of nothing. */
int pool_alloc(struct timeline *t, const struct mark *m)
{
	struct pool *pool = pool_get(t, m, scope_of(m->thread)), *old_pool = NULL;
	struct allocation *a;

	if (!pool)
		return LOST_LIMIT;
	if (m->event->id) {
		a = allocation_find(t, m);
		if (a) {
			/* Its free was lost, or nobody told. */
			old_pool = a->pool;
			old_pool->live -= a->size;
		} else {
			a = allocation_new(t, m);
		}
		if (a)
			allocation_fill(a, pool, m->event->size);
		else
			t->account->allocs_not_followed++;
	}
	if (old_pool && old_pool != pool)
		tell(t, m, old_pool);
	tell(t, m, pool);
	return MARK_WRITTEN;
}

int pool_free(struct timeline *t, const struct mark *m)
{
	struct allocation *a = m->event->id ? allocation_find(t, m) : NULL;
	struct pool *pool;

	if (!a && m->event->left_out)
		return MARK_LEFT_OUT;
	pool = a ? a->pool : pool_get(t, m, NULL);
	if (!pool)
		return LOST_LIMIT;
	if (a)
		allocation_drop(t, m->process, a);
	else if (m->event->id)
		t->account->frees_unknown++;
	tell(t, m, pool);
	return MARK_WRITTEN;
}

void allocations_forget(struct timeline *t, struct process_state *p)
{
	while (p->allocations)
		allocation_drop(t, p, p->allocations);
}

void pools_release(struct timeline *t, struct process_state *p)
{
	struct pool *pool, *next;

	allocations_forget(t, p);
	HASH_ITER (hh, p->pools, pool, next) {
		HASH_DEL(p->pools, pool);
		free(pool);
	}
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
