/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring buffer of events. An event takes 24 bytes, eight for each of its fields that is set, and
 * 24 for each argument, with strings behind them.
 *
 * An event is in one piece. When the end of the ring is too near, it goes to the beginning, and
 * `end` says where the data stops. So either `head` is before `tail`, or the data goes on from
 * `end` at the beginning.
 */
#include "timeline/delay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum has {
	HAS_NAME = 1,
	HAS_CATEGORY = 2,
	HAS_ID = 4,
	HAS_SIZE = 8,
	HAS_UNIT = 16,
	HAS_MORE = 32,
	HAS_STACK = 64,
	HAS_TIMES = 128,
};

struct kept {
	uint64_t ts_ns;
	uint32_t pid, tid;
	int16_t level;
	uint16_t words : 12; /* the whole event, in units of eight bytes */
	uint16_t n_counters : 4;
	uint32_t kind : 6;
	uint32_t n_args : 6;
	uint32_t has : 8;
	uint32_t scope : 3;
	uint32_t end_reason : 2;
	uint32_t object : 3;
	uint32_t left_out : 1;
	uint32_t closes_inner : 1;
	uint32_t sampled : 1;
	uint32_t of_thread : 1;
};

#define HEAD_WORDS (sizeof(struct kept) / sizeof(uint64_t))
#define MOST_WORDS 4095

_Static_assert(HEAD_WORDS == 3, "no padding");
_Static_assert(sizeof(struct clock_reading) == 24 && sizeof(struct event_sched) <= 24 &&
		       sizeof(struct event_sample) <= 24 && sizeof(struct event_given) == 24,
	       "three words hold any of them");
/*
 * A new field of struct event must be kept, too: add it here, to delay_push(), delay_pop() and the
 * test. Only what files alone say of counters (`continued`, `on_thread`, deltas) is never delayed.
 */
_Static_assert(sizeof(struct event) == 160, "delay.c keeps every field of struct event");
_Static_assert(EVENT_SYSCALL < 64 && EVENT_MAX_ARGS < 64 && EVENT_MAX_COUNTERS < 16, "they fit");

struct delay {
	uint64_t *ring;
	size_t capacity; /* of the ring, in words, like all members below */
	size_t head;
	size_t tail;
	size_t end; /* where the data at `head` ends: `capacity`, unless it goes on at the beginning */
	size_t n;
	struct arg args[EVENT_MAX_ARGS];
};

