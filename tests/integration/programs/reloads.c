/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reloads MARKS OPEN LIBRARY...: a thread for each library (copies of part.so), one after the other, opens it, marks in it
 * and has it closed by the first thread, so that the next one lies where it was; the last OPEN ones stay open. Each
 * thread marks MARKS times more often than the one before. When all have marked, the program forks, and they end in
 * order.
 * Prints `marks <n>`, and `again <n>`: how many libraries lie where the one before did.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct owner {
	const char *path;
	pthread_t thread;
	sem_t may_begin, may_end;
	void *library, *part;
	int marks;
} owners[64];
static sem_t marked;
static unsigned long marks;

static void *mark(void *data)
{
	struct owner *o = data;
	int (*part)(int), i;

	sem_wait(&o->may_begin);
	o->library = dlopen(o->path, RTLD_NOW);
	o->part = o->library ? dlsym(o->library, "part") : NULL;
	if (!o->part) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	memcpy(&part, &o->part, sizeof(part));
	for (i = 0; i < o->marks; i++)
		marks += (unsigned long)part(i);
	sem_post(&marked);
	sem_wait(&o->may_end);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc - 3, open = n < 1 ? 0 : atoi(argv[2]), i, again = 0;
	struct owner first = { 0 };
	pid_t child;

	if (n < 1 || n > 64)
		return 2;
	sem_init(&marked, 0, 0);
	for (i = 0; i < n; i++) {
		owners[i].path = argv[3 + i];
		owners[i].marks = (i + 1) * atoi(argv[1]);
		sem_init(&owners[i].may_begin, 0, 0);
		sem_init(&owners[i].may_end, 0, 0);
		pthread_create(&owners[i].thread, NULL, mark, &owners[i]);
	}
	/* The first thread has had a batch there as well. */
	first.path = argv[3];
	first.marks = 1;
	sem_init(&first.may_begin, 0, 1);
	sem_init(&first.may_end, 0, 1);
	mark(&first);
	sem_wait(&marked);
	dlclose(first.library);
	for (i = 0; i < n; i++) {
		sem_post(&owners[i].may_begin);
		sem_wait(&marked);
		again += owners[i].part == (i ? owners[i - 1].part : first.part);
		if (i < n - open)
			dlclose(owners[i].library);
	}
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	for (i = 0; i < n; i++) {
		sem_post(&owners[i].may_end);
		pthread_join(owners[i].thread, NULL);
	}
	printf("marks %lu\nagain %d\n", marks, again);
	return 0;
}
