/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel describes its types in BTF, about a hundred thousand of them. libbpf reads all of
 * them, and searches all of them for each type that a BPF program refers to, which takes longer
 * than the verifier. This code reads them once and copies the few that our programs refer to;
 * libbpf reads only the copy.
 *
 * BTF that cannot be parsed is an error. Then libbpf reads the types itself.
 */
#ifndef PROFTRACE_PRIVILEGE_LOADER_KERNEL_TYPES_H
#define PROFTRACE_PRIVILEGE_LOADER_KERNEL_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct btf;
struct kernel_types;

#define KERNEL_TYPES_PATH "/sys/kernel/btf/vmlinux"

/* Returns 0 or negative errno. */
int kernel_types_open(struct kernel_types **ret_types);
/* Parses the types in a buffer, which must stay valid until kernel_types_free(). */
int kernel_types_of(const void *data, size_t size, struct kernel_types **ret_types);
void kernel_types_free(struct kernel_types *types);

/* The number of the type to which a program of a raw tracepoint is attached, or -ENOENT. */
int kernel_types_tracepoint(const struct kernel_types *types, const char *name);
/* The same for a program of a function: an iterator is one. */
int kernel_types_function(const struct kernel_types *types, const char *name);
/* How many arguments that tracepoint has, with the first one, which is its context; or negative errno. */
int kernel_types_arguments(const struct kernel_types *types, const char *name);

/*
 * Copies the types whose names occur in `programs`, and the types of their members. Targets of
 * pointers are left out, because a relocation through a pointer names the target itself. *ret_data
 * is BTF; release it with free().
 */
int kernel_types_subset(const struct kernel_types *types, const struct btf *programs,
			void **ret_data, size_t *ret_size);

#endif
