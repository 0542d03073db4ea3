/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the Python frames of the current thread (bpf/stacks/python_maps.h), without a lock and without a word from the
 * interpreter, which may be changing all of it: a walk that meets something else ends, and the recorder refuses frames
 * whose code object is not what it was.
 */
#ifndef PROFTRACE_BPF_PYTHON_WALK_H
#define PROFTRACE_BPF_PYTHON_WALK_H

#include "bpf/stacks/python_maps.h"
#include "bpf/state.h"

#define PYTHON_THREADS_SEARCHED 512 /* and interpreters, in the lists of a process */
#define PYTHON_THREADS_SHORT	32  /* where there is little time */
#define PYTHON_THREADS_KNOWN	4096

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_setup);
} python_setups SEC(".maps");

/* A search through all threads takes long where there are many, so its result is kept. */
struct python_thread {
	__u64 state; /* its PyThreadState; 0: it has none */
	__u64 base;  /* pthread_self() */
	__u32 uses;  /* since it was found that it has none */
	__u32 tgid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PYTHON_THREADS_KNOWN);
	__type(key, __u32);
	__type(value, struct python_thread);
} python_threads SEC(".maps");

/* A thread without a PyThreadState among many that have one is searched again once in so many stacks. */
#define PYTHON_SEARCH_AGAIN 64
#define PYTHON_FEW_THREADS  8

struct python_walk {
	struct python_setup setup;
	struct python_thread thread;
	__u64 words[16]; /* of a frame; PYTHON_FRAME_WORDS are used */
	__u64 identity[2];
	__u64 interpreter, candidate; /* of a search */
	__u64 frame;
	__u64 until; /* when a walk, of native frames as well, must end; 0: it takes what it needs */
	__u32 few;   /* PYTHON_THREADS_SHORT are searched */
	__u32 cut;   /* it ended before it knew all that it was to find */
	__u32 at, n; /* as in struct unwind_walk; n counts frames */
};

/* Tested at each of these steps. */
#define WALK_STEPS 4

static __always_inline bool walk_is_late(const struct python_walk *w)
{
	return w->until && bpf_ktime_get_ns() > w->until;
}

