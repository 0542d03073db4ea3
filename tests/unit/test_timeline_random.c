/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random programs against models too simple to be wrong, with what the program really did as the
 * measure. Everything here also goes through the checks in facts.h.
 */
#include "facts.h"

#include "timeline/delay.h"
#include "timeline/state.h"

#define THREADS	  4
#define DEPTH	  20
#define N_SLICES  40000
#define N_NAMES	  6
#define NOT_ENDED UINT64_MAX

struct world {
	uint64_t seed;
	struct names *names;
	const struct name *name[N_NAMES];
	struct account account;
	struct timeline *timeline;
	struct facts facts;
	uint64_t now;
	uint64_t marked; /* handed to the timeline */
};

static void world_init(struct world *w, uint64_t seed)
{
	char text[] = "name0";
	int i;

	memset(w, 0, sizeof(*w));
	w->seed = seed * 0x9e3779b97f4a7c15ull + 1;
	w->names = names_new(0);
	for (i = 0; i < N_NAMES; i++, text[4]++)
		w->name[i] = names_intern_string(w->names, text);
	w->timeline = timeline_new(w->names, &w->account, 0);
	facts_init(&w->facts, 0);
	assert_int_equal(timeline_add_consumer(w->timeline, &w->facts.consumer), 0);
}

static void world_free(struct world *w)
{
	assert_int_equal(w->marked, w->account.written + account_lost(&w->account) +
					    w->account.paused + w->account.switched_off);
	timeline_free(w->timeline);
	names_free(w->names);
	facts_free(&w->facts);
}

static uint32_t pick(struct world *w, uint32_t below)
{
	return chance(&w->seed, below);
}

static void put(struct world *w, struct event event)
{
	event.ts_ns = w->now;
	/* A kind there is not counts as a malformed mark. */
	if (event.kind <= EVENT_INCLUDE_JSON || event.kind == EVENT_THREAD_NAME ||
	    event.kind > EVENT_SYSCALL)
		w->marked++;
	assert_int_equal(timeline_event(w->timeline, &event), 0);
}

/* --- losses ------------------------------------------------------------------------------------ */

/* What a slice really was, and what was recorded of it. */
struct truth {
	const struct name *name;
	uint32_t tid;
	uint64_t begin_ns;
	uint64_t end_ns; /* NOT_ENDED: still open when the thread or the recording ended */
	uint64_t due_ns; /* without an END of its own: the first mark that tells it has ended */
	bool recorded;
	bool end_recorded;
	bool reported;
};

struct program {
	struct truth slices[N_SLICES];
	unsigned n;
	struct {
		unsigned open[DEPTH];
		int depth;
		struct truth *ended[DEPTH]; /* by level: without an END, and nothing tells it yet */
	} threads[THREADS];
};

static bool lost(struct world *w, unsigned percent)
{
	return pick(w, 100) < percent;
}

/* A mark at this level was recorded: what ended at it or above must be known to have ended. */
static void tell_ended(struct world *w, struct program *p, uint32_t thread, int level)
{
	for (; level < DEPTH; level++) {
		if (p->threads[thread].ended[level])
			p->threads[thread].ended[level]->due_ns = w->now;
		p->threads[thread].ended[level] = NULL;
	}
}

static void program_begin(struct world *w, struct program *p, uint32_t thread, unsigned percent)
{
	int level = p->threads[thread].depth++;
	struct truth *s = &p->slices[p->n];

	*s = (struct truth){ .name = w->name[pick(w, N_NAMES)],
			     .tid = 10 + thread,
			     .begin_ns = w->now,
			     .end_ns = NOT_ENDED,
			     .recorded = !lost(w, percent) };
	p->threads[thread].open[level] = p->n++;
	if (!s->recorded)
		return;
	tell_ended(w, p, thread, level);
	put(w, (struct event){ .kind = EVENT_BEGIN,
			       .pid = 10,
			       .tid = s->tid,
			       .level = level,
			       .name = s->name });
}

