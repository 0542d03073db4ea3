/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a file of /proc: what the broker reads of a process, whose name may be anything; the
 * environment of a program; the counters of the machine; offsets of clocks. The first byte says which.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_input(void);
static int close_input(int fd);
#define openat(directory, name, flags) \
	((void)(directory), (void)(name), (void)(flags), open_input())
#define close(fd) close_input(fd)
#include "privilege/living_thread.c"
#include "privilege/broker/open.c"
#undef openat
#undef close
#include "tracee/rank.c"

#include "base/clock.h"
#include "system/internal.h"

#define MOST 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int input = -1;

static void must(bool condition)
{
	if (!condition)
		abort();
}

static int open_input(void)
{
	must(!lseek(input, 0, SEEK_SET));
	return input;
}

static int close_input(int fd)
{
	must(fd == input);
	return 0;
}

static void of_process(const uint8_t *data, size_t size)
{
	if (input < 0)
		input = memfd_create("proc", MFD_CLOEXEC);
	must(pwrite(input, data, size, 0) == (ssize_t)size && !ftruncate(input, (off_t)size));
	(void)process_birth(0);
	(void)process_alive(0);
	must(thread_process(0) >= 0 || strstr((const char *)data, "Tgid"));
	must(process_parent(0) >= 0);
	(void)process_inner_pid(0);
}

static void environment(const char *text, size_t size)
{
	char out[12];
	size_t i;

	for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = environment_find(text, size, variables[i]);

		must(!value || (value > text && value <= text + size));
		if (value && rank_copy(value, out, sizeof(out)))
			must(out[0] && strspn(out, "0123456789") == strlen(out));
	}
}

static int see(void *context, const struct event *e)
{
	(void)context;
	must(e->kind == EVENT_COUNTER && e->name && e->unit && e->n_args > 0);
	must(e->n_args <= SYSTEM_PER_FACT && e->sampled);
	return 0;
}

/* Twice, half a second apart: rates are of what came in between. */
static void machine(char *text, unsigned which)
{
	static void (*const sources[])(struct system_counters *, char *,
				       double) = { system_cpu, system_memory, system_disk,
						   system_network };
	static struct system_counters *s;
	static unsigned uses;
	char again[MOST + 1];
	unsigned i;

	if (!s || ++uses % 1024 == 0) {
		if (s)
			names_free(s->names);
		system_free(s);
		s = calloc(1, sizeof(*s));
		s->names = names_new(0);
		s->ticks_per_second = 100;
		s->event = see;
		for (i = 0; i < SYSTEM_SOURCES; i++) {
			s->files[i].fd = -1;
			s->files[i].things = calloc(SYSTEM_THINGS, sizeof(struct system_thing));
		}
	}
	for (i = 0; i < SYSTEM_SOURCES; i++)
		s->files[i].n_things = 0;
	strcpy(again, text);
	sources[which](s, text, 0);
	sources[which](s, again, 0.5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[MOST + 1];
	unsigned which;

	if (size < 2 || size > MOST)
		return 0;
	which = *data++ % 7;
	size--;
	memcpy(text, data, size);
	text[size] = '\0';
	if (which < 4)
		machine(text, which);
	else if (which == 4)
		of_process(data, size);
	else if (which == 5)
		environment(text, size);
	else
		(void)(clock_offset(text, CLOCK_MONOTONIC) + clock_offset(text, CLOCK_REALTIME));
	return 0;
}
