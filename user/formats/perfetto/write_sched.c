// SPDX-License-Identifier: BSD-2-Clause
/*
 * Context switches and wakings, in the form of an ftrace data source: bundles of events of one CPU each, from which
 * viewers derive the tracks of CPUs and the states of threads.
 *
 * A compact bundle has only the next task of each switch; the previous task is the next one of the switch before. So
 * the first switch of a CPU, and the first after a loss, is written in full. The bundles of all CPUs are written
 * together, so that events of one time are close together in the file and a reader can sort them.
 *
 * Loaders take the times of bundles as CLOCK_BOOTTIME, whatever clock the packet names. So times are converted with
 * the latest clock snapshot in the file, with which a reader converts them back.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "formats/perfetto/writer.h"
#include "formats/perfetto/write_wire.h"
#include "timeline/fact.h"

enum {
	MAX_CPUS = 1024,
	BUNDLE_EVENTS = 256,
	MAX_COMMS = 128, /* names in one bundle */
	LONGEST_COMM = 64,
	MAX_DESCRIBED_TASKS = 65536,

	FLAG_HARDIRQ = 8, /* TRACE_FLAG_HARDIRQ of the kernel */
};

/* The values of one field, for all events of a compact bundle. */
struct column {
	uint64_t values[BUNDLE_EVENTS];
};

enum {
	SWITCH_COLUMNS = 5,
	WAKING_COLUMNS = 6,
	LONGEST_VARINT = 10,
};

_Static_assert((SWITCH_COLUMNS + WAKING_COLUMNS) * (BUNDLE_EVENTS * 5 + 8) +
			       2 * BUNDLE_EVENTS * LONGEST_VARINT + MAX_COMMS * (LONGEST_COMM + 4) +
			       64 <
		       64 * 1024,
	       "sink_reserve() can reserve the longest bundle");

struct cpu_bundle {
	bool begun; /* its first switch has been written in full */
	bool lost;  /* after a loss: the next switch has to be written in full */
	unsigned n_switches, n_wakings, n_comms;
	uint64_t last_switch_ns, last_waking_ns;
	uint32_t tid; /* the next task of the last switch */
	struct column switches[SWITCH_COLUMNS];
	struct column wakings[WAKING_COLUMNS];
	const struct name *comms[MAX_COMMS];
};

/* A task whose process has been written, and the name that was written for the process if it is its main thread. */
struct described_task {
	uint32_t tid;
	uint32_t pid; /* as written; 0: not yet */
	const struct name *comm;
	bool described; /* the main thread of a process that has a track, which has its name */
	UT_hash_handle hh;
};

struct perfetto_sched {
	unsigned n_cpus;
	struct cpu_bundle *cpus[MAX_CPUS];
	struct described_task *described_tasks;
};

static const struct name *const idle_name = NULL;

void perfetto_sched_free(struct perfetto *p)
{
	if (!p->sched)
		return;
	hash_clear(hh, p->sched->described_tasks, entry);
	for (unsigned i = 0; i < p->sched->n_cpus; i++)
		free(p->sched->cpus[i]);
	free(p->sched);
}

static uint64_t sched_boottime(const struct perfetto *p, uint64_t ts_ns)
{
	return ts_ns + (uint64_t)p->boot_offset;
}

/* --- bundles ------------------------------------------------------------------------------------- */

static uint8_t *bundle_put_column(uint8_t *at, unsigned field, const struct column *column,
				  unsigned n)
{
	uint8_t *contents = at = wire_open(at, field);

	for (unsigned i = 0; i < n; i++)
		at = wire_varint(at, column->values[i]);
	return wire_close(contents, at);
}

static uint8_t *bundle_put_columns(uint8_t *at, const unsigned *fields, unsigned n_fields,
				   const struct column *columns, unsigned n)
{
	for (unsigned i = 0; n && i < n_fields; i++)
		at = bundle_put_column(at, fields[i], &columns[i], n);
	return at;
}

static uint8_t *bundle_put_comm(uint8_t *at, unsigned field, const struct name *comm)
{
	if (comm == idle_name)
		return wire_text(at, field, "", 0);
	return wire_text(at, field, comm->text, text_fit(comm->text, comm->length, LONGEST_COMM));
}

