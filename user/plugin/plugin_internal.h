/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's side of a plug-in: plugin.c encodes facts as messages; plugin_send.c sends them,
 * waits, and disables plug-ins that are too slow; outbox.c keeps what could not be sent yet.
 */
#ifndef PROFTRACE_PLUGIN_PLUGIN_INTERNAL_H
#define PROFTRACE_PLUGIN_PLUGIN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/plugin.h"
#include "plugin/plugin_wire.h"

/*
 * The outbox holds what has to go to the process of a plug-in over the socket and has not gone yet, because
 * that process reads slower than facts come. Nothing in it waits.
 */
struct outbox_part;

/* All zero at the beginning. */
struct outbox {
	struct outbox_part *first, *last;
	size_t bytes;	     /* of the parts that wait */
	uint64_t events;     /* in the parts that wait */
	uint64_t tried_ns;   /* the time of the last attempt to send */
	uint64_t stalled_ns; /* how long the peer has not read anything */
};

/*
 * Sends the bytes after those that wait, as far as the socket accepts them; the rest waits. Returns
 * 0 or negative errno.
 */
int outbox_put(struct outbox *o, int socket, const void *bytes, size_t size, uint64_t events);

/*
 * Sends what the socket accepts. Returns 0: nothing waits any more; -EAGAIN: something does; or
 * another negative errno.
 */
int outbox_send(struct outbox *o, int socket);

void outbox_clear(struct outbox *o);

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
