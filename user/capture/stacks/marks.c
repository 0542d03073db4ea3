/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call stacks of marks (--stack). The kernel does not know the names of marks, so it sends each
 * stack before its mark. If the name is not selected, the mark is put into a table (bpf/stacks/stack.h),
 * and the kernel sends no stack for it the next time.
 */
#include "capture/probes/probes.h"
#include "capture/stacks/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "proftrace.skel.h"
#include "bpf/stacks/stack.h"

#define MAX_PENDING 65536 /* threads whose next mark has a stack */

struct pending_stack {
	uint32_t tid;
	uint32_t site;
	int32_t name;
	const struct callstack *callstack;
	uint32_t types;
	UT_hash_handle hh;
};

/* Corrects the innermost addresses where the function that was hit has no frame of its own yet. */
static unsigned fix_innermost_frames(const struct capture *c, const struct record_stack *r,
				     unsigned n, uint64_t addresses[STACK_FRAMES + 1])
{
	const struct probe *probe = c->sites[r->head.site].probe;
	bool exact = r->head.types & STACK_BY_TABLES;
	unsigned at = 0, from = 0;

	/*
	 * The stub of a marker is dropped; an existing probe is inside a function; a function's
	 * entry has no frame. Tables know all that.
	 */
	if (!probe)
		from = 1;
	else if (!probe->request && n)
		addresses[at++] = r->addresses[from++];
	if (!exact && from && r->ops.a && !(n > 1 && r->addresses[1] == r->ops.a))
		addresses[at++] = r->ops.a;
	while (from < n)
		addresses[at++] = r->addresses[from++];
	return at;
}

bool mark_stack_store(struct capture *c, const struct record *head, size_t size)
{
	const struct record_stack *r = (const struct record_stack *)head;
	struct stacks *s = c->stacks;
	uint64_t addresses[STACK_FRAMES + 1];
	struct program_stack program;
	struct pending_stack *p;

	if (!s || size < offsetof(struct record_stack, addresses) ||
	    !stacks_parse(r, size, 0, &program) || head->site >= c->n_sites)
		return false;
	HASH_FIND(hh, s->pending, &head->tid, sizeof(head->tid), p);
	if (!p) {
		if (HASH_COUNT(s->pending) < MAX_PENDING)
			p = hash_add_new(hh, s->pending, tid, head->tid);
		if (!p) {
			s->lost++;
			return true;
		}
	}
	program.n = fix_innermost_frames(c, r, program.n, addresses);
	program.addresses = addresses;
	/* If the stub was dropped, the innermost address is a caller, too. */
	program.is_caller = !c->sites[head->site].probe;
	p->types = head->types;
	p->site = head->site;
	p->name = head->name;
	p->callstack = stacks_push(c, head->tgid, &program);
	return true;
}

static bool mark_stack_is_selected(const struct capture *c, const struct name *name)
{
	struct glob_stars stars;

	for (unsigned i = 0; name && i < c->options.n_stacks; i++) {
		const char *glob = c->options.stacks[i];

		if (glob_matches(glob, strlen(glob), name->text, &stars))
			return true;
	}
	return false;
}

/* Not if each mark of the site may have another name. */
static void suppress_mark_stack(struct capture *c, const struct record *r)
{
	const struct probe *probe = c->sites[r->site].probe;
	uint64_t key = stack_key(r->site, r->name);

	if (r->flags & (RECORD_NAME_COPIED | RECORD_NAME_UNREADABLE) ||
	    (probe && probe->has_template))
		return;
	for (uint32_t i = 0; i < STACK_UNWANTED_ON; i++) {
		uint64_t *place = (uint64_t *)&c->shared->stack_unwanted[stack_place(key, i)];

		if (*place == key)
			return;
		if (!*place) {
			__atomic_store_n(place, key, __ATOMIC_RELAXED);
			return;
		}
	}
}

void mark_stack_attach(struct capture *c, const struct record *r, struct event *e)
{
	struct stacks *s = c->stacks;
	struct pending_stack *p;

	HASH_FIND(hh, s->pending, &r->tid, sizeof(r->tid), p);
	if (!p)
		return;
	if (p->site == r->site && p->name == r->name) {
		if (mark_stack_is_selected(c, e->name)) {
			e->callstack = p->callstack;
			stacks_set_end(e, p->types);
		} else {
			suppress_mark_stack(c, r);
		}
	}
	HASH_DEL(s->pending, p);
	free(p);
}

void mark_stacks_free(struct stacks *s)
{
	hash_clear(hh, s->pending, p);
}
