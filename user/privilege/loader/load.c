/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the BPF programs, attaches those that follow processes and context switches, and collects the descriptors of
 * maps that the recorder gets. configure.c decides which programs and maps are loaded, and with which sizes.
 */
#include "privilege/loader/internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "privilege/loader/background.h"
#include "privilege/loader/cost.h"
#include "privilege/loader/dead_code.h"
#include "privilege/loader/empty_program.h"
#include "privilege/loader/features.h"
#include "privilege/loader/kernel_types.h"
#include "privilege/loader/pid_filter.h"
#include "bpf/event.h"
#include "proftrace.skel.h"
#include "privilege/privileges.h"

/*
 * The links are the broker's alone: which processes are traced is only known as long as all of these programs run, so
 * none of them may outlive the others in a recorder that was taken over. The broker keeps them open until it ends, however
 * it ends. Those that follow processes come first here, and end last: after an execution that nobody saw, whatever reads
 * memory of a process would read another program's.
 */
static int attach_watchers(struct proftrace_bpf *skel)
{
	struct bpf_program *const programs[] = {
		skel->progs.on_fork,
		skel->progs.on_exec,
		skel->progs.on_exit,
		skel->progs.on_rename,
		/* These are only loaded if they are needed. */
		skel->progs.on_switch,
		skel->progs.on_sched_switch,
		skel->progs.on_waking,
		skel->progs.on_wakeup_new,
		skel->progs.on_prepare_exec,
		skel->progs.on_offcpu,
		skel->progs.on_sys_exit,
		skel->progs.on_sys_enter,
		skel->progs.on_cpu_change,
		skel->progs.on_timer,
	};

	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		int fd, error;

		if (!bpf_program__autoload(programs[i]))
			continue;
		fd = bpf_raw_tracepoint_open(
			programs[i] == skel->progs.on_timer ? "hrtimer_expire_exit" : NULL,
			bpf_program__fd(programs[i]));
		/* Without ticks the CPU time is brought up to date at the next context switch. */
		if (fd < 0 && programs[i] == skel->progs.on_timer)
			continue;
		if (fd < 0)
			return -errno;
		if (i >= WATCHERS)
			continue;
		error = descriptors_put(fd, WATCHERS_FIRST + (int)i);
		close(fd);
		if (error)
			return error;
	}
	return 0;
}

/*
 * False: the kernel refuses one of them, or does not run it, and threads are held in the C library instead. As long as this
 * process lives, none is closed.
 */
static bool attach_forbidding(struct proftrace_bpf *skel)
{
	struct bpf_program *const programs[] = {
		skel->progs.on_counter_set,
		skel->progs.on_counter_disabled,
	};
	int fds[sizeof(programs) / sizeof(programs[0])];
	bool runs = true;
	unsigned n = 0;

	for (unsigned i = 0; runs && i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!bpf_program__autoload(programs[i]))
			continue;
		fds[n] = bpf_raw_tracepoint_open(NULL, bpf_program__fd(programs[i]));
		runs = fds[n] >= 0;
		n += runs;
	}
	runs = runs && n && counter_trial_is_seen(skel);
	while (!runs && n)
		close(fds[--n]);
	return runs;
}

