/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading the BPF programs and attaching those that watch processes. */
#include "privilege/broker/server.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "privilege/broker/cost.h"
#include "privilege/broker/features.h"
#include "privilege/broker/kernel_types.h"
#include "event.h"
#include "plain.skel.h"
#include "proftrace.skel.h"
#include "table.h"
#include "usdt_spec.h"
#include "privilege/privileges.h"

/* libbpf's own words are kept out of the terminal: its last error line goes into the failure. */
static char last_words[200];
static char verdict[200]; /* of the kernel's verifier, where that refused a program */
static bool memory_refused;

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), length = strlen(end);

	return n >= length && !strcmp(text + n - length, end);
}

/* All that the verifier says comes at once; why it gives up is the last line above its statistics. */
static void keep_verdict(const char *format, va_list args)
{
	char *text, *end, *line;

	if (vasprintf(&text, format, args) < 0)
		return;
	end = strstr(text, "\nprocessed ");
	if (end) {
		*end = '\0';
		line = strrchr(text, '\n');
		snprintf(verdict, sizeof(verdict), "%s", line ? line + 1 : text);
	}
	free(text);
}

/*
 * Where the types of the kernel do not fit into memory, libbpf says -ENOMEM only on the way, below a
 * warning, and in the end it says, and returns, that there are none.
 */
static int keep_last_words(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[sizeof(last_words)], no_memory[16];

	if (strstr(format, "BEGIN PROG LOAD LOG")) {
		keep_verdict(format, args);
		return 0;
	}
	if (level != LIBBPF_WARN && !ends_in(format, ": %d\n"))
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	snprintf(no_memory, sizeof(no_memory), ": %d", -ENOMEM);
	memory_refused |= ends_in(line, no_memory);
	if (level == LIBBPF_WARN && line[0])
		memcpy(last_words, line, sizeof(line));
	return 0;
}

/* Then programs may not read the kernel's memory: the helpers for that do not exist, which the verifier tells. */
static bool kernel_is_confidential(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char text[64] = "";

	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strstr(text, "[confidentiality]") != NULL;
}

static int refuse(struct failure *f, int error)
{
	char missing[64], reason[96];
	struct utsname u;

	uname(&u);
	if (kernel_is_confidential()) {
		failure_set(f, error, "cannot load the BPF programs into kernel", u.release,
			    "it is locked down (confidentiality)");
		failure_hint(f, "lockdown=integrity on the kernel's command line permits "
				"programs that read its memory, see kernel_lockdown(7)");
		return error;
	}
	privileges_missing(true, missing, sizeof(missing));
	/* The verifier, too, calls what it does not accept not permitted: to whoever may do everything. */
	if (verdict[0] && !missing[0]) {
		failure_set(f, error, "the BPF programs are refused by kernel", u.release, verdict);
		failure_hint(f,
			     "that is an error of proftrace: please report it, with these words");
		return error;
	}
	if (error == -EPERM || error == -EACCES) {
		snprintf(reason, sizeof(reason), "without %s", missing);
		failure_set(f, error, "not permitted to load BPF programs", "",
			    missing[0] ? reason : NULL);
		privileges_hint(true, f);
		return error;
	}
	if (error == -ENOMEM || memory_refused) {
		failure_set(f, -ENOMEM, "cannot load the BPF programs into kernel", u.release,
			    NULL);
		failure_hint_memory(f);
		return -ENOMEM;
	}
	failure_set(f, error, "cannot load the BPF programs into kernel", u.release,
		    last_words[0] ? last_words : NULL);
	failure_hint(f, "`proftrace check` says what this kernel lacks");
	return error;
}

static int attach_watchers(struct proftrace_bpf *skel, int *fds, unsigned *n_fds)
{
	struct bpf_program *const programs[] = {
		skel->progs.on_fork,
		skel->progs.on_exec,
		skel->progs.on_exit,
		skel->progs.on_rename,
		/* Only loaded when they are needed. */
		skel->progs.on_switch,
		skel->progs.on_sched_switch,
		skel->progs.on_waking,
		skel->progs.on_waking_blind,
		skel->progs.on_wakeup_new,
		skel->progs.on_prepare_exec,
		skel->progs.on_offcpu,
	};
	unsigned i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		int fd;

		if (!bpf_program__autoload(programs[i]))
			continue;
		fd = bpf_raw_tracepoint_open(NULL, bpf_program__fd(programs[i]));
		if (fd < 0)
			return -errno;
		fds[(*n_fds)++] = fd;
	}
	return 0;
}

