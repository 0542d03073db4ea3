/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ITT as a tool sees it. A library that is annotated has a list of its functions by name, each with a pointer that a
 * tool may fill in. It calls __itt_api_init() with that list at the first annotation. Domains and strings are structures
 * that both sides know: those made before stand in the library's own lists, and their names are read from themselves.
 */
#ifndef PROFTRACE_ANNOTATIONS_ITT_H
#define PROFTRACE_ANNOTATIONS_ITT_H

#include <pthread.h>

#include "annotations.h"

struct itt_function {
	const char *name;
	void **place;
	void *initial, *none;
	int group;
};

struct itt_domain {
	volatile int enabled;
	const char *name;
	void *wide_name;
	int extra1;
	void *extra2;
	struct itt_domain *next;
};

struct itt_string {
	const char *text;
	void *wide_text;
	int extra1;
	void *extra2;
	struct itt_string *next;
};

struct itt_id {
	unsigned long long d1, d2, d3;
};

/* The beginning of a counter that the library made before. */
struct itt_early_counter {
	const char *name;
	void *wide_name;
	const char *domain;
	void *wide_domain;
	int type;
	long index;
	int extra1;
	void *extra2;
	struct itt_early_counter *next;
};

/* The same of a histogram. The types of the numbers in x and y; 0: there are none in x. */
struct itt_early_histogram {
	const struct itt_domain *domain;
	const char *name;
	void *wide_name;
	int x_type, y_type;
	int extra1;
	void *extra2;
	struct itt_early_histogram *next;
};

/* A clock that the program reads: its ticks in a second, and what it says now. */
struct itt_clock_info {
	unsigned long long frequency, base;
};
typedef void itt_clock_read(struct itt_clock_info *ret_info, void *data);
struct itt_clock {
	struct itt_clock_info info;
	itt_clock_read *read;
	void *data;
	int extra1;
	void *extra2;
	struct itt_clock *next;
};

struct itt_global {
	unsigned char magic[8];
	unsigned long major, minor, build; /* the minor version is 0 in all */
	volatile long initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *library, *error_handler;
	const char **path;
	struct itt_function *functions;
	struct itt_global *next;
	void *threads;
	struct itt_domain *domains;
	struct itt_string *strings;
	int state; /* from ITT_BUILD_COUNTERS on, as what follows */
	struct itt_early_counter *counters;
	unsigned int collects_events;
	struct itt_early_histogram *histograms; /* of those that have histogram_create */
};
#define ITT_BUILD_COUNTERS 20180723

enum itt_type {
	ITT_U64 = 1,
	ITT_S64,
	ITT_U32,
	ITT_S32,
	ITT_U16,
	ITT_S16,
	ITT_FLOAT,
	ITT_DOUBLE,
};

/* Of a library that was unloaded, another one's domain may have got the address. */
static inline bool itt_domain_is_named(const struct itt_domain *domain,
				       const prof_runtime_domain_t *known)
{
	return !domain || (domain->name && known->name && text_is_same(domain->name, known->name));
}

/* itt_names.c. NULL, and what has no name, is the domain "itt". */
SELDOM const prof_runtime_domain_t *itt_domain_look_up(const struct itt_domain *domain,
						       bool has_begun);
static inline const prof_runtime_domain_t *itt_domain_find(const struct itt_domain *domain)
{
	const prof_runtime_domain_t *const known = thread.itt_domain;

	if (LIKELY(known && thread.itt_handle == domain && itt_domain_is_named(domain, known)))
		return known;
	return itt_domain_look_up(domain, false);
}
/* The same for the end of what has begun, which has looked at the domain's name. */
static inline const prof_runtime_domain_t *itt_domain_begun(const struct itt_domain *domain)
{
	const prof_runtime_domain_t *const known = thread.itt_domain;

	if (LIKELY(known && thread.itt_handle == domain))
		return known;
	return itt_domain_look_up(domain, true);
}
static inline bool itt_id_is_null(const struct itt_id *id)
{
	return !(id->d1 | id->d2 | id->d3);
}
/* By its id, in its domain. Regions, and tasks with times, may have the ids of tasks. */
static inline uint64_t itt_open_key(const prof_runtime_domain_t *domain, const struct itt_id *id,
				    uint64_t kind)
{
	uint64_t key = ((uint64_t)(uintptr_t)domain + kind) * UINT64_C(0x9e3779b97f4a7c15);

	/* Mixed before the id: the next number, or the next domain, is not the next kind. */
	key = ((key ^ key >> 33) ^ id->d1) * UINT64_C(0xff51afd7ed558ccd);
	key = ((key ^ key >> 33) ^ id->d2) * UINT64_C(0xc4ceb9fe1a85ec53);
	key = ((key ^ key >> 33) ^ id->d3) * UINT64_C(0xff51afd7ed558ccd);
	return key ^ key >> 33;
}
static inline const char *itt_text(const struct itt_string *string)
{
	return string && string->text ? string->text : "(no name)";
}

