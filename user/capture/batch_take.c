/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is new in a batch. It says how many bytes were in it before, so each event has a place in the stream,
 * and one that was seen in memory and then comes with the batch that is handed over is the same one. What
 * the kernel could not hand on is a gap.
 */
#include "capture/batch.h"
#include "rare.h"

#include <stdlib.h>
#include <string.h>

#define SEARCHES     128	      /* much more than a batch has holes */
#define NEAR	     (1ull << 40)     /* ticks: some minutes */
#define MOST_WORDS   (256 << 20 >> 3) /* that wait in one stream */
#define MOST_WAITING (512 << 20 >> 3) /* in all of them */

static bool make_room(const struct batches *b, struct batch_stream *s, size_t words)
{
	size_t waiting = s->end - s->begin, room = s->room ? s->room : 256;
	uint64_t *grown;

	if (s->end + words <= s->room)
		return true;
	if (s->begin) {
		memmove(s->words, s->words + s->begin, waiting * sizeof(*s->words));
		if (s->gap != SIZE_MAX)
			s->gap -= s->begin;
		s->begin = 0;
		s->end = waiting;
	}
	if (waiting + words > MOST_WORDS || b->waiting + words > MOST_WAITING)
		return false;
	while (room < waiting + words)
		room *= 2;
	if (room == s->room)
		return true;
	grown = realloc(s->words, room * sizeof(*grown));
	if (!grown)
		return false;
	s->words = grown;
	s->room = room;
	return true;
}

/*
 * Whether an event of this stream may begin here: its time is near, and its stub one of the file's. A file
 * may have thousands of these, and a batch that lies as many places which look like a beginning: they are
 * looked for so often in one batch, and then what is behind is missing.
 */
static bool may_begin(struct batch_stream *s, const uint64_t *events, size_t at, size_t n)
{
	size_t words = BATCH_EVENT_WORDS(events + at);
	uint64_t since = events[at] - s->last_ticks, vaddr;
	unsigned i;

	if (!events[at] || words < BATCH_EVENT_HEAD || at + words > n || since + NEAR > 2 * NEAR)
		return false;
	if (!s->searches)
		return false;
	s->searches--;
	vaddr = s->file->flush_stub + (int32_t)((uint32_t)events[at + 1] - (uint32_t)s->flush);
	for (i = 0; i < s->file->sites.n; i++) {
		if (s->file->sites.sites[i].stub == vaddr)
			return true;
	}
	return false;
}

/*
 * An event at `at` whose time is not there: how many words to go on by, 0 when that cannot be told. It
 * may have been left before it said how long it was going to be; then the next one is looked for.
 */
static size_t hole(struct batch_stream *s, const uint64_t *events, size_t at, size_t n)
{
	size_t words = at + 2 < n ? BATCH_EVENT_WORDS(events + at) : 0, next;

	if (words >= BATCH_EVENT_HEAD)
		return words;
	for (next = at + BATCH_EVENT_HEAD; next + BATCH_EVENT_HEAD <= n && next < at + 256;
	     next++) {
		if (may_begin(s, events, next, n))
			return next - at;
	}
	return 0;
}

/* Copies what stands there in one piece, so many words of it. */
static void append_words(struct batch_stream *s, const uint64_t *events, size_t words)
{
	memcpy(s->words + s->end, events, words * sizeof(*events));
	s->end += words;
}

/*
 * Appends what is complete from `at` on. Handed over, an event without a time is one that will never
 * be complete; in memory, it may still be, and everything behind it waits. One that says it will happen
 * later than `now`, when it has been read, would wait for ever.
 */
