/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How NVTX begins. Each executable and library that is annotated calls InitializeInjectionNvtx2() once, from its own
 * copy of NVTX with its own tables, at the first annotation.
 */
#include "nvtx.h"

#include <dlfcn.h>

struct nvtx_functions nvtx_chained;

struct nvtx_row {
	int module;
	unsigned number;
	void *ours, **chained;
};

#define NVTX_ROW(module, number, result, name, parameters) \
	{ NVTX_##module, number, (void *)nvtx_##name, (void **)&nvtx_chained.name },
static const struct nvtx_row rows[] = { NVTX_FUNCTIONS(NVTX_ROW){ 0, 0, NULL, NULL } };
static const struct nvtx_row payload_rows[] = { NVTX_PAYLOAD_FUNCTIONS(NVTX_ROW){ 0, 0, NULL,
										  NULL } };
#undef NVTX_ROW

#define N_ROWS (sizeof(rows) / sizeof(*rows) - 1)

typedef const void *nvtx_get_export_table(uint32_t id);
typedef int nvtx_initialize_injection(nvtx_get_export_table *get_export_table);

/* The place where a library keeps the function of a row, or NULL. */
static void **nvtx_place(const struct nvtx_callbacks *callbacks, const struct nvtx_row *row)
{
	void ***table = NULL;
	unsigned size = 0;

	if (!callbacks->get_table(row->module, &table, &size) || !table || row->number >= size)
		return NULL;
	return table[row->number];
}

/* A function of the other tool, or NULL. */
static void *nvtx_chain_find(const char *name)
{
	static void *other_tool;
	static int tried;
	void *library;

	/* NVTX itself calls from one thread at a time and library; several libraries may begin at once. */
	if (!__atomic_exchange_n(&tried, 1, __ATOMIC_ACQ_REL))
		__atomic_store_n(&other_tool,
				 chain_open("PROFTRACE_NVTX_CHAIN", "InitializeInjectionNvtx2"),
				 __ATOMIC_RELEASE);
	library = __atomic_load_n(&other_tool, __ATOMIC_ACQUIRE);
	return library ? dlsym(library, name) : NULL;
}

static int nvtx_chain(nvtx_get_export_table *get_export_table)
{
	nvtx_initialize_injection *const initialize =
		(nvtx_initialize_injection *)nvtx_chain_find("InitializeInjectionNvtx2");

	return initialize && initialize(get_export_table);
}

EXPORTED int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table);
int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table)
{
	static struct unsupported unknown = { "NVTX of an unknown version", 0, NULL, 0 };
	const struct nvtx_callbacks *callbacks;
	void *before[N_ROWS] = { NULL };
	unsigned i, n = 0;

	callbacks = get_export_table ? get_export_table(NVTX_TABLE_CALLBACKS) : NULL;
	if (!callbacks || callbacks->size < sizeof(*callbacks) || !callbacks->get_table) {
		unsupported_count(&unknown);
		return 0;
	}
	for (i = 0; i < N_ROWS; i++) {
		void **place = nvtx_place(callbacks, &rows[i]);

		before[i] = place ? *place : NULL;
	}
	if (!nvtx_chain(get_export_table)) {
		for (i = 0; i < N_ROWS; i++) {
			void **place = nvtx_place(callbacks, &rows[i]);

			if (place)
				*place = before[i];
		}
	}
	for (i = 0; i < N_ROWS; i++) {
		void **place = nvtx_place(callbacks, &rows[i]);

		if (!place)
			continue;
		n++;
		/* What the other tool has put there. A second call finds our own. */
		if (*place != before[i] && *place != rows[i].ours)
			__atomic_store_n(rows[i].chained, *place, __ATOMIC_RELEASE);
		*place = rows[i].ours;
	}
	if (!n)
		unsupported_count(&unknown);
	return n != 0;
}

/* An extension of NVTX, with the places of its functions: 0, and 1 for one that is not to be called. */
struct nvtx_segment {
	size_t number, n;
	void **functions;
};
struct nvtx_extension {
	uint16_t nvtx_version, size;
	uint16_t module, version;
	size_t n_segments;
	struct nvtx_segment *segments;
	void *(*get_export)(uint32_t id);
	const void *info;
};
typedef int nvtx_initialize_extension(struct nvtx_extension *extension);

#define PAYLOAD_MODULE	2
#define PAYLOAD_VERSION 1 /* the high byte; the low one adds to it */

EXPORTED int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);
int InitializeInjectionNvtxExtension(struct nvtx_extension *extension)
{
	static struct unsupported unknown = { "NVTX extensions that are unknown", 0, NULL, 0 };
	nvtx_initialize_extension *const initialize =
		(nvtx_initialize_extension *)nvtx_chain_find("InitializeInjectionNvtxExtension");
	const int chained = initialize && initialize(extension);
	const struct nvtx_row *row;
	struct nvtx_segment *s;

	if (extension->size < sizeof(*extension) || extension->module != PAYLOAD_MODULE ||
	    extension->version >> 8 != PAYLOAD_VERSION || !extension->n_segments ||
	    !extension->segments->functions) {
		unsupported_count(&unknown);
		return chained;
	}
	s = extension->segments;
	for (row = payload_rows; row->ours; row++) {
		void **const place = row->number < s->n ? &s->functions[row->number] : NULL;

		if (!place)
			continue;
		if (chained && (uintptr_t)*place > 1 && *place != row->ours)
			__atomic_store_n(row->chained, *place, __ATOMIC_RELEASE);
		*place = row->ours;
	}
	return 1;
}
