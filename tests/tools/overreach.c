/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overreach USER SECRET
 * overreach secret
 *
 * What somebody would do who took over the recorder of USER, with what it has of the broker and of the kernel, to get at
 * processes that were not requested, or to more of those that were than the manual says. Root calls it: then the broker is
 * root's, as under sudo; or a user with file capabilities does, as USER. SECRET is a copy of this program; if it is
 * set-user-ID, another user's secret is in it. The user's copy also has CAP_CHECKPOINT_RESTORE, to choose numbers of processes.
 *
 * With `secret` it puts a secret at a known place, where it looks like a buffer of buffered mode, and waits for the end of
 * its input.
 *
 * Prints `maps` and the numbers of processes that have files in /tmp, `got TEXT` for what nobody should get, `permitted TEXT` for what is to work, and `through`.
 */
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/stacks/stack.h"
#include "privilege/broker/protocol.h"
#include "privilege/privileges.h"
#include "proftrace.skel.h"

#define WAIT_MS	    300 /* for a record */
#define EXECUTES_US 100000
#define EXECUTIONS  60 /* in which samples are taken */
#define TARGETS	    10
#define UNTRACES_NS 20000000000ull
#define SLOTS	    4096 /* THREAD_SLOTS of bpf/threads.h */
#define LIMIT_STEP  (64 << 10)
#define LIMITS	    3
#define LARGE	    (64 << 20)

/* Where every program that has a secret has it: a buffer with one event, which is text. */
static struct secret {
	struct batch_head head;
	char text[64];
} *const secret = (void *)0x10000000;

/* The same in the file of the program: at the end of its data, which the kernel touches before the program runs. */
static struct secret secret_of_file __attribute__((section(".data1"))) = {
	{ .version = BATCH_VERSION,
	  .used = sizeof(struct secret),
	  .size = sizeof(struct secret),
	  .complete = 1 << 16 | sizeof(secret->text) / sizeof(uint64_t) },
	"a secret",
};

static struct {
	struct broker *broker;
	struct broker_loaded loaded;
	struct proftrace_bpf__bss *shared;
	struct ring_buffer *ring;
	bool own;
	uint32_t seen_of; /* process whose buffer came */
	uint32_t records;
	uint32_t samples,
		samples_begin; /* of all, and of those at the first instruction of a program */
} h;

static void make_secret(void)
{
	if (mmap(secret, sizeof(*secret), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != secret)
		exit(1);
	secret->head.version = BATCH_VERSION;
	secret->head.used = secret->head.size = sizeof(*secret);
	secret->head.complete = 1 << 16 | sizeof(secret->text) / sizeof(uint64_t);
	strcpy(secret->text, "a secret");
}

static int all_ends[TARGETS + 1];
static unsigned n_ends;
static pid_t wanted; /* the number of the next process; 0: any */

static pid_t fork_wanted(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = wanted ? (uintptr_t)&wanted : 0,
				   .set_tid_size = wanted != 0 };
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0 && errno != EEXIST)
		exit(1);
	return pid;
}

/* A process that waits for a byte at *ret_end, then does what `then` says. Returns -1 if its number is in use. */
static pid_t start(void (*prepare)(void), void (*then)(void), int *ret_end)
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

static void end(pid_t pid, int at)
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

static int see_record(void *context, void *data, size_t size)
{
	const struct record_batch *r = data;
	const struct record_stack *stack = data;

	(void)context;
	h.records++;
	if (r->head.kind == RECORD_SAMPLE) {
		h.samples++;
		h.samples_begin += STACK_PROGRAM(stack->ops.b) &&
				   (stack->addresses[stack->ops.a] & 0xfff) == first_instruction();
	}
	if (size >= sizeof(*r) + sizeof(secret->text) && r->head.kind == RECORD_BATCH &&
	    !strcmp((const char *)(r + 1), "a secret"))
		h.seen_of = r->head.tgid;
	return 0;
}

