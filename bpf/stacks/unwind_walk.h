/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks the stack of a program by tables (bpf/stacks/unwind_maps.h), and by frame pointers where there is no
 * table, as in generated code.
 *
 * A walk never guesses. Without a rule for an instruction, and where memory cannot be read, it ends
 * and the record says why. A caller's frame is always above the frame of its callee, so what a
 * malformed table leads to ends as well. A frame pointer only counts if it leads into code.
 *
 * Callee-saved registers are read when a rule needs them and not at each frame, which is seldom.
 *
 * Each function here is global: a verifier checks it once, and not again for each frame. Then no
 * kernel needs anything for the loop over the frames but the loop.
 */
#ifndef PROFTRACE_BPF_UNWIND_WALK_H
#define PROFTRACE_BPF_UNWIND_WALK_H

#include "bpf/stacks/python_walk.h"
#include "bpf/state.h"
#include "bpf/stacks/unwind_machine.h"

/* What a program needs to make a record with a stack. */
struct stack_work {
	struct unwind_walk walk;
	struct python_walk python;
	struct record_stack record;
};

/* A frame that is larger is not one: stacks have 8 MB, unless somebody needs more. */
#define LARGEST_FRAME (1ull << 30)

/* Reads the register from memory if it is there. Returns STACK_WHOLE or why it is not known. */
static __always_inline __u32 fetch_register(struct unwind_walk *w, __u32 reg)
{
	__u64 *at = &w->saved_at[reg == REGISTER_FP ? UNWIND_FP : UNWIND_RBX];

	if (!(w->known >> (reg & (REGISTERS - 1)) & 1))
		return STACK_REGISTER_LOST;
	if ((reg != REGISTER_FP && reg != REGISTER_OTHER) || !*at)
		return STACK_WHOLE;
	if (!read_word(*at, &w->registers[reg & (REGISTERS - 1)]))
		return STACK_UNREADABLE;
	*at = 0;
	return STACK_WHOLE;
}

static __always_inline void set_saved(struct unwind_walk *w, __u32 reg, __u32 i, __u64 cfa)
{
	switch (w->rule.saved[i]) {
	case UNWIND_SAME:
		break;
	case UNWIND_AT_CFA:
		w->saved_at[i] = cfa + w->rule.at[i] * (__s64)sizeof(__u64);
		w->known |= 1u << reg;
		break;
	case UNWIND_AT_FRAME:
		/* The rules for which this is used have fetched the frame pointer already. */
		if (w->known >> REGISTER_FP & 1 && !w->saved_at[UNWIND_FP]) {
			w->saved_at[i] =
				w->registers[REGISTER_FP] + w->rule.at[i] * (__s64)sizeof(__u64);
			w->known |= 1u << reg;
			break;
		}
		/* fallthrough */
	default:
		w->known &= ~(1u << reg);
	}
}

/* Goes on to the caller, whose stack pointer was `cfa`. */
static __always_inline int enter_caller(struct unwind_walk *w, __u64 cfa, __u64 pc)
{
	w->registers[REGISTER_SP] = cfa;
	w->known = (w->known & (FOLLOWED_BITS | SCRATCH_BITS)) | 1u << REGISTER_SP;
	w->exact = 0;
	w->pc = pc;
	/* The first function of a thread has no caller, and some write a 0 for it. */
	return pc ? 0 : end_walk(w, STACK_WHOLE);
}

static __always_inline bool frame_is_above(const struct unwind_walk *w, __u64 cfa)
{
	__u64 sp = w->registers[REGISTER_SP];

	return cfa > sp && cfa - sp <= LARGEST_FRAME;
}

/* Where the frame of the caller is. Returns STACK_WHOLE or why it is not known. */
static __always_inline __u32 find_cfa(struct unwind_walk *w, __u64 *ret)
{
	__u32 reg = w->rule.reg & (REGISTERS - 1), end = fetch_register(w, reg);
	__u64 cfa;

	if (end)
		return end;
	cfa = w->registers[reg] + w->rule.offset;
#if defined(__TARGET_ARCH_x86)
	if (w->rule.cfa == UNWIND_INDEXED) {
		if (!(w->known >> REGISTER_R9 & 1))
			return STACK_REGISTER_LOST;
		cfa += w->registers[REGISTER_R9] * sizeof(__u64);
	}
	if (w->rule.cfa == UNWIND_PLT && (__s32)(w->pc & 15) >= w->rule.second)
		cfa += sizeof(__u64);
#endif
	if (w->rule.cfa == UNWIND_DEREF || w->rule.cfa == UNWIND_INDEXED) {
		if (!read_word(cfa, &cfa))
			return STACK_UNREADABLE;
		cfa += w->rule.second;
	}
	*ret = cfa;
	return STACK_WHOLE;
}

