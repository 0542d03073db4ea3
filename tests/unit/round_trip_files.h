/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of the round trips: what they say of the machine that they came from, and how one becomes another. */
#ifndef ROUND_TRIP_FILES_H
#define ROUND_TRIP_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "merge/rewrite.h"
#include "timeline/consumer.h"

static struct trace_info round_trip_info(uint64_t start_ns)
{
	return (struct trace_info){
		.start_ns = start_ns,
		.clock = { start_ns, start_ns + 1000, 1700000000000000000 },
		.version = "1",
		.kernel_release = "6.1.0",
		.kernel_version = "#1",
		.machine = "x86_64",
		.sysname = "Linux",
		.trace_uuid = { 1, 2 },
		.host = "node7",
		.boot_id = "0b1c2d3e-0000-4000-8000-123456789abc",
	};
}

/* As `proftrace convert` does. */
static void convert(const char *from, const char *to)
{
	static struct rewrite rewrite;
	struct reader_error why = { 0 };
	struct failure f = { 0 };
	struct source source;

	assert_int_equal(rewrite_init(&rewrite, &f), 0);
	assert_int_equal(rewrite_output(&rewrite, to, &f), 0);
	assert_int_equal(source_open(&source, from, &f), 0);
	assert_int_equal(source_read_start(&source, &f), 0);
	assert_int_equal(rewrite_begin(&rewrite, &source.origin, source.first_ns, &f), 0);
	assert_int_equal(source_read(&source,
				     &(struct reader_sink){
					     (int (*)(void *, const struct event *))rewrite_event,
					     &rewrite, rewrite.names, &rewrite.account,
					     &source.origin, rewrite.callstacks },
				     &why, &f),
			 0);
	rewrite_source_end(&rewrite, &source.origin, &why);
	assert_int_equal(rewrite_end(&rewrite, &f), 0);
	rewrite_free(&rewrite);
	source_close(&source);
}

#endif