static size_t append(struct batch_stream *s, const uint64_t *events, size_t at, size_t n,
		     uint64_t now, bool handed)
{
	size_t from = at; /* not copied yet, from there to `at` */
	uint64_t last = s->last_ticks;

	while (at + BATCH_EVENT_HEAD <= n) {
		size_t words = BATCH_EVENT_WORDS(events + at);
		uint64_t ticks = events[at];

		if (rare(!ticks)) {
			s->last_ticks = last;
			words = handed ? hole(s, events, at, n) : 0;
			if (!words)
				break;
			append_words(s, events + from, at - from);
			from = at += words;
			continue;
		}
		if (rare(words < BATCH_EVENT_HEAD || at + words > n))
			break;
		if (rare(ticks > now)) {
			append_words(s, events + from, at + words - from);
			from = at + words;
			ticks = s->words[s->end - words] = now;
		}
		s->unsorted |= ticks < last;
		last = ticks > last ? ticks : last;
		s->events++;
		at += words;
	}
	append_words(s, events + from, at - from);
	s->last_ticks = last;
	return at;
}

/* A batch that its thread has left while an event in it was being written, which may yet be completed. */
static void take_left(const struct batches *b, struct batch_stream *s,
		      const struct batch_head *head, const uint64_t *events, size_t n, uint64_t now)
{
	size_t at = 0;

	if (!s->seen) {
		s->seen = calloc(BATCH_MAX / 8 / 64, sizeof(*s->seen));
		if (!s->seen)
			return;
		for (; at * 8 + head->base < s->taken && at < n; at++)
			s->seen[at / 64] |= 1ull << at % 64;
	}
	if (!make_room(b, s, n))
		return;
	for (at = 0; at + BATCH_EVENT_HEAD <= n;) {
		size_t words = events[at] ? BATCH_EVENT_WORDS(events + at) : hole(s, events, at, n);

		if (words < BATCH_EVENT_HEAD || at + words > n)
			break;
		if (events[at] && !(s->seen[at / 64] & 1ull << at % 64)) {
			s->seen[at / 64] |= 1ull << at % 64;
			append(s, events, at, at + words, now, true);
		}
		at += words;
	}
	s->taken = head->base + at * 8;
}

/* What is missing behind the last event that has been seen was handed to nobody, since nobody recorded. */
static bool is_before_recording(struct batches *b, const struct batch_stream *s)
{
	return s->was_there && s->thread &&
	       (!s->last_ticks ||
		batch_clock_ns(&b->clock, s->last_ticks) < s->thread->process->from_ns);
}

void batch_stream_take(struct capture *c, struct batch_stream *s, const struct batch_head *head,
		       const uint64_t *events, size_t bytes, bool handed)
{
	struct batches *b = c->batches;
	size_t n = (head->used < bytes + sizeof(*head) ? head->used - sizeof(*head) : bytes) / 8;
	size_t before = s->end - s->begin, at;
	uint64_t now = batch_clock_now();

	s->searches = SEARCHES;
	if (handed && head->base > s->handed)
		batch_stream_lost(b, s, head);
	if (head->base > s->taken) {
		if (!is_before_recording(b, s)) {
			s->lost += head->events - s->events;
			s->gap = s->end;
		}
		s->taken = head->base;
		s->events = head->events;
	}
	at = (s->taken - head->base) / 8;
	if (head->stuck >= BATCH_STUCK) {
		take_left(b, s, head, events, n, now);
	} else if (at < n) {
		if (make_room(b, s, n - at))
			at = append(s, events, at, n, now, handed);
		else if (!handed)
			return;
	}
	b->waiting += s->end - s->begin - before;
	if (handed) {
		uint64_t complete = head->complete >> 16, missing = head->events + complete;

		/* What is complete must be there. But who claims more than that may claim anything. */
		missing = missing > s->events ? missing - s->events : 0;
		missing = missing < complete ? missing : complete;
		b->unreadable += missing;
		s->events += missing;
		/* Given up for lost, and here it is; or left by its thread, and here once more. */
		if (head->base + n * 8 < s->taken) {
			if (head->base >= s->found && head->stuck < BATCH_STUCK)
				b->unreadable += head->complete >> 16;
			return;
		}
		s->taken = head->base + n * 8;
		s->handed = s->taken;
		s->handed_events = s->events;
	} else if (head->stuck < BATCH_STUCK && at * 8 + head->base > s->taken) {
		s->taken = head->base + at * 8;
	}
}
