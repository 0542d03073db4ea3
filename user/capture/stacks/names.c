/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for the frames of call stacks. Names are resolved when a file is finished, once for each
 * frame, because reading symbols takes far too long to be done while records come.
 */
#include "capture/stacks/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/stacks/mapped_files.h"
#include "capture/stacks/python.h"
#include "capture/stacks/unwind.h"
#include "privilege/invoker.h"
#include "symbols/symbols.h"

#define MAX_FUNCTION 4096
#define EARLY_NS     10000000000ull /* the time that may be spent on names while recording */
#define JIT_AGAIN_NS 100000000ull   /* between two readings of a JIT map while recording */
/*
 * A JIT map of 128 MiB takes seconds to read, and every process may have another one: so long may all of them take at the end,
 * and while recording at once and later on the average.
 */
#define JIT_END_NS	 30000000000ll
#define JIT_RECORDING_NS 5000000000ll
#define JIT_SHARE	 20 /* one part in so many */

/* --- before the recorder is confined ------------------------------------------------------------- */

/*
 * The kernel decides when it is opened whether this process may see the addresses in it. Under sudo the recorder becomes a user
 * who may not: it gets a copy, in which another process of root's has moved them (STACK_KERNEL_BEGIN).
 */
void stacks_open_kernel(struct stacks *s)
{
	sigset_t all, before;
	int copy;

	s->kallsyms_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (s->kallsyms_fd < 0 || invoker_uid() == getuid())
		return;
	copy = memfd_create("kallsyms", MFD_CLOEXEC);
	/* Ctrl-C ends the recording, which still needs the names; at a limit of file sizes, write() fails. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	s->kallsyms_reader = copy < 0 ? -1 : protected_fork();
	if (!s->kallsyms_reader)
		_exit(-kernel_symbols_copy(s->kallsyms_fd, copy));
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(s->kallsyms_fd);
	s->kallsyms_fd = copy;
}

static void capture_begin_tables(struct capture *c)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = stacks_begin_tables(c->stacks);

	if (fd >= 0)
		epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &e);
	else if (fd != -ENOENT)
		capture_log(c, 0, "call stacks are followed by frame pointers alone: %s",
			    strerror(-fd));
}

void capture_begin_names(struct capture *c)
{
	const struct symbols_options o = { .debuginfod = c->options.debuginfod,
					   .give_up = c->options.give_up,
					   .give_up_context = c->options.context };
	int error = c->stacks ? symbols_new(c->options.names, &o, &c->stacks->symbols) : 0;

	if (error)
		capture_log(c, 0, "functions in call stacks will have no names: %s",
			    strerror(-error));
	if (c->stacks)
		capture_begin_tables(c);
}

/* --- JIT code ------------------------------------------------------------------------------------ */

/* Whether there is time to read a map. */
static bool jit_can_afford(struct capture *c)
{
	struct stacks *s = c->stacks;
	const int64_t most_ns = c->stopping ? JIT_END_NS : JIT_RECORDING_NS;
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!s->jit_left_at || s->jit_at_end != c->stopping)
		s->jit_left_ns = most_ns;
	else if (!c->stopping)
		s->jit_left_ns += (int64_t)((now_ns - s->jit_left_at) / JIT_SHARE);
	if (s->jit_left_ns > most_ns)
		s->jit_left_ns = most_ns;
	s->jit_left_at = now_ns;
	s->jit_at_end = c->stopping;
	s->jit_given_up |= c->options.give_up && c->options.give_up(c->options.context);
	return s->jit_left_ns > 0 && !s->jit_given_up;
}

