/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records of sched.bpf.c. There may be hundreds of thousands per second, so they have a compact
 * layout of their own. Only time, process, thread and kind are at the same offsets as in struct
 * record.
 */
#ifndef PROFTRACE_BPF_SCHED_RECORDS_H
#define PROFTRACE_BPF_SCHED_RECORDS_H

#include "bpf/event.h"
#include "bpf/sched/wait_reasons.h"

enum sched_flags {
	SCHED_TRACED = 1,      /* the thread in the head belongs to a traced process */
	SCHED_NEXT_TRACED = 2, /* the other thread does */
	SCHED_PREEMPTED = 4,   /* SWITCH: the thread could have continued */
	SCHED_COMM = 8,	       /* SWITCH: the record ends with the name of the next task */
	SCHED_EXITING = 16,    /* the thread in the head is exiting */
	SCHED_NEXT_EXITING = 32,
	SCHED_INTERRUPT = 64, /* WAKING: by an interrupt that ran on the waker's time */
	SCHED_ON_QUEUE = 128, /* WAKING: the thread had not gone to sleep yet */
};

/*
 * Replaces the number of another user's task; a different one for each CPU, so that none runs on
 * two CPUs.
 */
#define SCHED_HIDDEN_TID 0x7fff0000u

struct record_switch {
	__u64 ts;
	__u32 tgid;
	__u32 tid;
	__u32 next_tgid;
	__u32 next_tid;
	__u16 state; /* bits of the kernel: TASK_INTERRUPTIBLE, ..., EXIT_DEAD, ... */
	__u16 cpu;
	__u8 kind;
	__u8 flags;
	__u8 prio;
	__u8 next_prio;
	char comm[COMM_SIZE];
};

struct record_waking {
	__u64 ts;
	__u32 tgid;
	__u32 tid;
	__u32 waker_tgid;
	__u32 waker_tid;
	__u16 target_cpu;
	__u16 cpu;
	__u8 kind;
	__u8 flags;
	__u8 prio;
	__u8 unused;
};

/* Why a traced thread blocks. Comes just before its record_switch, with the same time. */
struct record_wait {
	__u64 ts;
	__u32 tgid;
	__u32 tid;
	__s32 call;	  /* number of the system call, or WAIT_NO_CALL */
	__u16 mode;	  /* of the file: type and permissions */
	__u16 family;	  /* of a socket */
	__u16 port;	  /* of the peer, big endian */
	__u16 local_port; /* native order */
	__u8 kind;
	__u8 reason;   /* enum wait_reason */
	__u8 flags;    /* enum wait_flags */
	__u8 protocol; /* of a socket: SOCK_STREAM, SOCK_DGRAM, ... */
	__u64 address; /* of a futex; in a page fault, of the instruction */
	__u64 inode;
	__u32 device; /* of the file's file system, as the kernel encodes it */
	__u32 unused;
	/* The last part of the file's path with a NUL; of a socket, the address of its peer. */
	char file[WAIT_FILE_NAME];
};

/* A system call that has returned. */
struct record_syscall {
	__u64 ts; /* when it returned */
	__u32 tgid;
	__u32 tid;
	__s32 call; /* its number */
	__s32 fd;   /* -1: its first argument is no file descriptor */
	__u32 unused;
	__u8 kind;
	__u8 class; /* enum wait_reason and WAIT_OF_FILE */
	__u16 unused2;
	__u64 begin;
	__s64 result;
};

_Static_assert(__builtin_offsetof(struct record_syscall, kind) ==
		       __builtin_offsetof(struct record, kind),
	       "the head of a record can be read of any");

enum wait_flags {
	WAIT_HAS_FILE = 1,
};

_Static_assert(__builtin_offsetof(struct record_wait, kind) ==
		       __builtin_offsetof(struct record, kind),
	       "the head of a record can be read of any");
_Static_assert(__builtin_offsetof(struct record_switch, kind) ==
			       __builtin_offsetof(struct record, kind) &&
		       __builtin_offsetof(struct record_waking, kind) ==
			       __builtin_offsetof(struct record, kind) &&
		       sizeof(struct record_waking) == sizeof(struct record),
	       "the head of a record can be read of any");

#endif
