/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses lists of counters in perf's syntax: names separated by commas, each with optional
 * modifiers after a colon (`u`: only user space, `k`: only the kernel). Braces around several names
 * make a group: these are on the hardware together or not at all, and share the modifiers after the
 * braces.
 */
#include "counters/counters.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MODIFIERS 8
#define NAME_SIZE 256

static const struct known {
	const char *name;
	const char *other_name;
	enum counter_source source;
	uint32_t type;
	uint64_t config;
} known[] = {
#define TASK(source) COUNTER_##source, 0, 0
#define SOFT(config) COUNTER_PERF, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config
#define HARD(config) COUNTER_PERF, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config
	{ "task-clock", NULL, TASK(TASK_CLOCK) },
	{ "cpu-clock", NULL, SOFT(CPU_CLOCK) },
	{ "page-faults", "faults", TASK(PAGE_FAULTS) },
	{ "minor-faults", NULL, TASK(MINOR_FAULTS) },
	{ "major-faults", NULL, TASK(MAJOR_FAULTS) },
	{ "context-switches", "cs", TASK(CONTEXT_SWITCHES) },
	{ "cpu-migrations", "migrations", TASK(CPU_MIGRATIONS) },
	{ "alignment-faults", NULL, SOFT(ALIGNMENT_FAULTS) },
	{ "emulation-faults", NULL, SOFT(EMULATION_FAULTS) },
	{ "cgroup-switches", NULL, SOFT(CGROUP_SWITCHES) },
	{ "cycles", "cpu-cycles", HARD(CPU_CYCLES) },
	{ "instructions", NULL, HARD(INSTRUCTIONS) },
	{ "cache-references", NULL, HARD(CACHE_REFERENCES) },
	{ "cache-misses", NULL, HARD(CACHE_MISSES) },
	{ "branches", "branch-instructions", HARD(BRANCH_INSTRUCTIONS) },
	{ "branch-misses", NULL, HARD(BRANCH_MISSES) },
	{ "bus-cycles", NULL, HARD(BUS_CYCLES) },
	{ "ref-cycles", NULL, HARD(REF_CPU_CYCLES) },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", HARD(STALLED_CYCLES_FRONTEND) },
	{ "stalled-cycles-backend", "idle-cycles-backend", HARD(STALLED_CYCLES_BACKEND) },
#undef TASK
#undef SOFT
#undef HARD
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

const char *counters_known(unsigned i)
{
	return i < KNOWN ? known[i].name : NULL;
}

const char *counters_other_name(unsigned i)
{
	return i < KNOWN ? known[i].other_name : NULL;
}

static int refuse_unknown_counter(struct failure *f, const char *name)
{
	char nearest[256];

	counters_nearest(name, NULL, nearest, sizeof(nearest));
	failure_set(f, -ENOENT, "unknown counter", name, "");
	if (nearest[0])
		failure_hint(f, "did you mean %s? `proftrace list --counters` shows all", nearest);
	else
		failure_hint(f, "`proftrace list --counters` lists all counters");
	return -ENOENT;
}

/* --- one counter ------------------------------------------------------------------------------- */

static bool apply_modifiers(struct perf_event_attr *attr, const char *modifiers)
{
	bool user = strchr(modifiers, 'u'), kernel = strchr(modifiers, 'k');

	if (!modifiers[0])
		return true;
	if (modifiers[strspn(modifiers, "uk")])
		return false;
	attr->exclude_user = !user;
	attr->exclude_kernel = !kernel;
	attr->exclude_hv = !kernel;
	return true;
}

static bool find_known_counter(const char *name, struct counter_spec *spec)
{
	for (unsigned i = 0; i < KNOWN; i++) {
		if (strcmp(name, known[i].name) &&
		    (!known[i].other_name || strcmp(name, known[i].other_name)))
			continue;
		spec->source = known[i].source;
		spec->attr.type = known[i].type;
		spec->attr.config = known[i].config;
		return true;
	}
	return false;
}

/* r1a8: the event number in the manual of the processor. */
static bool find_raw_event(const char *name, struct counter_spec *spec)
{
	char *end;

	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]) || strlen(name) > 17)
		return false;
	spec->attr.config = strtoull(name + 1, &end, 16);
	spec->attr.type = PERF_TYPE_RAW;
	spec->source = COUNTER_PERF;
	return !*end;
}

static int refuse_modifiers(const char *name, struct failure *f)
{
	return failure_set(f, -EINVAL, "cannot count", name, "the valid modifiers are u and k");
}

/* cpu/event=0x3c/u: the modifiers follow the second slash, without a colon. */
static int parse_pmu_event(const char *name, const char *modifiers, struct counter_spec *spec,
			   struct failure *f)
{
	const char *slash = strchr(name, '/'), *last = strrchr(name, '/');
	char pmu[NAME_SIZE], terms[NAME_SIZE];
	int error;

	if (last == slash)
		return failure_set(f, -EINVAL, "unknown counter", name, "a second / is missing");
	snprintf(pmu, sizeof(pmu), "%.*s", (int)(slash - name), name);
	snprintf(terms, sizeof(terms), "%.*s", (int)(last - slash - 1), slash + 1);
	error = pmu_encode(PMU_DEVICES, pmu, terms, &spec->attr, f);
	if (error)
		return error;
	spec->source = COUNTER_PERF;
	last += last[1] == ':';
	return apply_modifiers(&spec->attr, last[1] ? last + 1 : modifiers)
		       ? 0
		       : refuse_modifiers(name, f);
}