static int put_events(int events_fd, const struct counters *c, unsigned cpu,
		      const int fds[MAX_COUNTERS])
{
	for (unsigned i = 0; i < c->n; i++) {
		uint32_t key = i * ACCOUNT_CPUS + cpu;

		if (fds[i] >= 0 && bpf_map_update_elem(events_fd, &key, &fds[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

/* A CPU that is offline has no event: the counters of its threads are then unknown. */
static int open_counters(int events_fd, const struct counters *c)
{
	unsigned n_cpus = libbpf_num_possible_cpus(), cpu, refused;
	int fds[MAX_COUNTERS], error;

	if (!counters_have(c, COUNTER_PERF))
		return 0;
	for (cpu = 0; cpu < n_cpus && cpu < ACCOUNT_CPUS; cpu++) {
		error = counters_open(c, cpu, fds, &refused);
		if (error == -ENODEV)
			continue;
		if (error)
			return error;
		error = put_events(events_fd, c, cpu, fds);
		counters_close(c, fds);
		if (error)
			return error;
	}
	return 0;
}

static void probe_optimised_nop(struct loaded_programs *programs, struct broker_loaded *loaded)
{
	enum optimised_nop nop = OPTIMISED_NOP_NONE;

	/* Kernels without uprobe_multi do not optimise nops either. */
	if (programs->uprobe_multi)
		nop = kernel_optimised_nop(programs->trial);
	loaded->optimised_nop = nop == OPTIMISED_NOP_CORRECT;
	programs->breaks_nop5 = nop == OPTIMISED_NOP_FIVE_BYTES || nop == OPTIMISED_NOP_WRONG ||
				nop == OPTIMISED_NOP_UNTRIED;
	loaded->breaks_nop5 = programs->breaks_nop5;
	programs->emulates_calls = kernel_emulates_calls();
	loaded->emulates_calls = programs->emulates_calls;
}

/* Opens the perf events that run programs at intervals. */
static int open_clocks(struct proftrace_bpf *skel, const struct broker_config *config,
		       struct broker_loaded *loaded)
{
	unsigned n_cpus = libbpf_num_possible_cpus();
	const char *what = "reading counters at intervals";
	int error = 0;

	if (bpf_program__autoload(skel->progs.on_tick))
		error = ticks_open(bpf_program__fd(skel->progs.on_tick),
				   config->counter_interval_ns, n_cpus);
	if (!error && bpf_program__autoload(skel->progs.on_fault)) {
		what = "reading counters at page faults";
		error = faults_open(bpf_program__fd(skel->progs.on_fault), n_cpus);
	}
	if (!error && config->sample_hz) {
		what = "samples of call stacks";
		error = samples_open(bpf_program__fd(skel->progs.on_sample), config->sample_hz,
				     n_cpus, &loaded->sample_cycles);
	}
	if (error)
		load_log_set("%s: %s", what, strerror(-error));
	if (error == -EACCES)
		load_log_refuse_events(what);
	return error;
}

/* A descriptor that outlives the skeleton. The first failure stays in *error. */
static int copy_fd(int fd, int *error)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0 && !*error)
		*error = -errno;
	return copy;
}

/* The recorder gets the ring buffers; of several the programs find them in a map. */
static int hand_on_buffers(struct proftrace_bpf *skel, const struct background *background,
			   int *fds, unsigned *n_fds, unsigned *ret_n)
{
	uint32_t n = background->n_buffers, i;

	for (i = 0; i < n; i++) {
		fds[(*n_fds)++] = background->buffers[i];
		if (n > 1 && bpf_map_update_elem(bpf_map__fd(skel->maps.record_buffers), &i,
						 &background->buffers[i], BPF_ANY))
			return -errno;
	}
	*ret_n = n;
	return 0;
}

/* A map as libbpf would make it, but for the types of its keys and values, which only people read. */
static int make_map(struct bpf_map *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(map));
	int fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
				bpf_map__value_size(map), bpf_map__max_entries(map), &opts);
	int error = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);

	if (fd >= 0)
		close(fd);
	return error;
}

/* The maps that take the kernel the longest are made while the types of the kernel are read. */
static int make_early(struct proftrace_bpf *skel, const struct broker_config *config)
{
	int error;

	programs_configure_threads(skel, config);
	programs_configure_processes(skel);
	error = make_map(skel->maps.traced);
	return error ? error : make_map(skel->maps.thread_slots);
}

/*
 * The map of the programs' variables, 700 KB. One that libbpf makes it fills with its own copy of them, which are zeros like
 * those that the kernel has just put there. That takes a millisecond, most of it for the memory of the copy. It has the name
 * that libbpf gives it.
 */
static int make_shared(struct bpf_map *bss)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "proftrac.bss", sizeof(uint32_t),
				bpf_map__value_size(bss), 1, &opts);
	int error = fd < 0 ? fd : bpf_map__reuse_fd(bss, fd);

	if (fd >= 0)
		close(fd);
	return error;
}

/*
 * The map of constants, which nobody can change from here on. From 1.4 on, libbpf does not tell the descriptor of one that it
 * makes itself before all programs are loaded, and what refers to these constants could not be found in the programs
 * (dead_code.c).
 */
