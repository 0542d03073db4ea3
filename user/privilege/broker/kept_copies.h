/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The copies of instructions that the kernel has kept.
 *
 * The kernel copies and decodes the instruction at a uprobe once, for the first process that gets the breakpoint, and every
 * process executes that copy. If the kernel cannot restore the code of some process when the uprobe goes (the page is a guard
 * page, or behind the end of a truncated file), it leaks the uprobe: it stays until the machine is booted, with its copy,
 * and is found by the address of the file's inode in memory and the offset. So it also serves a file that was written over
 * since, and another file whose inode has come to the same address: whose processes would execute an instruction of
 * somebody else's choice.
 *
 * Therefore the broker looks for uprobes at a place before it attaches there for anybody. The file is open meanwhile, so no other
 * one gets its inode. Where there is none, the kernel will copy what is in the file now.
 */
#ifndef PROFTRACE_PRIVILEGE_BROKER_KEPT_COPIES_H
#define PROFTRACE_PRIVILEGE_BROKER_KEPT_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/find_uprobe.h"
#include "privilege/broker/broker.h"

struct kept_copies;
struct loaded_programs;

/*
 * Before the broker confines itself. `program` is that of bpf/find_uprobe.bpf.c; negative: it was not loaded. *ret_kept is NULL if
 * the kernel does not show its copies (before 6.12), or not as this expects. Returns 0 or negative errno.
 */
int kept_copies_new(const struct loaded_programs *programs, int program,
		    struct kept_copies **ret_kept);
/* The link that it holds, to be closed when nothing is attached any more. */
int kept_copies_link(const struct kept_copies *kept);

/* The file that is asked about: an overlay's inode is not that of the file that the kernel attaches to. */
struct kept_file {
	int elf_fd;
	int link; /* with a site of that file; -1: elf_fd is the file itself */
};

/*
 * The first of the sites, from number `from` on, for which the kernel has copied an instruction; n: there is none. Returns
 * 0 or negative errno.
 */
int kept_copies_find(const struct kept_copies *kept, const struct kept_file *file,
		     const struct broker_site *sites, unsigned n, unsigned from, unsigned *ret_at,
		     uint8_t copy[UPROBE_COPY]);

/*
 * Whether what the kernel has for these sites is what it would copy and decode of the file now, for a 64-bit process: the
 * broker has it do this, with the same bytes in a file of its own. Returns 0; -ESTALE: it is not; or negative errno. The links
 * that it made are added to `links`, of which there are links_most() at most, for the caller to close.
 */
int kept_copies_compare(struct kept_copies *kept, const struct loaded_programs *programs,
			const struct kept_file *file, const struct broker_site *sites, unsigned n,
			int *links, unsigned *n_links);

#endif
