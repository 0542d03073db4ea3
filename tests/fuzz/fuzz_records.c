/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the ring buffer: their layout is our own program's, their contents come out of the
 * registers and the memory of the traced program, its stack, and the names of its threads. The input is
 * a row of records, each behind its length in two bytes; what they decode to goes through a timeline.
 * Records of kinds that there are not say what else happens meanwhile.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/probes/probes.h"
#include "capture/stacks/internal.h"
#include "proftrace.skel.h"
#include "bpf/sched/sched_records.h"
#include "tracee/maps.h"
#include "timeline/timeline.h"

#define KINDS  48		/* a site of each */
#define PROBES 12		/* and of others', of those kinds that these can have, and more */
#define ENTRY  (KINDS + PROBES) /* of a function, and where it returns */
#define SITES  (ENTRY + 2)
#define STACKS 4096 /* frames and stacks */

/* After a head, as many as there are. */
#define LOOK_AT_MAPPINGS 200
struct code_mapped {
	uint64_t start, end, offset;
	uint8_t inode; /* bit 7: of a file that is open; 6: of one of two others */
	char path[15];
};

#define LOSE_SWITCHES 201 /* `site` of them by now */

/* No process has such a number: what one made itself is looked for where it wrote it down. */
#define FIRST_NOBODY (1u << 22)

static struct proftrace_bpf__bss shared;
static struct file file, others[2]; /* these have no build id */

static int take_event(void *context, const struct event *event)
{
	return timeline_event(context, event);
}

static void look_at_mappings(struct capture *c, const struct record *r, size_t size)
{
	const struct code_mapped *m = (const struct code_mapped *)(r + 1);
	size_t n = (size - sizeof(*r)) / sizeof(*m);
	char path[sizeof(m->path) + 1] = "";

	stacks_scan_begin(c->stacks, r->tgid);
	for (; n; n--, m++) {
		struct mapping mapping = {
			.start = m->start,
			.end = m->end,
			.offset = m->offset,
			.executable = true,
			.inode = m->inode & 63,
			.path = path,
		};

		memcpy(path, m->path, sizeof(m->path));
		if (!mapping.inode && r->tgid < FIRST_NOBODY)
			mapping.inode = 1;
		stacks_scan_mapping(c->stacks, &mapping,
				    m->inode & 128  ? &file
				    : m->inode & 64 ? &others[m->inode & 1]
						    : NULL);
	}
	stacks_scan_end(c->stacks, true);
}

static void take(struct capture *c, struct record *r, size_t size)
{
	/* There is a site of each number that the kernel tells, and some are gone again. */
	if (r->kind < RECORD_FORK || r->kind == RECORD_MARK_STACK)
		r->site %= SITES + 2;
	/* There is no broker to ask for more about a process that matches. */
	if (r->kind == RECORD_EXEC)
		r->flags &= ~RECORD_TARGET;
	if (r->kind == LOOK_AT_MAPPINGS)
		look_at_mappings(c, r, size);
	else if (r->kind == LOSE_SWITCHES)
		shared.sched_lost = r->site;
	else
		decode_record(c, r, size);
}

static void decode_all(struct capture *c, const uint8_t *data, size_t size)
{
	while (size > 2) {
		size_t n = data[0] | data[1] << 8;
		struct record *copy;

		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		/* A copy of just that size: one byte read beyond it is seen. */
		copy = malloc(n ? n : 1);
		memcpy(copy, data, n);
		if (n >= sizeof(*copy))
			take(c, copy, n);
		else
			decode_record(c, copy, n);
		free(copy);
		data += n;
		size -= n;
	}
}

/* Named by a template, with keys of their own. */
static void make_probes(struct site *sites)
{
	static struct probe probes[PROBES];
	static struct usdt_request request;
	unsigned i, j;

	if (usdt_request_parse("a:b~a:c@arg0/{arg0:s} {arg1}{arg2}{arg5:x}{name}", &request))
		abort();
	for (i = 0; i < PROBES; i++) {
		struct site *site = &sites[KINDS + i];
		struct probe *p = &probes[i];

		p->request = &request;
		p->provider = p->name = p->marker.name = p->marker.category = site->category;
		for (j = 0; j < MAX_ARGS; j++)
			p->marker.keys[j] = site->category;
		for (j = 0; j < request.n_parts; j++)
			p->fields[j] = (uint8_t)(j == 3 ? 200 : j);
		p->n_args = MAX_ARGS;
		p->n_shown = i / 2;
		p->pair = i;
		p->has_template = i % 4;
		site->probe = p;
		site->kind = i;
	}
}

