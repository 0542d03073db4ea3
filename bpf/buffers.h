/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where records go: into one ring buffer, or into several, each for some of the CPUs.
 *
 * A ring buffer of the kernel has one lock, which all CPUs wait for in turn. On a few CPUs that is
 * nothing, and one buffer is the quickest. On many each has one of its own, or shares it with few. What
 * finds its buffer full goes into the emptier of two others, which are drawn by lot: so a few busy CPUs
 * may use all the room there is.
 *
 * The records of a thread are then in several buffers, since threads move. user/capture/rings.c puts
 * them in order again, by their times.
 *
 * Which it is to be is known when the programs are loaded: for one buffer the verifier takes out all
 * that is here for several.
 */
#ifndef PROFTRACE_BPF_BUFFERS_H
#define PROFTRACE_BPF_BUFFERS_H

#include "state.h"

/* Set by the broker before the programs are loaded. */
const volatile __u32 buffers_mask = 0;	     /* how many there are, a power of two, less one */
const volatile __u64 buffer_bytes = 0;	     /* of each, where there are several */
const volatile __u64 wakeup_bytes = 1 << 20; /* wake the reader when so much is waiting in one */
const volatile __u64 query_mask = 63; /* one mark of so many and one asks how full the buffer is */

/* How much had been written to each when its reader was woken last. */
__u64 woken_at[MAX_BUFFERS];

/* The only one. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} records SEC(".maps");

/* Of several. The broker makes them and puts them in here. */
struct record_buffer {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_BUFFERS);
	__type(key, __u32);
	__array(values, struct record_buffer);
} record_buffers SEC(".maps");

static __always_inline __u32 home_buffer(void)
{
	return bpf_get_smp_processor_id() & buffers_mask;
}

/* How much of one is taken. */
static __always_inline __u64 taken_of(__u32 number)
{
	void *buffer = bpf_map_lookup_elem(&record_buffers, &number);

	return buffer ? bpf_ringbuf_query(buffer, BPF_RB_AVAIL_DATA) : ~0ull;
}

/*
 * The buffer that has room for a record: the CPU's, or the emptier of two others. Asked for before it is
 * taken: of what is reserved in one of two places, older kernels lose sight. Where another CPU is
 * quicker and takes the last of the room, the record is lost, and counted.
 *
 * Global: the verifier looks at it once, and not at each way through it for each record.
 */
__noinline __u32 buffer_for(__u64 size)
{
	__u32 home = home_buffer(), lot, one, two;
	/* The kernel never fills one to its last byte. */
	__u64 most = buffer_bytes - ((size + BPF_RINGBUF_HDR_SZ + 7) & ~7ull) - 1, taken, taken_two;

	if (!buffers_mask || taken_of(home) <= most)
		return home;
	lot = bpf_get_prandom_u32();
	one = (home + 1 + (lot & 0xffff) % buffers_mask) & buffers_mask;
	two = (home + 1 + (lot >> 16) % buffers_mask) & buffers_mask;
	taken = taken_of(one);
	taken_two = taken_of(two);
	if (taken_two < taken) {
		taken = taken_two;
		one = two;
	}
	if (taken > most)
		return home;
	account_add(ACCOUNT_RESCUED);
	return one;
}

/* Room for a record, or NULL. The size is a constant to the verifier. */
static __always_inline void *record_reserve(__u64 size)
{
	void *buffer;
	__u32 number;

	if (!buffers_mask)
		return bpf_ringbuf_reserve(&records, size, 0);
	number = buffer_for(size);
	buffer = bpf_map_lookup_elem(&record_buffers, &number);
	return buffer ? bpf_ringbuf_reserve(buffer, size, 0) : NULL;
}

/* One whose size is not known before. 0, or an error: there was no room. */
static __always_inline long record_output(void *record, __u64 size, __u64 wakeup)
{
	void *buffer;
	__u32 number;

	if (!buffers_mask)
		return bpf_ringbuf_output(&records, record, size, wakeup);
	number = buffer_for(size);
	buffer = bpf_map_lookup_elem(&record_buffers, &number);
	return buffer ? bpf_ringbuf_output(buffer, record, size, wakeup) : -1;
}

static __always_inline __u64 wakeup_of(void *buffer, __u32 number)
{
	__u64 position;

	barrier_var(number); /* or clang leaves out what the verifier wants to see */
	number &= MAX_BUFFERS - 1;
	if (bpf_ringbuf_query(buffer, BPF_RB_AVAIL_DATA) < wakeup_bytes)
		return BPF_RB_NO_WAKEUP;
	position = bpf_ringbuf_query(buffer, BPF_RB_PROD_POS);
	if (position - woken_at[number] < wakeup_bytes)
		return BPF_RB_NO_WAKEUP;
	woken_at[number] = position;
	return BPF_RB_FORCE_WAKEUP;
}

/*
 * Whether the reader is to be woken: there is much to read, and since it was woken last so much has
 * come. One that is awake and behind need not be told so again and again; it costs an interrupt each
 * time, and ten microseconds where the machine is virtual.
 */
static __always_inline __u64 wakeup_due(void)
{
	__u32 home = home_buffer();
	void *buffer;

	if (!buffers_mask)
		return wakeup_of(&records, 0);
	buffer = bpf_map_lookup_elem(&record_buffers, &home);
	return buffer ? wakeup_of(buffer, home) : BPF_RB_NO_WAKEUP;
}

/* Tells where marks were lost, at the first moment there is room to say so. */
static __always_inline void tell_lost(struct thread_state *st, __u64 pid_tgid)
{
	struct record_plain *r = record_reserve(sizeof(*r));

	if (!r)
		return;
	head_of(&r->head, RECORD_LOST, pid_tgid >> 32, (__u32)pid_tgid);
	r->head.ts = st->lost_since;
	r->ops.a = st->lost;
	r->ops.b = st->lost_last;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	st->lost = 0;
}

#endif
