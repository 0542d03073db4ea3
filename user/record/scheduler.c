/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's part of a schedule. The kernel decides which step is recorded (bpf/marks/steps.h) and reports every change
 * of phase. This file gives each cycle its own files. While all processes wait, it detaches the probes of the
 * domains, so that markers cost nothing.
 *
 * A change of phase is reported before it takes effect, and threads that read the phase just before may still
 * record. So a cycle is over only when its processes wait, no eBPF program is recording a mark, no recorded slice is
 * open, and the ring buffers are drained.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "base/clock.h"
#include "record/record.h"
#include "base/hash_key.h"

#define MAX_STEPS     1000000000u /* limit of each number in a schedule */
#define LEAST_STEP_NS 10000000ull /* shorter steps are too short to detach and attach again */
#define BUSY_TRIES    16	  /* to find a moment in which no eBPF program runs */

struct scheduled_process {
	uint32_t pid;
	uint8_t phase;
	bool waits_on;
	bool stepped;
	uint64_t epoch, batch, step_ns; /* the latest step and its time */
	uint64_t length_ns;		/* duration of the step before; 0: unknown */
	UT_hash_handle hh;
};

struct scheduler {
	struct scheduled_process *processes;
	unsigned n_recorded; /* processes that are not waiting */
	bool open;	     /* files of a cycle are open */
	uint64_t epoch;	     /* of that cycle */
	uint32_t cycle;
	uint64_t cycles; /* in all epochs */
	bool detached;
	uint64_t attach_ns; /* from a step until all probes are attached again */
};

bool schedule_parse(const char *text, struct schedule *ret_schedule)
{
	struct schedule s = { .warmup = 1, .active = 4, .repeat = 1 };
	const struct {
		const char *name;
		__u32 *value;
	} fields[] = {
		{ "skip_first=", &s.skip_first }, { "wait=", &s.wait },
		{ "warmup=", &s.warmup },	  { "active=", &s.active },
		{ "repeat=", &s.repeat },
	};
	unsigned i, seen = 0;

	for (;;) {
		unsigned long value;
		char *end;

		for (i = 0; i < 5; i++) {
			if (!strncmp(text, fields[i].name, strlen(fields[i].name)))
				break;
		}
		if (i == 5 || seen & 1u << i)
			return false;
		seen |= 1u << i;
		text += strlen(fields[i].name);
		if (!isdigit((unsigned char)*text))
			return false;
		errno = 0;
		value = strtoul(text, &end, 10);
		if (errno || value > MAX_STEPS)
			return false;
		*fields[i].value = value;
		if (!*end)
			break;
		if (*end != ',')
			return false;
		text = end + 1;
	}
	if (!s.active)
		return false;
	*ret_schedule = s;
	return true;
}

struct scheduler *scheduler_new(void)
{
	return calloc(1, sizeof(struct scheduler));
}

static void scheduler_remove_process(struct scheduler *s, struct scheduled_process *p)
{
	s->n_recorded -= p->phase != PHASE_WAIT;
	HASH_DEL(s->processes, p);
	free(p);
}

void scheduler_free(struct scheduler *s)
{
	if (!s)
		return;
	hash_each (s->processes, p)
		scheduler_remove_process(s, p);
	free(s);
}

static struct scheduled_process *scheduler_get_process(struct scheduler *s, uint32_t pid)
{
	struct scheduled_process *p;

	HASH_FIND(hh, s->processes, &pid, sizeof(pid), p);
	return p ? p : hash_add_new(hh, s->processes, pid, pid);
}

/* --- files ------------------------------------------------------------------------------------- */

static void scheduler_end_cycle(struct recording *r)
{
	if (!r->scheduler->open)
		return;
	outputs_end(r, NULL);
	r->scheduler->open = false;
}

static void scheduler_begin_cycle(struct recording *r, const struct event *e)
{
	struct scheduler *s = r->scheduler;
	const struct output_fields fields = { true, e->id, e->size, e->cycle + 1 };
	struct failure f = { 0 };

	/* Another process is in this cycle already, or this process is behind another that has begun a later cycle. */
	if (s->open && s->epoch == e->id && s->cycle == e->cycle)
		return;
	if (s->open && s->n_recorded > 1 &&
	    (e->id < s->epoch || (e->id == s->epoch && e->cycle < s->cycle)))
		return;
	scheduler_end_cycle(r);
	s->epoch = e->id;
	s->cycle = e->cycle;
	s->cycles++;
	s->open = !outputs_begin(r, &fields, &f);
	/* outputs_begin() has reported why. */
	if (!s->open) {
		r->output_failed = r->all_outputs_failed = true;
		r->stop_requested = true;
	}
}

