/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds out what a thread waits for, at the context switch at which it blocks. The registers that
 * it had when it entered the kernel are on its kernel stack: the number of the system call and its
 * arguments, or no number after an exception. So nothing is attached to system calls, and threads
 * that do not block pay nothing.
 */
#ifndef PROFTRACE_BPF_DESCRIBE_WAIT_H
#define PROFTRACE_BPF_DESCRIBE_WAIT_H

#include "bpf/sched/sched_records.h"

/* Set by the broker before the programs are loaded. */
const volatile bool wait_reasons = false;
const volatile __u8 wait_calls[WAIT_CALLS] = {}; /* enum wait_reason, WAIT_OF_FILE */

#define TASK_IO_WORKER	  0x00000010 /* the kernel's PF_IO_WORKER: it has no registers of a program */
#define TASK_STOPS	  0x0000800c /* TASK_FROZEN, __TASK_TRACED, __TASK_STOPPED */
#define FILE_TYPE	  0xf000
#define FILE_SOCKET	  0xc000
#define FAMILY_IPV4	  2
#define FAMILY_IPV6	  10
#define X86_STATUS_COMPAT 2 /* TS_COMPAT: a system call of a 32-bit program */
#define ARM64_FLAG_32BIT  (1 << 22)

/* The system call in which the thread is; WAIT_NO_CALL: in none. */
static __always_inline __s32 current_call(struct task_struct *task, struct pt_regs *regs,
					  __u64 *first, __u64 *second)
{
#if defined(__TARGET_ARCH_x86)
	*first = regs->di;
	*second = regs->si;
	return (__s32)regs->orig_ax;
#else
	*first = regs->orig_x0;
	*second = regs->user_regs.regs[1];
	return regs->syscallno;
#endif
}

/* The numbers of the system calls of 32-bit programs are others. */
static __always_inline bool is_compat_call(const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & X86_STATUS_COMPAT;
#else
	return task->thread_info.flags & ARM64_FLAG_32BIT;
#endif
}

static __always_inline void describe_socket(struct record_wait *r, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->protocol = BPF_CORE_READ(socket, type);
	if (r->family == FAMILY_IPV4)
		BPF_CORE_READ_INTO((__u32 *)r->file, sk, __sk_common.skc_daddr);
	/* A kernel may be built without IPv6. */
	else if (r->family == FAMILY_IPV6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		BPF_CORE_READ_INTO((struct in6_addr *)r->file, sk, __sk_common.skc_v6_daddr);
	r->port = BPF_CORE_READ(sk, __sk_common.skc_dport);
	r->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
}

static __always_inline void forget_file(struct record_wait *r)
{
	r->flags &= ~WAIT_HAS_FILE;
	r->mode = r->family = r->port = r->local_port = 0;
	r->protocol = 0;
	r->inode = r->device = 0;
	__builtin_memset(r->file, 0, sizeof(r->file));
}

/*
 * The file may be closed by another thread meanwhile, and its memory may then be a file of anybody (it is not given back
 * to the kernel while a program runs, but used again). What was read counts only if the descriptor still has that file.
 */
static __always_inline void describe_file(struct record_wait *r, struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	const unsigned char *name;
	struct file **files;
	struct file *file = NULL, *after = NULL;
	struct inode *inode;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	if (!file)
		return;
	inode = BPF_CORE_READ(file, f_inode);
	r->mode = BPF_CORE_READ(inode, i_mode);
	r->inode = BPF_CORE_READ(inode, i_ino);
	r->device = BPF_CORE_READ(inode, i_sb, s_dev);
	r->flags |= WAIT_HAS_FILE;
	if ((r->mode & FILE_TYPE) == FILE_SOCKET) {
		describe_socket(r, file);
	} else {
		name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
		bpf_probe_read_kernel_str(r->file, sizeof(r->file), name);
	}
	bpf_probe_read_kernel(&after, sizeof(after), files + fd);
	if (after != file)
		forget_file(r);
}

/* `r` is zeroed. */
static __always_inline void describe_wait(struct record_wait *r, struct task_struct *task,
					  __u32 state)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 first, second;
	__s32 call;
	__u8 class;

	r->call = WAIT_NO_CALL;
	if (state & TASK_STOPS) {
		r->reason = WAIT_STOPPED;
		return;
	}
	if (task->flags & TASK_IO_WORKER) {
		r->reason = WAIT_IO_URING;
		return;
	}
	r->reason = WAIT_OTHER;
	if (is_compat_call(task))
		return;
	call = current_call(task, regs, &first, &second);
	if (call < 0) {
		r->reason = WAIT_PAGE_FAULT;
		r->address = PT_REGS_IP(regs);
		return;
	}
	r->call = call;
	if (call >= WAIT_CALLS)
		return;
	class = wait_calls[call & (WAIT_CALLS - 1)];
	r->reason = class & WAIT_REASON;
	if (r->reason == WAIT_FUTEX)
		r->address = first;
	if (class & WAIT_OF_FILE)
		describe_file(r, task, first);
}

#endif
