// SPDX-License-Identifier: BSD-2-Clause
/*
 * Switches and wakings, as the kernel's own trace of them would be: bundles of one CPU each, from which
 * viewers make the tracks of CPUs and the states of threads.
 *
 * In a compact bundle a switch says only who comes; who leaves is who came before. So the first of a
 * CPU, and the first after a loss, is written in full. Bundles are written of all CPUs at a time: what
 * stands together in the file was at the same time, so that a reader can put it in order.
 *
 * Loaders read the times of bundles as CLOCK_BOOTTIME, whatever clock the packet says. They are brought
 * to it by the latest snapshot in the file, which is how a reader brings them back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/perfetto_internal.h"
#include "handlers/perfetto_wire.h"
#include "handlers/text_limit.h"
#include "timeline/hash.h"

enum {
	MAX_CPUS = 1024,
	BATCH = 256,
	COMMS = 128, /* names in one bundle */
	LONGEST_COMM = 64,
	MAX_TOLD = 65536,

	TRACE_PACKET = 1,
	PACKET_FTRACE = 1,
	PACKET_SEQUENCE = 10,

	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	BUNDLE_LOST = 3,
	BUNDLE_COMPACT = 4,

	EVENT_TIMESTAMP = 1,
	EVENT_PID = 2,
	EVENT_SWITCH_FIELD = 4,
	EVENT_FLAGS = 5,
	EVENT_WAKING_FIELD = 20,

	COMPACT_COMM = 5,
	COMPACT_SWITCH_TS = 1,
	COMPACT_SWITCH_STATE = 2,
	COMPACT_SWITCH_PID = 3,
	COMPACT_SWITCH_PRIO = 4,
	COMPACT_SWITCH_COMM = 6,
	COMPACT_WAKING_TS = 7,
	COMPACT_WAKING_PID = 8,
	COMPACT_WAKING_CPU = 9,
	COMPACT_WAKING_PRIO = 10,
	COMPACT_WAKING_COMM = 11,
	COMPACT_WAKING_FLAGS = 12,

	FLAG_HARDIRQ = 8, /* TRACE_FLAG_HARDIRQ of the kernel */
};

/* A list of numbers for each field of a list of events. */
struct column {
	uint64_t values[BATCH];
};

enum {
	SWITCH_COLUMNS = 5,
	WAKING_COLUMNS = 6,
	LONGEST_VARINT = 10,
};

_Static_assert((SWITCH_COLUMNS + WAKING_COLUMNS) * (BATCH * 5 + 8) + 2 * BATCH * LONGEST_VARINT +
			       COMMS * (LONGEST_COMM + 4) + 64 <
		       64 * 1024,
	       "a bundle fits what a sink reserves at once");

struct batch {
	bool begun; /* its first switch was written in full */
	bool lost;  /* and the next one has to be, after a loss */
	unsigned n_switches, n_wakings, n_comms;
	uint64_t last_switch_ns, last_waking_ns;
	uint32_t tid; /* that came with the last switch */
	struct column switches[SWITCH_COLUMNS];
	struct column wakings[WAKING_COLUMNS];
	const struct name *comms[COMMS];
};

/* A task whose process was told, and what the process is called if this is its main thread. */
struct told {
	uint32_t tid;
	uint32_t pid; /* 0: it was not */
	const struct name *comm;
	bool described; /* it is the main thread of a process that has a track, and a name by that */
	UT_hash_handle hh;
};

struct perfetto_sched {
	unsigned n_cpus;
	struct batch *cpus[MAX_CPUS];
	struct told *told;
};

static const struct name *const idle_name = NULL;

void perfetto_sched_free(struct perfetto *p)
{
	struct told *told, *next;
	unsigned i;

	if (!p->sched)
		return;
	HASH_ITER (hh, p->sched->told, told, next) {
		HASH_DEL(p->sched->told, told);
		free(told);
	}
	for (i = 0; i < p->sched->n_cpus; i++)
		free(p->sched->cpus[i]);
	free(p->sched);
}

static uint64_t boottime(const struct perfetto *p, uint64_t ts_ns)
{
	return ts_ns + (uint64_t)p->boot_offset;
}

/* --- bundles ------------------------------------------------------------------------------------- */

static uint8_t *put_column(uint8_t *at, unsigned field, const struct column *column, unsigned n)
{
	uint8_t *contents = at = wire_open(at, field);
	unsigned i;

	for (i = 0; i < n; i++)
		at = wire_varint(at, column->values[i]);
	return wire_close(contents, at);
}

