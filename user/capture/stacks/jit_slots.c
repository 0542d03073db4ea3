/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots of time for frames of generated code (struct jit_slots). A short slot tells apart what replaced each other soon; many
 * slots make many frames. So slots become twice as long with every so many of them, or of frames: a program with 300 such
 * frames in a slot has 80,000 in an hour.
 */
#include "capture/stacks/internal.h"

#define FIRST_NS  100000000ull
#define OF_LENGTH 256
#define FRAMES	  8192
#define LATE	  64 /* slots that are searched */

/* The program has no addresses there, and the number in a file remains positive. */
#define SLOT_SHIFT 48
_Static_assert(JIT_SLOTS <= 1 << (63 - SLOT_SHIFT), "each slot has a number");

static unsigned add_jit_slot(struct stacks *s, uint64_t at_ns)
{
	struct jit_slots *j = &s->jit_slots;
	uint32_t frames = callstacks_frames(s->store);

	if (!j->length_ns) {
		j->length_ns = FIRST_NS;
		j->frames = frames;
		j->n = 1;
	}
	if (j->n == JIT_SLOTS)
		return 0;
	if (j->of_length >= OF_LENGTH || frames - j->frames >= FRAMES) {
		j->length_ns *= 2;
		j->of_length = 0;
		j->frames = frames;
	}
	j->slot[j->n].since_ns = j->slot[j->n].last_ns = at_ns;
	j->slot[j->n].until_ns = at_ns + j->length_ns;
	j->of_length++;
	return j->n++;
}

/* A thread that was blocked is recorded later than it was there, so that slots are not in order. */
static unsigned get_jit_slot(struct stacks *s, uint64_t at_ns)
{
	struct jit_slots *j = &s->jit_slots;

	for (unsigned i = j->n; i > 1 && i + LATE > j->n; i--) {
		if (at_ns < j->slot[i - 1].since_ns || at_ns >= j->slot[i - 1].until_ns)
			continue;
		if (at_ns > j->slot[i - 1].last_ns)
			j->slot[i - 1].last_ns = at_ns;
		return i - 1;
	}
	return add_jit_slot(s, at_ns);
}

uint64_t jit_slot_address(struct stacks *s, uint64_t address, uint64_t at_ns)
{
	return address >> SLOT_SHIFT ? address
				     : address | (uint64_t)get_jit_slot(s, at_ns) << SLOT_SHIFT;
}

uint64_t jit_slot_of(const struct stacks *s, uint64_t slotted, uint64_t *ret_first_ns,
		     uint64_t *ret_last_ns)
{
	uint64_t slot = slotted >> SLOT_SHIFT;

	if (!slot || slot >= s->jit_slots.n) {
		*ret_first_ns = 0;
		*ret_last_ns = UINT64_MAX;
		return slotted;
	}
	*ret_first_ns = s->jit_slots.slot[slot].since_ns;
	*ret_last_ns = s->jit_slots.slot[slot].last_ns;
	return slotted & ((1ull << SLOT_SHIFT) - 1);
}
