/* SPDX-License-Identifier: BSD-2-Clause */
/* What `proftrace record --help` says; record_options.c says what the options do. */
#include "cmd/record_options.h"

#include <stddef.h>

const char record_doc[] =
	"Record a running process or a command.\v"
	"Examples:\n"
	"  sudo proftrace -p 1234                 until Ctrl-C or its exit\n"
	"  sudo proftrace -p 1234 -d 10s -o slow  for ten seconds, into slow.*\n"
	"  sudo proftrace -D 'net.*' -p 1234      only domains that match net.*\n"
	"  sudo proftrace -- ./server --port 80   a command and its children\n"
	"  sudo proftrace -n 'nginx*' --wait      all of that name, now and later\n"
	"  sudo proftrace --flight-recorder 10s --trigger 'slice:request>50ms' -p 1234\n"
	"                                         the ten seconds before a slow request\n"
	"\n"
	"Open the .pftrace file in https://ui.perfetto.dev, or print it with `proftrace report`.";

const struct argp_option record_options[] = {
	{ "pid", 'p', "LIST", 0,
	  "Attach to the processes with these PIDs, separated by commas or spaces", 0 },
	{ "name", 'n', "GLOB", 0,
	  "Attach to processes whose command or executable has this name; a GLOB with a slash is "
	  "compared with the path of the executable (repeatable)",
	  0 },
	{ "user", KEY_USER, "USER", 0,
	  "Attach to processes of this user, a name or a number (repeatable). If several of -n, "
	  "--user, --cgroup, --unit and --container are given, a process has to match each of them",
	  0 },
	{ "cgroup", KEY_CGROUP, "PATH", 0,
	  "Attach to processes in this cgroup (v2) and those below it (repeatable)", 0 },
	{ "unit", KEY_UNIT, "UNIT", 0,
	  "Attach to processes of this systemd unit, such as nginx.service; globs (repeatable)",
	  0 },
	{ "container", KEY_CONTAINER, "ID|NAME", 0,
	  "Attach to processes of this container of Docker, Podman, containerd or CRI-O; globs for "
	  "names (repeatable)",
	  0 },
	{ "all", KEY_ALL, NULL, 0, "Attach to every process that has markers", 0 },
	{ "wait", KEY_WAIT, NULL, 0,
	  "Also record matching processes that start later, until -d or Ctrl-C", 0 },
	{ "output", 'o', "NAME", 0,
	  "Write NAME.pftrace and NAME.json; a NAME ending in .pftrace, .json or .json.gz writes "
	  "only "
	  "that; - writes Perfetto to standard output (repeatable)",
	  0 },
	{ "duration", 'd', "TIME", 0, "Stop after this time, such as 500ms, 10s or 5m", 0 },
	{ "start-at", KEY_START_AT, "TIME", 0,
	  "Begin at TIME: 14:30:00 (a time of day), @SECONDS (since 1970), or /10s (the next "
	  "multiple of 10s), so that hosts whose clocks are synchronized begin at the same moment",
	  0 },
	{ "domain", 'D', "GLOB", 0,
	  "Record only domains whose names match; !GLOB excludes domains (repeatable)", 0 },
	{ "usdt", 'u', "SPEC", 0,
	  "Also record existing USDT probes: PROVIDER:NAME with globs as instants, BEGIN~END as "
	  "slices; a /TEMPLATE at the end sets their names (repeatable)",
	  0 },
	{ "func", 'f', "SPEC", 0,
	  "Also record functions as slices, without recompiling: [LIB:]NAME[(ARG,...)] with globs; "
	  "without LIB, functions of the program itself; ARG is argN:TYPE or ret:TYPE (repeatable)",
	  0 },
	{ "return-probes", KEY_RETURN_PROBES, NULL, 0,
	  "Record the returns of -f by return probes of the kernel, in a sixth of the time. They "
	  "change "
	  "return addresses on the stack: exceptions through such a function end the program",
	  0 },
	{ "counters", 'e', "LIST", 0,
	  "Count these events at the beginning and the end of each slice: at most eight names of "
	  "perf or libpfm4, or the word none (default "
	  "cycles,instructions,cache-misses,branch-misses "
	  "where the machine counts them, otherwise "
	  "task-clock,page-faults,context-switches)",
	  0 },
	{ "counter-interval", KEY_COUNTER_INTERVAL, "TIME", 0,
	  "Also read the counters at this interval on every thread that runs, inside slices or "
	  "not; at least 100us",
	  0 },
	{ "per-rank", KEY_PER_RANK, NULL, 0,
	  "With -- COMMAND under mpirun, srun or torchrun: each rank has a recorder and files of "
	  "its "
	  "own; without it, the ranks of a machine share those of the first one",
	  0 },
	{ "no-children", KEY_NO_CHILDREN, NULL, 0, "Do not follow children", 0 },
	{ "mode", KEY_MODE, "MODE", 0,
	  "exact: each mark enters the kernel, which reads the counters. batch: buffered mode, "
	  "hundreds of marks enter the kernel at once; a mark takes about 20 ns. Its "
	  "counters are those that the kernel keeps for each thread: task-clock, page-faults, "
	  "context-switches and the like. batch-now: another name of batch. auto: exact; "
	  "while the marks of all domains together use more than 2 % of the CPU time "
	  "(--max-overhead changes this), the costliest domains go over to buffered mode",
	  0 },
	{ "stats-only", KEY_STATS_ONLY, NULL, 0,
	  "Write no trace: aggregate in the kernel, and print the table at the end and on SIGUSR2; "
	  "SIGUSR1 resets it",
	  0 },
	{ "metrics", KEY_METRICS, "[ADDRESS:]PORT", 0,
	  "Serve the table as OpenMetrics to Prometheus, at http://127.0.0.1:PORT/metrics", 0 },
	{ "otlp", KEY_OTLP, "URL", 0,
	  "Send metrics, and the slices of --otlp-spans, to the OpenTelemetry collector at URL, "
	  "such as http://localhost:4318; `env` is the URL in OTEL_EXPORTER_OTLP_ENDPOINT",
	  0 },
	{ "otlp-spans", KEY_OTLP_SPANS, "GLOB", 0,
	  "With --otlp: send slices with a matching name as spans; !GLOB excludes (repeatable)",
	  0 },
	{ "otlp-profiles", KEY_OTLP_PROFILES, NULL, 0,
	  "With --otlp and --sample: send the samples as profiles (the signal is in development)",
	  0 },
	{ "otlp-queue", KEY_OTLP_QUEUE, "SIZE", 0,
	  "With --otlp: memory for what the collector has not accepted yet, at least 64K (16M)",
	  0 },
	{ "otlp-interval", KEY_OTLP_INTERVAL, "TIME", 0,
	  "With --otlp: interval of the metrics and profiles, at least 1s (60s)", 0 },
	{ "otlp-gzip", KEY_OTLP_GZIP, NULL, 0, "With --otlp: compress requests", 0 },
	{ "per-thread", KEY_PER_THREAD, NULL, 0, "With --stats-only: one row for each thread", 0 },
	{ "buffer", KEY_BUFFER, "SIZE", 0,
	  "Total size of the kernel ring buffers, 64K to 2G, without root to 256M (64M; for "
	  "marks alone in exact mode 16M on 1 or 2 CPUs and 32M on 3 or 4)",
	  0 },
	{ "buffers", KEY_BUFFERS, "N", 0,
	  "Number of ring buffers, each for some of the CPUs, at most 32 (1; on more than 4 CPUs "
	  "about one for every two CPUs, at most 16)",
	  0 },
	{ "dump-period", KEY_DUMP_PERIOD, "TIME", 0,
	  "Make the files complete on disk at least this often (1s)", 0 },
	{ "compress", KEY_COMPRESS, NULL, 0,
	  "Compress Perfetto files to about a fifth of their size; the recorder then needs twice "
	  "the CPU time per event",
	  0 },
	{ "max-size", KEY_MAX_SIZE, "SIZE", 0,
	  "Continue in new files when a file reaches this size, at least 64K", 0 },
	{ "keep", KEY_KEEP, "N", 0, "Keep the newest N files of each name and delete older ones",
	  0 },
	{ "quota", KEY_QUOTA, "SIZE", 0,
	  "When the files of all recordings with --quota in the directory together exceed SIZE, "
	  "delete the oldest of them",
	  0 },
	{ "flight-recorder", KEY_FLIGHT, "TIME", 0,
	  "Keep the last TIME in memory and write it when a trigger fires", 0 },
	{ "trigger", KEY_TRIGGER, "SPEC", 0,
	  "The event on which the flight recorder writes what it has in memory: slice:NAME>50ms or "
	  "instant:NAME (repeatable). On SIGUSR2 it always writes",
	  0 },
	{ "flight-memory", KEY_FLIGHT_MEMORY, "SIZE", 0,
	  "Memory of the flight recorder, at least 64K (64M)", 0 },
	{ "rank", KEY_RANK, "N", 0,
	  "Rank of the process in a parallel job (default: RANK, OMPI_COMM_WORLD_RANK or "
	  "SLURM_PROCID in "
	  "its environment)",
	  0 },
	{ "handler", KEY_HANDLER, "LIB[=ARG]", 0,
	  "Also pass everything to your own trace handler, a shared object (repeatable)", 0 },
	{ "itt", KEY_ITT, NULL, 0,
	  "Also record the ITT annotations of COMMAND and its libraries (TBB, oneDNN, OpenMP)", 0 },
	{ "nvtx", KEY_NVTX, NULL, 0,
	  "Also record the NVTX annotations of COMMAND and its libraries", 0 },
	{ "sched", KEY_SCHED, NULL, 0,
	  "Also record context switches and wakeups: the viewer shows thread states, and each "
	  "slice says how long its "
	  "thread was running, runnable and blocked",
	  0 },
	{ "wait-reasons", KEY_WAIT_REASONS, NULL, 0,
	  "Also record why threads were blocked (a lock, a file, a socket, a sleep or a page "
	  "fault) and which thread woke them. Implies --sched",
	  0 },
	{ "syscalls", KEY_SYSCALLS, NULL, 0,
	  "Also record each system call as a slice. This slows down the system calls of all "
	  "processes",
	  0 },
	{ "sample", KEY_SAMPLE, "HZ", 0,
	  "Also sample the call stacks of running threads, HZ times a second on each CPU (for "
	  "example 997)",
	  0 },
	{ "stack", KEY_STACK, "GLOB", 0,
	  "Also record the call stack of each instant, and of the begin of each slice, whose name "
	  "matches (repeatable)",
	  0 },
	{ "offcpu", KEY_OFFCPU, "TIME", 0,
	  "Also record the call stack of a thread that blocks longer than TIME inside a slice", 0 },
	{ "debuginfod", KEY_DEBUGINFOD, NULL, 0,
	  "Ask the servers in DEBUGINFOD_URLS for names of functions in call stacks. This tells "
	  "them what runs here",
	  0 },
	{ "system", KEY_SYSTEM, "LIST", 0,
	  "Also record counters of the machine: cpu,memory,disk,network", 0 },
	{ "system-interval", KEY_SYSTEM_INTERVAL, "TIME", 0,
	  "Interval of --system, at least 10ms (500ms)", 0 },
	{ "schedule", KEY_SCHEDULE, "SPEC", 0,
	  "Record only some training steps (PROF_STEP) of each epoch: "
	  "skip_first=0,wait=0,warmup=1,active=4,repeat=1; each "
	  "cycle has its own files; repeat=0 repeats until the epoch ends",
	  0 },
	{ "include-json", KEY_INCLUDE_JSON, "FILE", 0,
	  "At the end, include the trace that another profiler wrote (repeatable)", 0 },
	{ "include-offset", KEY_INCLUDE_OFFSET, "TIME", 0,
	  "Shift included traces by TIME, which may be negative", 0 },
	{ "max-overhead", KEY_MAX_OVERHEAD, "PERCENT", 0,
	  "Turn off domains, the costliest first, when the markers use more than this share of the "
	  "processes' CPU time",
	  0 },
	{ "summary-json", KEY_SUMMARY_JSON, "FILE", 0,
	  "Write the accounting of the recording as JSON", 0 },
	{ "strict", KEY_STRICT, NULL, 0, "Exit with 3 if anything was lost or malformed", 0 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ "verbose", 'v', NULL, 0, "Print more; twice, even more", 0 },
	{ 0 },
};
