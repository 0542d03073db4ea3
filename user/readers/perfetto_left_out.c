/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trace holds and events have no place for is counted by its kind, and told. */
#include <inttypes.h>
#include <stdio.h>

#include "readers/perfetto_internal.h"

/* Nothing in it is known here: memory, logs, ... */
static bool has_no_place(const Packet *packet)
{
	return packet->base.n_unknown_fields && !packet->track_event && !packet->track_descriptor &&
	       !packet->perf_sample && !packet->module_symbols && !packet->interned_data &&
	       !packet->clock_snapshot && !packet->trace_packet_defaults && !packet->process_tree &&
	       !packet->system_info && !packet->trace_stats && !packet->ftrace_events &&
	       !packet->trace_uuid && !packet->chrome_events && !packet->has_compressed_packets;
}

/* Only of packets that the generated code unpacks: any field that it has not seen goes there (perfetto_fast.c). */
void perfetto_see_left_out(struct perfetto *p, const Packet *packet)
{
	const TrackEvent *event = packet->track_event;

	p->left_out[LEFT_PACKETS] += has_no_place(packet);
	if (event && (event->base.n_unknown_fields || event->has_correlation_id))
		p->left_out[LEFT_FIELDS]++;
}

void perfetto_tell_left_out(const struct perfetto *p, struct reader_error *ret_error)
{
	static const char *const kinds[LEFT_KINDS] = {
		[LEFT_PACKETS] = "packets",	[LEFT_KERNEL] = "kernel events",
		[LEFT_STATES] = "states",	[LEFT_ARROWS] = "arrows of no thread",
		[LEFT_STACKS] = "stacks",	[LEFT_ARGS] = "arguments",
		[LEFT_FIELDS] = "other fields",
	};
	size_t length = 0;
	unsigned i;

	for (i = 0; i < LEFT_KINDS; i++) {
		if (!p->left_out[i])
			continue;
		ret_error->skipped += p->left_out[i];
		if (length < sizeof(ret_error->skipped_kinds))
			length += (size_t)snprintf(ret_error->skipped_kinds + length,
						   sizeof(ret_error->skipped_kinds) - length,
						   "%s%s %" PRIu64, length ? ", " : "", kinds[i],
						   p->left_out[i]);
	}
}
