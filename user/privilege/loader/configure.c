/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides, before the BPF programs are loaded, which of them are loaded, the sizes of their maps, and the constants by
 * which the verifier removes code that this recording does not need. A map that is not needed gets one entry.
 */
#include "privilege/loader/internal.h"

#include <bpf/libbpf.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash_key.h"
#include "base/kallsyms.h"
#include "privilege/invoker.h"
#include "privilege/loader/features.h"
#include "privilege/loader/kernel_types.h"
#include "bpf/event.h"
#include "privilege/loader/wait_calls.h"
#include "proftrace.skel.h"
#include "bpf/table/table.h"
#include "bpf/stacks/python_maps.h"
#include "bpf/stacks/stack.h"
#include "bpf/stacks/unwind_maps.h"
#include "bpf/marks/usdt_spec.h"

bool counters_have(const struct counters *c, enum counter_source source)
{
	for (unsigned i = 0; i < c->n; i++) {
		if (c->list[i].source == source)
			return true;
	}
	return false;
}

static void configure_counters(struct proftrace_bpf *skel, const struct broker_config *config)
{
	const struct counters *c = &config->counters;

	skel->rodata->n_counters = c->n;
	for (unsigned i = 0; i < c->n; i++)
		skel->rodata->counter_sources[i] = c->list[i].source;
	skel->rodata->has_task_clock = counters_have(c, COUNTER_TASK_CLOCK);
	skel->rodata->has_perf_counters = counters_have(c, COUNTER_PERF);
	skel->rodata->multiplexed = c->multiplexed;
	bpf_program__set_autoload(skel->progs.on_switch, counters_have(c, COUNTER_PERF));
	bpf_program__set_autoload(skel->progs.on_tick, c->n && config->counter_interval_ns);
	bpf_program__set_autoload(skel->progs.on_cpu_change, c->n && config->batching);
	bpf_program__set_autoload(skel->progs.on_fault, c->n && config->batching);
	bpf_program__set_autoload(skel->progs.on_timer, c->n && config->batching);
	if (!counters_have(c, COUNTER_PERF))
		bpf_map__set_max_entries(skel->maps.counter_events, 1);
}

/* With its context the tracepoint then has five arguments; without types nobody knows. */
static void configure_switches(struct proftrace_bpf *skel, const struct kernel_types *types)
{
	skel->rodata->switch_has_state =
		types && kernel_types_arguments(types, "sched_switch") >= 5;
}

static void configure_sched(struct proftrace_bpf *skel, const struct broker_config *config)
{
	bpf_program__set_autoload(skel->progs.on_sched_switch, config->sched);
	bpf_program__set_autoload(skel->progs.on_waking, config->sched);
	bpf_program__set_autoload(skel->progs.on_wakeup_new, config->sched);
	skel->rodata->invoker = getuid();
	skel->rodata->wait_reasons = config->wait_reasons;
	bpf_program__set_autoload(skel->progs.on_sys_enter, config->syscalls);
	bpf_program__set_autoload(skel->progs.on_sys_exit, config->syscalls);
	skel->rodata->syscalls_followed = config->syscalls;
	if (!config->syscalls)
		bpf_map__set_max_entries(skel->maps.syscall_slots, 1);
	if (config->wait_reasons || config->syscalls)
		wait_calls_fill((uint8_t *)skel->rodata->wait_calls);
	if (!config->sched)
		bpf_map__set_max_entries(skel->maps.sent_comms, 1);
}

/*
 * Each map takes a descriptor, of which a caller may leave only few, and buffered mode has more programs. What refers to these
 * maps is dead code in this recording; if the verifier does not see that, `all` are made (load.c).
 */
static void configure_unneeded_maps(struct proftrace_bpf *skel, const struct broker_config *config,
				    bool has_unwind, bool all)
{
	const bool every = all || !config->batching;
	struct bpf_map *const tables[] = { skel->maps.table_rows, skel->maps.table_pages,
					   skel->maps.table_asyncs };
	struct bpf_map *const unwind[] = { skel->maps.unwind_rows,	skel->maps.unwind_rules,
					   skel->maps.unwind_pages,	skel->maps.unwind_ranges,
					   skel->maps.unwind_processes, skel->maps.python_setups,
					   skel->maps.python_threads };

	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		bpf_map__set_autocreate(tables[i], all || config->table_rows);
	/* Those that walk stacks are not loaded otherwise, or with usdt(), where the verifier may see them. */
	for (unsigned i = 0; i < sizeof(unwind) / sizeof(unwind[0]); i++)
		bpf_map__set_autocreate(unwind[i],
					all || has_unwind ||
						(every && (config->usdt || config->functions)));
	bpf_map__set_autocreate(skel->maps.usdt_specs, all || config->usdt || config->functions);
	bpf_map__set_autocreate(skel->maps.steps, every || config->schedule.active);
	bpf_map__set_autocreate(skel->maps.sent_comms, all || config->sched);
	bpf_map__set_autocreate(skel->maps.syscall_slots, all || config->syscalls);
	bpf_map__set_autocreate(skel->maps.counter_events,
				every || counters_have(&config->counters, COUNTER_PERF));
}

