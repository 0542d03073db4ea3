/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace check`: what this machine can do, found out by trying, and how to fix what is missing. */
#include <argp.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "broker/broker.h"
#include "broker/features.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "confine/confine.h"
#include "counters/counters.h"
#include "target/privileges.h"

static const char doc[] =
	"Say what this machine can do for proftrace, and how to fix what is missing.\v"
	"Everything is tried, nothing is guessed from version numbers. Exits 1 when recording is "
	"not possible.\n\nExample:\n  sudo proftrace check";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == ARGP_KEY_ARG)
		usage_error(state, "what is '%s'? It takes no more words",
			    state->argv[state->next - 1]);
	return 0;
}

static void say(const char *what, bool good, const char *text)
{
	printf("%-28s %-4s %s\n", what, good ? "yes" : "no", text);
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
		printf("%-28s %-4ld %s\n", "kernel.perf_event_paranoid", value,
		       !geteuid()  ? "root may count in any case"
		       : value > 2 ? "only root counts: sysctl kernel.perf_event_paranoid=2"
				   : "whoever has CAP_PERFMON may count");
	if (!read_number("/proc/sys/kernel/unprivileged_bpf_disabled", &value))
		printf("%-28s %-4ld %s\n", "unprivileged_bpf_disabled", value,
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
			 !getuid()	? "of root"
			 : uprobe_multi ? "CAP_BPF and CAP_PERFMON are there"
					: "CAP_SYS_ADMIN is there");
	say("privileges", !missing[0], line);
}

/* Without it, what has no name any more cannot be opened; with root's, everything can. */
static void check_deleted_files(void)
{
	bool can = privilege_held(CAP_CHECKPOINT_RESTORE) || privilege_held(CAP_SYS_ADMIN);

	if (!can)
		say("deleted libraries", false,
		    "one that was deleted or replaced since a process opened it is out of reach: "
		    "cap_checkpoint_restore");
	else
		say("deleted libraries", true, "they are recorded all the same");
}

static void check_namespace(void)
{
	char link[64];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (n <= 0)
		return;
	link[n] = '\0';
	/* The number of the initial namespace is fixed (include/linux/proc_ns.h). */
	if (strcmp(link, "pid:[4026531836]"))
		say("initial pid namespace", false,
		    "process numbers here are not the kernel's: run proftrace on the host");
}

/* Loads the real programs, which is the only test that counts. */
static bool check_recording(struct broker_loaded *loaded)
{
	const struct broker_config config = { .buffer_bytes = 64 << 10, .follow_children = true };
	struct broker *broker;
	struct failure f = { 0 };
	int error = broker_start(&config, &broker, loaded, &f);

	if (error) {
		say("recording", false, "");
		fflush(stdout);
		failure_print(&f, stdout);
		return false;
	}
	broker_stop(broker);
	say("recording", true, "the BPF programs load and watch forks, execs and exits");
	return true;
}

/* What was loaded goes with its descriptors. */
static void unload(const struct broker_loaded *loaded)
{
	unsigned i;

	close(loaded->shared_fd);
	close(loaded->holds_fd);
	if (loaded->has_usdt)
		close(loaded->usdt_specs_fd);
	for (i = 0; i < loaded->n_links; i++)
		close(loaded->links[i]);
	for (i = 0; i < loaded->n_buffers; i++)
		close(loaded->buffers[i]);
}

static bool try_config(const struct broker_config *config, struct broker_loaded *ret_loaded,
		       struct failure *f)
{
	struct broker *broker;

	if (broker_start(config, &broker, ret_loaded, f))
		return false;
	broker_stop(broker);
	unload(ret_loaded);
	return true;
}

static void say_sched(const char *reason)
{
	say("states of threads (--sched)", !reason,
	    reason ? reason
	    : kernel_tells_interrupts()
		    ? "who has which CPU, who wakes whom, and which interrupts do"
		    : "who has which CPU, and who wakes whom; not whether it was "
		      "an interrupt, but on an idle CPU");
}

static void say_samples(const char *reason, bool by_cycles)
{
	say("call stacks (--sample)", !reason,
	    reason	? reason
	    : by_cycles ? "of what runs, by the cycles of each CPU"
			: "of what runs, by the clock of each CPU");
}

static void say_stacks(const char *reason)
{
	say("call stacks (--offcpu)", !reason,
	    reason ? reason : "where threads block, and of marks (--stack)");
}

static void say_functions(const char *reason)
{
	say("functions, probes (-f, -u)", !reason,
	    reason ? reason
		   : "the BPF programs load; list -f FILE says which functions cannot be recorded");
}

/*
 * Programs that are loaded only when they are asked for: all of them at once, and each by itself where
 * that fails, to see which of them it is.
 */
static void check_options(void)
{
	const struct broker_config base = { .buffer_bytes = 64 << 10, .follow_children = true };
	struct broker_config all = base, sched = base, samples = base, stacks = base,
			     functions = base;
	struct failure f[4] = { 0 }, ignored = { 0 };
	struct broker_loaded loaded = { 0 };
	bool can;

	all.sched = sched.sched = true;
	all.sample_hz = samples.sample_hz = 99;
	all.mark_stacks = stacks.mark_stacks = true;
	all.offcpu_ns = stacks.offcpu_ns = 1000000;
	all.usdt = functions.usdt = all.functions = functions.functions = true;
	can = try_config(&all, &loaded, &ignored);
	say_sched(can || try_config(&sched, &loaded, &f[0]) ? NULL : f[0].reason);
	if (can || try_config(&samples, &loaded, &f[1]))
		say_samples(NULL, loaded.sample_cycles);
	else
		say_samples(f[1].reason, false);
	say_stacks(can || try_config(&stacks, &loaded, &f[2]) ? NULL : f[2].reason);
	say_functions(can || try_config(&functions, &loaded, &f[3]) ? NULL : f[3].reason);
}

/* The kernel writes zeros where it hides its addresses: from us, or from everybody. */
static bool kernel_shows_addresses(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address = 0;
	int i, n = 1;

	/* The first ones may be zero: where each CPU's variables begin. */
	for (i = 0; file && n == 1 && !address && i < 100000; i++)
		n = fscanf(file, "%llx%*[^\n]", &address);
	if (file)
		fclose(file);
	return address != 0;
}

static void check_kernel_stacks(void)
{
	bool root = getuid() == 0, shown = root && kernel_shows_addresses();

	say("the kernel's functions", shown,
	    !root    ? "in call stacks: for root alone; those of programs are there"
	    : !shown ? "in call stacks: without names: sysctl kernel.kptr_restrict=1"
		     : "in call stacks, with their names");
}

/* Where the hardware counts: how much of it is there for us. */
static void check_hardware(void)
{
	unsigned n = counters_at_once();
	long value;

	if (!n)
		return;
	printf("%-28s %-4u %s\n", "counters at once", n,
	       "for each CPU, those in use by others left out; what is more takes turns");
	if (!read_number("/proc/sys/kernel/nmi_watchdog", &value))
		printf("%-28s %-4ld %s\n", "kernel.nmi_watchdog", value,
		       value ? "it takes one counter of each CPU: sysctl kernel.nmi_watchdog=0"
			     : "it takes no counter");
}

static void check_counters(void)
{
	struct counters c;
	char note[256];

	if (counters_default(&c, note, sizeof(note)))
		return;
	say("hardware counters", c.list[0].source == COUNTER_PERF,
	    note[0] ? note : "cycles, instructions, cache-misses, branch-misses");
	check_hardware();
}

static const struct argp argp = { NULL, parse, NULL, doc, NULL, NULL, NULL };
const struct usage usage_check = { .argp = &argp };

int cmd_check(int argc, char **argv)
{
	struct broker_loaded loaded = { 0 };
	bool can, confined = confine_available();
	struct utsname u;

	usage_parse(&usage_check, argc, argv, NULL);
	uname(&u);
	printf("%-28s %s %s\n", "kernel", u.release, u.machine);
	say("kernel BTF", !access("/sys/kernel/btf/vmlinux", R_OK), "/sys/kernel/btf/vmlinux");
	check_namespace();
	check_settings();
	/* Which kernel this is only those find out who may load BPF programs. */
	check_privileges(!privilege_held(CAP_BPF) || !privilege_held(CAP_PERFMON) ||
			 kernel_has_uprobe_multi());
	can = check_recording(&loaded);
	if (!can)
		return STATUS_FAILED;
	say("uprobe_multi links", loaded.uprobe_multi,
	    loaded.uprobe_multi ? "all sites of a file are attached at once"
				: "before 6.6: attaching is slower, detaching much slower");
	check_deleted_files();
	say("holding new libraries", loaded.can_hold,
	    loaded.can_hold ? "nothing of a library opened later is missed"
			    : "before 5.17: first marks of libraries opened later may be missed");
	check_options();
	check_kernel_stacks();
	say("filters of system calls", confined,
	    confined ? "recorder and broker ask the kernel for nothing else"
		     : "no seccomp: they run without, with the privileges they have");
	check_counters();
	printf("%-28s %s\n", "probe sites", fast_door_text(kernel_fast_door()));
	return STATUS_DONE;
}
