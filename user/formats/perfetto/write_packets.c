// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rare packets: the start and the end of the trace, tracks, clocks and losses. They are encoded by the code that
 * protobuf-c generates, which is slow and needs no field numbers here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/perfetto/writer.h"
#include "formats/perfetto/write_wire.h"
#include "timeline/fact.h"

enum {
	PROCESS_LABELS = 8, /* the last one has the rest */
};

/* Adds the sequence and writes the packet as one element of the Trace message. */
int perfetto_write_to(struct perfetto *p, uint32_t sequence, Perfetto__Protos__TracePacket *packet)
{
	uint8_t *bytes, *at;
	size_t size;
	int r;

	PUT_FIELD(*packet, trusted_packet_sequence_id, sequence);
	size = perfetto__protos__trace_packet__get_packed_size(packet);
	/* Not encoded in the sink, which reserves a bounded size: the kernel version may be of any length. */
	bytes = malloc(1 + WIRE_VARINT_MAX + size);
	if (!bytes)
		return -ENOMEM;
	bytes[0] = TRACE_PACKET << 3 | WIRE_LENGTH;
	at = wire_varint(bytes + 1, size);
	at += perfetto__protos__trace_packet__pack(packet, at);
	r = sink_write_whole(p->sink, bytes, at - bytes);
	p->packets++;
	free(bytes);
	return r;
}

int perfetto_write(struct perfetto *p, Perfetto__Protos__TracePacket *packet)
{
	return perfetto_write_to(p, PERFETTO_SHARED, packet);
}

/* --- start and clocks -------------------------------------------------------------------------- */

static int perfetto_write_uuid(struct perfetto *p, const uint64_t uuid[2])
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__TraceUuid trace_uuid = PERFETTO__PROTOS__TRACE_UUID__INIT;

	PUT_FIELD(trace_uuid, msb, (int64_t)uuid[0]);
	PUT_FIELD(trace_uuid, lsb, (int64_t)uuid[1]);
	packet.trace_uuid = &trace_uuid;
	return perfetto_write(p, &packet);
}

static int perfetto_write_system(struct perfetto *p, const struct trace_info *info)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__SystemInfo system = PERFETTO__PROTOS__SYSTEM_INFO__INIT;
	Perfetto__Protos__Utsname utsname = PERFETTO__PROTOS__UTSNAME__INIT;

	utsname.sysname = (char *)info->sysname;
	utsname.version = (char *)info->kernel_version;
	utsname.release = (char *)info->kernel_release;
	utsname.machine = (char *)info->machine;
	system.utsname = &utsname;
	packet.system_info = &system;
	return perfetto_write(p, &packet);
}

/* Written as Chrome metadata, since the format has no fields for these. */
static int perfetto_write_origin(struct perfetto *p, const struct trace_info *info)
{
	const struct {
		const char *name;
		const char *value;
	} known[] = {
		{ "proftrace.version", info->version },
		{ "proftrace.host", info->host },
		{ "proftrace.boot_id", info->boot_id },
		{ "proftrace.rank", info->rank },
		{ "proftrace.clock_error_ns", info->clock_error },
		{ "proftrace.instructions_compared", info->instructions_compared },
	};
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ChromeEventBundle bundle = PERFETTO__PROTOS__CHROME_EVENT_BUNDLE__INIT;
	Perfetto__Protos__ChromeMetadata metadata[6], *list[6];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		Perfetto__Protos__ChromeMetadata *m = &metadata[bundle.n_metadata];

		if (!known[i].value || !*known[i].value)
			continue;
		perfetto__protos__chrome_metadata__init(m);
		m->name = (char *)known[i].name;
		m->string_value = (char *)known[i].value;
		list[bundle.n_metadata++] = m;
	}
	if (!bundle.n_metadata)
		return 0;
	bundle.metadata = list;
	packet.chrome_events = &bundle;
	return perfetto_write(p, &packet);
}