/* Keeps the map that was read last if it is from the same file: many processes may have mapped it. */
static int read_jit_file(struct stacks *s, int fd, uid_t owner)
{
	struct jit_source source;
	struct stat st;
	int error;

	if (fstat(fd, &st))
		return -errno;
	memset(&source, 0, sizeof(source));
	source.device = st.st_dev;
	source.inode = st.st_ino;
	source.size = (uint64_t)st.st_size;
	source.changed_ns =
		(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	source.owner = owner;
	if (s->jit_map && !memcmp(&source, &s->jit_source, sizeof(source)))
		return 0;
	jit_map_free(s->jit_map);
	s->jit_map = NULL;
	error = jit_map_read(fd, owner, &s->jit_map);
	if (error)
		s->jit_map = NULL;
	s->jit_source = source;
	return error;
}

/* Returns whether there is one: the process has written a map, and the map is its own. */
static bool read_jit_process(struct stacks *s, struct jit_process *j)
{
	char path[48];

	if (j->dump_fd >= 0 && !read_jit_file(s, j->dump_fd, j->owner))
		return true;
	jit_process_open_map(s, j);
	if (j->fd < 0) {
		/* The process has exited and may have written the map since. */
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", j->pid);
		j->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	}
	return j->fd >= 0 && !read_jit_file(s, j->fd, j->owner);
}

static void read_jit_map(struct capture *c, const struct code_mapping *mapping)
{
	struct stacks *s = c->stacks;
	struct jit_process *j = jit_process_find(s, mapping);
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);

	s->jit_mapping = mapping;
	s->jit_is_refused = !j;
	s->jit_is_late = j && !jit_can_afford(c);
	if (!j || s->jit_is_late || !read_jit_process(s, j)) {
		jit_map_free(s->jit_map);
		s->jit_map = NULL;
	}
	s->jit_left_ns -= (int64_t)(clock_ns(CLOCK_MONOTONIC) - began_ns);
}

/* --- all frames that have no name yet ------------------------------------------------------------ */

/* The current mapping. */
struct naming {
	struct capture *c;
	const struct code_mapping *mapping;
	const struct code_frame **frames;
	uint32_t n, capacity;
	bool is_early;	    /* records are not read meanwhile, so no server is asked */
	bool is_kernel_new; /* the kernel's symbols were read for these frames */
};

static void collect_unnamed_frame(void *context, const struct code_frame *frame)
{
	struct naming *n = context;

	if (frame->id <= n->c->stacks->named_to || !frame->mapping || frame->looked_up)
		return;
	if (n->n < n->capacity)
		n->frames[n->n++] = frame;
}

static int compare_frames_by_file(const void *a, const void *b)
{
	const struct code_frame *x = *(const struct code_frame *const *)a;
	const struct code_frame *y = *(const struct code_frame *const *)b;

	if (x->mapping->id != y->mapping->id)
		return x->mapping->id < y->mapping->id ? -1 : 1;
	return x->rel_pc < y->rel_pc ? -1 : x->rel_pc > y->rel_pc;
}

/* A part of the copy would give functions the names of others. */
static int wait_for_kernel_copy(struct stacks *s)
{
	int status = 0, error = -EIO;

	if (s->kallsyms_reader > 0 &&
	    TEMP_FAILURE_RETRY(waitpid(s->kallsyms_reader, &status, 0)) > 0 && WIFEXITED(status))
		error = -WEXITSTATUS(status);
	s->kallsyms_reader = 0;
	if (error && s->kallsyms_fd >= 0) {
		close(s->kallsyms_fd);
		s->kallsyms_fd = -1;
	}
	return error;
}

bool stacks_read_kernel(struct capture *c)
{
	struct stacks *s = c->stacks;
	int error = s->kallsyms_fd < 0 ? -EACCES : 0;

	if (s->kallsyms_reader)
		error = wait_for_kernel_copy(s);
	if (!error && lseek(s->kallsyms_fd, 0, SEEK_SET) < 0)
		error = -errno;
	error = error ?: kernel_symbols_read(s->kallsyms_fd, &s->kernel_symbols);
	if (!error)
		return true;
	s->kernel_symbols = NULL;
	if (!s->logged_no_kernel)
		capture_log(c, 0, "the kernel's functions have no names: %s",
			    error == -EACCES ? "it hides their addresses (kernel.kptr_restrict)"
					     : strerror(-error));
	s->logged_no_kernel = true;
	return false;
}

static void begin_mapping_names(struct naming *n, const struct code_mapping *mapping)
{
	n->mapping = mapping;
	if (mapping->kind == CODE_JIT && !n->is_early)
		read_jit_map(n->c, mapping);
}

/*
 * Reading all symbols takes 60 ms. Only names of modules and BPF programs, which may have been loaded since, need it again.
 */
static void naming_read_kernel(struct naming *n, uint64_t address)
{
	struct stacks *s = n->c->stacks;

	if (n->is_kernel_new)
		return;
	if (s->kernel_symbols && (n->is_early || kernel_symbols_keep(s->kernel_symbols, address)))
		return;
	kernel_symbols_free(s->kernel_symbols);
	stacks_read_kernel(n->c);
	n->is_kernel_new = true;
}

