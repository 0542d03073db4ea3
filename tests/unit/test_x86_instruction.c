/* SPDX-License-Identifier: BSD-2-Clause */
/* The decoder of x86-64 instructions (tracee/code/x86_instruction.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tracee/code/x86_instruction.h"

#define BYTES(...) ((const uint8_t[]){ __VA_ARGS__ }), sizeof((const uint8_t[]){ __VA_ARGS__ })

/* As long as it says, and no shorter: without its last byte it is none. */
static struct x86_instruction decoded(const uint8_t *bytes, size_t n)
{
	struct x86_instruction x;
	uint8_t longer[32];

	memset(longer, 0x90, sizeof(longer));
	memcpy(longer, bytes, n);
	assert_int_equal(x86_decode(longer, sizeof(longer), &x), n);
	assert_int_equal(x86_decode(bytes, n - 1, &x), 0);
	assert_int_equal(x86_decode(bytes, n, &x), n);
	assert_int_equal(x.length, n);
	return x;
}

static void refused(const uint8_t *bytes, size_t n)
{
	struct x86_instruction x;
	uint8_t longer[32];

	memset(longer, 0x90, sizeof(longer));
	memcpy(longer, bytes, n);
	assert_int_equal(x86_decode(longer, sizeof(longer), &x), 0);
}

static void lengths(void **state)
{
	(void)state;
	decoded(BYTES(0x55));					     /* push %rbp */
	decoded(BYTES(0xf3, 0x0f, 0x1e, 0xfa));			     /* endbr64 */
	decoded(BYTES(0x48, 0x89, 0xe5));			     /* mov %rsp,%rbp */
	decoded(BYTES(0x48, 0x83, 0xec, 0x08));			     /* sub $8,%rsp */
	decoded(BYTES(0x48, 0x81, 0xec, 1, 2, 3, 4));		     /* sub $x,%rsp */
	decoded(BYTES(0x66, 0x81, 0xc3, 1, 2));			     /* add $x,%bx */
	decoded(BYTES(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8));	     /* movabs */
	decoded(BYTES(0xb8, 1, 2, 3, 4));			     /* mov $x,%eax */
	decoded(BYTES(0x66, 0xb8, 1, 2));			     /* mov $x,%ax */
	decoded(BYTES(0x48, 0x8b, 0x05, 1, 2, 3, 4));		     /* mov x(%rip),%rax */
	decoded(BYTES(0x48, 0x8b, 0x44, 0xcd, 0x08));		     /* mov 8(%rbp,%rcx,8) */
	decoded(BYTES(0x48, 0x8b, 0x04, 0xcd, 1, 2, 3, 4));	     /* mov x(,%rcx,8) */
	decoded(BYTES(0xf6, 0x07, 0x01));			     /* testb $1,(%rdi) */
	decoded(BYTES(0xf6, 0x1f));				     /* negb (%rdi) */
	decoded(BYTES(0xf7, 0xc7, 1, 2, 3, 4));			     /* test $x,%edi */
	decoded(BYTES(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0)); /* nopw */
	decoded(BYTES(0xe8, 1, 2, 3, 4));			     /* call */
	decoded(BYTES(0x66, 0x66, 0x48, 0xe8, 1, 2, 3, 4));	     /* of thread-local data */
	decoded(BYTES(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0)); /* mov %fs:0x28,%rax */
	decoded(BYTES(0xf0, 0x48, 0x0f, 0xc1, 0x02));		     /* lock xadd */
	decoded(BYTES(0x0f, 0xba, 0xe0, 5));			     /* bt $5,%eax */
	decoded(BYTES(0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8));	     /* palignr */
	decoded(BYTES(0x66, 0x0f, 0x38, 0x00, 0xc1));		     /* pshufb */
	decoded(BYTES(0xc5, 0xf8, 0x77));			     /* vzeroupper */
	decoded(BYTES(0xc5, 0xf9, 0x70, 0xc0, 1));		     /* vpshufd */
	decoded(BYTES(0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1));	     /* vextracti128 */
	decoded(BYTES(0xc4, 0xe2, 0xfb, 0xf7, 0xc0));		     /* shrx */
	decoded(BYTES(0x62, 0xf1, 0x7c, 0x48, 0x10, 0x46, 1));	     /* vmovups, EVEX */
	decoded(BYTES(0x62, 0xf3, 0x7d, 0x48, 0x3f, 0x06, 0));	     /* vpcmpub, EVEX */
	decoded(BYTES(0xdd, 0x44, 0x24, 0x08));			     /* fldl 8(%rsp) */
	decoded(BYTES(0x0f, 0x0b));				     /* ud2 */
}

static void flow(void **state)
{
	struct x86_instruction x;

	(void)state;
	assert_int_equal(decoded(BYTES(0xc3)).flow, X86_RETURN);
	assert_int_equal(decoded(BYTES(0xf3, 0xc3)).flow, X86_RETURN);
	assert_int_equal(decoded(BYTES(0xc2, 8, 0)).flow, X86_RETURN);
	x = decoded(BYTES(0xeb, 0xfe));
	assert_int_equal(x.flow, X86_JUMP);
	assert_int_equal(x.distance, -2);
	x = decoded(BYTES(0xe9, 0xff, 0xff, 0xff, 0x7f));
	assert_int_equal(x.flow, X86_JUMP);
	assert_int_equal(x.distance, INT32_MAX);
	x = decoded(BYTES(0x7f, 0x10));
	assert_int_equal(x.flow, X86_BRANCH);
	assert_int_equal(x.condition, 15);
	x = decoded(BYTES(0x0f, 0x84, 0, 0, 0, 0x80));
	assert_int_equal(x.flow, X86_BRANCH);
	assert_int_equal(x.condition, 4);
	assert_int_equal(x.distance, INT32_MIN);
	assert_int_equal(decoded(BYTES(0xe3, 1)).flow, X86_LOOP);
	assert_int_equal(decoded(BYTES(0xff, 0xd0)).flow, X86_CALL); /* call *%rax */
}

