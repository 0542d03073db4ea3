/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which events of a batch are new. A batch says how many bytes were in it before, so each event has
 * a position in the stream. An event that was seen in memory and comes again in the batch that is
 * handed over has the same position. Batches that the kernel could not send leave a gap.
 *
 * A program may write anything into a batch. So how many events wait, how far the next event is
 * searched for, and which times events may have is all bounded.
 */
#include "capture/batch/batch.h"
#include "base/rare.h"

#include <stdlib.h>
#include <string.h>

#define SEARCHES	  128	       /* per batch: much more than a batch has incomplete events */
#define NEAR		  (1ull << 40) /* in ticks: some minutes */
#define MAX_STREAM_WORDS  (256 << 20 >> 3) /* that wait in one stream */
#define MAX_WAITING_WORDS (512 << 20 >> 3) /* that wait in all streams */

static bool stream_reserve(const struct batches *b, struct batch_stream *s, size_t words)
{
	size_t waiting = s->end - s->begin, capacity = s->capacity ? s->capacity : 256;
	uint64_t *grown;

	if (s->end + words <= s->capacity)
		return true;
	if (s->begin) {
		memmove(s->words, s->words + s->begin, waiting * sizeof(*s->words));
		if (s->gap != SIZE_MAX)
			s->gap -= s->begin;
		s->begin = 0;
		s->end = waiting;
	}
	if (waiting + words > MAX_STREAM_WORDS || b->waiting + words > MAX_WAITING_WORDS)
		return false;
	while (capacity < waiting + words)
		capacity *= 2;
	if (capacity == s->capacity)
		return true;
	grown = realloc(s->words, capacity * sizeof(*grown));
	if (!grown)
		return false;
	s->words = grown;
	s->capacity = capacity;
	return true;
}

/*
 * Whether an event of this stream may begin here: its time is near, and its stub is one of the
 * file's. A file may have thousands of stubs, and a malicious batch as many words that look like
 * the beginning of an event. So the number of searches in a batch is limited; what comes after is
 * lost.
 */
static bool event_may_begin(struct batch_stream *s, const uint64_t *events, size_t at, size_t n)
{
	size_t words = BATCH_EVENT_WORDS(events + at);
	uint64_t since = events[at] - s->last_ticks, vaddr;

	if (!events[at] || words < BATCH_EVENT_HEAD || at + words > n || since + NEAR > 2 * NEAR)
		return false;
	if (!s->searches)
		return false;
	s->searches--;
	vaddr = s->file->flush_stub + (int32_t)((uint32_t)events[at + 1] - (uint32_t)s->flush);
	for (unsigned i = 0; i < s->file->sites.n; i++) {
		if (s->file->sites.sites[i].stub == vaddr)
			return true;
	}
	return false;
}

/*
 * Handles an event at `at` that has no time. Returns the number of words to skip; 0: it cannot be
 * told. If the thread was interrupted before it wrote the size of the event, the next event is
 * searched.
 */
static size_t skip_incomplete_event(struct batch_stream *s, const uint64_t *events, size_t at,
				    size_t n)
{
	size_t words = at + 2 < n ? BATCH_EVENT_WORDS(events + at) : 0, next;

	if (words >= BATCH_EVENT_HEAD)
		return words;
	for (next = at + BATCH_EVENT_HEAD; next + BATCH_EVENT_HEAD <= n && next < at + 256;
	     next++) {
		if (event_may_begin(s, events, next, n))
			return next - at;
	}
	return 0;
}

/* Appends words that are contiguous in the batch. */
static void append_event_words(struct batch_stream *s, const uint64_t *events, size_t words)
{
	memcpy(s->words + s->end, events, words * sizeof(*events));
	s->end += words;
}

/*
 * Appends an event with the name that an earlier one of the batch has; one without such a name as it is. `rest`: so many
 * words still come behind it. False: no memory.
 */
static bool append_named_event(const struct batches *b, struct batch_stream *s,
			       const uint64_t *events, size_t at, size_t rest)
{
	uint64_t named[BATCH_EVENT_WORDS_MOST];
	size_t words = batch_event_add_name(events, at, named);
	const uint64_t *event = words ? named : events + at;

	if (!words)
		words = BATCH_EVENT_WORDS(event);
	if (!stream_reserve(b, s, words + rest))
		return false;
	append_event_words(s, event, words);
	return true;
}

/*
 * Appends the complete events from `at` on. In a batch that was handed over, an event without a
 * time will never be complete. In memory it may still become complete, and everything behind it
 * waits. An event with a time later than `now`, when it was read, would wait forever, so it gets
 * `now`.
 */
