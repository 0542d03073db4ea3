/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins the collectives of all ranks. Ranks are read one after the other, so a collective is kept until the end, but
 * of what the ranks did before it, only what the last one did. That is compared with what all ranks usually do
 * there, of which sums suffice.
 */
#include "reports/ranks/ranks_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/text.h"
#include "merge/merge_traces.h"

enum {
	RANKS_NAMES = 1 << 20, /* more than a merge has */
};

static const char *const usual_names[] = {
	"MPI_*[Bb]arrier",  "MPI_*[Bb]cast",	 "MPI_*[Rr]educe*",    "MPI_*[Gg]ather*",
	"MPI_*[Ss]catter*", "MPI_*[Aa]lltoall*", "MPI_*[Ss]can",       "*[Aa]ll[Rr]educe*",
	"*all_reduce*",	    "*[Aa]ll[Gg]ather*", "*all_gather*",       "*[Aa]ll[Tt]o[Aa]ll*",
	"*all_to_all*",	    "*reduce_scatter*",	 "*Reduce[Ss]catter*", "*[Bb]roadcast*",
	"*[Bb]arrier*",
};

/* --- what threads do ----------------------------------------------------------------------------- */

void doing_add(struct doing list[RANKS_DOING], unsigned *n, const struct doing *doing,
	       const struct name *other)
{
	unsigned i;

	for (i = 0; i < *n; i++) {
		if (list[i].slice == doing->slice && list[i].wait == doing->wait)
			break;
	}
	if (i < *n) {
		list[i].ns += doing->ns;
	} else if (*n < RANKS_DOING - 1) {
		list[(*n)++] = *doing;
	} else {
		if (*n < RANKS_DOING)
			list[(*n)++] = (struct doing){ .slice = other };
		list[RANKS_DOING - 1].ns += doing->ns;
	}
}

/* Until `ts_ns`, the thread went on with what it was doing. */
static void thread_advance(struct ranks *r, struct rank_thread *thread, uint64_t ts_ns,
			   const struct name *wait)
{
	const struct doing doing = {
		.slice = thread->n_open ? thread->open[thread->n_open - 1] : NULL,
		.wait = wait,
		.ns = ts_ns - thread->last_ns,
	};

	if (ts_ns <= thread->last_ns)
		return;
	if (thread->last_ns && !thread->collective_depth)
		doing_add(thread->did, &thread->n_did, &doing, r->other);
	thread->last_ns = ts_ns;
}

static struct rank_thread *thread_get(struct ranks *r, const struct thread *of)
{
	struct rank_thread *thread;

	if (!of)
		return NULL;
	HASH_FIND(hh, r->threads, &of->uuid, sizeof(of->uuid), thread);
	if (!thread)
		thread = hash_add_new(hh, r->threads, uuid, of->uuid);
	if (!thread)
		r->error = -ENOMEM;
	return thread;
}

static int compare_doing(const void *left, const void *right)
{
	const struct doing *a = left, *b = right;

	return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

/* --- collectives --------------------------------------------------------------------------------- */

static bool is_collective(struct ranks *r, const struct name *name)
{
	const char *const *globs = r->options->name ? &r->options->name : usual_names;
	unsigned n = r->options->name ? 1 : sizeof(usual_names) / sizeof(usual_names[0]);
	uint8_t *match = name->id < RANKS_NAMES ? &r->matches[name->id] : NULL;

	if (match && *match)
		return *match == 2;
	if (match)
		*match = globs_select(globs, n, name->text, false) ? 2 : 1;
	return match && *match == 2;
}

static void rank_set_label(struct rank *rank, const struct process *process)
{
	const char *name = process->name ? process->name->text : "process";
	const char *digits;
	int length;

	digits = process_rank(process, &length);
	if (digits)
		snprintf(rank->label, sizeof(rank->label), "rank %.*s", length, digits);
	else
		snprintf(rank->label, sizeof(rank->label), "%.40s %u", name, process->pid);
}

static struct rank *rank_get(struct ranks *r, const struct process *process)
{
	struct rank *rank;

	HASH_FIND(hh, r->ranks, &process->uuid, sizeof(process->uuid), rank);
	if (rank)
		return rank;
	rank = hash_add_new(hh, r->ranks, uuid, process->uuid);
	if (rank)
		rank_set_label(rank, process);
	return rank;
}

/* The step is the same in all ranks, so that a rank that was recorded later counts as the others do. */
static bool rank_set_key(struct ranks *r, struct rank *rank, const struct fact *fact,
			 struct collective_key *key)
{
	struct position *position;

	*key = (struct collective_key){ .name = fact->name };
	for (unsigned i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];

		if (arg->type != ARG_UINT && arg->type != ARG_INT)
			continue;
		if (arg->key == r->epoch)
			key->epoch = arg->u;
		else if (arg->key == r->batch)
			key->batch = arg->u;
	}
	HASH_FIND_PTR(rank->positions, &fact->name, position);
	if (!position)
		position = hash_add_new(hh, rank->positions, name, fact->name);
	if (!position)
		return false;
	if (position->epoch != key->epoch || position->batch != key->batch)
		position->next = 0;
	position->epoch = key->epoch;
	position->batch = key->batch;
	key->nth = position->next++;
	return true;
}

