/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of marks (--max-overhead). The kernel counts the marks of each domain and times some of
 * them. The cost of a mark is that of entering the BPF program, which was measured before the
 * recording, plus the average time of the program for its domain. It is compared with the CPU time
 * of the processes.
 *
 * The CPU time of a live process is read from its CPU clock. That of an exited process is read from
 * the same clock until its parent has waited for it; otherwise the kernel reports it with the exit.
 */
#include "capture/guard.h"

#include <time.h>

#include "capture/batch/batch.h"
#include "proftrace.skel.h"

#define DRAIN_ROUNDS	64 /* in case the target never stops marking */
#define ENOUGH		32 /* timed marks for an average */
#define BASES_LONGER_NS 1000000000ull
#define BUFFERED_NS	20 /* a mark in buffered mode (README, What it costs) */

/*
 * Reads the CPU clock of a whole process, with the clock number that the kernel gives it
 * (CPUCLOCK_SCHED). 0: the process has exited.
 */
static uint64_t read_process_clock(pid_t pid)
{
	struct timespec t;

	if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &t))
		return 0;
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void add_cpu_time(struct capture *c, struct traced_process *p, uint64_t now)
{
	if (now <= p->cpu_ns)
		return;
	c->guard.cpu_ns += now - p->cpu_ns;
	p->cpu_ns = now;
}

void guard_process_begin(struct capture *c, struct traced_process *p, bool is_new)
{
	if (c->options.guarded && !is_new)
		p->cpu_ns = read_process_clock(p->pid);
}

void guard_process_end(struct capture *c, struct traced_process *p, uint64_t cpu_ns)
{
	if (!c->options.guarded)
		return;
	add_cpu_time(c, p, read_process_clock(p->pid));
	add_cpu_time(c, p, cpu_ns);
}

bool guard_is_off_with(const struct capture *c, unsigned number, const struct name *domain)
{
	const struct guard_domain *d = &c->guard.domains[number];

	return d->off && d->name != domain;
}

const struct name *capture_off_with(const struct capture *c, unsigned i, const struct name **ret)
{
	const struct guard_domain *last = &c->guard.domains[GUARD_DOMAINS - 1];

	if (i >= c->guard.n_sharing || !last->off)
		return NULL;
	*ret = last->name;
	return c->guard.sharing[i];
}

static void log_off_with(struct capture *c, unsigned i)
{
	const struct name *with, *domain = capture_off_with(c, i, &with);

	if (domain)
		capture_log(c, 0, GUARD_OFF_WITH, domain->text, with->text);
}

/* Programs that have ended keep their numbers, so another's may have used up all of them. */
static void note_sharing(struct capture *c, const struct name *domain)
{
	unsigned i;

	for (i = 0; i < c->guard.n_sharing; i++) {
		if (c->guard.sharing[i] == domain)
			return;
	}
	if (i == GUARD_SHARING)
		return;
	c->guard.sharing[c->guard.n_sharing++] = domain;
	log_off_with(c, i);
}

unsigned guard_number(struct capture *c, const struct name *domain)
{
	unsigned i;

	if (!c->options.guarded)
		return 0;
	for (i = 1; i < c->guard.n; i++) {
		if (c->guard.domains[i].name == domain)
			return i;
	}
	/* If there are too many domains, the rest share the last number. */
	if (i == GUARD_DOMAINS) {
		note_sharing(c, domain);
		return i - 1;
	}
	c->guard.n = i + 1;
	c->guard.domains[i].name = domain;
	c->guard.domains[i].buffered = c->options.begin_buffered;
	if (c->options.changing && c->options.begin_buffered)
		batch_bases_begin(c);
	return i;
}

bool guard_is_off(const struct capture *c, unsigned number)
{
	return c->guard.domains[number].off;
}

bool guard_is_buffered(const struct capture *c, unsigned number)
{
	return c->guard.domains[number].buffered;
}

static struct guard_count sum_guard_counts(const struct capture *c, unsigned domain)
{
	struct guard_count sum = { 0 };

	for (unsigned cpu = 0; cpu < GUARD_CPUS; cpu++) {
		const struct guard_count *one = &c->shared->guard_counts[cpu][domain];

		sum.marks += __atomic_load_n(&one->marks, __ATOMIC_RELAXED);
		sum.timed += __atomic_load_n(&one->timed, __ATOMIC_RELAXED);
		sum.ns += __atomic_load_n(&one->ns, __ATOMIC_RELAXED);
	}
	return sum;
}

/*
 * The average time of the program in ns: in the interval, or if too few were timed, since the
 * beginning, or of all domains.
 */
static double average_cost_ns(const struct guard_count *interval, const struct guard_count *all,
			      const struct guard_count *anybody)
{
	if (interval->timed >= ENOUGH)
		return (double)interval->ns / interval->timed;
	if (all->timed >= ENOUGH)
		return (double)all->ns / all->timed;
	return anybody->timed ? (double)anybody->ns / anybody->timed : 0;
}

