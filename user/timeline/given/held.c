/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks with times of a clock of which no reading has come yet. A program sends its readings again with each 16th such
 * mark, so the first ones of a recording that begins later come before them. They wait, bounded in number and size, for
 * the first mark whose clock is known, which is the mark that the readings were sent with.
 */
#include <stdlib.h>

#include "timeline/delay.h"
#include "timeline/given/given.h"

#define HELD_BYTES 65536

int held_add(struct timeline *t, const struct mark *m)
{
	struct process_state *p = m->process;

	if (!p->held && t->n_held < LIMIT_HELD) {
		p->held = delay_new(HELD_BYTES);
		t->n_held += p->held != NULL;
	}
	return p->held && delay_push(p->held, m->event) ? MARK_HELD : LOST_CLOCK;
}

static struct delay *held_remove(struct timeline *t, struct process_state *p)
{
	struct delay *held = p->held;

	t->n_held -= held != NULL;
	p->held = NULL;
	return held;
}

void held_emit(struct timeline *t, struct process_state *p)
{
	struct delay *held = held_remove(t, p);
	struct event e;

	/* Those of another clock are held again. */
	while (held && delay_pop(held, &e)) {
		const struct mark m = { .event = &e,
					.process = p,
					.name = e.name ? e.name : t->unnamed,
					.ts_ns = e.ts_ns };

		mark_account(t, &e, e.kind == EVENT_SLICE_AT ? slice_at(t, &m) : instant_at(t, &m));
	}
	delay_free(held);
}

void held_lose(struct timeline *t, struct process_state *p)
{
	struct delay *held = held_remove(t, p);

	if (held)
		t->account->lost[LOST_CLOCK] += delay_count(held);
	delay_free(held);
}