struct usual *usual_find(struct usual *table, const struct usual_key *key)
{
	struct usual *usual;

	HASH_FIND(hh, table, key, sizeof(*key), usual);
	return usual;
}

static void usual_add(struct ranks *r, struct usual **table, const struct usual_key *key,
		      uint64_t n)
{
	struct usual *usual = usual_find(*table, key);

	if (!usual)
		usual = hash_add_new(hh, *table, key, *key);
	if (usual)
		usual->sum += n;
	else
		r->error = -ENOMEM;
}

/* What all ranks did since their previous collective. */
static void remember_usual(struct ranks *r, const struct rank_thread *thread,
			   const struct name *name)
{
	struct usual_key key = { .collective = name };

	usual_add(r, &r->arrivals, &key, 1);
	for (unsigned i = 0; i < thread->n_did; i++) {
		key.slice = thread->did[i].slice;
		key.wait = thread->did[i].wait;
		usual_add(r, &r->usual, &key, thread->did[i].ns);
	}
}

/* A rank has come to the collective. */
static void collective_add(struct collective *c, struct rank *rank, struct rank_thread *thread,
			   uint64_t ts_ns)
{
	if (!c->n_ranks++)
		c->base_ns = c->first_ns = ts_ns;
	c->sum_ns += (int64_t)(ts_ns - c->base_ns);
	if (ts_ns < c->first_ns)
		c->first_ns = ts_ns;
	if (c->last && ts_ns < c->last_ns) {
		if (ts_ns > c->second_last_ns)
			c->second_last_ns = ts_ns;
		return;
	}
	c->second_last_ns = c->last_ns;
	c->last_ns = ts_ns;
	c->last = rank;
	c->previous = thread->previous;
	c->left_ns = thread->left_ns;
	qsort(thread->did, thread->n_did, sizeof(*thread->did), compare_doing);
	c->n_did = thread->n_did < RANKS_KEPT ? thread->n_did : RANKS_KEPT;
	memcpy(c->did, thread->did, c->n_did * sizeof(*c->did));
}

static void ranks_arrive(struct ranks *r, struct rank_thread *thread, const struct fact *fact)
{
	struct rank *rank = rank_get(r, fact->process);
	struct collective_key key;
	struct collective *c;

	thread->collective_depth = thread->n_open;
	if (!rank || !rank_set_key(r, rank, fact, &key)) {
		r->error = -ENOMEM;
		return;
	}
	rank->n_collectives++;
	HASH_FIND(hh, r->collectives, &key, sizeof(key), c);
	if (!c && HASH_COUNT(r->collectives) >= RANKS_MOST) {
		r->n_beyond++;
		return;
	}
	if (!c)
		c = hash_add_new(hh, r->collectives, key, key);
	thread->collective = c;
	if (!c) {
		r->error = -ENOMEM;
		return;
	}
	remember_usual(r, thread, fact->name);
	collective_add(c, rank, thread, fact->ts_ns);
}

static void ranks_leave(struct ranks *r, struct rank_thread *thread, const struct fact *fact)
{
	struct collective *c = thread->collective;

	rank_get(r, fact->process)->inside_ns += fact->ts_ns - fact->begin_ns;
	if (c && (!c->first_end_ns || fact->ts_ns < c->first_end_ns))
		c->first_end_ns = fact->ts_ns;
	thread->previous = c;
	thread->left_ns = fact->ts_ns;
	thread->collective = NULL;
	thread->collective_depth = 0;
	thread->n_did = 0;
}

/* --- facts --------------------------------------------------------------------------------------- */

static void ranks_begin(struct ranks *r, const struct fact *fact)
{
	struct rank_thread *thread = thread_get(r, fact->thread);

	if (!thread || !fact->process)
		return;
	thread_advance(r, thread, fact->ts_ns, NULL);
	if (!array_reserve(thread->open, thread->n_open, thread->open_capacity, 16)) {
		r->error = -ENOMEM;
		return;
	}
	thread->open[thread->n_open++] = fact->name;
	if (!thread->collective_depth && is_collective(r, fact->name))
		ranks_arrive(r, thread, fact);
}