static void make_function(struct site *sites)
{
	static struct probe probes[2];
	unsigned i;

	for (i = 0; i < 2; i++) {
		struct site *site = &sites[ENTRY + i];
		struct probe *p = &probes[i];

		p->provider = p->name = p->marker.name = p->marker.category = site->category;
		site->probe = p;
		site->kind = i ? RECORD_END : RECORD_BEGIN;
	}
}

/* Names are looked for in the file of the fuzzer itself. */
static void make_sites(struct site *sites, struct names *names)
{
	unsigned i;

	if (!file.elf && elf_file_open(open("/proc/self/exe", O_RDONLY), &file.elf, NULL))
		abort();
	for (i = 0; i < SITES; i++) {
		sites[i].file = &file;
		sites[i].kind = i;
		sites[i].vaddr = 0x1000 * i;
		sites[i].category = names_intern_string(names, "fuzz");
	}
	make_probes(sites);
	make_function(sites);
}

/*
 * Functions of a kernel, in place of those of this one: to read a hundred thousand takes longer than most inputs do. The
 * names of some are those of tracing, which are left out.
 */
static int open_kallsyms(void)
{
	static const char text[] = "0000000000000100 T first\t[module]\n"
				   "0000000000010000 T uprobe_notify_resume\t[module]\n"
				   "0000000000400000 t do_work\t[module]\n"
				   "0000000100000000 T bpf_trace_run2\t[module]\n"
				   "0000600000000000 W do_more\t[module]\n"
				   "ffffffff80000000 T asm_exc_int3\t[module]\n"
				   "ffffffff81000000 T do_syscall_64\n"
				   "ffffffffc0000000 t hello\t[module]\n";
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("kallsyms", MFD_CLOEXEC);
		if (fd < 0 || write(fd, text, sizeof(text) - 1) != sizeof(text) - 1)
			abort();
	}
	return dup(fd);
}

/* What an address is in that is in nothing known is asked of the kernel: there is no time for that. */
static void make_stacks(struct capture *c)
{
	static const char *const globs[] = { "*x*", "*y" };

	c->options.callstacks = callstacks_new(c->options.names, STACKS);
	c->options.stacks = globs;
	c->options.n_stacks = 2;
	c->stacks = stacks_new(NULL, c->options.callstacks, c->options.names, 1000000);
	c->stacks->credit_ns = INT64_MIN / 2;
	close(c->stacks->kallsyms_fd);
	c->stacks->kallsyms_fd = open_kallsyms();
	c->stopping = true;
	memset(shared.stack_unwanted, 0, sizeof(shared.stack_unwanted));
	shared.sched_lost = 0;
	c->shared = &shared;
}

static void capture_end(struct capture *c)
{
	struct account account = { 0 };

	stacks_account(c->stacks, &account);
	while (c->processes)
		process_remove(c, c->processes->pid, 0);
	stacks_free(c->stacks);
	callstacks_free(c->options.callstacks);
	selection_free(c);
	markers_free(c);
	free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const globs[] = { "fuzz/*[a-m]", "!*e*" };
	static struct site sites[SITES];
	struct account account = { 0 };
	struct capture *c = calloc(1, sizeof(*c));
	struct names *names = names_new(0);
	struct timeline *timeline = timeline_new(names, &account, 0);
	const struct name *counters[2];
	unsigned i;

	/* Two counters, which in every other input take turns. */
	for (i = 0; i < 2; i++)
		counters[i] = names_intern_string(names, i ? "instructions" : "cycles");
	timeline_count(timeline, counters, 2);
	timeline_multiplex(timeline, counters);
	c->options.counters.n = 2;
	c->options.counters.multiplexed = size & 1;
	/* In every other input some categories are left out. */
	c->options.domains = globs;
	c->options.n_domains = size & 2 ? 2 : 0;
	/* And it is told who has which CPU. */
	c->options.sched = size & 4;
	if (c->options.sched)
		timeline_states(timeline);
	c->options.event = take_event;
	c->options.context = timeline;
	c->options.names = names;
	make_sites(sites, names);
	make_stacks(c);
	c->sites = sites;
	c->n_sites = SITES;
	c->budget = ~0u;
	decode_all(c, data, size);
	timeline_finish(timeline);
	if (c->decoded.marks != account.written + account_lost(&account) + account.paused +
					c->decoded.malformed + c->selection.left_out)
		abort();
	timeline_free(timeline);
	capture_end(c);
	names_free(names);
	return 0;
}
