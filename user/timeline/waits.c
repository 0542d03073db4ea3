/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits: each time that a thread was blocked becomes one fact, which says for how long, why, on
 * what, and who ended it. The reason comes just before the context switch at which the thread
 * blocks, and the waker with the waking. The partner of a wait is the waker and the slice that was
 * open on it: of a lock, its holder. A wakeup by an interrupt has no partner.
 */
#include "timeline/state.h"

#include <stdlib.h>
#include <string.h>

static const char *const reason_texts[WAIT_REASONS] = {
	[WAIT_UNKNOWN] = "unknown",	  [WAIT_FUTEX] = "futex",     [WAIT_READ] = "read",
	[WAIT_WRITE] = "write",		  [WAIT_POLL] = "poll",	      [WAIT_SLEEP] = "sleep",
	[WAIT_PAGE_FAULT] = "page_fault", [WAIT_CHILD] = "child",     [WAIT_SYNC] = "sync",
	[WAIT_IO_URING] = "io_uring",	  [WAIT_STOPPED] = "stopped", [WAIT_OTHER] = "other",
};

const char *wait_reason_text(enum wait_reason reason)
{
	return reason < WAIT_REASONS ? reason_texts[reason] : reason_texts[WAIT_UNKNOWN];
}

bool wait_reason_parse(const char *text, enum wait_reason *ret_reason)
{
	for (unsigned i = 0; i < WAIT_REASONS; i++) {
		if (strcmp(text, reason_texts[i]))
			continue;
		*ret_reason = (enum wait_reason)i;
		return true;
	}
	return false;
}

void timeline_wait_reasons(struct timeline *t)
{
	t->wait_reasons = true;
}

void waits_init(struct timeline *t)
{
	char key[64] = "blocked_in.";

	for (unsigned i = 0; i < WAIT_REASONS; i++) {
		t->reasons[i] = names_intern_string(t->names, reason_texts[i]);
		strcpy(key + strlen("blocked_in."), reason_texts[i]);
		strcat(key, "_ns");
		t->blocked_in_ns[i] = names_intern_string(t->names, key);
	}
	t->wait = names_intern_string(t->names, "wait");
	t->waits = names_intern_string(t->names, "waits");
	t->woken_by = names_intern_string(t->names, "woken_by");
	t->woken_by_tid = names_intern_string(t->names, "woken_by_tid");
	t->woken_by_pid = names_intern_string(t->names, "woken_by_pid");
	t->woken_by_slice = names_intern_string(t->names, "woken_by_slice");
}

void wait_release(struct timeline *t, struct thread_state *thread)
{
	if (thread->wait && thread->wait->track.uuid)
		t->n_tracks--;
	free(thread->wait);
	thread->wait = NULL;
}

static enum wait_reason reason_of_name(const struct timeline *t, const struct name *name)
{
	for (unsigned i = 0; i < WAIT_REASONS; i++) {
		if (t->reasons[i] == name)
			return (enum wait_reason)i;
	}
	return WAIT_UNKNOWN;
}

/* Keeps the argument, its text cut to what is left of the space. */
static void keep_wait_arg(struct thread_wait *wait, const struct arg *arg, size_t *used)
{
	struct arg *kept = &wait->args[wait->n_args++];
	size_t length;

	*kept = *arg;
	if (arg->type != ARG_STRING)
		return;
	length = text_fit(arg->s, arg->length, sizeof(wait->text) - *used - 1);
	kept->cut |= length < arg->length;
	kept->length = (uint32_t)length;
	kept->s = memcpy(wait->text + *used, arg->s, length);
	wait->text[*used + length] = '\0';
	*used += length + (*used + length + 1 < sizeof(wait->text));
}

static struct thread_wait *thread_wait_get(struct thread_state *thread)
{
	if (thread && !thread->wait)
		thread->wait = calloc(1, sizeof(*thread->wait));
	return thread ? thread->wait : NULL;
}

void wait_begin(struct timeline *t, const struct event *e)
{
	struct thread_wait *wait =
		thread_wait_get(thread_state_get(t, e->pid, e->tid, e->ts_ns, NULL));
	size_t used = 0;

	if (!wait)
		return;
	wait->since_ns = e->ts_ns;
	wait->reason = e->name ? reason_of_name(t, e->name) : WAIT_UNKNOWN;
	wait->n_args = 0;
	for (unsigned i = 0; i < e->n_args && i < WAIT_ARGS; i++)
		keep_wait_arg(wait, &e->args[i], &used);
}

