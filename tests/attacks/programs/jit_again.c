/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_again: a child generates code that its perf map calls first_code, and executes a program whose code is called second_code;
 * a later child that has its number calls the code at the same address third_code. Each runs for a fifth of a second.
 * jit_again run NAME [NEXT]: is such a program.
 */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ADDRESS 0x700000000000

static int run(const char *name, char *next)
{
#ifdef __x86_64__
	static const unsigned char loop[] = {
		0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3
	};
#else
	static const uint32_t loop[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#endif
	char path[64], *again[] = { "jit_again", "run", next, NULL };
	void *code = mmap((void *)ADDRESS, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct timespec used;
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (code == MAP_FAILED || !map)
		return 1;
	fprintf(map, "%llx 1000 %s\n", (unsigned long long)ADDRESS, name);
	fclose(map);
	memcpy(code, loop, sizeof(loop));
	__builtin___clear_cache((char *)code, (char *)code + sizeof(loop));
	do {
		((void (*)(long))code)(1000000);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (!used.tv_sec && used.tv_nsec < 200000000 * (next ? 1 : 2));
	unlink(path);
	if (next)
		execv("/proc/self/exe", again);
	return next != NULL;
}

static int run_as(pid_t pid, char *const *args)
{
	struct clone_args a = { .exit_signal = SIGCHLD,
				.set_tid = (uintptr_t)&pid,
				.set_tid_size = 1 };
	long child = syscall(SYS_clone3, &a, sizeof(a));
	int status = 1;

	if (!child) {
		execv("/proc/self/exe", args);
		_exit(1);
	}
	if (child > 0)
		waitpid((pid_t)child, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	char *first[] = { "jit_again", "run", "first_code", "second_code", NULL };
	char *third[] = { "jit_again", "run", "third_code", NULL };
	pid_t pid;

	if (argc > 2)
		return run(argv[2], argv[3]);
	/* A number that nobody has. */
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return run_as(pid, first) || run_as(pid, third);
}