/*
 * A return probe, of this recording or of another tool, puts the address of a trampoline in the place of a return
 * address. The kernel remembers the address, and where it was. Returns the address to which the function really
 * returns, whose caller's stack pointer will be `cfa`.
 */
__noinline __u64 return_behind_trampoline(struct unwind_walk *w, __u64 cfa, __u64 address)
{
	if (!w || !w->trampoline || address != w->trampoline)
		return address;
	for (int i = 0; i < MAX_PENDING_RETURNS && w->pending; i++) {
		struct return_instance *r = (struct return_instance *)w->pending;
		__u64 stack = BPF_CORE_READ(r, stack) + RETURN_ADDRESS_SIZE;

		if (stack == cfa)
			return BPF_CORE_READ(r, orig_ret_vaddr);
		/* Those below belong to frames that a jump has left, or to functions that ended with a tail call. */
		if (stack > cfa)
			break;
		w->pending = (__u64)BPF_CORE_READ(r, next);
	}
	return address;
}

struct code_mapping {
	__u64 start, end;
};

static long examine_mapping(struct task_struct *task, struct vm_area_struct *vma,
			    struct code_mapping *ret)
{
	if (BPF_CORE_READ(vma, vm_flags) & MAPPED_EXECUTABLE) {
		ret->start = BPF_CORE_READ(vma, vm_start);
		ret->end = BPF_CORE_READ(vma, vm_end);
	}
	return 0;
}

/*
 * Whether the address is in code that was mapped after the recorder had looked, as a JIT compiler's often is. In an
 * interrupt the kernel can be asked once, so the mapping is remembered.
 */
static __always_inline bool is_new_code(struct unwind_walk *w, __u64 address)
{
	struct code_mapping mapping = {};

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		return false;
	if (address - w->new_code < w->new_code_size)
		return true;
	bpf_find_vma(bpf_get_current_task_btf(), address, examine_mapping, &mapping, 0);
	w->new_code = mapping.start;
	w->new_code_size = mapping.end - mapping.start;
	return w->new_code_size != 0;
}

/*
 * Without a rule that can be applied: by the frame pointer, if it leads to a frame above this one and from there into
 * code. The outermost function of a process finds 0 in it.
 */
__noinline int unwind_by_frame_pointer(struct unwind_walk *w)
{
	__u64 frame[2], fp;
	int end;

	if (!w)
		return 1;
	if (fetch_register(w, REGISTER_FP))
		return end_walk(w, w->end);
	fp = w->registers[REGISTER_FP];
	if (!fp && w->n > 1) {
		w->types |= STACK_BY_FRAME_POINTERS;
		return end_walk(w, STACK_WHOLE);
	}
	if (fp & 7 || !frame_is_above(w, fp + sizeof(frame)) ||
	    bpf_probe_read_user(frame, sizeof(frame), (void *)fp))
		return end_walk(w, w->end);
	frame[1] = return_behind_trampoline(w, fp + sizeof(frame), strip_signature(w, frame[1]));
	if (frame[1] && !unwind_find_range(w, frame[1] - 1) && !is_new_code(w, frame[1] - 1))
		return end_walk(w, STACK_NO_MAPPING);
	w->registers[REGISTER_FP] = frame[0];
	w->types |= STACK_BY_FRAME_POINTERS;
	end = enter_caller(w, fp + sizeof(frame), frame[1]);
	w->known &= KNOWN_BY_FRAME_POINTER;
	return end;
}

/* Applies a rule that says where the frame of the caller is. */
__noinline int unwind_by_rule(struct unwind_walk *w)
{
	__u64 cfa = 0, pc = 0;
	__u32 end;

	if (!w)
		return 1;
	end = find_cfa(w, &cfa);
	if (end)
		return end_walk(w, end);
	if (!frame_is_above(w, cfa) && (cfa != w->registers[REGISTER_SP] || !frame_may_be_empty(w)))
		return end_walk(w, STACK_NOT_MONOTONIC);
	end = read_return_address(w, cfa, &pc);
	if (end)
		return end_walk(w, end);
	/* The frame pointer comes last, since the other may be relative to it. */
	set_saved(w, REGISTER_OTHER, UNWIND_RBX, cfa);
	set_saved(w, REGISTER_FP, UNWIND_FP, cfa);
	w->types |= STACK_BY_TABLES;
	return enter_caller(w, cfa, return_behind_trampoline(w, cfa, pc));
}

/* At an instruction that the thread executes, and not at one to which it will return. */
static __always_inline void know_all_registers(struct unwind_walk *w)
{
	w->saved_at[UNWIND_FP] = 0;
	w->saved_at[UNWIND_RBX] = 0;
	w->known = ~0u;
	w->exact = 1;
}

