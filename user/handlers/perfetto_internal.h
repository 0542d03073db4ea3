/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the Perfetto output share. */
#ifndef PROFTRACE_HANDLERS_PERFETTO_INTERNAL_H
#define PROFTRACE_HANDLERS_PERFETTO_INTERNAL_H

#include "handlers/handler.h"
#include "handlers/perfetto_intern.h"
#include "handlers/sink.h"
#include "perfetto_trace.pb-c.h"

enum {
	PERFETTO_SEQUENCE = 1, /* of all packets: one writer */
	PERFETTO_CLOCK_REALTIME = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME,
	PERFETTO_CLOCK_MONOTONIC = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC,
	PERFETTO_CLOCK_BOOTTIME = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME,
	PERFETTO_CLEARED =
		PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED,
	PERFETTO_NEEDS =
		PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE,
};

struct perfetto {
	struct handler handler;
	struct sink *sink;
	struct interned interned;
	uint64_t global_uuid; /* of the track for instants that belong to no process */
	bool global_declared;
	struct clock_reading last_clock; /* of the last snapshot */
};

/* perfetto_packets.c: the rare ones. Each returns the sink's error. */
int perfetto_write(struct perfetto *p, Perfetto__Protos__TracePacket *packet);
int perfetto_write_start(struct perfetto *p, const struct trace_info *info);
int perfetto_write_clock(struct perfetto *p, const struct clock_reading *clock);
int perfetto_write_process(struct perfetto *p, const struct process *process);
int perfetto_write_thread(struct perfetto *p, const struct thread *thread);
int perfetto_write_track(struct perfetto *p, const struct track *track);
int perfetto_write_global_track(struct perfetto *p);
int perfetto_write_lost(struct perfetto *p, const struct fact *fact, uint64_t track_uuid);
int perfetto_write_stats(struct perfetto *p, const struct account *account);

/* perfetto_event.c: those that come in millions. */
int perfetto_write_slice(struct perfetto *p, const struct fact *fact);
int perfetto_write_async(struct perfetto *p, const struct fact *fact);
int perfetto_write_instant(struct perfetto *p, const struct fact *fact, uint64_t track_uuid);
int perfetto_write_flow(struct perfetto *p, const struct fact *fact, uint64_t track_uuid);
int perfetto_write_counters(struct perfetto *p, const struct fact *fact);
int perfetto_write_reading(struct perfetto *p, const struct fact *fact);

#endif
