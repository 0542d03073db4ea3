/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tool for NVTX and ITT that counts each function of theirs, and writes the counts into the file that COLLECTOR_OUT
 * names when the program ends, and at SIGUSR2. What it knows of the protocols is written here, and nowhere else.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 256

/* A function for each number, which counts its calls and returns nothing. */
static unsigned long counts[3][MOST];
static const char *names[MOST];

#define ONE(k, n)                                                           \
	static long call_##k##_##n(void)                                    \
	{                                                                   \
		__atomic_add_fetch(&counts[k][0x##n], 1, __ATOMIC_RELAXED); \
		return 0;                                                   \
	}
/* clang-format off */
#define SIXTEEN(DO, k, n) \
	DO(k, n##0) DO(k, n##1) DO(k, n##2) DO(k, n##3) DO(k, n##4) DO(k, n##5) DO(k, n##6) DO(k, n##7) \
	DO(k, n##8) DO(k, n##9) DO(k, n##a) DO(k, n##b) DO(k, n##c) DO(k, n##d) DO(k, n##e) DO(k, n##f)
#define ALL(DO, k) \
	SIXTEEN(DO, k, 0) SIXTEEN(DO, k, 1) SIXTEEN(DO, k, 2) SIXTEEN(DO, k, 3) SIXTEEN(DO, k, 4) \
	SIXTEEN(DO, k, 5) SIXTEEN(DO, k, 6) SIXTEEN(DO, k, 7) SIXTEEN(DO, k, 8) SIXTEEN(DO, k, 9) \
	SIXTEEN(DO, k, a) SIXTEEN(DO, k, b) SIXTEEN(DO, k, c) SIXTEEN(DO, k, d) SIXTEEN(DO, k, e) \
	SIXTEEN(DO, k, f)
/* clang-format on */
#define ADDRESS(k, n) call_##k##_##n,
ALL(ONE, 0)
SIXTEEN(ONE, 1, 0)
SIXTEEN(ONE, 2, 0)
static long (*const calls[MOST])(void) = { ALL(ADDRESS, 0) };
static long (*const core[16])(void) = { SIXTEEN(ADDRESS, 1, 0) };
static long (*const core2[16])(void) = { SIXTEEN(ADDRESS, 2, 0) };

/* What a program makes is never NULL, and not what another tool would make. */
static char *made;
static long n_made;

static void *make(void)
{
	return made + 64 * (__atomic_add_fetch(&n_made, 1, __ATOMIC_RELAXED) % 4096);
}

struct itt_object { /* a domain has a number before its name, a string has not */
	int flags;
	const char *name;
	void *more[4];
};
static struct itt_object *domains[1024], *strings[1024];

static struct itt_object *itt_find(struct itt_object **all, const char *name, int is_string)
{
	int i;

	for (i = 0; i < 1023 && all[i]; i++) {
		if (!strcmp(is_string ? *(const char **)(void *)all[i] : all[i]->name, name))
			return all[i];
	}
	all[i] = calloc(1, sizeof(**all));
	all[i]->flags = 1;
	if (is_string)
		*(const char **)(void *)all[i] = strdup(name);
	else
		all[i]->name = strdup(name);
	return all[i];
}
static void *itt_domain(const char *name)
{
	return itt_find(domains, name, 0);
}
static void *itt_string(const char *name)
{
	return itt_find(strings, name, 1);
}
static int itt_event(const char *name, int length)
{
	(void)name, (void)length;
	return 1000 + (int)__atomic_add_fetch(&n_made, 1, __ATOMIC_RELAXED);
}
/* Another clock than the kernel's: in units of 10 ns, from another origin. */
static unsigned long long itt_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 5000000000000ull + (unsigned long long)t.tv_sec * 100000000u +
	       (unsigned long long)t.tv_nsec / 10;
}

struct api {
	const char *name;
	void **place, *init, *none;
	int group;
};
struct global {
	unsigned char magic[8];
	unsigned long version[3];
	long initialized[3];
	char mutex[40]; /* a pthread_mutex_t */
	void *library, *handler, *path;
	struct api *list;
};

static void write_counts(void);

static void on_signal(int number)
{
	(void)number;
	write_counts();
}

static void begin(void)
{
	struct sigaction action;

	if (made)
		return;
	made = calloc(4096, 64);
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &action, NULL);
}

/* Several libraries have lists of several versions: a function has the number of its name. */
static int number_of(const char *name)
{
	int i;

	for (i = 0; i < MOST - 1 && names[i] && strcmp(names[i], name); i++)
		;
	names[i] = name;
	return i;
}

void __itt_api_init(struct global *global, int groups);
void __itt_api_init(struct global *global, int groups)
{
	struct api *a;

	(void)groups;
	begin();
	for (a = global->list; a->name; a++) {
		const char *const name = a->name + strlen("__itt_");

		if (!strcmp(name, "domain_create"))
			*a->place = (void *)(uintptr_t)itt_domain;
		else if (!strcmp(name, "string_handle_create"))
			*a->place = (void *)(uintptr_t)itt_string;
		else if (!strcmp(name, "event_create"))
			*a->place = (void *)(uintptr_t)itt_event;
		else if (!strcmp(name, "get_timestamp"))
			*a->place = (void *)(uintptr_t)itt_time;
		else if (strstr(name, "_create") && strcmp(name, "id_create") &&
			 strcmp(name, "sync_create"))
			*a->place = (void *)(uintptr_t)make;
		else if (strcmp(name, "api_version"))
			*a->place = (void *)(uintptr_t)calls[number_of(name)];
	}
}

static uint64_t nvtx_start(int k, int n)
{
	__atomic_add_fetch(&counts[k][n], 1, __ATOMIC_RELAXED);
	return (uint64_t)(uintptr_t)make();
}
#define START(k, n)                           \
	static uint64_t start_##k##_##n(void) \
	{                                     \
		return nvtx_start(k, n);      \
	}
START(1, 4)
START(1, 5)
START(1, 6)
START(2, 2)

int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t));
int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t))
{
	const struct {
		size_t size;
		int (*get)(int module, void ****table, unsigned *size);
	} *callbacks = get_export_table(1);
	void ***table;
	unsigned i, size;

	begin();
	if (!callbacks->get(1, &table, &size))
		return 0;
	for (i = 1; i < size && i < 16; i++)
		*table[i] = (void *)(uintptr_t)core[i];
	*table[4] = (void *)(uintptr_t)start_1_4;
	*table[5] = (void *)(uintptr_t)start_1_5;
	*table[6] = (void *)(uintptr_t)start_1_6;
	if (!callbacks->get(5, &table, &size))
		return 0;
	for (i = 1; i < size && i < 16; i++)
		*table[i] = (void *)(uintptr_t)core2[i];
	*table[2] = (void *)(uintptr_t)start_2_2;
	*table[6] = *table[10] = *table[11] = *table[12] = *table[13] = (void *)(uintptr_t)make;
	return 1;
}

/* Complete at once: who waits for the file finds all of it. */
__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("COLLECTOR_OUT");
	char unfinished[512];
	FILE *out;
	int i, k;

	if (!path || !made)
		return;
	snprintf(unfinished, sizeof(unfinished), "%s.new", path);
	out = fopen(unfinished, "w");
	if (!out)
		return;
	for (i = 0; i < MOST && names[i]; i++)
		fprintf(out, "itt_%s %lu\n", names[i], counts[0][i]);
	for (k = 1; k < 3; k++) {
		for (i = 1; i < 16; i++)
			fprintf(out, "nvtx_%d_%d %lu\n", k, i, counts[k][i]);
	}
	fclose(out);
	rename(unfinished, path);
}
