/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The registers of a stopped thread: those that carry a function's first six arguments, the return
 * address and all of them at once. The programs are compiled once for each architecture.
 */
#ifndef PROFTRACE_BPF_REGISTERS_H
#define PROFTRACE_BPF_REGISTERS_H

#if defined(__TARGET_ARCH_x86)
#define ARG(ctx, n) ARG##n(ctx)
#define ARG1(ctx)   ((ctx)->di)
#define ARG2(ctx)   ((ctx)->si)
#define ARG3(ctx)   ((ctx)->dx)
#define ARG4(ctx)   ((ctx)->cx)
#define ARG5(ctx)   ((ctx)->r8)
#define ARG6(ctx)   ((ctx)->r9)

#define REGISTERS	    16
#define STACK_POINTER	    4 /* its number among the registers */
#define CONDITIONS(ctx)	    ((ctx)->flags)
#define RETURN_ADDRESS_SIZE 8 /* on the stack */
#elif defined(__TARGET_ARCH_arm64)
#define ARG(ctx, n) (((struct user_pt_regs *)(ctx))->regs[(n)-1])

#define REGISTERS	    32
#define STACK_POINTER	    31
#define CONDITIONS(ctx)	    0
#define RETURN_ADDRESS_SIZE 0
#else
#error "proftrace knows the argument registers of x86-64 and arm64"
#endif

#define MAX_PENDING_RETURNS \
	64 /* of a thread, with return probes (MAX_URETPROBE_DEPTH of the kernel) */

/*
 * The return address of a function whose first instruction has not run yet; 0 if it cannot be read.
 * On x86-64 the call has pushed it, on arm64 it is in the link register.
 */
static __always_inline __u64 return_address(struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	__u64 address = 0;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)ctx->sp))
		return 0;
	return address;
#else
	return ((struct user_pt_regs *)ctx)->regs[30];
#endif
}

/*
 * Copies all registers, in the order in which instructions number them; on arm64 x0 to x30, then
 * sp. Which register holds an argument of a USDT probe is only known when the program runs, and the
 * verifier forbids reading the context at a variable offset. Those that the machine does not have
 * stay 0.
 */
static __always_inline void copy_registers(__u64 *to, struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	to[0] = ctx->ax;
	to[1] = ctx->cx;
	to[2] = ctx->dx;
	to[3] = ctx->bx;
	to[4] = ctx->sp;
	to[5] = ctx->bp;
	to[6] = ctx->si;
	to[7] = ctx->di;
	to[8] = ctx->r8;
	to[9] = ctx->r9;
	to[10] = ctx->r10;
	to[11] = ctx->r11;
	to[12] = ctx->r12;
	to[13] = ctx->r13;
	to[14] = ctx->r14;
	to[15] = ctx->r15;
#else
	struct user_pt_regs *r = (struct user_pt_regs *)ctx;

#pragma unroll
	for (int i = 0; i < 31; i++)
		to[i] = r->regs[i];
	to[31] = r->sp;
#endif
}

/*
 * Global functions must declare the context of a uprobe with the kernel's name for it. The name is
 * a typedef in the kernel, but kernels before 6.3 only accept a structure of this name.
 */
struct bpf_user_pt_regs_t {
};

#endif
