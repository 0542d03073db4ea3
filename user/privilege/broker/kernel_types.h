/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel describes its types in BTF, a hundred thousand of them. libbpf reads them all and looks through
 * all of them for each one that a BPF program refers to, which takes longer than the verifier does. Here
 * they are gone through once, and the few that our programs refer to are copied: that is what libbpf
 * gets to read.
 *
 * What cannot be made sense of is an error: then libbpf does it all.
 */
#ifndef PROFTRACE_PRIVILEGE_BROKER_KERNEL_TYPES_H
#define PROFTRACE_PRIVILEGE_BROKER_KERNEL_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct btf;
struct kernel_types;

#define KERNEL_TYPES_PATH "/sys/kernel/btf/vmlinux"

/* Returns 0 or negative errno. */
int kernel_types_open(struct kernel_types **ret_types);
/* Of bytes that stay where they are until kernel_types_free(). */
int kernel_types_of(const void *data, size_t size, struct kernel_types **ret_types);
void kernel_types_free(struct kernel_types *types);

/* What a raw tracepoint's program is attached to by: the number of its type, or -ENOENT. */
int kernel_types_tracepoint(const struct kernel_types *types, const char *name);

/*
 * Those types that have a name which `programs` has, too, and what is in them; what they point to is
 * left out, since nobody relocates that without naming it. *ret_data is BTF again, for free().
 */
int kernel_types_subset(const struct kernel_types *types, const struct btf *programs,
			void **ret_data, size_t *ret_size);

#endif