/* The name of the argument: with the modifiers of its group, if the counter has none of its own. */
static int set_counter_name(const char *name, const char *modifiers, struct counter_spec *spec,
			    struct failure *f)
{
	const char *slash = strrchr(name, '/');
	bool own = strchr(name, ':') || (slash && slash[1]);
	char full[NAME_SIZE + MODIFIERS + 1];

	snprintf(full, sizeof(full), "%s%s%s", name, own || slash || !modifiers[0] ? "" : ":",
		 own ? "" : modifiers);
	if (strlen(full) >= sizeof(spec->name))
		return failure_set(f, -EINVAL, "unknown counter", name, "its name is too long");
	for (size_t i = 0; full[i]; i++) {
		spec->spelled[i] = full[i];
		spec->name[i] = full[i] == '-' ? '_' : full[i];
	}
	return 0;
}

/* `modifiers`: those of the counter's group. */
static int parse_counter(const char *name, const char *modifiers, struct counter_spec *spec,
			 struct failure *f)
{
	const char *colon = strchr(name, ':');
	char base[NAME_SIZE];

	memset(spec, 0, sizeof(*spec));
	if (set_counter_name(name, modifiers, spec, f))
		return -EINVAL;
	if (strchr(name, '/'))
		return parse_pmu_event(name, modifiers, spec, f);
	snprintf(base, sizeof(base), "%.*s", colon ? (int)(colon - name) : (int)strlen(name), name);
	if (colon)
		modifiers = colon + 1;
	if (find_known_counter(base, spec) || find_raw_event(base, spec)) {
		if (modifiers[0] && spec->source != COUNTER_PERF) {
			failure_set(f, -EINVAL, "cannot count", name,
				    "the kernel does not distinguish user space from kernel");
			failure_hint(f, "remove :%s", modifiers);
			return -EINVAL;
		}
		return apply_modifiers(&spec->attr, modifiers) ? 0 : refuse_modifiers(name, f);
	}
	spec->source = COUNTER_PERF;
	if (libpfm_encode(name, &spec->attr))
		return refuse_unknown_counter(f, base);
	return colon || apply_modifiers(&spec->attr, modifiers) ? 0 : refuse_modifiers(name, f);
}

/* --- lists ------------------------------------------------------------------------------------- */

/* The length of the name that begins here: between slashes, commas belong to it. */
static size_t counter_name_length(const char *at)
{
	size_t n = strcspn(at, ",{}/");

	if (at[n] != '/' || !strchr(at + n + 1, '/'))
		return strcspn(at, ",{}");
	n = strchr(at + n + 1, '/') - at;
	return n + strcspn(at + n, ",{}");
}

/* Copies the modifiers after the closing brace of a group; empty if there is no group. */
static void copy_group_modifiers(const char *at, char out[MODIFIERS])
{
	const char *end = strchr(at, '}');
	size_t n = 0;

	out[0] = '\0';
	if (!end || end[1] != ':')
		return;
	for (end += 2; isalpha((unsigned char)*end) && n + 1 < MODIFIERS; end++)
		out[n++] = *end;
	out[n] = '\0';
}

/*
 * Only hardware events share a group. Software events are always counted, and in a group with
 * hardware or other software events (cpu-clock, page-faults) they would not be: the kernel accepts
 * such a group, and counts only its first event.
 */
static bool counter_needs_group(const struct counter_spec *spec)
{
	return spec->source == COUNTER_PERF && spec->attr.type != PERF_TYPE_SOFTWARE;
}

static void join_counter_group(struct counters *c, unsigned first)
{
	struct counter_spec *last = &c->list[c->n - 1];

	last->leader = c->n - 1;
	for (unsigned i = first; i + 1 < c->n && counter_needs_group(last); i++) {
		if (!counter_needs_group(&c->list[i]))
			continue;
		last->leader = i;
		return;
	}
}

static int add_counter(struct counters *c, const char *name, const char *modifiers,
		       struct failure *f)
{
	int error;

	if (c->n == MAX_COUNTERS) {
		failure_set(f, -E2BIG, "too many counters", name, "");
		failure_hint(f, "at most %d counters can be recorded", MAX_COUNTERS);
		return -E2BIG;
	}
	error = parse_counter(name, modifiers, &c->list[c->n], f);
	for (unsigned i = 0; i < c->n && !error; i++) {
		if (!strcmp(c->list[i].name, c->list[c->n].name))
			error = failure_set(f, -EINVAL, "counter named twice", name, "");
	}
	c->n += !error;
	return error;
}

int counters_parse(const char *list, struct counters *c, struct failure *f)
{
	char name[NAME_SIZE], modifiers[MODIFIERS] = "";
	bool in_group = false;
	const char *at = list;
	unsigned first = 0;
	int error = 0;

	c->n = 0;
	c->multiplexed = false;
	if (!strcmp(list, "none"))
		return 0;
	for (;;) {
		size_t n;

		if (*at == '{' && !in_group) {
			in_group = true;
			copy_group_modifiers(++at, modifiers);
			first = c->n;
		}
		n = counter_name_length(at);
		if (!n || n >= sizeof(name))
			break;
		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		error = add_counter(c, name, modifiers, f);
		if (error)
			return error;
		join_counter_group(c, in_group ? first : c->n - 1);
		at += n;
		if (*at == '}' && in_group) {
			in_group = false;
			at += 1 + (at[1] == ':') + strlen(modifiers);
			modifiers[0] = '\0';
		}
		if (!*at && !in_group)
			return 0;
		if (*at++ != ',')
			break;
	}
	return failure_set(f, -EINVAL, "not a list of counters", list, "");
}
