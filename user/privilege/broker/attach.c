/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches a program to sites of a file.
 *
 * Kernels from 6.6 on attach all sites of a file with one link (uprobe_multi), in microseconds per
 * site, and detach them at once. Before 6.6 each site is a perf event of its own. libbpf 1.1, which
 * stable distributions ship, does not know uprobe_multi links. Hence the bare system call, the only
 * one to bpf() in the project.
 */
#include "privilege/broker/server.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/marker_note.h"
#include "privilege/broker/uprobe_multi.h"

#define MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */
/*
 * Of one link: in a process with tens of thousands of mappings the kernel takes a millisecond and more for each site, and
 * nothing interrupts it. Between two links one looks whether somebody still wants them.
 */
#define LINK_SITES 512

int uprobe_multi_link(enum uprobe_form form, int program_fd, const char *path,
		      const uint64_t *offsets, const uint64_t *semaphores, const uint64_t *cookies,
		      unsigned n, pid_t pid)
{
	/* union bpf_attr of BPF_LINK_CREATE, as include/uapi/linux/bpf.h has it since 6.6. */
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t cnt, multi_flags, pid, pad;
	} attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_fd = program_fd;
	attr.attach_type = form == UPROBE_SESSION ? TRACE_UPROBE_SESSION : TRACE_UPROBE_MULTI;
	attr.multi_flags = form == UPROBE_RETURN ? MULTI_RETURN : 0;
	attr.path = (uintptr_t)path;
	attr.offsets = (uintptr_t)offsets;
	attr.ref_ctr_offsets = (uintptr_t)semaphores;
	attr.cookies = (uintptr_t)cookies;
	attr.cnt = n;
	attr.pid = pid;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/*
 * For whom links are, of which the kernel only takes the number. A process that exits goes out of the map before its number
 * is another's, and the file was examined since somebody last looked, which takes as long as its file system wants.
 */
struct owner {
	pid_t pid;     /* 0: all processes */
	int traced_fd; /* the map; -1: it need not be traced */
};

static bool has_ended(const struct loaded_programs *programs)
{
	return programs->ended && __atomic_load_n(programs->ended, __ATOMIC_ACQUIRE);
}

unsigned links_most(const struct loaded_programs *programs, unsigned n)
{
	return programs->uprobe_multi ? (n + LINK_SITES - 1) / LINK_SITES : n;
}

static bool owner_is_there(const struct owner *owner)
{
	const uint32_t pid = (uint32_t)owner->pid;
	uint32_t flags;

	return !pid || owner->traced_fd < 0 || !bpf_map_lookup_elem(owner->traced_fd, &pid, &flags);
}

static int attach_portion(enum uprobe_form form, int program_fd, const char *path,
			  const struct owner *owner, const struct broker_site *sites, unsigned n)
{
	uint64_t *words = calloc(3 * (size_t)n, sizeof(*words));
	bool semaphores = false;
	int link = -ESRCH;
	unsigned i;

	if (!words)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		words[i] = sites[i].offset;
		words[n + i] = sites[i].semaphore_offset;
		words[2 * n + i] = sites[i].cookie;
		semaphores |= sites[i].semaphore_offset != 0;
	}
	if (owner_is_there(owner))
		link = uprobe_multi_link(form, program_fd, path, words,
					 semaphores ? words + n : NULL, words + 2 * n, n,
					 owner->pid);
	free(words);
	return link;
}

static int attach_multi(enum uprobe_form form, const struct loaded_programs *programs,
			int program_fd, const char *path, const struct owner *owner,
			const struct broker_site *sites, unsigned n, int *links, unsigned *n_links)
{
	unsigned done, some;

	for (done = 0; done < n; done += some) {
		int link = -ECANCELED;

		some = n - done < LINK_SITES ? n - done : LINK_SITES;
		if (!has_ended(programs))
			link = attach_portion(form, program_fd, path, owner, sites + done, some);
		if (link < 0)
			return link;
		links[(*n_links)++] = link;
	}
	return 0;
}

