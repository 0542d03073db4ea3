/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libbpf calls before it loads a program, by the section that it is in: watchers get the numbers of what they are attached
 * to, and the large programs are loaded by threads of their own (background.h).
 */
#include "privilege/loader/internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "privilege/loader/background.h"
#include "privilege/loader/dead_code.h"
#include "privilege/loader/kernel_types.h"

/* Puts a call of the kernel's function where TURN_FUNCTION is called. */
static int put_turn_function(struct bpf_program *program, int turn_function)
{
	const size_t n = bpf_program__insn_cnt(program);
	struct bpf_insn *code = malloc(n * sizeof(*code));
	int error;

	if (!code)
		return -ENOMEM;
	memcpy(code, bpf_program__insns(program), n * sizeof(*code));
	for (size_t i = 0; i < n; i++) {
		if (code[i].code == (BPF_JMP | BPF_CALL) && !code[i].src_reg &&
		    code[i].imm == TURN_FUNCTION) {
			code[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
			code[i].imm = turn_function;
		}
	}
	error = bpf_program__set_insns(program, code, n);
	free(code);
	return error;
}

/*
 * libbpf would look up the tracepoint by its name, for which it reads all types of the kernel. So
 * libbpf sees a program of another type until here. A program that visits all threads has the name of such an iterator,
 * and one that runs when a function of the kernel is called has that of the function.
 */
static int prepare_watcher(struct bpf_program *program, struct bpf_prog_load_opts *opts,
			   long cookie)
{
	const struct background *background = (const struct background *)cookie;
	const struct kernel_types *types = background->types;
	static const struct {
		const char *prefix;
		enum bpf_attach_type attach;
		const char *before; /* in the name of the kernel's function */
	} kinds[] = {
		{ "bpf_iter_", BPF_TRACE_ITER, "bpf_iter_" },
		{ "fentry_", BPF_TRACE_FENTRY, "" },
		{ "", BPF_TRACE_RAW_TP, NULL },
	};
	const char *name = strchr(bpf_program__section_name(program), '/');
	char function[64];
	unsigned kind = 0;
	int id, error = 0;

	if (!name++)
		return -EINVAL;
	while (strncmp(name, kinds[kind].prefix, strlen(kinds[kind].prefix)) != 0)
		kind++;
	name += strlen(kinds[kind].prefix);
	loads_without_lines(opts);
	if (kinds[kind].attach == BPF_TRACE_FENTRY && background->turn_function)
		error = put_turn_function(program, background->turn_function);
	error = error ?: dead_code_remove_from(program, opts, background->constants);
	if (error)
		return error;
	/* libbpf 1.3 asks the program after this function has returned, and others have asked it before. */
	opts->expected_attach_type = kinds[kind].attach;
	bpf_program__set_expected_attach_type(program, kinds[kind].attach);
	snprintf(function, sizeof(function), "%s%s", kinds[kind].before ? kinds[kind].before : "",
		 name);
	if (!types)
		id = libbpf_find_vmlinux_btf_id(name, kinds[kind].attach);
	else if (kinds[kind].before)
		id = kernel_types_function(types, function);
	else
		id = kernel_types_tracepoint(types, name);
	if (id < 0)
		return id;
	opts->attach_btf_id = id;
	return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

static int handle_watchers(struct background *background)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)background,
		    .prog_prepare_load_fn = prepare_watcher);

	return libbpf_register_prog_handler("watch+", BPF_PROG_TYPE_RAW_TRACEPOINT,
					    BPF_TRACE_RAW_TP, &opts);
}

/* libbpf's own handler would make the programs sleepable, which Linux before 6.0 refuses: configure.c decides. */
static int prepare_hold(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	struct background *background = (struct background *)cookie;
	int error = 0;

	if (background->turn_function)
		error = put_turn_function(program, background->turn_function);
	return error ? error : background_load(program, opts, cookie);
}

static int handle_holds(struct background *background)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)background,
		    .prog_prepare_load_fn = prepare_hold);

	return libbpf_register_prog_handler("uprobe.s", BPF_PROG_TYPE_KPROBE, 0, &opts);
}

/* The programs of marks, which are the largest. */
static int handle_marks(struct background *background)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)background,
		    .prog_prepare_load_fn = background_load);

	return libbpf_register_prog_handler("uprobe", BPF_PROG_TYPE_KPROBE, 0, &opts);
}

int handlers_register(struct handlers *h, struct background *background)
{
	h->watchers = handle_watchers(background);
	h->marks = handle_marks(background);
	h->holds = handle_holds(background);
	return h->watchers < 0 ? h->watchers
	       : h->marks < 0  ? h->marks
	       : h->holds < 0  ? h->holds
			       : 0;
}

void handlers_unregister(const struct handlers *h)
{
	/* After the last one libbpf 1.1 must not be given another. */
	libbpf_unregister_prog_handler(h->watchers);
	libbpf_unregister_prog_handler(h->marks);
	libbpf_unregister_prog_handler(h->holds);
}
