/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The registers that carry a function's first six arguments, and all of them. */
#ifndef PROFTRACE_BPF_REGISTERS_H
#define PROFTRACE_BPF_REGISTERS_H

/*
 * Which one a probe's argument is in is only known as the program runs, and at a variable offset the
 * verifier allows no access to them: so all are copied where it does. Those that the machine does not
 * have stay 0.
 */
#if defined(__TARGET_ARCH_x86)
#define ARG(ctx, n) ARG##n(ctx)
#define ARG1(ctx)   ((ctx)->di)
#define ARG2(ctx)   ((ctx)->si)
#define ARG3(ctx)   ((ctx)->dx)
#define ARG4(ctx)   ((ctx)->cx)
#define ARG5(ctx)   ((ctx)->r8)
#define ARG6(ctx)   ((ctx)->r9)

#define STACK_POINTER	4 /* among these registers */
#define CONDITIONS(ctx) ((ctx)->flags)

/* Where a function returns to that has not done anything yet; 0: cannot be read. */
static __always_inline __u64 return_address(struct pt_regs *ctx)
{
	__u64 address = 0;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)ctx->sp))
		return 0;
	return address;
}

/* In the order of the instructions' numbers. */
static __always_inline void copy_registers(__u64 *to, struct pt_regs *ctx)
{
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
}
#elif defined(__TARGET_ARCH_arm64)
#define ARG(ctx, n) (((struct user_pt_regs *)(ctx))->regs[(n)-1])

#define STACK_POINTER	31
#define CONDITIONS(ctx) 0

static __always_inline __u64 return_address(struct pt_regs *ctx)
{
	return ((struct user_pt_regs *)ctx)->regs[30];
}

/* x0 to x30, then sp. */
static __always_inline void copy_registers(__u64 *to, struct pt_regs *ctx)
{
	struct user_pt_regs *r = (struct user_pt_regs *)ctx;
	int i;

#pragma unroll
	for (i = 0; i < 31; i++)
		to[i] = r->regs[i];
	to[31] = r->sp;
}
#else
#error "proftrace knows the argument registers of x86-64 and arm64"
#endif

/*
 * What functions that the verifier looks at by themselves have to call the context of a uprobe: the
 * name of the kernel's type, which is a typedef there and which kernels before 6.3 only know as a
 * structure.
 */
struct bpf_user_pt_regs_t {
};

#endif
