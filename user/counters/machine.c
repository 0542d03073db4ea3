/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out what this machine counts by opening the events. They are pinned, so that each counts
 * all of the time or reports an error. If they do not fit on the hardware together, they are opened
 * without, and the kernel multiplexes them, group by group.
 */
#include "counters/counters.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "privilege/invoker.h"

/*
 * The kernel permits any event to whoever has CAP_PERFMON. Probes are refused under sudo, too: one that opens tells where the
 * kernel is, and one of user space can be anywhere in any file, because its path is an address that the caller chooses.
 * Without root, also those that slow down system calls of every user, or count what the whole machine does.
 */
static bool event_is_permitted(const struct perf_event_attr *attr)
{
	enum pmu_scope scope = PMU_OF_CPUS;

	if (!invoker_uid())
		return true;
	if (attr->type == PERF_TYPE_TRACEPOINT)
		scope = PMU_OF_MACHINE;
	else if (attr->type != PERF_TYPE_HARDWARE && attr->type != PERF_TYPE_SOFTWARE &&
		 attr->type != PERF_TYPE_HW_CACHE && attr->type != PERF_TYPE_RAW)
		scope = pmu_find_scope(PMU_DEVICES, attr->type);
	return scope == PMU_OF_CPUS || (scope == PMU_OF_MACHINE && !getuid());
}

