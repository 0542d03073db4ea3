/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leaves out of the kernel's part of a stack what is there only because the program is traced: the trap of a uprobe,
 * its work when code is mapped, and BPF programs with what calls them. The stack then ends where the program, or the
 * kernel for it, went on afterwards. Other BPF programs (seccomp, cgroups, network) are not called in these ways.
 */
#include "capture/stacks/internal.h"

#include <string.h>

#include "symbols/symbols.h"

/* Functions by which tracing begins; a name that ends in * stands for all that begin like it. */
static const char *const tracing[] = {
	"asm_exc_int3",	  "asm_exc_debug",	  "uprobe_*",	       "__x64_sys_uprobe",
	"bpf_trace_run*", "bpf_trampoline_*",	  "__bpf_prog_enter*", "__bpf_prog_exit*",
	"__traceiter_*",  "bpf_overflow_handler", "trace_call_bpf",
};

static bool name_is_tracing(const char *name)
{
	size_t length;

	for (size_t i = 0; i < sizeof(tracing) / sizeof(tracing[0]); i++) {
		length = strlen(tracing[i]);
		if (tracing[i][length - 1] == '*' ? !strncmp(name, tracing[i], length - 1)
						  : !strcmp(name, tracing[i]))
			return true;
	}
	return false;
}

static bool address_is_tracing(struct stacks *s, uint64_t address)
{
	unsigned place = (address ^ address >> 12) & (RECENT_KERNEL - 1);
	const char *module, *name;

	if (s->recent_kernel[place].address == address)
		return s->recent_kernel[place].is_tracing;
	name = kernel_symbols_find(s->kernel_symbols, address, &module);
	s->recent_kernel[place].address = address;
	s->recent_kernel[place].is_tracing = name && name_is_tracing(name);
	return s->recent_kernel[place].is_tracing;
}

unsigned kernel_frames_of_tracing(struct capture *c, const __u64 *addresses, unsigned n)
{
	struct stacks *s = c->stacks;

	if (n && !s->kernel_symbols && !s->has_no_kernel)
		s->has_no_kernel = !stacks_read_kernel(c);
	if (!s->kernel_symbols)
		return 0;
	while (n && !address_is_tracing(s, addresses[n - 1] - (n > 1)))
		n--;
	return n;
}
