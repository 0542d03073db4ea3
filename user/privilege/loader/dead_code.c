/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows a program along all ways that it can take with what is known of its registers: constants, and addresses of
 * constants. Where two ways meet, what differs is unknown from there on; then they are followed again.
 */
#include "privilege/loader/dead_code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "privilege/loader/dead_code_step.h"

enum {
	INSN_RUNS = 1,
	INSN_JUMPS = 2,
	INSN_PASSES = 4, /* a branch that is not always taken */
	INSN_STAYS = 8,
};

struct meeting {
	struct known known;
	bool is_reached;
	bool is_queued;
};

struct ways {
	struct bpf_insn *code;
	size_t n;
	const struct program_constants *constants;
	uint8_t *seen;	  /* of each instruction */
	uint32_t *places; /* of each instruction: to which others lead; 0: none does */
	uint32_t *queue;
	uint32_t n_places;
	uint32_t n_queued;
	struct meeting *meetings; /* of each place */
};

static bool insn_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool insn_is_function(const struct bpf_insn *insn)
{
	return (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL) ||
	       (insn_is_wide(insn) && insn->src_reg == BPF_PSEUDO_FUNC);
}

static bool insn_is_goto(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA);
}

static bool insn_is_branch(const struct bpf_insn *insn)
{
	const uint8_t class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && operation != BPF_JA &&
	       operation != BPF_CALL && operation != BPF_EXIT;
}

#define NO_TARGET INT64_MIN

/* The instruction that another one may lead to beside its next one. */
static int64_t insn_target(const struct bpf_insn *code, size_t i)
{
	if (insn_is_function(&code[i]))
		return (int64_t)i + 1 + code[i].imm;
	if (insn_is_goto(&code[i]) || insn_is_branch(&code[i]))
		return (int64_t)i + 1 + code[i].off;
	return NO_TARGET;
}

/* --- following --------------------------------------------------------------------------------- */

static void ways_add_place(struct ways *w, size_t at)
{
	if (!w->places[at])
		w->places[at] = ++w->n_places;
}

/* False: an instruction that no compiler of today makes. */
static bool ways_find_places(struct ways *w)
{
	ways_add_place(w, 0);
	for (size_t i = 0; i < w->n; i += insn_is_wide(&w->code[i]) ? 2 : 1) {
		int64_t target = insn_target(w->code, i);

		if (!known_follows(&w->code[i]) || target >= (int64_t)w->n ||
		    (target < 0 && target != NO_TARGET) ||
		    (insn_is_wide(&w->code[i]) && i + 1 == w->n))
			return false;
		if (target >= 0)
			ways_add_place(w, (size_t)target);
	}
	return true;
}

static void ways_lead_to(struct ways *w, size_t at, const struct known *known)
{
	struct meeting *m = &w->meetings[w->places[at] - 1];
	bool changes = !m->is_reached;

	if (m->is_reached)
		changes = known_meet(&m->known, known);
	else
		m->known = *known;
	m->is_reached = true;
	if (changes && !m->is_queued) {
		m->is_queued = true;
		w->queue[w->n_queued++] = (uint32_t)at;
	}
}

/* Returns whether the next instruction may follow. */
static bool ways_step(struct ways *w, size_t i, struct known *known)
{
	static const struct known nothing;
	const struct bpf_insn *insn = &w->code[i];
	enum branch branch;

	w->seen[i] |= INSN_RUNS;
	if (insn_is_function(insn))
		ways_lead_to(w, (size_t)insn_target(w->code, i), &nothing);
	if (insn->code == (BPF_JMP | BPF_EXIT))
		return false;
	if (insn_is_goto(insn)) {
		ways_lead_to(w, (size_t)insn_target(w->code, i), known);
		return false;
	}
	if (!insn_is_branch(insn)) {
		known_step(known, insn, w->constants);
		return true;
	}
	branch = known_branch(known, insn);
	if (branch != BRANCH_NEVER) {
		w->seen[i] |= INSN_JUMPS;
		ways_lead_to(w, (size_t)insn_target(w->code, i), known);
	}
	if (branch != BRANCH_ALWAYS)
		w->seen[i] |= INSN_PASSES;
	return branch != BRANCH_ALWAYS;
}

/* False: the program leaves its instructions. */
static bool ways_follow(struct ways *w)
{
	static const struct known nothing;

	ways_lead_to(w, 0, &nothing);
	while (w->n_queued) {
		size_t i = w->queue[--w->n_queued];
		struct meeting *m = &w->meetings[w->places[i] - 1];
		struct known known = m->known;

		m->is_queued = false;
		while (ways_step(w, i, &known)) {
			i += insn_is_wide(&w->code[i]) ? 2 : 1;
			if (i >= w->n)
				return false;
			if (w->places[i]) {
				ways_lead_to(w, i, &known);
				break;
			}
		}
	}
	return true;
}

