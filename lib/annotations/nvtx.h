/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NVTX, version 3, as a tool sees it. A library that is annotated calls InitializeInjectionNvtx2() with a function that
 * returns tables; in those stand the places of the functions that its annotations call.
 */
#ifndef PROFTRACE_ANNOTATIONS_NVTX_H
#define PROFTRACE_ANNOTATIONS_NVTX_H

#include "annotations.h"

enum {
	NVTX_TABLE_CALLBACKS = 1, /* of the export tables */
	NVTX_CORE = 1,		  /* modules */
	NVTX_CORE2 = 5,
	NVTX_PAYLOAD = 0, /* an extension, of which only functions are numbered */
	NVTX_MESSAGE_ASCII = 1,
	NVTX_MESSAGE_WIDE = 2,
	NVTX_MESSAGE_REGISTERED = 3,
	NVTX_NO_TRACKING = -2, /* of push and pop, in place of a depth */
	NVTX_MAX_ARGS = 32,    /* more than an event keeps would be dropped by the recorder */
};

struct nvtx_callbacks {
	size_t size;
	int (*get_table)(int module, void ***(*ret_table), unsigned *ret_size);
};

/* What a program passes about an event. It says its size, and a tool reads no more than that. */
struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, n_payloads;
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
	} payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered;
	} message;
};

/* The same in our words. */
struct nvtx_event {
	const char *name;
	uint32_t category;
	unsigned n_args;
	prof_arg_t args[NVTX_MAX_ARGS +
			1]; /* the payload, and the number of a category without a name */
	char wide[NAME_KEPT + 3];
	size_t text_used;
	char text[2048]; /* of the payload: what its arguments point to */
};

struct nvtx_domain {
	const prof_runtime_domain_t *domain;
	uint32_t number;
};

/* nvtx_event.c */
void nvtx_event_read(void *domain, const struct nvtx_attributes *attributes,
		     struct nvtx_event *ret_event);

/* nvtx_names.c. A NULL handle is the domain "nvtx". */
struct nvtx_domain *nvtx_domain_find(const void *handle);
struct nvtx_domain *nvtx_default_domain(void);
/* The domain with the name of a category besides, or NULL where the category has none. */
const prof_runtime_domain_t *nvtx_category_find(const struct nvtx_domain *domain,
						uint32_t category);
const char *nvtx_string_find(const void *handle);

struct nvtx_payload;
struct nvtx_schema_attributes;
struct nvtx_enum_attributes;

/*
 * The functions: module, number, result, name, parameters. Each is defined as nvtx_NAME, and where there is another
 * tool, its own is in nvtx_chained.
 */