/* --- probes ------------------------------------------------------------------------------------ */

static void scheduler_reattach(struct recording *r, uint64_t step_ns)
{
	struct scheduler *s = r->scheduler;
	uint64_t now;

	if (!s->detached)
		return;
	capture_go_on(r->capture);
	s->detached = false;
	now = clock_ns(CLOCK_MONOTONIC);
	s->attach_ns -= s->attach_ns / 4;
	if (now > step_ns && now - step_ns > s->attach_ns)
		s->attach_ns = now - step_ns;
}

/*
 * Probes are attached again during the last waiting step. If that step may be too short, little would be saved, and
 * a recorded step might be missed.
 */
static bool scheduler_may_detach(const struct recording *r)
{
	const struct scheduler *s = r->scheduler;
	uint64_t attach_ns = capture_attach_ns(r->capture), least = LEAST_STEP_NS;
	const struct scheduled_process *p;

	if (!capture_can_wait(r->capture))
		return false;
	if (attach_ns < s->attach_ns)
		attach_ns = s->attach_ns;
	if (least < 2 * attach_ns)
		least = 2 * attach_ns;
	for (p = s->processes; p; p = p->hh.next) {
		if (!p->waits_on || p->length_ns < least)
			return false;
	}
	return s->processes != NULL;
}

/* --- events ------------------------------------------------------------------------------ */

static void scheduler_handle_phase(struct recording *r, const struct event *e)
{
	struct scheduler *s = r->scheduler;
	struct scheduled_process *p = scheduler_get_process(s, e->pid);

	if (!p)
		return;
	s->n_recorded += (e->phase != PHASE_WAIT) - (p->phase != PHASE_WAIT);
	p->phase = e->phase;
	p->waits_on = e->waits_on;
	if (!e->waits_on)
		scheduler_reattach(r, e->ts_ns);
	if (e->phase != PHASE_WAIT)
		scheduler_begin_cycle(r, e);
}

static void scheduler_handle_step(struct scheduler *s, const struct event *e)
{
	struct scheduled_process *p = scheduler_get_process(s, e->pid);

	/* Several threads may announce the same step. */
	if (!p || (p->stepped && p->epoch == e->id && p->batch == e->size))
		return;
	if (p->stepped && e->ts_ns > p->step_ns)
		p->length_ns = e->ts_ns - p->step_ns;
	p->stepped = true;
	p->epoch = e->id;
	p->batch = e->size;
	p->step_ns = e->ts_ns;
}

void scheduler_handle_event(struct recording *r, const struct event *e)
{
	struct scheduled_process *p;

	if (e->kind == EVENT_PHASE) {
		scheduler_handle_phase(r, e);
	} else if (e->kind == EVENT_STEP) {
		scheduler_handle_step(r->scheduler, e);
	} else if (e->kind == EVENT_EXEC || e->kind == EVENT_PROCESS_EXIT) {
		HASH_FIND(hh, r->scheduler->processes, &e->pid, sizeof(e->pid), p);
		if (p)
			scheduler_remove_process(r->scheduler, p);
	}
}

/* No recorded slice is open, no eBPF program is recording, and the ring buffers are empty. */
static bool scheduler_is_drained(struct recording *r)
{
	unsigned tries = BUSY_TRIES;
	bool more = true;

	while (tries && capture_busy(r->capture))
		tries--;
	if (!tries || capture_drain(r->capture, &more) < 0 || more)
		return false;
	return !r->scheduler->n_recorded && !timeline_open_asyncs(r->timeline);
}

void scheduler_poll(struct recording *r)
{
	struct scheduler *s = r->scheduler;
	uint64_t begin_ns, took_ns;

	if (s->n_recorded || s->detached || (!s->open && !scheduler_may_detach(r)) ||
	    !scheduler_is_drained(r))
		return;
	scheduler_end_cycle(r);
	if (!scheduler_may_detach(r))
		return;
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	capture_wait(r->capture);
	s->detached = true;
	/* The last waiting step may have begun while the probes were being detached. */
	took_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (took_ns > s->attach_ns)
		s->attach_ns = took_ns;
}

uint64_t scheduler_cycles(const struct recording *r)
{
	return r->scheduler->cycles;
}