static void indirect(void **state)
{
	struct x86_instruction x;

	(void)state;
	x = decoded(BYTES(0x3e, 0xff, 0xe0)); /* notrack jmp *%rax */
	assert_int_equal(x.flow, X86_INDIRECT);
	assert_int_equal(x.target.form, USDT_REGISTER);
	assert_int_equal(x.target.reg, 0);
	x = decoded(BYTES(0x41, 0xff, 0xe3)); /* jmp *%r11 */
	assert_int_equal(x.target.reg, 11);
	x = decoded(BYTES(0xff, 0x25, 0x10, 0, 0, 0)); /* jmp *16(%rip) */
	assert_int_equal(x.target.form, USDT_RELATIVE);
	assert_int_equal(x.target.offset, 22);
	x = decoded(BYTES(0xff, 0x24, 0xc5, 1, 0, 0, 0)); /* jmp *1(,%rax,8) */
	assert_int_equal(x.target.form, USDT_MEMORY);
	assert_int_equal(x.target.reg, USDT_NO_REGISTER);
	assert_int_equal(x.target.index, 0);
	assert_int_equal(x.target.scale, 3);
	assert_int_equal(x.target.offset, 1);
	x = decoded(BYTES(0xff, 0x60, 0xf8)); /* jmp *-8(%rax) */
	assert_int_equal(x.target.form, USDT_MEMORY);
	assert_int_equal(x.target.index, USDT_NO_REGISTER);
	assert_int_equal(x.target.offset, -8);
	x = decoded(BYTES(0x64, 0xff, 0x20)); /* jmp *%fs:(%rax) */
	assert_int_equal(x.target.form, USDT_UNREADABLE);
}

static void probes(void **state)
{
	(void)state;
	assert_int_equal(decoded(BYTES(0x55)).probe, X86_PROBE);
	assert_int_equal(decoded(BYTES(0x90)).probe, X86_PROBE);
	assert_int_equal(decoded(BYTES(0xf3, 0x0f, 0x1e, 0xfa)).probe, X86_PROBE);
	assert_int_equal(decoded(BYTES(0xf2, 0xc3)).probe, X86_PROBE);
	assert_int_equal(decoded(BYTES(0xc5, 0xf8, 0x77)).probe, X86_NO_PROBE_SKIP);
	assert_int_equal(decoded(BYTES(0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xc6)).probe,
			 X86_NO_PROBE_SKIP);
	assert_int_equal(decoded(BYTES(0xf0, 0xff, 0x0f)).probe, X86_NO_PROBE_SKIP);
	assert_int_equal(decoded(BYTES(0x66, 0x90)).probe, X86_NO_PROBE_SKIP);
	assert_int_equal(decoded(BYTES(0x49, 0x90)).probe, X86_NO_PROBE); /* xchg */
	assert_int_equal(decoded(BYTES(0x3e, 0xff, 0xe0)).probe, X86_NO_PROBE);
	assert_int_equal(decoded(BYTES(0xf3, 0xaa)).probe, X86_NO_PROBE);
	assert_int_equal(decoded(BYTES(0x0f, 0x05)).probe, X86_NO_PROBE);
}

/* What is data, or nothing to walk through. */
static void no_instructions(void **state)
{
	struct x86_instruction x;

	(void)state;
	assert_int_equal(x86_decode(NULL, 0, &x), 0);
	refused(BYTES(0x00, 0x00));
	refused(BYTES(0x06));
	refused(BYTES(0x60));
	refused(BYTES(0xea));
	refused(BYTES(0xcf));
	refused(BYTES(0xfa));
	refused(BYTES(0xec));
	refused(BYTES(0x0f, 0x30));
	refused(BYTES(0x0f, 0x0f, 0xc0, 0x9e));
	refused(BYTES(0x8f, 0xe8, 0x78, 0xc0));		    /* XOP */
	refused(BYTES(0xff, 0xe8));			    /* a far jump */
	refused(BYTES(0x66, 0xeb, 0));			    /* two lengths on two makes */
	refused(BYTES(0x48, 0xe9, 0, 0, 0, 0));		    /* nobody writes it */
	refused(BYTES(0x66, 0xc5, 0xf8, 0x77));		    /* a prefix before VEX */
	refused(BYTES(0xc4, 0xe0, 0x78, 0x77));		    /* no such map */
	refused(BYTES(0x62, 0xf1, 0x78, 0x48, 0x10, 0x06)); /* EVEX without its fixed bit */
	refused(BYTES(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
		      0x66, 0x66, 0x90));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),	   cmocka_unit_test(flow),
		cmocka_unit_test(indirect),	   cmocka_unit_test(probes),
		cmocka_unit_test(no_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
