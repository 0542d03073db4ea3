/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums the collectives up, and prints who came last. How late a rank was is the time since the last but one: so much
 * sooner all could have gone on without it. The collective to which all came first is left out of the sums of ranks, because
 * processes of a job do not start at one moment.
 */
#include "reports/ranks/ranks_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "reports/table/stats_view.h"
#include "reports/table/table.h"

enum {
	RANKS_JSON_VERSION = 1,
	RANKS_USUAL_ROWS = 20, /* where --limit does not say how many */
	STRAGGLER_LEAST_TIMES = 3,
	STRAGGLER_LEAST_PERMILLE = 1, /* of the time of all collectives */
};

/* What is printed. */
struct ranks_view {
	struct ranks *r;
	struct rank **ranks; /* the one that cost most time first */
	uint32_t n_ranks;
	struct collective **list; /* those of several ranks, the latest last rank first */
	uint32_t n;
	uint64_t n_alone;  /* that only one rank has */
	uint64_t n_some;   /* that several ranks have, but not all */
	uint64_t n_early;  /* that ended on one rank before another one came */
	uint64_t early_ns; /* at most so much before */
	uint64_t span_ns, late_ns;
	double roots; /* the sum of the square roots of all times in late_ns */
};

/*
 * What took the last rank longer than it usually takes ranks there; of the previous collective, the time since the last
 * rank had come to it.
 */
static void collective_find_why(struct ranks *r, struct collective *c)
{
	struct usual_key key = { .collective = c->key.name };
	const struct usual *arrivals = usual_find(r->arrivals, &key), *usual;

	for (unsigned i = 0; i < c->n_did && arrivals; i++) {
		struct doing did = c->did[i];
		uint64_t usually_ns;

		key.slice = did.slice;
		key.wait = did.wait;
		usual = usual_find(r->usual, &key);
		usually_ns = usual ? usual->sum / arrivals->sum : 0;
		if (did.ns <= usually_ns || did.ns - usually_ns <= c->why.ns)
			continue;
		did.ns -= usually_ns;
		c->why = did;
	}
	/* A rank that gets no CPU goes on late after the last rank has come. */
	if (c->previous && c->left_ns > c->previous->last_ns &&
	    c->left_ns - c->previous->last_ns > c->why.ns)
		c->why = (struct doing){ .slice = c->previous->key.name,
					 .ns = c->left_ns - c->previous->last_ns };
}

static void view_add(struct ranks_view *v, struct collective *c, bool is_first)
{
	struct rank *rank = c->last;

	c->late_ns = c->last_ns - c->second_last_ns;
	c->others_ns = (uint64_t)((int64_t)((c->last_ns - c->base_ns) * c->n_ranks) - c->sum_ns);
	collective_find_why(v->r, c);
	v->list[v->n++] = c;
	v->n_some += c->n_ranks < v->n_ranks;
	if (c->first_end_ns && c->first_end_ns < c->last_ns) {
		v->n_early++;
		if (c->last_ns - c->first_end_ns > v->early_ns)
			v->early_ns = c->last_ns - c->first_end_ns;
	}
	if (is_first)
		return;
	v->late_ns += c->late_ns;
	v->roots += sqrt((double)c->late_ns);
	rank->roots += sqrt((double)c->late_ns);
	rank->n_last++;
	rank->late_ns += c->late_ns;
	rank->others_ns += c->others_ns;
	if (c->late_ns > rank->late_max_ns)
		rank->late_max_ns = c->late_ns;
	if (c->why.ns)
		doing_add(rank->did, &rank->n_did, &c->why, v->r->other);
}

/*
 * If all ranks were equal, chance would decide which one is the last, and the sums of all ranks would be similar. A
 * straggler's sum is so large that chance does it in one of a thousand reports at most. The sums are those of square
 * roots, so that a few very long delays, of a machine that does something else, do not hide many short ones.
 */