static int make_constants(struct bpf_map *rodata)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_RDONLY_PROG | BPF_F_MMAPABLE);
	const uint32_t key = 0;
	size_t size;
	const void *constants = bpf_map__initial_value(rodata, &size);
	int fd, error;

	if (!constants)
		return -EINVAL;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "proftrac.rodata", sizeof(key), (uint32_t)size, 1,
			    &opts);
	if (fd < 0)
		return fd;
	error = bpf_map_update_elem(fd, &key, constants, BPF_ANY) || bpf_map_freeze(fd) ? -errno
											: 0;
	error = error ?: bpf_map__reuse_fd(rodata, fd);
	close(fd);
	return error;
}

/* libbpf does not map what it did not make, from 1.6 on. This mapping outlives the skeleton, too. */
static int map_shared(struct proftrace_bpf *skel, struct loaded_programs *programs)
{
	void *shared = mmap(NULL, bpf_map__value_size(skel->maps.bss), PROT_READ | PROT_WRITE,
			    MAP_SHARED, bpf_map__fd(skel->maps.bss), 0);

	if (shared == MAP_FAILED)
		return -errno;
	programs->shared = skel->bss = shared;
	return 0;
}

static int open_follows(struct proftrace_bpf *skel, struct loaded_programs *programs)
{
	programs->follows_fd = dup(bpf_map__fd(skel->maps.follows));
	programs->follow_missed_fd = dup(bpf_map__fd(skel->maps.follow_missed));
	if (programs->follows_fd < 0 || programs->follow_missed_fd < 0)
		return -errno;
	return 0;
}

static int load(struct proftrace_bpf *skel, const struct broker_config *config,
		struct background *background, struct loaded_programs *programs,
		struct broker_loaded *loaded)
{
	struct bpf_program *marks = programs_marks(skel, config);
	int error;

	programs_configure(skel, config, background->types, programs, loaded);
	background->constants = skel->maps.rodata;
	error = background_begin_records(background, skel->maps.records);
	error = error ?: make_shared(skel->maps.bss);
	error = error ?: make_constants(skel->maps.rodata);
	error = error ?: proftrace_bpf__load(skel);
	error = background_await_programs(background, !error) ?: error;
	error = background_await_buffers(background) ?: error;
	error = error ?: map_shared(skel, programs);
	if (error)
		return error;
	programs->loaded = true;
	programs->traced_fd = copy_fd(bpf_map__fd(skel->maps.traced), &error);
	programs->traced_removals_fd = copy_fd(bpf_map__fd(skel->maps.traced_removals), &error);
	programs->containers_fd = copy_fd(bpf_map__fd(skel->maps.target_containers), &error);
	programs->events_fd = bpf_map__autocreate(skel->maps.counter_events)
				      ? copy_fd(bpf_map__fd(skel->maps.counter_events), &error)
				      : -1;
	programs->turns_fd = copy_fd(bpf_map__fd(skel->maps.hold_turns), &error);
	programs->program_fds[BROKER_MARKS] = copy_fd(bpf_program__fd(marks), &error);
	programs->program_fds[BROKER_LIBRARIES] =
		copy_fd(bpf_program__fd(programs->libraries), &error);
	programs->program_fds[BROKER_EXECUTES] =
		copy_fd(bpf_program__fd(programs->executes), &error);
	programs->program_fds[BROKER_FLUSH] =
		config->batching ? copy_fd(bpf_program__fd(skel->progs.flush), &error) : -1;
	programs->program_fds[BROKER_USDT] =
		config->usdt ? copy_fd(bpf_program__fd(skel->progs.usdt), &error) : -1;
	programs->program_fds[BROKER_FUNCTIONS] =
		config->functions ? copy_fd(bpf_program__fd(skel->progs.usdt), &error) : -1;
	programs->program_fds[BROKER_RETURNS] = -1;
	if (config->return_probes)
		programs->program_fds[BROKER_RETURNS] =
			copy_fd(bpf_program__fd(programs->return_sessions ? skel->progs.usdt_session
									  : skel->progs.usdt),
				&error);
	programs->find_uprobe_fd = -1;
	if (bpf_program__autoload(skel->progs.find_uprobe))
		programs->find_uprobe_fd =
			copy_fd(bpf_program__fd(skel->progs.find_uprobe), &error);
	programs->base_fd = bpf_program__autoload(skel->progs.on_timer) && programs->bases_gap_ns
				    ? copy_fd(bpf_program__fd(skel->progs.on_timer), &error)
				    : -1;
	if (error)
		return error;
	if (config->batching)
		find_counter_off(skel);
	loaded->shared_size = bpf_map__value_size(skel->maps.bss);
	if (broker_links_each(config)) {
		error = open_follows(skel, programs);
		if (error)
			return error;
	}
	programs->empty_fd =
		programs->uprobe_multi ? empty_program_load(TRACE_UPROBE_MULTI, 0) : -1;
	if (programs->uprobe_multi && programs->empty_fd < 0)
		return programs->empty_fd;
	loaded->has_tables = config->table_rows != 0;
	loaded->uprobe_multi = programs->uprobe_multi;
	loaded->return_sessions = programs->return_sessions;
	loaded->has_usdt = config->usdt || config->functions;
	probe_optimised_nop(programs, loaded);
	if (config->switches_off) {
		skel->bss->recording = 1;
		/* Domains that can go over to buffered mode have breakpoints (steady nops). */
		loaded->entry_ns =
			cost_of_entry(programs, loaded->optimised_nop && !config->batching);
		skel->bss->recording = 0;
	}
	error = attach_watchers(skel);
	loaded->holds_in_calls = !error && attach_forbidding(skel);
	error = error ?: open_counters(programs->events_fd, &config->counters);
	return error ? error : open_clocks(skel, config, loaded);
}

