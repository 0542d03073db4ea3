/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holding a thread until the recorder has attached to what is new in its address space.
 *
 * The thread spins in a bounded loop until the recorder writes the thread's ticket into a slot. No
 * signal is sent and no other thread waits. If the recorder does not answer in time, or has died,
 * the thread continues, and the summary says that files may have been attached late.
 *
 * Since Linux 6.18 it does so in turns (hold_turns.h). Before, in one program. Only sleepable programs can hold
 * a thread in that way: attaching waits for an RCU grace period, which does not end while a plain uprobe program or a
 * tracepoint program runs.
 *
 * It does not end either, and on a single CPU the recorder does not even run, on kernels that
 * switch threads only at voluntary preemption points (preempt=voluntary, the default up to 6.12).
 * Taking a lock that can sleep is such a point even if the lock is free, and so is reading another process's memory
 * with preempt=none. So the loop reads memory with a helper that does both. It is memory of the thread's own process: a
 * program has no other task with memory at hand. If another of its threads maps a page of a file system of its own there,
 * the helper waits for that file system, and with it everybody who detaches a uprobe.
 *
 * The functions here use little stack on purpose. One with a frame of more than 48 bytes, which the
 * kernel rounds up to 64, runs on a private stack that two threads can overwrite (see marks.bpf.c),
 * and sleepable programs cannot have the tail call that prevents it there.
 */
#include "bpf/processes/hold_turns.h"
#include "bpf/processes/new_libraries.h"
#include "bpf/registers.h"
#include "bpf/state.h"
#include "bpf/processes/target_match.h"

#define HOLD_STEPS (1 << 23) /* the maximum of bpf_loop() */
/*
 * Steps between two preemption points, about 80 us. The lock is the mmap lock that the broker needs
 * for inserting the breakpoint of each site; whenever the broker waits for the lock it may also
 * have to wait for a CPU.
 */
#define HOLD_YIELD 2048

static long hold_step(__u32 i, struct hold_wait *w)
{
	char nothing;

	if (hold_is_over(w))
		return 1;
	if (!(i & (HOLD_YIELD - 1)))
		bpf_copy_from_user_task(&nothing, 1, (void *)w->ip, bpf_get_current_task_btf(), 0);
	return 0;
}

/*
 * Reserves a request to be released, to be sent by hold(). NULL: the buffer is full, and the thread continues. `counts`: not a
 * thread that forbids itself the counter and is not recorded: it opens no file, and has no next mark that ends its process.
 */
static __always_inline struct record_hold *hold_reserve(enum hold_reason reason, bool counts)
{
	struct record_hold *r = bpf_ringbuf_reserve(&holds, sizeof(*r), 0);
	__u64 pid_tgid;

	if (!r) {
		if (counts)
			account_add(ACCOUNT_HOLD_TIMEOUT);
		return NULL;
	}
	pid_tgid = bpf_get_current_pid_tgid();
	init_record_head(&r->head, RECORD_HOLD, pid_tgid >> 32, (__u32)pid_tgid);
	r->ops.b = reason;
	r->fd = -1;
	r->path[0] = '\0';
	return r;
}

/* Sends the request. Returns its ticket. */
static __always_inline __u64 hold_request(struct record_hold *r)
{
	__u64 ticket = __sync_fetch_and_add(&hold_tickets, 1) + 1;

	r->ops.a = ticket;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return ticket;
}

static __always_inline void hold_begin(__u64 ip, __u64 ticket, __u32 reason, __u32 counts,
				       struct hold_wait *w)
{
	w->ip = ip;
	w->ticket = ticket;
	/* A mark that comes too early ends the process, which is worse than a thread that waits. */
	w->deadline = bpf_ktime_get_ns() + hold_limit_ns * (reason == HOLD_COUNTER ? 4 : 1);
	w->counter = reason == HOLD_COUNTER;
	w->counts = counts;
	set_held(true);
}

