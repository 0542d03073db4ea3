/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The registers that carry a function's first six arguments. */
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
#elif defined(__TARGET_ARCH_arm64)
#define ARG(ctx, n) (((struct user_pt_regs *)(ctx))->regs[(n)-1])
#else
#error "proftrace knows the argument registers of x86-64 and arm64"
#endif

#endif