enum wait_reason wait_reason_at(const struct thread_state *thread, uint64_t ts_ns)
{
	const struct thread_wait *wait = thread->wait;

	return wait && wait->since_ns == ts_ns ? wait->reason : WAIT_UNKNOWN;
}

/* --- the fact ------------------------------------------------------------------------------------ */

static bool declare_wait_track(struct timeline *t, struct thread_state *thread,
			       struct thread_wait *wait, uint64_t ts_ns)
{
	if (wait->track.uuid)
		return true;
	if (t->n_tracks >= t->limits.tracks)
		return false;
	wait->track.kind = TRACK_WAITS;
	wait->track.name = t->waits;
	wait->track.thread = &thread->pub;
	track_declare(t, thread->process, &wait->track, ts_ns);
	return true;
}

static struct arg name_arg(const struct name *key, const struct name *value)
{
	return (struct arg){
		.key = key, .type = ARG_STRING, .s = value->text, .length = value->length
	};
}

static void append_waker(struct timeline *t, struct fact *fact, const struct sched_task *waker)
{
	const struct thread_state *thread = thread_with_tid(t, waker->tid);
	const struct name *name = waker->comm;

	if (thread && thread->pub.name)
		name = thread->pub.name;
	if (name)
		append_arg(t, fact, name_arg(t->woken_by, name));
	append_arg(t, fact,
		   (struct arg){ .key = t->woken_by_tid, .type = ARG_UINT, .u = waker->tid });
	append_arg(t, fact,
		   (struct arg){ .key = t->woken_by_pid, .type = ARG_UINT, .u = waker->pid });
	if (thread && thread->n_slices)
		append_arg(t, fact,
			   name_arg(t->woken_by_slice, thread->slices[thread->n_slices - 1].name));
}

static void emit_wait_fact(struct timeline *t, struct thread_state *thread,
			   struct thread_wait *wait, struct fact *fact)
{
	const struct track *track = &wait->track;
	const struct slice *slice = thread->n_slices ? &thread->slices[thread->n_slices - 1] : NULL;

	if (!declare_wait_track(t, thread, wait, fact->begin_ns)) {
		t->account->waits_lost++;
		return;
	}
	fact->kind = FACT_WAIT;
	fact->process = thread->pub.process;
	fact->thread = &thread->pub;
	fact->category = t->wait;
	fact->inside = slice ? slice->name : NULL;
	fact->inside_category = slice ? slice->category : NULL;
	fact->tracks = &track;
	emit_fact(t, fact);
}

void wait_end(struct timeline *t, struct thread_state *thread, uint64_t begin_ns, uint64_t ts_ns,
	      const struct sched_task *waker)
{
	struct thread_wait *wait = t->wait_reasons ? thread_wait_get(thread) : NULL;
	struct fact fact = { .ts_ns = ts_ns, .begin_ns = begin_ns };

	if (!wait || begin_ns >= ts_ns)
		return;
	fact.wait_reason = wait_reason_at(thread, thread->sched->since_ns);
	fact.name = t->reasons[fact.wait_reason];
	if (wait->since_ns == thread->sched->since_ns) {
		fact.args = wait->args;
		fact.n_args = wait->n_args;
	}
	if (waker && waker->tid)
		append_waker(t, &fact, waker);
	emit_wait_fact(t, thread, wait, &fact);
}

void wait_whole(struct timeline *t, const struct event *e)
{
	struct thread_state *thread = thread_state_get(t, e->pid, e->tid, e->ts_ns, NULL);
	struct thread_wait *wait = thread_wait_get(thread);
	struct fact fact = { .ts_ns = e->ts_ns,
			     .begin_ns = e->ts_ns - (e->size < e->ts_ns ? e->size : e->ts_ns),
			     .n_args = e->n_args < EVENT_MAX_ARGS ? e->n_args : EVENT_MAX_ARGS,
			     .args = e->args };

	if (!wait) {
		t->account->waits_lost++;
		return;
	}
	fact.wait_reason = e->name ? reason_of_name(t, e->name) : WAIT_UNKNOWN;
	fact.name = t->reasons[fact.wait_reason];
	emit_wait_fact(t, thread, wait, &fact);
}