struct bpf_program *programs_marks(const struct proftrace_bpf *skel,
				   const struct broker_config *config)
{
	if (config->table_rows)
		return skel->progs.aggregate;
	return config->mark_stacks ? skel->progs.mark_with_stack : skel->progs.mark;
}

/* Marks are either recorded or aggregated. Only one of these programs is loaded. */
static void configure_marks(struct proftrace_bpf *skel, const struct broker_config *config)
{
	const struct bpf_program *marks = programs_marks(skel, config);

	bpf_program__set_autoload(skel->progs.mark, marks == skel->progs.mark);
	bpf_program__set_autoload(skel->progs.mark_with_stack,
				  marks == skel->progs.mark_with_stack);
	bpf_program__set_autoload(skel->progs.aggregate, marks == skel->progs.aggregate);
}

static void configure_tables(struct proftrace_bpf *skel, uint32_t rows)
{
	if (!rows)
		return;
	skel->rodata->table_mask = rows - 1;
	skel->rodata->table_secret = hash_bytes(&hash_key, "tables", 6);
	bpf_map__set_max_entries(skel->maps.table_threads, TABLE_THREADS);
	bpf_map__set_max_entries(skel->maps.table_rows, TABLE_FIRST_ROW + rows);
	bpf_map__set_max_entries(skel->maps.table_pages, TABLE_FIRST_ROW + rows);
	bpf_map__set_max_entries(skel->maps.table_asyncs, TABLE_NEAR + TABLE_BUNDLES);
}

/*
 * In buffered mode, buffers are read just before a process executes a program, if the kernel has a
 * tracepoint there.
 */
static void configure_batching(struct proftrace_bpf *skel, const struct broker_config *config,
			       const struct kernel_types *types)
{
	static const char before_exec[] = "sched_prepare_exec"; /* since 6.10 */
	bool sees_exec =
		config->batching && types && kernel_types_tracepoint(types, before_exec) > 0;

	if (config->batching && !types)
		sees_exec = libbpf_find_vmlinux_btf_id(before_exec, BPF_TRACE_RAW_TP) > 0;
	skel->rodata->batching = config->batching;
	if (config->batching) {
		bpf_map__set_max_entries(skel->maps.batches_more, BATCHES_MORE);
		bpf_map__set_max_entries(skel->maps.batches_inherited, BATCHES_INHERITED);
		bpf_map__set_max_entries(skel->maps.batches_unloaded, BATCHES_UNLOADED);
		bpf_map__set_max_entries(skel->maps.ended_processes, ENDED_PROCESSES);
	}
	bpf_program__set_autoload(skel->progs.flush, config->batching);
	bpf_program__set_autoload(skel->progs.find_counter_off, config->batching);
	bpf_program__set_autoload(skel->progs.on_prepare_exec, sees_exec);
}

static void configure_usdt(struct proftrace_bpf *skel, bool usdt, bool uprobe_multi,
			   bool return_sessions)
{
	bpf_program__set_autoload(skel->progs.usdt, usdt);
	bpf_program__set_autoload(skel->progs.usdt_session, return_sessions);
	bpf_program__set_expected_attach_type(skel->progs.usdt_session, TRACE_UPROBE_SESSION);
	skel->rodata->return_sessions = return_sessions;
	if (usdt)
		bpf_map__set_max_entries(skel->maps.usdt_specs, USDT_MAX_SPECS);
	if (uprobe_multi)
		bpf_program__set_expected_attach_type(skel->progs.usdt, TRACE_UPROBE_MULTI);
}

/*
 * 0: no function has an address. *ret_hidden: since the kernel hides the addresses, from the recorder as well, and not because
 * they cannot be read here. Nothing that was read stays in memory.
 */
static uint64_t kernel_begin(bool *ret_hidden)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	struct kallsyms_function function;
	char line[1024], buffer[4096];
	uint64_t begin = 0;

	if (file)
		setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	while (file && !begin && fgets(line, sizeof(line), file)) {
		if (kallsyms_parse(line, &function))
			kallsyms_find_begin(&function, &begin);
	}
	*ret_hidden = file && !begin && feof(file);
	if (file)
		fclose(file);
	explicit_bzero(line, sizeof(line));
	explicit_bzero(buffer, sizeof(buffer));
	explicit_bzero(&function, sizeof(function));
	return begin;
}