/* Collects the descriptors for the recorder: the maps, then the ring buffers. */
static int collect_fds(struct proftrace_bpf *skel, const struct background *background,
		       struct broker_loaded *loaded, int *fds, unsigned *n_fds)
{
	const struct bpf_map *const maps[] = {
		skel->maps.bss,	       skel->maps.holds,       skel->maps.table_threads,
		skel->maps.table_rows, skel->maps.table_pages, skel->maps.table_asyncs,
	};
	const struct bpf_map *const unwind[BROKER_UNWIND_MAPS] = {
		[BROKER_UNWIND_ROWS] = skel->maps.unwind_rows,
		[BROKER_UNWIND_RULES] = skel->maps.unwind_rules,
		[BROKER_UNWIND_PAGES] = skel->maps.unwind_pages,
		[BROKER_UNWIND_RANGES] = skel->maps.unwind_ranges,
		[BROKER_UNWIND_PROCESSES] = skel->maps.unwind_processes,
		[BROKER_UNWIND_PYTHON] = skel->maps.python_setups,
	};
	unsigned i, n = loaded->has_tables ? 2 + BROKER_TABLES : 2;
	int error = 0;

	for (i = 0; i < n; i++)
		fds[(*n_fds)++] = copy_fd(bpf_map__fd(maps[i]), &error);
	if (loaded->has_usdt)
		fds[(*n_fds)++] = copy_fd(bpf_map__fd(skel->maps.usdt_specs), &error);
	for (i = 0; loaded->has_unwind && i < BROKER_UNWIND_MAPS; i++)
		fds[(*n_fds)++] = copy_fd(bpf_map__fd(unwind[i]), &error);
	error = error ?: hand_on_buffers(skel, background, fds, n_fds, &loaded->n_buffers);
	return error;
}

/* Writes the types that libbpf reads instead of those of the kernel. */
static int put_types(int fd, const struct kernel_types *types, const struct bpf_object *programs)
{
	const struct btf *btf = bpf_object__btf(programs);
	size_t size;
	void *data;
	int error;

	if (!btf)
		return -ENOENT;
	error = kernel_types_subset(types, btf, &data, &size);
	if (error)
		return error;
	error = write(fd, data, size) == (ssize_t)size ? 0 : -EIO;
	free(data);
	return error;
}

/*
 * Opens the programs with a copy of only those types that they refer to, or with all types if there
 * is no copy.
 */
