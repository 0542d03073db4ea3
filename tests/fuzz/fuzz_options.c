/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text as the value of an option: the first byte says of which. They are the invoking user's, but
 * the one who invokes is root, and scripts fill them in.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "base/quantity.h"
#include "counters/counters.h"
#include "reports/table/stats_print.h"
#include "reports/table/stats_rows.h"
#include "system/system.h"
#include "timeline/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void check_failure(const struct failure *f)
{
	check(memchr(f->what, '\0', sizeof(f->what)) && memchr(f->object, '\0', sizeof(f->object)));
	check(memchr(f->reason, '\0', sizeof(f->reason)) && memchr(f->hint, '\0', sizeof(f->hint)));
	check(f->what[0] != '\0');
}

/*
 * For a hint it goes through a thousand names of events, which takes longer than a hundred inputs do: all
 * of them in some inputs, the first ones in the others.
 */
unsigned __real_libpfm_each(void (*each)(void *, const char *, const char *), void *context);
unsigned __wrap_libpfm_each(void (*each)(void *, const char *, const char *), void *context);
unsigned __wrap_libpfm_each(void (*each)(void *, const char *, const char *), void *context)
{
	static const char *const names[] = { "ix86arch::UNHALTED_CORE_CYCLES", "skx::INST_RETIRED",
					     "perf_raw::r0000", "no_colons" };
	static unsigned n;
	unsigned i;

	if (!(n++ % 512))
		return __real_libpfm_each(each, context);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		each(context, names[i], "");
	return i;
}

static void counters(const char *text)
{
	struct failure f = { 0 };
	struct counters c;
	unsigned i;

	if (counters_parse(text, &c, &f)) {
		check_failure(&f);
		return;
	}
	check(c.n <= MAX_COUNTERS);
	for (i = 0; i < c.n; i++)
		check(c.list[i].name[0] && memchr(c.list[i].name, '\0', COUNTER_NAME));
}

static void schedule(const char *text)
{
	struct schedule s;
	uint64_t n;

	if (!schedule_parse(text, &s))
		return;
	check(s.active > 0);
	for (n = 0; n < 64; n++)
		check(schedule_at(&s, n).phase <= PHASE_SAVE);
	check(schedule_at(&s, UINT64_MAX).phase <= PHASE_SAVE);
}

static void trigger(const char *text)
{
	struct trigger t;

	if (!trigger_parse(text, &t))
		return;
	check(t.name[0] && memchr(t.name, '\0', sizeof(t.name)));
	check(!t.is_slice || t.longer_ns > 0);
}

static void system_counters(const char *text, struct names *names)
{
	struct system_counters *s;
	struct failure f = { 0 };

	if (system_open(text, names, &s, &f))
		check_failure(&f);
	else
		system_free(s);
}

static void numbers(const char *text)
{
	uint64_t value;
	int64_t offset;

	check(!parse_duration(text, &value) || (value >= 1 && value <= 1000000000000000000u));
	(void)parse_size(text, &value);
	check(!parse_moment(text, 1795524416000000001, &value) || value > 1795524416000000001);
	check(!parse_offset(text, &offset) || (offset != 0 && offset != INT64_MIN));
	check(output_name_check(text) < (int)strlen(text) || !*text);
}

/* A slice of a domain that is called like two, and counters that make a column more together. */
static struct consumer *table(struct names *names)
{
	static struct account account;
	struct timeline *timeline = timeline_new(names, &account, 0);
	struct consumer *consumer = stats_new();
	struct stats *stats = (struct stats *)consumer;
	struct event e = { .kind = EVENT_BEGIN, .pid = 1, .tid = 1, .level = -1, .ts_ns = 1 };

	check(timeline && consumer && !timeline_add_consumer(timeline, consumer));
	e.category = names_intern_string(names, "net,net.tcp");
	e.name = names_intern_string(names, "send");
	timeline_event(timeline, &e);
	e.kind = EVENT_END;
	e.ts_ns = 1000000;
	timeline_event(timeline, &e);
	timeline_finish(timeline);
	check(!consumer->ops->flush || !consumer->ops->flush(consumer));
	timeline_free(timeline);
	stats->counters[stats->n_counters++] = names_intern_string(names, "cycles:u");
	stats->counters[stats->n_counters++] = names_intern_string(names, "instructions:u");
	stats->counters[stats->n_counters++] = names_intern_string(names, "cache_misses");
	stats->known_ns = 1;
	return consumer;
}

/* Four lines: --columns, --sort, --domain, --name. */
static void report(char *text, struct names *names)
{
	static struct consumer *stats;
	static char printed[1 << 16];
	const char *line[4] = { NULL };
	struct stats_options o = { .domains = &line[2], .names = &line[3] };
	struct failure f = { 0 };
	unsigned i;
	FILE *out;

	if (!stats)
		stats = table(names);
	for (i = 0; i < 4 && text; i++) {
		line[i] = strsep(&text, "\n");
		if (!*line[i])
			line[i] = NULL;
	}
	o.columns = line[0];
	o.sort = line[1];
	o.n_domains = line[2] != NULL;
	o.n_names = line[3] != NULL;
	out = fmemopen(printed, sizeof(printed), "w");
	check(out != NULL);
	if (stats_print_table(stats, out, &o, NULL, &f) ||
	    stats_print_csv(stats, out, &o, NULL, &f) ||
	    stats_print_json(stats, out, &o, NULL, NULL, 0, &f))
		check_failure(&f);
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct names *names;
	char *text;

	if (!names)
		names = names_new(0);
	if (!size || size > 4096 || !names)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	switch (data[0] % 8) {
	case 0:
		counters(text);
		break;
	case 1:
		schedule(text);
		break;
	case 2:
		trigger(text);
		break;
	case 3:
		system_counters(text, names);
		break;
	case 4:
		numbers(text);
		break;
	case 5:
		report(text, names);
		break;
	}
	free(text);
	return 0;
}
