/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the frames of call stacks are called. It is asked for when a file is to be finished, of each frame
 * once: reading symbols takes far too long to be done while records come.
 */
#include "capture/stacks_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "symbols/jit_map.h"
#include "symbols/kernel_symbols.h"
#include "symbols/symbols.h"

#define MAX_FUNCTION 4096
#define EARLY_NS     10000000000ull /* spent on names while it records */

/* --- before the recorder is confined ------------------------------------------------------------- */

/* Who may see the addresses in it is decided when it is opened. */
void stacks_open_kernel(struct stacks *s)
{
	s->kallsyms_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
}

void capture_begin_names(struct capture *c)
{
	int error = c->stacks ? symbols_new(c->options.names, NULL, &c->stacks->symbols) : 0;

	if (error)
		capture_log(c, 0, "functions in call stacks will have no names: %s",
			    strerror(-error));
}

/* --- code that a process made itself ------------------------------------------------------------- */

/* Through the broker: in a container it is elsewhere, and has another number in its name. */
static void open_jit_map(struct stacks *s, struct jit_process *j)
{
	const struct broker_target target = { (pid_t)j->pid, 0 };

	if (j->fd < 0)
		j->fd = broker_open(s->broker, BROKER_JIT_MAP, &target, 0, 0, NULL);
}

/* At every look at code of its kind: later the process may be gone, and its container with it. */
void stacks_note_jit(struct stacks *s, const struct code_mapping *mapping, uint32_t pid)
{
	struct jit_process *j;
	char path[32];
	struct stat st;
	unsigned i;

	for (i = 0; i < s->n_jits && s->jits[i].mapping != mapping; i++)
		;
	if (i == s->n_jits) {
		snprintf(path, sizeof(path), "/proc/%u", pid);
		if (s->n_jits == MAX_JITS || stat(path, &st))
			return;
		s->n_jits++;
		s->jits[i] = (struct jit_process){ mapping, pid, st.st_uid, -1 };
	}
	j = &s->jits[i];
	open_jit_map(s, j);
}

static struct jit_process *jit_of(struct stacks *s, const struct code_mapping *mapping)
{
	unsigned i;

	for (i = 0; i < s->n_jits; i++) {
		if (s->jits[i].mapping == mapping)
			return &s->jits[i];
	}
	return NULL;
}

/* NULL: the process has written none, or it is not its own. */
static struct jit_map *read_jit_map(struct stacks *s, struct jit_process *j)
{
	struct jit_map *map = NULL;
	char path[48];

	open_jit_map(s, j);
	if (j->fd < 0) {
		/* It is gone, and wrote it down since. */
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", j->pid);
		j->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	}
	if (j->fd < 0 || jit_map_read(j->fd, j->owner, &map))
		return NULL;
	return map;
}

/* --- all frames that have no name yet ------------------------------------------------------------ */

/* Of the file at hand. */
struct naming {
	struct capture *c;
	const struct code_mapping *mapping;
	struct jit_map *jit;
	const struct code_frame **frames;
	uint32_t n, room;
};

static void collect(void *context, const struct code_frame *frame)
{
	struct naming *n = context;

	if (frame->id <= n->c->stacks->asked_for || !frame->mapping || frame->asked)
		return;
	if (n->n < n->room)
		n->frames[n->n++] = frame;
}

static int by_file(const void *a, const void *b)
{
	const struct code_frame *x = *(const struct code_frame *const *)a;
	const struct code_frame *y = *(const struct code_frame *const *)b;

	if (x->mapping->id != y->mapping->id)
		return x->mapping->id < y->mapping->id ? -1 : 1;
	return x->rel_pc < y->rel_pc ? -1 : x->rel_pc > y->rel_pc;
}

/* Where somebody waits for names while it records, they stay for the next one. */
static void read_kernel(struct naming *n)
{
	struct stacks *s = n->c->stacks;
	int error = s->kallsyms_fd < 0 ? -EACCES : 0;

	if (!error && lseek(s->kallsyms_fd, 0, SEEK_SET) < 0)
		error = -errno;
	if (!error)
		error = kernel_symbols_read(s->kallsyms_fd, &s->kernel_symbols);
	if (!error)
		return;
	s->kernel_symbols = NULL;
	if (!s->told_no_kernel)
		capture_log(n->c, 0, "the kernel's functions have no names: %s",
			    error == -EACCES ? "it hides their addresses (kernel.kptr_restrict)"
					     : strerror(-error));
	s->told_no_kernel = true;
}

static void begin_file(struct naming *n, const struct code_mapping *mapping)
{
	struct jit_process *j;

	jit_map_free(n->jit);
	n->jit = NULL;
	n->mapping = mapping;
	if (mapping->kind == CODE_KERNEL && !n->c->stacks->kernel_symbols)
		read_kernel(n);
	if (mapping->kind != CODE_JIT)
		return;
	j = jit_of(n->c->stacks, mapping);
	if (j)
		n->jit = read_jit_map(n->c->stacks, j);
}

