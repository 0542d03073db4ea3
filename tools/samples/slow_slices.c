/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace handler that prints slices longer than a limit when they end.
 *
 *	cc -shared -fPIC slow_slices.c -o slow_slices.so
 *	proftrace --handler ./slow_slices.so=20 -- ./program	# 20 ms
 */
#include <errno.h>
#include <inttypes.h>
#include <proftrace/handler.h>
#include <stdio.h>
#include <stdlib.h>

struct slow_slices {
	uint64_t limit_ns;
	uint64_t start_ns;
	unsigned long slices, slow;
};

static void *slow_open(const char *argument, const struct proftrace_recording *recording)
{
	struct slow_slices *s = (struct slow_slices *)calloc(1, sizeof(*s));
	char *end;
	double ms = strtod(argument, &end);

	if (!s || *end || ms <= 0) {
		fprintf(stderr, "slow_slices: how many milliseconds is slow? slow_slices.so=20\n");
		free(s);
		return NULL;
	}
	s->limit_ns = (uint64_t)(ms * 1e6);
	s->start_ns = recording->start_ns;
	return s;
}

static int slow_duration(void *self, const struct proftrace_event *event)
{
	struct slow_slices *s = (struct slow_slices *)self;
	uint64_t duration = event->timestamp_ns - event->begin_ns;
	unsigned i;

	if (event->is_start)
		return 0;
	s->slices++;
	if (duration < s->limit_ns)
		return 0;
	s->slow++;
	printf("%12.3f ms  %s: %s took %.3f ms", (double)(event->begin_ns - s->start_ns) / 1e6,
	       event->thread->name, event->name, (double)duration / 1e6);
	for (i = 0; i < event->n_args; i++) {
		if (event->args[i].type == PROFTRACE_UINT)
			printf(" %s=%" PRIu64, event->args[i].key, event->args[i].value.u);
		else if (event->args[i].type == PROFTRACE_STRING)
			printf(" %s=%s", event->args[i].key, event->args[i].value.s);
	}
	putchar('\n');
	return 0;
}

static int slow_close(void *self, const struct proftrace_account *account)
{
	struct slow_slices *s = (struct slow_slices *)self;

	printf("%lu of %lu slices were slow; %" PRIu64 " marks were lost\n", s->slow, s->slices,
	       account->lost);
	free(s);
	return fflush(stdout) ? -errno : 0;
}

const struct proftrace_handler *proftrace_get_handler(void)
{
	static struct proftrace_handler table;

	table.size = sizeof(table);
	table.open = slow_open;
	table.duration_event = slow_duration;
	table.close = slow_close;
	return &table;
}
