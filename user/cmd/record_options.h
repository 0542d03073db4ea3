/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `proftrace record`, between record_option_texts.c, which describes them, and record_options.c. */
#ifndef PROFTRACE_CMD_RECORD_OPTIONS_H
#define PROFTRACE_CMD_RECORD_OPTIONS_H

#include <argp.h>

/* Options without a letter. */
enum {
	KEY_NO_CHILDREN = 256,
	KEY_PER_RANK,
	KEY_RETURN_PROBES,
	KEY_COUNTER_INTERVAL,
	KEY_BUFFER,
	KEY_BUFFERS,
	KEY_COMPRESS,
	KEY_DUMP_PERIOD,
	KEY_STRICT,
	KEY_SUMMARY_JSON,
	KEY_SCHEDULE,
	KEY_MODE,
	KEY_RANK,
	KEY_MAX_SIZE,
	KEY_KEEP,
	KEY_FLIGHT,
	KEY_FLIGHT_MEMORY,
	KEY_TRIGGER,
	KEY_STATS_ONLY,
	KEY_PER_THREAD,
	KEY_SYSTEM,
	KEY_HANDLER,
	KEY_SYSTEM_INTERVAL,
	KEY_INCLUDE_JSON,
	KEY_INCLUDE_OFFSET,
	KEY_SCHED,
	KEY_WAIT_REASONS,
	KEY_SYSCALLS,
	KEY_DEBUGINFOD,
	KEY_SAMPLE,
	KEY_STACK,
	KEY_OFFCPU,
	KEY_MAX_OVERHEAD,
	KEY_ITT,
	KEY_NVTX,
	KEY_USER,
	KEY_CGROUP,
	KEY_UNIT,
	KEY_CONTAINER,
	KEY_ALL,
	KEY_WAIT,
	KEY_METRICS,
	KEY_QUOTA,
	KEY_START_AT,
	KEY_OTLP,
	KEY_OTLP_SPANS,
	KEY_OTLP_QUEUE,
	KEY_OTLP_GZIP,
	KEY_OTLP_PROFILES,
	KEY_OTLP_INTERVAL,
	KEYS,
};

extern const struct argp_option record_options[];
extern const char record_doc[];

/* The parser of argp. `input` of the state is a struct record_options. */
error_t record_options_parse_one(int key, char *arg, struct argp_state *state);

#endif