static bool secret_comes(void)
{
	h.seen_of = 0;
	ring_buffer__poll(h.ring, WAIT_MS);
	ring_buffer__consume(h.ring);
	return h.seen_of;
}

/* As the recorder says it of threads that had buffers before the recording. */
static void say_found(pid_t pid, const struct secret *at)
{
	struct batch_found *found =
		&h.shared->batches_found[BATCH_FOUND_PLACE((uint32_t)pid) % BATCHES_FOUND];

	*found = (struct batch_found){ (uint64_t)pid << 32 | (uint32_t)pid, (uintptr_t)at, 0 };
}

static bool is_traced(pid_t pid)
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

/* --- memory that is read when a process exits ------------------------------------------------------- */

/* Of the attacker's user, who may not look into it. */
static void be_guarded(void)
{
	make_secret();
	prctl(PR_SET_DUMPABLE, 0);
}

static void read_at_exit(pid_t guarded, int guarded_end, pid_t target, int target_end)
{
	say_found(guarded, secret);
	end(guarded, guarded_end);
	if (secret_comes())
		printf("got the memory of a process that nobody requested, at its exit\n");
	say_found(target, secret);
	end(target, target_end);
	if (secret_comes())
		printf("permitted the memory of a recorded process, at its exit\n");
}

/* --- memory that a recorded process has before it executes a set-user-ID program -------------------- */

static const char *secret_program;

/* Nothing is in the buffer yet: all that will be in it is of the child's own. */
static void make_empty(void)
{
	make_secret();
	secret->head.used = sizeof(secret->head);
	secret->head.complete = 0;
}

static void execute_secret(void)
{
	int nothing[2], status;
	pid_t pid;

	if (pipe(nothing))
		_exit(1);
	pid = fork();
	if (!pid) {
		close(nothing[1]);
		dup2(nothing[0], 0);
		usleep(EXECUTES_US);
		execl(secret_program, secret_program, "secret", NULL);
		_exit(1);
	}
	usleep(3 * EXECUTES_US);
	close(nothing[1]);
	waitpid(pid, &status, 0);
}

static void read_after_exec(pid_t target, int target_end)
{
	say_found(target, secret);
	if (write(target_end, "", 1) != 1)
		exit(1);
	/* The child is forked while something is recorded, and executes the program while nothing is. */
	usleep(EXECUTES_US / 2);
	h.shared->recording = 0;
	usleep(3 * EXECUTES_US / 2);
	h.shared->recording = 1;
	waitpid(target, NULL, 0);
	secret_comes();
	if (h.seen_of && h.seen_of != (uint32_t)target)
		printf("got the memory of a set-user-ID program, at its exit\n");
}

/* --- a thread's state that outlives the execution --------------------------------------------------- */

static int numbers[2], goes[2]; /* pipes: from targets their numbers, and what they wait for */

