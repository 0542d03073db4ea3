/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overreach USER SECRET [kill]
 * overreach secret
 *
 * What somebody would do who took over the recorder of USER, with what it has of the broker and of the kernel, to get at
 * processes that were not requested, or to more of those that were than the manual says. Root calls it: then the broker is
 * root's, as under sudo; or a user with file capabilities does, as USER. SECRET is a copy of this program; if it is
 * set-user-ID, another user's secret is in it. The user's copy also has CAP_CHECKPOINT_RESTORE, to choose numbers of processes.
 *
 * The user's copy is run by with_states (tests/attacks/programs), which does on request what needs a lucky moment.
 *
 * With `kill`, the recorder, which is the user's, kills its broker.
 *
 * With `secret` it puts a secret at a known place, where it looks like a buffer of buffered mode, and waits for the end of
 * its input, with a mark for each byte.
 *
 * Prints `maps` and the numbers of processes that have files in /tmp, `got TEXT` for what nobody should get,
 * `permitted TEXT` for what is to work, and `through`.
 */
#include "overreach.h"

#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/sched/sched_records.h"
#include "privilege/privileges.h"
#include "proftrace.h"

#define WAIT_MS 300 /* for a record */
#define TARGETS 13

struct hijacked h;
const char *secret_program;
pid_t next_number;
int goes[2];
int numbers[2];

/* The same in the file of the program: at the end of its data, which the kernel touches before the program runs. */
struct secret secret_of_file __attribute__((section(".data1"))) = {
	{ .version = BATCH_VERSION,
	  .used = sizeof(struct secret),
	  .size = sizeof(struct secret),
	  .complete = 1 << 16 | sizeof(secret->text) / sizeof(uint64_t) },
	"a secret",
};

void make_secret(void)
{
	if (mmap(secret, sizeof(*secret), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != secret)
		exit(1);
	secret->head.version = BATCH_VERSION;
	secret->head.used = secret->head.size = sizeof(*secret);
	secret->head.complete = 1 << 16 | sizeof(secret->text) / sizeof(uint64_t);
	strcpy(secret->text, "a secret");
}

void make_empty(void)
{
	make_secret();
	secret->head.used = sizeof(secret->head);
	secret->head.complete = 0;
}

static int all_ends[TARGETS + 1];
static unsigned n_ends;

static pid_t fork_wanted(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = next_number ? (uintptr_t)&next_number : 0,
				   .set_tid_size = next_number != 0 };
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0 && errno != EEXIST)
		exit(1);
	return pid;
}

pid_t start(void (*prepare)(void), void (*then)(void), int *ret_end)
{
	int ready[2], ends[2];
	pid_t pid;
	char byte;

	if (pipe2(ready, O_CLOEXEC) || pipe2(ends, O_CLOEXEC))
		exit(1);
	pid = fork_wanted();
	if (!pid) {
		/* Without these it ends with this process, also when that ends early. */
		while (n_ends)
			close(all_ends[--n_ends]);
		close(ends[1]);
		/* Those of the program file are not the user's. */
		if (h.own && (privileges_keep(NULL, 0, false) || prctl(PR_SET_DUMPABLE, 1)))
			_exit(1);
		prepare();
		if (write(ready[1], "", 1) != 1 || read(ends[0], &byte, 1) != 1)
			_exit(1);
		if (then)
			then();
		_exit(0);
	}
	close(ready[1]);
	close(ends[0]);
	if (pid < 0) {
		close(ready[0]);
		close(ends[1]);
		return pid;
	}
	if (read(ready[0], &byte, 1) != 1)
		exit(1);
	close(ready[0]);
	*ret_end = all_ends[n_ends++] = ends[1];
	return pid;
}

void end(pid_t pid, int at)
{
	if (write(at, "", 1) != 1)
		exit(1);
	waitpid(pid, NULL, 0);
}

/* Where in its page the dynamic linker of a program that was just executed begins. */
static uint64_t first_instruction(void)
{
	const Elf64_Ehdr *linker = (const void *)getauxval(AT_BASE);

	return linker ? linker->e_entry & 0xfff : 0;
}

static void count_record(const struct record *r)
{
	const struct record_syscall *call = (const void *)r;

	if ((pid_t)r->tgid != h.watched)
		return;
	if (r->kind == RECORD_INSTANT)
		h.marks++;
	if (r->kind != RECORD_SYSCALL)
		return;
	h.calls++;
	h.last_call = call->call;
}

static int see_record(void *context, void *data, size_t size)
{
	const struct record_batch *r = data;
	const struct record_stack *stack = data;

	(void)context;
	h.records++;
	count_record(&r->head);
	if (r->head.kind == RECORD_SAMPLE) {
		h.samples++;
		h.samples_begin += STACK_PROGRAM(stack->ops.b) &&
				   (stack->addresses[stack->ops.a] & 0xfff) == first_instruction();
	}
	h.announced += r->head.kind == RECORD_BATCH && r->ops.b == BATCH_NEW;
	if (size >= sizeof(*r) + sizeof(secret->text) && r->head.kind == RECORD_BATCH &&
	    !strcmp((const char *)(r + 1), "a secret"))
		h.seen_of = r->head.tgid;
	return 0;
}

bool secret_comes(void)
{
	h.seen_of = 0;
	ring_buffer__poll(h.ring, WAIT_MS);
	ring_buffer__consume(h.ring);
	return h.seen_of;
}

void say_found(pid_t pid, const struct secret *at)
{
	struct batch_found *found =
		&h.shared->batches_found[BATCH_FOUND_PLACE((uint32_t)pid) % BATCHES_FOUND];

	*found = (struct batch_found){ (uint64_t)pid << 32 | (uint32_t)pid, (uintptr_t)at, 0 };
}