static void configure_samples(struct proftrace_bpf *skel, const struct broker_config *config)
{
	bpf_program__set_autoload(skel->progs.on_sample, config->sample_hz);
	/* Only root may see what the kernel does. */
	if (getuid() == 0 && (config->sample_hz || config->offcpu_ns)) {
		bool hidden;
		uint64_t begin = kernel_begin(&hidden);

		skel->rodata->kernel_shift = begin ? begin - STACK_KERNEL_BEGIN : 0;
		skel->rodata->kernel_stacks = begin || (hidden && !invoker_uid());
	}
	skel->rodata->mark_stacks = config->mark_stacks;
	skel->rodata->offcpu_ns = config->offcpu_ns;
	bpf_program__set_autoload(skel->progs.on_offcpu, config->offcpu_ns);
}

/* The tables by which stacks are walked: empty until the recorder fills them. */
static void configure_unwind(struct proftrace_bpf *skel, const struct broker_config *config,
			     struct broker_loaded *loaded)
{
	loaded->has_unwind = config->sample_hz || config->mark_stacks || config->offcpu_ns;
	skel->rodata->has_unwind = loaded->has_unwind;
	if (!loaded->has_unwind)
		return;
	bpf_map__set_max_entries(skel->maps.unwind_rows, UNWIND_ROWS / UNWIND_ROWS_EACH);
	bpf_map__set_max_entries(skel->maps.unwind_rules, UNWIND_RULES);
	bpf_map__set_max_entries(skel->maps.unwind_pages, UNWIND_PAGES);
	bpf_map__set_max_entries(skel->maps.unwind_ranges, UNWIND_RANGES);
	bpf_map__set_max_entries(skel->maps.unwind_processes, UNWIND_PROCESSES);
	bpf_map__set_max_entries(skel->maps.python_setups, PYTHON_SETUPS);
}

unsigned configured_buffers(const struct broker_config *config)
{
	return config->buffers ? config->buffers : 1;
}

/* A thread whose slot another one has keeps its state elsewhere, which takes longer at each mark, but is as good. */
void programs_configure_threads(struct proftrace_bpf *skel, const struct broker_config *config)
{
	uint32_t n = bpf_map__max_entries(skel->maps.thread_slots) / (config->batching ? 1 : 4);

	bpf_map__set_max_entries(skel->maps.thread_slots, n);
	skel->rodata->thread_slots_mask = n - 1;
}

/*
 * No more than there are numbers of processes. The kernel makes all entries at once, which takes it 3 ms for 65536. If there are more
 * numbers later, a process that finds no place is counted.
 */
void programs_configure_processes(struct proftrace_bpf *skel)
{
	FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
	uint32_t n;

	if (!file)
		return;
	if (fscanf(file, "%" SCNu32, &n) == 1 && n && n < bpf_map__max_entries(skel->maps.traced))
		bpf_map__set_max_entries(skel->maps.traced, n);
	fclose(file);
}

/* The map `records` gets the smallest possible size: another one takes its place (background.h), or is not needed. */
static void configure_buffers(struct proftrace_bpf *skel, const struct broker_config *config)
{
	unsigned n = configured_buffers(config);
	uint64_t each = config->buffer_bytes / n, wakeup = each / 4;

	skel->rodata->buffers_mask = n - 1;
	skel->rodata->buffer_bytes = each;
	skel->rodata->wakeup_bytes = wakeup < 1 << 20 ? wakeup : 1 << 20;
	/*
	 * Between two queries, this many of the largest records from every CPU must not fill the
	 * buffer.
	 */
	skel->rodata->query_mask = each >= 4 << 20 ? 63 : 0;
	bpf_map__set_max_entries(skel->maps.records, (uint32_t)sysconf(_SC_PAGESIZE));
	bpf_map__set_max_entries(skel->maps.record_buffers, n);
	bpf_map__set_autocreate(skel->maps.record_buffers, n > 1);
}

/* With uprobe_multi, one link has all sites of a file; its programs have another type. */
static void configure_attach_types(struct proftrace_bpf *skel, struct bpf_program *marks)
{
	bpf_program__set_expected_attach_type(marks, TRACE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skel->progs.libraries_changed, TRACE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skel->progs.libraries_turns, TRACE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skel->progs.executes, TRACE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skel->progs.executes_turns, TRACE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skel->progs.flush, TRACE_UPROBE_MULTI);
}

static void configure_holds(struct proftrace_bpf *skel, struct loaded_programs *programs,
			    struct broker_loaded *loaded)
{
	bool in_turns;