static bool any_of(const struct counters *c, enum counter_source source)
{
	unsigned i;

	for (i = 0; i < c->n; i++) {
		if (c->list[i].source == source)
			return true;
	}
	return false;
}

static void set_counters(struct proftrace_bpf *skel, const struct broker_config *config)
{
	const struct counters *c = &config->counters;
	unsigned i;

	skel->rodata->n_counters = c->n;
	for (i = 0; i < c->n; i++)
		skel->rodata->counter_sources[i] = c->list[i].source;
	skel->rodata->has_task_clock = any_of(c, COUNTER_TASK_CLOCK);
	skel->rodata->has_perf_counters = any_of(c, COUNTER_PERF);
	skel->rodata->multiplexed = c->multiplexed;
	bpf_program__set_autoload(skel->progs.on_switch, any_of(c, COUNTER_PERF));
	bpf_program__set_autoload(skel->progs.on_tick, c->n && config->counter_interval_ns);
	if (!any_of(c, COUNTER_PERF))
		bpf_map__set_max_entries(skel->maps.counter_events, 1);
}

static int put_events(int events_fd, const struct counters *c, unsigned cpu,
		      const int fds[MAX_COUNTERS])
{
	unsigned i;

	for (i = 0; i < c->n; i++) {
		uint32_t key = i * ACCOUNT_CPUS + cpu;

		if (fds[i] >= 0 && bpf_map_update_elem(events_fd, &key, &fds[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

/* A CPU that is not there now has no event: what its threads count is then not known. */
static int open_counters(int events_fd, const struct counters *c)
{
	unsigned n_cpus = libbpf_num_possible_cpus(), cpu, refused;
	int fds[MAX_COUNTERS], error;

	if (!any_of(c, COUNTER_PERF))
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

static void set_sched(struct proftrace_bpf *skel, const struct broker_config *config)
{
	bool looks = config->sched && privilege_held(CAP_SYS_ADMIN) && kernel_tells_interrupts();

	bpf_program__set_autoload(skel->progs.on_sched_switch, config->sched);
	bpf_program__set_autoload(skel->progs.on_waking, looks);
	bpf_program__set_autoload(skel->progs.on_waking_blind, config->sched && !looks);
	bpf_program__set_autoload(skel->progs.on_wakeup_new, config->sched);
	skel->rodata->invoker = getuid();
	if (!config->sched)
		bpf_map__set_max_entries(skel->maps.sent_comms, 1);
}

/* Either marks are recorded or they are added up: the other program is not there. */
static void set_tables(struct proftrace_bpf *skel, uint32_t rows)
{
	bpf_program__set_autoload(skel->progs.mark, !rows);
	bpf_program__set_autoload(skel->progs.aggregate, rows);
	if (!rows)
		return;
	skel->rodata->table_mask = rows - 1;
	bpf_map__set_max_entries(skel->maps.table_threads, TABLE_THREADS);
	bpf_map__set_max_entries(skel->maps.table_rows, TABLE_FIRST_ROW + rows);
	bpf_map__set_max_entries(skel->maps.table_pages, TABLE_FIRST_ROW + rows);
	bpf_map__set_max_entries(skel->maps.table_asyncs, TABLE_NEAR + TABLE_BUNDLES);
}

/* Batches are read at the last moment before a program gives way to another, where one can. */
static void set_batching(struct proftrace_bpf *skel, const struct broker_config *config,
			 const struct kernel_types *types)
{
	static const char before_exec[] = "sched_prepare_exec"; /* since 6.10 */
	bool told = config->batching && types && kernel_types_tracepoint(types, before_exec) > 0;

	if (config->batching && !types)
		told = libbpf_find_vmlinux_btf_id(before_exec, BPF_TRACE_RAW_TP) > 0;
	skel->rodata->batching = config->batching;
	if (config->batching) {
		bpf_map__set_max_entries(skel->maps.batches_more, BATCHES_MORE);
		bpf_map__set_max_entries(skel->maps.batches_inherited, BATCHES_INHERITED);
		bpf_map__set_max_entries(skel->maps.batches_unloaded, BATCHES_UNLOADED);
	}
	bpf_program__set_autoload(skel->progs.flush, config->batching);
	bpf_program__set_autoload(skel->progs.on_prepare_exec, told);
}

static void set_usdt(struct proftrace_bpf *skel, bool usdt, bool uprobe_multi)
{
	bpf_program__set_autoload(skel->progs.usdt, usdt);
	if (usdt)
		bpf_map__set_max_entries(skel->maps.usdt_specs, USDT_MAX_SPECS);
	if (uprobe_multi)
		bpf_program__set_expected_attach_type(skel->progs.usdt, TRACE_UPROBE_MULTI);
}

static void look_at_doors(struct loaded_programs *programs, struct broker_loaded *loaded)
{
	enum fast_door door = FAST_DOOR_NONE;

	/* What has one of them has the other. */
	if (programs->uprobe_multi)
		door = kernel_fast_door();
	loaded->fast_door = door == FAST_DOOR_RIGHT;
	programs->breaks_nop5 = door == FAST_DOOR_NOP5 || door == FAST_DOOR_WRONG;
	loaded->breaks_nop5 = programs->breaks_nop5;
}

static void set_samples(struct proftrace_bpf *skel, const struct broker_config *config)
{
	bpf_program__set_autoload(skel->progs.on_sample, config->sample_hz);
	/* Where the kernel's code lies is not for everybody. */
	skel->rodata->kernel_stacks = getuid() == 0;
	skel->rodata->mark_stacks = config->mark_stacks;
	skel->rodata->offcpu_ns = config->offcpu_ns;
	bpf_program__set_autoload(skel->progs.on_offcpu, config->offcpu_ns);
}

/* What runs at the ticks of clocks. */
static int open_clocks(struct proftrace_bpf *skel, const struct broker_config *config,
		       struct broker_loaded *loaded)
{
	unsigned n_cpus = libbpf_num_possible_cpus();
	const char *what = "reading counters at intervals";
	int error = 0;

	if (bpf_program__autoload(skel->progs.on_tick))
		error = ticks_open(bpf_program__fd(skel->progs.on_tick),
				   config->counter_interval_ns, n_cpus);
	if (!error && config->sample_hz) {
		what = "samples of call stacks";
		error = samples_open(bpf_program__fd(skel->progs.on_sample), config->sample_hz,
				     n_cpus, &loaded->sample_cycles);
	}
	if (error)
		snprintf(last_words, sizeof(last_words), "%s: %s", what, strerror(-error));
	return error;
}

static unsigned buffers_of(const struct broker_config *config)
{
	return config->buffers ? config->buffers : 1;
}

/* With several, the one that is there otherwise is never used, and as small as it can be. */
static void set_buffers(struct proftrace_bpf *skel, const struct broker_config *config)
{
	unsigned n = buffers_of(config);
	uint64_t each = config->buffer_bytes / n, wakeup = each / 4;

	skel->rodata->buffers_mask = n - 1;
	skel->rodata->buffer_bytes = each;
	skel->rodata->wakeup_bytes = wakeup < 1 << 20 ? wakeup : 1 << 20;
	/* So many of the largest records, from every CPU, must not fill what is left after a look. */
	skel->rodata->query_mask = each >= 4 << 20 ? 63 : 0;
	bpf_map__set_max_entries(skel->maps.records,
				 n == 1 ? each : (uint64_t)sysconf(_SC_PAGESIZE));
	bpf_map__set_max_entries(skel->maps.record_buffers, n);
	bpf_map__set_autocreate(skel->maps.record_buffers, n > 1);
}

/* Those of several. The recorder gets them all; the programs find them in a map of theirs. */
static int make_buffers(struct proftrace_bpf *skel, const struct broker_config *config, int *fds,
			unsigned *n_fds, unsigned *ret_n)
{
	uint32_t n = buffers_of(config), i;

	*ret_n = 0;
	if (n == 1) {
		fds[(*n_fds)++] = fcntl(bpf_map__fd(skel->maps.records), F_DUPFD_CLOEXEC, 0);
		*ret_n = 1;
		return 0;
	}
	for (i = 0; i < n; i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "records", 0, 0,
					config->buffer_bytes / n, NULL);

		if (fd < 0)
			return fd;
		fds[(*n_fds)++] = fd;
		(*ret_n)++;
		if (bpf_map_update_elem(bpf_map__fd(skel->maps.record_buffers), &i, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int load(struct proftrace_bpf *skel, const struct broker_config *config,
		const struct kernel_types *types, struct loaded_programs *programs,
		struct broker_loaded *loaded)
{
	struct bpf_program *marks = config->table_rows ? skel->progs.aggregate : skel->progs.mark;
	int error;

	if (programs->uprobe_multi) {
		bpf_program__set_expected_attach_type(marks, TRACE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(skel->progs.libraries_changed,
						      TRACE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(skel->progs.executes, TRACE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(skel->progs.flush, TRACE_UPROBE_MULTI);
	}
	loaded->can_loop = kernel_has_bpf_loop();
	skel->rodata->can_loop = loaded->can_loop;
	loaded->can_hold = loaded->can_loop && kernel_has_sleepable_uprobes();
	if (!loaded->can_hold) {
		/* Loaded all the same, since they tell of new libraries; they do not wait then. */
		bpf_program__set_flags(skel->progs.libraries_changed, 0);
		bpf_program__set_flags(skel->progs.executes, 0);
		skel->rodata->can_hold = false;
	}
	skel->rodata->any_process = getuid() == 0;
	skel->rodata->follow_children = config->follow_children;
	skel->rodata->own_links = config->own_links;
	skel->rodata->guarded = config->guarded;
	skel->rodata->scheduled = config->schedule.active != 0;
	memcpy((void *)&skel->rodata->schedule, &config->schedule, sizeof(config->schedule));
	if (!config->schedule.active)
		bpf_map__set_max_entries(skel->maps.steps, 1);
	set_buffers(skel, config);
	set_counters(skel, config);
	set_sched(skel, config);
	set_samples(skel, config);
	set_tables(skel, config->table_rows);
	set_batching(skel, config, types);
	set_usdt(skel, config->usdt || config->functions, programs->uprobe_multi);
	error = proftrace_bpf__load(skel);
	if (error)
		return error;
	programs->traced_fd = dup(bpf_map__fd(skel->maps.traced));
	programs->events_fd = dup(bpf_map__fd(skel->maps.counter_events));
	programs->program_fds[BROKER_MARKS] = dup(bpf_program__fd(marks));
	programs->program_fds[BROKER_LIBRARIES] =
		dup(bpf_program__fd(skel->progs.libraries_changed));
	programs->program_fds[BROKER_EXECUTES] = dup(bpf_program__fd(skel->progs.executes));
	programs->program_fds[BROKER_FLUSH] =
		config->batching ? dup(bpf_program__fd(skel->progs.flush)) : -1;
	programs->program_fds[BROKER_USDT] =
		config->usdt ? dup(bpf_program__fd(skel->progs.usdt)) : -1;
	programs->program_fds[BROKER_FUNCTIONS] =
		config->functions ? dup(bpf_program__fd(skel->progs.usdt)) : -1;
	loaded->shared_size = bpf_map__value_size(skel->maps.bss);
	loaded->has_tables = config->table_rows != 0;
	loaded->uprobe_multi = programs->uprobe_multi;
	loaded->has_usdt = config->usdt || config->functions;
	look_at_doors(programs, loaded);
	if (config->guarded) {
		skel->bss->recording = 1;
		loaded->entry_ns = cost_of_entry(programs, loaded->fast_door);
		skel->bss->recording = 0;
	}
	error = open_counters(programs->events_fd, &config->counters);
	return error ? error : open_clocks(skel, config, loaded);
}

/* For the recorder: the maps, then the links, then the ring buffers. */
static int give_fds(struct proftrace_bpf *skel, const struct broker_config *config,
		    struct broker_loaded *loaded, int *fds, unsigned *n_fds)
{
	const struct bpf_map *const maps[] = {
		skel->maps.bss,	       skel->maps.holds,       skel->maps.table_threads,
		skel->maps.table_rows, skel->maps.table_pages, skel->maps.table_asyncs,
	};
	unsigned i, n = loaded->has_tables ? 2 + BROKER_TABLES : 2;
	int error;

	for (i = 0; i < n; i++)
		fds[(*n_fds)++] = fcntl(bpf_map__fd(maps[i]), F_DUPFD_CLOEXEC, 0);
	if (loaded->has_usdt)
		fds[(*n_fds)++] = fcntl(bpf_map__fd(skel->maps.usdt_specs), F_DUPFD_CLOEXEC, 0);
	n = *n_fds;
	error = attach_watchers(skel, fds, n_fds);
	loaded->n_links = *n_fds - n;
	if (!error)
		error = make_buffers(skel, config, fds, n_fds, &loaded->n_buffers);
	return error;
}

/*
 * Where a variable of the kernel is not where it may be, libbpf looks for it in the kernel's modules, and
 * gives all up without CAP_SYS_ADMIN. So without that, and where nobody asks for what they tell, the same
 * programs are taken that look at none.
 */
static struct proftrace_bpf *programs_open(bool variables, const struct bpf_object_open_opts *opts)
{
	struct proftrace_bpf *skel;
	int error;

	if (variables)
		return proftrace_bpf__open_opts(opts);
	skel = calloc(1, sizeof(*skel));
	if (!skel)
		return NULL;
	error = proftrace_bpf__create_skeleton(skel);
	if (!error) {
		skel->skeleton->data = (void *)plain_bpf__elf_bytes(&skel->skeleton->data_sz);
		error = bpf_object__open_skeleton(skel->skeleton, opts);
	}
	if (!error)
		return skel;
	proftrace_bpf__destroy(skel);
	errno = -error;
	return NULL;
}

/*
 * libbpf looks the tracepoint up by its name, and reads all types of the kernel for that; so to libbpf it is
 * a program of another type, until here. The cookie is what we know of the kernel's types, or NULL.
 */
static int prepare_watcher(struct bpf_program *program, struct bpf_prog_load_opts *opts,
			   long cookie)
{
	const struct kernel_types *types = (const struct kernel_types *)cookie;
	const char *name = strchr(bpf_program__section_name(program), '/');
	int id;

	if (!name)
		return -EINVAL;
	id = types ? kernel_types_tracepoint(types, name + 1)
		   : libbpf_find_vmlinux_btf_id(name + 1, BPF_TRACE_RAW_TP);
	if (id < 0)
		return id;
	opts->attach_btf_id = id;
	return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

static int name_watchers(const struct kernel_types *types)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)types,
		    .prog_prepare_load_fn = prepare_watcher);

	return libbpf_register_prog_handler("watch+", BPF_PROG_TYPE_RAW_TRACEPOINT,
					    BPF_TRACE_RAW_TP, &opts);
}

/* What libbpf shall take for the kernel's types. */
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
 * With those types of the kernel that they refer to, or with all if these are not to be had: a program that
 * refers to a variable of the kernel makes libbpf read them all in any case.
 */
static struct proftrace_bpf *programs_with_types(bool variables, const struct kernel_types *types,
						 int fd)
{
	struct proftrace_bpf *skel = NULL;
	char path[32];

	if (fd >= 0 && types && !variables) {
		LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		skel = programs_open(variables, &opts);
		if (skel && put_types(fd, types, skel->obj)) {
			proftrace_bpf__destroy(skel);
			skel = NULL;
		}
	}
	return skel ? skel : programs_open(variables, NULL);
}

static int load_and_give(const struct broker_config *config, struct loaded_programs *programs,
			 struct broker_loaded *loaded, int *fds, unsigned *n_fds)
{
	struct kernel_types *types = NULL;
	struct proftrace_bpf *skel = NULL;
	/* Written before the programs are opened, and read when they are loaded. */
	int fd = memfd_create("types", MFD_CLOEXEC), handler, error;

	if (kernel_types_open(&types))
		types = NULL;
	handler = name_watchers(types);
	error = handler < 0 ? handler : 0;
	if (!error) {
		skel = programs_with_types(config->sched && privilege_held(CAP_SYS_ADMIN), types,
					   fd);
		error = skel ? 0 : -errno;
	}
	if (!error)
		error = load(skel, config, types, programs, loaded);
	if (!error)
		error = give_fds(skel, config, loaded, fds, n_fds);
	proftrace_bpf__destroy(skel);
	libbpf_unregister_prog_handler(handler);
	kernel_types_free(types);
	if (fd >= 0)
		close(fd);
	return error;
}

int programs_load(const struct broker_config *config, struct loaded_programs *programs,
		  struct broker_loaded *loaded, int *fds, unsigned *n_fds, struct failure *f)
{
	int error;

	libbpf_set_print(keep_last_words);
	/* Found out only when something is attached, it would be too late to say so. */
	programs->uprobe_multi = kernel_has_uprobe_multi();
	if (!programs->uprobe_multi && privilege_held(CAP_BPF) && privilege_held(CAP_PERFMON) &&
	    !privilege_held(CAP_SYS_ADMIN)) {
		failure_set(f, -EPERM, "not permitted to attach uprobes", "",
			    "this kernel, before 6.6, wants CAP_SYS_ADMIN for them");
		privileges_hint(false, f);
		return -EPERM;
	}
	if (access(KERNEL_TYPES_PATH, R_OK)) {
		failure_set(f, -ENOTSUP, "cannot load the BPF programs", "",
			    "the kernel has no BTF (" KERNEL_TYPES_PATH ")");
		failure_hint(f, "it needs CONFIG_DEBUG_INFO_BTF, as distribution kernels have");
		return -ENOTSUP;
	}
	error = load_and_give(config, programs, loaded, fds, n_fds);
	return error ? refuse(f, error) : 0;
}
