/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of capture.h: starting the broker, attaching, and what callers ask. Reading what the kernel has
 * written is in drain.c, the sums of what was read and lost in accounting.c.
 */
#include "capture/batch/batch.h"
#include "capture/file_watch.h"
#include "capture/mappings/mappings.h"
#include "capture/probes/probes.h"
#include "capture/rings.h"
#include "capture/stacks/stacks.h"
#include "capture/tables/internal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "proftrace.skel.h"
#include "tracee/code/prove.h"

/* for tables of call stacks, before anything is recorded */
#define TABLES_AT_FIRST_NS 500000000ull
/* of a process that is about to execute its program */
#define EXPECTED_FLAGS (TRACED_WATCH | TRACED_MARKS | TRACED_BEGINS)
/* of an empty program at a breakpoint (proftrace-record(1), COSTS) */
#define USUAL_ENTRY_NS 700

uint64_t monotonic_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void capture_log(struct capture *c, int verbosity, const char *format, ...)
{
	char line[512];
	va_list args;

	if (!c->options.log)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	c->options.log(c->options.context, verbosity, line);
}

static int add_to_epoll(const struct capture *c, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int map_records(struct capture *c)
{
	const struct broker_loaded *l = &c->loaded;
	int error = rings_open(l->buffers, l->n_buffers, c->options.buffer_bytes / l->n_buffers,
			       decode_record, c, &c->rings);

	for (unsigned i = 0; !error && i < l->n_buffers; i++)
		error = add_to_epoll(c, l->buffers[i]);
	return error;
}

static int map_rings(struct capture *c)
{
	int error;
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (c->loaded.shared_size + page - 1) & ~(page - 1);

	/* The structure may be a few bytes larger than the map, by the padding at its end. */
	if (c->loaded.shared_size + sizeof(uint64_t) <= sizeof(*c->shared))
		return -EPROTO;
	c->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->loaded.shared_fd, 0);
	if (c->shared == MAP_FAILED) {
		c->shared = NULL;
		return -errno;
	}
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll_fd < 0)
		return -errno;
	file_watch_open(c);
	error = map_records(c);
	if (!error && c->watch_fd >= 0)
		error = add_to_epoll(c, c->watch_fd);
	if (error)
		return error;
	c->holds = ring_buffer__new(c->loaded.holds_fd, decode_hold, c, NULL);
	return c->holds ? add_to_epoll(c, ring_buffer__epoll_fd(c->holds)) : -errno;
}

/*
 * The BPF programs see process numbers of the initial PID namespace. In another namespace /proc has
 * different numbers, and another process would be traced.
 */
static int check_pid_namespace(struct failure *f)
{
	char link[64];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (n <= 0)
		return 0;
	link[n] = '\0';
	/* PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h. */
	if (!strcmp(link, "pid:[4026531836]"))
		return 0;
	failure_set(f, -ENOTSUP, "cannot record inside a pid namespace", "",
		    "process numbers differ from the kernel's here");
	failure_hint(f, "run proftrace on the host, where it attaches to processes in containers, "
			"or in a container with --pid=host and --privileged");
	return -ENOTSUP;
}

/* A process has forbidden itself the processor's counter before the recording began. */
static void note_counter_off(struct capture *c)
{
	if (!c->shared->counter_off_in)
		return;
	if (c->options.changing)
		guard_forbid_buffers(c, c->shared->counter_off_in);
	else
		capture_log(c, 0,
			    "process %u has forbidden itself the processor's counter: a mark of it "
			    "in buffered mode would end it",
			    c->shared->counter_off_in);
}

static void begin_recording(struct capture *c)
{
	c->shared->bases_wanted = c->options.batching && !c->options.changing;
	/* differs from every thread's, so that each looks up what is recorded */
	c->shared->generation = 1;
	c->shared->data_attached = 1;
	c->shared->recording = 1;
	note_counter_off(c);
}