static struct proftrace_bpf *programs_open(struct background *background,
					   const struct broker_config *config, int fd, int *error)
{
	char path[32];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);
	const struct kernel_types *types;
	struct proftrace_bpf *skel;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	skel = fd >= 0 ? proftrace_bpf__open_opts(&opts) : NULL;
	*error = skel ? make_early(skel, config) : 0;
	types = background_await_types(background);
	if (*error || (skel && types && !put_types(fd, types, skel->obj)))
		return skel;
	proftrace_bpf__destroy(skel);
	skel = proftrace_bpf__open();
	*error = skel ? make_early(skel, config) : -errno;
	return skel;
}

/* The first time; load_and_send() may give it up. */
static int find_turn_function(struct background *background, struct loaded_programs *programs)
{
	if (background->turn_function < 0)
		background->turn_function = programs->turn_function =
			kernel_turn_function(background->types);
	return background->turn_function < 0 ? background->turn_function : 0;
}

static int try_to_load(const struct broker_config *config, struct background *background,
		       struct loaded_programs *programs, struct broker_loaded *loaded, int *fds,
		       unsigned *n_fds)
{
	/* This file is written before libbpf reads it, which it does when the programs are loaded. */
	int fd = memfd_create("types", MFD_CLOEXEC), error;
	struct proftrace_bpf *skel = programs_open(background, config, fd, &error);

	error = error ?: find_turn_function(background, programs);
	error = error ?: load(skel, config, background, programs, loaded);
	error = error ?: collect_fds(skel, background, loaded, fds, n_fds);
	if (error && programs->shared)
		munmap(programs->shared, bpf_map__value_size(skel->maps.bss));
	if (error)
		programs->shared = NULL;
	if (error)
		proftrace_bpf__destroy(skel);
	else
		programs->skeleton = skel;
	if (fd >= 0)
		close(fd);
	return error;
}

static int load_and_send(const struct broker_config *config, struct loaded_programs *programs,
			 struct broker_loaded *loaded, int *fds, unsigned *n_fds)
{
	struct background background = { .turn_function = -1 };
	unsigned n = configured_buffers(config);
	struct handlers handlers;
	int error;

	background_open_types(&background);
	background_make_buffers(&background, n, config->buffer_bytes / n);
	error = handlers_register(&handlers, &background);
	error = error ?: try_to_load(config, &background, programs, loaded, fds, n_fds);
	/* Of a program that it loads itself libbpf says what is wrong. */
	background.sequential = background.refused;
	if (background.refused)
		error = try_to_load(config, &background, programs, loaded, fds, n_fds);
	/* Or the verifier follows code that another one knows to be dead. */
	if (!programs->loaded && (error == -EINVAL || error == -EACCES) && !programs->all_maps) {
		programs->all_maps = background.whole = true;
		*n_fds = 0;
		error = try_to_load(config, &background, programs, loaded, fds, n_fds);
	}
	/* The kernel does not promise that this function stays as it is. Then the verifier refuses the programs. */
	if (!programs->loaded && (error == -EINVAL || error == -EACCES) &&
	    programs->turn_function > 0) {
		programs->turn_function = background.turn_function = 0;
		*n_fds = 0;
		error = try_to_load(config, &background, programs, loaded, fds, n_fds);
	}
	background_await_buffers(&background);
	handlers_unregister(&handlers);
	kernel_types_free(background_await_types(&background));
	return error;
}

void programs_free_skeleton(struct loaded_programs *programs)
{
	proftrace_bpf__destroy(programs->skeleton);
	programs->skeleton = NULL;
}

/* Where it is wrong, marks would be missing that nobody counts, or processes of others would be changed. */
static int require_pid_filter(const struct pid_filter_trial *trial, bool own_only,
			      struct failure *f)
{
	int error = -ENOTSUP;

	if (trial->result == PID_FILTER_RIGHT)
		return 0;
	if (trial->result == PID_FILTER_UNKNOWN && trial->error) {
		error = failure_set(
			f, trial->error,
			"cannot try whether this kernel restricts a probe to one process", "",
			NULL);
		failure_hint_processes(f, error);
	} else {
		failure_set(f, error, "cannot attach to one process alone", "",
			    pid_filter_text(trial->result));
	}
	if (!f->hint[0])
		failure_hint(f,
			     own_only ? "run proftrace with sudo" : "record without --no-children");
	return error;
}

