/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the sources that --system lists, reads their files at intervals, and turns series of values
 * into events.
 */
#include "base/clock.h"
#include "system/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	const char *path;
	void (*parse)(struct system_counters *system, char *text, double seconds);
} sources[SYSTEM_SOURCES] = {
	[SYSTEM_CPU] = { "cpu", "/proc/stat", system_cpu },
	[SYSTEM_MEMORY] = { "memory", "/proc/meminfo", system_memory },
	[SYSTEM_DISK] = { "disk", "/proc/diskstats", system_disk },
	[SYSTEM_NETWORK] = { "network", "/proc/net/dev", system_network },
};

static int open_source(struct system_counters *s, const char *name, size_t length,
		       struct failure *f)
{
	char text[64];

	for (unsigned i = 0; i < SYSTEM_SOURCES; i++) {
		struct system_file *file = &s->files[i];

		if (strlen(sources[i].name) != length || memcmp(sources[i].name, name, length))
			continue;
		if (file->fd >= 0)
			return 0;
		file->fd = open(sources[i].path, O_RDONLY | O_CLOEXEC);
		if (file->fd < 0)
			return failure_set(f, -errno, "cannot open", sources[i].path, NULL);
		file->things = calloc(SYSTEM_THINGS, sizeof(*file->things));
		return file->things ? 0 : failure_set(f, -ENOMEM, "cannot start", "", NULL);
	}
	snprintf(text, sizeof(text), "%.*s", (int)(length < 60 ? length : 60), name);
	failure_set(f, -EINVAL, "unknown machine counters", text, "");
	failure_hint(f, "valid sources are cpu, memory, disk and network, separated by commas");
	return -EINVAL;
}

int system_open(const char *list, struct names *names, struct system_counters **ret_system,
		struct failure *f)
{
	struct system_counters *s = calloc(1, sizeof(*s));
	int error = 0;

	if (!s)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	for (unsigned i = 0; i < SYSTEM_SOURCES; i++)
		s->files[i].fd = -1;
	s->names = names;
	s->ticks_per_second = sysconf(_SC_CLK_TCK);
	for (; !error; list++) {
		size_t length = strcspn(list, ",");

		error = open_source(s, list, length, f);
		list += length;
		if (!*list)
			break;
	}
	if (error) {
		system_free(s);
		return error;
	}
	*ret_system = s;
	return 0;
}

void system_free(struct system_counters *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < SYSTEM_SOURCES; i++) {
		if (s->files[i].fd >= 0)
			close(s->files[i].fd);
		free(s->files[i].things);
	}
	free(s);
}

/* Reads a file of /proc, whose text the kernel makes anew when it is read from its beginning. */
static bool read_proc_file(struct system_counters *s, int fd)
{
	size_t size = 0;
	ssize_t n;

	do {
		n = pread(fd, s->text + size, sizeof(s->text) - 1 - size, size);
		if (n > 0)
			size += n;
	} while (n > 0 && size < sizeof(s->text) - 1);
	s->text[size] = '\0';
	return n >= 0 && size;
}

unsigned system_read(struct system_counters *s,
		     int (*event)(void *context, const struct event *event), void *context)
{
	unsigned i, failed = 0;

	s->event = event;
	s->context = context;
	for (i = 0; i < SYSTEM_SOURCES; i++) {
		uint64_t last = s->last_ns[i];

		if (s->files[i].fd < 0)
			continue;
		if (!read_proc_file(s, s->files[i].fd)) {
			failed++;
			continue;
		}
		s->now_ns = clock_ns(CLOCK_MONOTONIC);
		s->last_ns[i] = s->now_ns;
		sources[i].parse(s, s->text, last ? (s->now_ns - last) / 1e9 : 0);
	}
	return failed;
}

struct system_thing *system_thing_get(struct system_counters *s, enum system_source source,
				      const char *name)
{
	struct system_file *file = &s->files[source];
	struct system_thing *thing;

	for (unsigned i = 0; i < file->n_things; i++) {
		if (!strcmp(file->things[i].name, name))
			return &file->things[i];
	}
	if (file->n_things == SYSTEM_THINGS || strlen(name) >= sizeof(thing->name))
		return NULL;
	thing = &file->things[file->n_things++];
	strcpy(thing->name, name);
	thing->key = names_intern_string(s->names, name);
	return thing;
}

uint64_t system_thing_delta(struct system_thing *thing, unsigned i, uint64_t value)
{
	uint64_t last = thing->last[i];

	thing->last[i] = value;
	return value > last ? value - last : 0;
}

void series_start(struct series *s, struct system_counters *system, const char *name,
		  const char *unit)
{
	s->system = system;
	s->name = names_intern_string(system->names, name);
	s->unit = names_intern_string(system->names, unit);
	s->n = 0;
}

static struct arg *series_add(struct series *s, const struct name *key, enum arg_type type)
{
	struct arg *arg;

	if (s->n == SYSTEM_PER_FACT)
		series_end(s);
	arg = &s->args[s->n++];
	*arg = (struct arg){ .key = key, .type = type };
	return arg;
}

void series_add_double(struct series *s, const struct name *key, double value)
{
	series_add(s, key, ARG_DOUBLE)->d = value;
}

void series_add_bytes(struct series *s, const struct name *key, uint64_t value)
{
	series_add(s, key, ARG_UINT)->u = value;
}

void series_end(struct series *s)
{
	const struct event e = {
		.kind = EVENT_COUNTER,
		.ts_ns = s->system->now_ns,
		.level = -1,
		.name = s->name,
		.unit = s->unit,
		.n_args = s->n,
		.args = s->args,
		.sampled = true,
	};

	if (s->n)
		s->system->event(s->system->context, &e);
	s->n = 0;
}
