/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts by kind what a trace contains and events cannot represent, and reports it. */
#include <inttypes.h>
#include <stdio.h>

#include "formats/perfetto/reader.h"

/* A packet without any known field, such as memory dumps or logs. */
static bool packet_is_unknown(const Packet *packet)
{
	return packet->base.n_unknown_fields && !packet->track_event && !packet->track_descriptor &&
	       !packet->perf_sample && !packet->module_symbols && !packet->interned_data &&
	       !packet->clock_snapshot && !packet->trace_packet_defaults && !packet->process_tree &&
	       !packet->system_info && !packet->trace_stats && !packet->ftrace_events &&
	       !packet->trace_uuid && !packet->chrome_events && !packet->has_compressed_packets;
}

/* Called only for packets that the generated code decodes, as read_fast.c leaves any with unknown fields to it. */
void perfetto_count_left_out(struct perfetto *p, const Packet *packet)
{
	const TrackEvent *event = packet->track_event;

	p->left_out[LEFT_PACKETS] += packet_is_unknown(packet);
	if (event && (event->base.n_unknown_fields || event->has_correlation_id))
		p->left_out[LEFT_FIELDS]++;
}

void perfetto_report_left_out(const struct perfetto *p, struct reader_error *ret_error)
{
	static const char *const kinds[LEFT_KINDS] = {
		[LEFT_PACKETS] = "packets",	[LEFT_KERNEL] = "kernel events",
		[LEFT_STATES] = "states",	[LEFT_ARROWS] = "flows outside threads",
		[LEFT_STACKS] = "stacks",	[LEFT_ARGS] = "arguments",
		[LEFT_FIELDS] = "other fields",
	};
	size_t length = 0;

	for (unsigned i = 0; i < LEFT_KINDS; i++) {
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