/* itt_clocks.c: the clock of another tool is compared with ours from here on. */
void itt_clock_begin(void);
/*
 * A time of a clock that the program has created, in nanoseconds of CLOCK_MONOTONIC. NULL: of itt_get_timestamp(). False:
 * nobody knows the clock, which is counted.
 */
bool itt_clock_convert(const struct itt_clock *clock, uint64_t *time);
/* Whether a slice can have these times. If not, it is counted. */
bool itt_times_are_possible(uint64_t begin, uint64_t end);

/* itt_timed.c: the track of what comes with its times: that of the domain, or the one that the thread has set. */
const prof_track_t *itt_track_of(const prof_runtime_domain_t *domain);

/* itt_relations.c: a task with an id begins; arrows may begin and end there. */
SELDOM void itt_relate_begun(const prof_runtime_domain_t *domain, const struct itt_id *id);
bool itt_relations_any(void);

/* itt_histograms.c */
void itt_histogram_register(const struct itt_early_histogram *early);

extern struct unsupported itt_bad_type HIDDEN, itt_too_many HIDDEN;
/* itt_values.c. Returns whether the type is known. */
bool itt_value_read(enum itt_type type, const void *at, const char *key, prof_arg_t *ret_arg);
void itt_counter_register(const struct itt_early_counter *early);
uint64_t itt_type_size(enum itt_type type);

/*
 * The functions: result, name, parameters. Each is defined as itt_NAME, and where there is another tool, its own is in
 * itt_chained.
 */
