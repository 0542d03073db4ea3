/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/batch.h"
#include "capture/probes.h"
#include "capture/rings.h"
#include "capture/stacks.h"
#include "capture/tables_internal.h"

#include <bpf/bpf.h>
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

#include "clock.h"
#include "proftrace.skel.h"

#define DRAIN_WITHIN_NS 100000000ull /* where records make us look at processes */
#define CATCH_UP_EACH	4096	     /* records that a round takes, at the least, as a rule */

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
	failure_clean(line);
	c->options.log(c->options.context, verbosity, line);
}

static int wait_on(const struct capture *c, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int map_records(struct capture *c)
{
	const struct broker_loaded *l = &c->loaded;
	int error = rings_open(l->buffers, l->n_buffers, c->options.buffer_bytes / l->n_buffers,
			       decode_record, c, &c->rings);
	unsigned i;

	for (i = 0; !error && i < l->n_buffers; i++)
		error = wait_on(c, l->buffers[i]);
	return error;
}

static int map_rings(struct capture *c)
{
	int error;
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (c->loaded.shared_size + page - 1) & ~(page - 1);

	/* The structure may be a little larger, by what fills it up at its end. */
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
	error = map_records(c);
	if (error)
		return error;
	c->holds = ring_buffer__new(c->loaded.holds_fd, decode_hold, c, NULL);
	return c->holds ? wait_on(c, ring_buffer__epoll_fd(c->holds)) : -errno;
}

/*
 * The kernel's programs count processes as the initial pid namespace does. In another one the numbers
 * of /proc are different, and we would trace somebody else.
 */
static int check_namespace(struct failure *f)
{
	char link[64];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (n <= 0)
		return 0;
	link[n] = '\0';
	/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h. */
	if (!strcmp(link, "pid:[4026531836]"))
		return 0;
	failure_set(f, -ENOTSUP, "cannot record inside a pid namespace", "",
		    "process numbers are not the kernel's here");
	failure_hint(f, "run proftrace on the host: it attaches to processes in containers");
	return -ENOTSUP;
}

int capture_open(const struct capture_options *options, struct capture **ret_capture,
		 struct failure *f)
{
	struct broker_config config = {
		.buffer_bytes = options->buffer_bytes,
		.buffers = options->buffers,
		.follow_children = options->follow_children,
		.guarded = options->guarded,
		.schedule = options->schedule,
		.counters = options->counters,
		.table_rows = options->table_rows,
		.batching = options->batching,
		.usdt = options->n_usdt,
		.functions = options->n_functions,
		.sched = options->sched,
		.sample_hz = options->sample_hz,
		.mark_stacks = options->n_stacks,
		.offcpu_ns = options->offcpu_ns,
		.counter_interval_ns = options->counter_interval_ns,
		.pids = options->pids,
		.n_pids = options->n_pids,
	};
	struct capture *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	c->options = *options;
	c->guard.n = 1;
	c->epoll_fd = -1;
	clocks_look(
		&c->clocks); /* before the programs are loaded: until then the clocks' paces show */
	error = check_namespace(f);
	if (!error)
		error = broker_start(&config, &c->broker, &c->loaded, f);
	if (error) {
		free(c);
		return error;
	}
	broker_set_patience(c->broker, options->told_to_end, options->context);
	/* It would write to the terminal what is said here in other words. */
	libbpf_set_print(NULL);
	error = map_rings(c);
	if (!error && c->loaded.has_tables)
		error = tables_open(c);
	if (!error && options->batching)
		error = batches_new(&c->batches);
	if (!error && options->callstacks) {
		c->stacks = stacks_new(c->broker, options->callstacks, options->names,
				       options->sample_hz ? 1000000000 / options->sample_hz : 0);
		error = c->stacks ? 0 : -ENOMEM;
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
	clocks_look(&c->clocks);
	c->shared->generation = 1; /* no thread's: all look what is recorded of them */
	c->shared->data_attached = 1;
	c->shared->guard_longest = GUARD_LONGEST * c->loaded.entry_ns;
	c->shared->recording = 1;
	*ret_capture = c;
	return 0;
}

void capture_free(struct capture *c)
{
	struct traced_process *p, *next;
	unsigned i;

	if (!c)
		return;
	if (c->shared)
		c->shared->recording = 0;
	files_detach(c);
	for (i = 0; i < c->loaded.n_links; i++)
		close(c->loaded.links[i]);
	rings_close(c->rings);
	ring_buffer__free(c->holds);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	tables_close(c);
	batches_free(c->batches);
	stacks_free(c->stacks);
	if (c->shared)
		munmap(c->shared, c->loaded.shared_size);
	for (i = 0; i < c->loaded.n_buffers; i++)
		close(c->loaded.buffers[i]);
	close(c->loaded.holds_fd);
	close(c->loaded.shared_fd);
	if (c->loaded.has_usdt)
		close(c->loaded.usdt_specs_fd);
	broker_stop(c->broker);
	markers_free(c);
	probes_close(c);
	selection_free(c);
	files_free(c);
	HASH_ITER (hh, c->processes, p, next) {
		HASH_DEL(c->processes, p);
		free(p);
	}
	free(c->sites);
	free(c->stuck_at);
	free(c);
}

/* All sites are in place: from here on the marks of all its threads count, at one moment. */
static int record_marks(struct capture *c, const struct broker_target *target, struct failure *f)
{
	int error;

	process_add(c, target->pid, false);
	process_names(c, target, true);
	error = broker_trace(c->broker, target, TRACED_WATCH | TRACED_MARKS, f);
	if (error)
		process_remove(c, target->pid, 0);
	/* Batches that were handed over until now may have been handed to nobody. */
	else if (c->batches)
		batches_from_now(c, target->pid);
	return error;
}

/*
 * The markers come first. Only then the doors of the dynamic linker and the C library, which all
 * processes share: it takes the kernel longer to attach to these than to all markers. What was opened
 * in between is found by looking once more.
 */
int capture_attach(struct capture *c, pid_t pid, struct failure *f)
{
	unsigned marked = 0, fresh = 0;
	struct broker_target target;
	int error;

	error = broker_identify(c->broker, pid, &target, f);
	if (error)
		return error;
	/* Threads that are born from its end on were never without us. */
	__atomic_store_n(&c->shared->attached_ns, 0, __ATOMIC_SEQ_CST);
	/* Watched first: what it opens or forks while its files are read is then not missed. */
	error = broker_trace(c->broker, &target, TRACED_WATCH, f);
	if (error)
		return error;
	c->attaching = true;
	c->doors_later = c->options.follow_children;
	if (c->batches)
		c->batches->finding = true;
	error = process_scan(c, &target, &marked, &fresh, f);
	if (c->batches)
		c->batches->finding = false;
	c->doors_later = false;
	if (!error && marked)
		error = record_marks(c, &target, f);
	if (error != -ECANCELED && error != -EPIPE)
		files_attach_doors(c);
	c->attaching = !error && marked;
	if (error)
		return error;
	if (!marked)
		return -ENOENT;
	if (!process_scan(c, &target, &marked, &fresh, f))
		c->late += fresh;
	c->attaching = false;
	__atomic_store_n(&c->shared->attached_ns, monotonic_now(), __ATOMIC_SEQ_CST);
	return 0;
}

int capture_expect(struct capture *c, pid_t pid, const int *files, unsigned n, struct failure *f)
{
	struct broker_target target;
	int error = broker_identify(c->broker, pid, &target, f);
	unsigned i;

	for (i = 0; !error && i < n; i++) {
		enum file_news news;
		uint64_t device;
		char link[32], path[PATH_MAX];
		struct stat st;
		ssize_t length;

		if (files[i] < 0 || fstat(files[i], &st))
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", files[i]);
		length = readlink(link, path, sizeof(path) - 1);
		path[length < 0 ? 0 : length] = '\0';
		c->expects = true;
		device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
		if (!files_known(c, device, st.st_ino, pid, &news))
			error = files_add(c, fcntl(files[i], F_DUPFD_CLOEXEC, 0), device, st.st_ino,
					  path, pid, &news, f);
		c->expects = false;
	}
	if (error)
		return error;
	error = broker_trace(c->broker, &target, TRACED_WATCH | TRACED_MARKS, f);
	if (error)
		return error;
	__atomic_store_n(&c->shared->attached_ns, monotonic_now(), __ATOMIC_SEQ_CST);
	process_add(c, pid, false);
	process_names(c, &target, false);
	return 0;
}

int capture_epoll_fd(const struct capture *c)
{
	return c->epoll_fd;
}

int capture_broker_fd(const struct capture *c)
{
	return broker_fd(c->broker);
}

bool capture_stuck_at(struct capture *c, const char *path)
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
			    "its file system does not answer");
	else
		failure_set(f, -EPIPE, "cannot ask the broker", "",
			    "a file system, or the kernel, does not answer it");
	broker_hint(f);
	return true;
}