/* One loop ends too soon on a fast machine. bpf_loop() returns a smaller number once the hold is over. */
static __noinline int hold_in_one(struct hold_wait *w)
{
	if (bpf_loop(HOLD_STEPS, hold_step, w, 0) == HOLD_STEPS &&
	    bpf_loop(HOLD_STEPS, hold_step, w, 0) == HOLD_STEPS &&
	    bpf_loop(HOLD_STEPS, hold_step, w, 0) == HOLD_STEPS)
		bpf_loop(HOLD_STEPS, hold_step, w, 0);
	return 0;
}

static __noinline int hold_thread(__u64 ip, __u64 ticket, __u32 reason, __u32 counts)
{
	struct hold_wait w;

	hold_begin(ip, ticket, reason, counts, &w);
	if (can_hold && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		hold_in_one(&w);
	hold_end(&w);
	return 0;
}

/* A global function as hold_is_over(). */
__noinline int hold_thread_in_turns(__u64 ip, __u64 ticket, __u32 reason, __u32 counts)
{
	struct hold_wait w;

	hold_begin(ip, ticket, reason, counts, &w);
	if (!hold_in_turns_begin(&w))
		hold_end(&w);
	return 0;
}

/* `in_turns` is a constant: what holds threads in turns are programs of their own, which older kernels do not load. */
static __always_inline void hold(__u64 ip, struct record_hold *r, enum hold_reason reason,
				 bool counts, bool in_turns)
{
	__u64 ticket = hold_request(r);

	if (in_turns)
		hold_thread_in_turns(ip, ticket, reason, counts);
	else
		hold_thread(ip, ticket, reason, counts);
}

/*
 * --- libraries ----------------------------------------------------------------------------------
 */

/*
 * Holding a thread that has loaded libraries. The dynamic linker calls `_dl_debug_state` after it
 * has mapped libraries and before it runs their constructors. The thread is held there until the
 * recorder has attached to the libraries.
 *
 * The linker also calls the function before it maps something, and before and after it unmaps
 * something; then the thread need not wait. The reason of the call is in `_r_debug.r_state`. But
 * the linker does not always write to its own `_r_debug`: a program may have a copy of it, and each
 * further namespace (dlmopen) has one of its own. In these cases the variable that is read here
 * never changes, so only changes are trusted.
 *
 * Nor need a thread wait that has mapped only libraries that are attached to already, or have nothing to attach to
 * (new_libraries.h).
 */

/* The offset in struct r_debug of <link.h>. Debuggers rely on the layout, so it does not change. */
#define R_STATE_OFFSET 24
enum linker_state {
	LINKER_IS_DONE, /* RT_CONSISTENT */
	LINKER_MAPS,	/* RT_ADD */
	LINKER_UNMAPS,	/* RT_DELETE */
	LINKER_UNKNOWN,
};

/*
 * What the linker was doing at the last call, by tgid. A process that was evicted is only held more
 * often. The address of the mm would not tell the programs of a process apart: the kernel uses it again for every other
 * one, and a static program between two others does not call.
 */
struct linker_call {
	__u64 birth;	 /* of the process: the number is used again */
	__u64 execution; /* of the program */
	__u32 state;
	__u32 libraries; /* so many that were mapped at the end of the last change had been waited for; 0: unknown */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct linker_call);
} linker_calls SEC(".maps");

/* The cookie is the distance from here to _r_debug. 0: it is unknown. */
static __always_inline __u64 find_r_debug(struct pt_regs *ctx)
{
	__u64 site_distance = bpf_get_attach_cookie(ctx);

	return site_distance ? PT_REGS_IP(ctx) + site_distance : 0;
}

static __noinline int read_linker_state(struct pt_regs *ctx)
{
	__u64 debug = find_r_debug(ctx);
	__u32 state;

	if (!debug || bpf_probe_read_user(&state, sizeof(state), (void *)(debug + R_STATE_OFFSET)))
		return LINKER_UNKNOWN;
	return state < LINKER_UNKNOWN ? state : LINKER_UNKNOWN;
}

/*
 * What a call means. Where threads cannot be held, the recorder compares the number of mapped files at each mapping, so
 * it must also be told about unmapping.
 */