static int uprobe_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (file) {
		if (fscanf(file, "%d", &type) != 1)
			type = -1;
		fclose(file);
	}
	return type;
}

/* The link keeps a reference to the perf event, so its descriptor is closed. Without a program the event is the link. */
static int attach_one(int type, enum uprobe_form form, int program_fd, const char *path,
		      const struct owner *owner, const struct broker_site *site)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = site->cookie);
	const pid_t pid = owner->pid;
	struct perf_event_attr attr;
	int event, link;

	/* The configuration has 32 bits for the offset of the semaphore. */
	if (site->semaphore_offset >> 32)
		return -EFBIG;
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = type;
	attr.config = site->semaphore_offset << 32 | (form == UPROBE_RETURN);
	attr.uprobe_path = (uintptr_t)path;
	attr.probe_offset = site->offset;
	if (!owner_is_there(owner))
		return -ESRCH;
	event = syscall(SYS_perf_event_open, &attr, pid ? pid : -1, pid ? -1 : 0, -1,
			PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	if (program_fd < 0)
		return event;
	link = bpf_link_create(program_fd, event, BPF_PERF_EVENT, &opts);
	if (link < 0)
		link = -errno;
	close(event);
	return link;
}

static int attach_each(enum uprobe_form form, const struct loaded_programs *programs,
		       int program_fd, const char *path, const struct owner *owner,
		       const struct broker_site *sites, unsigned n, int *links, unsigned *n_links)
{
	int type = uprobe_type();
	unsigned i;

	if (type < 0)
		return -EOPNOTSUPP;
	for (i = 0; i < n; i++) {
		int link = -ECANCELED;

		if (!has_ended(programs))
			link = attach_one(type, form, program_fd, path, owner, &sites[i]);
		if (link < 0)
			return link;
		links[(*n_links)++] = link;
	}
	return 0;
}

/*
 * The kernel reads the pages of sites and semaphores while it holds the mmap lock of each process
 * that maps them. If the file system does not answer then, those processes wait together with the
 * broker. So both pages are read here first: those of sites to check them, those of semaphores only
 * for this.
 */
static bool in_memory(int elf_fd, uint64_t offset)
{
	char byte;

	return pread(elf_fd, &byte, 1, offset) == 1;
}

/* Whether the kernel may increment the word at `offset`; 0 means that there is no semaphore. */
static bool is_semaphore_word(int elf_fd, const struct segments *segments, uint64_t offset)
{
	return !offset || (!(offset & 1) && segments_data(segments, offset, sizeof(uint16_t)) &&
			   in_memory(elf_fd, offset));
}

/*
 * A breakpoint in the middle of an instruction ruins a program, and the kernel writes to
 * semaphores. The recorder has checked the file, but it may have been taken over. So each of its
 * claims is proved here, from the bytes at the site and from what the file says about itself
 * (proof.c).
 */
static bool is_marker(int elf_fd, const struct segments *segments, const struct broker_site *site)
{
	/* From the steady nop on, if there is one. */
	static const unsigned char x86[] = { MARKER_NOP_X86, MARKER_STUB_X86 };
	static const unsigned char arm64[] = { MARKER_NOP_ARM64, MARKER_STUB_ARM64 };
	const size_t shortest = sizeof(arm64) - 4;
	unsigned char bytes[sizeof(x86)] = { 0 };
	ssize_t n;

	if (!is_semaphore_word(elf_fd, segments, site->semaphore_offset) ||
	    !segments_code(segments, site->offset, shortest))
		return false;
	n = pread(elf_fd, bytes, sizeof(bytes), site->offset);
	if (n < (ssize_t)shortest)
		return false;
	return !memcmp(bytes, x86, sizeof(x86)) || !memcmp(bytes, x86 + 1, sizeof(x86) - 1) ||
	       !memcmp(bytes, x86 + 2, sizeof(x86) - 2) || !memcmp(bytes, arm64, sizeof(arm64)) ||
	       !memcmp(bytes, arm64 + 4, shortest);
}

