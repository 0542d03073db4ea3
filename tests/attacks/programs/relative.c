/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * relative
 *
 * Has functions that begin with an instruction that addresses memory relative to itself, one that is left by a jump to a
 * register that 32-bit programs do not have, and one that begins with an instruction that does nothing in 32-bit programs.
 * Prints `ready PID`; then, for each line of the standard input, calls them and prints `right`, or what is wrong. When such
 * a call crashes it says so, and ends.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__

__asm__(".pushsection .data\n"
	"relative_number: .long 4711\n"
	"relative_target: .quad relative_end\n"
	".popsection\n"
	".pushsection .text\n"
	".macro relative name:req\n"
	".globl relative_\\name\n"
	".type relative_\\name,@function\n"
	"relative_\\name:\n"
	"	.cfi_startproc\n"
	".endm\n"
	".macro relative_ends name:req\n"
	"	.cfi_endproc\n"
	".size relative_\\name,.-relative_\\name\n"
	".endm\n"
	"relative load\n"
	"	mov relative_number(%rip),%eax\n"
	"	ret\n"
	"relative_ends load\n"
	"relative address\n"
	"	lea relative_number(%rip),%rax\n"
	"	ret\n"
	"relative_ends address\n"
	"relative jump\n"
	"	jmp *relative_target(%rip)\n"
	"relative_ends jump\n"
	"relative register\n"
	"	mov %rdi,%r11\n"
	"	jmp *%r11\n"
	"relative_ends register\n"
	"relative extend\n"
	"	mov %edi,%edi\n"
	"	lea 1(%rdi),%rax\n"
	"	ret\n"
	"relative_ends extend\n"
	"relative end\n"
	"	mov $17,%eax\n"
	"	ret\n"
	"relative_ends end\n"
	".popsection\n");

int relative_load(void);
const int *relative_address(void);
int relative_jump(void);
int relative_end(void);
int relative_register(int (*target)(void));
uint64_t relative_extend(uint64_t number);

static void crashed(int signal)
{
	static const char text[] = "crashed\n";

	(void)signal;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1))
		_exit(1);
	_exit(1);
}

int main(void)
{
	char line[16];

	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	signal(SIGILL, crashed);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		int load = relative_load(), address = *relative_address(), jump = relative_jump(),
		    left = relative_register(relative_end);
		uint64_t extended = relative_extend(0x700000004);

		if (load == 4711 && address == 4711 && jump == 17 && left == 17 && extended == 5)
			puts("right");
		else
			printf("wrong: %d %d %d %d %llx\n", load, address, jump, left,
			       (unsigned long long)extended);
	}
	return 0;
}

#else

int main(void)
{
	return 2;
}

#endif