/* Leaves slices down to this level. Of several that are left at once only the outermost has an END. */
static void program_end(struct world *w, struct program *p, uint32_t thread, int level,
			unsigned percent)
{
	int *depth = &p->threads[thread].depth;
	struct truth *s = NULL;

	while (*depth > level) {
		s = &p->slices[p->threads[thread].open[--*depth]];
		s->end_ns = w->now;
		s->end_recorded = *depth == level && s->recorded && !lost(w, percent);
		if (s->recorded && !s->end_recorded)
			p->threads[thread].ended[*depth] = s;
	}
	if (!s || !s->end_recorded)
		return;
	tell_ended(w, p, thread, level);
	put(w, (struct event){ .kind = EVENT_END, .pid = 10, .tid = 10 + thread, .level = level });
}

/* One step of a thread, recorded the way the kernel does it: by levels, an END only after its BEGIN. */
static void program_step(struct world *w, struct program *p, unsigned percent)
{
	uint32_t thread = pick(w, THREADS), tid = 10 + thread, what = pick(w, 100);
	int depth = p->threads[thread].depth;

	w->now += 1 + pick(w, 10);
	if (what < 45 && depth < DEPTH) {
		program_begin(w, p, thread, percent);
	} else if (what < 92 && depth) {
		program_end(w, p, thread, pick(w, 10) ? depth - 1 : (int)pick(w, (uint32_t)depth),
			    percent);
	} else if (what < 99) {
		if (lost(w, percent))
			return;
		tell_ended(w, p, thread, depth);
		put(w, (struct event){ .kind = EVENT_INSTANT,
				       .pid = 10,
				       .tid = tid,
				       .level = depth,
				       .name = w->name[0] });
	} else {
		put(w, (struct event){ .kind = EVENT_THREAD_EXIT, .pid = 10, .tid = tid });
		memset(&p->threads[thread], 0, sizeof(p->threads[thread]));
	}
}

static struct truth *truth_of(struct program *p, const struct seen_fact *f)
{
	unsigned low = 0, high = p->n;

	/* Times are distinct over all threads. */
	while (low < high) {
		unsigned i = (low + high) / 2;

		if (p->slices[i].begin_ns < f->begin_ns)
			low = i + 1;
		else
			high = i;
	}
	assert_true(low < p->n);
	return &p->slices[low];
}

static void check_losses(struct world *w, struct program *p)
{
	uint64_t normal = 0, by_reason[3] = { 0 }, open = 0;
	unsigned i;

	for (i = 0; i < w->facts.n; i++) {
		const struct seen_fact *f = &w->facts.all[i];
		struct truth *s;

		if (f->kind != FACT_END)
			continue;
		s = truth_of(p, f);
		by_reason[f->end_reason]++;
		assert_int_equal(s->begin_ns, f->begin_ns);
		assert_int_equal(s->tid, f->tid);
		assert_string_equal(s->name->text, f->name);
		assert_true(s->recorded && !s->reported);
		s->reported = true;
		if (s->end_recorded) {
			assert_int_equal(f->end_reason, END_NORMAL);
			assert_int_equal(f->ts_ns, s->end_ns);
		} else {
			/* At once when it can be known, or with its thread. */
			assert_int_equal(f->end_reason, s->due_ns ? END_LOST : END_UNFINISHED);
			assert_int_equal(f->ts_ns, s->due_ns ? s->due_ns : f->ts_ns);
			assert_true(s->end_ns == NOT_ENDED || f->ts_ns >= s->end_ns);
		}
	}
	for (i = 0; i < p->n; i++) {
		normal += p->slices[i].end_recorded;
		open += p->slices[i].recorded && !p->slices[i].reported;
		assert_true(p->slices[i].reported ||
			    !(p->slices[i].end_recorded || p->slices[i].due_ns));
	}
	assert_int_equal(by_reason[END_NORMAL], normal);
	assert_int_equal(w->account.ends_lost, by_reason[END_LOST]);
	assert_int_equal(w->account.unfinished, by_reason[END_UNFINISHED]);
	timeline_finish(w->timeline);
	assert_int_equal(w->account.open_at_end, open);
	/* The kernel never sends an END without its BEGIN. */
	assert_int_equal(account_lost(&w->account), 0);
}

