/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace writers: consumers of facts (timeline/consumer.h) that write one format each. This is the
 * header to include from outside for writing, as formats/reader.h is for reading.
 */
#ifndef PROFTRACE_FORMATS_WRITER_H
#define PROFTRACE_FORMATS_WRITER_H

#include "formats/sink.h"
#include "timeline/consumer.h"
#include "timeline/origin.h"

/* Each owns the sink from then on. NULL when out of memory: then the sink stays the caller's. */
struct consumer *perfetto_writer_new(struct sink *sink, const struct trace_info *info);
struct consumer *chrome_writer_new(struct sink *sink, const struct trace_info *info);

#endif