static unsigned name_kernel(struct naming *n, uint64_t address, struct code_line *line)
{
	struct kernel_symbols *kernel = n->c->stacks->kernel_symbols;
	const char *module = NULL, *name;
	char text[512];

	name = kernel ? kernel_symbols_find(kernel, address, &module) : NULL;
	if (!name)
		return 0;
	snprintf(text, sizeof(text), module ? "%s [%s]" : "%s", name, module);
	line->function = names_intern_string(n->c->options.names, text);
	return 1;
}

static unsigned name_jit(struct naming *n, uint64_t address, struct code_line *line)
{
	size_t length = 0;
	const char *name = n->jit ? jit_map_find(n->jit, address, &length) : NULL;

	if (!name)
		return 0;
	line->function = names_intern(n->c->options.names, name, length, MAX_FUNCTION);
	return 1;
}

static void name_frame(struct naming *n, const struct code_frame *frame)
{
	struct stacks *s = n->c->stacks;
	struct code_line lines[CALLSTACKS_MAX_LINES] = { 0 };
	const struct file *file;
	unsigned found = 0;

	if (frame->mapping != n->mapping)
		begin_file(n, frame->mapping);
	file = stacks_file(s, frame->mapping);
	if (frame->mapping->kind == CODE_KERNEL)
		found = name_kernel(n, frame->rel_pc, lines);
	else if (frame->mapping->kind == CODE_JIT)
		found = name_jit(n, frame->rel_pc, lines);
	else if (s->symbols && file && file->fd >= 0)
		found = symbols_resolve(s->symbols, frame->mapping, file->fd, frame->rel_pc, lines,
					CALLSTACKS_MAX_LINES);
	callstacks_name(s->store, frame, lines, found);
	s->frames++;
	s->named += found != 0;
}

/* Why there are names missing that a debugger would perhaps find. */
static void tell_missing(struct capture *c)
{
	struct stacks *s = c->stacks;
	struct symbols_counts counts = { 0 };

	if (s->symbols)
		symbols_count(s->symbols, &counts);
	if (counts.broken && !s->told_broken)
		capture_log(
			c, 0,
			"functions in call stacks have no names where a file's debug information "
			"is damaged, or takes too long to be read");
	if (counts.late && !s->told_late)
		capture_log(c, 0,
			    "the last functions in call stacks have no names: there was no more "
			    "time to look for them");
	s->told_broken |= counts.broken != 0;
	s->told_late |= counts.late != 0;
}

void capture_name_frames(struct capture *c)
{
	struct stacks *s = c->stacks;
	struct naming n = { .c = c };
	uint32_t i;

	if (!s || callstacks_frames(s->store) == s->asked_for)
		return;
	n.room = callstacks_frames(s->store);
	n.frames = malloc(n.room * sizeof(*n.frames));
	if (!n.frames)
		return;
	callstacks_each_frame(s->store, collect, &n);
	qsort(n.frames, n.n, sizeof(*n.frames), by_file);
	for (i = 0; i < n.n; i++)
		name_frame(&n, n.frames[i]);
	s->asked_for = callstacks_frames(s->store);
	jit_map_free(n.jit);
	kernel_symbols_free(s->kernel_symbols);
	s->kernel_symbols = NULL;
	free(n.frames);
	tell_missing(c);
}

static bool is_unnamed(const struct code_frame *frame)
{
	return frame->mapping && !frame->asked && frame->mapping->kind != CODE_JIT;
}

/*
 * What a process made itself is told at the end alone: until then it may have been made again, and the
 * list of all of it would be read once for each. Meanwhile nobody looks after the records that come, so
 * this has a limit; what is beyond it has its names at the end, too.
 */
void capture_name_stack(struct capture *c, const struct callstack *callstack)
{
	struct naming n = { .c = c };
	struct stacks *s = c->stacks;
	uint64_t begin_ns;

	while (callstack && !is_unnamed(callstack->frame))
		callstack = callstack->caller;
	if (!s || !callstack || s->early_ns > EARLY_NS)
		return;
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	for (; callstack; callstack = callstack->caller) {
		if (is_unnamed(callstack->frame))
			name_frame(&n, callstack->frame);
	}
	s->early_ns += clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (s->early_ns > EARLY_NS)
		capture_log(
			c, 0,
			"Chrome JSON has addresses for functions from here on: it takes too long "
			"to look for their names while recording");
}

void stacks_names_free(struct stacks *s)
{
	unsigned i;

	for (i = 0; i < s->n_jits; i++) {
		if (s->jits[i].fd >= 0)
			close(s->jits[i].fd);
	}
	if (s->kallsyms_fd >= 0)
		close(s->kallsyms_fd);
	kernel_symbols_free(s->kernel_symbols);
	symbols_free(s->symbols);
}

void capture_frames(const struct capture *c, uint64_t *ret_all, uint64_t *ret_named)
{
	*ret_all = c->stacks ? c->stacks->frames : 0;
	*ret_named = c->stacks ? c->stacks->named : 0;
}