static uint8_t *put_columns(uint8_t *at, const unsigned *fields, unsigned n_fields,
			    const struct column *columns, unsigned n)
{
	unsigned i;

	for (i = 0; n && i < n_fields; i++)
		at = put_column(at, fields[i], &columns[i], n);
	return at;
}

static uint8_t *put_comm(uint8_t *at, unsigned field, const struct name *comm)
{
	if (comm == idle_name)
		return wire_text(at, field, "", 0);
	return wire_text(at, field, comm->text, text_fit(comm->text, comm->length, LONGEST_COMM));
}

static int write_batch(struct perfetto *p, unsigned cpu, struct batch *b)
{
	static const unsigned switches[SWITCH_COLUMNS] = { COMPACT_SWITCH_TS, COMPACT_SWITCH_STATE,
							   COMPACT_SWITCH_PID, COMPACT_SWITCH_PRIO,
							   COMPACT_SWITCH_COMM };
	static const unsigned wakings[WAKING_COLUMNS] = {
		COMPACT_WAKING_TS,   COMPACT_WAKING_PID,  COMPACT_WAKING_CPU,
		COMPACT_WAKING_PRIO, COMPACT_WAKING_COMM, COMPACT_WAKING_FLAGS
	};
	uint8_t *at, *packet, *bundle, *compact;
	unsigned i;

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
	at = put_columns(at, switches, SWITCH_COLUMNS, b->switches, b->n_switches);
	for (i = 0; i < b->n_comms; i++)
		at = put_comm(at, COMPACT_COMM, b->comms[i]);
	at = put_columns(at, wakings, WAKING_COLUMNS, b->wakings, b->n_wakings);
	at = wire_close(compact, at);
	at = wire_close(bundle, at);
	at = wire_close(packet, at);
	sink_commit(p->sink, (size_t)(at - (packet - 2)));
	b->n_switches = b->n_wakings = b->n_comms = 0;
	return 0;
}

int perfetto_sched_flush(struct perfetto *p)
{
	unsigned i;
	int error = 0;

	for (i = 0; p->sched && i < p->sched->n_cpus && !error; i++) {
		if (p->sched->cpus[i])
			error = write_batch(p, i, p->sched->cpus[i]);
	}
	return error;
}

static int write_full(struct perfetto *p, const struct fact *fact, bool lost)
{
	const struct sched *s = fact->sched;
	uint8_t *at = (uint8_t *)sink_reserve(p->sink, 1024);
	uint8_t *packet, *bundle, *event, *contents;

	if (!at)
		return sink_error(p->sink);
	packet = at = wire_open(at, TRACE_PACKET);
	at = wire_number(at, PACKET_SEQUENCE, PERFETTO_SHARED);
	bundle = at = wire_open(at, PACKET_FTRACE);
	at = wire_number(at, BUNDLE_CPU, s->cpu);
	event = at = wire_open(at, BUNDLE_EVENT);
	at = wire_number(at, EVENT_TIMESTAMP, boottime(p, fact->ts_ns));
	at = wire_number(at, EVENT_PID, s->task.tid);
	contents = at = wire_open(at, EVENT_SWITCH_FIELD);
	at = put_comm(at, 1, s->task.comm);
	at = wire_number(at, 2, s->task.tid);
	at = wire_number(at, 3, s->task.prio);
	at = wire_number(at, 4, (uint64_t)s->task.state);
	at = put_comm(at, 5, s->other.comm);
	at = wire_number(at, 6, s->other.tid);
	at = wire_number(at, 7, s->other.prio);
	at = wire_close(contents, at);
	at = wire_close(event, at);
	if (lost)
		at = wire_number(at, BUNDLE_LOST, 1);
	at = wire_close(bundle, at);
	at = wire_close(packet, at);
	sink_commit(p->sink, (size_t)(at - (packet - 2)));
	return 0;
}