static void test_losses(void **state)
{
	struct program *p = malloc(sizeof(*p));
	unsigned round, i;

	(void)state;
	assert_non_null(p);
	for (round = 0; round < 12; round++) {
		struct world w;

		world_init(&w, round);
		memset(p, 0, sizeof(*p));
		for (i = 0; i < 20000; i++)
			program_step(&w, p, round * 8);
		check_losses(&w, p);
		world_free(&w);
	}
	free(p);
}

/* --- files: no levels -------------------------------------------------------------------------- */

struct model_slice {
	const struct name *name;
	uint64_t begin_ns;
};

static void test_files(void **state)
{
	struct model_slice open[THREADS][DEPTH];
	unsigned depth[THREADS] = { 0 }, i, unmatched = 0;
	struct world w;

	(void)state;
	world_init(&w, 77);
	for (i = 0; i < 100000; i++) {
		uint32_t thread = pick(&w, THREADS);
		struct event e = { .pid = 10, .tid = 10 + thread, .level = -1 };
		const struct seen_fact *f;

		w.now += pick(&w, 3);
		if (pick(&w, 2) && depth[thread] < DEPTH) {
			e.kind = EVENT_BEGIN;
			e.name = w.name[pick(&w, N_NAMES)];
			open[thread][depth[thread]++] = (struct model_slice){ e.name, w.now };
			put(&w, e);
			continue;
		}
		e.kind = EVENT_END;
		put(&w, e);
		if (!depth[thread]) {
			unmatched++;
			continue;
		}
		depth[thread]--;
		f = &w.facts.all[w.facts.n - 1];
		assert_int_equal(f->kind, FACT_END);
		assert_string_equal(f->name, open[thread][depth[thread]].name->text);
		assert_int_equal(f->begin_ns, open[thread][depth[thread]].begin_ns);
		assert_int_equal(f->tid, 10 + thread);
	}
	assert_true(unmatched > 100);
	assert_int_equal(w.account.lost[LOST_UNMATCHED], unmatched);
	timeline_finish(w.timeline);
	assert_int_equal(w.account.open_at_end, depth[0] + depth[1] + depth[2] + depth[3]);
	world_free(&w);
}

/* --- asynchronous slices ----------------------------------------------------------------------- */

#define MOST_ASYNCS 60

struct model_async {
	uint32_t pid;
	const struct name *category, *name;
	uint64_t id, begin_ns;
	unsigned lane;
};

/* Open ones, oldest first. */
struct model_asyncs {
	struct model_async open[MOST_ASYNCS];
	unsigned n;
};

static unsigned free_lane(const struct model_asyncs *m, uint32_t pid, const struct name *name)
{
	unsigned lane, i;

	for (lane = 0;; lane++) {
		for (i = 0; i < m->n; i++) {
			if (m->open[i].pid == pid && m->open[i].name == name &&
			    m->open[i].lane == lane)
				break;
		}
		if (i == m->n)
			return lane;
	}
}

static int find_async(const struct model_asyncs *m, const struct event *e)
{
	int i;

	for (i = (int)m->n; i-- > 0;) {
		const struct model_async *a = &m->open[i];

		if (a->pid == e->pid && a->id == e->id &&
		    (!e->name || (a->name == e->name && a->category == e->category)))
			return i;
	}
	return -1;
}

static void model_remove(struct model_asyncs *m, int i)
{
	m->n--;
	memmove(&m->open[i], &m->open[i + 1], (m->n - (unsigned)i) * sizeof(m->open[0]));
}

static void end_async(struct world *w, struct model_asyncs *m, const struct event *e)
{
	const struct seen_fact *f;
	int i = find_async(m, e);

	put(w, *e);
	f = &w->facts.all[w->facts.n - 1];
	if (i < 0) {
		assert_int_equal(f->kind, FACT_INSTANT);
		return;
	}
	assert_int_equal(f->kind, FACT_ASYNC_END);
	assert_int_equal(f->begin_ns, m->open[i].begin_ns);
	assert_int_equal(f->first_track.lane, m->open[i].lane);
	assert_int_equal(f->pid, e->pid);
	assert_string_equal(f->name, m->open[i].name->text);
	model_remove(m, i);
}

