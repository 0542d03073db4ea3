/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits on how often and for how long the recorder scans the mappings of processes.
 *
 * Processes cause the scans: a thread in the dynamic linker is held until its process has been
 * scanned, and so is one that is about to execute a program. A process may have 65,530 mappings and
 * any number of threads that come through the linker as fast as they can. It must not be able to
 * keep the recorder from everything else. So
 *
 * - one scan serves all threads of a process that were held when it began;
 * - after HOLDS_WITHIN_NS, signals, files and other commands come first, then the next scan;
 *   reading records gets as much time as serving held threads;
 * - a process that causes long scans too often is not scanned before its threads continue. The
 *   scan is made up for later, and new files that it finds count as attached late.
 *
 * Scans are rated by CPU time, because on a busy machine any scan may take long. But if a scan
 * takes much longer than its CPU time, the scanned process is the cause, so that time is rated as
 * well. The time that the kernel takes to attach is excepted: it waits for grace periods and for
 * forking processes.
 */
#include "capture/file_watch.h"
#include "capture/mappings/mappings.h"
#include "capture/stacks/stacks.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "proftrace.skel.h"
#include "tracee/memory/target_memory.h"

#define HOLDS_WITHIN_NS 50000000ull
#define FILES_WITHIN_NS 500000000ull /* limit for one scan; a thread is not held longer either */
/* shorter scans are free, since a program may open libraries all day */
#define LONG_LOOK_NS 10000000
#define CREDIT_NS    500000000 /* time in long scans that a process may take at once */
#define BUSY_MACHINE 4	       /* a scan may take this many times its CPU time */
#define CREDIT_SHARE 10	       /* then one part in so many of the time */
/* how long a thread is held for the tables by which its stacks are walked */
#define HELD_FOR_TABLES_NS 50000000

static void clear_owed_scan(struct capture *c, struct scan_pace *p)
{
	c->scans.n_owed -= p->owed;
	p->owed = false;
}

/* With that of the threads that read for it. */
static uint64_t own_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + target_memory_cpu_ns();
}

static void set_owed_scan(struct capture *c, struct scan_pace *p)
{
	c->scans.n_owed += !p->owed;
	p->owed = true;
}

static void gain_credit(struct scan_pace *p, uint64_t now_ns)
{
	uint64_t gained = (now_ns - p->at_ns) / CREDIT_SHARE;

	if (gained > (uint64_t)(CREDIT_NS - p->credit_ns))
		p->credit_ns = CREDIT_NS;
	else
		p->credit_ns += (int64_t)gained;
	p->at_ns = now_ns;
}

/*
 * Updates the credit of a process. Of one that has all of it and is owed nothing, nothing need be remembered, so its slot is
 * another's. What a process has used it gets back within ten times the time that this took, so only a few have less than all
 * at once. If so many share the slots all the same, a process goes on with the credit of the one whose place it takes.
 */
static struct scan_pace *get_scan_pace(struct capture *c, pid_t pid)
{
	struct scan_pace *most = NULL, *p;
	uint64_t now_ns = monotonic_now();
	unsigned i;

	for (i = 0; i < SCAN_PACES_ON; i++) {
		p = &c->scans.paces[((unsigned)pid + i) % SCAN_PACES];
		if (p->pid == pid) {
			gain_credit(p, now_ns);
			return p;
		}
	}
	for (i = 0; i < SCAN_PACES_ON; i++) {
		p = &c->scans.paces[((unsigned)pid + i) % SCAN_PACES];
		if (!p->pid)
			*p = (struct scan_pace){ .credit_ns = CREDIT_NS, .at_ns = now_ns };
		gain_credit(p, now_ns);
		if (!most || p->credit_ns - p->owed > most->credit_ns - most->owed)
			most = p;
	}
	c->late += most->owed;
	clear_owed_scan(c, most);
	most->pid = pid;
	return most;
}

bool scans_can_afford(struct capture *c, pid_t pid)
{
	struct scan_pace *p;

	if (c->stopping)
		return false;
	p = get_scan_pace(c, pid);
	if (p->credit_ns > 0)
		return true;
	set_owed_scan(c, p);
	return false;
}

bool scans_out_of_time(struct capture *c)
{
	if (!c->scans.until_ns || monotonic_now() < c->scans.until_ns)
		return false;
	c->scans.left = true;
	return true;
}

void scans_put_off(struct capture *c, pid_t pid)
{
	struct traced_process *process = process_find(c, pid);

	set_owed_scan(c, get_scan_pace(c, pid));
	/* Of a child whose fork has not been read yet. */
	if (!process)
		return;
	if (!process->is_said_locked)
		capture_log(c, 0, "what process %d has mapped cannot be read for now: %s", (int)pid,
			    LOCKED_MAPPINGS);
	process->is_said_locked = true;
}