/* `clock` may have the monotonic time only; it is always written, since loaders reject events of an unknown clock. */
static int perfetto_write_snapshot(struct perfetto *p, const struct clock_reading *clock)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	const struct {
		uint32_t id;
		uint64_t ns;
	} known[] = {
		{ PERFETTO_CLOCK_MONOTONIC, clock->monotonic },
		{ PERFETTO_CLOCK_BOOTTIME, clock->boottime },
		{ PERFETTO_CLOCK_REALTIME, clock->realtime },
	};
	Perfetto__Protos__ClockSnapshot__Clock clocks[3];
	Perfetto__Protos__ClockSnapshot__Clock *list[3];

	for (size_t i = 0; i < 3; i++) {
		Perfetto__Protos__ClockSnapshot__Clock *c = &clocks[snapshot.n_clocks];

		if (i > 0 && !known[i].ns)
			continue;
		perfetto__protos__clock_snapshot__clock__init(c);
		PUT_FIELD(*c, clock_id, known[i].id);
		PUT_FIELD(*c, timestamp, known[i].ns);
		list[snapshot.n_clocks++] = c;
	}
	if (clock->boottime) {
		p->has_boot_offset = true;
		p->boot_offset = (int64_t)(clock->boottime - clock->monotonic);
	}
	snapshot.clocks = list;
	PUT_FIELD(snapshot, primary_trace_clock,
		  PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC);
	packet.clock_snapshot = &snapshot;
	return perfetto_write(p, &packet);
}

/*
 * Perfetto's loader reports a snapshot in which a clock other than the wall clock goes back as an error of the
 * trace. So a reading that is not newer than the last one is left out.
 */
int perfetto_write_clock(struct perfetto *p, const struct clock_reading *clock)
{
	struct clock_reading reading = *clock;
	int error;

	if (reading.monotonic <= p->last_clock.monotonic)
		return 0;
	if (reading.boottime < p->last_clock.boottime)
		reading.boottime = 0;
	else
		p->last_clock.boottime = reading.boottime;
	p->last_clock.monotonic = reading.monotonic;
	/* Times in the pending bundles were converted with the previous snapshot. */
	error = perfetto_sched_flush(p);
	if (error)
		return error;
	return perfetto_write_snapshot(p, &reading);
}

/*
 * Perfetto's loader reports an error if it cannot convert from the boot-time clock, its default, to the clock of the
 * trace. If the boot time is unknown, it is written as equal to the monotonic time; our reader takes two equal
 * clocks as an unknown boot time.
 */
static int perfetto_write_first_snapshot(struct perfetto *p)
{
	struct clock_reading first = p->last_clock;

	if (!first.boottime)
		first.boottime = first.monotonic;
	return perfetto_write_snapshot(p, &first);
}

int perfetto_write_start(struct perfetto *p, const struct trace_info *info)
{
	int r;

	p->last_clock = info->clock;
	if (!p->last_clock.monotonic)
		p->last_clock = (struct clock_reading){ .monotonic = info->start_ns };
	/* First, so that a reader knows the file as ours even if nothing else of it is left, and says that it was cut off. */
	r = perfetto_write_origin(p, info);
	if (r == 0)
		r = perfetto_write_uuid(p, info->trace_uuid);
	/* A converted trace may not say which system it is from. */
	if (r == 0 && info->kernel_release && *info->kernel_release)
		r = perfetto_write_system(p, info);
	if (r == 0)
		r = perfetto_write_first_snapshot(p);
	return r < 0 ? r : perfetto_sequence_begin(p, &p->shared);
}

/* --- tracks ------------------------------------------------------------------------------------ */

static int perfetto_write_descriptor(struct perfetto *p,
				     Perfetto__Protos__TrackDescriptor *descriptor, uint64_t uuid,
				     uint64_t parent_uuid)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	PUT_FIELD(*descriptor, uuid, uuid);
	if (parent_uuid)
		PUT_FIELD(*descriptor, parent_uuid, parent_uuid);
	packet.track_descriptor = descriptor;
	return perfetto_write(p, &packet);
}

