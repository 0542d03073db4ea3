/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What walking a stack by tables (bpf/stacks/unwind_walk.h) has to know of the machine: its registers, where a return
 * address is, what the kernel saves for a signal's handler, and code that no table describes although it is known.
 */
#ifndef PROFTRACE_BPF_UNWIND_MACHINE_H
#define PROFTRACE_BPF_UNWIND_MACHINE_H

#include "bpf/registers.h"
#include "bpf/stacks/unwind_find.h"

static __always_inline int end_walk(struct unwind_walk *w, __u32 end)
{
	w->types |= end;
	return 1;
}

static __always_inline bool read_word(__u64 address, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

#if defined(__TARGET_ARCH_x86)

#define REGISTER_SP    4
#define REGISTER_FP    5
#define REGISTER_OTHER 3 /* bx, as UNWIND_RBX */
#define REGISTER_R9    9
#define FOLLOWED_BITS  (1u << REGISTER_OTHER | 1u << REGISTER_SP | 1u << REGISTER_FP)

/*
 * The registers that a function may change without saving them: ax, cx, dx, si, di, r8 to r11. A rule of
 * its caller needs one of them only in assembly, where the author knows that this callee leaves it alone
 * (libcrypto's AES-GCM has its frame in ax during such calls). r12 to r15 are saved in ways that rows do
 * not have.
 */
#define SCRATCH_BITS 0x0fc7u
#define CODE_64_BIT  0x33 /* the code segment of programs that are not 32-bit */

#define LONGEST_INSTRUCTION 15

/*
 * The trampoline of return probes pushes rax, rcx and r11, enters the kernel, and pops r11 and rcx before it returns
 * (since Linux 6.11; before, it is a breakpoint).
 */
#define TRAMPOLINE_SIZE	 64
#define TRAMPOLINE_STACK 24

static __always_inline __u64 trampoline_left(__u8 instruction)
{
	return instruction == 0x41 ? 16 : instruction == 0x59 ? 8 : 0;
}

/* The registers in struct sigcontext, and where that is above the stack pointer. */
#define SIGNAL_REGISTERS	17
#define SIGNAL_REGISTERS_OFFSET 40

static __always_inline __u64 program_counter(struct pt_regs *user)
{
	return user->ip;
}

static __always_inline bool is_64_bit(struct pt_regs *user)
{
	return user->cs == CODE_64_BIT;
}

/* The return address of a frame. Returns STACK_WHOLE or why it is not known. */
static __always_inline __u32 read_return_address(struct unwind_walk *w, __u64 cfa, __u64 *ret)
{
	return read_word(cfa - sizeof(__u64), ret) ? STACK_WHOLE : STACK_UNREADABLE;
}

/* The call has pushed it, so each frame has a size. */
static __always_inline bool frame_may_be_empty(const struct unwind_walk *w)
{
	return false;
}

static __always_inline __u64 strip_signature(const struct unwind_walk *w, __u64 address)
{
	return address;
}

static __always_inline bool restore_signal_registers(struct unwind_walk *w, __u64 from)
{
	__u64 saved[SIGNAL_REGISTERS];

	if (bpf_probe_read_user(saved, sizeof(saved), (void *)from))
		return false;
	for (int i = 0; i < 8; i++)
		w->registers[8 + i] = saved[i];
	w->registers[7] = saved[8];
	w->registers[6] = saved[9];
	w->registers[REGISTER_FP] = saved[10];
	w->registers[REGISTER_OTHER] = saved[11];
	w->registers[2] = saved[12];
	w->registers[0] = saved[13];
	w->registers[1] = saved[14];
	w->registers[REGISTER_SP] = saved[15];
	w->pc = saved[16];
	return true;
}

/* After a frame that was found by the frame pointer: the caller's stack begins behind it. */
#define KNOWN_BY_FRAME_POINTER (1u << REGISTER_FP | 1u << REGISTER_SP)

/* The linker describes its stubs, and the kernel its code. */
static __always_inline void find_known_code(struct unwind_walk *w)
{
}

#else

#define REGISTER_FP    29
#define REGISTER_OTHER 30 /* the return address, as UNWIND_LR */
#define REGISTER_SP    31
/* The caller's x30 is the address that has been returned to: it says no more. */
#define FOLLOWED_BITS  (1u << REGISTER_SP | 1u << REGISTER_FP)
#define SCRATCH_BITS   0

#define MODE_32_BIT 0x10 /* in the processor's state */

#define LONGEST_INSTRUCTION	4

/* The trampoline of return probes is a breakpoint. */
#define TRAMPOLINE_SIZE		4
#define TRAMPOLINE_STACK	0

static __always_inline __u64 trampoline_left(__u8 instruction)
{
	return 0;
}

/* x0 to x30, sp and pc in struct sigcontext, behind struct siginfo and what comes first in struct ucontext. */
#define SIGNAL_REGISTERS_OFFSET (128 + 176 + 8)

static __always_inline __u64 program_counter(struct pt_regs *user)
{
	return ((struct user_pt_regs *)user)->pc;
}

static __always_inline bool is_64_bit(struct pt_regs *user)
{
	return !(((struct user_pt_regs *)user)->pstate & MODE_32_BIT);
}

/* A signed return address has its signature in the bits that addresses of programs do not have. */
static __always_inline __u64 strip_signature(const struct unwind_walk *w, __u64 address)
{
	return address & w->address_mask;
}

/* Only the innermost function, or one that a signal interrupted, still has it in its register. */
static __always_inline bool frame_may_be_empty(const struct unwind_walk *w)
{
	return w->rule.saved[UNWIND_LR] == UNWIND_SAME && w->known >> REGISTER_OTHER & 1;
}

static __always_inline __u32 read_return_address(struct unwind_walk *w, __u64 cfa, __u64 *ret)
{
	if (frame_may_be_empty(w))
		*ret = w->registers[REGISTER_OTHER];
	else if (w->rule.saved[UNWIND_LR] != UNWIND_AT_CFA)
		return STACK_REGISTER_LOST;
	else if (!read_word(cfa + w->rule.at[UNWIND_LR] * (__s64)sizeof(__u64), ret))
		return STACK_UNREADABLE;
	*ret = strip_signature(w, *ret);
	return STACK_WHOLE;
}

static __always_inline bool restore_signal_registers(struct unwind_walk *w, __u64 from)
{
	return !bpf_probe_read_user(w->registers, sizeof(w->registers), (void *)from) &&
	       read_word(from + sizeof(w->registers), &w->pc);
}

/* A frame record is somewhere in its frame, so nobody knows where the caller's stack begins. */
#define KNOWN_BY_FRAME_POINTER	(1u << REGISTER_FP)

#define INSTRUCTION_SIGRETURN 0xd2801168u /* mov x8, #139 */
#define INSTRUCTION_SVC	      0xd4000001u /* svc #0 */
#define INSTRUCTION_BR_X17    0xd61f0220u
#define STUB_INSTRUCTIONS     5

/*
 * Code without a rule that is the same everywhere: where a signal's handler returns to (the kernel does not describe
 * it, since libgcc's pthread_cancel() fails with it), and the linker's stubs, which leave all registers alone that
 * matter here.
 */
static __always_inline void find_known_code(struct unwind_walk *w)
{
	__u32 code[STUB_INSTRUCTIONS] = { 0 }, i;

	if (bpf_probe_read_user(code, sizeof(code), (void *)w->pc) &&
	    bpf_probe_read_user(code, 2 * sizeof(*code), (void *)w->pc))
		return;
	if (code[0] == INSTRUCTION_SIGRETURN && code[1] == INSTRUCTION_SVC)
		w->rule.cfa = UNWIND_SIGNAL;
	for (i = 0; i < STUB_INSTRUCTIONS && w->exact && w->end == STACK_NOT_DESCRIBED; i++) {
		if (code[i] != INSTRUCTION_BR_X17)
			continue;
		w->rule = (struct unwind_rule){ .cfa = UNWIND_REGISTER, .reg = REGISTER_SP };
	}
}

#endif

#endif
