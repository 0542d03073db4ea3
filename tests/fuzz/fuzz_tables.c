/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables that the kernel adds up in (--stats-only, top): it fills them with what the program says,
 * while they are read. The input is a row of steps: bytes that are put somewhere into a thread's place, a
 * row, its page or what is open, and what the recorder does with all of it. Only what the kernel makes
 * sure of by itself is put right first.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "capture/tables/internal.h"
#include "record/record.h"
#include "reports/table/stats_print.h"
#include "proftrace.skel.h"

#define KINDS	48 /* a site of each */
#define N_ROWS	32
#define BUNDLES 4 /* that are: half of them behind the near ones */
#define HEADER	5 /* of a step */

enum step {
	STEP_THREAD, /* which of them, where in it, how many bytes */
	STEP_ROW,
	STEP_PAGE,
	STEP_BUNDLE,
	STEP_TICK,
	STEP_RESET,
	STEP_OVER, /* of which thread's process */
	STEP_READ,
	STEP_OPEN,
	STEPS,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct proftrace_bpf__bss shared;
static struct tables tables;

static void must(bool good)
{
	if (!good)
		abort();
}

/* Of just their sizes, so that one byte read beyond them is seen. */
static void make_tables(void)
{
	tables.n_rows = N_ROWS;
	tables.before = calloc(N_ROWS, sizeof(*tables.before));
	tables.threads = calloc(TABLE_THREADS, sizeof(*tables.threads));
	tables.rows = calloc(N_ROWS, sizeof(*tables.rows));
	tables.pages = calloc(N_ROWS, sizeof(*tables.pages));
	tables.asyncs = calloc(TABLE_ASYNCS / TABLE_BUNDLE, sizeof(*tables.asyncs));
	must(tables.before && tables.threads && tables.rows && tables.pages && tables.asyncs);
}

static struct table_bundle *bundle(unsigned i)
{
	i %= BUNDLES;
	return &tables.asyncs[i < BUNDLES / 2 ? i : TABLE_NEAR + i];
}

/* As they are when a recording begins. Most of it was never written to. */
static void clear_tables(struct capture *c)
{
	unsigned i;

	memset(tables.rows, 0, N_ROWS * sizeof(*tables.rows));
	for (i = 0; i < BUNDLES; i++)
		memset(bundle(i), 0, sizeof(*bundle(i)));
	memset(tables.threads, 0, TABLE_THREADS * sizeof(*tables.threads));
	tables.n_exited = 0;
	capture_table_reset(c);
	for (i = 0; i < N_ROWS; i++) {
		free(tables.before[i]);
		tables.before[i] = NULL;
	}
	memset(tables.pages, 0, N_ROWS * sizeof(*tables.pages));
	tables.n_threads = 0;
	tables.marked = tables.marks = tables.unfinished = 0;
	tables.limit = tables.malformed = tables.unmatched = 0;
	shared.table_resets = shared.table_free_head = 0;
}

/* Whatever is added: the digits of a sum keep 32 bits each. */
static void put_right(const struct capture *c)
{
	unsigned i, digit;

	for (i = 0; i < N_ROWS; i++) {
		const struct table_row *row = &tables.rows[i];
		unsigned kind = row->site < c->n_sites ? c->sites[row->site].kind : 0;

		for (digit = 0; digit < TABLE_DIGITS; digit++) {
			if (kind == RECORD_COUNTER || kind == RECORD_STEP ||
			    i == TABLE_OTHER_COUNTERS)
				tables.pages[i].digits[digit] =
					(int32_t)tables.pages[i].digits[digit];
		}
	}
}

/* --- what reads them ----------------------------------------------------------------------------- */

static void see(void *context, const struct table_entry *e)
{
	must(e->key.part <= TABLE_COUNTERS && e->count);
	must(!e->min.type == !e->max.type && e->min.type <= ARG_DOUBLE &&
	     e->last.type <= ARG_DOUBLE);
	++*(uint64_t *)context;
}

static void see_open(void *context, const struct thread *thread, const struct name *name,
		     uint64_t begin_ns)
{
	(void)name, (void)begin_ns;
	must(thread->process != NULL);
	++*(uint64_t *)context;
}

static void print(struct capture *c, const struct account *account)
{
	static FILE *nowhere;
	static struct recording recording;
	const struct stats_options all = { 0 };

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	recording.capture = c;
	recording.stats = stats_new();
	must(nowhere && recording.stats);
	if (c->options.per_thread)
		stats_per_thread(recording.stats);
	stats_from_tables(&recording, 1000);
	must(!stats_print_table(recording.stats, nowhere, &all, account, NULL) &&
	     !stats_print_json(recording.stats, nowhere, &all, account, NULL, 0, NULL));
	recording.stats->ops->free(recording.stats);
}

static void finish(struct capture *c, size_t size)
{
	struct account account = { 0 };
	uint64_t n = 0;

	put_right(c);
	capture_table_tick(c);
	c->stopped = true;
	tables_account(c, &account);
	capture_table(c, see, &n);
	/* That takes longer than all the rest. */
	if (size % 16 == 0)
		print(c, &account);
	capture_table_reset(c);
	n = 0;
	capture_table(c, see, &n);
	must(!n);
}

/* --- steps --------------------------------------------------------------------------------------- */

static void put(void *to, size_t capacity, const uint8_t *step, const uint8_t *bytes, size_t n)
{
	size_t at = step[2] | step[3] << 8;

	at %= capacity;
	memcpy((char *)to + at, bytes, n < capacity - at ? n : capacity - at);
}

/* Returns how many bytes it took beyond its header. */
static size_t take(struct capture *c, const uint8_t *step, const uint8_t *bytes, size_t n)
{
	const struct table_thread *thread = &tables.threads[step[1] % TABLE_THREADS];
	uint64_t seen = 0;

	switch (step[0] % STEPS) {
	case STEP_THREAD:
		put(&tables.threads[step[1] % TABLE_THREADS], sizeof(*thread), step, bytes, n);
		return n;
	case STEP_ROW:
		put(&tables.rows[step[1] % N_ROWS], sizeof(*tables.rows), step, bytes, n);
		return n;
	case STEP_PAGE:
		put(&tables.pages[step[1] % N_ROWS], sizeof(*tables.pages), step, bytes, n);
		return n;
	case STEP_BUNDLE:
		put(bundle(step[1]), sizeof(*tables.asyncs), step, bytes, n);
		return n;
	case STEP_TICK:
		shared.table_free_head = step[1];
		put_right(c);
		capture_table_tick(c);
		break;
	case STEP_RESET:
		put_right(c);
		capture_table_reset(c);
		break;
	case STEP_OVER:
		tables_process_exited(c, thread->tgid, step[2]);
		break;
	case STEP_READ:
		put_right(c);
		capture_table(c, see, &seen);
		break;
	case STEP_OPEN:
		capture_table_open(c, see_open, &seen);
		break;
	}
	return 0;
}

static void make_sites(struct site *sites, struct names *names)
{
	static struct file file;
	unsigned i;

	/* Names are looked for in the file of the fuzzer itself. */
	if (!file.elf && elf_file_open(open("/proc/self/exe", O_RDONLY), &file.elf, NULL))
		abort();
	for (i = 0; i < KINDS; i++) {
		sites[i].file = &file;
		sites[i].kind = i;
		sites[i].vaddr = 0x1000 * i;
		sites[i].category = names_intern_string(names, "fuzz");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const globs[] = { "fuzz/*[a-m]", "!*e*" };
	static struct site sites[KINDS];
	struct capture *c = calloc(1, sizeof(*c));
	struct names *names = names_new(0);
	size_t left = size;

	if (!tables.rows)
		make_tables();
	make_sites(sites, names);
	c->sites = sites;
	c->n_sites = KINDS;
	c->options.names = names;
	c->options.per_thread = size & 1;
	c->options.domains = globs;
	c->options.n_domains = size & 2 ? 2 : 0;
	c->tables = &tables;
	c->shared = &shared;
	while (left >= HEADER) {
		const uint8_t *step = data;
		size_t n;

		data += HEADER;
		left -= HEADER;
		n = take(c, step, data, step[4] < left ? step[4] : left);
		data += n;
		left -= n;
	}
	finish(c, size);
	clear_tables(c);
	selection_free(c);
	markers_free(c);
	names_free(names);
	free(c);
	return 0;
}
