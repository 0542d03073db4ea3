/* SPDX-License-Identifier: BSD-2-Clause */
/* A USDT probe of the provider PROVIDER, as sys/sdt.h makes them, in assembly. */
#define NOTE(SITE, NAME, ARGS, SEMAPHORE)             \
	"990:	" SITE "\n"                           \
	"	.pushsection .note.stapsdt,\"\",\"note\"\n" \
	"	.balign 4\n"                                \
	"	.4byte 992f-991f, 994f-993f, 3\n"           \
	"991:	.asciz \"stapsdt\"\n"                   \
	"992:	.balign 4\n"                            \
	"993:	.8byte 990b, 0, " SEMAPHORE "\n"      \
	"	.asciz \"" PROVIDER "\"\n"            \
	"	.asciz \"" NAME "\"\n"                \
	"	.asciz \"" ARGS "\"\n"                \
	"994:	.balign 4\n"                            \
	"	.popsection\n"