struct delay *delay_new(size_t bytes)
{
	struct delay *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	if (bytes < 65536)
		bytes = 65536;
	d->capacity = d->end = bytes / sizeof(uint64_t);
	/*
	 * Populated at once, so that a lack of memory shows now and not in the middle of a
	 * recording.
	 */
	d->ring = mmap(NULL, d->capacity * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (d->ring == MAP_FAILED) {
		free(d);
		return NULL;
	}
	/*
	 * Processes that are forked later need none of it, and would keep each page a second time as soon as it is
	 * written.
	 */
	madvise(d->ring, d->capacity * sizeof(uint64_t), MADV_DONTFORK);
	return d;
}

void delay_free(struct delay *d)
{
	if (!d)
		return;
	munmap(d->ring, d->capacity * sizeof(uint64_t));
	free(d);
}

/* Whether the union at the end of struct event is used. */
static bool kind_has_union(enum event_kind kind)
{
	return kind == EVENT_CLOCK || kind == EVENT_SWITCH || kind == EVENT_WAKING ||
	       kind == EVENT_SCHED_GAP || kind == EVENT_SAMPLE ||
	       (kind >= EVENT_SLICE_AT && kind <= EVENT_CLOCK_READING);
}

/* With the NUL. */
static size_t kept_string_words(const struct arg *arg)
{
	return ((size_t)arg->length + 1 + 7) / 8;
}

static unsigned kept_args(const struct event *e)
{
	return e->n_args < EVENT_MAX_ARGS ? e->n_args : EVENT_MAX_ARGS;
}

static unsigned kept_counters(const struct event *e)
{
	return e->n_counters < EVENT_MAX_COUNTERS ? e->n_counters : EVENT_MAX_COUNTERS;
}

/*
 * A stack is one word: how it ended is above the bits that addresses have. A sample may have no
 * frames and yet have ended in some way.
 */
#define STACK_END_SHIFT	     56
#define STACK_POINTERS_SHIFT 63

static bool has_stack(const struct event *e)
{
	return e->callstack || e->callstack_end;
}

static uint64_t stack_word(const struct event *e)
{
	return (uint64_t)(uintptr_t)e->callstack | (uint64_t)e->callstack_end << STACK_END_SHIFT |
	       (uint64_t)e->callstack_by_frame_pointers << STACK_POINTERS_SHIFT;
}

static void read_stack_word(struct event *e, uint64_t word)
{
	e->callstack =
		(const struct callstack *)(uintptr_t)(word & ((1ull << STACK_END_SHIFT) - 1));
	e->callstack_end = (enum callstack_end)(word >> STACK_END_SHIFT & 0x7f);
	e->callstack_by_frame_pointers = word >> STACK_POINTERS_SHIFT;
}

static size_t kept_words(const struct event *e)
{
	size_t words = HEAD_WORDS + kept_counters(e) * (e->counter_enabled ? 3 : 1);
	unsigned i, n = kept_args(e);

	words += (e->name != NULL) + (e->category != NULL) + (e->id != 0) + (e->size != 0) +
		 (e->unit != NULL) + has_stack(e) + kind_has_union(e->kind) * 3;
	for (i = 0; i < n; i++)
		words += 2 + (e->args[i].type == ARG_STRING ? kept_string_words(&e->args[i]) : 1);
	return words;
}

/* Reserves words in one piece, or returns NULL. */
static uint64_t *delay_reserve(struct delay *d, size_t words)
{
	uint64_t *at;

	if (!d->n) {
		d->head = d->tail = 0;
		d->end = d->capacity;
	}
	if (d->n && d->tail <= d->head) {
		if (d->head - d->tail < words)
			return NULL;
	} else if (d->capacity - d->tail < words) {
		if (d->head < words)
			return NULL;
		d->end = d->tail;
		d->tail = 0;
	}
	at = d->ring + d->tail;
	d->tail += words;
	d->n++;
	return at;
}

static uint64_t *write_kept_arg(uint64_t *at, const struct arg *arg)
{
	*at++ = (uintptr_t)arg->key;
	*at++ = (uint64_t)arg->length << 32 | (uint64_t)arg->cut << 8 | (uint8_t)arg->type;
	if (arg->type != ARG_STRING) {
		*at++ = arg->u;
		return at;
	}
	memcpy(at, arg->s, arg->length);
	((char *)at)[arg->length] = '\0';
	return at + kept_string_words(arg);
}

static uint64_t *write_kept_numbers(uint64_t *at, const uint64_t *numbers, unsigned n)
{
	memcpy(at, numbers, n * sizeof(*at));
	return at + n;
}

bool delay_push(struct delay *d, const struct event *e)
{
	size_t words = kept_words(e);
	struct kept *kept = words <= MOST_WORDS ? (struct kept *)delay_reserve(d, words) : NULL;
	uint64_t *at = (uint64_t *)kept + HEAD_WORDS;
	unsigned i, n = kept_counters(e);

	if (!kept)
		return false;
	*kept = (struct kept){
		.ts_ns = e->ts_ns,
		.pid = e->pid,
		.tid = e->tid,
		.level = (int16_t)e->level,
		.words = (uint16_t)words & MOST_WORDS,
		.n_counters = n & 15,
		.kind = e->kind & 63,
		.n_args = kept_args(e) & 63,
		.has = (e->name ? HAS_NAME : 0) | (e->category ? HAS_CATEGORY : 0) |
		       (e->id ? HAS_ID : 0) | (e->size ? HAS_SIZE : 0) | (e->unit ? HAS_UNIT : 0) |
		       (kind_has_union(e->kind) ? HAS_MORE : 0) | (has_stack(e) ? HAS_STACK : 0) |
		       (n && e->counter_enabled ? HAS_TIMES : 0),
		.scope = e->scope & 7,
		.end_reason = e->end_reason & 3,
		.object = e->object & 7,
		.left_out = e->left_out,
		.closes_inner = e->closes_inner,
		.sampled = e->sampled,
		.of_thread = e->of_thread,
	};
	if (e->name)
		*at++ = (uintptr_t)e->name;
	if (e->category)
		*at++ = (uintptr_t)e->category;
	if (e->id)
		*at++ = e->id;
	if (e->size)
		*at++ = e->size;
	if (e->unit)
		*at++ = (uintptr_t)e->unit;
	if (has_stack(e))
		*at++ = stack_word(e);
	if (kind_has_union(e->kind)) {
		memcpy(at, &e->clock, sizeof(e->clock));
		at += 3;
	}
	if (n)
		at = write_kept_numbers(at, e->counters, n);
	if (n && e->counter_enabled) {
		at = write_kept_numbers(at, e->counter_enabled, n);
		at = write_kept_numbers(at, e->counter_running, n);
	}
	for (i = 0; i < kept->n_args; i++)
		at = write_kept_arg(at, &e->args[i]);
	return true;
}

static const uint64_t *read_kept_arg(const uint64_t *at, struct arg *arg)
{
	arg->key = (const struct name *)(uintptr_t)*at++;
	arg->length = (uint32_t)(*at >> 32);
	arg->cut = *at >> 8 & 1;
	arg->type = (enum arg_type)(*at++ & 0xff);
	if (arg->type != ARG_STRING) {
		arg->u = *at++;
		return at;
	}
	arg->s = (const char *)at;
	return at + kept_string_words(arg);
}

/* The fields that are there, in the order of their bits. */
static const uint64_t *read_kept_fields(const struct kept *kept, const uint64_t *at,
					struct event *e)
{
	unsigned n = kept->n_counters;

