/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recorder with --offcpu that was taken over, and a recorded thread that blocks as often as it can. What the recorder
 * writes into the maps makes each walk of the thread's stack as long as possible, while the kernel switches between threads.
 * Prints, for each kind of walk, how many ns on_offcpu() has taken for each time that the thread has blocked: the least of
 * several windows.
 */
#include <bpf/bpf.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/event.h"
#include "bpf/stacks/python_maps.h"
#include "bpf/stacks/unwind_maps.h"
#include "privilege/broker/protocol.h"
#include "privilege/privileges.h"
#include "proftrace.skel.h"

#define WINDOWS	     6 /* of each kind */
#define MOST_WINDOWS 100
#define WINDOW_US    60000
#define CHAIN	     1024 /* pointers, each to the next one; more than are searched */
#define FRAMES	     200  /* more than are walked */
#define UNMAPPED     0x100000

enum kind {
	HONEST,
	UNREADABLE,
	SEARCHED,
	DEEP,
	KINDS
};

static const char *const names[KINDS] = { "honest", "unreadable", "searched", "deep" };
static volatile uint64_t *sleeps; /* shared with the thread */
static uint64_t *chain;

#if defined(__x86_64__)

#include <asm/prctl.h>

static inline long call(long number, long a, long b)
{
	long ret;

	asm volatile("syscall" : "=a"(ret) : "0"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return ret;
}

/* Blocks with a frame pointer that leads to other frames. What the compiler has below the stack pointer stays. */
static inline void block(uint64_t *frames, const struct timespec *time)
{
	long ret;

	asm volatile("lea -128(%%rsp), %%rsp\n\tpush %%rbp\n\tmov %[frames], %%rbp\n\tsyscall\n\t"
		     "pop %%rbp\n\tlea 128(%%rsp), %%rsp"
		     : "=a"(ret)
		     : "0"((long)SYS_nanosleep), "D"(time), "S"(0L), [frames] "r"(frames)
		     : "rcx", "r11", "memory");
}

/* Each time with another thread pointer, so that no earlier search has found it. */
static void block_often(void)
{
	const struct timespec time = { 0, 20000 };
	uint64_t frames[2 * FRAMES], base, fake = 0x30000000;
	unsigned i;

	for (i = 0; i < FRAMES; i++) {
		frames[2 * i] = (uintptr_t)&frames[2 * i + 2];
		frames[2 * i + 1] = (uintptr_t)chain; /* no code, but in a range of DEEP's */
	}
	frames[2 * FRAMES - 2] = 0;
	call(SYS_arch_prctl, ARCH_GET_FS, (long)&base);
	for (;;) {
		fake = fake < 0x31000000 ? fake + 16 : 0x30000000;
		call(SYS_arch_prctl, ARCH_SET_FS, (long)fake);
		block(frames, &time);
		call(SYS_arch_prctl, ARCH_SET_FS, (long)base);
		++*sleeps;
	}
}

#else

static void block_often(void)
{
}

#endif

/* The eBPF program of this user, who has no other recorder. */
static int find_program(void)
{
	struct bpf_prog_info info;
	uint32_t id = 0, length;
	int fd;

	while (!bpf_prog_get_next_id(id, &id)) {
		fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		length = sizeof(info);
		if (!bpf_obj_get_info_by_fd(fd, &info, &length) &&
		    info.created_by_uid == getuid() && !strcmp(info.name, "on_offcpu"))
			return fd;
		close(fd);
	}
	return -1;
}

static uint64_t time_in(int program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t length = sizeof(info);

	if (bpf_obj_get_info_by_fd(program, &info, &length))
		exit(1);
	return info.run_time_ns;
}

static void *map(int fd, size_t size)
{
	void *ret = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (ret == MAP_FAILED)
		exit(1);
	return ret;
}

struct maps {
	struct unwind_process *process;
	struct unwind_range *ranges;
	struct python_setup *setups;
};

static void open_maps(struct maps *m, const struct broker_loaded *loaded, pid_t pid)
{
	struct unwind_process *processes =
		map(loaded->unwind[BROKER_UNWIND_PROCESSES], UNWIND_PROCESSES * sizeof(*processes));

	m->process = &processes[UNWIND_PROCESS_PLACE(pid)];
	m->ranges = map(loaded->unwind[BROKER_UNWIND_RANGES], UNWIND_RANGES * sizeof(*m->ranges));
	m->setups = map(loaded->unwind[BROKER_UNWIND_PYTHON], PYTHON_SETUPS * sizeof(*m->setups));
}

static void attack(struct maps *m, pid_t pid, enum kind kind)
{
	memset(m->process, 0, sizeof(*m->process));
	if (kind == HONEST)
		return;
	/* All offsets are 0, so that everything is a pointer to the next one. */
	m->setups[1] = (struct python_setup){ .runtime = (uintptr_t)chain };
	m->setups[1].thread_id = kind == UNREADABLE ? 0xfff8 : 8;
	m->ranges[1] = (struct unwind_range){ .base = 1 };
	m->ranges[2] = (struct unwind_range){ .start = UNMAPPED, .end = 1ull << 47 };
	*m->process =
		(struct unwind_process){ .first = 1, .n = kind == DEEP, .number = 1, .python = 1 };
	*(volatile uint32_t *)&m->process->tgid = (uint32_t)pid;
}

static bool has_zero(const uint64_t *least)
{
	unsigned kind;

	for (kind = 0; kind < KINDS && least[kind]; kind++)
		;
	return kind < KINDS;
}

static void measure(struct maps *m, pid_t pid, int program)
{
	uint64_t least[KINDS] = { 0 }, before, ns, blocked;
	unsigned i, kind;

	/* On a machine that is very busy, it takes longer until something was measured of each kind. */
	for (i = 0; i < WINDOWS * KINDS || (has_zero(least) && i < MOST_WINDOWS * KINDS); i++) {
		kind = i % KINDS;
		attack(m, pid, kind);
		blocked = *sleeps;
		before = time_in(program);
		usleep(WINDOW_US);
		blocked = *sleeps - blocked;
		ns = time_in(program) - before;
		/* On a machine that does something else, less was measured than there is. */
		if (blocked > WINDOW_US / 2000 && (!least[kind] || ns / blocked < least[kind]))
			least[kind] = ns / blocked;
	}
	for (kind = 0; kind < KINDS; kind++)
		printf("%s %llu\n", names[kind], (unsigned long long)least[kind]);
}

int main(void)
{
	const int needed[] = { CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN };
	struct broker_config config = { .buffer_bytes = 1 << 20,
					.own_only = true,
					.offcpu_ns = 1000000000000000ull };
	struct broker_target target = { 0 };
	struct broker_loaded loaded;
	struct broker *broker;
	struct proftrace_bpf__bss *shared;
	struct failure f = { 0 };
	struct maps maps;
	int program, stats, i;

	chain = mmap(NULL, CHAIN * sizeof(*chain) + 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (chain == MAP_FAILED)
		return 1;
	for (i = 0; i < CHAIN; i++)
		chain[i] = (uintptr_t)&chain[i + 1];
	sleeps = &chain[CHAIN + 256];
	target.pid = fork();
	if (!target.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!privileges_keep(NULL, 0, false) && !prctl(PR_SET_DUMPABLE, 1))
			block_often();
		_exit(1);
	}
	config.pids = &target.pid;
	config.n_pids = 1;
	stats = privileges_keep(needed, 3, false) ? -1 : bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0 || broker_start(&config, &broker, &loaded, &f) ||
	    (program = find_program()) < 0 || privileges_keep(NULL, 0, false)) {
		failure_print(&f, stdout);
		return 2;
	}
	open_maps(&maps, &loaded, target.pid);
	shared = map(loaded.shared_fd, loaded.shared_size);
	shared->recording = 1;
	if (broker_trace(broker, &target, TRACED_WATCH | TRACED_MARKS, &f)) {
		failure_print(&f, stdout);
		return 1;
	}
	measure(&maps, target.pid, program);
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	broker_stop(broker, true);
	return 0;
}