static void compute_domain_costs(struct capture *c, struct costs *costs,
				 const struct guard_count *anybody)
{
	for (unsigned i = 0; i < c->guard.n; i++) {
		struct guard_domain *domain = &c->guard.domains[i];
		struct guard_count now = sum_guard_counts(c, i), interval = now;
		uint64_t buffered = domain->in_batches - domain->in_batches_before;
		double each_ns;

		interval.marks -= domain->before.marks;
		interval.timed -= domain->before.timed;
		interval.ns -= domain->before.ns;
		domain->before = now;
		domain->in_batches_before = domain->in_batches;
		each_ns = c->loaded.entry_ns + average_cost_ns(&interval, &now, anybody);
		costs->domains[i] = (struct domain_cost){
			.domain = domain->name,
			.off = domain->off,
			.stays = domain->name && is_runtime_domain(domain->name),
			.can_buffer = domain->can_buffer,
			.buffered = domain->buffered && domain->can_buffer,
			.marks = interval.marks + buffered,
			.marks_all = now.marks + domain->in_batches,
			.cost_ns = interval.marks * each_ns + buffered * BUFFERED_NS,
			.exact_ns = (interval.marks + buffered) * each_ns,
		};
	}
	costs->n = c->guard.n;
}

/* A thread may have been stopped in a mark since the last domain left buffered mode. */
static void end_bases(struct capture *c)
{
	uint64_t now_ns = monotonic_now();

	for (unsigned i = 1; i < c->guard.n; i++) {
		if (c->guard.domains[i].buffered && c->guard.domains[i].can_buffer)
			c->guard.buffered_ns = now_ns;
	}
	if (c->options.changing && c->shared->bases_wanted &&
	    now_ns - c->guard.buffered_ns > BASES_LONGER_NS)
		batch_bases_end(c);
}

bool capture_costs(struct capture *c, uint64_t least_cpu_ns, struct costs *ret_costs)
{
	struct guard_count all = { 0 };
	struct traced_process *p;

	for (p = c->processes; p; p = p->hh.next)
		add_cpu_time(c, p, read_process_clock(p->pid));
	if (!c->options.guarded || c->guard.cpu_ns < least_cpu_ns)
		return false;
	end_bases(c);
	for (unsigned i = 0; i < c->guard.n; i++) {
		struct guard_count one = sum_guard_counts(c, i);

		all.timed += one.timed;
		all.ns += one.ns;
	}
	compute_domain_costs(c, ret_costs, &all);
	ret_costs->cpu_ns = c->guard.cpu_ns;
	c->guard.cpu_ns = 0;
	return true;
}

uint64_t capture_entry_ns(const struct capture *c)
{
	return c->loaded.entry_ns;
}

void capture_change_modes(struct capture *c, const bool *domains)
{
	for (unsigned i = 1; i < c->guard.n; i++) {
		c->guard.domains[i].buffered ^= domains[i];
		if (domains[i] && c->guard.domains[i].buffered)
			batch_bases_begin(c);
	}
	files_change_modes(c, domains);
}

void guard_forbid_buffers(struct capture *c, pid_t pid)
{
	bool leave[GUARD_DOMAINS] = { 0 };

	if (c->guard.forbidden_by)
		return;
	c->guard.forbidden_by = pid;
	c->options.begin_buffered = false;
	for (unsigned i = 1; i < c->guard.n; i++) {
		leave[i] = c->guard.domains[i].buffered;
		c->guard.domains[i].buffered = false;
	}
	files_leave_buffers(c, leave);
}

bool capture_holds_in_libc(const struct capture *c)
{
	return c->options.changing && !c->loaded.holds_in_calls;
}

pid_t capture_counter_forbidden(const struct capture *c)
{
	return c->guard.forbidden_by;
}

unsigned capture_exact_files(const struct capture *c)
{
	return c->n_exact_files;
}

uint64_t capture_strings_read(const struct capture *c)
{
	return c->batches ? c->batches->strings : 0;
}

/* Ends the open slices of all domains with this number. */
static void emit_domain_off(struct capture *c, unsigned number)
{
	struct event e = { .kind = EVENT_DOMAIN_OFF, .level = -1, .ts_ns = monotonic_now() };

	for (unsigned i = 0; i < c->n_sites; i++) {
		const struct site *s = &c->sites[i];

		if (s->guard != number || !s->category || s->category == e.category)
			continue;
		e.category = s->category;
		capture_emit(c, &e);
	}
}

/*
 * The marker sites of other domains that are turned off with this one, in files that are attached to. Under --mode auto
 * the steady nop of a site is listed as well (files.c), and is not one more site.
 */
static unsigned count_off_with(struct capture *c, unsigned number)
{
	unsigned n = 0;

	hash_each (c->files, file) {
		for (unsigned i = 0; !file->refused && i < file->n_sites; i++) {
			const struct site *s = &c->sites[file->first_site + i];
			bool is_steady = file->changes && !s->batches && s->kind != RECORD_BATCH_ON;

			n += s->guard == number && !is_steady &&
			     guard_is_off_with(c, number, s->category);
		}
	}
	return n;
}

void capture_switch_off(struct capture *c, unsigned number)
{
	unsigned rounds = DRAIN_ROUNDS;
	bool more = true;

	if (!number || number >= c->guard.n || c->guard.domains[number].off)
		return;
	c->guard.domains[number].off = true;
	/* The bit is set first: a thread that then notices the new generation finds it set. */
	__atomic_fetch_or(&c->shared->guard_off[number / 64], 1ull << number % 64,
			  __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&c->shared->off_count, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&c->shared->generation, 1, __ATOMIC_SEQ_CST);
	files_detach_domain(c, number);
	/* What was recorded before must be emitted before the end of the domain. */
	while (more && rounds--)
		if (capture_drain(c, &more) < 0)
			break;
	if (c->batches)
		capture_catch_up(c);
	emit_domain_off(c, number);
	c->refused_sites += count_off_with(c, number);
	if (number != GUARD_DOMAINS - 1)
		return;
	for (unsigned i = 0; i < c->guard.n_sharing; i++)
		log_off_with(c, i);
}