/* Restores all registers as they were when the signal came. */
__noinline int unwind_by_signal(struct unwind_walk *w)
{
	if (!w)
		return 1;
	if (!restore_signal_registers(w, w->registers[REGISTER_SP] + SIGNAL_REGISTERS_OFFSET))
		return end_walk(w, STACK_UNREADABLE);
	know_all_registers(w);
	return 0;
}

/* Writes down the current frame and goes on to its caller. Returns whether the walk has ended. */
__noinline int unwind_frame(struct stack_work *s)
{
	struct unwind_walk *w;

	if (!s)
		return 1;
	w = &s->walk;
	if (w->n >= STACK_FRAMES)
		return end_walk(w, STACK_TOO_DEEP);
	s->record.addresses[(w->at + w->n) & (STACK_ADDRESSES - 1)] = w->pc;
	w->n++;
	unwind_find(w);
	if (w->rule.cfa == UNWIND_NONE)
		find_known_code(w);
	/* On arm64, the stack pointer of a caller that was found by a frame pointer is not known. */
	if ((w->rule.reg == REGISTER_SP || w->rule.cfa == UNWIND_SIGNAL) &&
	    !(w->known >> REGISTER_SP & 1)) {
		w->rule.cfa = UNWIND_NONE;
		w->end = STACK_REGISTER_LOST;
	}
	switch (w->rule.cfa) {
	case UNWIND_NONE:
		return unwind_by_frame_pointer(w);
	case UNWIND_REGISTER:
	case UNWIND_DEREF:
	case UNWIND_INDEXED:
	case UNWIND_PLT:
		return unwind_by_rule(w);
	case UNWIND_SIGNAL:
		return unwind_by_signal(w);
	case UNWIND_END:
		w->types |= STACK_BY_TABLES;
		return end_walk(w, STACK_WHOLE);
	default:
		return end_walk(w, STACK_UNSUPPORTED);
	}
}

/* Copies what is known of a process. False: it is not known, or it executes another program now. */
static __always_inline bool find_process(struct unwind_walk *w, __u32 tgid)
{
	struct unwind_process *p = unwind_process_of(tgid);

	if (!p || p->execs != p->execs_seen)
		return false;
	w->first = p->first;
	w->n_ranges = p->n;
	w->number = p->number;
	w->python = p->python;
	return true;
}

/*
 * A forked child that has not executed a program has the mappings of its parent. The recorder may
 * not know it yet.
 */
static __always_inline bool find_parent(struct unwind_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *parent = BPF_CORE_READ(task, real_parent);

	if (BPF_CORE_READ(task, mm, start_stack) != BPF_CORE_READ(parent, mm, start_stack) ||
	    BPF_CORE_READ(task, mm, start_code) != BPF_CORE_READ(parent, mm, start_code))
		return false;
	return find_process(w, BPF_CORE_READ(parent, tgid));
}

static __always_inline bool ranges_are_current(const struct unwind_walk *w)
{
	struct unwind_range *first = unwind_range_at(w->first);

	return first && *(volatile __u64 *)&first->base == w->number;
}

/*
 * Walks the stack of the current thread, whose registers are in the walk. False: the mappings of
 * the process are not known.
 */
__noinline int unwind_stack(struct stack_work *s, __u32 tgid)
{
	if (!s || !(find_process(&s->walk, tgid) || find_parent(&s->walk)) ||
	    !ranges_are_current(&s->walk))
		return 0;
	for (int i = 0; i <= STACK_FRAMES; i++) {
		if (i % WALK_STEPS == 0 && walk_is_late(&s->python)) {
			end_walk(&s->walk, STACK_TOO_DEEP);
			break;
		}
		if (unwind_frame(s))
			break;
	}
	if (!ranges_are_current(&s->walk)) {
		s->walk.types = STACK_CHANGED;
		s->walk.n = 1;
	}
	return 1;
}

/*
 * A thread executes the instruction of a probe site at a copy of it, outside of the function. Returns where
 * it would be in the function.
 */
static __always_inline __u64 address_in_program(__u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *u = task->utask;
	__u64 distance;

	if (!u || !BPF_CORE_READ(u, active_uprobe))
		return address;
	distance = address - BPF_CORE_READ(u, xol_vaddr);
	return distance <= LONGEST_INSTRUCTION ? BPF_CORE_READ(u, vaddr) + distance : address;
}

/*
 * A thread that executes the trampoline has returned from its function already. What the trampoline has put onto the
 * stack is to be left out: until it enters the kernel the return is pending, and afterwards, when the return
 * address is on the stack, the next instruction says how much of it is left.
 */
