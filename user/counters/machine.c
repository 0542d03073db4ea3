/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this machine counts is found out by opening the events. They are pinned: one for which the
 * hardware has no room beside the others is refused, rather than counted part of the time.
 */
#include "counters/counters.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int counter_open(const struct counter_spec *spec, int cpu)
{
	struct perf_event_attr attr = spec->attr;
	int fd;

	attr.size = sizeof(attr);
	attr.pinned = 1;
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* End of file is how a pinned event says that it found no room. */
static bool counts(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == sizeof(value);
}

static void explain(struct failure *f, const struct counter_spec *spec, int error)
{
	const char *reason = NULL;

	if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV)
		reason = "this machine does not count it";
	else if (error == -EACCES || error == -EPERM)
		reason = "not permitted";
	else if (error == -ENOSPC)
		reason = "more than this machine counts at once";
	failure_set(f, error, "cannot count", spec->name, reason);
	if (error == -EACCES || error == -EPERM)
		failure_hint(f, "sudo sysctl kernel.perf_event_paranoid=2, or run with sudo");
	else
		failure_hint(f, "`proftrace list --counters` shows what this machine counts");
}

/* Of the first CPU: all are taken to be alike. */
int counters_check(const struct counters *counters, struct failure *f)
{
	int fds[MAX_COUNTERS], error = 0;
	unsigned i, n = 0;

	for (i = 0; i < counters->n && !error; i++) {
		if (counters->list[i].source != COUNTER_PERF)
			continue;
		fds[n] = counter_open(&counters->list[i], 0);
		error = fds[n] < 0 ? fds[n] : 0;
		if (!error && !counts(fds[n++]))
			error = -ENOSPC;
		if (error)
			explain(f, &counters->list[i], error);
	}
	while (n)
		close(fds[--n]);
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
	unsigned i;
	int error = counters_parse(usual, &wanted, NULL);

	note[0] = '\0';
	c->n = 0;
	for (i = 0; i < wanted.n && !error; i++) {
		c->list[c->n++] = wanted.list[i];
		if (!counters_check(c, NULL)) {
			add_name(there, sizeof(there), wanted.list[i].name);
			continue;
		}
		if (!--c->n)
			break;
		add_name(missing, sizeof(missing), wanted.list[i].name);
	}
	if (error)
		return error;
	if (c->n && missing[0])
		snprintf(note, size, "counters: %s (this machine does not count %s)", there,
			 missing);
	if (c->n)
		return 0;
	snprintf(note, size, "counters: %s (this machine does not count cycles)", without_hardware);
	return counters_parse(without_hardware, c, NULL);
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
	libpfm_each(print_event, out);
}
