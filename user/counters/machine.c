/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this machine counts is found out by opening the events: pinned, so that they count always or
 * not at all. Where they do not all fit beside each other they take turns, group by group.
 */
#include "counters/counters.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int event_open(const struct counter_spec *spec, int cpu, int group, bool pinned)
{
	struct perf_event_attr attr = spec->attr;
	int fd;

	attr.size = sizeof(attr);
	attr.pinned = pinned && group < 0; /* the others go with the first one of their group */
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void counters_close(const struct counters *c, int fds[MAX_COUNTERS])
{
	unsigned i;

	for (i = 0; i < c->n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

int counters_open(const struct counters *c, int cpu, int fds[MAX_COUNTERS], unsigned *ret_refused)
{
	unsigned i;
	int fd;

	for (i = 0; i < MAX_COUNTERS; i++)
		fds[i] = -1;
	for (i = 0; i < c->n; i++) {
		const struct counter_spec *spec = &c->list[i];

		if (spec->source != COUNTER_PERF)
			continue;
		fd = event_open(spec, cpu, spec->leader == i ? -1 : fds[spec->leader],
				!c->multiplexed);
		if (fd < 0) {
			*ret_refused = i;
			counters_close(c, fds);
			return fd;
		}
		fds[i] = fd;
	}
	return 0;
}

/* End of file is how a pinned event says that it found no room. */
static bool all_count(const struct counters *c, const int fds[MAX_COUNTERS])
{
	uint64_t value;
	unsigned i;

	for (i = 0; i < c->n; i++) {
		if (fds[i] >= 0 && read(fds[i], &value, sizeof(value)) != sizeof(value))
			return false;
	}
	return true;
}

/* Refused in its group: would it be counted alone? */
static bool counts_alone(const struct counter_spec *spec)
{
	int fd = event_open(spec, 0, -1, false);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool is_counted(const char *name)
{
	struct counters one;

	return !counters_parse(name, &one, NULL) && !counters_check(&one, NULL);
}

static const char *reason_of(int error)
{
	switch (error) {
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		return "this machine does not count it";
	case -EACCES:
	case -EPERM:
		return "not permitted";
	case -EBUSY:
		return "the counters are reserved by something else";
	case -EINVAL:
		return "the processor has no such event";
	}
	return NULL;
}

static void explain(struct failure *f, const struct counters *c, unsigned refused, int error)
{
	const struct counter_spec *spec = &c->list[refused];
	char nearest[256];

	if (!f)
		return;
	if (spec->leader != refused && counts_alone(spec)) {
		failure_set(f, error, "cannot count", spec->spelled,
			    "the rest of its group leaves no room for it, or is of another PMU");
		failure_hint(f, "leave the braces away: then they take turns");
		return;
	}
	failure_set(f, error, "cannot count", spec->spelled, reason_of(error));
	if (error == -EACCES || error == -EPERM) {
		failure_hint(f, "sudo sysctl kernel.perf_event_paranoid=2, or run with sudo");
		return;
	}
	counters_nearest(spec->spelled, is_counted, nearest, sizeof(nearest));
	failure_hint(f, "%s%s`proftrace list --counters` shows what this machine counts", nearest,
		     nearest[0] ? " is counted; " : "");
}

/* Of the first CPU: all are taken to be alike. */
int counters_check(struct counters *c, struct failure *f)
{
	int fds[MAX_COUNTERS], error;
	unsigned refused = 0;

	c->multiplexed = false;
	error = counters_open(c, 0, fds, &refused);
	if (!error && !all_count(c, fds)) {
		counters_close(c, fds);
		c->multiplexed = true;
		error = counters_open(c, 0, fds, &refused);
	}
	if (error)
		explain(f, c, refused, error);
	else
		counters_close(c, fds);
	return error;
}

static const char usual[] = "cycles,instructions,cache-misses,branch-misses";
static const char without_hardware[] = "task-clock,page-faults,context-switches";

static void add_name(char *out, size_t size, const char *name)
{
	size_t n = strlen(out);

	snprintf(out + n, size - n, "%s%s", n ? "," : "", name);
}

/* Of the usual ones those that this machine counts, in their order, as long as there is room. */
int counters_default(struct counters *c, char *note, size_t size)
{
	struct counters wanted;
	char missing[128] = "", there[128] = "";
	const char *reason = "this machine does not count";
	unsigned i;
	int error = counters_parse(usual, &wanted, NULL), failed;

	note[0] = '\0';
	c->n = 0;
	for (i = 0; i < wanted.n && !error; i++) {
		c->list[c->n] = wanted.list[i];
		c->list[c->n].leader = c->n;
		c->n++;
		failed = counters_check(c, NULL);
		if (failed == -EACCES || failed == -EPERM)
			reason = "kernel.perf_event_paranoid does not permit";
		if (!failed && !c->multiplexed) {
			add_name(there, sizeof(there), wanted.list[i].name);
			continue;
		}
		if (!--c->n)
			break;
		add_name(missing, sizeof(missing), wanted.list[i].name);
	}
	if (error)
		return error;
	c->multiplexed = false;
	if (c->n && missing[0])
		snprintf(note, size, "counters: %s (%s %s)", there, reason, missing);
	if (c->n)
		return 0;
	snprintf(note, size, "counters: %s (%s cycles)", without_hardware, reason);
	return counters_parse(without_hardware, c, NULL);
}

/* More than any processor has: an end for the search. */
#define AT_ONCE_LIMIT 32

unsigned counters_at_once(void)
{
	int fds[AT_ONCE_LIMIT];
	struct counters c;
	unsigned n = 0, i;
	uint64_t value;

	if (counters_parse("instructions", &c, NULL))
		return 0;
	while (n < AT_ONCE_LIMIT) {
		fds[n] = event_open(&c.list[0], 0, -1, true);
		if (fds[n] < 0)
			break;
		if (read(fds[n], &value, sizeof(value)) != sizeof(value)) {
			close(fds[n]);
			break;
		}
		n++;
	}
	for (i = 0; i < n; i++)
		close(fds[i]);
	return n;
}

static void print_event(void *context, const char *name, const char *text)
{
	fprintf(context, "%-44s %s\n", name, text ? text : "");
}

void counters_print(FILE *out)
{
	struct counters c;
	struct failure f;
	const char *name;
	unsigned i;

	for (i = 0; (name = counters_known(i)); i++) {
		if (counters_parse(name, &c, &f))
			continue;
		if (!counters_check(&c, &f))
			fprintf(out, "%-44s yes\n", name);
		else
			fprintf(out, "%-44s no: %s\n", name, f.reason);
	}
	pmu_each(PMU_DEVICES, print_event, out);
	libpfm_each(print_event, out);
}
