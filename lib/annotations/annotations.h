/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libproftrace-annotations.so: annotations that programs already carry, as marks.
 *
 * Libraries that are annotated for NVTX or ITT load a tool that the environment names, at their first call, and fill
 * its functions into their tables. This is such a tool: each of its functions makes one mark of proftrace.h. While
 * nobody records, a function tests the switch of the domains made at run time and returns, so that the library may
 * be loaded always, and recorded at any time later.
 *
 *	nvtx*.c		NVTX, version 3		itt*.c		ITT
 *
 * Both speak to programs whose structures have sizes and versions of their own, and whose handles may be anything:
 * handles are looked up, never followed (map.c), and what is not understood is counted (unsupported.c).
 */
#ifndef PROFTRACE_ANNOTATIONS_H
#define PROFTRACE_ANNOTATIONS_H

#include <proftrace.h>
#include <stdbool.h>

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define EXPORTED __attribute__((visibility("default")))
#define HIDDEN	 __attribute__((visibility("hidden")))
/*
 * What is done while somebody records stands apart: a call that does nothing saves no registers for it. Its parts are
 * in one piece, because calls between them would be a tenth of its time.
 */
#define APART __attribute__((noinline, flatten))
/* What is seldom done stays out of that. */
#define SELDOM __attribute__((noinline, cold))

/* A tracer keeps 128 bytes of a name, 256 of a string. One more says that it was longer; the last is the NUL. */
#define NAME_KEPT 130
#define TEXT_KEPT 258

/*
 * What a thread keeps. Its place is reserved when the library is loaded, because looking it up (__tls_get_addr) takes
 * longer than all else that an annotation does while nobody records.
 */
struct thread {
	const char *name; /* NULL: nobody named the thread */
	bool marked;	  /* the recording that goes on has the name */
	uint64_t next_id, last_id;
	const void *itt_handle; /* that it used last, and its domain */
	const prof_runtime_domain_t *itt_domain;
	const prof_track_t *itt_track; /* NULL, or where its tasks with times of their own are */
	uint32_t itt_depth;	       /* how many of these are open */
};
extern __thread struct thread thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* thread.c: the name of the calling thread, for this recording and later ones. */
void thread_set_name(const char *name);
void thread_mark_name(void);

/* A number that no other range of the process has. */
uint64_t thread_new_id(void);

/* Whether somebody records now. The first call in a recording tells it the name of the thread. */
static inline bool is_recorded(void)
{
	if (LIKELY(!prof_is_enabled(&prof_runtime))) {
		if (UNLIKELY(thread.marked))
			thread.marked = false;
		return false;
	}
	if (UNLIKELY(thread.name && !thread.marked))
		thread_mark_name();
	return true;
}

/*
 * unsupported.c: what is counted, because it cannot be recorded. Each becomes a counter of that name in the domain
 * "annotations", with a value for each power of two and each 1024th, and the last one when the process ends.
 */
struct unsupported {
	const char *name;
	uint64_t count;
	struct unsupported *next;
	int listed;
};
SELDOM void unsupported_count(struct unsupported *u);
SELDOM void unsupported_add(struct unsupported *u, uint64_t n);

/* map.c: what was made for a handle. Entries stay; a new value replaces the old one. */
enum map_kind {
	MAP_NVTX_DOMAIN = 1,
	MAP_NVTX_NAME, /* domains by their names */
	MAP_NVTX_CATEGORY,
	MAP_NVTX_STRING,
	MAP_NVTX_SCHEMA,
	MAP_ITT_DOMAIN,
	MAP_ITT_NAME, /* domains made here, by their names */
	MAP_ITT_STRING,
	MAP_ITT_COUNTER,
	MAP_ITT_NAMED_COUNTER,
	MAP_ITT_FRAME,
	MAP_ITT_LEGACY_FRAME,
	MAP_ITT_NUMBER, /* of an event, by its name */
	MAP_ITT_NUMBERED,
	MAP_ITT_CLOCK,
	MAP_ITT_TRACK,
	MAP_ITT_DOMAIN_TRACK, /* by the domain made here */
	MAP_ITT_HISTOGRAM,
};
static inline uint64_t map_key(enum map_kind kind, uint64_t handle)
{
	return (uint64_t)kind << 56 | (handle & ((UINT64_C(1) << 56) - 1));
}
static inline uint64_t map_key_of(enum map_kind kind, const void *handle)
{
	return map_key(kind, (uint64_t)(uintptr_t)handle);
}
struct map_entry {
	uint64_t key; /* 0: free */
	void *value;
};
struct map_entry *map_find(uint64_t key);
static inline void *map_entry_value(const struct map_entry *e)
{
	return e ? __atomic_load_n(&e->value, __ATOMIC_ACQUIRE) : NULL;
}
static inline void *map_get(uint64_t key)
{
	return map_entry_value(map_find(key));
}
SELDOM void map_put(uint64_t key, void *value);
/* Puts a value where there is none. Returns what is there then. */
void *map_add(uint64_t key, void *value);

/*
 * open.c: slices that are open and end with a number only, with what their ends have to repeat. A begin that was not
 * recorded, or found no place, is not among them: open_remove() returns false.
 */
struct open_begin { /* of a slice that comes with its times */
	uint64_t time, id, parent;
	const void *function;
};
struct open_slice {
	const prof_runtime_domain_t *domain;
	struct open_begin begin;
	char name[NAME_KEPT];
};
/* `begin` may be NULL. */
bool open_add(uint64_t key, const prof_runtime_domain_t *domain, const char *name,
	      const struct open_begin *begin);
bool open_remove(uint64_t key, struct open_slice *ret_slice);
/* Whether there is any. A load and a branch, while nobody records. */
bool open_any(void);

/* text.c: bounded copies. Return `to`. */
const char *text_copy(char *to, size_t size, const char *from, size_t length);
const char *text_from_wide(char *to, size_t size, const wchar_t *from);

/* The same as strcmp() == 0, in line: a call would take as long as all else that a mark does with its domain. */
static inline bool text_is_same(const char *a, const char *b)
{
#if defined(__x86_64__)
	const uint64_t ones = UINT64_C(0x0101010101010101);

	/* Eight bytes of one page may be read, of whatever is behind the end. */
	for (; ((uintptr_t)a & 4095) <= 4088 && ((uintptr_t)b & 4095) <= 4088; a += 8, b += 8) {
		const uint64_t x = prof_impl_load(a), differ = x ^ prof_impl_load(b);
		const uint64_t end =
			(x - ones) & ~x & ones << 7; /* its lowest bit: the first NUL */

		if (end)
			return !(differ & (end ^ (end - 1)));
		if (differ)
			return false;
	}
#endif
	return !__builtin_strcmp(a, b);
}

/* A domain of that name. Commas would begin another category, and the built-in domain has another switch. */
SELDOM const prof_runtime_domain_t *domain_named(const char *name, const char *otherwise);

/* chain.c: the library of the tool that a variable names, which has this function; or NULL. */
void *chain_open(const char *variable, const char *entry);

#endif
