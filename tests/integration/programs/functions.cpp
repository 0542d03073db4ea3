/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions without markers that are left in every way there is, and that count their own calls:
 * `functions ROUNDS [LIBRARY]`. What it prints under `unfinished` are the calls that never return.
 */
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>

#include <proftrace.h>

#define FUNCTION extern "C" __attribute__((noinline, noclone))
/* What is behind it is not moved before it, nor merged with its like elsewhere. */
#define HERE() __asm__ volatile("" ::: "memory")

static unsigned long recursions, evens, odds, chosen, jumps, thrown, caught, worked, exits;
static thread_local unsigned long worked_here;

FUNCTION int recurse(int n)
{
	int first;

	__atomic_add_fetch(&recursions, 1, __ATOMIC_RELAXED);
	if (n < 2)
		return n;
	first = recurse(n - 1);
	n = recurse(n - 2);
	__asm__ volatile("" : "+r"(n)); /* a call indeed, and no loop */
	return first + n;
}

/* Each ends with a jump to the other: the one call is over as the next begins. */
FUNCTION int is_odd(unsigned n);
FUNCTION int is_even(unsigned n)
{
	evens++;
	return n ? is_odd(n - 1) : 1;
}

FUNCTION int is_odd(unsigned n)
{
	odds++;
	return n ? is_even(n - 1) : 0;
}

/* A table of jumps within it, or what the compiler makes of it, and a jump through a pointer. */
static int (*volatile pointer)(unsigned) = is_even;

FUNCTION int choose(unsigned n)
{
	chosen++;
	HERE();
	switch (n % 8) {
	case 0:
		return pointer(n);
	case 1:
		HERE();
		return 17;
	case 2:
		fputs("", stdout);
		return 4;
	case 3:
		return pointer(3);
	case 4:
		fflush(stdout);
		return -1;
	case 5:
		HERE();
		return 99;
	case 6:
		return rand() & 1;
	}
	return 5;
}

static jmp_buf place;
static volatile int always = 1; /* for all that the compiler knows, it may return */

FUNCTION void jump(int n)
{
	jumps++;
	HERE();
	if (n)
		jump(n - 1);
	else if (always)
		longjmp(place, 1);
	HERE();
}

FUNCTION void throws(int n)
{
	thrown++;
	HERE();
	if (n)
		throws(n - 1);
	else if (always)
		throw std::runtime_error("thrown");
	HERE();
}

/* Goes on for a moment when it is thrown through. */
FUNCTION void cleans(int n)
{
	struct cleaner {
		~cleaner()
		{
			PROF_INSTANT("cleaned");
		}
	} cleaner;

	throws(n);
}

FUNCTION int catches(int n)
{
	PROF_SCOPE("catching");
	try {
		cleans(n);
	} catch (const std::exception &) {
		PROF_INSTANT("caught");
		caught++;
	}
	HERE();
	return n;
}

/* Begins with what the kernel takes for a jump when a probe stands on it. */
#ifdef __x86_64__
extern "C" int vector_first(int n);
__asm__(".pushsection .text\n"
	".globl vector_first\n"
	".type vector_first,@function\n"
	"vector_first:\n"
	"	vpor %xmm0,%xmm0,%xmm0\n"
	"	mov %edi,%eax\n"
	"	ret\n"
	".size vector_first,.-vector_first\n"
	".popsection\n");

static int vectors(int n)
{
	return __builtin_cpu_supports("avx") ? vector_first(n) : n;
}
#else
static int vectors(int n)
{
	return n;
}
#endif

/*
 * Data between instructions, which reads like returns, and the program reads it. The second one goes on
 * where only its data says.
 */
