/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's part in a schedule. Which step is recorded is decided in the kernel (bpf/steps.h), which
 * tells of every change. Here each cycle gets its files, and while all processes wait, the domains'
 * probes are taken away, so that markers cost nothing.
 *
 * A change is told before it takes effect, and threads that had looked just before may still record. So
 * a cycle is over when its processes wait, no mark is on its way in the kernel, no recorded slice is
 * open, and all of that has been taken from the ring buffer.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "clock.h"
#include "cmd/record.h"
#include "cmd/scheduler.h"
#include "timeline/hash_key.h"

#define MAX_STEPS     1000000000u /* of each number in a schedule */
#define LEAST_STEP_NS 10000000ull /* while shorter steps are waited for, nothing is detached */
#define LOOKS	      16	  /* for a moment without any mark on its way */

struct scheduled_process {
	uint32_t pid;
	uint8_t phase;
	bool waits_on;
	bool stepped;
	uint64_t epoch, batch, step_ns; /* its latest step, and when that began */
	uint64_t length_ns;		/* how long the one before lasted; 0: not known */
	UT_hash_handle hh;
};

struct scheduler {
	struct scheduled_process *processes;
	unsigned n_recorded; /* of them, not waiting */
	bool open;	     /* a cycle has files */
	uint64_t epoch;	     /* which cycle's */
	uint32_t cycle;
	uint64_t cycles; /* so far, in all epochs */
	bool detached;
	uint64_t attach_ns; /* how long it takes from a step until all is attached again */
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

static void forget(struct scheduler *s, struct scheduled_process *p)
{
	s->n_recorded -= p->phase != PHASE_WAIT;
	HASH_DEL(s->processes, p);
	free(p);
}

void scheduler_free(struct scheduler *s)
{
	struct scheduled_process *p, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->processes, p, next)
		forget(s, p);
	free(s);
}

static struct scheduled_process *process_get(struct scheduler *s, uint32_t pid)
{
	struct scheduled_process *p;

	HASH_FIND(hh, s->processes, &pid, sizeof(pid), p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD(hh, s->processes, pid, sizeof(p->pid), p);
	return p;
}

/* --- files ------------------------------------------------------------------------------------- */

static void end_cycle(struct recording *r)
{
	if (!r->scheduler->open)
		return;
	outputs_end(r, NULL);
	r->scheduler->open = false;
}

static void begin_cycle(struct recording *r, const struct event *e)
{
	struct scheduler *s = r->scheduler;
	const struct output_fields fields = { true, e->id, e->size, e->cycle + 1 };
	struct failure f = { 0 };

	/* Several processes may be in the same one, or one of them behind another that is in these files. */
	if (s->open && s->epoch == e->id && s->cycle == e->cycle)
		return;
	if (s->open && s->n_recorded > 1 &&
	    (e->id < s->epoch || (e->id == s->epoch && e->cycle < s->cycle)))
		return;
	end_cycle(r);
	s->epoch = e->id;
	s->cycle = e->cycle;
	s->cycles++;
	s->open = !outputs_begin(r, &fields, &f);
	/* Each file has said why already. */
	if (!s->open) {
		r->output_failed = r->all_outputs_failed = true;
		r->stop_asked = true;
	}
}

/* --- probes ------------------------------------------------------------------------------------ */

static void go_on(struct recording *r, uint64_t step_ns)
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
 * The last step of waiting is the time to attach again. Where it may be too short for that, what would
 * be saved is little and a batch might be missed.
 */
static bool is_worth_it(const struct recording *r)
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

/* --- what happens ------------------------------------------------------------------------------ */

static void take_phase(struct recording *r, const struct event *e)
{
	struct scheduler *s = r->scheduler;
	struct scheduled_process *p = process_get(s, e->pid);

	if (!p)
		return;
	s->n_recorded += (e->phase != PHASE_WAIT) - (p->phase != PHASE_WAIT);
	p->phase = e->phase;
	p->waits_on = e->waits_on;
	if (!e->waits_on)
		go_on(r, e->ts_ns);
	if (e->phase != PHASE_WAIT)
		begin_cycle(r, e);
}

static void take_step(struct scheduler *s, const struct event *e)
{
	struct scheduled_process *p = process_get(s, e->pid);

	/* Several threads may say that one step begins. */
	if (!p || (p->stepped && p->epoch == e->id && p->batch == e->size))
		return;
	if (p->stepped && e->ts_ns > p->step_ns)
		p->length_ns = e->ts_ns - p->step_ns;
	p->stepped = true;
	p->epoch = e->id;
	p->batch = e->size;
	p->step_ns = e->ts_ns;
}

void scheduler_event(struct recording *r, const struct event *e)
{
	struct scheduled_process *p;

	if (e->kind == EVENT_PHASE) {
		take_phase(r, e);
	} else if (e->kind == EVENT_STEP) {
		take_step(r->scheduler, e);
	} else if (e->kind == EVENT_EXEC || e->kind == EVENT_PROCESS_EXIT) {
		HASH_FIND(hh, r->scheduler->processes, &e->pid, sizeof(e->pid), p);
		if (p)
			forget(r->scheduler, p);
	}
}

/* Nothing that was recorded is open, nor on its way, nor still in the ring buffer. */
static bool is_quiet(struct recording *r)
{
	unsigned looks = LOOKS;
	bool more = true;

	while (looks && capture_busy(r->capture))
		looks--;
	if (!looks || capture_drain(r->capture, &more) < 0 || more)
		return false;
	return !r->scheduler->n_recorded && !timeline_open_asyncs(r->timeline);
}

void scheduler_look(struct recording *r)
{
	struct scheduler *s = r->scheduler;
	uint64_t begin_ns, took_ns;

	if (s->n_recorded || s->detached || (!s->open && !is_worth_it(r)) || !is_quiet(r))
		return;
	end_cycle(r);
	if (!is_worth_it(r))
		return;
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	capture_wait(r->capture);
	s->detached = true;
	/* Meanwhile, the last step of waiting may have begun. */
	took_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (took_ns > s->attach_ns)
		s->attach_ns = took_ns;
}

uint64_t scheduler_cycles(const struct recording *r)
{
	return r->scheduler->cycles;
}
