/* SPDX-License-Identifier: BSD-2-Clause */
/* What makes up a plug-in: what it is told (plugin.c), and when it is sent that or given up (plugin_send.c). */
#ifndef PROFTRACE_HANDLERS_PLUGIN_INTERNAL_H
#define PROFTRACE_HANDLERS_PLUGIN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "handlers/outbox.h"
#include "handlers/plugin.h"
#include "handlers/plugin_wire.h"

#define BUFFER (4 * PLUGIN_MESSAGE_MAX)

enum slowness {
	NOT_SLOW,
	TOOK_NOTHING,
	FELL_BEHIND,
	CUT_SHORT, /* the recording was to end */
};

struct plugin {
	struct handler handler;
	char *library;
	int socket;
	pid_t pid;
	int process;  /* a descriptor of it, to wait for its end; -1: the kernel gives none */
	bool replied; /* the reply says why */
	struct plugin_reply reply;
	int status;			    /* as waitpid() gave it */
	bool live;			    /* others wait for us: we do not wait for it */
	unsigned (*signals)(void *context); /* that shall end us, so far; NULL: nobody knows */
	void *context;
	unsigned signals_before; /* of them, when we began to wait for it */
	uint64_t waited_ns;	 /* for it to take something, since then */
	enum slowness slow;
	uint64_t missed;    /* events that it did not take for being slow */
	bool ending;	    /* it was told to, and nobody has seen yet that it has */
	uint64_t end_by_ns; /* then it has to have */
	bool stayed;	    /* when it was to end */
	bool overrun;	    /* by the message that is being put together: it is not sent */
	struct outbox outbox;
	size_t used;
	uint64_t events; /* in the buffer */
	char buffer[BUFFER];
};

static inline struct plugin *plugin_of(struct handler *handler)
{
	return (struct plugin *)handler;
}

/* What was put together goes, now or later. Returns 0 or, when it is given up, negative errno. */
int plugin_send(struct plugin *p);
/* Until all has gone, and the answer is there. */
int plugin_wait_for_reply(struct plugin *p);
/* It is to end, and nothing of it stays behind. */
void plugin_bury(struct plugin *p, bool by_force);
int plugin_reply_error(const struct plugin *p);

#endif