static void say_number(void)
{
	const pid_t pid = getpid();

	if (write(numbers[1], &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
}

static pid_t read_number(void)
{
	pid_t pid;

	if (read(numbers[0], &pid, sizeof(pid)) != sizeof(pid))
		exit(1);
	return pid;
}

static void execute_at_go(void)
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

/* A thread that has buffers has a state when it has forked. */
static void get_state(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void keep_slot(void)
{
	get_state();
	say_number();
	pause();
}

static void execute_with_state(void)
{
	get_state();
	execute_at_go();
}

/* Its slot is that of `other`, so that its state will be in the storage of the task. */
static pid_t start_in_slot(pid_t other, int *ret_end)
{
	pid_t pid = -1;

	for (wanted = other % SLOTS + SLOTS; pid < 0; wanted += SLOTS)
		pid = start(make_empty, execute_with_state, ret_end);
	wanted = 0;
	return pid;
}

static void keep_state(pid_t other, int other_end, pid_t target, int target_end)
{
	say_found(other, secret);
	if (write(other_end, "", 1) != 1)
		exit(1);
	read_number();
	say_found(target, secret);
	if (write(target_end, "", 1) != 1)
		exit(1);
	read_number();
	h.shared->recording = 0;
	h.shared->threads_stored = 0;
	if (write(goes[1], "", 1) != 1)
		exit(1);
	while (is_traced(target))
		usleep(1000);
	/* It makes its secret. */
	usleep(EXECUTES_US);
	h.shared->threads_stored = 1;
	h.shared->recording = 1;
	say_found(target, secret);
	kill(target, SIGTERM);
	waitpid(target, NULL, 0);
	if (secret_comes())
		printf("got the memory of a set-user-ID program, by a state from before\n");
}

/* --- an execution that fails when the program has the memory ----------------------------------------- */

/* The least memory with which the kernel can begin to run the program. */
static rlim_t find_limit(void)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), status;
	struct rlimit limit = { 0, 0 };

	do {
		pid_t pid;

		limit.rlim_cur = limit.rlim_max += LIMIT_STEP;
		pid = fork();
		if (!pid) {
			dup2(nothing, 0);
			dup2(nothing, 2);
			setrlimit(RLIMIT_AS, &limit);
			execl(secret_program, secret_program, "secret", NULL);
			_exit(1);
		}
		waitpid(pid, &status, 0);
	} while (WIFSIGNALED(status));
	return limit.rlim_cur;
}

/* With a little less, there is space for the program, but not for its dynamic linker. */
static void execute_with_limits(void)
{
	const rlim_t least = find_limit();

	for (int i = 1; i <= LIMITS; i++) {
		const struct rlimit limit = { least - i * LIMIT_STEP, least - i * LIMIT_STEP };
		pid_t pid = fork();

		if (!pid) {
			/* Meanwhile the kernel frees the memory from before, which takes a while. */
			if (mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
				_exit(1);
			setrlimit(RLIMIT_AS, &limit);
			execute_at_go();
		}
		waitpid(pid, NULL, 0);
	}
	say_number();
}

static void read_failed_execs(pid_t target, int target_end)
{
	pid_t child;
	unsigned i;

	if (write(target_end, "", 1) != 1)
		exit(1);
	while ((child = read_number()) != target) {
		if (write(goes[1], "", 1) != 1)
			exit(1);
		/* The kernel looks just before the execution, too, and takes what it finds. */
		while (is_traced(child)) {
			for (i = 0; i < 100000; i++)
				say_found(child, &secret_of_file);
		}
	}
	waitpid(target, NULL, 0);
	if (secret_comes())
		printf("got the memory of a set-user-ID program whose execution failed\n");
}

/* --- processes that end while nothing is recorded ------------------------------------------------------ */

/* The next process of this number would be traced for as long as it takes the kernel to fork it. */
static void end_unrecorded(pid_t target, int target_end)
{
	h.shared->recording = 0;
	end(target, target_end);
	if (is_traced(target))
		printf("got the tracing of whoever has the number of a process that has ended\n");
	h.shared->recording = 1;
}

/* --- buffers that a child has inherited, when the broker has ended its tracing ---------------------------- */

static void fork_and_execute(void)
{
	pid_t pid = fork();

	if (!pid)
		execute_at_go();
	waitpid(pid, NULL, 0);
}

/* A broker without descriptors takes the process for one that has ended, if they run out just then. */
static pid_t take_descriptors(void)
{
	struct rlimit usual, none;
	pid_t broker = broker_pid(h.broker), pid;

	if (prlimit(broker, RLIMIT_NOFILE, NULL, &usual))
		exit(1);
	none = (struct rlimit){ 3, usual.rlim_max };
	pid = fork();
	if (pid)
		return pid;
	for (;;) {
		prlimit(broker, RLIMIT_NOFILE, &none, NULL);
		usleep((unsigned)rand() % 200);
		prlimit(broker, RLIMIT_NOFILE, &usual, NULL);
		usleep((unsigned)rand() % 200);
	}
}

static void stop_tracing(pid_t child)
{
	const struct broker_target target = { child, 0 };
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + UNTRACES_NS;
	struct rlimit usual;
	struct failure f;
	pid_t taker;

	prlimit(broker_pid(h.broker), RLIMIT_NOFILE, NULL, &usual);
	taker = take_descriptors();
	while (is_traced(child) && clock_ns(CLOCK_MONOTONIC) < until)
		broker_trace(h.broker, &target, TRACED_WATCH | TRACED_MARKS, &f);
	kill(taker, SIGKILL);
	waitpid(taker, NULL, 0);
	prlimit(broker_pid(h.broker), RLIMIT_NOFILE, &usual, NULL);
	if (!is_traced(child))
		return;
	printf("got nowhere: a process is traced\n");
	exit(1);
}

static void inherit_buffers(pid_t target, int target_end)
{
	pid_t child;

	say_found(target, secret);
	if (write(target_end, "", 1) != 1)
		exit(1);
	child = read_number();
	stop_tracing(child);
	if (write(goes[1], "", 1) != 1)
		exit(1);
	/* It makes its secret. */
	usleep(EXECUTES_US);
	kill(child, SIGTERM);
	waitpid(target, NULL, 0);
	secret_comes();
	if (h.seen_of == (uint32_t)child)
		printf("got the memory of a set-user-ID program, by buffers from before\n");
}

/* --- samples in the middle of an execution ------------------------------------------------------- */

static void execute_often(void)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), i, status;

	dup2(nothing, 0);
	for (i = 0; i < EXECUTIONS; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl(secret_program, secret_program, "secret", NULL);
			_exit(1);
		}
		waitpid(pid, &status, 0);
	}
}

