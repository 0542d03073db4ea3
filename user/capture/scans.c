/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often, and for how long, the recorder looks at what processes have mapped.
 *
 * It is the processes that make us look: a thread that has come through the dynamic linker waits until we
 * have, and so does one that executes a program. A process may have 65,530 mappings, and any number of
 * threads that come through there as fast as they can: it must not be able to keep us from everything
 * else. So
 *
 *  - one look answers all threads of a process that waited as it began;
 *  - after HOLDS_WITHIN_NS the next look waits until signals, files and other commands had their turn;
 *    records have as much of the time as those who wait;
 *  - who takes long looks too often goes on without being looked at. That is made up for later, and then
 *    what is found counts as attached late.
 *
 * Looks are rated by CPU time: on a busy machine any one may take long, and that is nobody's fault. But
 * what keeps us waiting for much longer is the doing of who is looked at.
 */
#include "capture/internal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "proftrace.skel.h"

#define HOLDS_WITHIN_NS 50000000ull
#define FILES_WITHIN_NS 500000000ull /* of one look; a thread is not held longer than that either */
#define LONG_LOOK_NS	10000000  /* shorter ones are free: a program may open libraries all day */
#define CREDIT_NS	500000000 /* what a process may take at once, in long looks */
#define BUSY_MACHINE	4	  /* times as long as the CPU time that it takes */
#define CREDIT_SHARE	10	  /* and then one part of so many of the time */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void clear_owed(struct capture *c, struct scan_pace *p)
{
	c->scans.n_owed -= p->owed;
	p->owed = false;
}

static void owe(struct capture *c, struct scan_pace *p)
{
	c->scans.n_owed += !p->owed;
	p->owed = true;
}

/* As of now. Two processes that share a place forget what the other one has cost. */
static struct scan_pace *pace_of(struct capture *c, pid_t pid)
{
	struct scan_pace *p = &c->scans.paces[(unsigned)pid % SCAN_PACES];
	uint64_t now_ns = monotonic_now(), gained;

	if (p->pid != pid) {
		c->late += p->owed;
		clear_owed(c, p);
		*p = (struct scan_pace){ .pid = pid, .credit_ns = CREDIT_NS, .at_ns = now_ns };
	}
	gained = (now_ns - p->at_ns) / CREDIT_SHARE;
	if (gained > (uint64_t)(CREDIT_NS - p->credit_ns))
		p->credit_ns = CREDIT_NS;
	else
		p->credit_ns += (int64_t)gained;
	p->at_ns = now_ns;
	return p;
}

bool scans_afford(struct capture *c, pid_t pid)
{
	struct scan_pace *p;

	if (c->stopping)
		return false;
	p = pace_of(c, pid);
	if (p->credit_ns > 0)
		return true;
	owe(c, p);
	return false;
}

bool scans_is_over(struct capture *c)
{
	if (!c->scans.until_ns || monotonic_now() < c->scans.until_ns)
		return false;
	c->scans.left = true;
	return true;
}

int scans_look(struct capture *c, pid_t pid, unsigned *ret_new, uint64_t *ret_cost_ns)
{
	const struct broker_target target = { pid, 0 }; /* it waits for us, or has told of itself */
	struct scan_pace *p = pace_of(c, pid);
	uint64_t began_ns = monotonic_now(), began_cpu_ns = cpu_ns(), cost_ns, took_ns;
	struct failure f = { 0 };
	unsigned marked;
	int error;

	c->scans.until_ns = began_ns + FILES_WITHIN_NS;
	c->scans.left = false;
	error = process_scan(c, &target, &marked, ret_new, &f);
	c->scans.until_ns = 0;
	if (error)
		capture_log(c, 1, "process %d: %s: %s", (int)pid, f.what, f.reason);
	took_ns = monotonic_now() - began_ns;
	cost_ns = cpu_ns() - began_cpu_ns;
	if (cost_ns < took_ns / BUSY_MACHINE)
		cost_ns = took_ns / BUSY_MACHINE;
	if (cost_ns > LONG_LOOK_NS)
		p->credit_ns -= (int64_t)cost_ns;
	if (ret_cost_ns)
		*ret_cost_ns = cost_ns;
	if (c->scans.left)
		owe(c, p);
	if (c->drain_until_ns && monotonic_now() >= c->drain_until_ns)
		c->budget = 1;
	return error;
}

unsigned scans_owed(const struct capture *c)
{
	return c->scans.n_owed;
}

/* One at a time: the next one that can be afforded. */
static void look_at_owed(struct capture *c)
{
	struct scans *s = &c->scans;
	unsigned i;

	for (i = 0; i < SCAN_PACES; i++) {
		struct scan_pace *p = &s->paces[s->next_owed++ % SCAN_PACES];
		unsigned fresh = 0;

		if (!p->owed || !scans_afford(c, p->pid))
			continue;
		clear_owed(c, p);
		if (scans_look(c, p->pid, &fresh, NULL))
			fresh = 0;
		c->late += fresh ? fresh : 1;
		return;
	}
}

/* --- threads that wait --------------------------------------------------------------------------- */

/* Only taken down: what the kernel's buffer has may be more than there is time for. */
int decode_hold(void *context, void *data, size_t size)
{
	const struct record_hold *r = data;
	struct capture *c = context;

	if (size < sizeof(*r) || r->head.kind != RECORD_HOLD)
		return 0;
	c->scans.held[c->scans.n_held++] = *r;
	return c->scans.n_held < HOLDS_AT_ONCE ? 0 : -EAGAIN;
}

/* A later ticket in the slot tells as well, and must stay. */
static void release(struct capture *c, struct record_hold *r)
{
	__u64 *slot = &c->shared->hold_released[r->ops.a % HOLD_SLOTS];

	if (*slot < r->ops.a)
		__atomic_store_n(slot, r->ops.a, __ATOMIC_RELEASE);
	r->head.kind = 0;
}

static void serve(struct capture *c, unsigned i)
{
	struct scans *s = &c->scans;
	struct record_hold *r = &s->held[i];
	unsigned fresh;

	if (r->ops.b != HOLD_LIBRARIES) {
		if (!c->stopping)
			process_prepare(c, r);
		release(c, r);
		return;
	}
	if (scans_afford(c, r->head.tgid))
		scans_look(c, r->head.tgid, &fresh, NULL);
	for (; i < s->n_held; i++) {
		struct record_hold *other = &s->held[i];

		if (other->head.kind && other->ops.b == HOLD_LIBRARIES &&
		    other->head.tgid == r->head.tgid)
			release(c, other);
	}
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
	for (i = 0; i < s->n_held; i++) {
		if (!s->held[i].head.kind)
			continue;
		if (i && monotonic_now() >= until_ns)
			break;
		serve(c, i);
	}
	memmove(s->held, s->held + i, (s->n_held - i) * sizeof(*s->held));
	s->n_held -= i;
	if (s->n_owed)
		look_at_owed(c);
	now_ns = monotonic_now();
	s->holds_ns = now_ns + (now_ns - began_ns);
	return s->n_held ? -EAGAIN : 0;
}

void holds_between(struct capture *c)
{
	if (monotonic_now() >= c->scans.holds_ns)
		holds_serve(c);
}
