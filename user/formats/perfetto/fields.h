/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wire types of protobuf, and the numbers of those fields of proto/perfetto_trace.proto that are encoded or decoded
 * by hand instead of by the code that protobuf-c generates.
 */
#ifndef PROFTRACE_FORMATS_PERFETTO_FIELDS_H
#define PROFTRACE_FORMATS_PERFETTO_FIELDS_H

/* The description of tracks of slices with times of their own, which viewers show and our reader knows. */
#define PERFETTO_GIVEN "times given by the program"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_LENGTH = 2, /* length-delimited: a message, a string, a packed list */
	WIRE_FIXED32 = 5,
};

enum {
	WIRE_VARINT_MAX = 10, /* bytes */
};

enum {
	TRACE_PACKET = 1,

	PACKET_FTRACE = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_FLAGS = 13,
	PACKET_COMPRESSED = 50,
	PACKET_CLOCK = 58,
	PACKET_SAMPLE = 66,

	/* TrackEvent */
	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_EXTRA_VALUE = 12,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_EXTRA_TRACK = 31,
	EVENT_DOUBLE_COUNTER_VALUE = 44,
	EVENT_FLOW = 47,
	EVENT_TERMINATING_FLOW = 48,
	EVENT_CALLSTACK = 56,

	/* DebugAnnotation */
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,

	/* PerfSample */
	SAMPLE_CPU = 1,
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_CALLSTACK = 4,
	SAMPLE_CPU_MODE = 5,

	/* FtraceEventBundle */
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	BUNDLE_LOST = 3,
	BUNDLE_COMPACT = 4,

	/* FtraceEvent */
	FTRACE_TIMESTAMP = 1,
	FTRACE_PID = 2,
	FTRACE_SWITCH = 4,
	FTRACE_FLAGS = 5,
	FTRACE_WAKING = 20,

	/* SchedSwitchFtraceEvent */
	SWITCH_PREV_COMM = 1,
	SWITCH_PREV_PID = 2,
	SWITCH_PREV_PRIO = 3,
	SWITCH_PREV_STATE = 4,
	SWITCH_NEXT_COMM = 5,
	SWITCH_NEXT_PID = 6,
	SWITCH_NEXT_PRIO = 7,

	/* SchedWakingFtraceEvent */
	WAKING_COMM = 1,
	WAKING_PID = 2,
	WAKING_PRIO = 3,
	WAKING_SUCCESS = 4,
	WAKING_TARGET_CPU = 5,

	/* CompactSched */
	COMPACT_SWITCH_TS = 1,
	COMPACT_SWITCH_STATE = 2,
	COMPACT_SWITCH_PID = 3,
	COMPACT_SWITCH_PRIO = 4,
	COMPACT_COMM = 5,
	COMPACT_SWITCH_COMM = 6,
	COMPACT_WAKING_TS = 7,
	COMPACT_WAKING_PID = 8,
	COMPACT_WAKING_CPU = 9,
	COMPACT_WAKING_PRIO = 10,
	COMPACT_WAKING_COMM = 11,
	COMPACT_WAKING_FLAGS = 12,
};

#endif