int capture_open(const struct capture_options *options, struct capture **ret_capture,
		 struct failure *f)
{
	struct broker_config config = {
		.buffer_bytes = options->buffer_bytes,
		.buffers = options->buffers,
		.follow_children = options->follow_children,
		.own_only = options->own_links,
		.guarded = options->guarded,
		.switches_off = options->switches_off,
		.schedule = options->schedule,
		.counters = options->counters,
		.table_rows = options->table_rows,
		.batching = options->batching,
		.changing = options->changing,
		.usdt = options->n_usdt,
		.functions = options->n_functions,
		.return_probes = options->return_probes,
		.prove = prove_functions,
		.sched = options->sched,
		.wait_reasons = options->wait_reasons,
		.syscalls = options->syscalls,
		.sample_hz = options->sample_hz,
		.mark_stacks = options->n_stacks,
		.offcpu_ns = options->offcpu_ns,
		.counter_interval_ns = options->counter_interval_ns,
		.pids = options->pids,
		.n_pids = options->n_pids,
		.adopts = options->adopts,
		.targets = options->targets,
	};
	struct capture *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	*c = (struct capture){ .options = *options, .guard.n = 1, .epoll_fd = -1, .watch_fd = -1 };
	/* The drift between the clocks shows by the time the programs are loaded. */
	clocks_sample(&c->clocks);
	error = check_pid_namespace(f) ?: broker_start(&config, &c->broker, &c->loaded, f);
	if (error) {
		free(c);
		return error;
	}
	broker_set_patience(c->broker, options->end_requests, options->context);
	descriptors_reserve(broker_fd(c->broker));
	/* libbpf would print messages that are repeated here in other words. */
	libbpf_set_print(NULL);
	error = map_rings(c);
	if (!error && c->loaded.has_tables)
		error = tables_open(c);
	if (!error && options->batching)
		error = batches_new(c->shared, &c->batches);
	if (!error && options->callstacks) {
		c->stacks = stacks_new(c->broker, options->callstacks, options->names,
				       options->sample_hz ? 1000000000 / options->sample_hz : 0);
		error = c->stacks ? stacks_open_tables(c->stacks, &c->loaded) : -ENOMEM;
	}
	if (error) {
		failure_set(f, error, "cannot map the kernel's buffers", "", NULL);
		if (error == -ENOMEM)
			failure_hint_memory(f);
		capture_free(c);
		return error;
	}
	error = probes_open(c, f);
	if (error) {
		capture_free(c);
		return error;
	}
	clocks_sample(&c->clocks);
	c->options.begin_buffered &= c->loaded.can_hold;
	/* A usual value will do to decide in which mode a domain is, and measuring it would delay the start. */
	if (options->changing && !c->loaded.entry_ns)
		c->loaded.entry_ns = USUAL_ENTRY_NS;
	c->shared->guard_longest = GUARD_LONGEST * c->loaded.entry_ns;
	begin_recording(c);
	*ret_capture = c;
	return 0;
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	if (c->shared)
		c->shared->recording = 0;
	if (!c->leaves_detaching)
		files_detach(c);
	rings_close(c->rings);
	ring_buffer__free(c->holds);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	tables_close(c);
	batches_free(c->batches);
	stacks_free(c->stacks);
	if (c->shared)
		munmap(c->shared, c->loaded.shared_size);
	for (unsigned i = 0; i < c->loaded.n_buffers; i++)
		close(c->loaded.buffers[i]);
	close(c->loaded.holds_fd);
	close(c->loaded.shared_fd);
	if (c->loaded.has_usdt)
		close(c->loaded.usdt_specs_fd);
	for (unsigned i = 0; c->loaded.has_unwind && i < BROKER_UNWIND_MAPS; i++)
		close(c->loaded.unwind[i]);
	broker_stop(c->broker, !c->leaves_detaching);
	markers_free(c);
	probes_close(c);
	selection_free(c);
	files_free(c);
	file_watch_close(c);
	running_maps_forget(c);
	siblings_end(c);
	hash_each (c->processes, process) {
		mappings_forget_list(process);
		free(process->resolved);
	}
	hash_clear(hh, c->processes, p);
	places_free(c);
	free(c->sites);
	free(c->stuck_at);
	free(c);
}

/* All sites are attached. From this moment on the marks of all threads are recorded. */
static int record_marks(struct capture *c, const struct broker_target *target, bool has_marks,
			struct failure *f)
{
	int error;

	process_add(c, target->pid, false);
	if (has_marks)
		process_show(c, target);
	error = broker_trace(c->broker, target, TRACED_WATCH | TRACED_MARKS, f);
	if (error)
		process_remove(c, target->pid, 0);
	/* Batches that were handed over before this moment may not have been sent. */
	else if (c->batches)
		batches_start_process(c, target->pid, monotonic_now());
	return error;
}

bool capture_needs_no_marks(const struct capture *c)
{
	return c->options.sample_hz || c->options.sched;
}

bool capture_hides(const struct capture *c)
{
	return c->options.targets && c->options.targets->all && !capture_needs_no_marks(c);
}

/*
 * Attaches to the markers first. The hold points in the dynamic linker and the C library come
 * second, since all processes share these files and attaching to them takes longer than to all
 * markers. Libraries loaded in between are found by a second scan.
 */