/* When something began for which a process pays. */
struct scan_begin {
	uint64_t ns, cpu_ns, attach_ns;
};

static struct scan_begin begin_cost(const struct capture *c)
{
	return (struct scan_begin){ monotonic_now(), own_cpu_ns(), broker_attach_ns(c->broker) };
}

/* Takes the time since then from the credit of the process. Returns what it is rated at. */
static uint64_t charge_cost(struct capture *c, struct scan_pace *p, const struct scan_begin *begin)
{
	uint64_t took_ns = monotonic_now() - begin->ns, cost_ns;
	uint64_t attach_ns = broker_attach_ns(c->broker) - begin->attach_ns;

	took_ns -= attach_ns < took_ns ? attach_ns : took_ns;
	cost_ns = own_cpu_ns() - begin->cpu_ns;
	if (cost_ns < took_ns / BUSY_MACHINE)
		cost_ns = took_ns / BUSY_MACHINE;
	if (cost_ns > LONG_LOOK_NS)
		p->credit_ns -= (int64_t)cost_ns;
	return cost_ns;
}

int scans_run(struct capture *c, pid_t pid, unsigned *ret_new, uint64_t *ret_cost_ns)
{
	const struct broker_target target = { pid, 0 }; /* held, or has reported itself */
	struct scan_pace *p = get_scan_pace(c, pid);
	const struct scan_begin begin = begin_cost(c);
	struct failure f = { 0 };
	uint64_t cost_ns;
	unsigned marked;
	int error;

	c->scans.until_ns = begin.ns + FILES_WITHIN_NS;
	c->scans.left = false;
	c->scans.n_mapped = 0;
	c->scans.n++;
	error = process_scan(c, &target, &marked, ret_new, &f);
	c->scans.until_ns = 0;
	if (error && error != -EBUSY)
		capture_log(c, 1, "process %d: %s: %s", (int)pid, f.what, f.reason);
	cost_ns = charge_cost(c, p, &begin);
	if (ret_cost_ns)
		*ret_cost_ns = cost_ns;
	if (c->scans.left)
		set_owed_scan(c, p);
	if (c->drain_until_ns && monotonic_now() >= c->drain_until_ns)
		c->budget = 1;
	return error;
}

unsigned scans_count_owed(const struct capture *c)
{
	return c->scans.n_owed;
}

/* Makes up for one scan, the next that is affordable. */
static void run_owed_scan(struct capture *c)
{
	struct scans *s = &c->scans;

	for (unsigned i = 0; i < SCAN_PACES; i++) {
		struct scan_pace *p = &s->paces[s->next_owed++ % SCAN_PACES];
		unsigned fresh = 0;
		int error;

		if (!p->owed || mappings_are_awaited(process_find(c, p->pid)) ||
		    !scans_can_afford(c, p->pid))
			continue;
		clear_owed_scan(c, p);
		error = scans_run(c, p->pid, &fresh, NULL);
		/* It is owed still. */
		if (error == -EBUSY)
			return;
		c->late += !error && fresh ? fresh : 1;
		process_set_attached(c, p->pid, monotonic_now());
		return;
	}
}

/*
 * --- held threads
 * ---------------------------------------------------------------------------------
 */

/* Only copies the request: the buffer may contain more than there is time for. */
int decode_hold(void *context, void *data, size_t size)
{
	const struct record_hold *r = data;
	struct capture *c = context;

	if (size < sizeof(*r) || r->head.kind != RECORD_HOLD)
		return 0;
	c->scans.held[c->scans.n_held++] = *r;
	c->counts.held += r->ops.b != HOLD_FIRST_CHANGED;
	return c->scans.n_held < HOLDS_AT_ONCE ? 0 : -EAGAIN;
}

/* A later ticket in the slot releases this one as well, and must stay. */
static void release_held_thread(struct capture *c, struct record_hold *r)
{
	__u64 *slot = &c->shared->hold_released[r->ops.a % HOLD_SLOTS];

	if (*slot < r->ops.a)
		__atomic_store_n(slot, r->ops.a, __ATOMIC_RELEASE);
	r->head.kind = 0;
}

/*
 * Waits for the tables of new libraries, and rates the time as if it had been spent on scanning: the
 * process decides how often new files come.
 */
static void wait_for_tables(struct capture *c, pid_t pid)
{
	uint64_t began_ns = monotonic_now();

	if (!c->stacks)
		return;
	stacks_wait_for_tables(c->stacks, HELD_FOR_TABLES_NS);
	get_scan_pace(c, pid)->credit_ns -= (int64_t)(monotonic_now() - began_ns);
}

static bool request_is_linkers(const struct record_hold *r, uint32_t tgid)
{
	return r->head.kind && r->head.tgid == tgid &&
	       (r->ops.b == HOLD_LIBRARIES || r->ops.b == HOLD_UNMAPPED);
}