enum libraries_change {
	LIBRARIES_UNCHANGED,
	LIBRARIES_MAPPED,
	LIBRARIES_UNMAPPED,
};

/* After a change that this r_debug has shown, so that its list is the one that was changed. */
static __noinline enum libraries_change must_wait_for_libraries(struct pt_regs *ctx,
								struct linker_call *last, int maps)
{
	__u64 found =
		find_new_libraries(find_r_debug(ctx), maps ? last->libraries : LINK_MAPS_AT_MOST);
	bool is_new = found >> 32;

	last->libraries = (__u32)found;
	if (!can_hold && !maps)
		return LIBRARIES_UNMAPPED;
	return maps && is_new ? LIBRARIES_MAPPED : LIBRARIES_UNCHANGED;
}

/* LIBRARIES_MAPPED: there may be new libraries, whose constructors run next. A global function as hold_is_over(). */
__noinline int has_mapped(struct bpf_user_pt_regs_t *regs)
{
	struct pt_regs *ctx = (struct pt_regs *)regs;
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct linker_call now = { birth_of_process(), bpf_get_current_task_btf()->self_exec_id,
				   read_linker_state(ctx), 0 };
	struct linker_call *last = bpf_map_lookup_elem(&linker_calls, &tgid);
	__u32 before;

	if (!last || last->birth != now.birth || last->execution != now.execution) {
		bpf_map_update_elem(&linker_calls, &tgid, &now, BPF_ANY);
		/*
		 * Another call follows if it maps something. If the state is that of a copy, it never changes. Of a
		 * process that has been waited for, the recorder finds out where it is, so it must not end before.
		 */
		return now.state != LINKER_MAPS || target_filter.waits ? LIBRARIES_MAPPED
								       : LIBRARIES_UNCHANGED;
	}
	before = last->state;
	last->state = now.state;
	if (before == LINKER_IS_DONE)
		return now.state != LINKER_MAPS && now.state != LINKER_UNMAPS ? LIBRARIES_MAPPED
									      : LIBRARIES_UNCHANGED;
	if (now.state == LINKER_IS_DONE && before != LINKER_UNKNOWN)
		return must_wait_for_libraries(ctx, last, before == LINKER_MAPS);
	return LIBRARIES_MAPPED;
}

static __always_inline int hold_for_libraries(struct pt_regs *ctx, bool in_turns)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct record_hold *r;
	enum libraries_change change;
	enum hold_reason reason;

	if (!recording || !traced_flags(tgid))
		return 0;
	change = has_mapped((struct bpf_user_pt_regs_t *)ctx);
	if (change == LIBRARIES_UNCHANGED)
		return 0;
	reason = change == LIBRARIES_UNMAPPED ? HOLD_UNMAPPED : HOLD_LIBRARIES;
	r = hold_reserve(reason, true);
	if (r)
		hold(PT_REGS_IP(ctx), r, reason, true, in_turns);
	else
		bpf_map_delete_elem(&linker_calls, &tgid);
	return 0;
}

SEC("uprobe.s")
int libraries_changed(struct pt_regs *ctx)
{
	return hold_for_libraries(ctx, false);
}

SEC("uprobe.s")
int libraries_turns(struct pt_regs *ctx)
{
	return hold_for_libraries(ctx, true);
}

/*
 * --- executing a program ------------------------------------------------------------------------
 */

/*
 * Holding a thread that is about to execute a program. A dynamic program is attached to while its
 * dynamic linker is held (above), but a static program has no dynamic linker. So the C
 * library's functions that execute programs are probed, and the thread is held there, before it
 * enters the kernel, until the recorder has attached to the file.
 *
 * The attach cookie says which of the functions was called (enum hold_reason).
 *
 * Under --mode auto, a thread that forbids itself the processor's counter is held here as well, in prctl(), until no
 * domain is in buffered mode any more, in which a mark reads the counter: unless it is held in the kernel
 * (bpf/batch/forbids_counter.bpf.c). Domains are turned on in all processes that map the file, so it does not matter
 * whether the process is recorded.
 */
/* A path that is compared byte by byte, since there is no stack for a copy. */
struct target_path {
	__u64 at;
	__u64 positions;
	__u32 glob;
};

