/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * busy hold THREADS MAPPINGS LIBRARY: threads that open copies of a library without end, each another file, in a
 * process with so many mappings. busy frames PROCESSES MAPPINGS: processes whose chain of frames leads to
 * where nothing is. busy files DIRECTORY: has each file in it mapped as code, and does nothing.
 *
 * Prints `ready`, and goes on until its input ends, or for a minute.
 */
#define _GNU_SOURCE
#include <proftrace.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define PAGE	     4096
#define AT_MOST_MS   60000
#define MOST_THREADS 256

/* Pages that may be executed and pages that may not, in turn: each is a mapping of its own. */
static void have_mappings(int n)
{
	char *pages = mmap(NULL, (size_t)n * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	for (i = 0; pages != MAP_FAILED && i < n; i += 2)
		mprotect(pages + (size_t)i * PAGE, PAGE, PROT_READ | PROT_EXEC);
}

static void *open_libraries(void *path)
{
	for (;;) {
		int from = open(path, O_RDONLY | O_CLOEXEC),
		    to = memfd_create("library", MFD_CLOEXEC);
		char name[32];
		void *library;

		while (from >= 0 && to >= 0 && sendfile(to, from, NULL, 1 << 20) > 0)
			;
		snprintf(name, sizeof(name), "/proc/self/fd/%d", to);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (library)
			dlclose(library);
		close(from);
		close(to);
	}
	return NULL;
}

/* Its caller is nowhere, for whoever follows the frame pointers. */
static void be_lost(void)
{
	static uint64_t frame[2] = { 0, 0x1234567 };

#ifdef __x86_64__
	__asm__ volatile("mov %0, %%rbp\n1:	jmp 1b" : : "r"(frame) : "memory");
#else
	__asm__ volatile("mov x29, %0\n1:	b 1b" : : "r"(frame) : "memory");
#endif
}

static void begin(int n, void *(*run)(void *), void *argument)
{
	pthread_t thread;
	int i;

	for (i = 0; i < n && i < MOST_THREADS; i++)
		pthread_create(&thread, NULL, run, argument);
}

static void be_processes(int n)
{
	pid_t parent = getpid();
	int i;

	for (i = 0; i < n; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* What becomes of the rest of the machine is not the subject. */
		setpriority(PRIO_PROCESS, 0, 19);
		if (getppid() == parent)
			be_lost();
		_exit(0);
	}
}

static void map_files(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		int fd = openat(dirfd(directory), entry->d_name, O_RDONLY);

		if (fd >= 0)
			mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };

	if (argc < 3)
		return 2;
	PROF_INSTANT("begin");
	if (argc > 3)
		have_mappings(atoi(argv[3]));
	if (!strcmp(argv[1], "hold") && argc > 4)
		begin(atoi(argv[2]), open_libraries, argv[4]);
	if (!strcmp(argv[1], "frames"))
		be_processes(atoi(argv[2]));
	if (!strcmp(argv[1], "files"))
		map_files(argv[2]);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	poll(&input, 1, AT_MOST_MS);
	return 0;
}
