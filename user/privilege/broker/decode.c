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
 * Where the kernel has a uprobe already, of another recording, of perf(1), or one that it has leaked, all this comes too late: the
 * kernel keeps the copy of the instruction that it has. So the broker then looks at the copies (kept_copies.h), if the kernel shows
 * them. Where the kernel keeps the bytes as they are, and decodes them alike, they must be those of the file. Else what the kernel has
 * must be what it makes of the same bytes for the broker. This comes last: now the broker's link keeps each uprobe of an
 * instruction that can be decoded otherwise, with the copy that was compared. Before it is made, one that somebody else attaches
 * there may be decoded for a 32-bit process.
 */
#include "privilege/broker/kept_copies.h"
#include "privilege/broker/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracee/code/x86_instruction.h"

enum {
	DECODED_ALIKE = 1,
	HAS_COPY = 2, /* the kernel has one, of which the bytes do not tell whether it is right */
};

#ifdef __x86_64__

#define INSTRUCTION_MOST X86_MAX_LENGTH
#define BREAKPOINT	 0xcc
#define READS_MOST	 512 /* IOV_MAX is 1024 */

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
 * Instructions that go on to the next one and that no kernel takes for others of 32-bit programs: what begins with a REX prefix
 * is `inc` or `dec` to it and executed as it is; `push` and nops are emulated alike; what compares, reads or writes memory, or
 * sets a register whatever it was, is the same. A kernel may emulate all others, as Linux 6.19 does with `mov %edi,%edi`, which is a nop
 * in 32-bit programs alone. So this lists what functions often begin with, and leaves out the rest.
 */