int capture_drain(struct capture *c, bool *ret_more)
{
	int held, n;

	clocks_look(&c->clocks);
	c->drain_until_ns = 0;
	n = held = holds_serve(c);
	if (n >= 0 || n == -EAGAIN) {
		c->budget = DRAIN_AT_MOST;
		c->drain_until_ns = monotonic_now() + DRAIN_WITHIN_NS;
		n = rings_drain(c->rings, DRAIN_AT_MOST);
	}
	*ret_more = n == -EAGAIN || held == -EAGAIN;
	if (c->batches) {
		c->batches->drained_ns = rings_known_ns(c->rings);
		batches_round(c, false);
		batch_rooms_round(c);
	}
	return n == -EAGAIN ? 0 : n;
}

/*
 * What was written before this moment, and no more: there are programs that never cease, and are faster
 * than we are. That is at most what the buffers can hold. A record whose thread has no CPU to complete it
 * keeps us from what is behind it, and that is not waited for longer than at the end.
 */
void capture_catch_up(struct capture *c)
{
	uint64_t until_ns = monotonic_now(), give_up_ns = until_ns + BATCH_STOPS_WITHIN_NS;
	uint64_t rounds = c->options.buffer_bytes / sizeof(struct record) / CATCH_UP_EACH;
	bool more = true;

	while (more && rings_known_ns(c->rings) < until_ns) {
		if (!rounds && monotonic_now() >= give_up_ns)
			break;
		rounds -= rounds > 0;
		if (capture_drain(c, &more) < 0)
			break;
	}
	if (c->batches)
		batches_round(c, true);
}