/* Splits them in a copy: Perfetto has a list. Returns their number. */
static size_t perfetto_split_labels(char *copy, char **labels, size_t n)
{
	size_t used = 0;
	char *end;

	for (; *copy && used < n; copy = end + 2) {
		labels[used++] = copy;
		end = used < n ? strstr(copy, ", ") : NULL;
		if (!end)
			break;
		*end = '\0';
	}
	return used;
}

int perfetto_write_process(struct perfetto *p, const struct process *process)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__ProcessDescriptor descriptor = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	char labels[LIMIT_NAME], *list[PROCESS_LABELS];
	int error;

	PUT_FIELD(descriptor, pid, (int32_t)process->pid);
	descriptor.process_name = process->name ? (char *)process->name->text : NULL;
	descriptor.has_start_timestamp_ns = process->start_ns != 0;
	descriptor.start_timestamp_ns = (int64_t)process->start_ns;
	if (process->labels) {
		snprintf(labels, sizeof(labels), "%s", process->labels->text);
		descriptor.process_labels = list;
		descriptor.n_process_labels = perfetto_split_labels(labels, list, PROCESS_LABELS);
	}
	track.process = &descriptor;
	error = perfetto_write_descriptor(p, &track, process->uuid, 0);
	return error ? error : perfetto_sched_describe(p, process);
}

int perfetto_write_thread(struct perfetto *p, const struct thread *thread)
{
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__ThreadDescriptor descriptor = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;

	PUT_FIELD(descriptor, pid, thread->process ? (int32_t)thread->process->pid : 0);
	PUT_FIELD(descriptor, tid, thread->tid);
	descriptor.thread_name = thread->name ? (char *)thread->name->text : NULL;
	track.thread = &descriptor;
	return perfetto_write_descriptor(p, &track, thread->uuid,
					 thread->process ? thread->process->uuid : 0);
}

static void perfetto_fill_counter(const struct track *track,
				  Perfetto__Protos__CounterDescriptor *out)
{
	static char sampled[] = "sampled", *categories[] = { sampled };

	/* For our reader, which takes all other counters of threads for hardware counters of slices. */
	if (track->thread && !track->is_counted)
		PUT_LIST(*out, categories, 1, categories);
	if (!track->unit)
		return;
	if (!strcmp(track->unit->text, "ns"))
		PUT_FIELD(*out, unit, PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_TIME_NS);
	else if (!strcmp(track->unit->text, "bytes"))
		PUT_FIELD(*out, unit, PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES);
	else
		out->unit_name = (char *)track->unit->text;
}

int perfetto_write_track(struct perfetto *p, const struct track *track)
{
	Perfetto__Protos__TrackDescriptor descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
	const char *name = track->name ? track->name->text : "";
	char both[2 * LIMIT_NAME + 2];

	descriptor.name = (char *)name;
	if (track->kind == TRACK_COUNTER) {
		perfetto_fill_counter(track, &counter);
		descriptor.counter = &counter;
	}
	if (track->key) {
		size_t n = text_fit(name, strlen(name), LIMIT_NAME);
		size_t k = text_fit(track->key->text, track->key->length, LIMIT_NAME);

		snprintf(both, sizeof(both), "%.*s %.*s", (int)n, name, (int)k, track->key->text);
		descriptor.name = both;
	}
	if (track->is_given)
		descriptor.description = (char *)PERFETTO_GIVEN;
	return perfetto_write_descriptor(p, &descriptor, track->uuid,
					 track->parent	  ? track->parent->uuid
					 : track->thread  ? track->thread->uuid
					 : track->process ? track->process->uuid
							  : 0);
}

int perfetto_write_global_track(struct perfetto *p)
{
	Perfetto__Protos__TrackDescriptor descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;

	descriptor.name = (char *)"global";
	p->global_declared = true;
	return perfetto_write_descriptor(p, &descriptor, p->global_uuid, 0);
}

/* --- losses and the end ------------------------------------------------------------------------ */

/*
 * Says that marks are missing before this packet. A reader then forgets the state of the sequence, so this packet
 * refers to no interned name, and later packets define again what they refer to.
 */
