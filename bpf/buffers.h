/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring buffers of records: one, or several that each serve some of the CPUs.
 *
 * A ring buffer of the kernel has one lock, for which all CPUs wait in turn. With few CPUs the lock
 * hardly matters, and one buffer is the fastest. With many CPUs each has a buffer of its own, or
 * shares it with a few others. A record that finds its buffer full goes into the emptier of two
 * other buffers, which are chosen at random, so that a few busy CPUs can use the whole capacity.
 * Such a record counts as rescued.
 *
 * Threads move between CPUs, so the records of one thread are in several buffers.
 * user/capture/rings.c puts them in order again by their times.
 *
 * The number of buffers is fixed when the programs are loaded. For one buffer the verifier removes
 * all code for several.
 */
#ifndef PROFTRACE_BPF_BUFFERS_H
#define PROFTRACE_BPF_BUFFERS_H

#include "bpf/state.h"

/* Set by the broker before the programs are loaded. */
const volatile __u32 buffers_mask = 0; /* number of buffers, a power of two, minus one */
const volatile __u64 buffer_bytes = 0; /* size of each */
const volatile __u64 wakeup_bytes =
	1 << 20; /* wake the reader when this much is waiting in one buffer */
const volatile __u64 query_mask =
	63; /* one of this many marks, plus one, asks how full the buffer is */

/* The position in each buffer when its reader was last woken. */
__u64 woken_at[MAX_BUFFERS];

/* The ring buffer if there is only one. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} records SEC(".maps");

/* The ring buffers if there are several. The broker creates them and puts them into this map. */
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

/* How many bytes of a buffer are in use. */
static __always_inline __u64 buffer_used_bytes(__u32 number)
{
	void *buffer = bpf_map_lookup_elem(&record_buffers, &number);

	return buffer ? bpf_ringbuf_query(buffer, BPF_RB_AVAIL_DATA) : ~0ull;
}

/*
 * Chooses the buffer for a record: the CPU's own, or the emptier of two others. The free space is
 * queried before anything is reserved, because older verifiers lose track of a reservation that was
 * made in one of two places. If another CPU takes the last free space meanwhile, the record is lost
 * and counted.
 *
 * A global function, so that the verifier checks it once and not on each path of each record.
 */
__noinline __u32 choose_buffer(__u64 size)
{
	__u32 home = home_buffer(), lot, one, two;
	/* the kernel never fills a buffer to its last byte */
	__u64 most = buffer_bytes - ((size + BPF_RINGBUF_HDR_SZ + 7) & ~7ull) - 1, used, used_two;

	if (!buffers_mask || buffer_used_bytes(home) <= most)
		return home;
	lot = bpf_get_prandom_u32();
	one = (home + 1 + (lot & 0xffff) % buffers_mask) & buffers_mask;
	two = (home + 1 + (lot >> 16) % buffers_mask) & buffers_mask;
	used = buffer_used_bytes(one);
	used_two = buffer_used_bytes(two);
	if (used_two < used) {
		used = used_two;
		one = two;
	}
	if (used > most)
		return home;
	account_add(ACCOUNT_RESCUED);
	return one;
}

/* Reserves space for a record; NULL: the buffer is full. The verifier demands a constant size. */
static __always_inline void *record_reserve(__u64 size)
{
	void *buffer;
	__u32 number;

	if (!buffers_mask)
		return bpf_ringbuf_reserve(&records, size, 0);
	number = choose_buffer(size);
	buffer = bpf_map_lookup_elem(&record_buffers, &number);
	return buffer ? bpf_ringbuf_reserve(buffer, size, 0) : NULL;
}

/*
 * Copies a record whose size is only known at run time. Returns 0, or an error if the buffer is
 * full.
 */
static __always_inline long record_output(void *record, __u64 size, __u64 wakeup)
{
	void *buffer;
	__u32 number;

	if (!buffers_mask)
		return bpf_ringbuf_output(&records, record, size, wakeup);
	number = choose_buffer(size);
	buffer = bpf_map_lookup_elem(&record_buffers, &number);
	return buffer ? bpf_ringbuf_output(buffer, record, size, wakeup) : -1;
}

/* Whether the reader is so far behind that records may get lost soon. */
static __always_inline bool buffer_is_half_full(void)
{
	__u64 used = buffers_mask ? buffer_used_bytes(home_buffer())
				  : bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);

	return used > buffer_bytes / 2;
}

static __always_inline __u64 buffer_wakeup_flag(void *buffer, __u32 number)
{
	__u64 position;

	barrier_var(number); /* else clang drops the mask that the verifier needs */
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
 * Whether to wake the reader: much is waiting, and as much has been written since it was last
 * woken. A reader that is awake and behind must not be woken again and again, since each time costs
 * an interrupt, which takes ten microseconds on a virtual machine.
 */
static __always_inline __u64 wakeup_due(void)
{
	__u32 home = home_buffer();
	void *buffer;

	if (!buffers_mask)
		return buffer_wakeup_flag(&records, 0);
	buffer = bpf_map_lookup_elem(&record_buffers, &home);
	return buffer ? buffer_wakeup_flag(buffer, home) : BPF_RB_NO_WAKEUP;
}

/* Reports where marks of the thread were lost, as soon as there is free space to report it. */
static __always_inline void send_lost(struct thread_state *st, __u64 pid_tgid)
{
	struct record_plain *r = record_reserve(sizeof(*r));

	if (!r)
		return;
	init_record_head(&r->head, RECORD_LOST, pid_tgid >> 32, (__u32)pid_tgid);
	r->head.ts = st->lost_since;
	r->ops.a = st->lost;
	r->ops.b = st->lost_last;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	st->lost = 0;
}

#endif
