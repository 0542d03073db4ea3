/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace handler for the tests. Its argument is FILE,WHAT,N: writes into FILE what it was called with,
 * and behaves as WHAT says at its Nth event: count (goes on), crash, fail, hang, exit; or at each: slow
 * (takes N us for it); or at its end: half (says a word that is none of proftrace's, and no more), stay
 * (does not end).
 */
#include <errno.h>
#include <inttypes.h>
#include <proftrace/handler.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct state {
	FILE *out;
	char what[16];
	unsigned long n, events;
	unsigned long begins, ends, asyncs, instants, counters, flushes, args, strings;
	uint64_t last_epoch, last_batch;
};

static void *test_open(const char *argument, const struct proftrace_recording *recording)
{
	struct state *s = (struct state *)calloc(1, sizeof(*s));
	char path[256];

	if (!s || sscanf(argument, "%255[^,],%15[^,],%lu", path, s->what, &s->n) != 3)
		return NULL;
	if (!recording->version[0] || !recording->start_realtime_ns)
		return NULL;
	s->out = fopen(path, "w");
	return s->out ? s : NULL;
}

static int one(struct state *s, const struct proftrace_event *e)
{
	unsigned i;

	if (e->step) {
		s->last_epoch = e->step->epoch;
		s->last_batch = e->step->batch;
	}
	s->args += e->n_args;
	for (i = 0; i < e->n_args; i++)
		s->strings += e->args[i].type == PROFTRACE_STRING && e->args[i].value.s[0];
	if (!e->thread->pid || !e->thread->process[0] || !e->timestamp_ns)
		return -EINVAL;
	if (!strcmp(s->what, "slow")) {
		const struct timespec t = { 0, (long)s->n * 1000 };

		nanosleep(&t, NULL);
		return 0;
	}
	if (++s->events != s->n || !strcmp(s->what, "count") || !strcmp(s->what, "half") ||
	    !strcmp(s->what, "stay"))
		return 0;
	if (!strcmp(s->what, "crash"))
		raise(SIGSEGV);
	if (!strcmp(s->what, "hang"))
		pause();
	if (!strcmp(s->what, "exit"))
		exit(7);
	return -ENOSPC;
}

static int test_duration(void *self, const struct proftrace_event *e)
{
	struct state *s = (struct state *)self;

	if (e->is_async)
		s->asyncs++;
	else if (e->is_start)
		s->begins++;
	else
		s->ends++;
	if (!e->is_start && (e->begin_ns > e->timestamp_ns || !e->begin_ns))
		return -EDOM;
	return one(s, e);
}

static int test_instant(void *self, const struct proftrace_event *e)
{
	struct state *s = (struct state *)self;

	s->instants++;
	return one(s, e);
}

static int test_counter(void *self, const struct proftrace_event *e)
{
	struct state *s = (struct state *)self;

	s->counters++;
	return one(s, e);
}

static int test_json(void *self, const char *path)
{
	struct state *s = (struct state *)self;

	fprintf(s->out, "json %s after %lu events\n", path, s->begins + s->instants);
	return 0;
}

static int test_flush(void *self)
{
	((struct state *)self)->flushes++;
	return 0;
}

static void stay(void)
{
	pause();
}

static int test_close(void *self, const struct proftrace_account *account)
{
	struct state *s = (struct state *)self;
	int fd;

	if (!strcmp(s->what, "half")) {
		for (fd = 3; fd < 64; fd++) /* only one of them is a socket */
			send(fd, "half", 4, MSG_NOSIGNAL);
		pause();
	}
	if (!strcmp(s->what, "stay"))
		atexit(stay);
	fprintf(s->out, "begins %lu\nends %lu\nasyncs %lu\ninstants %lu\ncounters %lu\n", s->begins,
		s->ends, s->asyncs, s->instants, s->counters);
	fprintf(s->out, "args %lu\nstrings %lu\nflushed %s\n", s->args, s->strings,
		s->flushes ? "yes" : "no");
	fprintf(s->out, "epoch %" PRIu64 "\nbatch %" PRIu64 "\n", s->last_epoch, s->last_batch);
	fprintf(s->out, "marked %" PRIu64 "\nwritten %" PRIu64 "\nlost %" PRIu64 "\n",
		account->marked, account->written, account->lost);
	fprintf(s->out, "orderly %d\n", account->orderly);
	return fclose(s->out) ? -errno : 0;
}

const struct proftrace_handler *proftrace_get_handler(void)
{
	static const struct proftrace_handler table = {
		sizeof(table), test_open, test_duration, test_instant,
		test_counter,  test_json, test_flush,	 test_close,
	};

	return &table;
}
