/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the ring buffer: their layout is our own program's, their contents come out of the
 * registers and the memory of the traced program. The input is a row of records, each behind its
 * length in two bytes; what they decode to goes through a timeline.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "capture/probes.h"
#include "timeline/timeline.h"

#define KINDS  48 /* a site of each */
#define PROBES 12 /* and of others', of those kinds that these can have, and more */
#define SITES  (KINDS + PROBES)

static int take_event(void *context, const struct event *event)
{
	return timeline_event(context, event);
}

/* What asks the broker is not decoding, and is told by the kernel alone. */
static bool is_kernels(const struct record *r)
{
	return r->kind == RECORD_EXEC || r->kind == RECORD_FORK ||
	       (r->kind >= RECORD_HOLD && r->kind != RECORD_READING);
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
		if (n >= sizeof(*copy)) {
			copy->site %= SITES + 2;
			if (!is_kernels(copy))
				decode_record(c, copy, n);
		} else {
			decode_record(c, copy, n);
		}
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const globs[] = { "fuzz/*[a-m]", "!*e*" };
	static struct file file;
	static struct site sites[SITES];
	struct account account = { 0 };
	struct capture *c = calloc(1, sizeof(*c));
	struct names *names = names_new(0);
	struct timeline *timeline = timeline_new(names, &account, 0);
	const struct name *counters[2];
	unsigned i;

	/* Names are looked for in the file of the fuzzer itself. */
	if (!file.elf && elf_file_open(open("/proc/self/exe", O_RDONLY), &file.elf, NULL))
		abort();
	for (i = 0; i < SITES; i++) {
		sites[i].file = &file;
		sites[i].kind = i;
		sites[i].vaddr = 0x1000 * i;
		sites[i].category = names_intern_string(names, "fuzz");
	}
	make_probes(sites);
	/* Two counters, which in every other input take turns. */
	for (i = 0; i < 2; i++)
		counters[i] = names_intern_string(names, i ? "instructions" : "cycles");
	timeline_count(timeline, counters, 2);
	timeline_take_turns(timeline, counters);
	c->options.counters.n = 2;
	c->options.counters.multiplexed = size & 1;
	/* In every other input some categories are left out. */
	c->options.domains = globs;
	c->options.n_domains = size & 2 ? 2 : 0;
	c->options.event = take_event;
	c->options.context = timeline;
	c->options.names = names;
	c->sites = sites;
	c->n_sites = SITES;
	c->budget = ~0u;
	decode_all(c, data, size);
	timeline_finish(timeline, 0);
	if (c->decoded != account.written + account_lost(&account) + account.paused + c->malformed +
				  c->left_out_marks)
		abort();
	selection_free(c);
	markers_free(c);
	timeline_free(timeline);
	names_free(names);
	free(c);
	return 0;
}
