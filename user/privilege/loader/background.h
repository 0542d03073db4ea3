/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel does for a start while libbpf does something else, each in a thread of its own.
 *
 * It verifies the largest programs, which takes most of the time. It does so for several programs of a privileged caller
 * at once, but libbpf loads one after the other. So libbpf gets an empty program in place of each, whose descriptor
 * becomes that of the real one in the end. And it clears the memory of the ring buffers: the programs refer to one by a
 * descriptor, which is that of a small one until the first of them is loaded.
 *
 * The types of the kernel are read in a thread as well, while libbpf reads the programs.
 */
#ifndef PROFTRACE_PRIVILEGE_LOADER_BACKGROUND_H
#define PROFTRACE_PRIVILEGE_LOADER_BACKGROUND_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"

#define BACKGROUND_LOADS 8

struct kernel_types;

struct background_load {
	struct bpf_program *program;
	struct bpf_prog_load_opts opts;
	struct bpf_insn *insns;
	size_t n_insns;
	pthread_t thread;
	int fd; /* or negative errno */
};

struct background {
	struct background_load loads[BACKGROUND_LOADS];
	unsigned n_loads;
	bool refused;	 /* one of the programs */
	bool sequential; /* libbpf loads all programs itself */
	bool whole;	 /* dead code stays in them */
	struct bpf_map *constants;
	int turn_function; /* what handlers.c puts into the programs that hold threads, before they are loaded */

	pthread_t types_thread;
	bool opens_types;
	struct kernel_types *types; /* NULL: libbpf reads them itself */

	pthread_t buffers_thread;
	bool makes_buffers;
	int buffers[MAX_BUFFERS];
	unsigned n_buffers;
	uint32_t buffer_bytes; /* of each */
	int buffers_error;
	struct bpf_map *records; /* will become the ring buffer */
};

/* Begins to make ring buffers of so many bytes each; makes them at once if no thread can be started. */
void background_make_buffers(struct background *b, unsigned n, uint32_t bytes);
/* Waits for them. Returns 0 or a negative errno. */
int background_await_buffers(struct background *b);
/* Before libbpf loads: this map becomes the ring buffer, if there is only one. Returns 0 or a negative errno. */
int background_begin_records(struct background *b, struct bpf_map *records);

/* Begins to read the types of the kernel; reads them at once if no thread can be started. */
void background_open_types(struct background *b);
/* Waits for them, which are the caller's then: kernel_types_free(). */
struct kernel_types *background_await_types(struct background *b);

/*
 * The kernel then reads no source lines with the program, which it would check, and move whenever it removes dead code. Only
 * the verifier's log has them, and of that only the reason is shown.
 */
static inline void loads_without_lines(struct bpf_prog_load_opts *opts)
{
	opts->line_info_cnt = 0;
}

/*
 * For libbpf_prog_handler_opts::prog_prepare_load_fn of the programs that come first: the cookie is a struct background. If
 * no thread can be started, libbpf loads the program itself.
 */
int background_load(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie);
/*
 * Waits for the programs. `loaded`: libbpf has loaded its own, whose descriptors are those of the real ones from now on;
 * otherwise nothing is kept. Returns 0 or a negative errno.
 */
int background_await_programs(struct background *b, bool loaded);

#endif