/* One by accident does not count: anything may have the same place in its page. */
static void sample_executions(pid_t target, int target_end)
{
	end(target, target_end);
	secret_comes();
	if (h.samples)
		printf("permitted %u samples\n", h.samples);
	if (h.samples_begin > 1)
		printf("got %u samples of a set-user-ID program\n", h.samples_begin);
}

/* --- files that are opened for the recorder -------------------------------------------------------- */

static char *shared_memory, *group_memory;
static void *const group_place = (void *)0x11000000;
static gid_t group; /* of the recorder */

/* What anybody may write by its mode, and what a group may. */
static void share_memory(void)
{
	int fd = memfd_create("of a group", MFD_CLOEXEC);

	shared_memory =
		mmap(secret, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!h.own && fchown(fd, 0, group))
		exit(1);
	if (fd < 0 || ftruncate(fd, 4096) || fchmod(fd, 0660))
		exit(1);
	group_memory = mmap(group_place, 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	strcpy(shared_memory, "as before");
	strcpy(group_memory, "as before");
}

static void look_at_memory(void)
{
	if (strcmp(shared_memory, "as before") != 0)
		printf("got to write to the memory of another user's process\n");
	if (!h.own && strcmp(group_memory, "as before") != 0)
		printf("got to write to memory that only a group may write\n");
	fflush(stdout);
}

static int ask_file(enum broker_file what, pid_t pid, const void *from, uint64_t size)
{
	const struct broker_target target = { pid, 0 };
	uint64_t at = (uintptr_t)from;

	return broker_open(h.broker, what, &target, at, at + size, NULL);
}

static void write_to_mapping(pid_t target, const void *at)
{
	int fd = ask_file(BROKER_MAPPED, target, at, 4096), again;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = fd < 0 ? -1 : open(path, O_RDWR);
	if (again >= 0 && pwrite(again, "hijacked", 9, 0) != 9)
		perror("overreach");
}

static void write_to_memory(pid_t target, int target_end)
{
	write_to_mapping(target, secret);
	write_to_mapping(target, group_place);
	end(target, target_end);
}

static void map_path(char path[32], pid_t pid)
{
	snprintf(path, 32, "/tmp/perf-%d.map", (int)pid);
}

/* What the process has generated is named in the file of the first one; the second one's has another name; the third is a FIFO. */
static void make_maps(const pid_t pids[3])
{
	char path[32], other[40];
	unsigned i;

	for (i = 0; i < 3; i++) {
		map_path(path, pids[i]);
		if (mknod(path, (i == 2 ? S_IFIFO : S_IFREG) | 0600, 0))
			exit(1);
	}
	if (chmod(path, 0666))
		exit(1);
	map_path(path, pids[1]);
	snprintf(other, sizeof(other), "%s.other", path);
	if (link(path, other))
		exit(1);
}

/* A process that ends when somebody opens the FIFO. A device would be opened, too. */
static void open_maps(const pid_t pids[3])
{
	pid_t writer = fork();
	char path[32];

	if (!writer) {
		map_path(path, pids[2]);
		_exit(open(path, O_WRONLY) < 0);
	}
	usleep(50000);
	if (ask_file(BROKER_JIT_MAP, pids[0], NULL, 0) >= 0)
		printf("permitted the names of generated code\n");
	if (ask_file(BROKER_JIT_MAP, pids[1], NULL, 0) >= 0)
		printf("got a file by another name than its own\n");
	if (ask_file(BROKER_JIT_MAP, pids[2], NULL, 0) >= 0)
		printf("got a FIFO\n");
	usleep(50000);
	if (waitpid(writer, NULL, WNOHANG) == writer) {
		printf("got a FIFO opened\n");
		return;
	}
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
}

/* --- after the broker's end ------------------------------------------------------------------------- */

/* Nobody knows any more which processes may be traced. */
static void record_alone(pid_t target, int target_end)
{
	secret_comes();
	broker_stop(h.broker, true);
	h.records = 0;
	say_found(target, secret);
	end(target, target_end);
	secret_comes();
	if (h.records)
		printf("got a recording without a broker\n");
}

/* --- start ------------------------------------------------------------------------------------------ */

static void begin(uid_t user, const pid_t *pids, unsigned n)
{
	const struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.own_only = h.own,
		.follow_children = true,
		.batching = true,
		.sample_hz = h.own ? 4000 : 0,
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

int main(int argc, char **argv)
{
	pid_t guarded, pids[TARGETS];
	int guarded_end, ends[TARGETS];
	unsigned i;

	if (argc == 2) {
		make_secret();
		while (getchar() != EOF)
			;
		return 0;
	}
	if (argc != 3)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	h.own = getuid() != 0;
	secret_program = argv[2];
	group = (gid_t)atoi(argv[1]);
	/* Whom a recorder that root calls becomes: as sudo says it. */
	setenv("SUDO_UID", argv[1], 1);
	guarded = start(h.own ? be_guarded : make_secret, NULL, &guarded_end);
	pids[0] = start(make_secret, NULL, &ends[0]);
	pids[1] = start(make_empty, execute_secret, &ends[1]);
	pids[2] = start(share_memory, look_at_memory, &ends[2]);
	pids[3] = start(make_secret, execute_often, &ends[3]);
	if (pipe2(numbers, O_CLOEXEC) || pipe2(goes, O_CLOEXEC))
		return 1;
	pids[4] = start(make_secret, execute_with_limits, &ends[4]);
	pids[5] = start(make_secret, NULL, &ends[5]);
	pids[6] = start(make_empty, keep_slot, &ends[6]);
	pids[7] = start_in_slot(pids[6], &ends[7]);
	pids[8] = start(make_empty, fork_and_execute, &ends[8]);
	pids[9] = start(make_secret, NULL, &ends[9]);
	printf("maps %d %d %d\n", (int)pids[0], (int)pids[1], (int)pids[2]);
	make_maps(pids);
	begin((uid_t)atoi(argv[1]), pids, TARGETS);
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
	} else {
		end(pids[1], ends[1]);
		end(pids[3], ends[3]);
	}
	end_unrecorded(pids[5], ends[5]);
	kill(pids[6], SIGKILL);
	write_to_memory(pids[2], ends[2]);
	kill(pids[8], SIGKILL);
	record_alone(pids[9], ends[9]);
	printf("through\n");
	return 0;
}