static unsigned name_kernel_frame(struct naming *n, uint64_t address, struct code_line *line)
{
	struct kernel_symbols *kernel;
	const char *module = NULL, *name;
	char text[512];

	naming_read_kernel(n, address);
	kernel = n->c->stacks->kernel_symbols;
	name = kernel ? kernel_symbols_find(kernel, address, &module) : NULL;
	if (!name)
		return 0;
	snprintf(text, sizeof(text), module ? "%s [%s]" : "%s", name, module);
	line->function = names_intern_string(n->c->options.names, text);
	return 1;
}

static const char *find_jit_name(const struct naming *n, const struct code_frame *frame)
{
	const struct stacks *s = n->c->stacks;
	uint64_t address, first_ns, last_ns;

	if (s->jit_mapping != n->mapping || !s->jit_map)
		return NULL;
	address = jit_slot_of(s, frame->rel_pc, &first_ns, &last_ns);
	return jit_map_find(s->jit_map, address, first_ns, last_ns);
}

/*
 * While recording, the map that was read last may lack new code, also where it has older code that was at the same
 * address.
 */
static unsigned name_jit_frame(struct naming *n, const struct code_frame *frame,
			       struct code_line *line)
{
	struct stacks *s = n->c->stacks;
	const char *name = find_jit_name(n, frame);
	uint64_t first_ns, last_ns;

	jit_slot_of(s, frame->rel_pc, &first_ns, &last_ns);
	if ((!name || first_ns > s->jit_read_ns) && n->is_early &&
	    clock_ns(CLOCK_MONOTONIC) >= s->jit_again_ns) {
		/* A file that is written through a mapping need not say that it has changed. */
		s->jit_source.inode = 0;
		read_jit_map(n->c, n->mapping);
		s->jit_read_ns = clock_ns(CLOCK_MONOTONIC);
		s->jit_again_ns = s->jit_read_ns + JIT_AGAIN_NS;
		name = find_jit_name(n, frame);
	}
	if (!name && !n->is_early) {
		s->jit_late += s->jit_is_late;
		s->jit_refused += s->jit_is_refused;
		s->jit_unknown += !s->jit_is_late && !s->jit_is_refused;
	}
	if (!name)
		return 0;
	line->function = names_intern(n->c->options.names, name, strlen(name), MAX_FUNCTION);
	return 1;
}

/* Returns the number of lines. */
static unsigned name_native_frame(const struct stacks *s, const struct code_frame *frame,
				  struct code_line *lines)
{
	struct code_mapping mapping = *frame->mapping;
	int original = -1,
	    fd = mapped_files_fd(s->mapped, frame->mapping, &original, &mapping.path);

	if (fd < 0 && s->unwind && !strcmp(mapping.path->text, CODE_VDSO))
		fd = unwind_vdso(s->unwind);
	if (!s->symbols || fd < 0)
		return 0;
	return symbols_resolve(s->symbols, &mapping, fd, original, frame->rel_pc, lines,
			       CALLSTACKS_MAX_LINES);
}

static void name_frame(struct naming *n, const struct code_frame *frame)
{
	struct stacks *s = n->c->stacks;
	struct code_line lines[CALLSTACKS_MAX_LINES] = { 0 };
	unsigned found = 0;

	if (frame->mapping != n->mapping)
		begin_mapping_names(n, frame->mapping);
	if (frame->mapping->kind == CODE_KERNEL)
		found = name_kernel_frame(n, frame->rel_pc, lines);
	else if (frame->mapping->kind == CODE_JIT)
		found = name_jit_frame(n, frame, lines);
	else
		found = name_native_frame(s, frame, lines);
	/* At the end there may be one. */
	if (!found && n->is_early && (n->c->options.debuginfod || frame->mapping->kind == CODE_JIT))
		return;
	callstacks_name(s->store, frame, lines, found);
	s->frames++;
	s->named += found != 0;
}

static void log_debug_files(struct capture *c, const struct symbols_counts *counts)
{
	const char *why = counts->fetch_error == -ELIBACC     ? "libdebuginfod cannot be loaded"
			  : counts->fetch_error == -ECANCELED ? "a second signal ended the wait"
			  : counts->fetch_error		      ? strerror(-counts->fetch_error)
							      : NULL;

	if (!c->options.debuginfod || c->stacks->logged_fetched)
		return;
	c->stacks->logged_fetched = true;
	capture_log(c, 0, "debuginfod: %" PRIu64 " debug file%s found, %" PRIu64 " not found%s%s",
		    counts->fetched, counts->fetched == 1 ? "" : "s", counts->missing,
		    why ? ": " : "", why ? why : "");
}

