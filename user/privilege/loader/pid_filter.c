/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trial of the pid filter.
 *
 * A uprobe_multi link can be for one process. What that means differs between kernels: 6.6 to 6.9 compare threads
 * where they should compare processes, so that the marks of all threads but one are lost. Whether this kernel is
 * right is tried with a process of our own (trial.h): the program of a link for it must run for its first thread and for
 * another thread, but not for a process that it forks, and the memory of its parent must not change. A thread tries it
 * while the programs are loaded; the reasons of first_uprobe.c for that hold here, too.
 */
#include "privilege/loader/pid_filter.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "privilege/broker/uprobe_multi.h"
#include "privilege/loader/cost.h"
#include "privilege/loader/trial.h"

/* A nop and a return, as a probe site is. */
__asm__(".pushsection .text.pid_filter_trial,\"ax\",%progbits\n"
	".balign 64\n"
	".globl pid_filter_trial\n"
	".hidden pid_filter_trial\n"
	".type pid_filter_trial,%function\n"
	"pid_filter_trial:\n"
	"	nop\n"
	"	ret\n"
	".size pid_filter_trial,.-pid_filter_trial\n"
	".popsection\n");
void pid_filter_trial(void);

/* A program that counts in the map how often it runs. Returns its descriptor or negative errno. */
static int counting_program_load(int map)
{
	const struct bpf_insn counts[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_2,
		  .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = TRACE_UPROBE_MULTI);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "counts", "GPL", counts,
			       sizeof(counts) / sizeof(counts[0]), &opts);

	return fd < 0 ? -errno : fd;
}

static void *trial_hit(void *unused)
{
	pid_filter_trial();
	return unused;
}

/*
 * Two hits that count, one of each thread, and one of a forked process, which does not. Returns 0, or the errno by which not all
 * of them were made.
 */
uint64_t pid_filter_step(void)
{
	pthread_t thread;
	int status, error;
	pid_t pid;

	pid_filter_trial();
	error = pthread_create(&thread, NULL, trial_hit, NULL) ?: pthread_join(thread, NULL);
	if (error)
		return (uint64_t)error;
	pid = fork();
	if (pid < 0)
		return (uint64_t)errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid_filter_trial();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && !status ? 0 : ECHILD;
}

/* Returns 0 with *ret_filter, or negative errno. */
static int trial_run(struct trial *trial, int map, int program, enum pid_filter *ret_filter)
{
	uint64_t offset = self_offset((const void *)pid_filter_trial), failed = 0, hits = 0;
	unsigned char before[2], after[2];
	uint32_t first = 0;
	int link, error;

	memcpy(before, (const void *)pid_filter_trial, sizeof(before));
	/* Closed by the kernel, which takes long, behind the last instruction of the thread. */
	if (!offset)
		return -ENOENT;
	link = uprobe_multi_link(UPROBE_ENTRY, program, "/proc/self/exe", &offset, NULL, NULL, 1,
				 trial_pid(trial));
	if (link < 0)
		return link;
	memcpy(after, (const void *)pid_filter_trial, sizeof(after));
	pid_filter_trial();
	error = trial_request(trial, TRIAL_PID_FILTER, &failed);
	error = error ?: -(int)failed;
	if (error)
		return error;
	if (bpf_map_lookup_elem(map, &first, &hits))
		return -errno;
	*ret_filter = hits == 2 && !memcmp(before, after, sizeof(before)) ? PID_FILTER_RIGHT
									  : PID_FILTER_WRONG;
	return 0;
}

static void *pid_filter_run(void *context)
{
	struct pid_filter_trial *t = context;
	int map, program;

	t->error = descriptors_unshare(trial_socket(t->trial));
	if (t->error)
		return NULL;
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "counts", sizeof(uint32_t), sizeof(uint64_t), 1,
			     NULL);
	program = map < 0 ? map : counting_program_load(map);
	t->error = program < 0 ? program : trial_run(t->trial, map, program, &t->result);
	return NULL;
}

void pid_filter_begin(struct pid_filter_trial *t, struct trial *trial)
{
	*t = (struct pid_filter_trial){ .trial = trial, .result = PID_FILTER_UNKNOWN };
	t->error = -pthread_create(&t->thread, NULL, pid_filter_run, t);
	t->runs = !t->error;
}

enum pid_filter pid_filter_result(struct pid_filter_trial *t)
{
	if (t->runs)
		pthread_join(t->thread, NULL);
	return t->result;
}

const char *pid_filter_text(enum pid_filter filter)
{
	switch (filter) {
	case PID_FILTER_RIGHT:
		return "by process (tried: threads, a child, another process)";
	case PID_FILTER_WRONG:
		return "this kernel does not restrict a probe to one process (6.6 to 6.9 do not)";
	case PID_FILTER_UNKNOWN:
		return "whether this kernel restricts a probe to one process could not be tried";
	}
	return "";
}
