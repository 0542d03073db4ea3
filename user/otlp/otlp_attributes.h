/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of marks, and what a process is, as attributes. */
#ifndef PROFTRACE_OTLP_OTLP_ATTRIBUTES_H
#define PROFTRACE_OTLP_OTLP_ATTRIBUTES_H

#include "otlp/otlp_internal.h"
#include "timeline/fact.h"

/* Attributes for one message. They borrow the strings that they are made of. */
struct otlp_attributes {
	unsigned n, dropped;
	char cut[EVENT_MAX_STRING +
		 8]; /* of the one string that was cut; of further ones the mark is missing */
	bool cut_used;
	Otlp__KeyValue *list[EVENT_MAX_ARGS];
	Otlp__KeyValue pairs[EVENT_MAX_ARGS];
	Otlp__AnyValue values[EVENT_MAX_ARGS];
	char texts[EVENT_MAX_ARGS][24]; /* numbers that OTLP has no type for */
};

void otlp_attributes_clear(struct otlp_attributes *a);
void otlp_attributes_add_text(struct otlp_attributes *a, const char *key, const char *value);
void otlp_attributes_add_number(struct otlp_attributes *a, const char *key, uint32_t number);
void otlp_attributes_add(struct otlp_attributes *a, const struct arg *args, unsigned n);
/*
 * The resource of a process, packed. Returns its size, at most OTLP_RESOURCE; `host` may be NULL or empty. `process` NULL:
 * proftrace itself.
 */
size_t otlp_pack_resource(const struct process *process, const char *host, uint8_t *out);

#endif
