/* SPDX-License-Identifier: BSD-2-Clause */
/* What a Chrome JSON file says beside its events: events "M". Each returns the sink's error. */
#ifndef PROFTRACE_HANDLERS_CHROME_METADATA_H
#define PROFTRACE_HANDLERS_CHROME_METADATA_H

#include "handlers/handler.h"
#include "handlers/json_writer.h"

void chrome_write_start(struct json_writer *j, const struct trace_info *info);
int chrome_write_process(struct json_writer *j, const struct process *process);
int chrome_write_thread(struct json_writer *j, const struct thread *thread);
int chrome_write_clock(struct json_writer *j, const struct clock_reading *clock);
/* The last of all: the array ends with it. */
int chrome_write_account(struct json_writer *j, const struct account *account);

#endif