static void find_stragglers(struct ranks_view *v)
{
	const double share = 1.0 / v->n_ranks;
	const double deviation = sqrt(share * (1 - share) * (double)v->late_ns);
	const double limit = v->roots * share + deviation * sqrt(2 * log(1000.0 * v->n_ranks));

	for (uint32_t i = 0; i < v->n_ranks; i++) {
		struct rank *rank = v->ranks[i];

		rank->is_straggler = rank->n_last >= STRAGGLER_LEAST_TIMES && rank->roots > limit &&
				     rank->late_ns >= v->span_ns / 1000 * STRAGGLER_LEAST_PERMILLE;
	}
}

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = *(struct rank *const *)left, *b = *(struct rank *const *)right;

	return a->late_ns < b->late_ns ? 1 : a->late_ns > b->late_ns ? -1 : 0;
}

static int compare_collectives(const void *left, const void *right)
{
	const struct collective *a = *(struct collective *const *)left;
	const struct collective *b = *(struct collective *const *)right;

	if (a->late_ns != b->late_ns)
		return a->late_ns < b->late_ns ? 1 : -1;
	return a->last_ns > b->last_ns ? 1 : a->last_ns < b->last_ns ? -1 : 0;
}

static int compare_rank_doing(const void *left, const void *right)
{
	const struct doing *a = left, *b = right;

	return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

static bool view_sum_up(struct ranks_view *v)
{
	const struct collective *first = NULL;
	struct collective *c;
	struct rank *rank;
	uint64_t last_ns = 0;

	v->ranks = calloc(HASH_COUNT(v->r->ranks) + 1, sizeof(struct rank *));
	v->list = calloc(HASH_COUNT(v->r->collectives) + 1, sizeof(struct collective *));
	if (!v->ranks || !v->list)
		return false;
	for (rank = v->r->ranks; rank; rank = rank->hh.next)
		v->ranks[v->n_ranks++] = rank;
	for (c = v->r->collectives; c; c = c->hh.next) {
		v->n_alone += c->n_ranks < 2;
		if (c->n_ranks > 1 && (!first || c->last_ns < first->last_ns))
			first = c;
		if (c->last_ns > last_ns)
			last_ns = c->last_ns;
	}
	for (c = v->r->collectives; c; c = c->hh.next) {
		if (c->n_ranks > 1)
			view_add(v, c, c == first);
	}
	v->span_ns = first ? last_ns - first->last_ns : 0;
	for (rank = v->r->ranks; rank; rank = rank->hh.next)
		qsort(rank->did, rank->n_did, sizeof(*rank->did), compare_rank_doing);
	qsort(v->ranks, v->n_ranks, sizeof(struct rank *), compare_ranks);
	qsort(v->list, v->n, sizeof(struct collective *), compare_collectives);
	if (v->n_ranks)
		find_stragglers(v);
	return true;
}

/* --- the tables ---------------------------------------------------------------------------------- */

/* "forward", "forward: futex"; "-" if nothing was longer than usual. */
static void format_doing(char *cell, const struct doing *doing, bool is_known)
{
	snprintf(cell, TABLE_CELL, "%s%s%s",
		 !is_known	? "-"
		 : doing->slice ? doing->slice->text
				: "(no slice)",
		 is_known && doing->wait ? ": " : "",
		 is_known && doing->wait ? doing->wait->text : "");
}

static void format_rank_cell(const void *context, size_t i, unsigned column, char *cell)
{
	const struct ranks_view *v = context;
	const struct rank *rank = v->ranks[i];
	enum stats_unit unit = v->r->options->table->unit;

	switch (column) {
	case 0:
		snprintf(cell, TABLE_CELL, "%s%s", rank->is_straggler ? "* " : "  ", rank->label);
		break;
	case 1:
		snprintf(cell, TABLE_CELL, "%" PRIu64, rank->n_collectives);
		break;
	case 2:
		stats_put_time(unit, rank->inside_ns, cell);
		break;
	case 3:
		snprintf(cell, TABLE_CELL, "%" PRIu64, rank->n_last);
		break;
	case 4:
		stats_put_time(unit, rank->late_ns, cell);
		break;
	case 5:
		stats_put_time(unit, rank->late_max_ns, cell);
		break;
	case 6:
		stats_put_time(unit, rank->others_ns, cell);
		break;
	default:
		format_doing(cell, &rank->did[0], rank->n_did);
	}
}

static void format_collective_cell(const void *context, size_t i, unsigned column, char *cell)
{
	const struct ranks_view *v = context;
	const struct collective *c = v->list[i];
	enum stats_unit unit = v->r->options->table->unit;

	switch (column) {
	case 0:
		snprintf(cell, TABLE_CELL, "%s", c->key.name->text);
		break;
	case 1:
		snprintf(cell, TABLE_CELL, "%" PRIu64 "/%" PRIu64, c->key.epoch, c->key.batch);
		break;
	case 2:
		snprintf(cell, TABLE_CELL, "%" PRIu64, c->key.nth + 1);
		break;
	case 3:
		snprintf(cell, TABLE_CELL, "%" PRIu32, c->n_ranks);
		break;
	case 4:
		snprintf(cell, TABLE_CELL, "%s", c->last->label);
		break;
	case 5:
		stats_put_time(unit, c->late_ns, cell);
		break;
	case 6:
		stats_put_time(unit, c->others_ns, cell);
		break;
	case 7:
		format_doing(cell, &c->why, c->why.ns);
		break;
	default:
		stats_put_time(unit, c->why.ns, cell);
	}
}

static void print_rows(const struct ranks_view *v, const struct table_column *columns,
		       unsigned n_columns, void (*cell)(const void *, size_t, unsigned, char *),
		       size_t n, FILE *out)
{
	const struct stats_options *o = v->r->options->table;
	size_t most = o->max_rows ? o->max_rows : RANKS_USUAL_ROWS;
	const struct table table = {
		.columns = columns,
		.n_columns = n_columns,
		.n_rows = n < most ? n : most,
		.cell = cell,
		.context = v,
		.color = o->color,
		.width = o->width,
	};

	table_print(&table, out);
	if (table.n_rows < n)
		fprintf(out, "and %zu more\n", n - table.n_rows);
	fputc('\n', out);
}

static void print_count(const struct ranks_view *v, FILE *out, uint64_t n, const char *what)
{
	char text[192];

	snprintf(text, sizeof(text), "%12" PRIu64 "  %s", n, what);
	if (n)
		stats_print_note(v->r->options->table, out, text);
}

static void print_notes(const struct ranks_view *v, FILE *out)
{
	char time[TABLE_CELL], text[160];
	uint32_t i, stragglers = 0;

	for (i = 0; i < v->n_ranks; i++)
		stragglers += v->ranks[i]->is_straggler;
	if (stragglers)
		fputs("* straggler: chance alone does not make one rank come last so late, so "
		      "often\n",
		      out);
	else if (v->n)
		fputs("no rank is a straggler\n", out);
	print_count(v, out, v->n_some, "collectives are not in all ranks");
	print_count(v, out, v->n_alone, "collectives are in one rank only, and not in the table");
	print_count(v, out, v->r->n_beyond, "were not joined: there are too many");
	stats_put_time(v->r->options->table->unit, v->early_ns, time);
	snprintf(text, sizeof(text),
		 "ended in a rank before another one came (by up to %.40s): it did not wait for "
		 "all, or clocks differ",
		 time);
	print_count(v, out, v->n_early, text);
}

static void print_tables(const struct ranks_view *v, FILE *out)
{
	static const struct table_column ranks[] = {
		{ "  Rank", true, 0 },	       { "Collectives", false, 3 },
		{ "Inside", false, 4 },	       { "Last", false, 0 },
		{ "Late", false, 0 },	       { "Max", false, 2 },
		{ "Others waited", false, 1 }, { "Longer than usual", true, 0 },
	};
	static const struct table_column collectives[] = {
		{ "Collective", true, 0 },
		{ "Step", false, 0 },
		{ "No.", false, 0 },
		{ "Ranks", false, 3 },
		{ "Last", true, 0 },
		{ "Late", false, 0 },
		{ "Others waited", false, 2 },
		{ "Longer than usual", true, 0 },
		{ "By", false, 1 },
	};
	const char *name = v->r->options->name;

	if (!v->n) {
		stats_print_note(
			v->r->options->table, out,
			name ? "no slice of that name is in several ranks"
			     : "no slice has the name of a collective; name them: --ranks=NAME");
		return;
	}
	print_rows(v, ranks, sizeof(ranks) / sizeof(ranks[0]), format_rank_cell, v->n_ranks, out);
	print_rows(v, collectives, sizeof(collectives) / sizeof(collectives[0]),
		   format_collective_cell, v->n, out);
}

/* --- JSON ---------------------------------------------------------------------------------------- */

static void json_put_doing(FILE *out, const char *key, const struct doing *doing, bool is_known)
{
	fprintf(out, ", \"%s\": ", key);
	if (!is_known) {
		fputs("null", out);
		return;
	}
	put_json_name(out, "{\"slice\": ", doing->slice);
	put_json_name(out, ", \"blocked_in\": ", doing->wait);
	put_json_u64(out, "ns", doing->ns);
	fputc('}', out);
}

static void json_put_rank(FILE *out, const struct rank *rank)
{
	put_json_string(out, "{\"rank\": ", rank->label);
	put_json_u64(out, "collectives", rank->n_collectives);
	put_json_u64(out, "inside_ns", rank->inside_ns);
	put_json_u64(out, "last", rank->n_last);
	put_json_u64(out, "late_ns", rank->late_ns);
	put_json_u64(out, "late_max_ns", rank->late_max_ns);
	put_json_u64(out, "others_waited_ns", rank->others_ns);
	json_put_doing(out, "longer", &rank->did[0], rank->n_did);
	fprintf(out, ", \"straggler\": %s}", rank->is_straggler ? "true" : "false");
}

static void json_put_collective(FILE *out, const struct collective *c)
{
	put_json_name(out, "{\"name\": ", c->key.name);
	put_json_u64(out, "epoch", c->key.epoch);
	put_json_u64(out, "batch", c->key.batch);
	put_json_u64(out, "number", c->key.nth + 1);
	put_json_u64(out, "ranks", c->n_ranks);
	put_json_u64(out, "first_ns", c->first_ns);
	put_json_u64(out, "last_ns", c->last_ns);
	put_json_string(out, ", \"last\": ", c->last->label);
	put_json_u64(out, "late_ns", c->late_ns);
	put_json_u64(out, "others_waited_ns", c->others_ns);
	json_put_doing(out, "longer", &c->why, c->why.ns);
	fputc('}', out);
}

static void print_json(const struct ranks_view *v, const struct account *account, FILE *out)
{
	fprintf(out, "{\n  \"proftrace_ranks\": %d", RANKS_JSON_VERSION);
	put_json_u64(out, "span_ns", v->span_ns);
	put_json_u64(out, "not_in_all", v->n_some);
	put_json_u64(out, "in_one", v->n_alone);
	put_json_u64(out, "beyond", v->r->n_beyond);
	put_json_u64(out, "ended_early", v->n_early);
	put_json_u64(out, "ended_early_max_ns", v->early_ns);
	fputs(",\n  \"ranks\": [", out);
	for (uint32_t i = 0; i < v->n_ranks; i++) {
		fputs(i ? ",\n    " : "\n    ", out);
		json_put_rank(out, v->ranks[i]);
	}
	fputs("],\n  \"collectives\": [", out);
	for (uint32_t i = 0; i < v->n; i++) {
		fputs(i ? ",\n    " : "\n    ", out);
		json_put_collective(out, v->list[i]);
	}
	fputc(']', out);
	stats_print_json_diagnostics(account, out);
	fputs("\n}\n", out);
}

int ranks_print(struct ranks *r, const struct account *account, FILE *out, struct failure *f)
{
	struct ranks_view v = { .r = r };
	int error = 0;

	if (!view_sum_up(&v)) {
		error = failure_set(f, -ENOMEM, "cannot print", "the ranks", NULL);
	} else if (r->options->json) {
		print_json(&v, account, out);
	} else {
		print_tables(&v, out);
		print_notes(&v, out);
		stats_print_diagnostics(r->options->table, account, out, false);
	}
	free(v.ranks);
	free(v.list);
	return error;
}