const char *capture_no_batches(void)
{
	return batch_clock_missing();
}

static int drain_all(struct capture *c)
{
	bool more;
	int n;

	do
		n = capture_drain(c, &more);
	while (n >= 0 && more);
	return n;
}

static uint64_t account_sum(const struct capture *c, enum account_slot slot)
{
	uint64_t sum = c->batches ? c->batches->slots[slot] : 0;
	unsigned cpu;

	for (cpu = 0; cpu < ACCOUNT_CPUS; cpu++)
		sum += __atomic_load_n(&c->shared->account[cpu][slot], __ATOMIC_RELAXED);
	return sum;
}

/* Marks for which there was no room. Of a batch that was lost some may have been seen before. */
static uint64_t lost_full(const struct capture *c)
{
	uint64_t batches = account_sum(c, ACCOUNT_BATCH_LOST);

	if (c->batches)
		batches -= batches < c->batches->overlap ? batches : c->batches->overlap;
	return account_sum(c, ACCOUNT_FULL) + batches;
}

/* Marks in batches are counted here. */
static uint64_t marked_all(const struct capture *c)
{
	uint64_t marked = account_sum(c, ACCOUNT_MARKS);

	if (c->batches)
		marked += c->batches->marked + c->batches->unreadable + lost_full(c) -
			  account_sum(c, ACCOUNT_FULL);
	return marked;
}

/* What no thread came to tell any more: it ended, or made no mark after the last one it lost. */
static void tell_rest(struct capture *c)
{
	uint64_t lost = lost_full(c);
	struct event e = { .kind = EVENT_LOST, .level = -1, .ts_ns = monotonic_now() };

	if (lost <= c->told_lost)
		return;
	e.size = lost - c->told_lost;
	capture_hand_on(c, &e);
}

/*
 * What threads hand over once nothing is recorded is gone, with what happened before: so first all up to
 * now is taken, and then recording ends.
 */
static void stop_batches(struct capture *c)
{
	uint64_t until_ns = monotonic_now(), give_up_ns = until_ns + BATCH_STOPS_WITHIN_NS;
	struct epoll_event e;

	c->batches->until_ns = until_ns;
	capture_catch_up(c);
	while (c->batches->known_ns < until_ns && monotonic_now() < give_up_ns) {
		/* Somebody has a place in the ring buffer and waits for a CPU to fill it. */
		epoll_wait(c->epoll_fd, &e, 1, 1);
		capture_catch_up(c);
	}
}

int capture_stop(struct capture *c)
{
	int n;

	c->stopping = true;
	if (c->batches)
		stop_batches(c);
	c->shared->recording = 0;
	n = drain_all(c);
	/* Detaching waits for the programs that are still running: then all is said. */
	files_detach(c);
	rings_end(c->rings);
	if (n >= 0)
		n = drain_all(c);
	if (c->batches)
		batches_stop(c);
	c->stopped = true;
	if (c->tables)
		capture_table_tick(c);
	tell_rest(c);
	return n < 0 ? n : 0;
}