/* By somebody who does not stand in the file as the one that has the CPU. */
static int write_full_waking(struct perfetto *p, const struct fact *fact)
{
	const struct sched *s = fact->sched;
	uint8_t *at = (uint8_t *)sink_reserve(p->sink, 1024);
	uint8_t *packet, *bundle, *event, *contents;

	if (!at)
		return sink_error(p->sink);
	packet = at = wire_open(at, TRACE_PACKET);
	at = wire_number(at, PACKET_SEQUENCE, PERFETTO_SHARED);
	bundle = at = wire_open(at, PACKET_FTRACE);
	at = wire_number(at, BUNDLE_CPU, s->cpu);
	event = at = wire_open(at, BUNDLE_EVENT);
	at = wire_number(at, EVENT_TIMESTAMP, boottime(p, fact->ts_ns));
	at = wire_number(at, EVENT_PID, s->other.tid);
	if (s->waker->interrupt)
		at = wire_number(at, EVENT_FLAGS, FLAG_HARDIRQ);
	contents = at = wire_open(at, EVENT_WAKING_FIELD);
	at = put_comm(at, 1, s->task.comm);
	at = wire_number(at, 2, s->task.tid);
	at = wire_number(at, 3, s->task.prio);
	at = wire_number(at, 4, 1);
	at = wire_number(at, 5, s->waker->target_cpu);
	at = wire_close(contents, at);
	at = wire_close(event, at);
	at = wire_close(bundle, at);
	at = wire_close(packet, at);
	sink_commit(p->sink, (size_t)(at - (packet - 2)));
	return 0;
}

/* --- who belongs to which process ---------------------------------------------------------------- */

static struct perfetto_sched *sched_of(struct perfetto *p)
{
	if (!p->sched)
		p->sched = calloc(1, sizeof(*p->sched));
	return p->sched;
}

/* Viewers call what has a CPU by the name of its process first. */
static int write_main(struct perfetto *p, uint32_t pid, const struct name *name, bool is_comm)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ProcessTree tree = PERFETTO__PROTOS__PROCESS_TREE__INIT;
	Perfetto__Protos__ProcessTree__Process process =
		PERFETTO__PROTOS__PROCESS_TREE__PROCESS__INIT;
	Perfetto__Protos__ProcessTree__Process *list[] = { &process };
	/* The loader cuts a single word at its first space. */
	char *words[] = { (char *)name->text, (char *)"" };

	process.has_pid = true;
	process.pid = (int32_t)pid;
	process.has_cmdline_is_comm = process.cmdline_is_comm = is_comm;
	process.n_cmdline = is_comm ? 1 : 2;
	process.cmdline = words;
	tree.n_processes = 1;
	tree.processes = list;
	packet.process_tree = &tree;
	return perfetto_write(p, &packet);
}

static int write_task(struct perfetto *p, const struct sched_task *task)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ProcessTree tree = PERFETTO__PROTOS__PROCESS_TREE__INIT;
	Perfetto__Protos__ProcessTree__Thread thread = PERFETTO__PROTOS__PROCESS_TREE__THREAD__INIT;
	Perfetto__Protos__ProcessTree__Thread *list[] = { &thread };

	thread.has_tid = thread.has_tgid = true;
	thread.tid = (int32_t)task->tid;
	thread.tgid = (int32_t)task->pid;
	tree.n_threads = 1;
	tree.threads = list;
	packet.process_tree = &tree;
	return perfetto_write(p, &packet);
}

static struct told *told_of(struct perfetto *p, uint32_t tid)
{
	struct told *told;

	HASH_FIND(hh, p->sched->told, &tid, sizeof(tid), told);
	if (told || HASH_COUNT(p->sched->told) >= MAX_TOLD)
		return told;
	told = calloc(1, sizeof(*told));
	if (!told)
		return NULL;
	told->tid = tid;
	HASH_ADD(hh, p->sched->told, tid, sizeof(told->tid), told);
	if (!hash_added(hh, told)) {
		free(told);
		return NULL;
	}
	return told;
}

/* Threads of ours have been described. */
static int tell_task(struct perfetto *p, const struct sched_task *task)
{
	const struct name *comm = task->tid == task->pid ? task->comm : NULL;
	struct told *told;
	int error = 0;

	if (!task->tid || !task->pid || task->thread)
		return 0;
	told = told_of(p, task->tid);
	if (!told)
		return 0;
	if (told->pid != task->pid)
		error = write_task(p, task);
	if (!error && comm && told->comm != comm && !told->described)
		error = write_main(p, task->pid, comm, true);
	told->pid = task->pid;
	told->comm = comm;
	return error;
}

/*
 * A process is described, which may have been told of as somebody else's before: the loader takes the
 * name of a description only for one that has none. What is told of it later says less.
 */
int perfetto_sched_describe(struct perfetto *p, const struct process *process)
{
	struct told *told;

	if (!process->pid || !sched_of(p))
		return 0;
	told = told_of(p, process->pid);
	if (!told)
		return 0;
	told->described = true;
	if (!told->comm || !process->name)
		return 0;
	return write_main(p, process->pid, process->name, false);
}

/* --- facts --------------------------------------------------------------------------------------- */