/* Up to which request one scan serves those of the linker: not beyond an execution that takes links from the process. */
static unsigned find_requests_end(const struct scans *s, unsigned i, uint32_t tgid)
{
	for (; i < s->n_held; i++) {
		const struct record_hold *r = &s->held[i];

		if (r->head.kind && r->head.tgid == tgid && r->ops.b == HOLD_FIRST_CHANGED)
			break;
	}
	return i;
}

/*
 * Where the kernel cannot hold threads, files that are attached to now are late. If a process has mapped libraries more
 * often than its number of files has grown, it may have had one that nobody saw.
 */
static void count_unheld(struct capture *c, uint32_t tgid, unsigned n_requests,
			 unsigned marked_before)
{
	struct traced_process *p = process_find(c, (pid_t)tgid);
	unsigned fresh = c->n_marked_files - marked_before, before = p ? p->n_mapped : 0;
	unsigned more = c->scans.n_mapped > before ? c->scans.n_mapped - before : 0;

	if (c->loaded.can_hold)
		return;
	c->late += fresh ? fresh : n_requests > more ? n_requests - more : 0;
}

/* One scan serves all requests of the linker of this process. */
static void serve_linker(struct capture *c, unsigned i)
{
	struct scans *s = &c->scans;
	const uint32_t tgid = s->held[i].head.tgid;
	unsigned fresh, marked = c->n_marked_files, n_requests = 0;
	const unsigned end = find_requests_end(s, i, tgid);
	struct traced_process *p;

	for (unsigned j = i; j < end; j++)
		n_requests +=
			request_is_linkers(&s->held[j], tgid) && s->held[j].ops.b == HOLD_LIBRARIES;
	if (scans_can_afford(c, tgid)) {
		scans_run(c, tgid, &fresh, NULL);
		count_unheld(c, tgid, n_requests, marked);
		p = process_find(c, (pid_t)tgid);
		if (p)
			p->n_mapped = s->n_mapped;
		wait_for_tables(c, tgid);
	}
	for (; i < end; i++) {
		if (request_is_linkers(&s->held[i], tgid))
			release_held_thread(c, &s->held[i]);
	}
}

/* Not left out without credit: else the process is not recorded any more. */
static void serve_first_changed(struct capture *c, struct record_hold *r)
{
	const struct scan_begin begin = begin_cost(c);

	files_first_changed(c, (pid_t)r->head.tgid, (uint32_t)r->ops.a);
	charge_cost(c, get_scan_pace(c, (pid_t)r->head.tgid), &begin);
	r->head.kind = 0;
}

/* What the process names may take long to look up. Without credit, its files are found when they are mapped. */
static void prepare_if_affordable(struct capture *c, const struct record_hold *r)
{
	const struct scan_begin begin = begin_cost(c);

	if (!scans_can_afford(c, (pid_t)r->head.tgid))
		return;
	process_prepare(c, r);
	charge_cost(c, get_scan_pace(c, (pid_t)r->head.tgid), &begin);
}

static void serve_hold(struct capture *c, unsigned i)
{
	struct record_hold *r = &c->scans.held[i];
	unsigned marked = c->n_marked_files;

	if (request_is_linkers(r, r->head.tgid)) {
		serve_linker(c, i);
		return;
	}
	if (r->ops.b == HOLD_FIRST_CHANGED) {
		serve_first_changed(c, r);
		return;
	}
	if (r->ops.b == HOLD_COUNTER) {
		guard_forbid_buffers(c, r->head.tgid);
	} else {
		prepare_if_affordable(c, r);
		count_unheld(c, r->head.tgid, 0, marked);
	}
	release_held_thread(c, r);
}

int holds_serve(struct capture *c)
{
	struct scans *s = &c->scans;
	uint64_t began_ns = monotonic_now(), until_ns = began_ns + HOLDS_WITHIN_NS, now_ns;
	unsigned i;
	int n = 0;

	if (s->n_held < HOLDS_AT_ONCE)
		n = ring_buffer__consume(c->holds);
	if (n < 0 && n != -EAGAIN)
		return n;
	hurry_update(c, s->n_held > 0);
	/* Before anything that they have mapped is taken for known. */
	if (s->n_held)
		file_watch_read(c);
	for (i = 0; i < s->n_held; i++) {
		if (!s->held[i].head.kind)
			continue;
		if (i && monotonic_now() >= until_ns)
			break;
		serve_hold(c, i);
	}
	memmove(s->held, s->held + i, (s->n_held - i) * sizeof(*s->held));
	s->n_held -= i;
	if (s->n_owed)
		run_owed_scan(c);
	now_ns = monotonic_now();
	s->holds_ns = now_ns + (now_ns - began_ns);
	return s->n_held ? -EAGAIN : 0;
}

void holds_serve_if_due(struct capture *c)
{
	if (monotonic_now() >= c->scans.holds_ns)
		holds_serve(c);
}
