/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries whether the kernel has the fix of CVE-2024-41009: records of a ring buffer must not overlap, whatever the reader
 * writes as its position. Here it writes that it has read three of four pages of an empty buffer. Then a second record of
 * three pages begins where the first one ends, and has the first one's header in the middle. It is discarded, and nothing
 * is written to either.
 */
#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "privilege/loader/features.h"

#define NO_SECOND 1 /* what the program returns */
#define OVERLAP	  2

#define LOAD_MAP(fd)                         \
	{ .code = BPF_LD | BPF_DW | BPF_IMM, \
	  .dst_reg = BPF_REG_1,              \
	  .src_reg = BPF_PSEUDO_MAP_FD,      \
	  .imm = fd },                       \
	{                                    \
		0                            \
	}
#define SET(reg, value)                                                           \
	{                                                                         \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = reg, .imm = value \
	}
#define COPY(to, from)                                                              \
	{                                                                           \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = to, .src_reg = from \
	}
#define CALL(function)                                      \
	{                                                   \
		.code = BPF_JMP | BPF_CALL, .imm = function \
	}
#define SKIP_IF_NULL(n)                                                           \
	{                                                                         \
		.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = n \
	}

static int trial_load(int ring, int size)
{
	const struct bpf_insn reserves[] = {
		SET(BPF_REG_6, 0),
		LOAD_MAP(ring),
		SET(BPF_REG_2, size),
		SET(BPF_REG_3, 0),
		CALL(BPF_FUNC_ringbuf_reserve),
		SKIP_IF_NULL(15),
		COPY(BPF_REG_7, BPF_REG_0),
		SET(BPF_REG_6, NO_SECOND),
		LOAD_MAP(ring),
		SET(BPF_REG_2, size),
		SET(BPF_REG_3, 0),
		CALL(BPF_FUNC_ringbuf_reserve),
		SKIP_IF_NULL(4),
		SET(BPF_REG_6, OVERLAP),
		COPY(BPF_REG_1, BPF_REG_0),
		SET(BPF_REG_2, BPF_RB_NO_WAKEUP),
		CALL(BPF_FUNC_ringbuf_discard),
		COPY(BPF_REG_1, BPF_REG_7),
		SET(BPF_REG_2, BPF_RB_NO_WAKEUP),
		CALL(BPF_FUNC_ringbuf_discard),
		COPY(BPF_REG_0, BPF_REG_6),
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "overlap", "GPL", reserves,
			     sizeof(reserves) / sizeof(reserves[0]), NULL);
}

enum records_overlap kernel_records_overlap(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "overlap", 0, 0, 4 * page, NULL);
	int program = ring < 0 ? -1 : trial_load(ring, 3 * page);
	unsigned long *position =
		ring < 0 ? MAP_FAILED
			 : mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (program >= 0 && position != MAP_FAILED) {
		*position = 3 * page;
		if (bpf_prog_test_run_opts(program, &opts))
			opts.retval = 0;
	}
	if (position != MAP_FAILED)
		munmap(position, page);
	if (program >= 0)
		close(program);
	if (ring >= 0)
		close(ring);
	return opts.retval == OVERLAP	  ? RECORDS_OVERLAP
	       : opts.retval == NO_SECOND ? RECORDS_APART
					  : RECORDS_UNKNOWN;
}
