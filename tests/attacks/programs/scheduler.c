/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scheduler UID GID EVERY PHASE PROFTRACE [ARG...]
 *
 * steal_descriptors runs beside proftrace and sees the moments that it meets. Here no moment is missed: root runs
 * PROFTRACE as a user under ptrace(2) and stops every process of it before and after each system call. At every
 * EVERY-th stop of each process, beginning with the PHASE-th, a process of the same user tries to take descriptors
 * (pidfd_getfd) and to open the memory for writing (/proc/PID/mem) of all processes of the tree, while the stopped one
 * waits. The attacker cannot use ptrace itself, because a process has one tracer at most; the kernel asks for the same
 * permission as for the other two.
 *
 * Whoever stops a process may also leave it stopped, and it stays with what it has. So at each stop of each process but
 * the recorder and the broker root looks what it has: no capability in effect and nothing of BPF, except that a process which
 * the keeper (proftrace-close) has forked gets the links that it closes. Processes of the broker are permitted one capability,
 * at each moment.
 *
 * Prints `searched NAME N` for the recorder, the command and all others, by name: at how many stops of theirs there was
 * a search; `harmless N` (descriptors taken that gain nothing), `stolen N`, and a `got` line for each theft; `held NAME` for
 * each process that was looked at, `holds NAME WHAT` for what it must not have, and `guarded NAME` or `unguarded NAME` for
 * each of the broker's, whether it always had that capability. The status is PROFTRACE's.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdings.h"
#include "valuable.h"

#define MOST_FDS   96
#define MOST_TASKS 128
#define MOST_NAMES 16

struct traced_task {
	pid_t tid, process, parent;
	unsigned long stops;
	int alive, executed, memory_open, holds, unguarded;
	char name[32];
};

struct search_request {
	unsigned n;
	pid_t processes[MOST_TASKS];
};

struct search_reply {
	unsigned long harmless, stolen;
	char memory_open[MOST_TASKS];
};

static struct traced_task tasks[MOST_TASKS];
static unsigned n_tasks;
static struct {
	char name[32];
	unsigned long searches;
} names[MOST_NAMES];

static void steal_from(pid_t pid, struct search_reply *reply, char *memory_open)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), n, mem;
	char kind[128], path[32];

	for (n = 0; process >= 0 && n < MOST_FDS; n++) {
		int fd = (int)syscall(SYS_pidfd_getfd, process, n, 0);

		if (fd < 0)
			continue;
		if (is_valuable(fd, kind, sizeof(kind))) {
			reply->stolen++;
			printf("got %s\n", kind);
		} else {
			reply->harmless++;
		}
		close(fd);
	}
	if (process >= 0)
		close(process);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDWR);
	*memory_open = mem >= 0;
	if (mem >= 0)
		close(mem);
}

static void become_user(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		_exit(126);
}

static int start_attacker(uid_t uid, gid_t gid)
{
	static struct search_request request;
	static struct search_reply reply;
	int sockets[2];
	unsigned i;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		exit(1);
	if (fork()) {
		close(sockets[1]);
		return sockets[0];
	}
	become_user(uid, gid);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(sockets[0]);
	while (read(sockets[1], &request, sizeof(request)) == (ssize_t)sizeof(request)) {
		memset(&reply, 0, sizeof(reply));
		for (i = 0; i < request.n; i++)
			steal_from(request.processes[i], &reply, &reply.memory_open[i]);
		fflush(stdout);
		if (write(sockets[1], &reply, sizeof(reply)) != (ssize_t)sizeof(reply))
			break;
	}
	_exit(0);
}

static void count_search(const char *name)
{
	unsigned i;

	for (i = 0; i < MOST_NAMES - 1 && names[i].searches && strcmp(names[i].name, name); i++)
		;
	snprintf(names[i].name, sizeof(names[i].name), "%s", name);
	names[i].searches++;
}

static void read_name(struct traced_task *task)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)task->tid);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(task->name, sizeof(task->name), file))
		task->name[strcspn(task->name, "\n")] = '\0';
	fclose(file);
}

static struct traced_task *find_task(pid_t tid)
{
	char path[64], line[128];
	unsigned i;
	FILE *file;

	for (i = 0; i < n_tasks; i++) {
		if (tasks[i].tid == tid && tasks[i].alive)
			return &tasks[i];
	}
	if (n_tasks == MOST_TASKS) {
		fprintf(stderr, "scheduler: more than %d tasks\n", MOST_TASKS);
		exit(1);
	}
	tasks[n_tasks] = (struct traced_task){ .tid = tid, .process = tid, .alive = 1 };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "Tgid: %d", &tasks[n_tasks].process);
		if (sscanf(line, "PPid: %d", &tasks[n_tasks].parent) == 1)
			break;
	}
	if (file)
		fclose(file);
	return &tasks[n_tasks++];
}

/* Also one that has ended: a child may be killed before its parent's stop is seen. */
static int task_was_seen(pid_t tid)
{
	unsigned i;

	for (i = 0; i < n_tasks && tasks[i].tid != tid; i++)
		;
	return i < n_tasks;
}

static const struct traced_task *find_process(pid_t pid)
{
	unsigned i;

	for (i = n_tasks; i && tasks[i - 1].tid != pid; i--)
		;
	return i ? &tasks[i - 1] : NULL;
}

static int is_recorder_or_broker(const struct traced_task *task)
{
	const struct traced_task *process = find_process(task->process);

	return task->process == tasks[0].tid || !process ||
	       (process->parent == tasks[0].tid && !strcmp(process->name, "proftrace-broke"));
}

