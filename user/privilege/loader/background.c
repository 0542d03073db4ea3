/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts and ends the threads of background.h. */
#include "privilege/loader/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "privilege/loader/dead_code.h"
#include "privilege/loader/kernel_types.h"

/* --- ring buffers ------------------------------------------------------------------------------ */

static void *run_make_buffers(void *context)
{
	struct background *b = context;

	for (unsigned i = 0; i < b->n_buffers; i++) {
		b->buffers[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "records", 0, 0,
					       b->buffer_bytes, NULL);
		if (b->buffers[i] < 0) {
			b->buffers_error = b->buffers[i];
			break;
		}
	}
	return NULL;
}

void background_make_buffers(struct background *b, unsigned n, uint32_t bytes)
{
	b->n_buffers = n;
	b->buffer_bytes = bytes;
	b->makes_buffers = !pthread_create(&b->buffers_thread, NULL, run_make_buffers, b);
	if (!b->makes_buffers)
		run_make_buffers(b);
}

int background_await_buffers(struct background *b)
{
	if (b->makes_buffers)
		pthread_join(b->buffers_thread, NULL);
	b->makes_buffers = false;
	return b->buffers_error;
}

/*
 * libbpf does not make this map itself: 1.4 and 1.5 would tell its descriptor only after all programs are loaded.
 */
int background_begin_records(struct background *b, struct bpf_map *records)
{
	int fd, error;

	b->records = NULL;
	if (b->n_buffers != 1)
		return 0;
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "records", 0, 0, (uint32_t)sysconf(_SC_PAGESIZE),
			    NULL);
	if (fd < 0)
		return fd;
	error = bpf_map__reuse_fd(records, fd);
	close(fd);
	if (!error)
		b->records = records;
	return error;
}

/* Programs that are loaded from now on refer to the ring buffer. */
static int background_put_records(struct background *b)
{
	int error;

	if (!b->records)
		return 0;
	error = background_await_buffers(b);
	error = error ?: descriptors_put(b->buffers[0], bpf_map__fd(b->records));
	b->records = NULL;
	return error;
}

/* --- types ------------------------------------------------------------------------------------- */

static void *run_open_types(void *context)
{
	struct background *b = context;

	if (kernel_types_open(&b->types))
		b->types = NULL;
	return NULL;
}

void background_open_types(struct background *b)
{
	b->opens_types = !pthread_create(&b->types_thread, NULL, run_open_types, b);
	if (!b->opens_types)
		run_open_types(b);
}

struct kernel_types *background_await_types(struct background *b)
{
	if (b->opens_types)
		pthread_join(b->types_thread, NULL);
	b->opens_types = false;
	return b->types;
}

/* --- programs ---------------------------------------------------------------------------------- */

static void *run_load(void *context)
{
	struct background_load *l = context;

	l->fd = bpf_prog_load(bpf_program__type(l->program), bpf_program__name(l->program),
			      PROGRAM_LICENSE, l->insns, l->n_insns, &l->opts);
	if (l->fd < 0)
		l->fd = -errno;
	return NULL;
}

int background_load(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	static struct bpf_insn empty[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct background *b = (struct background *)cookie;
	struct background_load *l;
	int error = background_put_records(b);
	size_t size;

	if (!error && !b->whole)
		error = dead_code_remove_from(program, opts, b->constants);
	if (error)
		return error;
	loads_without_lines(opts);
	if (b->sequential || b->n_loads == BACKGROUND_LOADS)
		return 0;
	l = &b->loads[b->n_loads];
	*l = (struct background_load){ .program = program, .opts = *opts };
	/* A later libbpf has more fields than the one this was compiled for, and would write those behind the copy. */
	if (l->opts.sz > sizeof(l->opts))
		l->opts.sz = sizeof(l->opts);
	/* libbpf 1.3 fills it in later. */
	l->opts.expected_attach_type = bpf_program__expected_attach_type(program);
	l->n_insns = bpf_program__insn_cnt(program);
	size = l->n_insns * sizeof(*l->insns);
	l->insns = malloc(size);
	if (!l->insns)
		return 0;
	memcpy(l->insns, bpf_program__insns(program), size);
	if (pthread_create(&l->thread, NULL, run_load, l)) {
		free(l->insns);
		return 0;
	}
	b->n_loads++;
	/* These describe the instructions. */
	opts->func_info_cnt = 0;
	return bpf_program__set_insns(program, empty, sizeof(empty) / sizeof(empty[0]));
}

int background_await_programs(struct background *b, bool loaded)
{
	int error = 0;

	while (b->n_loads) {
		struct background_load *l = &b->loads[--b->n_loads];

		pthread_join(l->thread, NULL);
		free(l->insns);
		if (l->fd < 0) {
			error = l->fd;
			b->refused = true;
			continue;
		}
		if (loaded)
			error = descriptors_put(l->fd, bpf_program__fd(l->program)) ?: error;
		close(l->fd);
	}
	return error;
}