extern "C" unsigned char table_within(int i);
extern "C" unsigned char table_computed(int i);
#ifdef __x86_64__
__asm__(".pushsection .text\n"
	".globl table_within\n"
	".type table_within,@function\n"
	"table_within:\n"
	"	lea 2f(%rip),%rax\n"
	"	movslq %edi,%rdi\n"
	"	movzbl (%rax,%rdi),%eax\n"
	"	jmp 1f\n"
	"2:	.byte 0x90,0xc3,0x90,0xc3,0x11,0xc3,0x22,0xc3\n"
	"1:	ret\n"
	".size table_within,.-table_within\n"
	".globl table_computed\n"
	".type table_computed,@function\n"
	"table_computed:\n"
	"	lea 2f(%rip),%rdx\n"
	"	movslq %edi,%rdi\n"
	"	movzbl (%rdx,%rdi),%eax\n"
	"	add $8,%rdx\n"
	"	jmp *%rdx\n"
	"2:	.byte 0x90,0xc3,0x90,0xc3,0x11,0xc3,0x22,0xc3\n"
	"1:	ret\n"
	".size table_computed,.-table_computed\n"
	".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
	".globl table_within\n"
	".type table_within,@function\n"
	"table_within:\n"
	"	adr x1,2f\n"
	"	ldrb w0,[x1,w0,sxtw]\n"
	"	b 1f\n"
	"2:	.word 0xd65f03c0,0xd65f03c0\n"
	"1:	ret\n"
	".size table_within,.-table_within\n"
	".globl table_computed\n"
	".type table_computed,@function\n"
	"table_computed:\n"
	"	adr x1,2f\n"
	"	ldrb w0,[x1,w0,sxtw]\n"
	"	add x1,x1,#8\n"
	"	br x1\n"
	"2:	.word 0xd65f03c0,0xd65f03c0\n"
	"1:	ret\n"
	".size table_computed,.-table_computed\n"
	".popsection\n");
#endif

static void print_tables(const char *when)
{
	int i;

	printf("tables %s:", when);
	for (i = 0; i < 8; i++)
		printf(" %02x %02x", table_within(i), table_computed(i));
	printf("\n");
}

namespace shapes
{
template <typename T> struct circle {
	T radius;
	__attribute__((noinline, noclone)) T area(T factor) const;
};

template <typename T> T circle<T>::area(T factor) const
{
	HERE();
	return radius * radius * factor;
}
} /* namespace shapes */

FUNCTION int frames()
{
	void *list[64];

	return backtrace(list, 64);
}

FUNCTION long arguments(const char *text, int32_t negative, uint8_t small, uint64_t large, bool yes,
			long five, long six, long seven)
{
	HERE();
	return *text + negative + small + (long)large + yes + five + six + seven;
}

FUNCTION void work(unsigned long n)
{
	PROF_BEGIN("step", "n", n);
	worked_here++;
	__atomic_add_fetch(&worked, 1, __ATOMIC_RELAXED);
	PROF_END();
}

FUNCTION void *thread_main(void *rounds)
{
	unsigned long i;

	for (i = 0; i < (unsigned long)rounds; i++)
		work(i);
	__atomic_add_fetch(&exits, 1, __ATOMIC_RELAXED);
	if (worked_here)
		pthread_exit(NULL);
	return NULL;
}

static void threads(unsigned long rounds)
{
	pthread_t list[4];

	for (pthread_t &t : list)
		pthread_create(&t, NULL, thread_main, (void *)rounds);
	for (pthread_t &t : list)
		pthread_join(t, NULL);
}

static void library(const char *path, unsigned long rounds)
{
	void *handle = dlopen(path, RTLD_NOW);
	int (*call)(int);
	unsigned long i;

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&call = dlsym(handle, "opened");
	for (i = 0; i < rounds; i++)
		call((int)i);
	dlclose(handle);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10, i;
	volatile unsigned long landed = 0;
	long sum = 0;

	for (i = 0; i < rounds; i++) {
		sum += recurse(6) + is_even((unsigned)i % 7) + choose((unsigned)i);
		if (!setjmp(place))
			jump((int)(i % 5));
		else {
			PROF_INSTANT("landed");
			landed++;
		}
		sum += catches((int)(i % 4));
		sum += vectors((int)i);
		sum += shapes::circle<long>{ (long)i }.area(3);
		sum += arguments("text", -(int)i, 200, 1ull << 63, true, -1, (long)i, 7);
	}
	print_tables("in code");
	threads(rounds);
	if (argc > 2)
		library(argv[2], rounds);
	printf("recurse %lu\nis_even %lu\nis_odd %lu\nchoose %lu\njump %lu\nlanded %lu\n"
	       "throws %lu\ncatches %lu\nwork %lu\nthread_main %lu\nframes %d\n",
	       recursions, evens, odds, chosen, jumps, (unsigned long)landed, thrown, caught,
	       worked, exits, frames());
	printf("unfinished %lu\nsum %ld\n", exits, sum);
	return 0;
}