#define NVTX_FUNCTIONS(X)                                                                       \
	X(CORE, 1, void, mark_ex, (const struct nvtx_attributes *a))                            \
	X(CORE, 2, void, mark, (const char *message))                                           \
	X(CORE, 3, void, mark_wide, (const wchar_t *message))                                   \
	X(CORE, 4, uint64_t, range_start_ex, (const struct nvtx_attributes *a))                 \
	X(CORE, 5, uint64_t, range_start, (const char *message))                                \
	X(CORE, 6, uint64_t, range_start_wide, (const wchar_t *message))                        \
	X(CORE, 7, void, range_end, (uint64_t id))                                              \
	X(CORE, 8, int, range_push_ex, (const struct nvtx_attributes *a))                       \
	X(CORE, 9, int, range_push, (const char *message))                                      \
	X(CORE, 10, int, range_push_wide, (const wchar_t *message))                             \
	X(CORE, 11, int, range_pop, (void))                                                     \
	X(CORE, 12, void, name_category, (uint32_t category, const char *name))                 \
	X(CORE, 13, void, name_category_wide, (uint32_t category, const wchar_t *name))         \
	X(CORE, 14, void, name_thread, (uint32_t thread_id, const char *name))                  \
	X(CORE, 15, void, name_thread_wide, (uint32_t thread_id, const wchar_t *name))          \
	X(CORE2, 1, void, domain_mark_ex, (void *domain, const struct nvtx_attributes *a))      \
	X(CORE2, 2, uint64_t, domain_range_start_ex,                                            \
	  (void *domain, const struct nvtx_attributes *a))                                      \
	X(CORE2, 3, void, domain_range_end, (void *domain, uint64_t id))                        \
	X(CORE2, 4, int, domain_range_push_ex, (void *domain, const struct nvtx_attributes *a)) \
	X(CORE2, 5, int, domain_range_pop, (void *domain))                                      \
	X(CORE2, 6, void *, resource_create, (void *domain, void *attributes))                  \
	X(CORE2, 7, void, resource_destroy, (void *resource))                                   \
	X(CORE2, 8, void, domain_name_category,                                                 \
	  (void *domain, uint32_t category, const char *name))                                  \
	X(CORE2, 9, void, domain_name_category_wide,                                            \
	  (void *domain, uint32_t category, const wchar_t *name))                               \
	X(CORE2, 10, void *, string_register, (void *domain, const char *string))               \
	X(CORE2, 11, void *, string_register_wide, (void *domain, const wchar_t *string))       \
	X(CORE2, 12, void *, domain_create, (const char *name))                                 \
	X(CORE2, 13, void *, domain_create_wide, (const wchar_t *name))                         \
	X(CORE2, 14, void, domain_destroy, (void *domain))                                      \
	X(CORE2, 15, void, initialize, (const void *reserved))
/* Those of the payload extension, which has a module of its own. */
#define NVTX_PAYLOAD_FUNCTIONS(X)                                                                 \
	X(PAYLOAD, 0, uint64_t, schema_register,                                                  \
	  (void *domain, const struct nvtx_schema_attributes *a))                                 \
	X(PAYLOAD, 1, uint64_t, enum_register,                                                    \
	  (void *domain, const struct nvtx_enum_attributes *a))                                   \
	X(PAYLOAD, 2, void, mark_payload, (void *domain, const struct nvtx_payload *p, size_t n)) \
	X(PAYLOAD, 3, int, push_payload, (void *domain, const struct nvtx_payload *p, size_t n))  \
	X(PAYLOAD, 4, int, pop_payload, (void *domain, const struct nvtx_payload *p, size_t n))   \
	X(PAYLOAD, 5, uint64_t, start_payload,                                                    \
	  (void *domain, const struct nvtx_payload *p, size_t n))                                 \
	X(PAYLOAD, 6, void, end_payload,                                                          \
	  (void *domain, uint64_t id, const struct nvtx_payload *p, size_t n))                    \
	X(PAYLOAD, 7, uint8_t, is_enabled, (void *domain))

#define NVTX_DECLARE(module, number, result, name, parameters) result nvtx_##name parameters;
NVTX_FUNCTIONS(NVTX_DECLARE)
NVTX_PAYLOAD_FUNCTIONS(NVTX_DECLARE)
#undef NVTX_DECLARE

#define NVTX_MEMBER(module, number, result, name, parameters) result(*name) parameters;
struct nvtx_functions {
	NVTX_FUNCTIONS(NVTX_MEMBER)
	NVTX_PAYLOAD_FUNCTIONS(NVTX_MEMBER)
};
#undef NVTX_MEMBER
extern struct nvtx_functions nvtx_chained HIDDEN;

/* Calls the other tool, if there is one with that function. */
#define CHAIN(name, ...)                                \
	do {                                            \
		if (UNLIKELY(nvtx_chained.name))        \
			nvtx_chained.name(__VA_ARGS__); \
	} while (0)
/* The same for those whose result the program gets. */
#define CHAINED(name, otherwise, ...) \
	(UNLIKELY(nvtx_chained.name) ? nvtx_chained.name(__VA_ARGS__) : (otherwise))

#endif
