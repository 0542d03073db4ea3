/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aligns clocks by the messages that the recorded programs sent to each other. With --join-flows, an arrow that begins in
 * one trace and ends in another is a message: it was not received before it was sent. Each message of one direction is
 * a limit of the offset between two clocks, and each one of the other direction a limit on the other side. The offset
 * is in the middle of what is left between them, and half of that is the most that it can be wrong, as long as both
 * clocks have the same rate.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "merge/merge.h"

enum {
	MAX_MESSAGES = 1 << 17, /* of one trace; more hardly add to what is known */
};

struct message {
	UT_hash_handle hh;
	uint64_t id;
	uint64_t out_ns, in_ns; /* 0: it is not in this trace */
	bool is_ambiguous;	/* the id is used again */
};

struct messages {
	struct message *table;
};

static void messages_free(struct messages *m)
{
	hash_clear(hh, m->table, message);
}

static int read_message(void *context, const struct event *e)
{
	struct messages *m = context;
	struct message *message;
	uint64_t *ns;

	if (e->kind != EVENT_FLOW_OUT && e->kind != EVENT_FLOW_IN)
		return 0;
	HASH_FIND(hh, m->table, &e->id, sizeof(e->id), message);
	if (!message && HASH_COUNT(m->table) < MAX_MESSAGES)
		message = hash_add_new(hh, m->table, id, e->id);
	if (!message)
		return 0;
	ns = e->kind == EVENT_FLOW_OUT ? &message->out_ns : &message->in_ns;
	message->is_ambiguous |= *ns != 0;
	*ns = e->ts_ns;
	return 0;
}

void message_limits_add(struct message_limits *l, uint64_t sent_ns, uint64_t received_ns,
			bool by_reference)
{
	int64_t ns;

	/* Times that far apart were not times. */
	if (__builtin_sub_overflow(by_reference ? sent_ns : received_ns,
				   by_reference ? received_ns : sent_ns, &ns))
		return;
	if (by_reference && (!l->n_sent++ || ns > l->least_ns))
		l->least_ns = ns;
	if (!by_reference && (!l->n_received++ || ns < l->most_ns))
		l->most_ns = ns;
}

static struct message_limits find_limits(const struct messages *reference,
					 const struct messages *other)
{
	struct message_limits l = { 0 };
	const struct message *message, *found;

	for (message = other->table; message; message = message->hh.next) {
		HASH_FIND(hh, reference->table, &message->id, sizeof(message->id), found);
		if (!found || found->is_ambiguous || message->is_ambiguous)
			continue;
		if (found->out_ns && !found->in_ns && message->in_ns && !message->out_ns)
			message_limits_add(&l, found->out_ns, message->in_ns, true);
		if (message->out_ns && !message->in_ns && found->in_ns && !found->out_ns)
			message_limits_add(&l, message->out_ns, found->in_ns, false);
	}
	return l;
}

void align_by_messages(const struct message_limits *l, struct part *part)
{
	uint64_t width = (uint64_t)l->most_ns - (uint64_t)l->least_ns, error_ns;

	if (!l->n_sent || !l->n_received || (l->least_ns <= l->most_ns && width > INT64_MAX))
		return;
	if (l->least_ns > l->most_ns) {
		const size_t length = strlen(part->how);

		snprintf(part->how + length, sizeof(part->how) - length,
			 ", not by messages: they contradict each other");
		return;
	}
	error_ns = width / 2 + width % 2;
	/* Clocks that are known better, by PTP for example. */
	if (part->by_realtime && part->pair_error_ns <= error_ns &&
	    part->offset_ns >= l->least_ns && part->offset_ns <= l->most_ns)
		return;
	part->offset_ns = l->least_ns + (int64_t)(width / 2);
	part->pair_error_ns = error_ns;
	part->by_realtime = false;
	part->by_messages = true;
	snprintf(part->how, sizeof(part->how),
		 "by %" PRIu64 " messages to it and %" PRIu64 " from it", l->n_sent, l->n_received);
}

int merge_align_messages(struct part *reference, struct part *parts, unsigned n, struct failure *f)
{
	struct messages ours = { 0 };
	bool have_ours = false;
	int error = 0;

	for (unsigned i = 0; i < n && !error; i++) {
		struct messages theirs = { 0 };
		struct message_limits limits;

		if (parts[i].is_reference || parts[i].same_boot)
			continue;
		if (!have_ours)
			error = source_read_events(&reference->source, read_message, &ours, f);
		have_ours = true;
		/* None of the others can have a message in common with it, and need not be read. */
		if (!ours.table)
			break;
		error = error ?: source_read_events(&parts[i].source, read_message, &theirs, f);
		limits = find_limits(&ours, &theirs);
		if (!error)
			align_by_messages(&limits, &parts[i]);
		messages_free(&theirs);
	}
	messages_free(&ours);
	return error;
}
