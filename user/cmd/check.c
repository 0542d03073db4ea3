/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace check` shows what this machine can record, and how to fix what is missing. It loads the real BPF programs
 * instead of comparing version numbers, because distributions backport features and administrators disable them.
 */
#include <argp.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/capture.h"
#include "privilege/broker/broker.h"
#include "privilege/loader/features.h"
#include "privilege/loader/pid_filter.h"
#include "privilege/loader/trial.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "counters/counters.h"
#include "privilege/confine.h"
#include "privilege/invoker.h"
#include "privilege/landlock.h"
#include "privilege/privileges.h"

static const char doc[] =
	"Show what proftrace can record on this machine, and how to fix what is missing.\v"
	"Features are tried out, not derived from version numbers. The exit status is 1 if "
	"recording is not possible.\n\nExample:\n  sudo proftrace check";

static error_t check_parse_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == ARGP_KEY_ARG)
		usage_error(state, "unexpected argument '%s'", state->argv[state->next - 1]);
	return 0;
}

/* This process loads BPF programs itself, so it counts as a broker; while it has a broker, only that one counts. */
static void check_count(void)
{
	struct failure f = { 0 };

	if (!broker_count(&f))
		return;
	fflush(stdout);
	failure_print(&f, stderr);
	exit(STATUS_FAILED);
}

/* Whether a broker can load what it needs; the maps stay. */
static int check_broker(const struct broker_config *config, struct broker_loaded *ret_loaded,
			struct failure *f)
{
	struct broker *broker;
	int error;

	broker_uncount();
	error = broker_start(config, &broker, ret_loaded, f);
	if (!error)
		broker_stop(broker, true);
	check_count();
	return error;
}

static void check_print(const char *what, bool good, const char *text)
{
	print_visible(stdout, "%-28s %-4s %s\n", what, good ? "yes" : "no", text);
}

static int read_number(const char *path, long *ret_value)
{
	FILE *file = fopen(path, "re");
	int n;

	if (!file)
		return -errno;
	n = fscanf(file, "%ld", ret_value);
	fclose(file);
	return n == 1 ? 0 : -EINVAL;
}

static void check_settings(void)
{
	long value;

	if (!read_number("/proc/sys/kernel/perf_event_paranoid", &value))
		print_visible(
			stdout, "%-28s %-4ld %s\n", "kernel.perf_event_paranoid", value,
			!geteuid() ? "root may use counters in any case"
			: value > 2
				? "only root may use counters: sysctl kernel.perf_event_paranoid=2"
				: "users with CAP_PERFMON may use counters");
	if (!read_number("/proc/sys/kernel/unprivileged_bpf_disabled", &value))
		print_visible(stdout, "%-28s %-4ld %s\n", "unprivileged_bpf_disabled", value,
			      "proftrace needs CAP_BPF in any case");
}

static void check_privileges(bool uprobe_multi)
{
	const char *ignored = privileges_ignored();
	char missing[64], line[256];

	privileges_missing(uprobe_multi, missing, sizeof(missing));
	if (missing[0])
		snprintf(line, sizeof(line), "missing: %s%s%s", missing,
			 ignored ? "; the file has capabilities, but " : "",
			 ignored ? ignored : "");
	else
		snprintf(line, sizeof(line), "%s",
			 !getuid()	? "root"
			 : uprobe_multi ? "CAP_BPF and CAP_PERFMON"
					: "CAP_SYS_ADMIN");
	check_print("privileges", !missing[0], line);
}

/* Opening a deleted file by /proc/PID/map_files needs one of these capabilities. */
static void check_deleted_files(void)
{
	bool can = privilege_held(CAP_CHECKPOINT_RESTORE) || privilege_held(CAP_SYS_ADMIN);

	if (!can)
		check_print("deleted libraries", false,
			    "those deleted or replaced after a process opened them cannot be "
			    "recorded without "
			    "cap_checkpoint_restore");
	else
		check_print("deleted libraries", true, "they are recorded as well");
}

static void check_pid_filter(void)
{
	enum pid_filter filter = PID_FILTER_UNKNOWN;
	struct pid_filter_trial filtered;
	struct trial *trial;

	if (!trial_new(&trial)) {
		pid_filter_begin(&filtered, trial);
		filter = pid_filter_result(&filtered);
		trial_end(trial);
	}
	check_print("links of one process", filter == PID_FILTER_RIGHT, pid_filter_text(filter));
}

static void check_probe_sites(void)
{
	enum optimised_nop nop = OPTIMISED_NOP_UNTRIED;
	struct trial *trial;

	if (!trial_new(&trial)) {
		nop = kernel_optimised_nop(trial);
		trial_end(trial);
	}
	print_visible(stdout, "%-28s %s\n", "probe sites", optimised_nop_text(nop));
}

static void check_pid_namespace(void)
{
	char link[64];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (n <= 0)
		return;
	link[n] = '\0';
	/* The number of the initial namespace is fixed (include/linux/proc_ns.h). */
	if (strcmp(link, "pid:[4026531836]"))
		check_print("initial pid namespace", false,
			    "PIDs here are not those of the kernel: run proftrace on the host");
}

/* Loads the real BPF programs. */
static bool check_recording(struct broker_loaded *loaded)
{
	const struct broker_config config = { .buffer_bytes = 64 << 10, .follow_children = true };
	struct failure f = { 0 };

	if (check_broker(&config, loaded, &f)) {
		check_print("recording", false, "");
		fflush(stdout);
		failure_print(&f, stdout);
		return false;
	}
	check_print("recording", true, "the BPF programs load and follow forks, execs and exits");
	return true;
}

/* The kernel unloads everything with the last descriptor. */
static void check_unload(const struct broker_loaded *loaded)
{
	close(loaded->shared_fd);
	close(loaded->holds_fd);
	if (loaded->has_usdt)
		close(loaded->usdt_specs_fd);
	for (unsigned i = 0; i < loaded->n_buffers; i++)
		close(loaded->buffers[i]);
}

static bool check_config_loads(const struct broker_config *config, struct broker_loaded *ret_loaded,
			       struct failure *f)
{
	if (check_broker(config, ret_loaded, f))
		return false;
	check_unload(ret_loaded);
	return true;
}

static void check_print_sched(const char *reason)
{
	check_print("states of threads (--sched)", !reason,
		    reason ? reason : "context switches and wakeups, also those by interrupts");
}

static void check_print_samples(const char *reason, bool by_cycles)
{
	check_print("call stacks (--sample)", !reason,
		    reason	? reason
		    : by_cycles ? "of running threads, by the cycles of each CPU"
				: "of running threads, by the clock of each CPU");
}

static void check_print_stacks(const char *reason)
{
	check_print("call stacks (--offcpu)", !reason,
		    reason ? reason : "of blocked threads, and of marks (--stack)");
}

static void check_print_functions(const char *reason)
{
	check_print("functions, probes (-f, -u)", !reason,
		    reason ? reason
			   : "the BPF programs load; `list -f FILE` shows which functions cannot "
			     "be recorded");
}

static void check_print_returns(bool sessions)
{
	check_print("return probes", sessions,
		    sessions ? "of the recorded processes alone (--return-probes)"
			     : "kernel before 6.13: --return-probes needs --no-children or a user "
			       "who is not root");
}

/* BPF programs that only some options load: all of them together, and each by itself if that fails. */
static void check_optional_programs(void)
{
	const struct broker_config base = { .buffer_bytes = 64 << 10, .follow_children = true };
	struct broker_config all = base, sched = base, samples = base, stacks = base,
			     functions = base;
	struct failure f[4] = { 0 }, ignored = { 0 };
	struct broker_loaded loaded = { 0 };
	const bool sessions = kernel_has_return_sessions();
	bool can;

	all.sched = sched.sched = true;
	all.sample_hz = samples.sample_hz = 99;
	all.mark_stacks = stacks.mark_stacks = true;
	all.offcpu_ns = stacks.offcpu_ns = 1000000;
	all.usdt = functions.usdt = all.functions = functions.functions = true;
	all.return_probes = functions.return_probes = sessions;
	can = check_config_loads(&all, &loaded, &ignored);
	check_print_sched(can || check_config_loads(&sched, &loaded, &f[0]) ? NULL : f[0].reason);
	if (can || check_config_loads(&samples, &loaded, &f[1]))
		check_print_samples(NULL, loaded.sample_cycles);
	else
		check_print_samples(f[1].reason, false);
	check_print_stacks(can || check_config_loads(&stacks, &loaded, &f[2]) ? NULL : f[2].reason);
	check_print_functions(can || check_config_loads(&functions, &loaded, &f[3]) ? NULL
										    : f[3].reason);
	check_print_returns(sessions);
}

/* The kernel shows zeros instead of addresses that it hides. */
static bool kernel_shows_addresses(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address = 0;
	int i, n = 1;

	/* The first symbols, those of per-CPU variables, may have the address 0. */
	for (i = 0; file && n == 1 && !address && i < 100000; i++)
		n = fscanf(file, "%llx%*[^\n]", &address);
	if (file)
		fclose(file);
	return address != 0;
}

static void check_kernel_stacks(void)
{
	bool root = getuid() == 0, shown = root && kernel_shows_addresses();

	check_print("kernel functions", shown,
		    !root   ? "in call stacks: for root only; functions of programs are shown"
		    : shown ? "in call stacks, with names"
		    : invoker_uid()
			    ? "not in call stacks under sudo: sysctl kernel.kptr_restrict=1"
			    : "in call stacks, without names: sysctl kernel.kptr_restrict=1");
}

static void check_new_code(void)
{
	bool can = kernel_has_find_vma();

	check_print("code just mapped", can,
		    can ? "call stacks go through generated code that is new"
			: "kernel before 5.17: call stacks end at generated code that is new");
}

/* How many hardware counters are available at once. */
static void check_counter_limits(void)
{
	unsigned n = counters_at_once();
	long value;

	if (!n)
		return;
	print_visible(stdout, "%-28s %-4u %s\n", "counters at once", n,
		      "of each CPU, without those in use by others; more counters are multiplexed");
	if (!read_number("/proc/sys/kernel/nmi_watchdog", &value))
		print_visible(
			stdout, "%-28s %-4ld %s\n", "kernel.nmi_watchdog", value,
			value ? "it uses one counter of each CPU: sysctl kernel.nmi_watchdog=0"
			      : "it uses no counter");
}

/* proftrace(7) says what a held thread can do to others where it is not held in turns. */
static void check_holds(const struct broker_loaded *loaded)
{
	check_print("holding new libraries", loaded->can_hold,
		    loaded->can_hold ? "no marks of libraries opened later are missed"
				     : "kernel before 6.0: the first marks of libraries opened "
				       "later may be missed");
	if (loaded->can_hold)
		check_print("holding in turns", loaded->holds_in_turns,
			    loaded->holds_in_turns
				    ? "a held thread keeps nobody from detaching uprobes"
				    : "kernel before 6.18, or net.core.bpf_jit_enable=0: a program "
				      "that is recorded can keep others from detaching uprobes");
}

/* proftrace(7), WHAT IS LOST WHEN: uprobes that the kernel has leaked. */
static void check_copies(const struct broker_loaded *loaded)
{
	check_print(
		"instructions kept", loaded->compares_copies,
		loaded->compares_copies
			? "no probe where the kernel would execute one of another file"
			: "kernel before 6.12: it may have kept one of another file at a probe");
}

/* Whether --mode auto sees every thread that forbids itself the counter, which buffered mode reads. */
static void check_counter_calls(void)
{
	const struct broker_config config = { .buffer_bytes = 64 << 10,
					      .follow_children = true,
					      .batching = true,
					      .changing = true,
					      .guarded = true };
	struct broker_loaded loaded = { 0 };
	struct failure f = { 0 };

	if (!check_config_loads(&config, &loaded, &f))
		check_print("changing modes (auto)", false, f.reason);
	else if (!loaded.can_hold)
		check_print("changing modes (auto)", false,
			    "kernel before 6.0: all domains stay in exact mode");
	else
		check_print("changing modes (auto)", loaded.holds_in_calls,
			    loaded.holds_in_calls
				    ? "a thread that forbids itself the time-stamp counter waits "
				      "in its system call"
				    : "the kernel cannot hold threads in turns at its own "
				      "functions: a thread that forbids itself the time-stamp "
				      "counter without the C library's prctl() may be killed");
}

static void check_buffered_mode(void)
{
	const char *why_not = capture_no_batches();

	check_print("buffered mode (--mode)", !why_not,
		    why_not			 ? why_not
		    : kernel_exits_with_memory() ? "the kernel reads the last marks of each process"
						 : "kernel before 6.16: the last marks of a "
						   "process may be missing");
	if (!why_not)
		check_counter_calls();
}

static void check_hardware_counters(void)
{
	struct counters c;
	char note[256];
	bool refused;

	if (counters_default(&c, note, sizeof(note), &refused))
		return;
	check_print("hardware counters", c.list[0].source == COUNTER_PERF,
		    note[0] ? note : "cycles, instructions, cache-misses, branch-misses");
	check_counter_limits();
}

/* On a kernel with CVE-2024-41009 a program file with capabilities lets its user corrupt the kernel's memory. */
static void check_records(void)
{
	const enum records_overlap overlap = kernel_records_overlap();

	if (overlap == RECORDS_UNKNOWN)
		return;
	check_print("ring buffers", overlap == RECORDS_APART,
		    overlap == RECORDS_APART
			    ? "records do not overlap, whatever the reader writes"
			    : "CVE-2024-41009: give the program file no capabilities (Linux 6.10, "
			      "6.9.8, "
			      "6.6.37, 6.1.97, 5.15.164 and 5.10.223 have the fix)");
}

/* On a kernel with CVE-2026-46333 the user of a program file with capabilities has what a recorder has that is taken over. */
static void check_exiting_processes(void)
{
	const enum exiting_process exiting = kernel_exiting_process();

	if (exiting == EXITING_UNKNOWN)
		return;
	check_print("exiting processes", exiting == EXITING_PROTECTED,
		    exiting == EXITING_PROTECTED
			    ? "nobody takes descriptors of a process that they may not look into"
			    : "CVE-2026-46333: the user of a program file with capabilities can "
			      "take descriptors of the recorder (Linux 7.0.8, 6.18.31, 6.12.89, "
			      "6.6.139, 6.1.173, 5.15.207 and 5.10.256 have the fix)");
}

static void check_confinement(void)
{
	bool confined = confine_available(), landlock = landlock_available();

	check_print("system call filters", confined,
		    confined ? "recorder and broker are confined to the system calls that they need"
			     : "no seccomp: recorder and broker are not confined");
	check_print("Landlock", landlock,
		    landlock ? "what talks to servers (--otlp, --debuginfod) cannot open other "
			       "processes' memory"
			     : "missing (Linux 5.13, lsm=landlock): what talks to servers (--otlp, "
			       "--debuginfod) is not kept from other processes of the user");
}

static const struct argp argp = { NULL, check_parse_option, NULL, doc, NULL, NULL, NULL };
const struct usage usage_check = { .argp = &argp };

int cmd_check(int argc, char **argv)
{
	struct broker_loaded loaded = { 0 };
	struct failure f = { 0 };
	bool can;
	struct utsname u;

	usage_parse(&usage_check, argc, argv, NULL);
	if (check_limits(&f)) {
		failure_print(&f, stderr);
		return STATUS_FAILED;
	}
	check_count();
	uname(&u);
	print_visible(stdout, "%-28s %s %s\n", "kernel", u.release, u.machine);
	check_print("kernel BTF", !access("/sys/kernel/btf/vmlinux", R_OK),
		    "/sys/kernel/btf/vmlinux");
	check_pid_namespace();
	check_settings();
	/* Only a user who may load BPF programs can find out whether the kernel has uprobe_multi. */
	check_privileges(!privilege_held(CAP_BPF) || !privilege_held(CAP_PERFMON) ||
			 privileges_in_namespace() || kernel_has_uprobe_multi());
	can = check_recording(&loaded);
	if (!can)
		return STATUS_FAILED;
	check_print("uprobe_multi links", loaded.uprobe_multi,
		    loaded.uprobe_multi
			    ? "all sites of a file are attached at once"
			    : "kernel before 6.6: attaching is slower, detaching much slower");
	if (loaded.uprobe_multi)
		check_pid_filter();
	check_deleted_files();
	check_holds(&loaded);
	check_copies(&loaded);
	check_buffered_mode();
	check_optional_programs();
	check_kernel_stacks();
	check_new_code();
	check_confinement();
	check_records();
	check_exiting_processes();
	check_hardware_counters();
	check_probe_sites();
	return STATUS_DONE;
}