static int bundle_write(struct perfetto *p, unsigned cpu, struct cpu_bundle *b)
{
	static const unsigned switches[SWITCH_COLUMNS] = { COMPACT_SWITCH_TS, COMPACT_SWITCH_STATE,
							   COMPACT_SWITCH_PID, COMPACT_SWITCH_PRIO,
							   COMPACT_SWITCH_COMM };
	static const unsigned wakings[WAKING_COLUMNS] = {
		COMPACT_WAKING_TS,   COMPACT_WAKING_PID,  COMPACT_WAKING_CPU,
		COMPACT_WAKING_PRIO, COMPACT_WAKING_COMM, COMPACT_WAKING_FLAGS
	};
	uint8_t *at, *packet, *bundle, *compact;

	if (!b->n_switches && !b->n_wakings)
		return 0;
	at = (uint8_t *)sink_reserve(p->sink, 64 * 1024);
	if (!at)
		return sink_error(p->sink);
	packet = at = wire_open(at, TRACE_PACKET);
	at = wire_number(at, PACKET_SEQUENCE, PERFETTO_SHARED);
	bundle = at = wire_open(at, PACKET_FTRACE);
	at = wire_number(at, BUNDLE_CPU, cpu);
	compact = at = wire_open(at, BUNDLE_COMPACT);
	at = bundle_put_columns(at, switches, SWITCH_COLUMNS, b->switches, b->n_switches);
	for (unsigned i = 0; i < b->n_comms; i++)
		at = bundle_put_comm(at, COMPACT_COMM, b->comms[i]);
	at = bundle_put_columns(at, wakings, WAKING_COLUMNS, b->wakings, b->n_wakings);
	at = wire_close(compact, at);
	at = wire_close(bundle, at);
	at = wire_close(packet, at);
	sink_commit(p->sink, (size_t)(at - (packet - 2)));
	p->packets++;
	b->n_switches = b->n_wakings = b->n_comms = 0;
	return 0;
}

int perfetto_sched_flush(struct perfetto *p)
{
	int error = 0;

	for (unsigned i = 0; p->sched && i < p->sched->n_cpus && !error; i++) {
		if (p->sched->cpus[i])
			error = bundle_write(p, i, p->sched->cpus[i]);
	}
	return error;
}

/* A bundle with one event in full. Lengths are known when it is closed. */
struct full_bundle {
	uint8_t *packet, *bundle, *event, *contents;
};

/* Begins a bundle of the one event `field`, with what all such events have. Returns NULL after an error. */
static uint8_t *full_bundle_open(struct perfetto *p, struct full_bundle *b, const struct fact *fact,
				 uint32_t tid, unsigned flags, unsigned field)
{
	uint8_t *at = (uint8_t *)sink_reserve(p->sink, 1024);

	if (!at)
		return NULL;
	b->packet = at = wire_open(at, TRACE_PACKET);
	at = wire_number(at, PACKET_SEQUENCE, PERFETTO_SHARED);
	b->bundle = at = wire_open(at, PACKET_FTRACE);
	at = wire_number(at, BUNDLE_CPU, fact->sched->cpu);
	b->event = at = wire_open(at, BUNDLE_EVENT);
	at = wire_number(at, FTRACE_TIMESTAMP, sched_boottime(p, fact->ts_ns));
	at = wire_number(at, FTRACE_PID, tid);
	if (flags)
		at = wire_number(at, FTRACE_FLAGS, flags);
	return b->contents = wire_open(at, field);
}

static int full_bundle_close(struct perfetto *p, const struct full_bundle *b, uint8_t *at,
			     bool lost)
{
	at = wire_close(b->event, wire_close(b->contents, at));
	if (lost)
		at = wire_number(at, BUNDLE_LOST, 1);
	at = wire_close(b->packet, wire_close(b->bundle, at));
	sink_commit(p->sink, (size_t)(at - (b->packet - 2)));
	p->packets++;
	return 0;
}

static int bundle_write_switch(struct perfetto *p, const struct fact *fact, bool lost)
{
	const struct sched_task *prev = &fact->sched->task, *next = &fact->sched->other;
	struct full_bundle b;
	uint8_t *at = full_bundle_open(p, &b, fact, prev->tid, 0, FTRACE_SWITCH);

	if (!at)
		return sink_error(p->sink);
	at = bundle_put_comm(at, SWITCH_PREV_COMM, prev->comm);
	at = wire_number(at, SWITCH_PREV_PID, prev->tid);
	at = wire_number(at, SWITCH_PREV_PRIO, prev->prio);
	at = wire_number(at, SWITCH_PREV_STATE, (uint64_t)prev->state);
	at = bundle_put_comm(at, SWITCH_NEXT_COMM, next->comm);
	at = wire_number(at, SWITCH_NEXT_PID, next->tid);
	at = wire_number(at, SWITCH_NEXT_PRIO, next->prio);
	return full_bundle_close(p, &b, at, lost);
}

