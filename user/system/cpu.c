/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/stat: "cpu3 user nice system idle iowait irq softirq steal ...", in ticks. A kernel without
 * exact accounting counts whole ticks, so the percentages of short intervals are coarse.
 */
#include "system/internal.h"

#include <stdio.h>
#include <string.h>

enum {
	USER,
	NICE,
	SYSTEM,
	IDLE,
	IOWAIT,
	IRQ,
	SOFTIRQ,
	STEAL,
	TIMES,
};

static void sample_machine(struct system_counters *s, const unsigned long long *t, double seconds)
{
	static const char *const keys[] = { "user", "system", "iowait", "irq", "steal" };
	const uint64_t ticks[] = { t[USER] + t[NICE],	t[SYSTEM], t[IOWAIT],
				   t[IRQ] + t[SOFTIRQ], t[STEAL],  t[IDLE] };
	struct system_thing *machine = system_thing_get(s, SYSTEM_CPU, "cpu");
	double more[SYSTEM_VALUES], all = 0;
	struct series out;

	if (!machine)
		return;
	for (unsigned i = 0; i < SYSTEM_VALUES; i++) {
		more[i] = system_thing_delta(machine, i, ticks[i]);
		all += more[i];
	}
	if (!seconds || all <= 0)
		return;
	series_start(&out, s, "cpu", "%");
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		series_add_double(&out, names_intern_string(s->names, keys[i]),
				  100 * more[i] / all);
	series_end(&out);
}

static void sample_cpu(struct system_counters *s, const char *name, const unsigned long long *t,
		       double seconds, struct series *out)
{
	struct system_thing *cpu = system_thing_get(s, SYSTEM_CPU, name);
	double busy, idle;

	if (!cpu)
		return;
	busy = system_thing_delta(cpu, 0,
				  t[USER] + t[NICE] + t[SYSTEM] + t[IRQ] + t[SOFTIRQ] + t[STEAL]);
	idle = system_thing_delta(cpu, 1, t[IDLE] + t[IOWAIT]);
	if (seconds && cpu->known && busy + idle > 0)
		series_add_double(out, cpu->key, 100 * busy / (busy + idle));
	cpu->known = true;
}

void system_cpu(struct system_counters *s, char *text, double seconds)
{
	struct series busy;
	char *line, *rest;

	series_start(&busy, s, "cpu busy", "%");
	for (line = strtok_r(text, "\n", &rest); line && !strncmp(line, "cpu", 3);
	     line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long t[TIMES] = { 0 };
		char name[16];

		if (sscanf(line, "%15s %llu %llu %llu %llu %llu %llu %llu %llu", name, &t[USER],
			   &t[NICE], &t[SYSTEM], &t[IDLE], &t[IOWAIT], &t[IRQ], &t[SOFTIRQ],
			   &t[STEAL]) < 5)
			continue;
		if (name[3])
			sample_cpu(s, name, t, seconds, &busy);
		else
			sample_machine(s, t, seconds);
	}
	series_end(&busy);
}
