/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checksum THREADS ROUNDS [LIBRARY]: a computation full of marks, whose result depends on every value that a
 * tracer could spoil: registers, the stack below it, errno, floating point, children. Prints
 * `ready <pid>`, at its end `sum <hex>`, the same whenever it is run with the same arguments. Then it
 * waits for its standard input to end, for its semaphore to be off (no longer than five seconds),
 * and for its code to be what its file says, and prints `semaphore <n>`, how many still are not, and
 * `code <n>`, how many bytes are others.
 *
 * With a LIBRARY it opens, calls and closes that all the while, has children in quick succession, and when
 * it is through executes itself to do all of it again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <proftrace.h>

PROF_DOMAIN(other, "other");

struct worker {
	pthread_t thread;
	unsigned int number;
	unsigned long rounds;
	const char *library; /* NULL: none */
	uint64_t sum;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 29;
	return x;
}

/* Small and without calls of its own but the marks': it keeps what it can below the stack pointer. */
static __attribute__((noinline)) uint64_t leaf(uint64_t a, uint64_t b, double d)
{
	uint64_t x = a * 3, y = b * 5, z = a ^ b;

	PROF_INSTANT("leaf", "a", a, "d", d);
	return mix(x) + mix(y ^ z) + (uint64_t)(d * 7);
}

static uint64_t nested(uint64_t sum, unsigned int depth)
{
	PROF_SCOPE("nested", "depth", depth);

	if (!depth)
		return leaf(sum, ~sum, sqrt((double)(sum >> 40)));
	sum = nested(mix(sum + depth), depth - 1);
	PROF_COUNTER_IN(other, "sum", sum);
	return mix(sum) ^ depth;
}

/* A child marks too, and what it computed comes back as its exit status. */
static uint64_t child(uint64_t sum)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		PROF_SCOPE_IN(other, "child");
		_exit((int)(nested(sum, 3) & 127));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0xdead;
	return (uint64_t)WEXITSTATUS(status);
}

/* What is unmapped again may be under the tracer's hands. */
static uint64_t visit(const char *library, uint64_t sum)
{
	void *handle = dlopen(library, RTLD_NOW);
	int (*call)(int);

	if (!handle)
		return 0xdead;
	*(void **)&call = dlsym(handle, "plugin_work");
	sum = mix(sum + (uint64_t)call((int)(sum & 0xffff)));
	dlclose(handle);
	return sum;
}

static void *work(void *data)
{
	struct worker *w = (struct worker *)data;
	unsigned long between = w->library ? 32 : 512;
	uint64_t sum = w->number + w->sum;

	for (unsigned long i = 0; i < w->rounds; i++) {
		char text[32];

		errno = (int)(i & 63);
		snprintf(text, sizeof(text), "%llx", (unsigned long long)sum);
		PROF_BEGIN("round", "i", i, "text", text);
		sum = nested(sum + i, 5);
		PROF_END("sum", sum);
		sum = mix(sum + (uint64_t)errno);
		if (i % 8 == 0)
			usleep(100);
		if (i % between == 10)
			sum = mix(sum + child(sum));
		if (w->library && i % 64 == 20)
			sum = visit(w->library, sum);
	}
	w->sum = sum;
	return NULL;
}

/* Of the program itself, which dl_iterate_phdr() begins with. */
static int count_changed(struct dl_phdr_info *info, size_t size, void *data)
{
	unsigned long *ret_changed = (unsigned long *)data;
	int fd = open("/proc/self/exe", O_RDONLY);

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const char *code = (const char *)(info->dlpi_addr + part->p_vaddr);
		char byte;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		for (size_t at = 0; at < part->p_filesz; at++)
			if (pread(fd, &byte, 1, (off_t)(part->p_offset + at)) != 1 ||
			    byte != code[at])
				++*ret_changed;
	}
	close(fd);
	return 1;
}

/* A breakpoint that somebody left is one. */
static unsigned long changed_code(void)
{
	unsigned long changed = 0;

	dl_iterate_phdr(count_changed, &changed);
	return changed;
}

static void execute_again(char **argv, uint64_t sum)
{
	char text[32], *arguments[] = { argv[0], argv[1], argv[2], argv[3], text, NULL };

	snprintf(text, sizeof(text), "%llx", (unsigned long long)sum);
	execv("/proc/self/exe", arguments);
	perror("exec");
	exit(1);
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 1 ? (unsigned int)atoi(argv[1]) : 2, i, tries;
	struct pollfd input = { 0, POLLIN, 0 };
	struct worker workers[16];
	const char *library = argc > 3 ? argv[3] : NULL;
	bool again = argc > 4;
	uint64_t sum = again ? strtoull(argv[4], NULL, 16) : 0, first = sum;

	if (threads > 16)
		threads = 16;
	if (!again)
		printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (i = 0; i < threads; i++) {
		workers[i].number = i + 1;
		workers[i].library = library;
		workers[i].sum = first;
		workers[i].rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	for (i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sum = mix(sum ^ workers[i].sum);
	}
	if (library && !again)
		execute_again(argv, sum);
	printf("sum %llx\n", (unsigned long long)sum);
	fflush(stdout);
	while (poll(&input, 1, -1) < 0)
		;
	if (input.revents & POLLNVAL)
		return 0;
	for (tries = 0; tries < 500; tries++) {
		if (!prof_is_enabled(&prof_default) && !prof_is_enabled(&other) && !changed_code())
			break;
		usleep(10000);
	}
	printf("semaphore %d\n", prof_is_enabled(&prof_default) + prof_is_enabled(&other));
	printf("code %lu\n", changed_code());
	return 0;
}
