/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How ITT begins and ends. Each executable and library that is annotated has its own copy of ITT, and calls
 * __itt_api_init() once with its own list of functions, of a version of its own.
 */
#include "itt.h"

#include <dlfcn.h>
#include <string.h>

struct itt_functions itt_chained;

struct itt_row {
	const char *name;
	void *ours, **chained;
};

#define ITT_ROW(result, name, parameters) \
	{ "__itt_" #name, (void *)itt_##name, (void **)&itt_chained.name },
static const struct itt_row rows[] = { ITT_FUNCTIONS(ITT_ROW){ NULL, NULL, NULL } };
#undef ITT_ROW

/*
 * Functions that are called, and counted, only. To fill in nothing would do as well, but for whoever looks at the trace.
 * All take their arguments in registers or on the stack, and nobody reads them.
 */
/* clang-format off */
#define ITT_COUNTED(X) \
	X(sync_create) X(sync_rename) X(sync_destroy) X(sync_prepare) X(sync_cancel) \
	X(sync_acquired) X(sync_releasing) X(sync_set_name) X(notify_sync_name) \
	X(notify_sync_prepare) X(notify_sync_cancel) X(notify_sync_acquired) \
	X(notify_sync_releasing) X(suppress_push) X(suppress_pop) X(suppress_mark_range) \
	X(suppress_clear_range) X(model_site_begin) X(model_site_end) X(model_task_begin) \
	X(model_task_end) X(model_lock_acquire) X(model_lock_release) \
	X(heap_allocate_begin) X(heap_allocate_end) X(heap_free_begin) X(heap_free_end) \
	X(heap_reallocate_begin) X(heap_reallocate_end) X(heap_internal_access_begin) \
	X(heap_internal_access_end) X(stack_callee_enter) X(stack_callee_leave) \
	X(formatted_metadata_add) \
	X(formatted_metadata_add_overlapped) X(thread_ignore) X(mark_off) X(mark_global) \
	X(mark_global_off) X(detach) X(stack_caller_destroy) X(heap_record) \
	X(heap_reset_detection) X(heap_record_memory_growth_begin) \
	X(heap_record_memory_growth_end) X(memory_read) X(memory_write) X(memory_update) \
	X(model_record_allocation) X(model_record_deallocation) X(model_lock_acquire_2) \
	X(model_lock_release_2) X(thr_ignore) X(module_load) X(module_unload)
/* clang-format on */

#define ITT_DEFINE_COUNTED(name)                                            \
	static long itt_##name(void)                                        \
	{                                                                   \
		static struct unsupported u = { "ITT " #name, 0, NULL, 0 }; \
                                                                            \
		unsupported_count(&u);                                      \
		return 0;                                                   \
	}
ITT_COUNTED(ITT_DEFINE_COUNTED)
#undef ITT_DEFINE_COUNTED

/* Those that nobody has named yet, and those that return something. libomp ends the program where it gets NULL. */
static long itt_counted_other(void)
{
	static struct unsupported u = { "ITT functions of an unknown name", 0, NULL, 0 };

	unsupported_count(&u);
	return 0;
}

static void *itt_create_other(void)
{
	static struct unsupported u = { "ITT objects of an unsupported kind", 0, NULL, 0 };
	static uint64_t object[64]; /* larger than any of them: a program may read its own */

	unsupported_count(&u);
	return object;
}

#define ITT_COUNTED_ROW(name) { "__itt_" #name, (void *)itt_##name, NULL },
static const struct itt_row counted_rows[] = { ITT_COUNTED(ITT_COUNTED_ROW){ NULL, NULL, NULL } };
#undef ITT_COUNTED_ROW

static const struct itt_row *itt_row_find(const struct itt_row *row, const char *name)
{
	while (row->name && strcmp(row->name, name))
		row++;
	return row->name ? row : NULL;
}

static void *itt_counted_find(const char *name)
{
	const struct itt_row *row = itt_row_find(counted_rows, name);

	if (row)
		return row->ours;
	/* The library does these itself. */
	if (!strcmp(name, "__itt_api_version") || !strcmp(name, "__itt_enable_attach"))
		return NULL;
	return strstr(name, "_create") ? (void *)itt_create_other : (void *)itt_counted_other;
}

typedef void itt_api_init(struct itt_global *global, int groups);
typedef void itt_api_fini(struct itt_global *global);

static void *other_tool;

static void itt_chain(struct itt_global *global, int groups)
{
	static int tried;
	itt_api_init *init;
	void *library;

	if (!__atomic_exchange_n(&tried, 1, __ATOMIC_ACQ_REL))
		__atomic_store_n(&other_tool, chain_open("PROFTRACE_ITT_CHAIN", "__itt_api_init"),
				 __ATOMIC_RELEASE);
	library = __atomic_load_n(&other_tool, __ATOMIC_ACQUIRE);
	init = library ? (itt_api_init *)dlsym(library, "__itt_api_init") : NULL;
	if (init)
		init(global, groups);
}

/* What the other tool has put there is called by ours; where there is no function of ours, it stays. */
static void itt_fill_in(const struct itt_function *f, const void *before)
{
	const struct itt_row *row = itt_row_find(rows, f->name);
	void *const now = *f->place;
	const bool chained = now != before && now;

	if (row) {
		if (chained && now != row->ours)
			__atomic_store_n(row->chained, now, __ATOMIC_RELEASE);
		*f->place = row->ours;
	} else if (!chained) {
		void *const counted = itt_counted_find(f->name);

		if (counted)
			*f->place = counted;
	}
}

/* More than any version has. */
#define MAX_FUNCTIONS 512

EXPORTED void __itt_api_init(struct itt_global *global, int groups);
void __itt_api_init(struct itt_global *global, int groups)
{
	static const unsigned char magic[] = { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 };
	static struct unsupported unknown = { "ITT of an unknown version", 0, NULL, 0 };
	const struct itt_early_counter *counter;
	const struct itt_early_histogram *histogram;
	void *before[MAX_FUNCTIONS];
	unsigned i, n = 0;

	/* Before 2011 the list was another one. */
	if (!global || memcmp(global->magic, magic, sizeof(magic)) || global->major != 3 ||
	    global->build < 20110000 || !global->functions) {
		unsupported_count(&unknown);
		return;
	}
	while (n < MAX_FUNCTIONS && global->functions[n].name && global->functions[n].place) {
		before[n] = *global->functions[n].place;
		n++;
	}
	itt_chain(global, groups);
	for (i = 0; i < n; i++)
		itt_fill_in(&global->functions[i], before[i]);
	itt_clock_begin();
	if (global->build < ITT_BUILD_COUNTERS)
		return;
	for (counter = global->counters; counter; counter = counter->next)
		itt_counter_register(counter);
	for (i = 0; i < n && strcmp(global->functions[i].name, "__itt_histogram_create"); i++)
		;
	for (histogram = i < n ? global->histograms : NULL; histogram; histogram = histogram->next)
		itt_histogram_register(histogram);
}

EXPORTED void __itt_api_fini(struct itt_global *global);
void __itt_api_fini(struct itt_global *global)
{
	void *const library = __atomic_load_n(&other_tool, __ATOMIC_ACQUIRE);
	itt_api_fini *const fini =
		library ? (itt_api_fini *)dlsym(library, "__itt_api_fini") : NULL;

	if (fini)
		fini(global);
}
