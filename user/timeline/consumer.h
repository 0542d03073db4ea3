/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface through which the timeline passes facts on.
 *
 * A consumer is whatever facts go to: a trace writer (formats/), a report (reports/), the
 * recorder's side of a plug-in (plugin/, which users name with --handler). It is a small table of
 * functions that knows a format and nothing else, so that none of them depends on where events come
 * from, and the timeline on none of them. All consumers see the same facts in the same order.
 */
#ifndef PROFTRACE_TIMELINE_CONSUMER_H
#define PROFTRACE_TIMELINE_CONSUMER_H

#include "timeline/account.h"
#include "timeline/fact.h"

struct consumer;

struct consumer_ops {
	/*
	 * One fact. Returns 0 or negative errno; after an error the consumer is not called again,
	 * except free.
	 */
	int (*fact)(struct consumer *consumer, const struct fact *fact);
	/* Completes in the file what it has got so far; NULL, as `close`, if it writes none. */
	int (*flush)(struct consumer *consumer);
	/* The last call before free: the account is final. */
	int (*close)(struct consumer *consumer, const struct account *account);
	void (*free)(struct consumer *consumer);
};

struct consumer {
	const struct consumer_ops *ops;
	int error; /* set by the timeline: the error this consumer stopped with */
};

#endif