/*
 * The probe site of an existing USDT probe is a nop of some length. A nop that the kernel would
 * replace with harmful code is refused, see optimised_nop.c.
 */
static bool is_usdt(const struct loaded_programs *programs, int elf_fd,
		    const struct segments *segments, const struct broker_site *site)
{
	static const unsigned char nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	static const struct {
		unsigned size;
		unsigned char bytes[4];
	} nops[] = {
		{ 1, { 0x90 } },
		{ 2, { 0x66, 0x90 } },
		{ 2, { 0x0f, 0x1f } },
		{ 3, { 0x66, 0x0f, 0x1f } },
		{ 4, { 0x66, 0x2e, 0x0f, 0x1f } },
		{ 4, { 0x1f, 0x20, 0x03, 0xd5 } },
	};
	unsigned char bytes[sizeof(nop5)] = { 0 };
	unsigned i;

	if (!is_semaphore_word(elf_fd, segments, site->semaphore_offset) ||
	    !segments_code(segments, site->offset, 1) ||
	    pread(elf_fd, bytes, sizeof(bytes), site->offset) < 1)
		return false;
	if (programs->breaks_nop5 && !memcmp(bytes, nop5, sizeof(nop5)))
		return false;
	for (i = 0; i < sizeof(nops) / sizeof(nops[0]); i++) {
		if (!memcmp(bytes, nops[i].bytes, nops[i].size))
			return true;
	}
	return false;
}

/*
 * Any instruction may be the entry or an exit of a function. A prover, which reads the code, proves
 * which ones are (privilege/prover/prover.h).
 */
static bool is_function(const struct loaded_programs *programs, int elf_fd,
			const struct segments *segments, const struct broker_site *site)
{
	static const unsigned char nop5[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	unsigned char bytes[sizeof(nop5)] = { 0 };

	if (site->semaphore_offset || !segments_code(segments, site->offset, 1) ||
	    pread(elf_fd, bytes, sizeof(bytes), site->offset) < 1)
		return false;
#ifdef __x86_64__
	/*
	 * After a VEX or EVEX prefix, opcodes mean other instructions. Kernels (observed on 6.18)
	 * ignore that, and execute an addition as a jump, in every process.
	 */
	if (bytes[0] == 0xc4 || bytes[0] == 0xc5 || bytes[0] == 0x62)
		return false;
#endif
	return !programs->breaks_nop5 || memcmp(bytes, nop5, sizeof(nop5));
}

/* The function at which threads are held in the dynamic linker, or a call of it, which the kernel must be able to emulate. */
static bool is_linker(const struct loaded_programs *programs, int elf_fd,
		      const struct segments *segments, const struct broker_site *site)
{
	unsigned char opcode;

	return is_function(programs, elf_fd, segments, site) &&
	       pread(elf_fd, &opcode, 1, (off_t)site->offset) == 1 &&
	       (programs->emulates_calls || !is_x86_call(opcode));
}

static bool is_site(const struct loaded_programs *programs, enum broker_program program, int elf_fd,
		    const struct segments *segments, const struct broker_site *site)
{
	if (program == BROKER_MARKS || program == BROKER_FLUSH)
		return is_marker(elf_fd, segments, site);
	if (program == BROKER_USDT)
		return is_usdt(programs, elf_fd, segments, site);
	if (program == BROKER_LIBRARIES)
		return is_linker(programs, elf_fd, segments, site);
	return is_function(programs, elf_fd, segments, site);
}

int links_create(const struct loaded_programs *programs, int program_fd, pid_t pid,
		 bool must_be_traced, int elf_fd, const struct broker_site *sites, unsigned n,
		 int *links, unsigned *n_links)
{
	const struct owner owner = { pid, must_be_traced ? programs->traced_fd : -1 };
	enum uprobe_form form = UPROBE_ENTRY;
	char path[32];

	/*
	 * Not the empty program, which installs breakpoints, nor none: a probe on the return would write to the stack, and
	 * the site need not be an entry.
	 */
	if (program_fd >= 0 && program_fd == programs->program_fds[BROKER_RETURNS])
		form = programs->return_sessions ? UPROBE_SESSION : UPROBE_RETURN;

	/*
	 * This path leads to the open file itself, wherever it is mounted and even if it was
	 * renamed or deleted.
	 */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_fd);
	*n_links = 0;
	return (programs->uprobe_multi ? attach_multi : attach_each)(
		form, programs, program_fd, path, &owner, sites, n, links, n_links);
}

