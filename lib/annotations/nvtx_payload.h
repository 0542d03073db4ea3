/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Payloads with a schema: binary data that a program passes with an event, and the description of it that the program has
 * registered. This is the payload extension of NVTX, whose functions are in a module of their own.
 */
#ifndef PROFTRACE_ANNOTATIONS_NVTX_PAYLOAD_H
#define PROFTRACE_ANNOTATIONS_NVTX_PAYLOAD_H

#include "nvtx.h"

/* What a program passes: the number of a schema, and bytes that it describes. */
struct nvtx_payload {
	uint64_t schema;
	size_t size; /* SIZE_MAX: that of the schema */
	const void *data;
};

struct nvtx_schema_entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail; /* the length of a string or an array, or which entry has it */
	uint64_t offset;
	const void *semantics, *reserved;
};

struct nvtx_schema_attributes {
	uint64_t mask; /* which of these are there: bit 1 is the name, and so on */
	const char *name;
	uint64_t type, flags;
	const struct nvtx_schema_entry *entries;
	size_t n_entries, static_size, alignment;
	uint64_t id;
	void *extension;
};

struct nvtx_enum_value {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};

struct nvtx_enum_attributes {
	uint64_t mask;
	const char *name;
	const struct nvtx_enum_value *values;
	size_t n_values, size;
	uint64_t id;
	void *extension;
};

/* nvtx_payload.c. An id of 0: the program has chosen none. Returns the one by which events name it. */
uint64_t nvtx_schema_add(void *domain, const struct nvtx_schema_attributes *a, uint64_t id);
uint64_t nvtx_enum_add(void *domain, const struct nvtx_enum_attributes *a, uint64_t id);

/* Adds the values to the arguments of an event. Returns the message or the schema's name, or NULL: there is none. */
const char *nvtx_payloads_read(void *domain, const struct nvtx_payload *payloads, size_t n,
			       struct nvtx_event *e);

#endif