void capture_account(struct capture *c, struct account *a)
{
	a->marked += marked_all(c);
	a->paused += account_sum(c, ACCOUNT_PAUSED);
	a->left_out += c->left_out_marks;
	a->unscheduled += account_sum(c, ACCOUNT_UNSCHEDULED);
	a->switched_off += account_sum(c, ACCOUNT_SWITCHED_OFF);
	a->late_steps += account_sum(c, ACCOUNT_LATE_STEPS);
	a->lost[LOST_BUFFER_FULL] += lost_full(c);
	a->lost[LOST_BEGIN_LOST] += account_sum(c, ACCOUNT_BEGIN_LOST);
	a->lost[LOST_CUT] += account_sum(c, ACCOUNT_CUT);
	a->lost[LOST_TOO_DEEP] += account_sum(c, ACCOUNT_TOO_DEEP);
	a->lost[LOST_NO_STATE] += account_sum(c, ACCOUNT_NO_STATE);
	a->lost[LOST_UNMATCHED] += account_sum(c, ACCOUNT_UNMATCHED);
	a->lost[LOST_MALFORMED] += c->malformed + (c->batches ? c->batches->unreadable : 0);
	a->unreadable_names += c->unreadable_names;
	a->unreadable_args += c->unreadable_args;
	a->cut_strings += c->cut_strings + names_count(c->options.names)->cut;
	a->repaired_strings += c->repaired_strings + names_count(c->options.names)->repaired;
	a->other_names += names_count(c->options.names)->capped;
	a->samples_lost += account_sum(c, ACCOUNT_READINGS);
	a->sched_lost += account_sum(c, ACCOUNT_SCHED_LOST);
	a->stacks_lost += account_sum(c, ACCOUNT_STACKS_LOST);
	if (c->stacks)
		stacks_account(c->stacks, a);
	a->kernel_events_lost += account_sum(c, ACCOUNT_KERNEL_FULL);
	a->processes_not_followed += account_sum(c, ACCOUNT_PROCESSES);
	a->files_refused += c->refused;
	a->sites_refused += c->refused_sites;
	a->rescued += account_sum(c, ACCOUNT_RESCUED);
	if (c->batches) {
		a->clock_error_ns = c->batches->clock.error_ns;
		a->batches_unread += c->batches->unfollowed;
	}
	a->batches_unread += account_sum(c, ACCOUNT_BATCH_UNREADABLE);
	a->attached_late += c->late + scans_owed(c) + account_sum(c, ACCOUNT_HOLD_TIMEOUT);
	if (c->tables)
		tables_account(c, a);
}

bool capture_adds_up(struct capture *c)
{
	uint64_t marked = marked_all(c);
	uint64_t lost = lost_full(c) + account_sum(c, ACCOUNT_BEGIN_LOST) +
			account_sum(c, ACCOUNT_CUT) + account_sum(c, ACCOUNT_UNMATCHED) +
			account_sum(c, ACCOUNT_TOO_DEEP) + account_sum(c, ACCOUNT_NO_STATE);

	if (c->batches)
		lost += c->batches->unreadable;
	if (c->tables) {
		struct tables_sums sums;

		tables_sums(c, &sums);
		marked += sums.marked;
		lost += sums.marks + sums.limit + sums.malformed;
	}
	return marked == c->decoded + lost + account_sum(c, ACCOUNT_PAUSED) +
				 account_sum(c, ACCOUNT_UNSCHEDULED) +
				 account_sum(c, ACCOUNT_SWITCHED_OFF);
}

/* Without these links the kernel detaches one site after the other, each after a grace period. */
bool capture_can_wait(const struct capture *c)
{
	return c->loaded.uprobe_multi;
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
	/* Before the first mark: what was open before is not to be closed by ENDs of what was not seen. */
	__atomic_add_fetch(&c->shared->cuts, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&c->shared->generation, 1, __ATOMIC_SEQ_CST);
	files_attach_data(c);
	__atomic_store_n(&c->shared->data_attached, 1, __ATOMIC_SEQ_CST);
}

/* What leaves between the two sums is counted as still there. */
uint64_t capture_busy(const struct capture *c)
{
	uint64_t left = account_sum(c, ACCOUNT_LEFT);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return account_sum(c, ACCOUNT_ENTERED) - left;
}

uint64_t capture_attach_ns(const struct capture *c)
{
	return c->attach_ns;
}

void capture_pause(struct capture *c, bool pause)
{
	if (c->batches)
		batches_pause(c, pause);

	uint32_t times = (c->shared->said >> TRACED_SAID_SHIFT) + 1;

	__atomic_store_n(&c->shared->said, times << TRACED_SAID_SHIFT | (pause ? TRACED_PAUSED : 0),
			 __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&c->shared->generation, 1, __ATOMIC_SEQ_CST);
}

bool capture_paused(const struct capture *c)
{
	return c->shared->said & TRACED_PAUSED;
}

bool capture_traces(const struct capture *c, pid_t pid)
{
	const struct traced_process *p;

	HASH_FIND(hh, c->processes, &pid, sizeof(pid), p);
	return p != NULL;
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

bool capture_holds(const struct capture *c)
{
	return c->loaded.can_hold;
}

bool capture_sample_cycles(const struct capture *c)
{
	return c->loaded.sample_cycles;
}

bool capture_broker_confined(const struct capture *c)
{
	return c->loaded.confined;
}