/* How often the timers of the options interrupt each CPU in a second. */
static uint64_t timers_hz(const struct broker_config *config)
{
	const uint64_t second = 1000000000, interval = config->counter_interval_ns;

	return config->sample_hz + (interval ? second / interval + (second % interval != 0) : 0);
}

/*
 * The least time between two interrupts of all CPUs that the recorder may request: those of timers count, too. 0: it may
 * request none, as they would be so seldom that whoever waits for them would wait for long.
 */
static uint64_t bases_gap_ns(const struct broker_config *config)
{
	const uint64_t timers = config->own_only ? timers_hz(config) : 0;

	return timers > OWN_MAX_HZ - BASES_LEAST_HZ ? 0 : 1000000000 / (OWN_MAX_HZ - timers);
}

/* Timers interrupt whatever has the CPU, other users' processes as well. */
static int require_rate(const struct broker_config *config, struct failure *f)
{
	const uint64_t interval = config->counter_interval_ns;
	const char *which = "--sample with --counter-interval";

	if (!config->own_only || timers_hz(config) <= OWN_MAX_HZ)
		return 0;
	if (config->sample_hz > OWN_MAX_HZ)
		which = "--sample";
	else if (interval && interval < 1000000000 / OWN_MAX_HZ)
		which = "--counter-interval";
	failure_set(f, -EPERM, "not permitted to interrupt the CPUs so often", which,
		    "that takes time from other users' processes");
	failure_hint(f,
		     "--sample and the rate of --counter-interval together may be at most %d Hz; "
		     "or run proftrace with sudo",
		     OWN_MAX_HZ);
	return -EPERM;
}

static int require_buffers(const struct broker_config *config, struct failure *f)
{
	if (!config->own_only || config->buffer_bytes <= OWN_MAX_BUFFERS)
		return 0;
	failure_set(f, -EPERM, "not permitted to have so much memory of the kernel", "--buffer",
		    "its size is limited without root");
	failure_hint(f, "at most %uM, or run proftrace with sudo", OWN_MAX_BUFFERS >> 20);
	return -EPERM;
}

int programs_load(const struct broker_config *config, struct loaded_programs *programs,
		  struct broker_loaded *loaded, int *fds, unsigned *n_fds, struct failure *f)
{
	struct pid_filter_trial trial;
	bool filters;
	int error = require_rate(config, f) ?: require_buffers(config, f);

	if (error)
		return error;
	programs->bases_gap_ns = bases_gap_ns(config);
	load_log_begin();
	/* If this were found when something is attached, the message would come too late. */
	programs->uprobe_multi = kernel_has_uprobe_multi();
	if (!programs->uprobe_multi && privilege_held(CAP_BPF) && privilege_held(CAP_PERFMON) &&
	    !privilege_held(CAP_SYS_ADMIN)) {
		if (privileges_of_namespace(f))
			return -EPERM;
		failure_set(f, -EPERM, "not permitted to attach uprobes", "",
			    "kernels before 6.6 require CAP_SYS_ADMIN for them");
		privileges_hint(false, f);
		return -EPERM;
	}
	if (access(KERNEL_TYPES_PATH, R_OK)) {
		failure_set(f, -ENOTSUP, "cannot load the BPF programs", "",
			    "the kernel has no BTF (" KERNEL_TYPES_PATH ")");
		failure_hint(f,
			     "it needs CONFIG_DEBUG_INFO_BTF, as distribution kernels have; in a "
			     "container or chroot, /sys has to be mounted");
		return -ENOTSUP;
	}
	programs->return_sessions = config->return_probes && kernel_has_return_sessions();
	if (config->return_probes && !programs->return_sessions && !broker_links_each(config)) {
		failure_set(f, -ENOTSUP, "cannot use return probes", "",
			    "this kernel (before 6.13) would put them into every process that uses "
			    "the file");
		failure_hint(f, "record with --no-children, or not as root");
		return -ENOTSUP;
	}
	filters = programs->uprobe_multi && broker_links_each(config);
	if (filters)
		pid_filter_begin(&trial, programs->trial);
	error = load_and_send(config, programs, loaded, fds, n_fds);
	if (filters)
		pid_filter_result(&trial);
	if (error)
		return load_log_refuse(f, error);
	return filters ? require_pid_filter(&trial, config->own_only, f) : 0;
}
