/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kept_copy [guard]
 *
 * Prints `value` and what two functions return. Each is one instruction and a return; the test replaces the instruction in copies of this
 * program. With `guard` it prints `ready`, and for the next line of the standard input maps the page of the functions once
 * more and makes a guard page of it, where the kernel cannot restore what it has put into the code. It prints `guarded`, or
 * `cannot`, and waits until it is killed.
 */
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#ifdef __x86_64__

/* The second one addresses memory relative to itself: the kernel changes its copy. */
__asm__(".pushsection .data\n"
	"kept_numbers: .long 3, 4\n"
	".popsection\n"
	".pushsection .text.kept_copy,\"ax\",@progbits\n"
	".balign 64\n"
	".globl kept_value, kept_number\n"
	".type kept_value,@function\n"
	".type kept_number,@function\n"
	"kept_value:\n"
	"	.cfi_startproc\n"
	"	mov $4711,%eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size kept_value,.-kept_value\n"
	".balign 16\n"
	"kept_number:\n"
	"	.cfi_startproc\n"
	"	mov kept_numbers(%rip),%eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size kept_number,.-kept_number\n"
	".popsection\n");

int kept_value(void);
int kept_number(void);

static int find_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	uintptr_t code = (uintptr_t)kept_value;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && code - start < p->p_filesz)
			*(uint64_t *)context = code - start + p->p_offset;
	}
	return 1;
}

static void guard(void)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t offset = 0;
	char line[16];
	int fd = open("/proc/self/exe", O_RDONLY);
	volatile char *mapping;

	dl_iterate_phdr(find_offset, &offset);
	puts("ready");
	if (!fgets(line, sizeof(line), stdin))
		return;
	mapping = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		       (off_t)(offset & ~(page - 1)));
	if (mapping == MAP_FAILED)
		return;
	/* The breakpoint is in this mapping. */
	(void)mapping[offset & (page - 1)];
	puts(madvise((void *)mapping, page, MADV_GUARD_INSTALL) ? "cannot" : "guarded");
	/* Others have the same input. */
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	if (argc > 1 && !strcmp(argv[1], "guard"))
		guard();
	else
		printf("value %d %d\n", kept_value(), kept_number());
	return 0;
}

#else

int main(void)
{
	puts("cannot");
	return 2;
}

#endif