static long target_path_step(__u32 i, struct target_path *p)
{
	const volatile struct target_glob *glob =
		&target_filter.globs[p->glob & (TARGET_GLOBS - 1)];
	__u8 byte;

	if (bpf_probe_read_user(&byte, 1, (void *)(p->at + i)) || !byte)
		return 1;
	if (byte == '/' && glob->kind == TARGET_NAME)
		p->positions = 1;
	else
		p->positions = target_glob_step(glob, p->positions, byte);
	return 0;
}

/* The name is compared again when it is executed (target_match.h): a process that is held in vain waits a moment. */
static __noinline int target_path_matches(__u64 path)
{
	struct target_path p = { .at = path };

	for (__u32 i = 0; i < TARGET_GLOBS; i++) {
		if (i >= target_filter.n_globs)
			break;
		p.glob = i;
		p.positions = 1 | unknown_zero();
		bpf_loop(MAX_STRING, target_path_step, &p, 0);
		if (p.positions & target_filter.globs[i].final)
			return 1;
	}
	return !target_filter.kinds;
}

static __always_inline bool executes_target(__u64 reason, __u64 first, __u64 second)
{
	/* There is no stack for the names of cgroups: these processes are held in their linkers alone. */
	if (!target_filter.waits || each_links || !can_hold || reason == HOLD_FEXECVE ||
	    target_filter.kinds & (TARGET_UNIT | TARGET_CONTAINER) ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return false;
	return target_has_user(bpf_get_current_task_btf()) && target_in_cgroup() &&
	       target_path_matches(reason == HOLD_EXECVE ? first : second);
}

/* The recorder has attached to its command's program before the command may execute it. */
static __always_inline bool must_hold_execution(__u32 flags, __u64 reason, __u64 first,
						__u64 second)
{
	return flags ? !(flags & TRACED_BEGINS) : executes_target(reason, first, second);
}

/* The numbers are those of <sys/prctl.h> and <linux/seccomp.h>. */
#define PR_SET_SECCOMP	    22
#define PR_SET_TSC	    26
#define PR_TSC_SIGSEGV	    2
#define SECCOMP_MODE_STRICT 1

/* Strict mode forbids the counter, too. */
static __always_inline bool forbids_counter(__u32 option, __u64 value)
{
	return (option == PR_SET_TSC && value == PR_TSC_SIGSEGV) ||
	       (option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT);
}

static __always_inline int hold_for_execution(struct pt_regs *ctx, bool in_turns)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct record_hold *r;
	__u64 reason, first, second;
	bool counts;

	if (!recording)
		return 0;
	reason = bpf_get_attach_cookie(ctx);
	/*
	 * Both are read unconditionally, because the verifier does not accept a choice between
	 * registers.
	 */
	first = ARG(ctx, 1);
	second = ARG(ctx, 2);
	barrier_var(first);
	barrier_var(second);
	if (reason == HOLD_COUNTER) {
		/* When nothing can be in buffered mode any more, no thread waits and no request is sent. */
		if (!forbids_counter(first, second) || buffers_are_left())
			return 0;
	} else if (!follow_children ||
		   !must_hold_execution(traced_flags(tgid), reason, first, second)) {
		return 0;
	}
	counts = reason != HOLD_COUNTER || traced_flags(tgid);
	r = hold_reserve(reason, counts);
	if (!r)
		return 0;
	if (reason != HOLD_EXECVE)
		r->fd = first;
	if (reason < HOLD_FEXECVE &&
	    bpf_probe_read_user_str(r->path, sizeof(r->path),
				    (void *)(reason == HOLD_EXECVE ? first : second)) < 0)
		r->path[0] = '\0';
	hold(PT_REGS_IP(ctx), r, reason, counts, in_turns);
	return 0;
}

SEC("uprobe.s")
int executes(struct pt_regs *ctx)
{
	return hold_for_execution(ctx, false);
}

SEC("uprobe.s")
int executes_turns(struct pt_regs *ctx)
{
	return hold_for_execution(ctx, true);
}