/* What the bundle calls it; -1: it has too many names. */
static int comm_index(struct batch *b, const struct name *comm)
{
	unsigned i;

	for (i = b->n_comms; i-- > 0;) {
		if (b->comms[i] == comm)
			return (int)i;
	}
	if (b->n_comms == COMMS)
		return -1;
	b->comms[b->n_comms] = comm;
	return (int)b->n_comms++;
}

static struct batch *batch_of(struct perfetto *p, unsigned cpu)
{
	struct perfetto_sched *s = sched_of(p);

	if (!s || cpu >= MAX_CPUS)
		return NULL;
	if (!s->cpus[cpu])
		s->cpus[cpu] = calloc(1, sizeof(*s->cpus[cpu]));
	if (cpu >= s->n_cpus)
		s->n_cpus = cpu + 1;
	return s->cpus[cpu];
}

static void add_switch(struct perfetto *p, struct batch *b, const struct fact *fact, unsigned comm)
{
	const struct sched *s = fact->sched;
	uint64_t ts_ns = boottime(p, fact->ts_ns);
	unsigned i = b->n_switches++;

	b->switches[0].values[i] = i ? ts_ns - b->last_switch_ns : ts_ns;
	b->switches[1].values[i] = (uint64_t)s->task.state;
	b->switches[2].values[i] = s->other.tid;
	b->switches[3].values[i] = s->other.prio;
	b->switches[4].values[i] = comm;
	b->last_switch_ns = ts_ns;
	b->tid = s->other.tid;
}

static void add_waking(struct perfetto *p, struct batch *b, const struct fact *fact, unsigned comm)
{
	const struct sched *s = fact->sched;
	uint64_t ts_ns = boottime(p, fact->ts_ns);
	unsigned i = b->n_wakings++;

	b->wakings[0].values[i] = i ? ts_ns - b->last_waking_ns : ts_ns;
	b->wakings[1].values[i] = s->task.tid;
	b->wakings[2].values[i] = s->waker->target_cpu;
	b->wakings[3].values[i] = s->task.prio;
	b->wakings[4].values[i] = comm;
	b->wakings[5].values[i] = s->waker->interrupt ? FLAG_HARDIRQ : 0;
	b->last_waking_ns = ts_ns;
}

/* Times only go up in a bundle, and there is an end to everything. */
static bool has_room(const struct perfetto *p, const struct batch *b, const struct fact *fact)
{
	uint64_t ts_ns = boottime(p, fact->ts_ns);

	if (b->n_comms == COMMS)
		return false;
	if (fact->kind == FACT_SWITCH)
		return b->n_switches < BATCH && (!b->n_switches || ts_ns >= b->last_switch_ns);
	return b->n_wakings < BATCH && (!b->n_wakings || ts_ns >= b->last_waking_ns);
}

/* A file whose clocks were never compared: then they are one. */
static int know_clocks(struct perfetto *p)
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
	struct batch *b = batch_of(p, s->cpu);
	int error = 0;

	if (!b)
		return p->sched ? 0 : -ENOMEM;
	if (!p->has_boot_offset)
		error = know_clocks(p);
	if (!error)
		error = tell_task(p, &s->other);
	if (!error && !has_room(p, b, fact))
		error = perfetto_sched_flush(p);
	if (error)
		return error;
	if (fact->kind == FACT_WAKING) {
		/* What is told by itself is told after what was before it: a reader may go on with it. */
		if (!b->begun || b->lost || b->tid != s->other.tid ||
		    boottime(p, fact->ts_ns) < b->last_switch_ns) {
			error = perfetto_sched_flush(p);
			return error ? error : write_full_waking(p, fact);
		}
		add_waking(p, b, fact, (unsigned)comm_index(b, s->task.comm));
		return 0;
	}
	if (b->begun && !b->lost) {
		add_switch(p, b, fact, (unsigned)comm_index(b, s->other.comm));
		return 0;
	}
	error = perfetto_sched_flush(p);
	if (!error)
		error = tell_task(p, &s->task);
	if (!error)
		error = write_full(p, fact, b->lost);
	b->begun = true;
	b->lost = false;
	b->tid = s->other.tid;
	b->last_switch_ns = boottime(p, fact->ts_ns);
	return error;
}

/* Something may be missing from here on. */
int perfetto_write_sched_gap(struct perfetto *p, const struct fact *fact)
{
	unsigned i;

	for (i = 0; p->sched && i < p->sched->n_cpus; i++) {
		if (p->sched->cpus[i] && (!fact->sched || fact->sched->cpu == i))
			p->sched->cpus[i]->lost = true;
	}
	return perfetto_sched_flush(p);
}