int capture_attach(struct capture *c, pid_t pid, struct failure *f)
{
	unsigned marked = 0, fresh = 0;
	struct broker_target target;
	uint64_t now_ns;
	bool has_marks;
	int error;

	error = broker_identify(c->broker, pid, &target, f);
	if (error)
		return error;
	/*
	 * Threads created after the end of this function have been recorded from their beginning.
	 */
	__atomic_store_n(&c->shared->attached_ns, 0, __ATOMIC_SEQ_CST);
	/*
	 * The process is watched before its files are read, so that no fork and no library is
	 * missed.
	 */
	error = broker_trace(c->broker, &target, TRACED_WATCH, f);
	if (error)
		return error;
	c->attaching = true;
	c->hold_sites_later = !capture_attaches_each(c);
	batches_find(c, true);
	error = process_scan(c, &target, &marked, &fresh, f);
	batches_find(c, false);
	c->hold_sites_later = false;
	has_marks = marked || capture_needs_no_marks(c) || !capture_hides(c);
	/* Of several processes, some may open a library with markers later. */
	marked += capture_needs_no_marks(c) || c->options.targets;
	if (!error && marked && c->stacks)
		stacks_wait_for_tables(c->stacks, TABLES_AT_FIRST_NS);
	if (!error && marked)
		error = record_marks(c, &target, has_marks, f);
	if (error != -ECANCELED && error != -EPIPE)
		files_attach_hold_sites(c);
	c->attaching = !error && marked;
	if (error)
		return error;
	if (!marked)
		return -ENOENT;
	if (!process_scan(c, &target, &marked, &fresh, f))
		c->late += fresh;
	c->attaching = false;
	now_ns = monotonic_now();
	process_set_attached(c, pid, now_ns);
	__atomic_store_n(&c->shared->attached_ns, now_ns, __ATOMIC_SEQ_CST);
	return 0;
}

static int expect_files(struct capture *c, pid_t pid, const int *files, unsigned n,
			struct failure *f)
{
	int error = 0;

	for (unsigned i = 0; !error && i < n; i++)
		error = file_expect(c, files[i], pid, f);
	if (error)
		return error;
	/* Threads of many ranks would be held for it at once. */
	if (!c->processes && !capture_attaches_each(c))
		libc_expect(c);
	if (c->stacks)
		stacks_wait_for_tables(c->stacks, TABLES_AT_FIRST_NS);
	return 0;
}

/* The kernel reports the names that the process gets when it executes its program. */
static void add_expected(struct capture *c, pid_t pid)
{
	/* A process that comes later than others changes nothing for them. */
	if (!c->processes)
		__atomic_store_n(&c->shared->attached_ns, monotonic_now(), __ATOMIC_SEQ_CST);
	process_add(c, pid, false);
	process_place_emit(c, pid, true);
}

/* Nobody else gets the number of a child that was not waited for; of others the broker knows the start. */
static int trace_expected(struct capture *c, pid_t pid, struct failure *f)
{
	const struct broker_target target = { pid, 0 };

	return broker_trace(c->broker, &target, EXPECTED_FLAGS, f);
}

int capture_expect(struct capture *c, pid_t pid, const int *files, unsigned n, struct failure *f)
{
	int error = expect_files(c, pid, files, n, f) ?: trace_expected(c, pid, f);

	if (!error)
		add_expected(c, pid);
	return error;
}

/* Only the first process of a program is for its files, and only others wait until they are attached to. */
int capture_adopt(struct capture *c, pid_t pid, int socket, const int *files, unsigned n,
		  struct failure *f)
{
	const bool known = files_are_expected(c, files, n);
	int error = broker_adopt(c->broker, pid, socket, known ? EXPECTED_FLAGS : 0, f);

	if (!error && !known)
		error = expect_files(c, pid, files, n, f) ?: trace_expected(c, pid, f);
	if (!error)
		add_expected(c, pid);
	return error;
}

int capture_epoll_fd(const struct capture *c)
{
	return c->epoll_fd;
}

int capture_broker_fd(const struct capture *c)
{
	return broker_fd(c->broker);
}

bool capture_check_stuck(struct capture *c, const char *path)
{
	if (!broker_given_up(c->broker))
		return false;
	if (!c->stuck_at)
		c->stuck_at = strdup(path);
	return true;
}

