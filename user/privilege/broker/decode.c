/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has the kernel decode instructions as those of 64-bit programs, before anybody else can have it decode them otherwise.
 *
 * The kernel decodes the instruction at a uprobe once for a file: for the first process that gets the breakpoint. If that
 * is a 32-bit process, which whoever may read the file can map it in, the kernel decodes a 32-bit instruction. There are
 * no addresses relative to the instruction then, and what begins with a REX prefix is `inc` or `dec`. So it executes the
 * instruction elsewhere without correcting it: in 64-bit processes a load reads another place, and a jump goes astray.
 *
 * Therefore the broker is the first process that gets the breakpoint. It maps the file, where it never executes anything,
 * attaches a program that does nothing for itself alone, and looks whether the breakpoints are there. What was decoded
 * remains as long as anything is attached to the site. The link is kept with those that are made then: to close it, which takes
 * a grace period of RCU, would hold up whoever waits for these.
 *
 * The mapping is neither shared nor writable, as the kernel requires; and it need not be executable, but the file system
 * must permit that it were.
 *
 * This does not help where another user of uprobes (perf, say) had the instruction decoded before, of which nobody can learn.
 */
#include "privilege/broker/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracee/code/x86_instruction.h"

#ifdef __x86_64__

#define BREAKPOINT 0xcc
#define READS_MOST 512 /* IOV_MAX is 1024 */

/* Whether it has prefixes that change addresses (a segment, addresses of 32 bits), or any that only differ in 64-bit code. */
static void find_prefixes(const uint8_t *bytes, size_t n, bool *ret_addresses, bool *ret_others)
{
	size_t i;

	*ret_addresses = *ret_others = false;
	for (i = 0; i < n && memchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", bytes[i], 11);
	     i++) {
		*ret_addresses |= bytes[i] >= 0x64 && bytes[i] <= 0x67 && bytes[i] != 0x66;
		*ret_others |= bytes[i] == 0x66;
	}
	*ret_others |= i < n && (bytes[i] & 0xf0) == 0x40; /* REX */
}

/*
 * Whether the kernel makes the same of it if it takes it for a 32-bit instruction. Apart from its position, an instruction
 * that goes on to the next one is executed as it is, however it was decoded; and what is emulated (direct calls and jumps,
 * returns, nops) is decoded alike without such prefixes.
 */
static bool decoded_alike(const uint8_t *bytes, size_t n)
{
	struct x86_instruction x;
	bool addresses, others;

	if (!x86_decode(bytes, n, &x))
		return false;
	if (x.use == X86_NOP)
		return true;
	find_prefixes(bytes, n, &addresses, &others);
	/* With a changed address, the operand is not evaluated. */
	if (x.target.form == USDT_RELATIVE || addresses)
		return false;
	if (x.flow == X86_ON || x.flow == X86_STOP)
		return true;
	return !others && x.flow != X86_INDIRECT && (x.flow != X86_CALL || x.direct);
}

static bool site_decoded_alike(int elf_fd, const struct broker_site *site)
{
	uint8_t bytes[X86_MAX_LENGTH] = { 0 };
	ssize_t n = pread(elf_fd, bytes, sizeof(bytes), (off_t)site->offset);

	return n > 0 && decoded_alike(bytes, (size_t)n);
}

/* Read by a system call, which only fails if somebody truncates the file: an access would end this process. */
static bool have_breakpoints(const char *mapping, uint64_t begin, const struct broker_site *sites,
			     unsigned n)
{
	struct iovec remote[READS_MOST];
	char bytes[READS_MOST];

	for (unsigned done = 0, some; done < n; done += some) {
		struct iovec local = { bytes, 0 };

		some = n - done < READS_MOST ? n - done : READS_MOST;
		local.iov_len = some;
		for (unsigned i = 0; i < some; i++)
			remote[i] = (struct iovec){
				(void *)(uintptr_t)(mapping + (sites[done + i].offset - begin)), 1
			};
		if (process_vm_readv(getpid(), &local, 1, remote, some, 0) != (ssize_t)some)
			return false;
		for (unsigned i = 0; i < some; i++) {
			if ((uint8_t)bytes[i] != BREAKPOINT)
				return false;
		}
	}
	return true;
}

static int decode(const struct loaded_programs *programs, int elf_fd,
		  const struct broker_site *sites, unsigned n, int *links, unsigned *n_links)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t begin = UINT64_MAX, end = 0;
	char *mapping;
	int error;

	for (unsigned i = 0; i < n; i++) {
		begin = sites[i].offset < begin ? sites[i].offset : begin;
		end = sites[i].offset > end ? sites[i].offset : end;
	}
	begin &= ~(page - 1);
	mapping = mmap(NULL, end + 1 - begin, PROT_READ, MAP_PRIVATE, elf_fd, (off_t)begin);
	if (mapping == MAP_FAILED)
		return -errno;
	error = links_create(programs, programs->empty_fd, getpid(), false, elf_fd, sites, n, links,
			     n_links);
	if (!error && !have_breakpoints(mapping, begin, sites, n))
		error = -ENOEXEC;
	munmap(mapping, end + 1 - begin);
	return error;
}

int sites_decode(const struct loaded_programs *programs, int elf_fd,
		 const struct broker_site *sites, unsigned n, int *links, unsigned *n_links)
{
	struct broker_site *some = malloc(n * sizeof(*some));
	unsigned n_some = 0;
	int error = 0;

	*n_links = 0;
	if (!some)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		if (!site_decoded_alike(elf_fd, &sites[i]))
			some[n_some++] = (struct broker_site){ .offset = sites[i].offset };
	}
	if (n_some)
		error = decode(programs, elf_fd, some, n_some, links, n_links);
	free(some);
	return error;
}

#else

/* Other processors refuse to decode anything for a 32-bit process. */
int sites_decode(const struct loaded_programs *programs, int elf_fd,
		 const struct broker_site *sites, unsigned n, int *links, unsigned *n_links)
{
	(void)programs, (void)elf_fd, (void)sites, (void)n, (void)links;
	*n_links = 0;
	return 0;
}

#endif