typedef const struct itt_domain *itt_domain_t;
typedef const struct itt_string *itt_string_t;
#define ITT_FUNCTIONS(X)                                                                          \
	X(struct itt_domain *, domain_create, (const char *name))                                 \
	X(struct itt_string *, string_handle_create, (const char *text))                          \
	X(void, thread_set_name, (const char *name))                                              \
	X(void, pause, (void))                                                                    \
	X(void, resume, (void))                                                                   \
	X(struct itt_clock *, clock_domain_create, (itt_clock_read * read, void *data))           \
	X(void, clock_domain_reset, (void))                                                       \
	X(void *, track_group_create, (itt_string_t name, int type))                              \
	X(void *, track_create, (void *group, itt_string_t name, int type))                       \
	X(void, set_track, (void *track))                                                         \
	X(void, pause_scoped, (int scope))                                                        \
	X(void, resume_scoped, (int scope))                                                       \
	X(int, thr_name_set, (const char *name, int length))                                      \
	X(void, id_create, (itt_domain_t domain, struct itt_id id))                               \
	X(void, id_destroy, (itt_domain_t domain, struct itt_id id))                              \
	X(unsigned long long, get_timestamp, (void))                                              \
	X(void, task_begin,                                                                       \
	  (itt_domain_t domain, struct itt_id id, struct itt_id parent, itt_string_t name))       \
	X(void, task_begin_fn,                                                                    \
	  (itt_domain_t domain, struct itt_id id, struct itt_id parent, void *function))          \
	X(void, task_end, (itt_domain_t domain))                                                  \
	X(void, task_begin_overlapped,                                                            \
	  (itt_domain_t domain, struct itt_id id, struct itt_id parent, itt_string_t name))       \
	X(void, task_end_overlapped, (itt_domain_t domain, struct itt_id id))                     \
	X(void, region_begin,                                                                     \
	  (itt_domain_t domain, struct itt_id id, struct itt_id parent, itt_string_t name))       \
	X(void, region_end, (itt_domain_t domain, struct itt_id id))                              \
	X(void, task_begin_ex,                                                                    \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time,                \
	   struct itt_id id, struct itt_id parent, itt_string_t name))                            \
	X(void, task_begin_fn_ex,                                                                 \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time,                \
	   struct itt_id id, struct itt_id parent, void *function))                               \
	X(void, task_end_ex,                                                                      \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time))               \
	X(void, task_begin_overlapped_ex,                                                         \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time,                \
	   struct itt_id id, struct itt_id parent, itt_string_t name))                            \
	X(void, task_end_overlapped_ex,                                                           \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time,                \
	   struct itt_id id))                                                                     \
	X(void, marker_ex,                                                                        \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time,                \
	   struct itt_id id, itt_string_t name, int scope))                                       \
	X(void, id_create_ex,                                                                     \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time,                \
	   struct itt_id id))                                                                     \
	X(void, id_destroy_ex,                                                                    \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time,                \
	   struct itt_id id))                                                                     \
	X(void, task_group,                                                                       \
	  (itt_domain_t domain, struct itt_id id, struct itt_id parent, itt_string_t name))       \
	X(void, relation_add,                                                                     \
	  (itt_domain_t domain, struct itt_id head, int relation, struct itt_id tail))            \
	X(void, relation_add_to_current, (itt_domain_t domain, int relation, struct itt_id tail)) \
	X(void, relation_add_ex,                                                                  \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time,                \
	   struct itt_id head, int relation, struct itt_id tail))                                 \
	X(void, relation_add_to_current_ex,                                                       \
	  (itt_domain_t domain, struct itt_clock * clock, unsigned long long time, int relation,  \
	   struct itt_id tail))                                                                   \
	X(void *, histogram_create,                                                               \
	  (itt_domain_t domain, const char *name, int x_type, int y_type))                        \
	X(void, histogram_submit, (void *histogram, size_t length, void *x, void *y))             \
	X(void, frame_begin_v3, (itt_domain_t domain, struct itt_id * id))                        \
	X(void, frame_end_v3, (itt_domain_t domain, struct itt_id * id))                          \
	X(void, frame_submit_v3,                                                                  \
	  (itt_domain_t domain, struct itt_id * id, unsigned long long begin,                     \
	   unsigned long long end))                                                               \
	X(void *, frame_create, (const char *domain))                                             \
	X(void, frame_begin, (void *frame))                                                       \
	X(void, frame_end, (void *frame))                                                         \
	X(void, marker, (itt_domain_t domain, struct itt_id id, itt_string_t name, int scope))    \
	X(void, metadata_add,                                                                     \
	  (itt_domain_t domain, struct itt_id id, itt_string_t key, int type, size_t count,       \
	   void *data))                                                                           \
	X(void, metadata_str_add,                                                                 \
	  (itt_domain_t domain, struct itt_id id, itt_string_t key, const char *data,             \
	   size_t length))                                                                        \
	X(void, metadata_add_with_scope,                                                          \
	  (itt_domain_t domain, int scope, itt_string_t key, int type, size_t count, void *data)) \
	X(void, metadata_str_add_with_scope,                                                      \
	  (itt_domain_t domain, int scope, itt_string_t key, const char *data, size_t length))    \
	X(void *, counter_create, (const char *name, const char *domain))                         \
	X(void *, counter_create_typed, (const char *name, const char *domain, int type))         \
	X(void *, counter_create_v3, (itt_domain_t domain, const char *name, int type))           \
	X(void, counter_destroy, (void *counter))                                                 \
	X(void, counter_inc, (void *counter))                                                     \
	X(void, counter_inc_delta, (void *counter, unsigned long long by))                        \
	X(void, counter_dec, (void *counter))                                                     \
	X(void, counter_dec_delta, (void *counter, unsigned long long by))                        \
	X(void, counter_set_value, (void *counter, void *value))                                  \
	X(void, counter_set_value_v3, (void *counter, void *value))                               \
	X(void, counter_set_value_ex,                                                             \
	  (void *counter, struct itt_clock *clock, unsigned long long time, void *value))         \
	X(void, counter_inc_v3, (itt_domain_t domain, itt_string_t name))                         \
	X(void, counter_inc_delta_v3,                                                             \
	  (itt_domain_t domain, itt_string_t name, unsigned long long by))                        \
	X(void, counter_dec_v3, (itt_domain_t domain, itt_string_t name))                         \
	X(void, counter_dec_delta_v3,                                                             \
	  (itt_domain_t domain, itt_string_t name, unsigned long long by))                        \
	X(int, event_create, (const char *name, int length))                                      \
	X(int, event_start, (int event))                                                          \
	X(int, event_end, (int event))                                                            \
	X(int, mark_create, (const char *name))                                                   \
	X(int, mark, (int mark, const char *parameter))

#define ITT_DECLARE(result, name, parameters) result itt_##name parameters;
ITT_FUNCTIONS(ITT_DECLARE)
#undef ITT_DECLARE

#define ITT_MEMBER(result, name, parameters) result(*name) parameters;
struct itt_functions {
	ITT_FUNCTIONS(ITT_MEMBER)
};
#undef ITT_MEMBER
extern struct itt_functions itt_chained HIDDEN;

/* Calls the other tool, if there is one with that function. */
#define ITT_CHAIN(name, ...)                           \
	do {                                           \
		if (UNLIKELY(itt_chained.name))        \
			itt_chained.name(__VA_ARGS__); \
	} while (0)

#endif