static __always_inline void leave_trampoline(struct unwind_walk *w)
{
	struct return_instance *r = (struct return_instance *)w->pending;
	__u64 sp = w->registers[REGISTER_SP], stack;
	__u8 instruction = 0;

	stack = r ? BPF_CORE_READ(r, stack) + RETURN_ADDRESS_SIZE : 0;
	if (r && stack - sp <= TRAMPOLINE_STACK) {
		w->pc = BPF_CORE_READ(r, orig_ret_vaddr);
		w->registers[REGISTER_SP] = stack;
		return;
	}
	if (bpf_probe_read_user(&instruction, sizeof(instruction), (void *)w->pc))
		return;
	sp += trampoline_left(instruction);
	if (read_word(sp, &w->pc))
		w->registers[REGISTER_SP] = sp + RETURN_ADDRESS_SIZE;
}

static __always_inline void find_trampoline(struct unwind_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *u = task->utask;

	w->pending = u ? (__u64)BPF_CORE_READ(u, return_instances) : 0;
	w->trampoline = u ? BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr) : 0;
	if (w->trampoline && w->pc - w->trampoline < TRAMPOLINE_SIZE)
		leave_trampoline(w);
}

/* `user`: the registers of a thread in its program. */
static __always_inline void unwind_begin(struct stack_work *s, struct pt_regs *user, __u32 at)
{
	struct unwind_walk *w = &s->walk;

	copy_registers(w->registers, user);
	w->pc = address_in_program(program_counter(user));
	w->address_mask = BPF_CORE_READ(bpf_get_current_task_btf(), mm, task_size) - 1;
	find_trampoline(w);
	know_all_registers(w);
	w->types = 0;
	w->at = at;
	w->n = 0;
	w->python = 0;
	w->new_code_size = 0;
}

static __always_inline __u32 find_python_frames(struct stack_work *s, __u32 at)
{
	__u32 n = 0;

#if defined(__TARGET_ARCH_x86)
	if (!s->walk.python)
		return 0;
	n = walk_python(&s->record, &s->python, s->walk.python, at);
	if (s->python.cut && STACK_END(s->record.head.types) == STACK_WHOLE)
		s->record.head.types |= STACK_TOO_DEEP;
#endif
	return n;
}

/*
 * Writes the stack of a program behind `at` addresses of the kernel. False: it cannot be walked by
 * tables, because the process is not known yet, or is a 32-bit one.
 */
static __always_inline bool walk_by_tables(struct stack_work *s, struct pt_regs *user, __u32 tgid,
					   __u32 at)
{
	if (!has_unwind || !is_64_bit(user))
		return false;
	unwind_begin(s, user, at);
	return unwind_stack(s, tgid);
}

/* The size of a record that begins with so many addresses of the kernel. */
static __always_inline __u64 stack_size(const struct record_stack *r, __u32 kernel)
{
	__u64 n = kernel + STACK_PROGRAM(r->ops.b) + 2 * STACK_PYTHON(r->ops.b);

	return offsetof(struct record_stack, addresses) + (n & (STACK_ADDRESSES - 1)) * 8;
}

/* The number of addresses in a stack. */
static __always_inline __u32 count_addresses(long bytes)
{
	return bytes > 0 ? (__u32)bytes / sizeof(__u64) & STACK_FRAMES : 0;
}

/*
 * Whether the current thread executes a program. From some moment of it on its memory and its registers are those of the
 * new program, which may have more privileges than the user who records: on_exec() comes some 40 microseconds later. It
 * never comes if the execution fails after that moment (RLIMIT_AS, a signal); then the process ends, perhaps with a core
 * dump, and the kernel has not yet said where the code of its memory ends.
 */
static __always_inline bool is_executing(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return !BPF_CORE_READ(task, mm, end_code) ||
	       (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve));
}

/*
 * Writes the stack of a program behind `at` addresses of the kernel: by tables, or, if the process
 * is not known yet, by frame pointers alone; and behind it the Python frames. Returns both numbers, as in
 * ops.b of the record.
 */
static __always_inline __u64 walk_program(void *ctx, struct stack_work *s, struct pt_regs *user,
					  __u32 tgid, __u32 at)
{
	__u64 n;

	if (is_executing()) {
		s->record.head.types = STACK_CHANGED;
		return 0;
	}
	if (walk_by_tables(s, user, tgid, at)) {
		s->record.head.types = s->walk.types;
		n = s->walk.n & STACK_FRAMES;
		return n | (__u64)find_python_frames(s, at + n) << 32;
	}
	s->record.head.types = has_unwind ? STACK_NO_PROCESS : STACK_FRAME_POINTERS;
	return count_addresses(bpf_get_stack(ctx, &s->record.addresses[at & STACK_FRAMES],
					     STACK_BYTES, BPF_F_USER_STACK));
}

#endif