static bool are_proved(const struct loaded_programs *programs, enum broker_program program,
		       int elf_fd, const struct segments *segments, const struct broker_site *sites,
		       unsigned n)
{
	if (program == BROKER_FUNCTIONS || program == BROKER_RETURNS)
		return functions_proved(programs->provers, elf_fd, segments, sites, n,
					program == BROKER_RETURNS);
	return sites_proved(elf_fd, segments, program, programs->program_fds[BROKER_FLUSH] >= 0,
			    sites, n);
}

static int refuse_kept_copy(struct failure *f)
{
	failure_set(f, -ESTALE, "refused to attach", "",
		    "the kernel has kept another instruction for this place, of a file that was "
		    "removed or written over (\"leaking uprobe\")");
	failure_hint(f,
		     "copy the program and record the copy; until the machine is booted again, the "
		     "kernel would execute that instruction here");
	return -ESTALE;
}

int sites_attach(struct loaded_programs *programs, enum broker_program program, pid_t pid,
		 int elf_fd, const struct broker_site *sites, unsigned n, int *links,
		 unsigned *n_links, struct failure *f)
{
	int program_fd = programs->program_fds[program], error;
	/* Of markers, EINVAL is the kernel's: a process has a semaphore that cannot be incremented. */
	const int refused = program == BROKER_MARKS ? -EBADMSG : -EINVAL;
	struct segments segments;
	unsigned i, n_made = 0;
	uint64_t began_ns;

	*n_links = 0;
	if (program_fd < 0)
		return failure_set(f, -EINVAL, "refused to attach", "", NULL);
	if (!segments_read(elf_fd, &segments))
		return failure_set(f, refused, "refused to attach", "", "no ELF program");
	for (i = 0; i < n; i++) {
		if (!is_site(programs, program, elf_fd, &segments, &sites[i]))
			return failure_set(f, refused, "refused to attach", "", "no probe site");
	}
	if (!are_proved(programs, program, elf_fd, &segments, sites, n))
		return failure_set(f, -EBADMSG, "refused to attach", "",
				   "the file describes no probe site there");
	began_ns = clock_ns(CLOCK_MONOTONIC);
	error = sites_decode(programs, elf_fd, sites, n, links, n_links);
	if (error == -ENOEXEC)
		return failure_set(f, error, "refused to attach", "",
				   "its file system does not permit execution (noexec)");
	if (error == -ESTALE)
		return refuse_kept_copy(f);
	if (!error)
		error = links_create(programs, program_fd, pid, true, elf_fd, sites, n,
				     links + *n_links, &n_made);
	*n_links += n_made;
	programs->attach_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
	/* The file may have been written to after the proof, so it is proved once more. */
	if (!error && (program == BROKER_FUNCTIONS || program == BROKER_RETURNS) &&
	    !are_proved(programs, program, elf_fd, &segments, sites, n))
		return failure_set(f, -EBADMSG, "refused to attach", "",
				   "the file was written to meanwhile");
	if (error)
		failure_set(f, error, "cannot attach to the probe sites", "", NULL);
	if (!programs->uprobe_multi && (error == -EPERM || error == -EACCES))
		failure_hint(f, "kernels before 6.6 require root (CAP_SYS_ADMIN) for uprobes; see "
				"`proftrace check`");
	return error;
}