	if (kept->has & HAS_NAME)
		e->name = (const struct name *)(uintptr_t)*at++;
	if (kept->has & HAS_CATEGORY)
		e->category = (const struct name *)(uintptr_t)*at++;
	if (kept->has & HAS_ID)
		e->id = *at++;
	if (kept->has & HAS_SIZE)
		e->size = *at++;
	if (kept->has & HAS_UNIT)
		e->unit = (const struct name *)(uintptr_t)*at++;
	if (kept->has & HAS_STACK)
		read_stack_word(e, *at++);
	if (kept->has & HAS_MORE) {
		memcpy(&e->clock, at, sizeof(e->clock));
		at += 3;
	}
	if (n) {
		e->n_counters = n;
		e->counters = at;
		at += n;
	}
	if (kept->has & HAS_TIMES) {
		e->counter_enabled = at;
		e->counter_running = at + n;
		at += 2 * n;
	}
	return at;
}

bool delay_pop(struct delay *d, struct event *e)
{
	const struct kept *kept = (const struct kept *)(d->ring + d->head);
	const uint64_t *at = (const uint64_t *)kept + HEAD_WORDS;

	if (!d->n)
		return false;
	*e = (struct event){
		.kind = (enum event_kind)kept->kind,
		.scope = (enum event_scope)kept->scope,
		.ts_ns = kept->ts_ns,
		.pid = kept->pid,
		.tid = kept->tid,
		.end_reason = (enum end_reason)kept->end_reason,
		.object = (enum event_object)kept->object,
		.left_out = kept->left_out,
		.closes_inner = kept->closes_inner,
		.sampled = kept->sampled,
		.of_thread = kept->of_thread,
		.level = kept->level,
		.n_args = kept->n_args,
	};
	at = read_kept_fields(kept, at, e);
	for (unsigned i = 0; i < kept->n_args; i++)
		at = read_kept_arg(at, &d->args[i]);
	if (kept->n_args)
		e->args = d->args;
	d->head += kept->words;
	d->n--;
	if (d->head == d->end) {
		d->head = 0;
		d->end = d->capacity;
	}
	return true;
}

uint64_t delay_oldest_ns(const struct delay *d)
{
	return d->n ? ((const struct kept *)(d->ring + d->head))->ts_ns : UINT64_MAX;
}

size_t delay_count(const struct delay *d)
{
	return d->n;
}