static size_t append_complete_events(const struct batches *b, struct batch_stream *s,
				     const uint64_t *events, size_t at, size_t n, uint64_t now,
				     bool handed)
{
	size_t from = at; /* the words from there to `at` are not copied yet */
	uint64_t last = s->last_ticks;

	while (at + BATCH_EVENT_HEAD <= n) {
		size_t words = BATCH_EVENT_WORDS(events + at);
		uint64_t ticks = events[at];

		if (rare(!ticks)) {
			s->last_ticks = last;
			words = handed ? skip_incomplete_event(s, events, at, n) : 0;
			if (!words)
				break;
			append_event_words(s, events + from, at - from);
			from = at += words;
			continue;
		}
		if (rare(words < BATCH_EVENT_HEAD || at + words > n))
			break;
		if (events[at + 2] & BATCH_EVENT_NAME_BEFORE || rare(ticks > now)) {
			size_t end;

			append_event_words(s, events + from, at - from);
			from = at;
			end = s->end - s->begin;
			if (!append_named_event(b, s, events, at, n - at - words))
				break;
			from += words;
			if (rare(ticks > now))
				ticks = s->words[s->begin + end] = now;
		}
		s->unsorted |= ticks < last;
		last = ticks > last ? ticks : last;
		s->events++;
		at += words;
	}
	append_event_words(s, events + from, at - from);
	s->last_ticks = last;
	return at;
}

/*
 * Appends the new events of an abandoned batch. An event that was being written then may still be
 * completed later.
 */
static void append_abandoned_batch(const struct batches *b, struct batch_stream *s,
				   const struct batch_head *head, const uint64_t *events, size_t n,
				   uint64_t now)
{
	size_t at = 0;

	if (!s->seen) {
		s->seen = calloc(BATCH_MAX / 8 / 64, sizeof(*s->seen));
		if (!s->seen)
			return;
		for (; at * 8 + head->base < s->seen_to && at < n; at++)
			s->seen[at / 64] |= 1ull << at % 64;
	}
	for (at = 0; at + BATCH_EVENT_HEAD <= n;) {
		size_t words = events[at] ? BATCH_EVENT_WORDS(events + at)
					  : skip_incomplete_event(s, events, at, n);

		if (words < BATCH_EVENT_HEAD || at + words > n)
			break;
		if (!stream_reserve(b, s, words))
			return;
		if (events[at] && !(s->seen[at / 64] & 1ull << at % 64)) {
			s->seen[at / 64] |= 1ull << at % 64;
			append_complete_events(b, s, events, at, at + words, now, true);
		}
		at += words;
	}
	s->seen_to = head->base + at * 8;
}

/*
 * Whether the missing events were handed over before the process was recorded, when nobody read
 * them.
 */
static bool gap_predates_recording(struct batches *b, const struct batch_stream *s)
{
	return s->was_there && s->thread &&
	       (!s->last_ticks ||
		batch_clock_ns(&b->clock, s->last_ticks) < s->thread->process->from_ns);
}

/* The program says how many events there were before, and may say anything. */
static uint64_t lost_in_gap(const struct batch_stream *s, const struct batch_head *head)
{
	uint64_t events = head->events - s->events;

	if ((int64_t)events <= 0)
		return 0;
	return events < UINT32_MAX ? events : UINT32_MAX;
}

/*
 * How many complete events should be in a batch and are not. Its program may let the numbers wrap around. A program that
 * claims more than the rest of the batch may claim anything.
 */
static uint64_t count_missing_events(const struct batch_stream *s, const struct batch_head *head)
{
	uint64_t complete = head->complete >> 16, missing = head->events + complete - s->events;

	if ((int64_t)missing <= 0)
		return 0;
	return missing < complete ? missing : complete;
}

void batch_stream_add(struct capture *c, struct batch_stream *s, const struct batch_head *head,
		      const uint64_t *events, size_t bytes, bool handed)
{
	struct batches *b = c->batches;
	size_t n = (head->used < bytes + sizeof(*head) ? head->used - sizeof(*head) : bytes) / 8;
	size_t before = s->end - s->begin, at;
	uint64_t now = batch_clock_now();

	s->searches = SEARCHES;
	if (handed && head->base > s->handed)
		batch_stream_skip_lost(b, s, head);
	if (head->base > s->seen_to) {
		if (!gap_predates_recording(b, s)) {
			s->lost += lost_in_gap(s, head);
			s->gap = s->end;
		}
		s->seen_to = head->base;
		s->events = head->events;
	}
	at = (s->seen_to - head->base) / 8;
	if (head->stuck >= BATCH_STUCK) {
		append_abandoned_batch(b, s, head, events, n, now);
	} else if (at < n) {
		if (stream_reserve(b, s, n - at))
			at = append_complete_events(b, s, events, at, n, now, handed);
		else if (!handed)
			return;
	}
	b->waiting += s->end - s->begin - before;
	if (handed) {
		uint64_t missing = count_missing_events(s, head);

		b->unreadable += missing;
		s->events += missing;
		/*
		 * It was given up for lost and has come after all; or it was abandoned and comes
		 * again.
		 */
		if (head->base + n * 8 < s->seen_to) {
			if (head->base >= s->found && head->stuck < BATCH_STUCK)
				b->unreadable += head->complete >> 16;
			return;
		}
		s->seen_to = head->base + n * 8;
		s->handed = s->seen_to;
		s->handed_events = s->events;
	} else if (head->stuck < BATCH_STUCK && at * 8 + head->base > s->seen_to) {
		s->seen_to = head->base + at * 8;
	}
}
