/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two sides of --otlp agree on, which is private to this folder. */
#ifndef PROFTRACE_OTLP_OTLP_INTERNAL_H
#define PROFTRACE_OTLP_OTLP_INTERNAL_H

#include "otlp/otlp.h"

#include "otlp.pb-c.h"

enum {
	OTLP_FRAMING = 256, /* tags, lengths and the scope around the items */
	OTLP_MAX_HEADERS = 16,
	OTLP_REPLY = 64 << 10, /* bytes of a collector's reply that are read */
};

/* A packet to the sender. What follows are fields of an export request: 1, and of a profile also 2. */
struct otlp_packet {
	uint32_t signal; /* OTLP_SIGNALS: the recording is over */
	uint32_t n;	 /* items */
	uint32_t group;	 /* packets of a later group replace those that wait; spans: 0 */
	uint8_t bytes[OTLP_ITEMS + OTLP_RESOURCE + OTLP_FRAMING];
};

#define OTLP_PACKET_HEAD offsetof(struct otlp_packet, bytes)

/* otlp_wire.c. Writes the number and returns how many bytes, at most ten. */
size_t otlp_put_varint(uint8_t *out, uint64_t value);
/* Writes field 1 of an export request around items of a resource: at most OTLP_FRAMING bytes more than these. */
size_t otlp_frame(uint8_t *out, const void *resource, size_t resource_size, const void *items,
		  size_t size);

/* Writes bytes as field 2: at most ten bytes more than these. */
size_t otlp_put_field_2(uint8_t *out, const void *bytes, size_t size);

/* otlp_reply.c: how many items a reply to an accepted request says were rejected; -1: it is not a reply. */
int64_t otlp_reply_rejected(const uint8_t *reply, size_t size, char *message, size_t message_size);

/*
 * otlp_headers.c: the headers in OTEL_EXPORTER_OTLP_HEADERS, "key=value,key=value" with %XX in values, each as
 * "key: value" in `out`, one behind the other with a NUL between. Returns their number or -EINVAL.
 */
int otlp_parse_headers(const char *text, char *out, size_t size);

/* otlp_sender.c: the process. Returns its exit status. */
int otlp_send_all(int socket, const struct otlp_options *options);

/* otlp_context.c: W3C trace context, "00-<32 hex>-<16 hex>-<2 hex>". */
struct otlp_context {
	uint8_t trace_id[16], span_id[8];
	bool sampled;
};
bool otlp_parse_traceparent(const char *text, size_t length, struct otlp_context *ret_context);

#endif
