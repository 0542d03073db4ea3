/* SPDX-License-Identifier: BSD-2-Clause */
/* Ten thousand functions, each called once: `many_0` to `many_9999`. */
#include <stdio.h>

__asm__(".pushsection .data.rel.many,\"aw\"\n"
	".balign 8\n"
	"many_list:\n"
	".popsection\n"
	".altmacro\n"
	".macro many n\n"
	"	.pushsection .text\n"
	"	.type many_\\n,%function\n"
	"many_\\n:\n"
	"	nop\n"
	"	ret\n"
	"	.size many_\\n,.-many_\\n\n"
	"	.popsection\n"
	"	.pushsection .data.rel.many,\"aw\"\n"
	"	.8byte many_\\n\n"
	"	.popsection\n"
	".endm\n"
	".set number,0\n"
	".rept 10000\n"
	"	many %number\n"
	"	.set number,number+1\n"
	".endr\n"
	".noaltmacro\n");

extern void (*const many_list[10000])(void);

int main(void)
{
	unsigned i;

	for (i = 0; i < 10000; i++)
		many_list[i]();
	printf("many %u\n", i);
	return 0;
}