/* Who is the broker is known when it has its name. A process that has executed a program has nothing more. */
static void look_at_holdings(struct traced_task *task)
{
	const struct traced_task *parent = find_process(task->parent);
	int closes = parent && !strcmp(parent->name, "proftrace-close"), holds;

	if (task->executed || is_recorder_or_broker(task))
		return;
	holds = read_holdings(task->tid);
	task->holds |= holds & (closes ? ~HOLDS_DESCRIPTORS : ~0);
	task->unguarded |= !(holds & HOLDS_GUARD);
}

static void print_all_holdings(void)
{
	unsigned i;

	for (i = 0; i < n_tasks; i++) {
		if (is_recorder_or_broker(&tasks[i]))
			continue;
		printf("held %s\n", tasks[i].name);
		if (is_guarded(tasks[i].name)) {
			tasks[i].holds &= ~HOLDS_GUARD;
			printf("%s %s\n", tasks[i].unguarded ? "unguarded" : "guarded",
			       tasks[i].name);
		}
		if (tasks[i].holds)
			print_holdings(tasks[i].name, tasks[i].holds);
	}
}

/* Whose memory may be open is known in the end: it is the command's, which executes its program later. */
static void search_tree(int attacker, struct search_reply *sum)
{
	static struct search_request request;
	static struct search_reply reply;
	unsigned i, whose[MOST_TASKS];

	request.n = 0;
	for (i = 0; i < n_tasks; i++) {
		if (!tasks[i].alive || tasks[i].process != tasks[i].tid)
			continue;
		whose[request.n] = i;
		request.processes[request.n++] = tasks[i].tid;
	}
	if (write(attacker, &request, sizeof(request)) != (ssize_t)sizeof(request) ||
	    read(attacker, &reply, sizeof(reply)) != (ssize_t)sizeof(reply)) {
		fprintf(stderr, "scheduler: the attacker is gone\n");
		exit(1);
	}
	sum->harmless += reply.harmless;
	sum->stolen += reply.stolen;
	for (i = 0; i < request.n; i++)
		tasks[whose[i]].memory_open |= reply.memory_open[i];
}

static pid_t start_traced(uid_t uid, gid_t gid, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	pid_t pid = fork();

	if (!pid) {
		become_user(uid, gid);
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, NULL, WUNTRACED) != pid || ptrace(PTRACE_SEIZE, pid, 0, options) ||
	    kill(pid, SIGCONT)) {
		perror("scheduler: cannot trace");
		exit(1);
	}
	return pid;
}

static int any_alive(void)
{
	unsigned i;

	for (i = 0; i < n_tasks && !tasks[i].alive; i++)
		;
	return i < n_tasks;
}

/* One stop of a task. A child is known before its own first stop. Signals are handed on, stops by job control are kept, and all else goes on. */
static void resume_task(pid_t tid, int status)
{
	int signal_number = WSTOPSIG(status), event = status >> 16;
	unsigned long child;

	if ((event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	     event == PTRACE_EVENT_CLONE) &&
	    !ptrace(PTRACE_GETEVENTMSG, tid, 0, &child) && !task_was_seen((pid_t)child))
		find_task((pid_t)child);
	if (event == PTRACE_EVENT_STOP && signal_number != SIGTRAP) {
		ptrace(PTRACE_LISTEN, tid, 0, 0);
		return;
	}
	if (event || signal_number == (SIGTRAP | 0x80))
		signal_number = 0;
	ptrace(PTRACE_SYSCALL, tid, 0, (long)signal_number);
}

static void print_result(struct search_reply *sum)
{
	unsigned i;

	for (i = 0; i < n_tasks; i++) {
		if (!tasks[i].memory_open || (i && tasks[i].executed))
			continue;
		sum->stolen++;
		printf("got the memory of %s\n", tasks[i].name);
	}
	for (i = 0; i < MOST_NAMES && names[i].searches; i++)
		printf("searched %s %lu\n", names[i].name, names[i].searches);
	printf("harmless %lu\nstolen %lu\n", sum->harmless, sum->stolen);
}

int main(int argc, char **argv)
{
	static struct search_reply sum;
	unsigned long every, phase;
	int attacker, status, result = 1;
	pid_t recorder, tid;

	if (argc < 6 || !(every = strtoul(argv[3], NULL, 10)))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	phase = strtoul(argv[4], NULL, 10);
	attacker = start_attacker((uid_t)atoi(argv[1]), (gid_t)atoi(argv[2]));
	recorder = start_traced((uid_t)atoi(argv[1]), (gid_t)atoi(argv[2]), argv + 5);
	find_task(recorder);
	while (any_alive() && (tid = waitpid(-1, &status, __WALL)) > 0) {
		struct traced_task *task = find_task(tid);

		if (!WIFSTOPPED(status)) {
			task->alive = 0;
			if (task == tasks)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
			continue;
		}
		task->executed |= status >> 16 == PTRACE_EVENT_EXEC;
		read_name(task);
		if (tasks[0].executed)
			look_at_holdings(task);
		/* Before it is proftrace the first process is the attacker's own. */
		if (tasks[0].executed && task->stops++ % every == phase) {
			count_search(task->name);
			search_tree(attacker, &sum);
		}
		resume_task(tid, status);
	}
	print_result(&sum);
	print_all_holdings();
	return result;
}
