/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_batches HOW N [LIBRARY]...: a thread with a batch for each LIBRARY (part.c) and N more, as it would
 * have of as many other libraries. It reads a line of standard input, marks once in each and prints
 * `made MARKS`; does the same again and prints `again MARKS`; and ends right then:
 *
 *	return	the thread, and then the program
 *	kill	by SIGKILL
 *	exec	by executing another program, from that thread
 *
 * At the end of standard input it does not wait.
 */
#include <proftrace.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct work {
	const char *how;
	char **paths;
	int n, n_libraries;
	struct prof_batch **batches;
	int (**parts)(int);
};

static void open_libraries(struct work *w)
{
	int i;

	for (i = 0; i < w->n_libraries; i++) {
		void *library = dlopen(w->paths[i], RTLD_NOW | RTLD_LOCAL);
		void *part = library ? dlsym(library, "part") : NULL;

		if (!part) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		memcpy(&w->parts[i], &part, sizeof(part));
	}
}

/* As a thread gets one, but elsewhere than in the file. */
static struct prof_batch *another(void)
{
	struct prof_batch *batch = calloc(1, PROF_IMPL_BATCH_SIZE);

	if (!batch)
		exit(1);
	batch->turn = 1;
	prof_impl_batch_own(batch, prof_impl_thread());
	return batch;
}

/* Where a thread finds its batch is changed, as if each mark were in a file of its own. */
static int mark(struct work *w)
{
	int i, marks = 0;

	for (i = 0; i < w->n; i++) {
		if (!w->batches[i])
			w->batches[i] = another();
		*prof_impl_batch() = w->batches[i];
		PROF_INSTANT("more", "i", i);
		marks++;
	}
	for (i = 0; i < w->n_libraries; i++)
		marks += w->parts[i](i);
	return marks;
}

static void *work(void *context)
{
	struct work *w = context;
	char line[16];

	open_libraries(w);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		clearerr(stdin);
	printf("made %d\n", mark(w));
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		clearerr(stdin);
	/* Said before it is done: nothing comes between the last mark and the end. */
	printf("again %d\n", w->n + w->n_libraries);
	fflush(stdout);
	mark(w);
	if (!strcmp(w->how, "kill"))
		raise(SIGKILL);
	if (!strcmp(w->how, "exec"))
		execl("/proc/self/exe", "many_batches", (char *)NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	struct work w = { 0 };
	pthread_t thread;

	if (argc < 3)
		return 0;
	w.how = argv[1];
	w.n = atoi(argv[2]);
	w.paths = argv + 3;
	w.n_libraries = argc - 3;
	w.batches = calloc((size_t)w.n + 1, sizeof(*w.batches));
	w.parts = calloc((size_t)argc, sizeof(*w.parts));
	if (!w.batches || !w.parts || pthread_create(&thread, NULL, work, &w))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
