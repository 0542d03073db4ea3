/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's side of a plug-in: plugin.c encodes facts as messages; plugin_send.c sends them,
 * waits, and disables plug-ins that are too slow.
 */
#ifndef PROFTRACE_PLUGIN_PLUGIN_INTERNAL_H
#define PROFTRACE_PLUGIN_PLUGIN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/outbox.h"
#include "plugin/plugin.h"
#include "plugin/plugin_wire.h"

#define BUFFER (4 * PLUGIN_MESSAGE_MAX)

enum slowness {
	NOT_SLOW,
	TOOK_NOTHING,
	FELL_BEHIND,
	CUT_SHORT, /* the recording was about to end */
};

struct plugin {
	struct consumer consumer;
	char *library;
	int socket;
	pid_t pid;
	int process;  /* its pidfd, to wait for its end; -1: the kernel has none (before 5.3) */
	bool replied; /* `reply` says why it failed */
	struct plugin_reply reply;
	int status; /* the status from waitpid() */
	bool live;  /* the target may wait for the recorder, so the recorder must not wait */
	/* The number of signals so far that ask the recorder to end; NULL: not known. */
	unsigned (*signals)(void *context);
	void *context;
	unsigned signals_before; /* their number when we began to wait for the plug-in */
	uint64_t waited_ns;	 /* how long we have waited for it since then */
	enum slowness slow;
	uint64_t missed;    /* events that it was too slow to read */
	bool ending;	    /* its socket was closed, and its end has not been seen yet */
	uint64_t end_by_ns; /* by then it has to have ended */
	bool stayed;	    /* it did not end in time */
	bool overrun;	    /* the message being encoded is too long: it is not sent */
	struct outbox outbox;
	size_t used;
	uint64_t events; /* in `buffer` */
	char buffer[BUFFER];
};

static inline struct plugin *plugin_of(struct consumer *consumer)
{
	return (struct plugin *)consumer;
}

/*
 * Sends the messages in the buffer, now or later. Returns 0 or, when the plug-in is disabled,
 * negative errno.
 */
int plugin_send(struct plugin *p);
/* Waits until everything is sent and the reply has come. */
int plugin_wait_for_reply(struct plugin *p);
/* Ends its process, and leaves nothing of it behind. */
void plugin_stop(struct plugin *p, bool by_force);
int plugin_reply_error(const struct plugin *p);

#endif
