/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asking the kernel for one mapping of a process, by a descriptor of /proc/PID/maps: PROCMAP_QUERY of linux/fs.h, since Linux 6.11.
 * Earlier headers do not have it.
 */
#ifndef PROFTRACE_PRIVILEGE_MAPPING_QUERY_H
#define PROFTRACE_PRIVILEGE_MAPPING_QUERY_H

#include <stdint.h>
#include <sys/ioctl.h>

/* Of the question and of the answer. */
enum {
	MAPPING_READABLE = 1,
	MAPPING_WRITABLE = 2,
	MAPPING_EXECUTABLE = 4,
	MAPPING_SHARED = 8,
	MAPPING_OR_NEXT =
		16, /* of the question: the one at the address, or the first one behind it */
};

/* struct procmap_query */
struct mapping_query {
	uint64_t size;	  /* of this */
	uint64_t flags;	  /* of the question */
	uint64_t address; /* of the question */
	uint64_t start;
	uint64_t end;
	uint64_t is; /* flags of the answer */
	uint64_t page_size;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	uint32_t name_size; /* of the buffer, then of the name with its NUL; 0: it has none */
	uint32_t build_id_size;
	uint64_t name;	   /* address of the buffer */
	uint64_t build_id; /* address of the buffer */
};

#define MAPPING_QUERY _IOWR('f', 17, struct mapping_query)

#endif
