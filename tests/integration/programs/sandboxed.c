/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sandboxed WHAT N: waits for a line, forbids itself what WHAT says, and makes N marks, each by another
 * thread where it can have any; the process dies of anything else it does.
 *
 *	none	nothing
 *	wide	all but what a program commonly does: threads, memory
 *	narrow	all but reading, writing and ending
 *	strict	the same, the kernel's own way, and the processor's counter as well
 *	counter	the processor's counter alone; it ends when its input does
 *	fork	narrow, in a child that it forks, after a mark of its own
 *	raw-counter	as counter, after as many marks, by a system call without the C library's function
 *	raw-strict	the same with strict, by seccomp(2)
 *	raw-child	as raw-counter; so does a child that it forks then, which inherits what is forbidden
 *
 * Prints `ready`, `marks <n>`.
 */
#include <proftrace.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void forbid(const int *allowed, unsigned n)
{
	struct sock_filter code[64];
	struct sock_fprog program = { 0, code };
	unsigned i;

	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							   offsetof(struct seccomp_data, nr));
	for (i = 0; i < n; i++) {
		code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   (unsigned)allowed[i], 0, 1);
		code[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[program.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(2);
}

/* Nothing of stdio's: it would allocate. */
static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		exit(2);
}

static void enter(const char *what)
{
	static const int narrow[] = { SYS_read, SYS_write, SYS_exit, SYS_exit_group,
				      SYS_rt_sigreturn };
	static const int wide[] = { SYS_read,		SYS_write,
				    SYS_exit,		SYS_exit_group,
				    SYS_rt_sigreturn,	SYS_mmap,
				    SYS_munmap,		SYS_madvise,
				    SYS_mprotect,	SYS_brk,
				    SYS_getpid,		SYS_gettid,
				    SYS_tgkill,		SYS_clone,
				    SYS_clone3,		SYS_futex,
				    SYS_rseq,		SYS_set_robust_list,
				    SYS_rt_sigprocmask, SYS_prlimit64,
				    SYS_getrandom,	SYS_sched_getaffinity,
				    SYS_rt_sigaction };

	if (!strcmp(what, "narrow") || !strcmp(what, "fork"))
		forbid(narrow, sizeof(narrow) / sizeof(narrow[0]));
	else if (!strcmp(what, "wide"))
		forbid(wide, sizeof(wide) / sizeof(wide[0]));
	else if (!strcmp(what, "strict") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		exit(2);
	else if ((!strcmp(what, "counter") && prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) ||
		 ((!strcmp(what, "raw-counter") || !strcmp(what, "raw-child")) &&
		  syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))) {
		say("refused\n");
		exit(2);
	} else if (!strcmp(what, "raw-strict") &&
		   syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL))
		exit(2);
}

static void *mark(void *i)
{
	PROF_INSTANT("mark", "i", (long)(intptr_t)i);
	return NULL;
}

static void marks(const char *what, long n)
{
	bool threads = !strcmp(what, "none") || !strcmp(what, "wide");
	pthread_t thread;
	long i;

	for (i = 0; i < n; i++) {
		if (!threads || i % 16)
			mark((void *)(intptr_t)i);
		else if (pthread_create(&thread, NULL, mark, (void *)(intptr_t)i) ||
			 pthread_join(thread, NULL))
			exit(2);
	}
}

/* Marks before and after. Returns how often. */
static long raw(const char *what, long n)
{
	bool forks = !strcmp(what, "raw-child");
	int status = 0;
	pid_t child;

	marks(what, n);
	enter(what);
	child = forks ? fork() : -1;
	marks(what, n);
	if (child == 0)
		syscall(SYS_exit, 0);
	if (forks && (wait(&status) < 0 || status))
		exit(3);
	return forks ? 3 * n : 2 * n;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;
	char c, text[64];
	int status = 0;

	if (argc < 3)
		return 1;
	say("ready\n");
	if (read(0, &c, 1) < 0)
		return 1;
	if (!strcmp(argv[1], "fork")) {
		PROF_INSTANT("mark", "i", -1L);
		if (fork() == 0) {
			enter(argv[1]);
			marks(argv[1], n);
			syscall(SYS_exit, 0);
		}
		if (wait(&status) < 0 || status)
			return 3;
		n++;
	} else if (!strncmp(argv[1], "raw-", 4)) {
		n = raw(argv[1], n);
	} else {
		enter(argv[1]);
		marks(argv[1], n);
	}
	snprintf(text, sizeof(text), "marks %ld\n", n);
	say(text);
	while (!strcmp(argv[1], "counter") && read(0, &c, 1) > 0)
		;
	syscall(SYS_exit, 0);
}
