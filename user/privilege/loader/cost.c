/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of entering the kernel at a probe site.
 *
 * A child process calls a site like those of markers, first without a probe, then with the program
 * for marks attached. The child is not traced, so the program finds that out and returns: it writes
 * no record and leaves no state. The least of many short rounds is the cost without disturbances.
 */
#include "privilege/loader/cost.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "privilege/broker/server.h"

#define ROUNDS 40
#define HITS   50 /* in each round, which takes about 30 microseconds */

/* A stub as in include/proftrace.h, with the breakpoint nop and the optimised nop. */
__asm__(".pushsection .text.cost_trial,\"ax\",%progbits\n"
	".balign 64\n"
	".globl cost_trial\n"
	".hidden cost_trial\n"
	".type cost_trial,%function\n"
	"cost_trial:\n"
#ifdef __x86_64__
	"	nop\n"
	"	.byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n"
#else
	"	nop\n"
#endif
	"	ret\n"
	".size cost_trial,.-cost_trial\n"
	".popsection\n");
void cost_trial(void);

struct lookup {
	uintptr_t address;
	uint64_t offset;
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	struct lookup *l = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && l->address - start < p->p_filesz)
			l->offset = l->address - start + p->p_offset;
	}
	return 1; /* the program itself comes first */
}

uint64_t self_offset(const void *code)
{
	struct lookup l = { .address = (uintptr_t)code };

	dl_iterate_phdr(find_offset, &l);
	return l.offset;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The shortest time that all hits of a round took. */
static uint64_t least(void)
{
	uint64_t found = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t took = now_ns();

		for (int hit = 0; hit < HITS; hit++)
			cost_trial();
		took = now_ns() - took;
		if (took < found)
			found = took;
	}
	return found;
}

_Noreturn static void trial(const struct loaded_programs *programs, bool fast, uint64_t *ret_ns)
{
	struct broker_site site = { .offset = self_offset((const void *)cost_trial) };
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), link;
	uint64_t without, with;
	unsigned n = 0;

	alarm(5);
	if (self < 0 || !site.offset)
		_exit(1);
	site.offset += fast;
	without = least();
	if (links_create(programs, programs->program_fds[BROKER_MARKS], getpid(), false, self,
			 &site, 1, &link, &n))
		_exit(1);
	with = least();
	*ret_ns = with > without ? (with - without) / HITS : 0;
	_exit(0);
}

uint64_t cost_of_entry(const struct loaded_programs *programs, bool fast)
{
	uint64_t *ns =
		mmap(NULL, sizeof(*ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t found = 0;
	int status;
	pid_t pid;

	if (ns == MAP_FAILED)
		return 0;
	pid = fork();
	if (pid == 0)
		trial(programs, fast, ns);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		found = *ns;
	munmap(ns, sizeof(*ns));
	return found;
}
