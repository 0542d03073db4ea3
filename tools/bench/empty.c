/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads and attaches the BPF programs of empty.h. */
#include "empty.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/event.h"
#include "privilege/loader/empty_program.h"
#include "privilege/loader/trial.h"
#include "privilege/broker/server.h"
#include "subject.h"
#include "tracee/markers.h"

#define RING_BYTES (8 << 20) /* more than all rounds of a repetition fill */
#define RECORD	   32

#define MOVE(dst, src)                                                              \
	{                                                                           \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = dst, .src_reg = src \
	}
#define SET(dst, value)                                                           \
	{                                                                         \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = dst, .imm = value \
	}
#define CALL(function)                                      \
	{                                                   \
		.code = BPF_JMP | BPF_CALL, .imm = function \
	}
#define STORE(dst, at, src)                                                                   \
	{                                                                                     \
		.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = dst, .src_reg = src, .off = at \
	}
#define SKIP_IF_NULL(reg, n)                                                \
	{                                                                   \
		.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = reg, .off = n \
	}
#define EXIT                               \
	{                                  \
		.code = BPF_JMP | BPF_EXIT \
	}

static int load_instructions(const struct bpf_insn *list, unsigned n, unsigned attach_type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "bench", "GPL", list, n, &opts);

	return fd < 0 ? -errno : fd;
}

static int load_clock(unsigned attach_type)
{
	const struct bpf_insn list[] = { CALL(BPF_FUNC_ktime_get_ns), SET(0, 0), EXIT };

	return load_instructions(list, sizeof(list) / sizeof(list[0]), attach_type);
}

static int load_record(struct empty *e, unsigned attach_type)
{
	e->ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "bench", 0, 0, RING_BYTES, NULL);
	if (e->ring < 0)
		return -errno;
	const struct bpf_insn list[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = e->ring },
		{ 0 }, /* the upper half of the number */
		SET(2, RECORD),
		SET(3, 0),
		CALL(BPF_FUNC_ringbuf_reserve),
		SKIP_IF_NULL(0, 9),
		MOVE(6, 0),
		CALL(BPF_FUNC_ktime_get_ns),
		STORE(6, 0, 0),
		STORE(6, 8, 0),
		STORE(6, 16, 0),
		STORE(6, 24, 0),
		MOVE(1, 6),
		SET(2, BPF_RB_NO_WAKEUP),
		CALL(BPF_FUNC_ringbuf_submit),
		SET(0, 0),
		EXIT,
	};

	return load_instructions(list, sizeof(list) / sizeof(list[0]), attach_type);
}

static int load(struct empty *e, enum empty_program program, bool multi)
{
	unsigned attach_type = multi ? TRACE_UPROBE_MULTI : 0;

	if (program == PROGRAM_CLOCK)
		return load_clock(attach_type);
	if (program == PROGRAM_RECORD)
		return load_record(e, attach_type);
	return empty_program_load(attach_type, 0);
}

enum optimised_nop try_optimised_nop(void)
{
	enum optimised_nop nop = OPTIMISED_NOP_WRONG;
	struct trial *trial;
	pid_t ended;

	if (trial_new(&trial))
		return nop;
	nop = kernel_optimised_nop(trial);
	ended = trial_end(trial);
	if (ended > 0)
		waitpid(ended, NULL, 0);
	return nop;
}

/* Those of marks. The others hand over buffers. */
static struct broker_site *probe_sites(const struct marker_sites *sites, unsigned *ret_n)
{
	struct broker_site *list = calloc(sites->n + 1, sizeof(*list));
	bool fast = try_optimised_nop() == OPTIMISED_NOP_CORRECT;
	unsigned i;

	*ret_n = 0;
	for (i = 0; list && i < sites->n; i++) {
		const struct marker_site *s = &sites->sites[i];

		if (s->kind >= RECORD_FLUSH)
			continue;
		list[*ret_n].offset = fast && s->optimised_offset ? s->optimised_offset : s->offset;
		list[(*ret_n)++].semaphore_offset = s->semaphore_offset;
	}
	return list;
}

static int attach(struct empty *e, int fd, const struct marker_sites *sites,
		  enum empty_program program, struct failure *f)
{
	struct loaded_programs programs = { .uprobe_multi = kernel_has_uprobe_multi() };
	unsigned n;
	struct broker_site *list = probe_sites(sites, &n);
	uint64_t begun;
	int error;

	e->links = calloc(sites->n + 1, sizeof(*e->links));
	if (!list || !e->links) {
		free(list);
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	}
	e->program = load(e, program, programs.uprobe_multi);
	if (e->program < 0) {
		free(list);
		return failure_set(f, e->program, "cannot load a BPF program", "", NULL);
	}
	programs.program_fds[BROKER_MARKS] = e->program;
	begun = bench_clock();
	error = sites_attach(&programs, BROKER_MARKS, 0, fd, list, n, e->links, &e->n_links, f);
	e->attach_ns = bench_clock() - begun;
	e->n_sites = n;
	free(list);
	return error;
}

int empty_attach(struct empty *e, const char *path, enum empty_program program, struct failure *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	struct marker_sites sites = { 0 };
	struct elf_file *elf = NULL;

	memset(e, 0, sizeof(*e));
	e->program = -1;
	e->ring = -1;
	if (fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	error = elf_file_open(fd, &elf, f);
	if (!error) {
		error = markers_find(elf, &sites, f);
		elf_file_free(elf);
	}
	if (!error)
		error = attach(e, fd, &sites, program, f);
	marker_sites_free(&sites);
	close(fd);
	if (error)
		empty_detach(e);
	return error;
}

int empty_attach_calls(struct empty *e)
{
	static const char *const points[] = { "sys_enter", "sys_exit" };
	const struct bpf_insn list[] = { SET(0, 0), EXIT };
	int error = 0;

	memset(e, 0, sizeof(*e));
	e->ring = -1;
	e->links = calloc(2, sizeof(*e->links));
	e->program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "bench", "GPL", list, 2, NULL);
	if (e->program < 0)
		error = -errno;
	for (unsigned i = 0; !error && e->links && i < 2; i++) {
		int fd = bpf_raw_tracepoint_open(points[i], e->program);

		if (fd < 0)
			error = -errno;
		else
			e->links[e->n_links++] = fd;
	}
	if (!e->links)
		error = -ENOMEM;
	if (error)
		empty_detach(e);
	return error;
}

void empty_detach(struct empty *e)
{
	while (e->n_links)
		close(e->links[--e->n_links]);
	free(e->links);
	e->links = NULL;
	if (e->program >= 0)
		close(e->program);
	if (e->ring >= 0)
		close(e->ring);
	e->program = -1;
	e->ring = -1;
}
