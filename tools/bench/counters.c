/* SPDX-License-Identifier: BSD-2-Clause */
/* What counters cost: those that the kernel keeps of each thread anyway, and one, two and four others. */
#include "conditions.h"

#include <string.h>

#include "counters/counters.h"

/* Where there is no hardware that counts, software's events: reading them costs much the same. */
static const char *const hardware[] = {
	"cycles",
	"cycles,instructions",
	"cycles,instructions,branches,branch-misses",
};
static const char *const software[] = {
	"cpu-clock",
	"cpu-clock,alignment-faults",
	"cpu-clock,alignment-faults,emulation-faults,cgroup-switches",
};

enum {
	N_CONDITIONS = 6
};

static bool machine_counts(const char *counters)
{
	struct failure f = { 0 };
	struct counters c;

	return !counters_parse(counters, &c, &f) && !counters_check(&c, &f) && !c.multiplexed;
}

static void print_counted(struct bench *b, bool has_hardware)
{
	struct counters usual;
	char names[256] = "", note[256];
	bool refused;
	unsigned i;

	if (counters_default(&usual, note, sizeof(note), &refused))
		return;
	for (i = 0; i < usual.n; i++) {
		if (i)
			strncat(names, ", ", sizeof(names) - strlen(names) - 1);
		strncat(names, usual.list[i].name, sizeof(names) - strlen(names) - 1);
	}
	results_note(&b->results, SECTION_COUNTERS, "default counters: %s", names);
	results_note(&b->results, SECTION_COUNTERS, "the four: %s%s",
		     (has_hardware ? hardware : software)[2],
		     has_hardware ? "" : " (there is no hardware that counts so many)");
}

int measure_counters(struct bench *b)
{
	bool has_hardware = machine_counts(hardware[2]);
	const char *const *counted = has_hardware ? hardware : software;
	const struct condition conditions[N_CONDITIONS] = {
		{ "empty program", NULL, 0, NULL, 0 },
		{ "no counters", "none / empty", OUT_PERFETTO, "none", 0 },
		{ "default", "default / empty", OUT_PERFETTO, NULL, 0 },
		{ "1 perf event", "1 / empty", OUT_PERFETTO, counted[0], 0 },
		{ "2 perf events", "2 / empty", OUT_PERFETTO, counted[1], 0 },
		{ "4 perf events", "4 / empty", OUT_PERFETTO, counted[2], 0 },
	};
	struct conditioned all[N_CONDITIONS];
	int error = conditions_start(b, conditions, N_CONDITIONS, all), ended;
	uint64_t rounds = b->quick ? 15000 : 40000;

	if (error)
		return error;
	error = conditions_run(b, all, N_CONDITIONS, SECTION_COUNTERS, "begin_end", rounds,
			       "begin + end");
	if (!error)
		error = conditions_run(b, all, N_CONDITIONS, SECTION_COUNTERS, "begin_end_1",
				       rounds, "begin + end, 1 argument");
	if (!error)
		error = conditions_run(b, all, N_CONDITIONS, SECTION_COUNTERS, "instant", rounds,
				       "instant (counts nothing)");
	ended = conditions_end(b, all, N_CONDITIONS, SECTION_COUNTERS);
	print_counted(b, has_hardware);
	return error ? error : ended;
}