/* A read that fails costs as much as some twenty that do not: nothing goes on after it. */
static __always_inline bool python_read(__u64 address, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

/* One step of the search below. Returns whether it has ended; below 0: because memory could not be read. */
__noinline int python_search_step(struct python_walk *w)
{
	__u64 id;

	if (!w)
		return 1;
	if (w->candidate) {
		if (!python_read(w->candidate + w->setup.thread_id, &id))
			return -1;
		if (id == w->thread.base) {
			w->thread.state = w->candidate;
			return 1;
		}
		return python_read(w->candidate + w->setup.next_thread, &w->candidate) ? 0 : -1;
	}
	if (w->interpreter &&
	    !python_read(w->interpreter + w->setup.next_interpreter, &w->interpreter))
		return -1;
	if (!w->interpreter)
		return 1;
	return python_read(w->interpreter + w->setup.threads, &w->candidate) ? 0 : -1;
}

/*
 * Searches the lists of interpreters and of their threads for the current thread. Returns how many it has looked at; 0
 * if it could not look at all. The verifier checks the step once, and not each time around the loop.
 */
__noinline int python_search_thread(struct python_walk *w)
{
	int i, ended;

	if (!w || !python_read(w->setup.runtime + w->setup.interpreters, &w->interpreter) ||
	    !w->interpreter || !python_read(w->interpreter + w->setup.threads, &w->candidate))
		return 0;
	for (i = 0; i < PYTHON_THREADS_SEARCHED; i++) {
		if ((i % WALK_STEPS == 0 && walk_is_late(w)) ||
		    (i == PYTHON_THREADS_SHORT && w->few)) {
			w->cut = 1;
			return 0;
		}
		ended = python_search_step(w);
		if (ended)
			return ended < 0 ? 0 : i;
	}
	return i;
}

/* Returns whether the current thread has a PyThreadState. */
__noinline int python_find_thread(struct python_walk *w, __u32 tid)
{
	struct python_thread *known, thread;
	__u64 id;

	if (!w)
		return 0;
	known = bpf_map_lookup_elem(&python_threads, &tid);
	if (known && known->base == w->thread.base && known->tgid == w->thread.tgid) {
		if (known->state && python_read(known->state + w->setup.thread_id, &id) &&
		    id == w->thread.base) {
			w->thread.state = known->state;
			return 1;
		}
		if (!known->state && ++known->uses % PYTHON_SEARCH_AGAIN)
			return 0;
	}
	w->thread.state = 0;
	w->thread.uses = 0;
	/* Among few threads it is searched each time: it may be about to become one of them. */
	if (python_search_thread(w) >= PYTHON_FEW_THREADS || w->thread.state) {
		/* Linux 6.1 takes values for a map from the program's own stack, not from memory that a caller has. */
		thread = w->thread;
		bpf_map_update_elem(&python_threads, &tid, &thread, BPF_ANY);
	}
	return w->thread.state != 0;
}

static __always_inline __u64 python_word(const struct python_walk *w, __u16 offset)
{
	return w->words[offset >> 3 & 15];
}

static __always_inline __u8 python_byte(const struct python_walk *w, __u16 offset)
{
	return python_word(w, offset) >> (offset & 7) * 8;
}

/* Writes down the current frame behind `addresses[at]`, and goes on to its caller. Returns whether the walk has ended. */
__noinline int python_step(struct record_stack *r, struct python_walk *w)
{
	__u64 code, word;
	__u32 at;

	if (!r || !w || !w->frame || w->n >= PYTHON_FRAMES ||
	    bpf_probe_read_user(w->words, PYTHON_FRAME_BYTES, (void *)w->frame))
		return 1;
	w->frame = python_word(w, w->setup.previous);
	if (w->setup.is_entry == PYTHON_NOWHERE &&
	    python_byte(w, w->setup.owner) == PYTHON_OWNER_C_STACK) {
		if (w->n) {
			at = w->at + 2 * w->n - 1;
			r->addresses[at & (STACK_ADDRESSES - 1)] |= PYTHON_FRAME_ENTRY;
		}
		return 0;
	}
	code = python_word(w, w->setup.code);
	if (bpf_probe_read_user(w->identity, sizeof(w->identity),
				(void *)(code + w->setup.identity)))
		return 1;
	word = (__u32)(python_word(w, w->setup.instruction) - code - w->setup.instructions);
	word |= (__u64)python_check(w->identity[0], w->identity[1]) << 33;
	if (w->setup.is_entry != PYTHON_NOWHERE && python_byte(w, w->setup.is_entry))
		word |= PYTHON_FRAME_ENTRY;
	at = w->at + 2 * w->n;
	r->addresses[at & (STACK_ADDRESSES - 1)] = code;
	r->addresses[(at + 1) & (STACK_ADDRESSES - 1)] = word;
	w->n++;
	return 0;
}

/* Only there is the thread's pointer among what the kernel saves in a place that is known here. */
#if defined(__TARGET_ARCH_x86)

/*
 * Writes the Python frames of the current thread, innermost first, behind `at` addresses of the record. Returns how many
 * there are.
 */
static __always_inline __u32 walk_python(struct record_stack *r, struct python_walk *w,
					 __u32 number, __u32 at)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct python_setup *setup = bpf_map_lookup_elem(&python_setups, &number);

	w->cut = 0;
	if (!setup || !setup->runtime)
		return 0;
	w->setup = *setup;
	w->thread.base = task->thread.fsbase;
	w->thread.tgid = task->tgid;
	w->at = at;
	w->n = 0;
	if (!python_find_thread(w, task->pid) ||
	    !python_read(w->thread.state + w->setup.frame, &w->frame) ||
	    (w->setup.frame_in != PYTHON_NOWHERE &&
	     !python_read(w->frame + w->setup.frame_in, &w->frame)))
		return 0;
	/* Frames that only mark an entry are not counted, and there is at most one for each other one. */
	for (int i = 0; i <= 2 * PYTHON_FRAMES; i++) {
		if (i % WALK_STEPS == 0 && walk_is_late(w)) {
			w->cut = 1;
			break;
		}
		if (python_step(r, w))
			break;
	}
	return w->n & PYTHON_FRAMES;
}

#endif

#endif
