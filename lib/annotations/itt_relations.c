/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Relations between tasks of ITT. Each is a moment of the thread with the ids of both tasks. If one of them is the task
 * that runs, it is an arrow too, as far as the other end is found: a task that begins later has the arrow's end, and one that
 * began earlier had its beginning. Ids whose tasks never begin would fill any memory, so that a new one takes the place of an
 * old one.
 */
#include "itt.h"

#define SLOTS 4096

/* Tasks with an id that may begin, and that have begun. */
static uint64_t awaited[SLOTS], begun[SLOTS];
static int are_any;

bool itt_relations_any(void)
{
	return __atomic_load_n(&are_any, __ATOMIC_RELAXED);
}

static uint64_t *itt_slot(uint64_t slots[SLOTS], uint64_t key)
{
	return &slots[key % SLOTS];
}

static void itt_slot_put(uint64_t slots[SLOTS], uint64_t key)
{
	__atomic_store_n(itt_slot(slots, key), key, __ATOMIC_RELAXED);
}

/* One arrow for each. */
static bool itt_slot_remove(uint64_t slots[SLOTS], uint64_t key)
{
	uint64_t found = key;

	return __atomic_compare_exchange_n(itt_slot(slots, key), &found, 0, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* The task that runs is `marked` to be one end of the arrow of that id. */
static void itt_put_arrow(bool out, uint64_t id)
{
	if (out)
		PROF_FLOW_OUT_IN(prof_runtime, id);
	else
		PROF_FLOW_IN_IN(prof_runtime, id);
}

/* The arrows from a task, and those to it, have numbers of their own. */
static uint64_t itt_arrow(const prof_runtime_domain_t *domain, const struct itt_id *id, bool out)
{
	return itt_open_key(domain, id, out ? 5 : 4);
}

void itt_relate_begun(const prof_runtime_domain_t *domain, const struct itt_id *id)
{
	const uint64_t to = itt_arrow(domain, id, false), from = itt_arrow(domain, id, true);

	if (itt_slot_remove(awaited, to))
		itt_put_arrow(false, to);
	itt_slot_put(begun, from);
	itt_put_arrow(true, from);
}

enum itt_relation {
	ITT_UNKNOWN,
	ITT_DEPENDENT_ON,
	ITT_SIBLING_OF,
	ITT_PARENT_OF,
	ITT_CONTINUATION_OF,
	ITT_CHILD_OF,
	ITT_CONTINUED_BY,
	ITT_PREDECESSOR_TO,
	ITT_RELATIONS,
};

static void itt_put_relation(const prof_runtime_domain_t *domain, const struct itt_id *head,
			     int relation, const struct itt_id *tail)
{
	static const char *const names[ITT_RELATIONS] = {
		"is related to",      "is dependent on", "is sibling of",   "is parent of",
		"is continuation of", "is child of",	 "is continued by", "is predecessor to",
	};
	prof_arg_t args[2];
	size_t n = 0;

	if (relation < 0 || relation >= ITT_RELATIONS)
		relation = ITT_UNKNOWN;
	if (head)
		args[n++] = prof_arg_uint("head", head->d1);
	args[n++] = prof_arg_uint("tail", tail->d1);
	prof_instant_args(domain, names[relation], PROF_SCOPE_THREAD, args, n);
}

/* Between the task that runs and another one. */
static SELDOM void itt_relate_current(itt_domain_t domain, int relation, const struct itt_id *tail)
{
	const prof_runtime_domain_t *const d = itt_domain_find(domain);
	const bool is_later = relation == ITT_PARENT_OF || relation == ITT_CONTINUED_BY ||
			      relation == ITT_PREDECESSOR_TO || relation == ITT_SIBLING_OF;
	const uint64_t arrow = itt_arrow(d, tail, !is_later);

	__atomic_store_n(&are_any, 1, __ATOMIC_RELAXED);
	itt_put_relation(d, NULL, relation, tail);
	if (is_later) {
		itt_slot_put(awaited, arrow);
		itt_put_arrow(true, arrow);
	} else if (itt_slot_remove(begun, arrow)) {
		itt_put_arrow(false, arrow);
	}
}

void itt_relation_add_to_current(itt_domain_t domain, int relation, struct itt_id tail)
{
	ITT_CHAIN(relation_add_to_current, domain, relation, tail);
	if (is_recorded())
		itt_relate_current(domain, relation, &tail);
}

void itt_relation_add(itt_domain_t domain, struct itt_id head, int relation, struct itt_id tail)
{
	ITT_CHAIN(relation_add, domain, head, relation, tail);
	if (is_recorded())
		itt_put_relation(itt_domain_find(domain), &head, relation, &tail);
}

/* When that was is not told: a relation has no time but that of its tasks. */
void itt_relation_add_to_current_ex(itt_domain_t domain, struct itt_clock *clock,
				    unsigned long long time, int relation, struct itt_id tail)
{
	ITT_CHAIN(relation_add_to_current_ex, domain, clock, time, relation, tail);
	if (is_recorded())
		itt_relate_current(domain, relation, &tail);
}

void itt_relation_add_ex(itt_domain_t domain, struct itt_clock *clock, unsigned long long time,
			 struct itt_id head, int relation, struct itt_id tail)
{
	ITT_CHAIN(relation_add_ex, domain, clock, time, head, relation, tail);
	if (is_recorded())
		itt_put_relation(itt_domain_find(domain), &head, relation, &tail);
}