bool capture_stuck(const struct capture *c, struct failure *f)
{
	if (!broker_given_up(c->broker))
		return false;
	if (c->stuck_at && c->stuck_at[0])
		failure_set(f, -EPIPE, "cannot attach to", c->stuck_at,
			    broker_given_up_attaching(c->broker)
				    ? "its file system does not answer, or the kernel waits for a "
				      "process that has mapped it"
				    : "its file system does not answer");
	else
		failure_set(f, -EPIPE, "no answer from the broker", "",
			    "it waits for a file system, or for a process in the kernel");
	broker_hint(f);
	return true;
}

const char *capture_no_batches(void)
{
	return batch_clock_unusable();
}

bool capture_attaches_each(const struct capture *c)
{
	return c->options.own_links || !c->options.follow_children;
}

/*
 * Without links to many uprobes at once the kernel detaches one site after the other, and waits for
 * a grace period after each.
 */
bool capture_can_wait(const struct capture *c)
{
	return c->loaded.uprobe_multi;
}

bool capture_can_hold(const struct capture *c)
{
	return c->loaded.can_hold;
}

void capture_wait(struct capture *c)
{
	if (c->waits)
		return;
	c->waits = true;
	__atomic_store_n(&c->shared->data_attached, 0, __ATOMIC_SEQ_CST);
	files_detach_data(c);
}

void capture_go_on(struct capture *c)
{
	if (!c->waits)
		return;
	c->waits = false;
	/* Done before the first mark, so that no END closes a slice that was open before. */
	__atomic_add_fetch(&c->shared->detach_count, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&c->shared->generation, 1, __ATOMIC_SEQ_CST);
	files_attach_data(c);
	__atomic_store_n(&c->shared->data_attached, 1, __ATOMIC_SEQ_CST);
}

/* A mark that finishes between the two sums is counted as not finished. */
uint64_t capture_busy(const struct capture *c)
{
	uint64_t left = account_sum(c, ACCOUNT_LEFT);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return account_sum(c, ACCOUNT_ENTERED) - left;
}

const struct capture_counts *capture_counts(const struct capture *c)
{
	return &c->counts;
}

uint64_t capture_attach_ns(const struct capture *c)
{
	return c->attach_ns;
}

int capture_pause_process(struct capture *c, pid_t pid, bool pause, struct failure *f)
{
	uint32_t flags = c->shared->pause_order & ~((1u << TRACED_ORDER_SHIFT) - 1);
	int error = broker_pause(c->broker, pid, flags | (pause ? TRACED_PAUSED : 0), f);

	if (error)
		return error;
	process_set_paused(c, pid, pause);
	if (c->batches)
		batches_pause(c, pid, pause);
	__atomic_add_fetch(&c->shared->generation, 1, __ATOMIC_SEQ_CST);
	return 0;
}

void capture_pause(struct capture *c, bool pause)
{
	if (c->batches)
		batches_pause(c, 0, pause);

	uint32_t times = (c->shared->pause_order >> TRACED_ORDER_SHIFT) + 1;

	__atomic_store_n(&c->shared->pause_order,
			 times << TRACED_ORDER_SHIFT | (pause ? TRACED_PAUSED : 0),
			 __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&c->shared->generation, 1, __ATOMIC_SEQ_CST);
	c->paused = pause;
	hash_each (c->processes, p)
		p->is_paused = pause;
}

bool capture_paused(const struct capture *c, unsigned *ret_n)
{
	const struct traced_process *p;

	*ret_n = 0;
	for (p = c->processes; p; p = p->hh.next)
		*ret_n += p->is_paused;
	return c->processes ? *ret_n == HASH_COUNT(c->processes) : c->paused;
}

bool capture_traces(const struct capture *c, pid_t pid)
{
	const struct traced_process *p;

	HASH_FIND(hh, c->processes, &pid, sizeof(pid), p);
	return p != NULL;
}

unsigned capture_pids(const struct capture *c, pid_t *pids, unsigned size)
{
	const struct traced_process *p;
	unsigned n = 0;

	for (p = c->processes; p; p = p->hh.next) {
		if (n < size)
			pids[n] = p->pid;
		n++;
	}
	return n;
}

unsigned capture_processes(const struct capture *c)
{
	return HASH_COUNT(c->processes);
}

unsigned capture_files(const struct capture *c)
{
	return c->n_marked_files;
}

unsigned capture_buffers(const struct capture *c)
{
	return c->loaded.n_buffers;
}

const char *capture_not_found(const struct capture *c, unsigned n, char *ret_option)
{
	return probes_not_found(c, n, ret_option);
}

bool capture_sample_cycles(const struct capture *c)
{
	return c->loaded.sample_cycles;
}

bool capture_compares_copies(const struct capture *c)
{
	return c->loaded.compares_copies;
}

bool capture_broker_confined(const struct capture *c)
{
	return c->loaded.confined;
}