/* A waking by a task that is not the one on the CPU according to the previous events of the file. */
static int bundle_write_waking(struct perfetto *p, const struct fact *fact)
{
	const struct sched *s = fact->sched;
	struct full_bundle b;
	uint8_t *at = full_bundle_open(p, &b, fact, s->other.tid,
				       s->waker->interrupt ? FLAG_HARDIRQ : 0, FTRACE_WAKING);

	if (!at)
		return sink_error(p->sink);
	at = bundle_put_comm(at, WAKING_COMM, s->task.comm);
	at = wire_number(at, WAKING_PID, s->task.tid);
	at = wire_number(at, WAKING_PRIO, s->task.prio);
	at = wire_number(at, WAKING_SUCCESS, 1);
	at = wire_number(at, WAKING_TARGET_CPU, s->waker->target_cpu);
	return full_bundle_close(p, &b, at, false);
}

/* --- processes of tasks -------------------------------------------------------------------------- */

static struct perfetto_sched *perfetto_sched_get(struct perfetto *p)
{
	if (!p->sched)
		p->sched = calloc(1, sizeof(*p->sched));
	return p->sched;
}

/* On the tracks of CPUs, viewers show the name of the process before that of the thread. */
static int process_tree_write_process(struct perfetto *p, uint32_t pid, const struct name *name,
				      bool is_comm)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ProcessTree tree = PERFETTO__PROTOS__PROCESS_TREE__INIT;
	Perfetto__Protos__ProcessTree__Process process =
		PERFETTO__PROTOS__PROCESS_TREE__PROCESS__INIT;
	Perfetto__Protos__ProcessTree__Process *list[] = { &process };
	/* Perfetto's loader cuts a single word at its first space. */
	char *words[] = { (char *)name->text, (char *)"" };

	PUT_FIELD(process, pid, (int32_t)pid);
	process.has_cmdline_is_comm = process.cmdline_is_comm = is_comm;
	PUT_LIST(process, cmdline, is_comm ? 1 : 2, words);
	PUT_LIST(tree, processes, 1, list);
	packet.process_tree = &tree;
	return perfetto_write(p, &packet);
}

static int process_tree_write_thread(struct perfetto *p, const struct sched_task *task)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ProcessTree tree = PERFETTO__PROTOS__PROCESS_TREE__INIT;
	Perfetto__Protos__ProcessTree__Thread thread = PERFETTO__PROTOS__PROCESS_TREE__THREAD__INIT;
	Perfetto__Protos__ProcessTree__Thread *list[] = { &thread };

	PUT_FIELD(thread, tid, (int32_t)task->tid);
	PUT_FIELD(thread, tgid, (int32_t)task->pid);
	PUT_LIST(tree, threads, 1, list);
	packet.process_tree = &tree;
	return perfetto_write(p, &packet);
}

static struct described_task *described_task_get(struct perfetto *p, uint32_t tid)
{
	struct described_task *entry;

	HASH_FIND(hh, p->sched->described_tasks, &tid, sizeof(tid), entry);
	if (entry || HASH_COUNT(p->sched->described_tasks) >= MAX_DESCRIBED_TASKS)
		return entry;
	return hash_add_new(hh, p->sched->described_tasks, tid, tid);
}

/* Writes the process of a task that is not recorded itself; recorded threads have descriptors. */
static int sched_describe_task(struct perfetto *p, const struct sched_task *task)
{
	const struct name *comm = task->tid == task->pid ? task->comm : NULL;
	struct described_task *entry;
	int error = 0;

	if (!task->tid || !task->pid || task->thread)
		return 0;
	entry = described_task_get(p, task->tid);
	if (!entry)
		return 0;
	if (entry->pid != task->pid)
		error = process_tree_write_thread(p, task);
	if (!error && comm && entry->comm != comm && !entry->described)
		error = process_tree_write_process(p, task->pid, comm, true);
	entry->pid = task->pid;
	entry->comm = comm;
	return error;
}

/*
 * A process that gets a track may have been written as the process of a task before. The loader uses the name of a
 * descriptor only for a process without a name, so the name is written again as that of the task's process.
 */
int perfetto_sched_describe(struct perfetto *p, const struct process *process)
{
	struct described_task *entry;

	if (!process->pid || !perfetto_sched_get(p))
		return 0;
	entry = described_task_get(p, process->pid);
	if (!entry)
		return 0;
	entry->described = true;
	if (!entry->comm || !process->name)
		return 0;
	return process_tree_write_process(p, process->pid, process->name, false);
}

/* --- facts --------------------------------------------------------------------------------------- */

/* The index of a name in the table of the bundle; -1: the table is full. */
static int bundle_comm_index(struct cpu_bundle *b, const struct name *comm)
{
	for (unsigned i = b->n_comms; i-- > 0;) {
		if (b->comms[i] == comm)
			return (int)i;
	}
	if (b->n_comms == MAX_COMMS)
		return -1;
	b->comms[b->n_comms] = comm;
	return (int)b->n_comms++;
}

static struct cpu_bundle *cpu_bundle_get(struct perfetto *p, unsigned cpu)
{
	struct perfetto_sched *s = perfetto_sched_get(p);