static int open_perf_event(const struct counter_spec *spec, int cpu, int group, bool pinned)
{
	struct perf_event_attr attr = spec->attr;
	int fd;

	if (!event_is_permitted(&attr))
		return -EACCES;
	attr.size = sizeof(attr);
	attr.pinned = pinned && group < 0; /* the others follow the leader of their group */
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, group, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void counters_close(const struct counters *c, int fds[MAX_COUNTERS])
{
	for (unsigned i = 0; i < c->n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

int counters_open(const struct counters *c, int cpu, int fds[MAX_COUNTERS], unsigned *ret_refused)
{
	int fd;

	for (unsigned i = 0; i < MAX_COUNTERS; i++)
		fds[i] = -1;
	for (unsigned i = 0; i < c->n; i++) {
		const struct counter_spec *spec = &c->list[i];

		if (spec->source != COUNTER_PERF)
			continue;
		fd = open_perf_event(spec, cpu, spec->leader == i ? -1 : fds[spec->leader],
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

/* A pinned event that did not fit on the hardware reports end of file. */
static bool all_counters_run(const struct counters *c, const int fds[MAX_COUNTERS])
{
	uint64_t value;

	for (unsigned i = 0; i < c->n; i++) {
		if (fds[i] >= 0 && read(fds[i], &value, sizeof(value)) != sizeof(value))
			return false;
	}
	return true;
}

/* Whether a counter that was refused in its group can be counted alone. */
static bool counter_runs_alone(const struct counter_spec *spec)
{
	int fd = open_perf_event(spec, 0, -1, false);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool machine_counts(const char *name)
{
	struct counters one;

	return !counters_parse(name, &one, NULL) && !counters_check(&one, NULL);
}

static const char *refusal_reason(int error)
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
		return "the hardware counters are reserved by another program";
	case -EINVAL:
		return "the processor has no such event";
	}
	return NULL;
}

static void explain_refusal(struct failure *f, const struct counters *c, unsigned refused,
			    int error)
{
	const struct counter_spec *spec = &c->list[refused];
	char nearest[256];

	if (!f)
		return;
	if (spec->leader != refused && counter_runs_alone(spec)) {
		failure_set(
			f, error, "cannot count", spec->spelled,
			"the rest of its group needs all hardware counters, or is on another PMU");
		failure_hint(f, "without the braces the kernel multiplexes the counters");
		return;
	}
	failure_set(f, error, "cannot count", spec->spelled, refusal_reason(error));
	if (!event_is_permitted(&spec->attr)) {
		failure_hint(f, getuid() ? "only root may count events other than those of CPUs: "
					   "tracepoints and uncore events with sudo, probes as "
					   "root without sudo"
					 : "only root without sudo may count this event");
		return;
	}
	if (error == -EACCES || error == -EPERM) {
		failure_hint(f, "sudo sysctl kernel.perf_event_paranoid=2, or run with sudo");
		return;
	}
	counters_nearest(spec->spelled, machine_counts, nearest, sizeof(nearest));
	failure_hint(f, "%s%s`proftrace list --counters` shows what this machine counts", nearest,
		     nearest[0] ? " is counted; " : "");
}

/* Tries them on the first CPU: all CPUs are assumed to be alike. */
int counters_check(struct counters *c, struct failure *f)
{
	int fds[MAX_COUNTERS], error;
	unsigned refused = 0;

	c->multiplexed = false;
	error = counters_open(c, 0, fds, &refused);
	if (!error && !all_counters_run(c, fds)) {
		counters_close(c, fds);
		c->multiplexed = true;
		error = counters_open(c, 0, fds, &refused);
	}
	if (error)
		explain_refusal(f, c, refused, error);
	else
		counters_close(c, fds);
	return error;
}

static const char usual[] = "cycles,instructions,cache-misses,branch-misses";
static const char without_hardware[] = "task-clock,page-faults,context-switches";

static void append_counter_name(char *out, size_t size, const char *name)
{
	size_t n = strlen(out);

	snprintf(out + n, size - n, "%s%s", n ? "," : "", name);
}

/* Those of the usual counters that this machine counts at once, in their order. */
int counters_default(struct counters *c, char *note, size_t size, bool *ret_refused)
{
	struct counters wanted;
	char missing[128] = "", there[128] = "";
	const char *reason;
	int error = counters_parse(usual, &wanted, NULL), failed;

	note[0] = '\0';
	*ret_refused = false;
	c->n = 0;
	for (unsigned i = 0; i < wanted.n && !error; i++) {
		c->list[c->n] = wanted.list[i];
		c->list[c->n].leader = c->n;
		c->n++;
		failed = counters_check(c, NULL);
		*ret_refused |= failed == -EACCES || failed == -EPERM;
		if (!failed && !c->multiplexed) {
			append_counter_name(there, sizeof(there), wanted.list[i].name);
			continue;
		}
		if (!--c->n)
			break;
		append_counter_name(missing, sizeof(missing), wanted.list[i].name);
	}
	if (error)
		return error;
	c->multiplexed = false;
	reason = *ret_refused ? "kernel.perf_event_paranoid does not permit"
			      : "this machine does not count";
	if (c->n && missing[0])
		snprintf(note, size, "counters: %s (%s %s)", there, reason, missing);
	if (c->n)
		return 0;
	snprintf(note, size, "counters: %s (%s cycles)", without_hardware, reason);
	return counters_parse(without_hardware, c, NULL);
}

int counters_default_tasks(struct counters *c, char *note, size_t size)
{
	snprintf(note, size, "counters: %s (buffered mode cannot count cycles)", without_hardware);
	return counters_parse(without_hardware, c, NULL);
}

static unsigned find_perf_counter(const struct counters *c)
{
	unsigned i;

	for (i = 0; i < c->n && c->list[i].source != COUNTER_PERF; i++)
		;
	return i;
}

bool counters_are_of_tasks(const struct counters *c)
{
	return find_perf_counter(c) == c->n;
}

int counters_require_tasks(const struct counters *c, struct failure *f)
{
	unsigned i = find_perf_counter(c);

	if (i == c->n)
		return 0;
	failure_set(f, -EINVAL, "cannot count", c->list[i].spelled,
		    "buffered mode has only counters that the kernel keeps for each thread");
	failure_hint(f, "use --mode exact, or -e %s", without_hardware);
	return -EINVAL;
}

/* More than any processor has: it bounds the search. */
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
		fds[n] = open_perf_event(&c.list[0], 0, -1, true);
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

static void print_counter(void *context, const char *name, const char *text)
{
	print_visible(context, "%-44s %s\n", name, text ? text : "");
}

void counters_print(FILE *out)
{
	struct counters c;
	struct failure f;
	const char *name;

	for (unsigned i = 0; (name = counters_known(i)); i++) {
		if (counters_parse(name, &c, &f))
			continue;
		if (!counters_check(&c, &f))
			print_visible(out, "%-44s yes\n", name);
		else
			print_visible(out, "%-44s no: %s\n", name, f.reason);
	}
	pmu_each(PMU_DEVICES, print_counter, out);
	libpfm_each(print_counter, out);
}