	loaded->can_loop = kernel_has_bpf_loop();
	skel->rodata->can_loop = loaded->can_loop;
	loaded->can_hold = loaded->can_loop && kernel_has_sleepable_uprobes();
	skel->rodata->can_hold = loaded->can_hold;
	in_turns = loaded->can_hold && programs->turn_function;
	loaded->holds_in_turns = in_turns;
	programs->libraries =
		in_turns ? skel->progs.libraries_turns : skel->progs.libraries_changed;
	programs->executes = in_turns ? skel->progs.executes_turns : skel->progs.executes;
	bpf_program__set_autoload(skel->progs.libraries_changed, !in_turns);
	bpf_program__set_autoload(skel->progs.libraries_turns, in_turns);
	bpf_program__set_autoload(skel->progs.executes, !in_turns);
	bpf_program__set_autoload(skel->progs.executes_turns, in_turns);
	bpf_map__set_max_entries(skel->maps.hold_turns, in_turns ? 2 * HOLD_SLOTS : 1);
	/* Otherwise they are still loaded, because they report new libraries; threads just do not wait. */
	if (loaded->can_hold) {
		bpf_program__set_flags(programs->libraries, BPF_F_SLEEPABLE);
		bpf_program__set_flags(programs->executes, BPF_F_SLEEPABLE);
	}
}

/*
 * Threads that forbid themselves the processor's counter are held at the functions of the kernel that change the processor
 * (bpf/batch/forbids_counter.bpf.c), where programs can run there.
 */
static void configure_forbidding(struct proftrace_bpf *skel, const struct broker_config *config,
				 const struct kernel_types *types,
				 const struct broker_loaded *loaded)
{
	bool sets = config->changing && loaded->holds_in_turns && types &&
		    kernel_can_enter(types, "set_tsc_mode");
	bool disables = false;

#if defined(__x86_64__)
	disables = sets = sets && kernel_can_enter(types, "disable_TSC");
#endif
	bpf_program__set_autoload(skel->progs.on_counter_set, sets);
	bpf_program__set_autoload(skel->progs.on_counter_disabled, disables);
}

/*
 * Before Linux 6.1, which brought the allocator, a map that allocates while a uprobe's program runs makes the kernel
 * print a warning.
 */
static void configure_allocations(struct proftrace_bpf *skel, const struct kernel_types *types)
{
	struct bpf_map *const maps[] = { skel->maps.steps, skel->maps.batches_more,
					 skel->maps.batches_inherited };

	if (types && kernel_types_function(types, "bpf_mem_alloc_init") > 0)
		return;
	for (unsigned i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		bpf_map__set_map_flags(maps[i], 0);
}

/*
 * bpf/find_uprobe.bpf.c: a link leads to a uprobe since 6.12. The first kernels with such links have no such pointer, but do have
 * all that the program needs to say so.
 */
static void configure_find(struct proftrace_bpf *skel, const struct loaded_programs *programs,
			   const struct broker_loaded *loaded)
{
	bpf_program__set_autoload(skel->progs.find_uprobe,
				  programs->uprobe_multi && loaded->can_loop);
}

void programs_configure(struct proftrace_bpf *skel, const struct broker_config *config,
			const struct kernel_types *types, struct loaded_programs *programs,
			struct broker_loaded *loaded)
{
	if (programs->uprobe_multi)
		configure_attach_types(skel, programs_marks(skel, config));
	configure_holds(skel, programs, loaded);
	configure_find(skel, programs, loaded);
	skel->rodata->any_process = getuid() == 0;
	skel->rodata->follow_children = config->follow_children;
	skel->rodata->each_links = broker_links_each(config);
	if (!broker_links_each(config))
		bpf_map__set_max_entries(skel->maps.follows, (uint32_t)sysconf(_SC_PAGESIZE));
	if (!config->targets || !config->targets->n_containers)
		bpf_map__set_max_entries(skel->maps.target_containers, 1);
	if (config->targets)
		memcpy((void *)&skel->rodata->target_filter, config->targets,
		       sizeof(*config->targets));
	skel->rodata->guarded = config->guarded;
	skel->rodata->switches_off = config->switches_off;
	skel->rodata->scheduled = config->schedule.active != 0;
	memcpy((void *)&skel->rodata->schedule, &config->schedule, sizeof(config->schedule));
	if (!config->schedule.active)
		bpf_map__set_max_entries(skel->maps.steps, 1);
	configure_buffers(skel, config);
	configure_counters(skel, config);
	configure_switches(skel, types);
	configure_sched(skel, config);
	configure_samples(skel, config);
	configure_unwind(skel, config, loaded);
	configure_marks(skel, config);
	configure_tables(skel, config->table_rows);
	configure_unneeded_maps(skel, config, loaded->has_unwind, programs->all_maps);
	configure_batching(skel, config, types);
	configure_forbidding(skel, config, types, loaded);
	configure_allocations(skel, types);
	configure_usdt(skel, config->usdt || config->functions, programs->uprobe_multi,
		       programs->return_sessions);
}
