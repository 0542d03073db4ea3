/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a call of NVTX and of ITT costs as a mark, beside the same slice by the header: a name known to the compiler, a name
 * that is made at run time, and an object of a domain that is made at run time, which has what an annotation has. In
 * turn, in one program; the least of the rounds counts.
 *
 *	annotations LIBRARY ROUNDS N
 */
#include <dlfcn.h>
#include <pthread.h>
#include <proftrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct domain {
	int flags;
	const char *name;
	void *more[4];
};
struct string {
	const char *text;
	void *more[4];
};
struct id {
	unsigned long long d[3];
};
static void (*task_begin)(const struct domain *, struct id, struct id, struct string *);
static void (*task_end)(const struct domain *);
static int (*range_push)(const char *), (*range_pop)(void);

static struct {
	const char *name;
	void **place, *init, *none;
	int group;
} api[] = { { "__itt_task_begin", (void **)&task_begin, NULL, NULL, 0 },
	    { "__itt_task_end", (void **)&task_end, NULL, NULL, 0 },
	    { NULL, NULL, NULL, NULL, 0 } };
static struct {
	unsigned char magic[8];
	unsigned long version[3];
	long state[3];
	pthread_mutex_t mutex;
	void *library, *handler, *path, *list, *more[8];
} global = { { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 },
	     { 3, 10, 20151119 },
	     { 0 },
	     PTHREAD_MUTEX_INITIALIZER,
	     NULL,
	     NULL,
	     NULL,
	     api,
	     { NULL } };

static void **core[16] = { [9] = (void **)&range_push, [11] = (void **)&range_pop };

static int get_table(int module, void ****table, unsigned *size)
{
	*table = core;
	*size = 16;
	return module == 1;
}
static const struct {
	size_t size;
	int (*get)(int, void ****, unsigned *);
} callbacks = { sizeof(callbacks), get_table };

static const void *export_table(uint32_t id)
{
	return id == 1 ? &callbacks : NULL;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define TIME(which, ...)                           \
	do {                                       \
		const double begun = now_ns();     \
		double each;                       \
                                                   \
		for (i = 0; i < n; i++) {          \
			__VA_ARGS__;               \
		}                                  \
		each = (now_ns() - begun) / n / 2; \
		if (each < least[which])           \
			least[which] = each;       \
	} while (0)

int main(int argc, char **argv)
{
	static const char *const names[] = { "C", "C, run-time name", "C, run-time object", "NVTX",
					     "ITT" };
	double least[5] = { 1e9, 1e9, 1e9, 1e9, 1e9 };
	struct domain domain = { 1, "bench.domain", { NULL } };
	struct string string = { "some task name", { NULL } };
	const struct id null = { { 0 } };
	const prof_task_t *task = prof_task_get(prof_domain_get("bench.domain"), "some task name");
	void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*itt)(void *, int) = NULL;
	int (*nvtx)(const void *(*)(uint32_t)) = NULL;
	char name[] = "some task name";
	long rounds, n, i;

	if (!library)
		return 2;
	*(void **)&itt = dlsym(library, "__itt_api_init");
	*(void **)&nvtx = dlsym(library, "InitializeInjectionNvtx2");
	itt(&global, -1);
	if (!nvtx(export_table) || !task_begin || !range_push)
		return 1;
	n = atol(argv[3]);
	for (rounds = atol(argv[2]); rounds; rounds--) {
		TIME(0, PROF_BEGIN("some task name"); PROF_END());
		TIME(1, PROF_BEGIN_DYN(name); PROF_END());
		TIME(2, prof_task_start(task); prof_task_stop(task));
		TIME(3, range_push(name); range_pop());
		TIME(4, task_begin(&domain, null, null, &string); task_end(&domain));
	}
	for (i = 0; i < 5; i++)
		printf("%s|%.1f\n", names[i], least[i]);
	return 0;
}