static void exit_process(struct world *w, struct model_asyncs *m, uint32_t pid)
{
	uint64_t before = w->account.unfinished;
	unsigned i, gone = 0;

	put(w, (struct event){ .kind = EVENT_PROCESS_EXIT, .pid = pid });
	for (i = m->n; i-- > 0;) {
		if (m->open[i].pid == pid) {
			model_remove(m, (int)i);
			gone++;
		}
	}
	assert_int_equal(w->account.unfinished, before + gone);
}

static void test_asyncs(void **state)
{
	struct model_asyncs m = { .n = 0 };
	struct world w;
	unsigned i;

	(void)state;
	world_init(&w, 5);
	w.timeline->limits.asyncs = MOST_ASYNCS;
	for (i = 0; i < 100000; i++) {
		uint32_t what = pick(&w, 1000);
		struct event e = { .pid = 10 + pick(&w, 2), .id = pick(&w, 12), .level = -1 };

		w.now++;
		e.category = pick(&w, 2) ? w.name[0] : NULL;
		e.name = w.name[pick(&w, 3)];
		e.tid = pick(&w, 4) ? e.pid + 100 : 0;
		if (what < 500) {
			unsigned lane = free_lane(&m, e.pid, e.name);
			uint64_t limited = w.account.lost[LOST_LIMIT];
			const struct seen_fact *f;

			e.kind = EVENT_ASYNC_BEGIN;
			put(&w, e);
			if (m.n == MOST_ASYNCS) {
				assert_int_equal(w.account.lost[LOST_LIMIT], limited + 1);
				continue;
			}
			f = &w.facts.all[w.facts.n - 1];
			assert_int_equal(f->kind, FACT_ASYNC_BEGIN);
			assert_int_equal(f->first_track.lane, lane);
			m.open[m.n++] = (struct model_async){ e.pid, e.category, e.name,
							      e.id,  w.now,	 lane };
		} else if (what < 998) {
			e.kind = EVENT_ASYNC_END;
			if (what < 550)
				e.name = NULL;
			end_async(&w, &m, &e);
		} else {
			exit_process(&w, &m, e.pid);
		}
	}
	assert_true(w.account.lost[LOST_LIMIT] > 0);
	assert_true(w.account.async_unmatched > 1000);
	timeline_finish(w.timeline);
	assert_int_equal(w.account.open_at_end, m.n);
	world_free(&w);
}

/* --- memory pools ------------------------------------------------------------------------------ */

#define ADDRESSES     300
#define MOST_FOLLOWED 250

static void test_pools(void **state)
{
	struct {
		int pool; /* -1: not live */
		uint64_t size;
	} at[ADDRESSES + 1];
	uint64_t live[3] = { 0 }, unknown = 0, refused = 0;
	unsigned i, followed = 0;
	struct world w;

	(void)state;
	world_init(&w, 9);
	w.timeline->limits.allocations = MOST_FOLLOWED;
	for (i = 0; i <= ADDRESSES; i++)
		at[i].pool = -1;
	for (i = 0; i < 100000; i++) {
		uint32_t address = 1 + pick(&w, ADDRESSES), pool = pick(&w, 3);
		struct event e = { .pid = 10, .tid = 10, .level = -1, .id = address };
		const struct seen_fact *f;

		w.now++;
		e.kind = pick(&w, 100) < 55 ? EVENT_ALLOC : EVENT_FREE;
		e.size = pick(&w, 1000);
		e.name = w.name[pool];
		put(&w, e);
		if (at[address].pool >= 0) {
			live[at[address].pool] -= at[address].size;
			if (e.kind == EVENT_FREE)
				pool = (uint32_t)at[address].pool;
			at[address].pool = -1;
			followed--;
		} else {
			unknown += e.kind == EVENT_FREE;
		}
		if (e.kind == EVENT_ALLOC && followed == MOST_FOLLOWED) {
			refused++;
		} else if (e.kind == EVENT_ALLOC) {
			at[address].pool = (int)pool;
			at[address].size = e.size;
			live[pool] += e.size;
			followed++;
		}
		f = &w.facts.all[w.facts.n - 1];
		assert_int_equal(f->kind, FACT_COUNTER);
		assert_string_equal(f->name, w.name[pool]->text);
		assert_int_equal(f->args[0].i, live[pool]);
	}
	assert_int_equal(w.account.frees_unknown, unknown);
	assert_int_equal(w.account.allocs_not_followed, refused);
	assert_int_equal(w.account.written, 100000);
	world_free(&w);
}