static bool goes_on_alike(const uint8_t *bytes, const struct x86_instruction *x)
{
	const uint8_t c = bytes[0];
	const bool is_in_memory = bytes[1] >> 6 != 3;

	if (x->use == X86_NOP || (c & 0xf0) == 0x40 || (c & 0xf8) == 0x50 || (c & 0xf8) == 0xb8)
		return true;
	if (c == 0x80 || c == 0x81 || c == 0x83) /* with 7: cmp */
		return (bytes[1] >> 3 & 7) == 7;
	return memchr("\x38\x39\x3a\x3b\x3c\x3d\x84\x85\xa8\xa9", c, 10) ||
	       ((c == 0x31 || c == 0x33) && !is_in_memory) || /* xor */
	       (c >= 0x88 && c <= 0x8b && is_in_memory) ||
	       !memcmp(bytes, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
}

/*
 * Whether the kernel makes the same of it if it takes it for a 32-bit instruction. What is emulated of branches (direct calls
 * and jumps, returns) is decoded alike without such prefixes.
 */
static bool decoded_alike(const uint8_t *bytes, size_t n)
{
	struct x86_instruction x;
	bool addresses, others;

	if (!x86_decode(bytes, n, &x))
		return false;
	find_prefixes(bytes, n, &addresses, &others);
	/* With a changed address, the operand is not evaluated, and has another length. */
	if (x.target.form == USDT_RELATIVE || addresses)
		return false;
	if (x.flow == X86_ON)
		return goes_on_alike(bytes, &x);
	return x.flow == X86_STOP ||
	       (!others && x.flow != X86_INDIRECT && (x.flow != X86_CALL || x.direct));
}

/* The length of an instruction of which the kernel keeps the bytes as they are; 0: it does not, or they say too little. */
static unsigned length_of_copy(const uint8_t *bytes, size_t n)
{
	struct x86_instruction x;

	/* Of a branch that it emulates it clears the distance. */
	return decoded_alike(bytes, n) && x86_decode(bytes, n, &x) &&
			       (x.flow == X86_ON || x.flow == X86_RETURN)
		       ? x.length
		       : 0;
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

#else

#define INSTRUCTION_MOST 4

/* Other processors refuse to decode anything for a 32-bit process. */
static bool decoded_alike(const uint8_t *bytes, size_t n)
{
	(void)bytes, (void)n;
	return true;
}

static unsigned length_of_copy(const uint8_t *bytes, size_t n)
{
	(void)bytes;
	return n == INSTRUCTION_MOST ? INSTRUCTION_MOST : 0;
}

static int decode(const struct loaded_programs *programs, int elf_fd,
		  const struct broker_site *sites, unsigned n, int *links, unsigned *n_links)
{
	(void)programs, (void)elf_fd, (void)sites, (void)n, (void)links, (void)n_links;
	return -EIO;
}

#endif

static size_t site_read(int elf_fd, const struct broker_site *site, uint8_t bytes[INSTRUCTION_MOST])
{
	ssize_t n = pread(elf_fd, bytes, INSTRUCTION_MOST, (off_t)site->offset);

	return n > 0 ? (size_t)n : 0;
}

static bool site_decoded_alike(int elf_fd, const struct broker_site *site)
{
	uint8_t bytes[INSTRUCTION_MOST] = { 0 };
	size_t n = site_read(elf_fd, site, bytes);

	return n && decoded_alike(bytes, n);
}

unsigned sites_decoded(int elf_fd, const struct broker_site *sites, unsigned n)
{
	unsigned n_decoded = 0;

	for (unsigned i = 0; i < n; i++)
		n_decoded += !site_decoded_alike(elf_fd, &sites[i]);
	return n_decoded;
}

/* Returns 1, 0, or -EAGAIN: the bytes alone do not tell. */
static int copy_is_of_file(int elf_fd, const struct broker_site *site,
			   const uint8_t copy[UPROBE_COPY])
{
	uint8_t bytes[INSTRUCTION_MOST] = { 0 };
	size_t n = site_read(elf_fd, site, bytes);
	unsigned length = length_of_copy(bytes, n);

	return length ? !memcmp(bytes, copy, length) : -EAGAIN;
}

/* Compares the copies that the kernel has with the bytes of the file, and marks those for which that does not suffice. */
static int find_copies(const struct loaded_programs *programs, const struct kept_file *file,
		       const struct broker_site *sites, unsigned n, uint8_t *kinds)
{
	uint8_t copy[UPROBE_COPY] = { 0 };
	unsigned at = 0, from;

	for (from = 0; programs->copies && from < n; from = at + 1) {
		int error = kept_copies_find(programs->copies, file, sites, n, from, &at, copy);
		int same = error || at == n ? 1 : copy_is_of_file(file->elf_fd, &sites[at], copy);

		if (error || !same)
			return error ? error : -ESTALE;
		if (same < 0)
			kinds[at] |= HAS_COPY;
	}
	return 0;
}

/* Puts those of which these bits are `kind` into `some`. */
static unsigned choose(const struct broker_site *sites, unsigned n, const uint8_t *kinds,
		       uint8_t bits, uint8_t kind, struct broker_site *some)
{
	unsigned n_some = 0;

	for (unsigned i = 0; i < n; i++) {
		if ((kinds[i] & bits) == kind)
			some[n_some++] = (struct broker_site){ sites[i].offset,
							       sites[i].semaphore_offset, 0 };
	}
	return n_some;
}

/* `some`: space for as many sites. */
static int decode_some(const struct loaded_programs *programs, const struct kept_file *file,
		       const struct broker_site *sites, unsigned n, uint8_t *kinds,
		       struct broker_site *some, int *links, unsigned *n_links)
{
	unsigned n_some, n_made = 0;
	int error = 0;

	for (unsigned i = 0; i < n; i++)
		kinds[i] = site_decoded_alike(file->elf_fd, &sites[i]) ? DECODED_ALIKE : 0;
	n_some = choose(sites, n, kinds, DECODED_ALIKE, 0, some);
	if (n_some) {
		error = decode(programs, file->elf_fd, some, n_some, links + *n_links, &n_made);
		*n_links += n_made;
	}
	error = error ?: find_copies(programs, file, sites, n, kinds);
	n_some = error ? 0 : choose(sites, n, kinds, HAS_COPY, HAS_COPY, some);
	if (n_some)
		error = kept_copies_compare(programs->copies, programs, file, some, n_some, links,
					    n_links);
	return error;
}

int sites_decode(const struct loaded_programs *programs, int elf_fd,
		 const struct broker_site *sites, unsigned n, int *links, unsigned *n_links)
{
	/* The kernel refuses two links to one place with different semaphores. */
	struct broker_site first = { sites->offset, sites->semaphore_offset, 0 };
	struct broker_site *some = malloc(n * sizeof(*some));
	struct kept_file file = { elf_fd, -1 };
	uint8_t *kinds = malloc(n);
	int error = some && kinds ? 0 : -ENOMEM;

	*n_links = 0;
	/* Only a link to it tells which file it is. */
	if (!error && programs->copies && file_has_layers(elf_fd)) {
		error = links_create(programs, programs->empty_fd, getpid(), false, elf_fd, &first,
				     1, links, n_links);
		file.link = error ? -1 : links[0];
	}
	error = error ?: decode_some(programs, &file, sites, n, kinds, some, links, n_links);
	free(some);
	free(kinds);
	return error;
}