static void ranks_end(struct ranks *r, const struct fact *fact)
{
	struct rank_thread *thread = thread_get(r, fact->thread);

	if (!thread || !thread->n_open || !fact->process)
		return;
	thread_advance(r, thread, fact->ts_ns, NULL);
	if (thread->collective_depth == thread->n_open && fact->end_reason == END_NORMAL)
		ranks_leave(r, thread, fact);
	else if (thread->collective_depth == thread->n_open)
		thread->collective_depth = 0;
	thread->n_open--;
}

static void ranks_wait(struct ranks *r, const struct fact *fact)
{
	struct rank_thread *thread = thread_get(r, fact->thread);

	if (!thread)
		return;
	thread_advance(r, thread, fact->begin_ns, NULL);
	thread_advance(r, thread, fact->ts_ns,
		       names_intern_string(r->names, wait_reason_text(fact->wait_reason)));
}

static void ranks_rename(struct ranks *r, const struct process *process)
{
	struct rank *rank;

	HASH_FIND(hh, r->ranks, &process->uuid, sizeof(process->uuid), rank);
	if (rank)
		rank_set_label(rank, process);
}

static void ranks_forget_thread(struct ranks *r, const struct thread *of)
{
	struct rank_thread *thread;

	HASH_FIND(hh, r->threads, &of->uuid, sizeof(of->uuid), thread);
	if (!thread)
		return;
	HASH_DELETE(hh, r->threads, thread);
	free(thread->open);
	free(thread);
}

static int ranks_fact(struct consumer *consumer, const struct fact *fact)
{
	struct ranks *r = (struct ranks *)consumer;

	if (r->error)
		return 0; /* reported when all is read */
	if (fact->kind == FACT_BEGIN)
		ranks_begin(r, fact);
	else if (fact->kind == FACT_END)
		ranks_end(r, fact);
	else if (fact->kind == FACT_WAIT)
		ranks_wait(r, fact);
	else if (fact->kind == FACT_PROCESS || fact->kind == FACT_LABELS)
		ranks_rename(r, fact->process);
	else if (fact->kind == FACT_EXIT && fact->thread)
		ranks_forget_thread(r, fact->thread);
	return 0;
}

static void ranks_free(struct consumer *consumer)
{
	struct ranks *r = (struct ranks *)consumer;

	hash_clear(hh, r->threads, thread, free(thread->open));
	for (struct rank *rank = r->ranks; rank; rank = rank->hh.next)
		hash_clear(hh, rank->positions, position);
	hash_clear(hh, r->ranks, rank);
	hash_clear(hh, r->collectives, collective);
	hash_clear(hh, r->usual, usual);
	hash_clear(hh, r->arrivals, usual);
	free(r->matches);
}

static const struct consumer_ops ranks_ops = {
	.fact = ranks_fact,
	.free = ranks_free,
};

/* --- all traces ---------------------------------------------------------------------------------- */

/* How the clocks of other machines were related to the first. */
static void print_alignment(const struct merge_traces *m)
{
	const struct part *part;

	for (part = m->parts; part < m->parts + m->n_parts; part++) {
		rewrite_source_notes(&part->source, &part->end);
		if (!part->same_boot)
			print_visible(stderr, "%s (%s): %s\n", part->source.path, part->label,
				      part->how);
	}
}

int report_ranks(const struct ranks_options *options, FILE *out, struct failure *f)
{
	struct ranks r = { .consumer.ops = &ranks_ops, .options = options };
	struct merge_traces *m = calloc(1, sizeof(*m));
	int error = m ? rewrite_init(&m->rewrite, f)
		      : failure_set(f, -ENOMEM, "cannot start", "", NULL);

	r.matches = calloc(RANKS_NAMES, 1);
	if (!error && (!r.matches || timeline_add_consumer(m->rewrite.timeline, &r.consumer)))
		error = failure_set(f, -ENOMEM, "cannot start", "", NULL);
	if (!error) {
		m->paths = options->paths;
		m->n_parts = options->n_paths;
		r.names = m->rewrite.names;
		r.epoch = names_intern_string(r.names, "epoch");
		r.batch = names_intern_string(r.names, "batch");
		r.other = names_intern_string(r.names, "(other)");
		error = merge_traces(m, f);
	}
	if (!error && r.error)
		error = failure_set(f, r.error, "cannot read", options->paths[0], NULL);
	if (!error && !options->quiet)
		print_alignment(m);
	error = error ?: ranks_print(&r, &m->rewrite.written_account, out, f);
	if (m)
		merge_traces_free(m);
	ranks_free(&r.consumer);
	free(m);
	return error;
}