	if (!s || cpu >= MAX_CPUS)
		return NULL;
	if (!s->cpus[cpu])
		s->cpus[cpu] = calloc(1, sizeof(*s->cpus[cpu]));
	if (cpu >= s->n_cpus)
		s->n_cpus = cpu + 1;
	return s->cpus[cpu];
}

static void bundle_add_switch(struct perfetto *p, struct cpu_bundle *b, const struct fact *fact,
			      unsigned comm)
{
	const struct sched *s = fact->sched;
	uint64_t ts_ns = sched_boottime(p, fact->ts_ns);
	unsigned i = b->n_switches++;

	b->switches[0].values[i] = i ? ts_ns - b->last_switch_ns : ts_ns;
	b->switches[1].values[i] = (uint64_t)s->task.state;
	b->switches[2].values[i] = s->other.tid;
	b->switches[3].values[i] = s->other.prio;
	b->switches[4].values[i] = comm;
	b->last_switch_ns = ts_ns;
	b->tid = s->other.tid;
}

static void bundle_add_waking(struct perfetto *p, struct cpu_bundle *b, const struct fact *fact,
			      unsigned comm)
{
	const struct sched *s = fact->sched;
	uint64_t ts_ns = sched_boottime(p, fact->ts_ns);
	unsigned i = b->n_wakings++;

	b->wakings[0].values[i] = i ? ts_ns - b->last_waking_ns : ts_ns;
	b->wakings[1].values[i] = s->task.tid;
	b->wakings[2].values[i] = s->waker->target_cpu;
	b->wakings[3].values[i] = s->task.prio;
	b->wakings[4].values[i] = comm;
	b->wakings[5].values[i] = s->waker->interrupt ? FLAG_HARDIRQ : 0;
	b->last_waking_ns = ts_ns;
}

/* A bundle has a maximum size, and its times are ascending. */
static bool bundle_has_space(const struct perfetto *p, const struct cpu_bundle *b,
			     const struct fact *fact)
{
	uint64_t ts_ns = sched_boottime(p, fact->ts_ns);

	if (b->n_comms == MAX_COMMS)
		return false;
	if (fact->kind == FACT_SWITCH)
		return b->n_switches < BUNDLE_EVENTS &&
		       (!b->n_switches || ts_ns >= b->last_switch_ns);
	return b->n_wakings < BUNDLE_EVENTS && (!b->n_wakings || ts_ns >= b->last_waking_ns);
}

/* Without a snapshot of both clocks, writes one that takes them as equal. */
static int sched_assume_clocks(struct perfetto *p)
{
	struct clock_reading clock = p->last_clock;

	if (p->has_boot_offset)
		return 0;
	clock.monotonic++;
	clock.boottime = clock.monotonic;
	return perfetto_write_clock(p, &clock);
}

int perfetto_write_sched(struct perfetto *p, const struct fact *fact)
{
	const struct sched *s = fact->sched;
	struct cpu_bundle *b = cpu_bundle_get(p, s->cpu);
	int error = 0;

	if (!b)
		return p->sched ? 0 : -ENOMEM;
	if (!p->has_boot_offset)
		error = sched_assume_clocks(p);
	error = error ?: sched_describe_task(p, &s->other);
	if (!error && !bundle_has_space(p, b, fact))
		error = perfetto_sched_flush(p);
	if (error)
		return error;
	if (fact->kind == FACT_WAKING) {
		/* An event in full is written after all pending ones, so that a reader may handle it at once. */
		if (!b->begun || b->lost || b->tid != s->other.tid ||
		    sched_boottime(p, fact->ts_ns) < b->last_switch_ns) {
			error = perfetto_sched_flush(p);
			return error ? error : bundle_write_waking(p, fact);
		}
		bundle_add_waking(p, b, fact, (unsigned)bundle_comm_index(b, s->task.comm));
		return 0;
	}
	if (b->begun && !b->lost) {
		bundle_add_switch(p, b, fact, (unsigned)bundle_comm_index(b, s->other.comm));
		return 0;
	}
	error = perfetto_sched_flush(p);
	error = error ?: sched_describe_task(p, &s->task);
	error = error ?: bundle_write_switch(p, fact, b->lost);
	b->begun = true;
	b->lost = false;
	b->tid = s->other.tid;
	b->last_switch_ns = sched_boottime(p, fact->ts_ns);
	return error;
}

int perfetto_write_sched_gap(struct perfetto *p, const struct fact *fact)
{
	for (unsigned i = 0; p->sched && i < p->sched->n_cpus; i++) {
		if (p->sched->cpus[i] && (!fact->sched || fact->sched->cpu == i))
			p->sched->cpus[i]->lost = true;
	}
	return perfetto_sched_flush(p);
}
