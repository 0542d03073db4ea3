/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the broker's process. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_SERVER_H
#define PROFTRACE_PRIVILEGE_BROKER_SERVER_H

#include "base/clock.h"
#include "privilege/broker/broker.h"
#include "privilege/broker/links.h"
#include "privilege/loader/loader.h"

#define BROKER_NAME "proftrace-broke" /* as the kernel cuts it */

/* Loads the programs, serves requests until the socket ends, and exits. */
_Noreturn void broker_serve(int socket, const struct broker_config *config);

/* segments.c: which parts of an ELF file become code, which data that can be written, and what says so. */
#define SEGMENTS_MAX 256
struct segments {
	struct segment {
		uint32_t type;	     /* PT_LOAD, PT_NOTE, PT_DYNAMIC, PT_GNU_EH_FRAME */
		uint64_t begin, end; /* in the file */
		uint64_t vaddr, align;
		bool code, data; /* of PT_LOAD */
	} list[SEGMENTS_MAX];
	unsigned n;
};
bool segments_read(int elf_fd, struct segments *s);
bool segments_code(const struct segments *s, uint64_t offset, uint64_t size);
bool segments_data(const struct segments *s, uint64_t offset, uint64_t size);
/* Where in the file an address lies: in its code, or in its data that can be written; or in either or none. */
bool segments_offset(const struct segments *s, uint64_t vaddr, bool code, uint64_t *ret_offset);
/* The address of code in the file. */
bool segments_code_vaddr(const struct segments *s, uint64_t offset, uint64_t size,
			 uint64_t *ret_vaddr);
bool segments_within(const struct segments *s, uint64_t vaddr, uint64_t *ret_offset);

/*
 * proof.c: whether the file says of all of these sites that they are such, with these semaphores. `buffered`: the user
 * permits buffered mode.
 */
bool sites_proved(int elf_fd, const struct segments *segments, enum broker_program program,
		  bool buffered, const struct broker_site *sites, unsigned n);

/* Calls and jumps with a distance of 32 bits. Elsewhere the same byte begins other instructions. */
static inline bool is_x86_call(unsigned char opcode)
{
#ifdef __x86_64__
	return opcode == 0xe8 || opcode == 0xe9;
#else
	(void)opcode;
	return false;
#endif
}

/*
 * decode.c: has the kernel decode the instructions at those sites where a 32-bit process could have it decode another
 * one, and looks whether the kernel has other instructions there. What it did so with, *n_links descriptors in links
 * (LINKS_TO_DECODE times links_most()), is to be kept open until something else is attached there, also if it fails. Returns 0 or
 * negative errno; -ENOEXEC: the file system does not permit execution; -ESTALE: the kernel has another instruction.
 */
#define LINKS_TO_DECODE 3
int sites_decode(const struct loaded_programs *programs, int elf_fd,
		 const struct broker_site *sites, unsigned n, int *links, unsigned *n_links);

/* At how many of these sites it has the kernel decode the instruction, with one link for the broker alone. */
unsigned sites_decoded(int elf_fd, const struct broker_site *sites, unsigned n);

/* attach.c: how many descriptors links to n sites are at most. */
unsigned links_most(const struct loaded_programs *programs, unsigned n);
/* *n_links descriptors are written to links ((LINKS_TO_DECODE + 1) times links_most()), which the caller closes, also if it fails. */
int sites_attach(struct loaded_programs *programs, enum broker_program program, pid_t pid,
		 int elf_fd, const struct broker_site *sites, unsigned n, int *links,
		 unsigned *n_links, struct failure *f);

/*
 * The same for sites of which there is nothing to prove, and whose instructions have been decoded (links_most() descriptors).
 * `must_be_traced`: a process that is in the map of traced processes at the last moment. In the middle of it -ECANCELED if the
 * recorder has ended. Returns 0 or negative errno.
 */
int links_create(const struct loaded_programs *programs, int program_fd, pid_t pid,
		 bool must_be_traced, int elf_fd, const struct broker_site *sites, unsigned n,
		 int *links, unsigned *n_links);

/*
 * open.c: a process that the invoking user may trace, and that is not protected, as a descriptor of its directory in /proc,
 * which is never another's of the same number; or negative errno. When its first thread has ended, it is the directory of another
 * thread, which may end before it is used: then the process is looked for again, so many times.
 */
#define PROCESS_TRIES 8
int process_directory(const struct broker_target *target, struct failure *f);
/* Why the invoking user may not look into it, as it is now; NULL: it may. */
const char *process_untraceable(int directory);
/* Whether it executes the same file as this process; or negative errno. */
int runs_this_program(int directory);
/* The broker of any recorder, a process that it forked, or another one of root's that protected_fork() has made. */
bool process_protected(int directory);
/* How many others than its own were refused for this reason. Of the thread that serves requests. */
uint64_t processes_protected(void);
pid_t process_parent(int directory); /* 0 if it is unknown */
/* Whether the thread whose directory it is has not begun to end. */
bool process_alive(int directory);
/*
 * Whether it may have links of its own: the kernel puts their breakpoints into the memory of the process's first thread. Returns
 * `error`, and sets the failure, if that has ended and others have not.
 */
int process_check_first(pid_t pid, int error, const struct broker_config *config,
			struct failure *f);
/* Its start, in clock ticks after boot; 0 if it has exited. */
uint64_t process_birth(int directory);
/* find.c: whether it matches, in which the name of its first thread counts as well if that has ended. */
bool process_matches(const struct target_filter *filter, const struct target_containers *containers,
		     int directory, pid_t pid);
/* requested.c: the processes that the recorder may name. */
struct container_watch;
struct requested {
	const struct broker_config *config;
	const struct container_watch *watch;
	pid_t recorder;
	struct broker_target *list; /* those of the command line, and those that were handed over */
	unsigned n;
};

int requested_init(struct requested *requested, const struct broker_config *config,
		   const struct container_watch *watch);
bool requested_has(const struct requested *requested, int directory, pid_t pid);
/* Adds a process that another proftrace hands over by this socket, with its start, or refuses it with -EPERM. */
int requested_adopt(struct requested *requested, pid_t pid, int socket, uint64_t *ret_birth,
		    struct failure *f);
/*
 * find.c: the first processes that match, at most `max`; not those of proftrace itself, nor those that are watched. `watch` is called
 * for each as soon as it is found.
 */
struct process_search {
	const struct target_filter *filter;
	const struct target_containers *containers;
	const struct loaded_programs *programs;
	pid_t recorder;
	void (*watch)(void *context, pid_t pid);
	void *context;
	uint32_t *pids;
	unsigned n, max;
};
int processes_find(struct process_search *search);
int process_open(enum broker_file what, const struct broker_target *target, uint64_t start,
		 uint64_t end, struct failure *f);

#endif