bool is_traced(pid_t pid)
{
	struct failure f;

	return !broker_pause(h.broker, pid, 0, &f);
}

static void trace(pid_t pid)
{
	const struct broker_target target = { pid, 0 };
	struct failure f = { 0 };

	if (!broker_trace(h.broker, &target, TRACED_WATCH | TRACED_MARKS, &f))
		return;
	printf("got nowhere: %s: %s\n", f.what, f.reason);
	exit(1);
}

void say_number(void)
{
	const pid_t pid = getpid();

	if (write(numbers[1], &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
}

pid_t read_number(void)
{
	pid_t pid;

	if (read(numbers[0], &pid, sizeof(pid)) != sizeof(pid))
		exit(1);
	return pid;
}

void execute_at_go(void)
{
	char byte;

	/* What is read must be the program's. */
	strcpy(secret_of_file.text, "not a secret");
	say_number();
	if (read(goes[0], &byte, 1) != 1)
		_exit(1);
	dup2(goes[0], 0);
	execl(secret_program, secret_program, "secret", NULL);
	_exit(1);
}

/* --- start ------------------------------------------------------------------------------------------ */

static void begin(uid_t user, const pid_t *pids, unsigned n)
{
	const struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.own_only = h.own,
		.follow_children = true,
		.batching = true,
		.sample_hz = h.own ? 1000 : 0,
		.syscalls = h.own,
		.pids = pids,
		.n_pids = n,
	};
	const int needed[] = { CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN };
	struct failure f = { 0 };

	/* Another one was for the number of a process. */
	if (h.own && privileges_keep(needed, 3, false))
		exit(2);
	if (broker_start(&config, &h.broker, &h.loaded, &f)) {
		failure_print(&f, stdout);
		exit(2);
	}
	if (h.own ? privileges_keep(NULL, 0, false)
		  : setgroups(0, NULL) || setresgid(user, user, user) ||
			    setresuid(user, user, user))
		exit(2);
	h.shared = mmap(NULL, h.loaded.shared_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			h.loaded.shared_fd, 0);
	h.ring = ring_buffer__new(h.loaded.buffers[0], see_record, NULL, NULL);
	if (h.shared == MAP_FAILED || !h.ring)
		exit(2);
	h.shared->recording = 1;
}

/* Until the broker is killed: it can be tried once. */
static void kill_broker(uid_t user)
{
	int target_end;
	pid_t target = start(make_empty, execute_at_go, &target_end);

	begin(user, &target, 1);
	trace(target);
	stop_keeper(target, target_end);
}

static void reach(uid_t user)
{
	pid_t guarded, pids[TARGETS];
	int guarded_end, ends[TARGETS];
	unsigned i;

	guarded = start(h.own ? be_guarded : make_secret, NULL, &guarded_end);
	pids[0] = start(make_secret, NULL, &ends[0]);
	pids[1] = start(make_empty, execute_secret, &ends[1]);
	pids[2] = start(share_memory, look_at_memory, &ends[2]);
	pids[3] = start(make_secret, execute_often, &ends[3]);
	pids[4] = start(make_secret, execute_with_limits, &ends[4]);
	pids[5] = start(make_secret, NULL, &ends[5]);
	pids[6] = start(make_empty, keep_slot, &ends[6]);
	pids[7] = start_in_slot(pids[6], &ends[7]);
	pids[8] = start(make_empty, fork_and_execute, &ends[8]);
	pids[9] = start(make_secret, NULL, &ends[9]);
	pids[10] = start(make_large, execute_at_go, &ends[10]);
	pids[11] = start(make_empty, execute_with_state, &ends[11]);
	pids[12] = start(make_empty, fork_with_tables, &ends[12]);
	printf("maps %d %d %d\n", (int)pids[0], (int)pids[1], (int)pids[2]);
	make_maps(pids);
	begin(user, pids, TARGETS);
	for (i = 0; i < TARGETS; i++)
		trace(pids[i]);
	open_maps(pids);
	read_at_exit(guarded, guarded_end, pids[0], ends[0]);
	/* Root may record set-user-ID programs. */
	if (h.own) {
		read_after_exec(pids[1], ends[1]);
		sample_executions(pids[3], ends[3]);
		read_failed_execs(pids[4], ends[4]);
		keep_state(pids[6], ends[6], pids[7], ends[7]);
		inherit_buffers(pids[8], ends[8]);
		make_state_late(pids[11], ends[11]);
		fill_tables(pids[12], ends[12]);
		record_result(pids[10], ends[10]);
	} else {
		end(pids[1], ends[1]);
		end(pids[3], ends[3]);
	}
	end_unrecorded(pids[5], ends[5]);
	write_to_memory(pids[2], ends[2]);
	/* Nothing comes of them later. */
	for (i = 6; i < TARGETS; i++) {
		if (i != 9 && !kill(pids[i], SIGKILL))
			waitpid(pids[i], NULL, 0);
	}
	record_alone(pids[9], ends[9]);
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		make_secret();
		do
			PROF_INSTANT("mark of the program");
		while (getchar() != EOF);
		return 0;
	}
	if (argc < 3)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	h.own = getuid() != 0;
	secret_program = argv[2];
	h.group = (gid_t)atoi(argv[1]);
	/* Whom a recorder that root calls becomes: as sudo says it. */
	setenv("SUDO_UID", argv[1], 1);
	if (pipe2(numbers, O_CLOEXEC) || pipe2(goes, O_CLOEXEC))
		return 1;
	if (argc == 4)
		kill_broker((uid_t)atoi(argv[1]));
	else
		reach((uid_t)atoi(argv[1]));
	printf("through\n");
	return 0;
}
