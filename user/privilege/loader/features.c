/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries kernel features with BPF programs that do nothing. */
#include "privilege/loader/features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "privilege/loader/empty_program.h"
#include "privilege/loader/kernel_types.h"

int empty_program_load(unsigned expected_attach_type, unsigned flags)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = expected_attach_type,
		    .prog_flags = flags);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "empty", "GPL", nothing, 2, &opts);

	return fd < 0 ? -errno : fd;
}

static bool kernel_has_link(enum uprobe_form form)
{
	uint64_t offset = 0;
	int program = empty_program_load(
		form == UPROBE_SESSION ? TRACE_UPROBE_SESSION : TRACE_UPROBE_MULTI, 0);
	int link;

	if (program < 0)
		return false;
	/*
	 * A kernel that knows the link type first checks the file, and "/" is not a regular file.
	 */
	link = uprobe_multi_link(form, program, "/", &offset, NULL, NULL, 1, 0);
	if (link >= 0)
		close(link);
	close(program);
	return link == -EBADF;
}

bool kernel_has_uprobe_multi(void)
{
	return kernel_has_link(UPROBE_ENTRY);
}

bool kernel_has_return_sessions(void)
{
	return kernel_has_link(UPROBE_SESSION);
}

bool kernel_has_bpf_loop(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) == 1;
}

bool kernel_has_find_vma(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_find_vma, NULL) == 1;
}

bool kernel_has_sleepable_uprobes(void)
{
	int program = empty_program_load(0, BPF_F_SLEEPABLE);

	if (program >= 0)
		close(program);
	return program >= 0;
}

/*
 * Programs can call functions of the kernel only if they are translated (net.core.bpf_jit_enable). Returns whether they
 * can, or negative errno.
 */
static int kernel_permits_calls(const struct kernel_types *types)
{
	const int lock = kernel_types_function(types, "bpf_rcu_read_lock");
	const int unlock = kernel_types_function(types, "bpf_rcu_read_unlock");
	const struct bpf_insn calls[] = {
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = lock },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = unlock },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	int fd;

	if (lock <= 0 || unlock <= 0)
		return 0;
	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "calls", "GPL", calls, 4, &opts);
	if (fd >= 0)
		close(fd);
	/* With few descriptors or little memory nobody knows. */
	else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return -errno;
	return fd >= 0;
}

int kernel_turn_function(const struct kernel_types *types)
{
	int id = types ? kernel_permits_calls(types) : 0;

	if (id <= 0)
		return id;
	/* Linux 6.18 has the second name; where both are, a program must use the first. */
	id = kernel_types_function(types, "bpf_task_work_schedule_resume");
	if (id <= 0)
		id = kernel_types_function(types, "bpf_task_work_schedule_resume_impl");
	return id > 0 ? id : 0;
}

#ifdef __x86_64__
/* Only a kernel that knows shadow stacks has a line for them. */
static bool kernel_knows_shadow_stacks(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	bool knows = !status;
	char line[256];

	while (status && !knows && fgets(line, sizeof(line), status))
		knows = !strncmp(line, "x86_Thread_features:", 20);
	if (status)
		fclose(status);
	return knows;
}
#endif

bool kernel_emulates_calls(void)
{
#ifdef __x86_64__
	/*
	 * map_shadow_stack() with flags that are none: it is not there, the processor cannot, or it says that they are wrong. A
	 * container's filter of system calls may say, too, that it is not there.
	 */
	if (syscall(453, 0ul, 0ul, ~0u) >= 0)
		return false;
	return errno == EOPNOTSUPP || (errno == ENOSYS && !kernel_knows_shadow_stacks());
#else
	return false;
#endif
}

bool kernel_can_enter(const struct kernel_types *types, const char *function)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const int id = kernel_types_function(types, function);
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = (unsigned)id);
	int fd = -1;

	if (id > 0)
		fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "enters", "GPL", nothing, 2, &opts);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * Linux 6.16 moved the tracepoint before exit_mm(), and in the same commit gave it a second argument, whether the
 * process ends. The types list the context of the program, too.
 */
bool kernel_exits_with_memory(void)
{
	struct kernel_types *types;
	int n;

	if (kernel_types_open(&types))
		return false;
	n = kernel_types_arguments(types, "sched_process_exit");
	kernel_types_free(types);
	return n >= 3;
}
