/* SPDX-License-Identifier: BSD-2-Clause */
/* What the attacks of overreach share: the processes that they start, and what comes of them. */
#ifndef OVERREACH_H
#define OVERREACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/stacks/stack.h"
#include "privilege/broker/protocol.h"
#include "proftrace.skel.h"

#define EXECUTES_US 100000     /* in which a program has executed another one */
#define LARGE	    (64 << 20) /* memory that takes the kernel a while to free */

/* Where every program that has a secret has it: a buffer with one event, which is text. */
struct secret {
	struct batch_head head;
	char text[64];
};
static struct secret *const secret = (void *)0x10000000;

struct hijacked {
	struct broker *broker;
	struct broker_loaded loaded;
	struct proftrace_bpf__bss *shared;
	struct ring_buffer *ring;
	bool own;
	gid_t group;	    /* of the recorder */
	uint32_t seen_of;   /* process whose buffer came */
	uint32_t announced; /* buffers that the kernel has found and told of */
	uint32_t records;
	uint32_t samples,
		samples_begin; /* of all, and of those at the first instruction of a program */
	pid_t watched;	       /* the process whose marks and system calls are counted */
	uint32_t marks, calls;
	int32_t last_call;
};
extern struct hijacked h;
extern const char *secret_program;

/* overreach.c */
extern int numbers[2]; /* a pipe by which processes say their numbers */
extern int goes[2];    /* a pipe: what processes of attacks wait for */
/* A process that waits for a byte at *ret_end, then does what `then` says. Returns -1 if its number is in use. */
pid_t start(void (*prepare)(void), void (*then)(void), int *ret_end);
extern pid_t next_number; /* the number of the next process; 0: any */
void end(pid_t pid, int at);
void make_secret(void);
/* Nothing is in the buffer yet: all that will be in it is of the child's own. */
void make_empty(void);
/* For processes: say their number; execute the program with the secret, after a byte comes by `goes`. */
void say_number(void);
void execute_at_go(void);
pid_t read_number(void);
bool secret_comes(void);
bool is_traced(pid_t pid);
/* As the recorder says it of threads that had buffers before the recording. */
void say_found(pid_t pid, const struct secret *at);

/* maps.c: what the recorder writes into the maps that it shares with the eBPF programs. */
extern struct secret secret_of_file;
void be_guarded(void);
void read_at_exit(pid_t guarded, int guarded_end, pid_t target, int target_end);
void execute_secret(void);
void read_after_exec(pid_t target, int target_end);
void keep_slot(void);
pid_t start_in_slot(pid_t other, int *ret_end);
void keep_state(pid_t other, int other_end, pid_t target, int target_end);
void execute_with_state(void);
void make_state_late(pid_t target, int target_end);
void execute_with_limits(void);
void read_failed_execs(pid_t target, int target_end);
void end_unrecorded(pid_t target, int target_end);
void fork_and_execute(void);
void inherit_buffers(pid_t target, int target_end);
void fork_with_tables(void);
void fill_tables(pid_t target, int target_end);
void record_alone(pid_t target, int target_end);

/* executions.c: what is recorded of a set-user-ID program at the moment of its execution. */
void execute_often(void);
void sample_executions(pid_t target, int target_end);
void make_large(void);
void record_result(pid_t target, int target_end);

/* requests.c: what the recorder requests of the broker. */
void share_memory(void);
void look_at_memory(void);
void write_to_memory(pid_t target, int target_end);
void make_maps(const pid_t pids[3]);
void open_maps(const pid_t pids[3]);
void stop_keeper(pid_t target, int target_end);

#endif
