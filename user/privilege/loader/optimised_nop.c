/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries whether the optimised nop of probe sites may be used on this kernel.
 *
 * Some kernels replace a nop under a uprobe with a call, which saves the breakpoint. Linux 6.18
 * does so with 5-byte nops and gets two things wrong: the call writes into the red zone of leaf
 * functions, and a forked child inherits the call without the page that it calls, and dies. Later
 * kernels replace 10-byte nops, correctly. The system call of the trampoline shows which kind this
 * kernel is. Whether it is correct is tried here, in a process of our own (trial.h), before a program of
 * anybody else is touched.
 */
#include "privilege/loader/features.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/loader/cost.h"
#include "privilege/loader/empty_program.h"
#include "privilege/loader/trial.h"

#ifdef __x86_64__

#define SYS_UPROBE 336
#define TRIES	   1000

/* Keeps values in its red zone across the site. Returns 0 if they are intact. */
__asm__(".pushsection .text.optimised_nop_trial,\"ax\",@progbits\n"
	".balign 64\n"
	".type optimised_nop_trial,@function\n"
	"optimised_nop_trial:\n"
	"	movabs $0x5eedf00d5eedf00d,%rax\n"
	"	mov %rax,-8(%rsp)\n"
	"	mov %rax,-64(%rsp)\n"
	"	mov %rax,-128(%rsp)\n"
	".globl optimised_nop_trial_site\n"
	".hidden optimised_nop_trial_site\n"
	"optimised_nop_trial_site:\n"
	"	.byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n"
	"	cmp %rax,-8(%rsp)\n"
	"	jne 1f\n"
	"	cmp %rax,-64(%rsp)\n"
	"	jne 1f\n"
	"	cmp %rax,-128(%rsp)\n"
	"	jne 1f\n"
	"	xor %eax,%eax\n"
	"	ret\n"
	"1:	mov $1,%eax\n"
	"	ret\n"
	".size optimised_nop_trial,.-optimised_nop_trial\n"
	".popsection\n");
int optimised_nop_trial(void);
extern const char optimised_nop_trial_site[] __attribute__((visibility("hidden")));

static int try_often(void)
{
	for (int i = 0; i < TRIES; i++) {
		if (optimised_nop_trial())
			return 1;
	}
	return 0;
}

static enum optimised_nop try_in_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(try_often());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return OPTIMISED_NOP_UNTRIED;
	return status ? OPTIMISED_NOP_WRONG : OPTIMISED_NOP_CORRECT;
}

uint64_t optimised_nop_step(void)
{
	return try_often() ? OPTIMISED_NOP_WRONG : try_in_child();
}

static enum optimised_nop trial_run(struct trial *trial, int program)
{
	uint64_t offset = self_offset(optimised_nop_trial_site), nop = OPTIMISED_NOP_UNTRIED;
	int link = -1, error;

	if (offset)
		link = uprobe_multi_link(UPROBE_ENTRY, program, "/proc/self/exe", &offset, NULL,
					 NULL, 1, trial_pid(trial));
	if (link < 0)
		return OPTIMISED_NOP_UNTRIED;
	error = trial_request(trial, TRIAL_OPTIMISED_NOP, &nop);
	close(link);
	if (!error && nop == OPTIMISED_NOP_CORRECT)
		error = trial_request(trial, TRIAL_OPTIMISED_NOP, &nop);
	return error ? OPTIMISED_NOP_UNTRIED : (enum optimised_nop)nop;
}

enum optimised_nop kernel_optimised_nop(struct trial *trial)
{
	enum optimised_nop nop = OPTIMISED_NOP_UNTRIED;
	int program;

	errno = 0;
	syscall(SYS_UPROBE);
	if (errno == ENXIO)
		return OPTIMISED_NOP_FIVE_BYTES;
	if (errno != EPROTO)
		return OPTIMISED_NOP_NONE;
	program = empty_program_load(TRACE_UPROBE_MULTI, 0);
	if (program < 0)
		return nop;
	nop = trial_run(trial, program);
	close(program);
	return nop;
}

#else

uint64_t optimised_nop_step(void)
{
	return 0;
}

enum optimised_nop kernel_optimised_nop(struct trial *trial)
{
	(void)trial;
	return OPTIMISED_NOP_NONE;
}

#endif

const char *optimised_nop_text(enum optimised_nop nop)
{
	switch (nop) {
	case OPTIMISED_NOP_NONE:
		return "breakpoint (this kernel has no faster one)";
	case OPTIMISED_NOP_FIVE_BYTES:
		return "breakpoint (this kernel's 5-byte nop corrupts programs and is not used)";
	case OPTIMISED_NOP_WRONG:
		return "breakpoint (the trial of the 10-byte nop failed)";
	case OPTIMISED_NOP_UNTRIED:
		return "breakpoint (the trial of the 10-byte nop could not be made)";
	case OPTIMISED_NOP_CORRECT:
		return "10-byte nop (verified: red zone and fork are intact)";
	}
	return "";
}
