/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a thread in the dynamic linker has mapped a library that the recorder must see.
 *
 * The linker lists the libraries of a process in the order in which it mapped them, so that the new ones are at the end.
 * If the recorder has seen the files of all new ones before, and has found nothing to attach to or has attached to them
 * for all processes, the thread need not wait. A program can write what it likes into the list; then it hides its own
 * marks.
 */
#ifndef PROFTRACE_BPF_NEW_LIBRARIES_H
#define PROFTRACE_BPF_NEW_LIBRARIES_H

#include "bpf/processes/target_match.h"

/* Offsets in struct r_debug and struct link_map of <link.h>. Debuggers rely on them, so they do not change. */
#define R_MAP_OFFSET	  8
#define LINK_MAP_DYNAMIC  16
#define LINK_MAP_NEXT	  24
#define LINK_MAPS_AT_MOST 4096 /* if there are more, the thread waits */

#define LIBRARIES_ARE_NEW (1ull << 32)

/* A walk through the list. */
struct link_maps {
	__u64 next;
	__u32 n;
	__u32 seen; /* so many at the beginning need not be examined */
	__u32 is_new;
};

/*
 * Reads a word after another one, whose value is `before`. A program has no barriers, and arm64 reads in any order, but where
 * the address of what is read comes from what was read before. The compiler must not see that nothing of it remains.
 */
static __always_inline __u64 read_after(const volatile __u64 *place, __u64 before)
{
	asm volatile("%0 &= 0" : "+r"(before));
	return *(const volatile __u64 *)((const volatile char *)place + before);
}

/* There is one branch, and *is_new is not 0 instead of 1, since the verifier would follow each way on its own. */
static long examine_mapped_file(struct task_struct *task, struct vm_area_struct *vma, __u64 *is_new)
{
	struct inode *inode = BPF_CORE_READ(vma, vm_file, f_inode);
	__u64 key, size, of, known_size, other = ~0ull;
	volatile struct known_file *known;
	unsigned slots;

	if (!inode) {
		/* The kernel's own library is in the list as well. Only its dynamic section can be executed. */
		*is_new = ~BPF_CORE_READ(vma, vm_flags) & MAPPED_EXECUTABLE;
		return 0;
	}
	key = known_file_key(BPF_CORE_READ(inode, i_sb, s_dev), BPF_CORE_READ(inode, i_ino));
	size = BPF_CORE_READ(inode, i_size);
	slots = known_file_slots(key);
	for (unsigned i = 0; i < KNOWN_FILE_SLOTS; i++) {
		known = &known_files[slots + i];
		of = known->key;
		known_size = read_after(&known->size, of);
		/* Read again, since the recorder may change it meanwhile. */
		other &= mask_of((known_size ^ size) | (of ^ key) |
				 (read_after(&known->key, known_size) ^ key));
	}
	*is_new = ~mask_of(key) | other;
	return 0;
}

/*
 * `map` is the address of the library's struct link_map. Its dynamic section is part of its file's data. A global function, so
 * that the verifier checks it once and not in each of the states in which it finds the loop below.
 */
__noinline int is_known_library(__u64 map)
{
	__u64 dynamic, is_new = 1;

	/* Before Linux 6.8, a global function is checked even if it is never called. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma) ||
	    bpf_probe_read_user(&dynamic, sizeof(dynamic), (void *)(map + LINK_MAP_DYNAMIC)))
		return 0;
	bpf_find_vma(bpf_get_current_task_btf(), dynamic, examine_mapped_file, &is_new, 0);
	return !is_new;
}

static long pass_link_map(__u32 i, struct link_maps *l)
{
	if (!l->next)
		return 1;
	if (l->n >= l->seen && !l->is_new)
		l->is_new = !is_known_library(l->next);
	l->n++;
	if (bpf_probe_read_user(&l->next, sizeof(l->next), (void *)(l->next + LINK_MAP_NEXT))) {
		l->is_new = 1;
		return 1;
	}
	return 0;
}

/*
 * Returns the number of libraries, or 0 if it is unknown, and in the upper half whether there are new ones after the first
 * `seen`. `debug` is the address of _r_debug. A global function for the same reason.
 */
__noinline __u64 find_new_libraries(__u64 debug, __u32 seen)
{
	struct link_maps l = { .seen = seen };

	/* As unknown_zero(), which would take more stack: else the verifier would remove the question whether it still is 0. */
	bpf_probe_read_kernel(&l.is_new, sizeof(l.is_new), (const void *)&target_zero);
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma) ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop) ||
	    bpf_probe_read_user(&l.next, sizeof(l.next), (void *)(debug + R_MAP_OFFSET)))
		return LIBRARIES_ARE_NEW;
	bpf_loop(LINK_MAPS_AT_MOST, pass_link_map, &l, 0);
	if (l.next)
		return LIBRARIES_ARE_NEW;
	return (l.is_new ? LIBRARIES_ARE_NEW : 0) | l.n;
}

#endif