/* --- removing ---------------------------------------------------------------------------------- */

/* Marks what remains, and makes jumps of branches that are always taken. */
static void ways_mark(struct ways *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct bpf_insn *insn = &w->code[i];

		if (!(w->seen[i] & INSN_RUNS))
			continue;
		if (!insn_is_branch(insn) || w->seen[i] & INSN_JUMPS)
			w->seen[i] |= INSN_STAYS;
		if (insn_is_branch(insn) && !(w->seen[i] & INSN_PASSES))
			*insn = (struct bpf_insn){ .code = BPF_JMP | BPF_JA, .off = insn->off };
		if (insn_is_wide(insn))
			w->seen[++i] |= INSN_STAYS;
	}
}

/* Removes jumps to what follows then anyway. The kernel would do it one by one. */
static void ways_mark_jumps(struct ways *w)
{
	for (size_t i = w->n; i-- > 0;) {
		int64_t next = (int64_t)i + 1, target = insn_target(w->code, i);

		if (!(w->seen[i] & INSN_STAYS) || !insn_is_goto(&w->code[i]))
			continue;
		while (next < target && !(w->seen[next] & INSN_STAYS))
			next++;
		if (next == target)
			w->seen[i] &= ~INSN_STAYS;
	}
}

/* `places` becomes the new number of each instruction, or that of the next one that remains. */
static void ways_number(struct ways *w)
{
	uint32_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		w->places[i] = n;
		n += (w->seen[i] & INSN_STAYS) != 0;
	}
}

static void ways_move(struct ways *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct bpf_insn insn = w->code[i];
		int64_t target = insn_target(w->code, i);

		if (!(w->seen[i] & INSN_STAYS))
			continue;
		if (target >= 0) {
			int distance = (int)w->places[target] - (int)n - 1;

			if (insn_is_function(&insn))
				insn.imm = distance;
			else
				insn.off = (int16_t)distance;
		}
		w->code[n++] = insn;
		/* The second half is no instruction. */
		if (insn_is_wide(&insn))
			w->code[n++] = w->code[++i];
	}
	w->n = n;
}

/* `opts` says where each function begins. Nothing leads to those that are removed. */
static void ways_move_functions(const struct ways *w, struct bpf_prog_load_opts *opts)
{
	const size_t size = opts->func_info_rec_size;
	uint8_t *list = (uint8_t *)opts->func_info;
	uint32_t n = 0;

	for (uint32_t i = 0; i < opts->func_info_cnt; i++) {
		uint8_t *function = list + n * size;
		uint32_t at;

		memmove(function, list + i * size, size);
		memcpy(&at, function, sizeof(at));
		if (!(w->seen[at] & INSN_RUNS))
			continue;
		at = w->places[at];
		memcpy(function, &at, sizeof(at));
		n++;
	}
	opts->func_info_cnt = n;
}

static bool ways_begin(struct ways *w)
{
	w->seen = calloc(w->n, sizeof(*w->seen));
	w->places = calloc(w->n, sizeof(*w->places));
	if (!w->seen || !w->places || !ways_find_places(w))
		return false;
	w->queue = calloc(w->n_places, sizeof(*w->queue));
	w->meetings = calloc(w->n_places, sizeof(*w->meetings));
	return w->queue && w->meetings;
}

void dead_code_remove(struct bpf_insn *code, size_t *n, struct bpf_prog_load_opts *opts,
		      const struct program_constants *constants)
{
	struct ways w = { .code = code, .n = *n, .constants = constants };

	if (ways_begin(&w) && ways_follow(&w)) {
		ways_mark(&w);
		ways_mark_jumps(&w);
		ways_number(&w);
		ways_move_functions(&w, opts);
		ways_move(&w);
		*n = w.n;
	}
	free(w.seen);
	free(w.places);
	free(w.queue);
	free(w.meetings);
}

int dead_code_remove_from(struct bpf_program *program, struct bpf_prog_load_opts *opts,
			  struct bpf_map *constants)
{
	struct program_constants known = { .fd = bpf_map__fd(constants) };
	size_t n = bpf_program__insn_cnt(program);
	struct bpf_insn *code = malloc(n * sizeof(*code));
	int error;

	if (!code)
		return 0;
	known.data = bpf_map__initial_value(constants, &known.size);
	if (!known.data)
		known.size = 0;
	memcpy(code, bpf_program__insns(program), n * sizeof(*code));
	dead_code_remove(code, &n, opts, &known);
	error = bpf_program__set_insns(program, code, n);
	free(code);
	return error;
}
