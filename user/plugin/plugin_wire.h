/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol between the recorder and the process of a plug-in: messages over a stream socket,
 * each a head, then numbers, then texts. Both processes are the same program, so numbers are in the
 * processor's own layout.
 */
#ifndef PROFTRACE_PLUGIN_PLUGIN_WIRE_H
#define PROFTRACE_PLUGIN_PLUGIN_WIRE_H

#include <stdint.h>

#include "timeline/fact.h"

#define PLUGIN_ARGS 64 /* arguments of an event, at most */

enum plugin_message {
	PLUGIN_OPEN = 1, /* texts: version, library, argument */
	PLUGIN_PROCESS,	 /* a process is declared or renamed; text: name */
	PLUGIN_THREAD,	 /* a thread is declared or renamed; text: name */
	PLUGIN_EXIT,	 /* a process or thread has exited */
	PLUGIN_DURATION, /* struct plugin_event */
	PLUGIN_INSTANT,
	PLUGIN_COUNTER,
	PLUGIN_JSON_FILE, /* text: path */
	PLUGIN_FLUSH,
	PLUGIN_CLOSE,
};

struct plugin_head {
	uint32_t size; /* of the message, with this head */
	uint32_t message;
};

struct plugin_open {
	struct plugin_head head;
	uint64_t start_ns;
	uint64_t start_realtime_ns;
	uint32_t version; /* bytes of the texts, including their NULs */
	uint32_t library;
	uint32_t argument;
};

/* PROCESS, THREAD, EXIT. */
struct plugin_owner {
	struct plugin_head head;
	uint64_t uuid;
	uint64_t process; /* of a thread */
	uint32_t id;	  /* pid or tid */
	uint32_t name;
};

struct plugin_close {
	struct plugin_head head;
	uint64_t marked;
	uint64_t written;
	uint64_t lost;
	uint32_t orderly;
};

struct plugin_event {
	struct plugin_head head;
	uint64_t ts_ns;
	uint64_t process; /* uuids, 0: none */
	uint64_t thread;
	uint64_t id;
	uint64_t begin_ns;
	uint64_t self_ns;
	uint64_t epoch;
	uint64_t batch;
	uint8_t stepped;
	uint8_t is_start;
	uint8_t is_async;
	uint8_t is_complete;
	uint8_t scope;
	uint8_t n_args; /* so many struct plugin_arg follow; then the texts, each with a NUL */
	uint16_t name;
	uint16_t categories;
	uint16_t unit;
};

struct plugin_arg {
	uint64_t value;
	uint16_t key; /* bytes, including the NUL */
	uint16_t type;
	uint32_t length; /* of a string, including the NUL */
};

/* The reply to OPEN and to CLOSE, and the last message when a function of the plug-in failed. */
struct plugin_reply {
	int32_t error; /* 0, negative errno, or whatever the plug-in returned */
	char what[28]; /* the function that failed */
	char why[224]; /* the message of the dynamic linker; may be empty */
};

/* No message is longer. The longest is an event whose texts all have their maximum length. */
#define PLUGIN_MESSAGE_MAX 131072

_Static_assert(sizeof(struct plugin_event) + 3 * (LIMIT_NAME + 1) +
			       PLUGIN_ARGS * (sizeof(struct plugin_arg) + LIMIT_KEY + 1 +
					      LIMIT_STRING + sizeof(TEXT_CUT_MARK)) <=
		       PLUGIN_MESSAGE_MAX,
	       "every event fits");
_Static_assert(LIMIT_NAME < UINT16_MAX && LIMIT_KEY < UINT16_MAX, "and the lengths of its texts");

#endif