int perfetto_write_lost(struct perfetto *p, const struct fact *fact, uint64_t track_uuid)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	struct sequence *s = perfetto_sequence(p, fact);
	Perfetto__Protos__TrackEvent event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	Perfetto__Protos__DebugAnnotation count = PERFETTO__PROTOS__DEBUG_ANNOTATION__INIT;
	Perfetto__Protos__DebugAnnotation *list[] = { &count };
	int r = perfetto_sequence_drop(p, s);

	if (r < 0)
		return r;
	PUT_FIELD(packet, timestamp_clock_id, PERFETTO_CLOCK_MONOTONIC);
	PUT_FIELD(packet, timestamp, fact->ts_ns);
	count.name = (char *)"count";
	PUT_FIELD(count, uint_value, fact->count);
	PUT_FIELD(event, type, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT);
	PUT_FIELD(event, track_uuid, track_uuid);
	event.name = (char *)"events lost";
	PUT_LIST(event, debug_annotations, 1, list);
	packet.track_event = &event;
	return perfetto_write_to(p, s->id, &packet);
}

/* Mistakes of the program and slices that began before the recording are not losses of data. */
static uint64_t account_data_losses(const struct account *account)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOST_REASONS; i++)
		if (i != LOST_CUT && i != LOST_UNMATCHED)
			sum += account->lost[i];
	return sum;
}

/*
 * All numbers of the account that are not 0, for `proftrace report`, and how many packets the file has with this one and the
 * one behind it: a reader that finds fewer says so.
 */
static int perfetto_write_account(struct perfetto *p, const struct account *account)
{
	enum {
		MOST = sizeof(struct account) / sizeof(uint64_t) + 1,
		LONGEST = 64
	};
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ChromeEventBundle bundle = PERFETTO__PROTOS__CHROME_EVENT_BUNDLE__INIT;
	Perfetto__Protos__ChromeMetadata metadata[MOST], *list[MOST];
	char names[MOST][LONGEST];

	for (unsigned i = 0; i < account_numbers(); i++) {
		Perfetto__Protos__ChromeMetadata *m = &metadata[bundle.n_metadata];
		uint64_t number = account_number(account, i);

		if (!number)
			continue;
		perfetto__protos__chrome_metadata__init(m);
		snprintf(names[i], LONGEST, "proftrace.account.%s", account_number_name(i));
		m->name = names[i];
		PUT_FIELD(*m, int_value, (int64_t)number);
		list[bundle.n_metadata++] = m;
	}
	list[bundle.n_metadata] = &metadata[bundle.n_metadata];
	perfetto__protos__chrome_metadata__init(list[bundle.n_metadata]);
	list[bundle.n_metadata]->name = (char *)"proftrace.packets";
	PUT_FIELD(*list[bundle.n_metadata], int_value, (int64_t)(p->packets + 2));
	bundle.n_metadata++;
	bundle.metadata = list;
	packet.chrome_events = &bundle;
	return perfetto_write(p, &packet);
}

/* The last packet of a trace. A reader takes a trace without it as cut off. */
int perfetto_write_stats(struct perfetto *p, const struct account *account)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__TraceStats stats = PERFETTO__PROTOS__TRACE_STATS__INIT;
	Perfetto__Protos__TraceStats__BufferStats buffer =
		PERFETTO__PROTOS__TRACE_STATS__BUFFER_STATS__INIT;
	Perfetto__Protos__TraceStats__BufferStats *list[] = { &buffer };
	int r;

	PUT_FIELD(buffer, trace_writer_packet_loss, account_data_losses(account));
	PUT_LIST(stats, buffer_stats, 1, list);
	stats.has_final_flush_outcome = true;
	stats.final_flush_outcome =
		account->orderly
			? PERFETTO__PROTOS__TRACE_STATS__FINAL_FLUSH_OUTCOME__FINAL_FLUSH_SUCCEEDED
			: PERFETTO__PROTOS__TRACE_STATS__FINAL_FLUSH_OUTCOME__FINAL_FLUSH_FAILED;
	packet.trace_stats = &stats;
	r = perfetto_write_account(p, account);
	return r < 0 ? r : perfetto_write(p, &packet);
}