/* --- anything at all --------------------------------------------------------------------------- */

static struct event any_event(struct world *w, struct arg args[3])
{
	struct event e = { .kind = (enum event_kind)(1 + pick(w, EVENT_SYSCALL + 1)) };
	unsigned i;

	/* Exits and executions are rare, or nothing would live. */
	if (e.kind >= EVENT_FORK && e.kind <= EVENT_PROCESS_EXIT && pick(w, 8))
		e.kind = EVENT_BEGIN;
	e.scope = (enum event_scope)pick(w, 5);
	e.object = (enum event_object)pick(w, 7);
	e.pid = pick(w, 5);
	e.tid = pick(w, 4) ? e.pid * 10 + pick(w, 4) : pick(w, 6);
	e.level = (int)pick(w, 12) - 1;
	e.name = pick(w, 10) ? w->name[pick(w, N_NAMES)] : NULL;
	e.category = pick(w, 2) ? w->name[pick(w, 2)] : NULL;
	e.unit = pick(w, 2) ? w->name[pick(w, 2)] : NULL;
	e.id = pick(w, 6);
	e.size = pick(w, 100);
	e.n_args = pick(w, 4);
	e.args = args;
	for (i = 0; i < 3; i++) {
		args[i] = (struct arg){ .type = (enum arg_type)(1 + pick(w, ARG_NULL)),
					.key = pick(w, 3) ? w->name[pick(w, N_NAMES)] : NULL,
					.u = pick(w, 1000) };
		if (args[i].type == ARG_STRING)
			args[i].s = "";
	}
	return e;
}

/* Marks of a clock without a reading so far are counted later. */
static uint64_t count_held(const struct timeline *t)
{
	uint64_t n = t->machine.held ? delay_count(t->machine.held) : 0;
	const struct process_state *p;

	for (p = t->processes; p; p = p->hh.next)
		n += p->held ? delay_count(p->held) : 0;
	return n;
}

static void assert_adds_up(const struct world *w)
{
	assert_int_equal(w->marked, w->account.written + account_lost(&w->account) +
					    w->account.paused + w->account.switched_off +
					    count_held(w->timeline));
}

static void test_anything(void **state)
{
	unsigned round, i;

	(void)state;
	for (round = 0; round < 30; round++) {
		struct arg args[3];
		struct world w;

		world_init(&w, 1000 + round);
		w.facts.only_check = true;
		if (round % 3 == 0) {
			timeline_states(w.timeline);
			timeline_wait_reasons(w.timeline);
		}
		if (round % 2)
			w.timeline->limits = (struct timeline_limits){
				.processes = 2 + pick(&w, 4),
				.threads = 1 + pick(&w, 10),
				.depth = 1 + pick(&w, 10),
				.tracks = pick(&w, 40),
				.asyncs = pick(&w, 10),
				.asyncs_of_one_id = 1 + pick(&w, 3),
				.allocations = pick(&w, 10),
			};
		for (i = 0; i < 30000; i++) {
			/* Now and then time goes back. */
			if (pick(&w, 20))
				w.now += pick(&w, 5);
			else if (w.now > 10)
				w.now -= pick(&w, 10);
			put(&w, any_event(&w, args));
			assert_adds_up(&w);
		}
		timeline_finish(w.timeline);
		assert_int_equal(count_held(w.timeline), 0);
		assert_adds_up(&w);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses),	 cmocka_unit_test(test_files),
		cmocka_unit_test(test_asyncs),	 cmocka_unit_test(test_pools),
		cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests_name("timeline, random", tests, NULL, NULL);
}
