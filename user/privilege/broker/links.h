/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the broker has attached: a table of links. The recorder refers to a link by its number in the table.
 *
 * A link says which BPF program is at which sites of a file. Its members are the processes for which it is attached,
 * each with descriptors of its own; or one member without a process, which stands for all processes. So a forked
 * process gets the links of its parent without the recorder, and the recorder detaches all members of a link at once.
 *
 * The thread that serves requests and the thread that follows processes (follow.c) share the table. Functions lock it
 * only if their comment says so; callers of the others hold the lock.
 */
#ifndef PROFTRACE_PRIVILEGE_BROKER_LINKS_H
#define PROFTRACE_PRIVILEGE_BROKER_LINKS_H

#include <pthread.h>

#include "base/hash.h"
#include "privilege/broker/broker.h"

/*
 * Each site slows down all who execute a program that maps its file, also where the kernel has nothing to do for them (by 0.1
 * to 0.3 us): without root, so many sites of functions and other programs' probes, times processes, in files that are not the
 * caller's. That is about half a millisecond for an execution.
 */
#define OWN_MOST_FOREIGN 2048
/*
 * Each recorded process needs some of its own, five to ten with glibc, to be followed: so many suffice for 2048 processes. 515
 * processes with five each made an execution of /bin/true last 0.76 ms longer; all of these take 3 to 6 ms.
 */
#define OWN_MOST_FOREIGN_HOLDS 20480

struct loaded_programs;
struct closers;

/* Where a link's program is. */
struct link_sites {
	uint64_t device, inode; /* of the file */
	enum broker_program program;
	uint64_t *offsets; /* in their order */
	unsigned n;
	unsigned
		n_decoded; /* sites with a link for the broker alone, beside the first one (decode.c) */
	bool foreign;	   /* not markers, and the file is not the caller's */
	/* To attach there again, if each process has links of its own; else NULL and -1. */
	struct broker_site *sites;
	int elf_fd;
};

/* The descriptors of one process for one link. */
struct member {
	struct member *next; /* of its process, or of those that are closed together */
	uint32_t link;
	/*
	 * Its program does nothing. For a process of which another thread than the first executed a program: its links
	 * still run their programs, but the kernel does not put their breakpoints into the new memory, for which it
	 * looks at the thread that was the first.
	 */
	bool installs;
	bool decodes; /* it also has the links of decode.c */
	unsigned n;
	int fds[];
};

struct process {
	pid_t pid;    /* 0: all */
	pid_t parent; /* that it was forked by; 0: unknown */
	uint64_t since_ns;
	uint64_t
		linked_ns; /* when it had the links that its parent had; 0: it was attached to by a request */
	bool ends;  /* the kernel has taken it out of the map of traced processes */
	bool lacks; /* it lacks a link that its parent has, which has been counted */
	struct member *members;
	UT_hash_handle hh;
};

struct links {
	struct closers *closers;
	pthread_mutex_t lock;
	struct link {
		bool used, closing;
		/* As long as there is one, the instructions stay as they were decoded. */
		uint32_t n_members;
		pid_t pid; /* 0: for all processes, or those of its members */
		struct link_sites of;
	} * list;
	uint32_t n, capacity;
	uint32_t n_sites;    /* of all members, and of what is being attached */
	uint32_t most_sites; /* of these */
	/* Of these, in files of others: of hold points, and of all else but markers. */
	uint32_t n_foreign_holds, most_foreign_holds;
	uint32_t n_foreign, most_foreign;
	struct process *processes;
	struct member *partial; /* what was attached of a link before the kernel refused the rest */
	bool ends;		/* atomic: the recorder has ended */
};

struct links *links_new(struct closers *closers);
/* With space for so many descriptors, and none. NULL: no memory. */
struct member *member_new(uint32_t number, unsigned most);
/* Each site takes a descriptor (before Linux 6.6): no more than this process may still have. */
void links_limit_sites(struct links *links);

/* Call link_sites_free() if it is not added. `keep`: to attach there again. Returns 0 or negative errno. */
int link_sites_init(struct link_sites *of, int elf_fd, enum broker_program program,
		    const struct broker_site *sites, unsigned n, bool keep);
void link_sites_free(struct link_sites *of);

/* Locks. Whether the process has exactly this already. */
bool links_has(struct links *links, const struct link_sites *of, pid_t pid, uint32_t *ret_link);
/*
 * Locks. Whether there is space for it, and none of its sites has too many programs already. The space is kept, because
 * children get links while it is attached; call links_add() or links_give_back().
 */
int links_may_add(struct links *links, const struct link_sites *of, pid_t pid, struct failure *f);
/* Locks. It could not be attached. */
void links_give_back(struct links *links, const struct link_sites *of);
/*
 * Locks. Takes over the descriptors, and the offsets if it succeeds. The children of the process get the link, too:
 * they may have been forked when the file was mapped and not yet attached to. Returns 0 or negative errno.
 */
int links_add(struct links *links, const struct loaded_programs *programs, struct link_sites *of,
	      pid_t pid, const int *fds, unsigned n, uint32_t *ret_link);
/* Locks. Unless `later`, none of their programs runs any more when it returns. Returns 0 or negative errno. */
int links_close(struct links *links, const uint32_t *numbers, unsigned n, bool later);
void links_close_all(struct links *links);
/* Locks. Closes what the process has, if there is such a process. */
void links_forget(struct links *links, pid_t pid);

/* From another thread: nothing more is attached for processes that follow, since nobody would read what they record. */
void links_end(struct links *links);
bool links_ended(const struct links *links);

struct process *links_process(const struct links *links, pid_t pid);
/* NULL: there are too many, or no memory. */
struct process *links_process_new(struct links *links, pid_t pid);
/* Forgets the process. Returns what is to be closed. */
struct member *links_process_remove(struct links *links, struct process *p);

/*
 * Returns what is to be closed after the functions below have failed, without the lock: the kernel may take long to detach.
 */
struct member *links_unlink_partial(struct links *links);

/*
 * Attaches for a process what its parent has and it has not, marks first. Returns 0 or negative errno, with what
 * could be attached.
 */
int links_inherit(struct links *links, const struct loaded_programs *programs, struct process *p,
		  const struct process *parent);
/* Attaches again what a process has, after an execution by another thread. *ret_old is to be closed. */
int links_renew(struct links *links, const struct loaded_programs *programs, struct process *p,
		struct member **ret_old);
/* Attaches everything that there is. */
int links_attach_all(struct links *links, const struct loaded_programs *programs,
		     struct process *p);

#endif
