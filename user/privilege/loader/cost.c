/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of entering the kernel at a probe site.
 *
 * A process of our own (trial.h) calls a site like those of markers, first without a probe, then with the program
 * for marks attached. It is not traced, so the program finds that out and returns: it writes
 * no record and leaves no state. The least of many short rounds is the cost without disturbances.
 */
#include "privilege/loader/cost.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <time.h>
#include <unistd.h>

#include "privilege/broker/server.h"
#include "privilege/loader/trial.h"

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

uint64_t cost_step(void)
{
	return least();
}

uint64_t cost_of_entry(const struct loaded_programs *programs, bool fast)
{
	struct broker_site site = { .offset = self_offset((const void *)cost_trial) };
	uint64_t without, with = 0;
	unsigned n = 0;
	int self, link,
		error = site.offset ? trial_request(programs->trial, TRIAL_COST, &without)
				    : -ENOENT;

	self = error ? -1 : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self < 0)
		return 0;
	site.offset += fast;
	error = links_create(programs, programs->program_fds[BROKER_MARKS],
			     trial_pid(programs->trial), false, self, &site, 1, &link, &n);
	close(self);
	error = error ?: trial_request(programs->trial, TRIAL_COST, &with);
	if (n)
		close(link);
	return !error && with > without ? (with - without) / HITS : 0;
}
