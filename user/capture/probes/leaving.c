/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where calls of functions (-f) are left without an instruction of their own: by an exception, where the unwinder of
 * libgcc continues in a caller, and by longjmp(). The slices of all calls whose frames are then below the stack pointer
 * end there.
 *
 * The libraries of distributions have no USDT probes for it. The unwinder's functions end with a jump to the place where
 * the program continues, when the stack pointer is that of the caller already. Of longjmp() the entry is enough: the
 * stack pointer that it restores is in its buffer. glibc combines it with a number that on x86-64 the thread has, and on
 * arm64 a variable of the dynamic linker; without that one the value is used as it is.
 */
#include "capture/probes/internal.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

static const struct jump {
	const char *function;
	enum call_exit exit;
} jumps[] = {
	{ "_Unwind_RaiseException", CALL_LEFT },
	{ "_Unwind_Resume", CALL_LEFT },
	{ "_Unwind_Resume_or_Rethrow", CALL_LEFT },
	{ "_Unwind_ForcedUnwind", CALL_LEFT },
	{ "longjmp", CALL_LONGJMP },
	{ "__longjmp_chk", CALL_LONGJMP },
};
#define N_JUMPS (sizeof(jumps) / sizeof(jumps[0]))

/* The stack pointer in the jmp_buf of glibc and musl, which rdi or x0 points to. */
static const struct usdt_arg jump_stacks[] = {
	{ .form = USDT_MEMORY, .reg = 7, .index = USDT_NO_REGISTER, .bits = 64, .offset = 48 },
	{ .form = USDT_MEMORY, .reg = 0, .index = USDT_NO_REGISTER, .bits = 64, .offset = 104 },
};

static int add_leaving_site(struct capture *c, struct file *file, const struct jump *jump,
			    uint64_t vaddr)
{
	struct usdt_spec spec = { .kind = RECORD_END, .flags = USDT_CALL, .exit = jump->exit };
	struct probe probe = { .provider = names_intern_string(c->options.names, "unwinding") };
	const bool is_arm64 = file->elf->machine == EM_AARCH64;
	uint64_t offset, guard;

	if (elf_file_offset(file->elf, vaddr, ELF_EXECUTABLE, &offset))
		return 0;
	if (jump->exit == CALL_LONGJMP)
		spec.target = jump_stacks[is_arm64];
	if (jump->exit == CALL_LONGJMP && is_arm64 &&
	    !elf_file_got_entry(file->elf, "__pointer_chk_guard", &guard))
		spec.args[0] = (struct usdt_arg){ .form = USDT_RELATIVE,
						  .bits = 64,
						  .offset = (int64_t)(guard - vaddr) };
	probe.name = names_intern_string(c->options.names, jump->function);
	probe.marker.name = probe.name;
	probe.marker.category = probe.provider;
	return probes_add_site(c, file, &probe, &spec, vaddr, offset);
}

static int add_leaving_sites(struct capture *c, struct file *file, const struct jump *jump,
			     const struct proved_function *function,
			     const struct proved_exit *exits)
{
	int error = 0;

	if (jump->exit == CALL_LONGJMP)
		return add_leaving_site(c, file, jump, function->entry);
	for (uint32_t i = 0; i < function->n_exits && !error; i++)
		error = add_leaving_site(c, file, jump, exits[i].vaddr);
	return error;
}

/* Each function is asked for alone: there are few, and one that cannot be proved is left out. */
static int select_jump(struct capture *c, struct file *file, const struct jump *jump,
		       struct broker_functions *answer)
{
	const struct proved_function *function;
	const struct proved_exit *exits;
	struct proved_reader reader;
	const char *refusal = NULL;
	uint64_t vaddr;
	struct failure f;
	int error;

	if (elf_file_symbol(file->elf, jump->function, &vaddr))
		return 0;
	error = broker_functions(c->broker, file->fd, &vaddr, 1, answer, &f);
	if (error)
		return error == -EPIPE ? error : 0;
	reader = (struct proved_reader){ (uint8_t *)answer->bytes, answer->size };
	if (proved_next(&reader, &function, &exits, &refusal) > 0 && !refusal)
		return add_leaving_sites(c, file, jump, function, exits);
	capture_log(c, 1, "calls that %s leaves end at the next function: %s", jump->function,
		    refusal ? refusal : "it cannot be read");
	return 0;
}

int leaving_select(struct capture *c, struct file *file, const char *path, struct failure *f)
{
	struct broker_functions *answer;
	int error = 0;

	if (!c->probes->n_functions)
		return 0;
	answer = malloc(sizeof(*answer));
	if (!answer)
		error = -ENOMEM;
	for (unsigned i = 0; i < N_JUMPS && !error; i++)
		error = select_jump(c, file, &jumps[i], answer);
	free(answer);
	return error ? failure_set(f, error, "cannot attach to", path, NULL) : 0;
}
