/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nearly every packet of a trace is an event of a few fields. These are taken apart here, into the
 * same structures that protobuf-c makes, in memory that is used again for each: neither checked
 * beforehand, nor allocated, nor cleared as a whole, which takes several times as long. Whatever else
 * a packet holds, or where it makes no sense, is left to the one who knows everything.
 */
#ifndef PROFTRACE_READERS_PERFETTO_FAST_H
#define PROFTRACE_READERS_PERFETTO_FAST_H

#include "readers/perfetto_internal.h"

enum {
	FAST_ANNOTATIONS = 16,
	FAST_NUMBERS = 8, /* of a repeated number */
	FAST_TEXT = 2048,
};

struct fast_packet {
	Packet packet;
	TrackEvent event;
	Annotation annotations[FAST_ANNOTATIONS];
	Annotation *list[FAST_ANNOTATIONS];
	uint64_t categories[FAST_NUMBERS];
	uint64_t counters[FAST_NUMBERS];
	int64_t values[FAST_NUMBERS];
	char text[FAST_TEXT]; /* strings, with their NUL */
	size_t used;
};

void fast_packet_init(struct fast_packet *fast);

/* Returns whether fast->packet is the packet at `bytes`; then it is valid until the next call. */
bool fast_packet_unpack(struct fast_packet *fast, const uint8_t *bytes, size_t size);

#endif