static void log_missing_lines(struct capture *c)
{
	struct python_counts counts = { 0 };

	if (c->stacks->python)
		python_count(c->stacks->python, &counts);
	if (counts.without_lines && !c->stacks->logged_lines)
		capture_log(c, 0,
			    "%" PRIu64 " Python function%s in call stacks ha%s no lines: the line "
			    "tables of all processes are more than 64 MiB",
			    counts.without_lines, counts.without_lines == 1 ? "" : "s",
			    counts.without_lines == 1 ? "s" : "ve");
	c->stacks->logged_lines |= counts.without_lines != 0;
}

/* Logs why names are missing that a debugger might find. */
static void log_missing_names(struct capture *c)
{
	struct stacks *s = c->stacks;
	struct symbols_counts counts = { 0 };

	if (s->symbols)
		symbols_count(s->symbols, &counts);
	counts.late += s->jit_late;
	counts.given_up |= s->jit_given_up;
	log_debug_files(c, &counts);
	if (counts.broken && !s->logged_broken)
		capture_log(
			c, 0,
			"functions in call stacks have no names where a file's debug information "
			"is damaged or takes too long to read");
	if (counts.late && !s->logged_late)
		capture_log(c, 0, "the last %" PRIu64 " address%s in call stacks ha%s no names: %s",
			    counts.late, counts.late == 1 ? "" : "es",
			    counts.late == 1 ? "s" : "ve",
			    counts.given_up ? "a second signal ended the wait"
					    : "looking them up takes too long");
	if (s->python && python_unsupported(s->python) && !s->logged_python)
		capture_log(c, 0,
			    "call stacks have no Python functions of CPython %s: 3.11, 3.12 and "
			    "3.13 are supported",
			    python_unsupported(s->python));
	s->logged_python |= s->python && python_unsupported(s->python);
	log_missing_lines(c);
	s->logged_broken |= counts.broken != 0;
	s->logged_late |= counts.late != 0;
}

void capture_name_frames(struct capture *c)
{
	struct stacks *s = c->stacks;
	struct naming n = { .c = c };

	if (!s || callstacks_frames(s->store) == s->named_to)
		return;
	n.capacity = callstacks_frames(s->store);
	n.frames = malloc(n.capacity * sizeof(*n.frames));
	if (!n.frames)
		return;
	if (s->symbols)
		symbols_may_fetch(s->symbols);
	s->jit_source.inode = 0;
	callstacks_each_frame(s->store, collect_unnamed_frame, &n);
	qsort(n.frames, n.n, sizeof(*n.frames), compare_frames_by_file);
	for (uint32_t i = 0; i < n.n; i++)
		name_frame(&n, n.frames[i]);
	s->named_to = callstacks_frames(s->store);
	free(n.frames);
	log_missing_names(c);
}

static bool frame_is_unnamed(const struct code_frame *frame)
{
	return frame->mapping && !frame->looked_up;
}

/*
 * No records are read while this runs, so the total time is limited; frames beyond the limit are
 * named at the end, too. Of JIT code without a name in the map, the name is looked for at the end.
 */
void capture_name_stack(struct capture *c, const struct callstack *callstack)
{
	struct naming n = { .c = c, .is_early = true };
	struct stacks *s = c->stacks;
	uint64_t begin_ns;

	while (callstack && !frame_is_unnamed(callstack->frame))
		callstack = callstack->caller;
	if (!s || !callstack || s->early_ns > EARLY_NS)
		return;
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	for (; callstack; callstack = callstack->caller) {
		if (frame_is_unnamed(callstack->frame))
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
	jit_processes_free(s);
	if (s->kallsyms_fd >= 0)
		close(s->kallsyms_fd);
	jit_map_free(s->jit_map);
	kernel_symbols_free(s->kernel_symbols);
	symbols_free(s->symbols);
}

void capture_frames(const struct capture *c, uint64_t *ret_all, uint64_t *ret_without_symbols,
		    uint64_t *ret_without_map)
{
	const struct stacks *s = c->stacks;

	*ret_all = s ? s->frames : 0;
	*ret_without_map = s ? s->jit_unknown : 0;
	*ret_without_symbols =
		s ? s->frames - s->named - s->jit_unknown - s->jit_refused - s->jit_late : 0;
}
